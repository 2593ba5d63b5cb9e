"""Subwords and characters by SentencePiece (Kudo and Richardson 2018).

Text is not normalised. Only one space is added, before the first word (of subwords), so that it is encoded
like any other word, and decoding removes it. So `decode(encode(x)) == x` holds for Chinese, Arabic, emoji and
their joiners and repeated spaces; with byte fallback, also for characters not seen in training. One character
is lost: U+2581 `▁` is how SentencePiece writes a space, so it is decoded as a space.
"""

from __future__ import annotations

import io
import logging
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from itertools import dropwhile, pairwise
from random import Random
from typing import Any, Literal

import sentencepiece

from dragoman.base.errors import ConfigError, DataError, DragomanError
from dragoman.text.tokenizers import reserved
from dragoman.text.tokenizers.ids import END, PAD, START, UNKNOWN
from dragoman.text.tokenizers.marks import mark, split_marks
from dragoman.text.tokenizers.sampling import LatticeSampler, MergeSampler

log = logging.getLogger(__name__)

_MANY = 1000  # lines; from here on, several threads are faster
_LONGEST = 4000  # characters of a line; training silently skips lines that are much longer
_SURROGATE = re.compile("[\ud800-\udfff]")
# Training silently skips lines with NUL or U+2585, and gives a tab and U+2581 a special meaning.
_UNTRAINABLE = re.compile("[\0\t\n\u2581\u2585]")
_PARTS = re.compile(rf"{reserved.PIECE.pattern}|(?:(?!{reserved.PIECE.pattern}).)+", re.DOTALL)
_THREADS = 4  # fixed, because the rounding of unigram training depends on it


def train(
    lines: Iterable[str],
    kind: Literal["bpe", "unigram", "characters"],
    *,
    vocab_size: int,
    byte_fallback: bool,
    character_coverage: float,
    placeholders: int = 0,
    languages: Sequence[str] = (),
) -> Subwords:
    """Return a model of the lines, with this many reserved pieces and marks of these languages.

    Equal lines give equal models.

    It has `vocab_size` ids, or fewer if the text has too few different subwords. Raise ConfigError if
    `vocab_size` is too small for the characters, DataError for empty text.
    """
    model = io.BytesIO()
    segments = list(_segments(lines))
    if not segments:
        raise DataError("no text to learn a vocabulary from", hint="check that not all lines are empty")
    try:
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=iter(segments),
            model_writer=model,
            model_type="char" if kind == "characters" else kind,
            vocab_size=vocab_size,
            hard_vocab_limit=False,
            byte_fallback=byte_fallback,
            character_coverage=character_coverage,
            pad_id=PAD,
            bos_id=START,
            eos_id=END,
            unk_id=UNKNOWN,
            normalization_rule_name="identity",
            remove_extra_whitespaces=False,
            add_dummy_prefix=kind != "characters",  # characters need no space before the first word
            max_sentence_length=4 * _LONGEST,  # bytes
            num_threads=_THREADS,
            minloglevel=2,
            control_symbols=[mark(one) for one in languages],
            user_defined_symbols=reserved.pieces(placeholders),
        )
    except RuntimeError as error:
        raise _explained(error, vocab_size) from error
    vocabulary = Subwords(model.getvalue(), languages)
    if len(vocabulary) < vocab_size:
        # Fewer characters than `vocab_size` are normal, fewer subwords are not.
        level = logging.INFO if kind == "characters" else logging.WARNING
        message = "a vocabulary of %d, not %d: the text has too few different subwords"
        log.log(level, message, len(vocabulary), vocab_size)
    return vocabulary


