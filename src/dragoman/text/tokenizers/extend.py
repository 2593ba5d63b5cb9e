"""New pieces and marks of languages for a learnt vocabulary, behind its old pieces, which keep their ids.

New pieces are byte-pair encodings of the text of a new language, whose letters are the pieces of the old
vocabulary (Sennrich et al. 2016). Their scores are below all old ones, so old text is mostly cut as before:
BPE does the old merges first, and a unigram model takes a new piece only where the old ones are less likely
by far.
"""

from __future__ import annotations

import io
import random
import struct
import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import chain

import sentencepiece

from dragoman.text.corpora.reservoir import draw_sample
from dragoman.text.tokenizers.mapped import Mapped
from dragoman.text.tokenizers.marks import mark
from dragoman.text.tokenizers.subwords import Subwords
from dragoman.text.tokenizers.tokenizer import Tokenizer

_ENOUGH = 100_000  # lines to learn from
_COVERAGE = 0.9995  # share of the characters of the text that get a piece
_LONGEST = 16  # characters of a piece, as in SentencePiece
_MARGIN = 2.0  # nats by which old pieces must be less likely than a new one, in a unigram model
_NORMAL, _CONTROL = 1, 3  # types of pieces in sentencepiece_model.proto
_FIRST_LETTER, _LETTERS = 0xF0000, 65_000  # characters that Unicode leaves to private use
_SPECIALS = 3  # of SentencePiece's own vocabularies

Spelled = dict[str, tuple[str, ...]]  # new pieces, and the old ones that spelled each
NewIds = list[list[int]]  # for each new id, the old ids that spelled it; for a mark, the old marks


def extend(
    tokenizer: Tokenizer, lines: Iterable[str], languages: Sequence[str], *, most: int
) -> tuple[Tokenizer, NewIds, NewIds]:
    """Give a tokenizer of subwords marks of languages, and each vocabulary at most so many new pieces.

    Returns it with the new ids of source and target.
    """
    config, sample = tokenizer.config, draw_sample(lines, _ENOUGH, random.Random(1))
    olds = [one for one in dict.fromkeys(tokenizer.vocabularies) if isinstance(one, Subwords | Mapped)]
    texts = [tokenizer.normalise(sample, "source"), tokenizer.normalise(sample, "target")]
    if config.shared and config.lowercase == "source":
        texts[0] = [*texts[0], *texts[1]]
    models = [one.subwords if isinstance(one, Mapped) else one for one in olds]
    found = [new_pieces(model, text, most) for model, text in zip(models, texts, strict=False)]
    lists = {tuple(old.pieces(range(len(old)))) for old in olds}
    joint = config.kind == "mapped" and len(lists) == 1  # the sides are cut differently, and have one list
    news: list[Subwords | Mapped] = []
    new_ids: list[NewIds] = []
    for old, model, pieces in zip(olds, models, found, strict=True):
        listed = found[0] | found[-1] if joint else pieces
        missing = [piece for piece in listed if piece not in old]
        if isinstance(old, Mapped):
            own = [*old.pieces(range(len(old))), *missing, *map(mark, languages)]
            news.append(Mapped(appended(model, pieces).to_bytes(), own, tokenizer.specials))
        else:
            news.append(appended(model, pieces, languages))
        new_ids.append([[old.id_of(part) for part in listed[piece]] for piece in missing])
        new_ids[-1] += [list(old.marks.values()) for _ in languages]
    config = replace(
        config,
        vocab_size=max(map(len, news)),
        source_vocab_size=config.source_vocab_size and len(news[0]),
        languages=() if config.kind == "mapped" else (*config.languages, *languages),
    )
    return Tokenizer(config, news[0], news[-1], specials=tokenizer.specials), new_ids[0], new_ids[-1]


def new_pieces(vocabulary: Subwords, lines: Sequence[str], most: int) -> Spelled:
    """Return at most so many pieces that the text needs: its characters, then what is frequent."""
    found: Spelled = {}
    characters = Counter(chain.from_iterable(vocabulary.normalised(lines)))
    rest, rare = characters.total(), (1 - _COVERAGE) * characters.total()
    for character, number in characters.most_common():
        if rest <= rare or len(found) == most:
            break
        if character not in vocabulary:
            found[character] = tuple(vocabulary.pieces(vocabulary.spell(character)))
        rest -= number
    parts = {piece: found.get(piece, (piece,)) for piece in (*vocabulary.scores, *found) if _is_word(piece)}
    cut = appended(vocabulary, found).cut(lines)
    used = [piece for piece, _ in Counter(chain.from_iterable(cut)).most_common() if piece in parts]
    letters = {piece: chr(_FIRST_LETTER + i) for i, piece in enumerate(used[:_LETTERS])}
    if not letters or len(found) == most:
        return found
    spelled = ("".join(" " * one.startswith("▁") + letters.get(one, " ") for one in line) for line in cut)
    writer = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=(word for line in spelled for word in line.split()),
        model_writer=writer,
        model_type="bpe",
        vocab_size=_SPECIALS + len(letters) + 2 * most,  # some are left out
        hard_vocab_limit=False,
        character_coverage=1.0,
        normalization_rule_name="identity",
        add_dummy_prefix=False,
        minloglevel=2,
    )
    learnt, scores, first = Subwords(writer.getvalue()), vocabulary.scores, _first_score(vocabulary)
    for text in learnt.pieces(range(_SPECIALS, len(learnt))):
        joined = [used[ord(letter) - _FIRST_LETTER] for letter in text]
        piece = "".join(joined)
        likely = vocabulary.unigram and sum(scores.get(part, first) for part in joined) > first
        fits = len(joined) > 1 and len(piece) <= _LONGEST and not likely and len(found) < most
        if fits and piece not in vocabulary and piece not in found:
            found[piece] = tuple(chain.from_iterable(parts[part] for part in joined))
    return found


def appended(vocabulary: Subwords, pieces: Iterable[str], languages: Sequence[str] = ()) -> Subwords:
    """Return the vocabulary with these pieces and marks behind its own."""
    # In protocol buffers, what is written behind a message adds to its lists, and field 1 is that of pieces.
    first, step = _first_score(vocabulary), 1e-4 if vocabulary.unigram else 1.0
    rows = [(piece, first - step * number, _NORMAL) for number, piece in enumerate(pieces)]
    rows += [(mark(one), 0.0, _CONTROL) for one in languages]
    new = [
        _field(_field(text.encode()) + struct.pack("<BfBB", 0x15, score, 0x18, kind))
        for text, score, kind in rows
    ]
    return Subwords(vocabulary.to_bytes() + b"".join(new), (*vocabulary.marks, *languages))


def _field(content: bytes) -> bytes:
    """Field 1 of a message of protocol buffers, of less than 128 bytes: tag, size and content."""
    return bytes((0x0A, len(content))) + content


def _first_score(vocabulary: Subwords) -> float:
    """The score of the first new piece."""
    return min(vocabulary.scores.values()) - _MARGIN


def _is_word(piece: str) -> bool:
    """Whether a piece has only letters and their accents, with or without the space before it."""
    return all(unicodedata.category(one)[0] in "LM" for one in piece.removeprefix("▁"))
