"""Subwords and characters by SentencePiece (Kudo and Richardson 2018).

Text is taken as it is: no Unicode normalisation, no space added or removed but the one that makes a
first word like any other. So `decode(encode(x)) == x`, for Chinese, Arabic, emoji and their joiners,
spaces doubled or at an end, and with byte fallback also for characters never seen in training. One
character is lost: U+2581 `▁` is how SentencePiece writes a space, and comes back as one.
"""

from __future__ import annotations

import io
import logging
import re
import threading
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Literal

import sentencepiece

from dragoman.base.errors import ConfigError, DataError, DragomanError
from dragoman.text.ids import END, PAD, START, UNKNOWN

log = logging.getLogger(__name__)

# One generator of random numbers serves all of SentencePiece.
_sampling = threading.Lock()
_SEEDS = 2**32 - 1  # the last of 32 bits is no seed: it asks for one from the system
_MANY = 1000  # lines from which on it pays to encode in several threads
_LONGEST = 4000  # characters given to training at once; it would skip longer lines without a word
# Training skips a line with NUL or U+2585, without a word; a tab and U+2581 have a meaning of their own.
_UNTRAINABLE = re.compile("[\0\t\n\u2581\u2585]")
_THREADS = 4  # fixed, since unigram training adds up floats a thread at a time


def train(
    lines: Iterable[str],
    kind: Literal["bpe", "unigram", "characters"],
    *,
    vocab_size: int,
    byte_fallback: bool,
    character_coverage: float,
) -> Subwords:
    """A model of the lines, always the same for the same lines, with `vocab_size` ids or what they support.

    Raises ConfigError where `vocab_size` cannot hold the characters, DataError where there is no text.
    """
    model = io.BytesIO()
    segments = list(_segments(lines))
    if not segments:
        raise DataError("no text to learn a vocabulary from", hint="is every line empty?")
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
            add_dummy_prefix=kind != "characters",  # a first character is like any other already
            max_sentence_length=4 * _LONGEST,  # bytes
            num_threads=_THREADS,
            minloglevel=2,
        )
    except RuntimeError as error:
        raise _explained(error, vocab_size) from error
    vocabulary = Subwords(model.getvalue())
    if len(vocabulary) < vocab_size:
        # Nobody wants 8,000 different characters; whoever wants 8,000 subwords should know of their lack.
        level = logging.INFO if kind == "characters" else logging.WARNING
        log.log(level, "the text supports a vocabulary of %d, not %d", len(vocabulary), vocab_size)
    return vocabulary


class Subwords:
    """A SentencePiece model. Ids 0 to 3 are pad, start, end and unknown."""

    suffix = ".spm"

    def __init__(self, model: bytes) -> None:
        """Raises ValueError where these are not the bytes of a model."""
        self._model = model
        self._processor = sentencepiece.SentencePieceProcessor()
        try:
            loaded = self._processor.load_from_serialized_proto(model)
        except RuntimeError as error:
            raise ValueError("not a SentencePiece model") from error
        if not loaded or not len(self._processor):
            raise ValueError("not a SentencePiece model")

    def __len__(self) -> int:
        return len(self._processor)

    def encode(self, lines: Sequence[str]) -> list[list[int]]:
        """The ids of each line, with no start or end."""
        return self._encode(list(lines), num_threads=-1 if len(lines) >= _MANY else 1)

    def sample(self, lines: Sequence[str], *, amount: float, seed: int) -> list[list[int]]:
        """Encodes with random cuts: a function of (lines, amount, seed), from whatever thread.

        For BPE `amount` is the chance to skip a merge (Provilkov et al. 2020), for unigram the power
        that the probabilities are raised to, the smaller the wilder (Kudo 2018).
        """

        def sample() -> list[list[int]]:
            sentencepiece.set_random_generator_seed(seed % _SEEDS)
            return self._encode(list(lines), num_threads=1, amount=amount)

        # A thread's generator is seeded when it is first used; a new thread has not used it yet.
        with _sampling, ThreadPoolExecutor(1) as thread:
            return thread.submit(sample).result()

    def decode(self, ids: Sequence[int]) -> str:
        """The text of the ids. Pad, start and end are nothing, unknown is ⁇, bytes that are not UTF-8 �."""
        return str(self._processor.decode(list(ids)))

    def pieces(self, ids: Sequence[int]) -> list[str]:
        """What each id stands for; ▁ is a space, <0xE4> a byte."""
        return list(self._processor.id_to_piece(list(ids)))

    def surfaces(self, line: str) -> list[str]:
        """What each token of the line spells; joined they are the line, with a space before it."""
        return [piece.replace("▁", " ") for piece in self._processor.encode(line, out_type=str)]

    def to_bytes(self) -> bytes:
        """The model, as SentencePiece writes it."""
        return self._model

    def _encode(self, lines: list[str], *, num_threads: int, amount: float | None = None) -> list[list[int]]:
        try:
            ids: list[list[int]] = self._processor.encode(
                lines,
                out_type=int,
                enable_sampling=amount is not None,
                alpha=amount or 0.0,
                nbest_size=-1,
                num_threads=num_threads,
            )
        except (TypeError, UnicodeError) as error:
            if not all(isinstance(line, str) for line in lines):
                raise
            raise DataError("half a surrogate pair, which is no character", hint="take it out") from error
        return ids


def _segments(lines: Iterable[str]) -> Iterator[str]:
    for line in lines:
        line = _UNTRAINABLE.sub(" ", line)
        for first in range(0, len(line), _LONGEST):
            yield line[first : first + _LONGEST]


def _explained(error: RuntimeError, vocab_size: int) -> DragomanError:
    if found := re.search(r"required_chars\. \d+ vs (\d+)", str(error)):
        return ConfigError(
            f"vocab_size = {vocab_size}: the characters of this text alone need {found[1]}",
            hint="a larger vocab_size, or a character_coverage of 0.9995, which leaves out the rarest",
        )
    return DragomanError(f"SentencePiece cannot learn a vocabulary: {error}")