class Subwords:
    """A SentencePiece model."""

    def __init__(self, model: bytes, languages: Sequence[str] = ()) -> None:
        """Raise ValueError if `model` is not a SentencePiece model, or has no marks of the `languages`."""
        self._model = model
        self._processor = sentencepiece.SentencePieceProcessor()
        try:
            loaded = self._processor.load_from_serialized_proto(model)
        except RuntimeError as error:
            raise ValueError("not a SentencePiece model") from error
        if not loaded or not len(self._processor):
            raise ValueError("not a SentencePiece model")
        self._samplers: dict[float, MergeSampler | LatticeSampler] = {}
        self._pieces = _Pieces(self._processor)
        self.marks = {language: self.id_of(mark(language)) for language in languages}
        if missing := [one for one, i in self.marks.items() if not self._processor.is_control(i)]:
            raise ValueError(f"other languages than in the vocabulary: it has no mark of {missing[0]}")
        self.reserved = tuple(self._reserved())

    def __len__(self) -> int:
        return len(self._processor)

    def encode(self, lines: Sequence[str]) -> list[list[int]]:
        """Return the ids of each line, without start and end. Raise DataError for half a surrogate pair.

        Marks of languages that begin a line are a token each.
        """
        if self.marks:
            split = [split_marks(line, self.marks) for line in lines]
            cut = self._encoded([text for *_, text in split])
            return [marks + ids for (marks, *_), ids in zip(split, cut, strict=True)]
        return self._encoded(lines)

    def _encoded(self, lines: Sequence[str]) -> list[list[int]]:
        with _text_alone(lines):
            if len(lines) == 1:  # a list starts a thread, which takes longer than a line
                return [self._processor.encode(lines[0], out_type=int)]
            threads = -1 if len(lines) >= _MANY else 1
            ids: list[list[int]] = self._processor.encode(list(lines), out_type=int, num_threads=threads)
            return ids

    def sample(self, lines: Sequence[str], *, amount: float, seed: int) -> list[list[int]]:
        """Encode with random cuts: a function of (lines, amount, seed), in every process and thread.

        For BPE and characters, `amount` is the probability of skipping a merge (BPE-dropout, Provilkov et
        al. 2020). For unigram it is the exponent of the probabilities: a smaller one gives more varied cuts
        (Kudo 2018). An amount of 0 gives the plain encoding. Raise DataError as `encode` does.
        """
        if not amount:
            return self.encode(lines)
        texts = self.normalised(lines)
        sampler, random = self._sampler(amount), Random(seed).random

        def sampled(part: str) -> list[int]:
            if part in self._reserved_ids:
                return [self._reserved_ids[part]]
            return self._ids(piece for word in self._words(part) for piece in sampler.sample(word, random))

        parts = [_PARTS.findall(text) if self.reserved else [text] for text in texts]
        return [[token for part in each for token in sampled(part)] for each in parts]

    def _reserved(self) -> Iterator[int]:
        """Yield the ids of the reserved pieces, which come before all others that text is cut into."""
        ids = dropwhile(self._processor.is_control, range(UNKNOWN + 1, len(self)))  # marks come first
        for number, i in enumerate(ids, 1):
            if self._pieces[i] != reserved.piece(number):
                return
            yield i

    def __contains__(self, piece: str) -> bool:
        return self.id_of(piece) != self._processor.unk_id()

    def id_of(self, piece: str) -> int:
        """Return the id of a piece, or of the unknown one."""
        return int(self._processor.piece_to_id(piece))

    @cached_property
    def spare(self) -> tuple[int, ...]:
        """The ids of the bytes that UTF-8 never uses (RFC 3629, section 1), so that no text has them."""
        ids = [self.id_of(f"<0x{byte:02X}>") for byte in (0xC0, 0xC1, *range(0xF5, 0x100))]
        return tuple(i for i in ids if self._processor.is_byte(i))

    @cached_property
    def _reserved_ids(self) -> dict[str, int]:
        return {self._pieces[i]: i for i in self.reserved}

    def decode(self, ids: Sequence[int]) -> str:
        """Return the text of the ids.

        Pad, start and end have no text, an unknown token is ⁇, and bytes that are not UTF-8 are �.
        """
        return str(self._processor.decode(list(ids)))

    def pieces(self, ids: Sequence[int]) -> list[str]:
        """Return the piece of each id; ▁ is a space, <0xE4> a byte."""
        return [self._pieces[i] for i in ids]

    def surfaces(self, line: str) -> list[str]:
        """Return the text of each token of the line; joined they are the line, with a space before it.

        Behind marks no space is added.
        """
        _, marks, text = split_marks(line, self.marks)
        pieces = [piece.replace("▁", " ") for piece in self._processor.encode(text, out_type=str)]
        if marks and pieces and not text.startswith(" "):
            pieces[0] = pieces[0].removeprefix(" ")  # the one that is added before the first word
        return [*marks, *pieces]

    def normalised(self, lines: Sequence[str]) -> list[str]:
        """Return the text that is cut, with ▁ for spaces."""
        with _text_alone(lines):
            return list(map(str, self._processor.normalize(list(lines))))

    def cut(self, lines: Sequence[str]) -> list[list[str]]:
        """Return the pieces of each line, as SentencePiece spells them."""
        with _text_alone(lines):
            pieces: list[list[str]] = self._processor.encode(list(lines), out_type=str)
            return pieces

    def join(self, pieces: Sequence[str]) -> str:
        """Return the text of pieces, which need not be in the model."""
        return str(self._processor.decode_pieces(list(pieces)))

    def parts(self, line: str) -> list[str]:
        """Return the part of the line that each piece was made from; joined they are the line.

        They differ from the pieces where the model normalises text.
        """
        ends = [end for _, end in self._processor.encode(line, out_type="offset_mapping")["offsets"]]
        if ends:
            ends[-1] = len(line)
        return [line[start:end] for start, end in pairwise([0, *ends])]

    def to_bytes(self) -> bytes:
        """Return the model, as SentencePiece writes it."""
        return self._model

    def to_files(self) -> dict[str, bytes]:
        """Return the model by the suffix of its file."""
        return {".spm": self._model}

    def _sampler(self, amount: float) -> MergeSampler | LatticeSampler:
        # Kept, because a sampler has a cache.
        if amount not in self._samplers:
            self._samplers[amount] = (LatticeSampler if self.unigram else MergeSampler)(self.scores, amount)
        return self._samplers[amount]

    @cached_property
    def unigram(self) -> bool:
        """Whether a text is cut by the probabilities of pieces, not by merges."""
        try:  # only a unigram model knows its n best encodings
            self._processor.nbest_encode("", nbest_size=1)
        except RuntimeError:
            return False
        return True

    @cached_property
    def scores(self) -> dict[str, float]:
        """The score of each piece that text is cut into; special pieces and bytes have none."""
        model = self._processor
        special = (model.is_control, model.is_unknown, model.is_byte, model.is_unused)
        ordinary = [i for i in range(len(model)) if not any(check(i) for check in special)]
        ordinary = [i for i in ordinary if i not in self.reserved]
        return {model.id_to_piece(i): model.get_score(i) for i in ordinary}

    @cached_property
    def _ids_of(self) -> dict[str, list[int]]:
        return {piece: [self.id_of(piece)] for piece in self.scores}

    @cached_property
    def _words(self) -> Callable[[str], list[str]]:
        """Split a text where no piece can cross: before each space, in our models."""
        if any("▁" in piece[1:] for piece in self.scores):
            return lambda text: [text]
        return re.compile("▁[^▁]*|[^▁]+").findall

    def _ids(self, pieces: Iterable[str]) -> list[int]:
        unknown = self._processor.unk_id()
        ids: list[int] = []
        for piece in pieces:
            of_piece = self._ids_of.get(piece) or self.spell(piece)
            # As in SentencePiece, unknown characters in a row are one token.
            if of_piece[0] != unknown or ids[-1:] != [unknown]:
                ids += of_piece
        return ids

    def spell(self, character: str) -> list[int]:
        """Return the ids of the character's UTF-8 bytes, or the unknown id if the model has no bytes."""
        ids = [self.id_of(f"<0x{byte:02X}>") for byte in character.encode()]
        return ids if self._processor.is_byte(ids[0]) else [self._processor.unk_id()]


