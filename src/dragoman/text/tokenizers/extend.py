"""New pieces and marks of languages for a learnt vocabulary, behind its old pieces, which keep their ids.

A new piece joins two neighbours in the text of a new language, as the old vocabulary cuts it: the most
frequent two, then again (Sennrich et al. 2016). Its score is below all old ones, so old text is mostly cut as
before: BPE does the old merges first, and a unigram model takes a new piece only where the old ones are less
likely by far.
"""

from __future__ import annotations

import heapq
import random
import struct
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cache
from itertools import chain, pairwise
from typing import NamedTuple

from dragoman.base.errors import ConfigError
from dragoman.text.corpora.reservoir import draw_sample
from dragoman.text.tokenizers.mapped import Mapped
from dragoman.text.tokenizers.marks import mark
from dragoman.text.tokenizers.subwords import Subwords
from dragoman.text.tokenizers.tokenizer import Tokenizer

_ENOUGH = 200_000  # lines to learn from
_COVERAGE = 0.9995  # share of the characters of the text that get a piece
_LONGEST = 16  # characters of a piece, as in SentencePiece
_MARGIN = 1.0  # nats by which old pieces must be less likely than a new one, in a unigram model
_LEAST = 2  # times that a new piece is in the text
_NORMAL, _CONTROL = 1, 3  # types of pieces in sentencepiece_model.proto

Spelled = dict[str, tuple[str, ...]]  # new pieces, and the old ones that spelled each


class Extended(NamedTuple):
    """A tokenizer with new ids, and the old ids that spelled each of them: for a mark, the old marks."""

    tokenizer: Tokenizer
    source: list[list[int]]
    target: list[list[int]]


def extend(tokenizer: Tokenizer, lines: Iterable[str], languages: Sequence[str], *, most: int) -> Extended:
    """Give a tokenizer marks of languages, and each of its vocabularies at most so many pieces of the lines.

    Raises ConfigError for a tokenizer of words or characters.
    """
    config, sample = tokenizer.config, draw_sample(lines, _ENOUGH, random.Random(1))
    olds = [one for one in dict.fromkeys(tokenizer.vocabularies) if isinstance(one, Subwords | Mapped)]
    if not olds or config.kind == "characters":
        raise ConfigError(
            f'tokenizer.kind = "{config.kind}" cannot be extended', hint="only models of subwords can"
        )
    texts = [tokenizer.normalise(sample, "source"), tokenizer.normalise(sample, "target")]
    if config.shared and config.lowercase == "source":
        texts[0] = [*texts[0], *texts[1]]
    found = [new_pieces(_subwords(old), text, most) for old, text in zip(olds, texts, strict=False)]
    lists = {tuple(old.pieces(range(len(old)))) for old in olds}
    joint = config.kind == "mapped" and len(lists) == 1  # the sides are cut differently, and have one list
    news: list[Subwords | Mapped] = []
    spelled: list[list[list[int]]] = []
    for old, pieces in zip(olds, found, strict=True):
        listed = found[0] | found[-1] if joint else pieces
        missing = [piece for piece in listed if piece not in old]
        if isinstance(old, Mapped):
            model = appended(old.subwords, pieces).to_bytes()
            own = [*old.pieces(range(len(old))), *missing, *map(mark, languages)]
            news.append(Mapped(model, own, tokenizer.specials))
        else:
            news.append(appended(old, pieces, languages))
        spelled.append([[old.id_of(part) for part in listed[piece]] for piece in missing])
        spelled[-1] += [list(old.marks.values()) for _ in languages]
    config = replace(
        config,
        vocab_size=max(map(len, news)),
        source_vocab_size=config.source_vocab_size and len(news[0]),
        languages=() if config.kind == "mapped" else (*config.languages, *languages),
    )
    new = Tokenizer(config, news[0], news[-1], specials=tokenizer.specials)
    return Extended(new, spelled[0], spelled[-1])


def new_pieces(vocabulary: Subwords, lines: Sequence[str], most: int) -> Spelled:
    """Return at most so many pieces that the text needs: its characters, then what is frequent."""
    found: Spelled = {}
    characters = Counter(chain.from_iterable(vocabulary.normalised(lines)))
    rest = characters.total()
    rare = (1 - _COVERAGE) * rest
    for character, number in characters.most_common():
        if rest <= rare or len(found) == most:
            break
        if character not in vocabulary:
            found[character] = tuple(vocabulary.pieces(vocabulary.spell(character)))
        rest -= number
    words = Counter(word for line in appended(vocabulary, found).cut(lines) for word in _words(line))
    cuts, counts = list(map(list, words)), list(words.values())
    scores, first = vocabulary.scores, _first_score(vocabulary)
    spelled = {piece: (piece,) for piece in scores} | found
    totals: Counter[str] = Counter()  # how often neighbours make a piece
    places: defaultdict[str, set[int]] = defaultdict(set)  # of such words

    @cache
    def parts(left: str, right: str) -> tuple[str, ...]:
        """What spells the piece of two neighbours; nothing if they may not be joined."""
        likely = vocabulary.unigram and scores.get(left, first) + scores.get(right, first) > first
        able = not likely and len(left + right) <= _LONGEST and _is_word(left + right)
        known = left in spelled and right in spelled and left + right not in vocabulary
        return spelled[left] + spelled[right] if able and known else ()

    def counted(place: int, sign: int) -> Spelled:
        """Add a word to the counts, or take it away, and return the pieces that its neighbours make."""
        made = {one + other: parts(one, other) for one, other in pairwise(cuts[place]) if parts(one, other)}
        for one, other in pairwise(cuts[place]):
            totals[one + other] += sign * counts[place]
        for piece in made:
            places[piece].add(place)
        return made

    made: Spelled = {}
    for place in range(len(cuts)):
        made |= counted(place, 1)
    queue = [(-totals[piece], piece) for piece in made]
    heapq.heapify(queue)
    while queue and len(found) < most and queue[0][0] <= -_LEAST:
        number, piece = heapq.heappop(queue)
        if number != -totals[piece]:
            continue  # changed since: it is there again
        found[piece] = spelled[piece] = spelled.get(piece) or made[piece]
        changed: Spelled = {}
        for place in sorted(places.pop(piece)):
            changed |= counted(place, -1)
            cuts[place] = _joined(cuts[place], piece)
            changed |= counted(place, 1)
        made |= changed
        for one in changed:
            heapq.heappush(queue, (-totals[one], one))
    return found


def _words(pieces: Iterable[str]) -> Iterator[tuple[str, ...]]:
    """The words of a line, in pieces."""
    word: list[str] = []
    for piece in pieces:
        if piece.startswith("▁") and word:
            yield tuple(word)
            word = []
        word.append(piece)
    yield tuple(word)


def _is_word(piece: str) -> bool:
    """Whether a piece has only letters and their accents, with or without the space before it."""
    return all(unicodedata.category(one)[0] in "LM" for one in piece.removeprefix("▁"))


def _joined(pieces: Iterable[str], wanted: str) -> list[str]:
    """The pieces, with neighbours joined that make the wanted one."""
    joined: list[str] = []
    for piece in pieces:
        if joined and joined[-1] + piece == wanted:
            joined[-1] = wanted
        else:
            joined.append(piece)
    return joined


def _first_score(vocabulary: Subwords) -> float:
    """The score of the first new piece."""
    return min(vocabulary.scores.values()) - _MARGIN


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


def _subwords(vocabulary: Subwords | Mapped) -> Subwords:
    """The model that cuts text."""
    return vocabulary.subwords if isinstance(vocabulary, Mapped) else vocabulary