class _Pieces(dict[int, str]):
    """The piece of each id, read from the model when it is first asked for: reading is slow."""

    def __init__(self, processor: Any) -> None:
        super().__init__()
        self._processor = processor

    def __missing__(self, i: int) -> str:
        self[i] = piece = str(self._processor.id_to_piece(i))
        return piece


@contextmanager
def _text_alone(lines: Sequence[str]) -> Iterator[None]:
    """Raise DataError where SentencePiece fails on a character that UTF-8 cannot express."""
    try:
        yield
    except (TypeError, RuntimeError, UnicodeError) as error:
        if not any(_SURROGATE.search(line) for line in lines):
            raise
        raise DataError("half of a surrogate pair, which is not a character", hint="remove it") from error


def _segments(lines: Iterable[str]) -> Iterator[str]:
    for line in lines:
        line = _UNTRAINABLE.sub(" ", line)
        for first in range(0, len(line), _LONGEST):
            yield line[first : first + _LONGEST]


def _explained(error: RuntimeError, vocab_size: int) -> DragomanError:
    if required := re.search(r"required_chars\. \d+ vs (\d+)", str(error)):
        return ConfigError(
            f"vocab_size = {vocab_size}: the characters of this text alone need {required[1]}",
            hint="raise vocab_size, or set character_coverage to 0.9995 to leave out the rarest",
        )
    return DragomanError(f"SentencePiece cannot learn a vocabulary: {error}")
