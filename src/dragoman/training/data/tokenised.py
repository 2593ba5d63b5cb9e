"""The tokenised corpus on disk. It is memory-mapped, so it may be larger than memory."""

from __future__ import annotations

import hashlib
import json
import logging
from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path, PurePath
from random import Random
from typing import Any, NamedTuple

import numpy as np

from dragoman.base import machine
from dragoman.base.errors import ConfigError, DataError
from dragoman.base.files import broken, digest_of_table, sealed, write_whole
from dragoman.base.tables import listing
from dragoman.text.corpora.corpus import Corpus
from dragoman.text.corpora.filter import FilterConfig, FilterReport
from dragoman.text.guidance import Guidance, marks_of, reading
from dragoman.text.noise import noised
from dragoman.text.tokenizers.copied import draw_pieces, replaced, unpacked
from dragoman.text.tokenizers.tokenizer import Side, Tokenizer
from dragoman.training.data.annotations import CONTEXT, Annotations, annotate, moved
from dragoman.training.data.chunk import Chunker
from dragoman.training.data.ragged import Ragged, writing
from dragoman.training.data.tokenising import (
    LINE,
    LINES,
    Changed,
    Tokenising,
    UnfinishedCorpus,
    chunks_of,
    signed,
)
from dragoman.training.distillation.distributions import Lessons
from dragoman.training.options import NOTHING, Annotating

Flags = np.ndarray[Any, np.dtype[np.bool_]]

_NAMED = 3  # lines that a message names
_VALUES = 2**22  # tokens looked at together
log = logging.getLogger(__name__)


class TokenisedCorpus:
    """Pairs of token sequences in a folder, with a report of the pairs set aside.

    With subword sampling (Provilkov et al. 2020, Kudo 2018) the folder keeps the text too, and every epoch
    tokenises it anew. If the vocabulary has reserved pieces, it keeps the text and the places of the
    copied spans, and every epoch puts pieces there in a share of `placeholders` of these pairs. With
    `annotating`, the model reads notes and matches with a share of the sources, whose own tokens are then
    not sampled, and a share of the pairs has noise. All are functions of the seed and the epoch.
    """

    CHUNK = 10_000  # lines encoded at once

    def __init__(
        self,
        folder: Path,
        tokenizer: Tokenizer,
        *,
        placeholders: float = 0.0,
        annotating: Annotating = NOTHING,
    ) -> None:
        self.folder, self.tokenizer = folder, tokenizer
        self._reserved = len(tokenizer.placeholders[0]) if tokenizer.placeholders and placeholders else 0
        self._share, self._annotating = placeholders, annotating
        self._annotations = Annotations(folder, annotating) if annotating.names else None
        self.about: dict[str, Any] = json.loads((folder / "about.json").read_text(encoding="utf-8"))
        self.source = Ragged(folder / "source.tokens", self.about["dtype"])
        self.target = Ragged(folder / "target.tokens", self.about["dtype"])
        self.lessons: Lessons | None = None  # the teachers' distributions, if the model learns them

    def __len__(self) -> int:
        return len(self.source)

    @property
    def fingerprint(self) -> str:
        """A digest of the pairs kept and of their order."""
        return str(self.about["fingerprint"])

    @property
    def report(self) -> str:
        """How many pairs were read and set aside: one line in total, then one for each reason."""
        return str(self.about["report"])

    def whereabouts(self, rows: Sequence[int], *, epoch: int = 0, seed: int = 0) -> str:
        """Name the lines of the text that these rows come from, the first few of many.

        Folders of version 0.1 have no line numbers. Then it names the pairs, counted from 1.
        """
        path = self.folder / LINES
        numbers = [row + 1 for row in rows]
        if not path.exists():
            return f"{_numbered('pair', numbers)} of the tokenised text"
        lines = np.memmap(path, dtype=LINE, mode="r")
        by_shard: dict[int, list[int]] = {}
        for row in sorted(rows):
            by_shard.setdefault(bisect_right(self.about["first_rows"], row) - 1, []).append(int(lines[row]))
        names = self.about["corpus"]
        return "; ".join(f"{_numbered('line', own)} of {names[n]}" for n, own in by_shard.items())

    def epoch(self, epoch: int, *, seed: int) -> tuple[Ragged, Ragged]:
        """The source and target tokens of one epoch, counted from 0."""
        changing = bool(self.tokenizer.config.sampling or self._reserved or self._annotating.noise)
        return (
            self._sampled("source", epoch, seed) if changing or self._annotations else self.source,
            self._sampled("target", epoch, seed) if changing else self.target,
        )

    def in_targets(self, vocab: int, *, swapped: bool = False) -> Flags:
        """For each id of a vocabulary of this size, whether a target has it; `swapped`, whether a source has.

        The end counts, too, and so do the reserved pieces if they replace parts of the text.
        """
        found_V = np.zeros(vocab, dtype=np.bool_)
        found_V[self.tokenizer.end_id] = True
        if self._reserved and (both := self.tokenizer.placeholders):
            found_V[list(both[1])] = True
        values = (self.source if swapped else self.target).values
        for first in range(0, len(values), _VALUES):
            found_V[values[first : first + _VALUES]] = True
        return found_V

    def lessons_of(self, epoch: int, *, seed: int) -> Lessons | None:
        """The lessons for the rows of an epoch, which are always the same."""
        return self.lessons

    def _sampled(self, side: Side, epoch: int, seed: int) -> Ragged:
        path, plain = self.folder / f"{side}.sampled", self.source if side == "source" else self.target
        line_of, only_spans = self._line_of(side, epoch, seed), self._only_spans(side)
        with writing(path, self.about["dtype"]) as add:
            for first in range(0, len(plain), self.CHUNK):
                last = min(first + self.CHUNK, len(plain))
                rows: Iterable[int] = range(first, last)
                if only_spans is not None:  # most rows have none
                    rows = (first + np.flatnonzero(np.diff(only_spans.offsets[first : last + 1]))).tolist()
                lines = {row: line for row in rows if (line := line_of(row)) is not None}
                place = np.random.SeedSequence((seed, epoch, first)).generate_state(1)
                written = first
                for row, tokens in self._tokens(lines, side, seed=int(place[0] >> 1)):
                    add.copy(plain, written, row)
                    add(tokens)
                    written = row + 1
                add.copy(plain, written, last)
        return Ragged(path, self.about["dtype"])

    def _only_spans(self, side: Side) -> Ragged | None:
        """The spans that pieces may replace, if nothing else changes a line."""
        others = self.tokenizer.config.sampling or self._annotating.noise
        others = others or (side == "source" and self._annotations is not None)
        return None if others else Ragged(self.folder / "copied", "uint32")

    def _tokens(self, lines: dict[int, _Line], side: Side, *, seed: int) -> list[tuple[int, Sequence[int]]]:
        """Rows in order, each with the tokens of its line and of its guidance."""
        free = {row: line.text for row, line in lines.items() if line.guidance is None}
        sampled = self.tokenizer.sample([*free.values()], side=side, seed=seed)
        tokens: dict[int, Sequence[int]] = dict(zip(free, sampled, strict=True))
        guided = {row: line for row, line in lines.items() if line.guidance is not None}
        encoded = self.tokenizer.encode_source([line.text for line in guided.values()])
        for (row, (text, guidance)), own in zip(guided.items(), encoded, strict=True):
            if guidance is not None:
                tokens[row] = reading(self.tokenizer, text, own, guidance).tokens
        return sorted(tokens.items())

    def _line_of(self, side: Side, epoch: int, seed: int) -> Callable[[int], _Line | None]:
        """Return a function: the text of a row to tokenise in this epoch, or None for its plain tokens."""
        how, both = self._annotating, ("source", "target")
        read = both if how.noise else (side,)
        texts = {one: Ragged(self.folder / f"{one}.text", "uint8") for one in read}
        spans = Ragged(self.folder / "copied", "uint32") if self._reserved else None
        annotations = self._annotations if side == "source" else None

        def line_of(row: int) -> _Line | None:
            changes: list[tuple[int, int, str]] = []
            # Both are the same for both sides. A pair with noise has no pieces.
            if how.noise and Random(f"{seed} {epoch} {row} noise").random() < how.noise:
                pair, key = (texts["source"].text(row), texts["target"].text(row)), f"{seed} {epoch} {row}"
                languages, place = (how.source_language, how.target_language), both.index(side)
                other = noised(pair, key, kinds=how.noise_kinds, languages=languages)[place]
                changes = [(0, len(pair[place]), other)] if other != pair[place] else []
            elif spans is not None and len(spans[row]):
                random = Random(f"{seed} {epoch} {row}")
                drawn = draw_pieces(unpacked(spans[row].tolist()), self._reserved, self._share, random)
                changes = [(*getattr(one, side), piece) for one, piece in drawn]
            guidance = None if annotations is None else annotations.of(row, epoch, seed=seed)
            if not changes and not self.tokenizer.config.sampling and guidance is None:
                return None
            line = replaced(texts[side].text(row), changes)
            return _Line(line, None if guidance is None else moved(guidance, changes))

        return line_of


def _numbered(word: str, numbers: Sequence[int]) -> str:
    """As in "lines 3, 14, 159 and 29 more"."""
    shown = listing([str(number) for number in sorted(numbers)], most=_NAMED)
    return f"{word}{'' if len(numbers) == 1 else 's'} {shown}"


class _Line(NamedTuple):
    """A line to tokenise."""

    text: str
    guidance: Guidance | None  # that the model reads with it


def tokenise(
    corpus: Corpus,
    tokenizer: Tokenizer,
    config: FilterConfig,
    folder: Path,
    *,
    annotating: Annotating = NOTHING,
    workers: int = 1,
    progress: Callable[[str], None] = lambda text: None,
) -> TokenisedCorpus:
    """Tokenise the corpus into `folder`, a chunk at a time, without the pairs that the filter rejects.

    Resumes an earlier call that was killed, if text and options are the same; does nothing if that was
    complete. More than one of `workers` are processes, for text that is worth their start; 0 is one for each
    core. The result does not depend on them.

    about.json is removed before any other file is replaced, and written last. So if it exists, all files
    come from the same text. Raises DataError if no pair is left, ConfigError for annotations with a
    vocabulary that has no marks for them, DragomanError if a process fails.
    """
    if annotating.names and marks_of(tokenizer) is None:
        raise ConfigError(
            f"data.{annotating.names[0]}: this vocabulary has no bytes, so it has no marks for notes",
            hint='set tokenizer.kind="bpe" or "unigram" with tokenizer.byte_fallback=true, or leave it out',
        )
    dtype = "uint16" if max(tokenizer.source_size, tokenizer.target_size) <= 65536 else "uint32"
    made_with = digest_of_options(tokenizer, config, annotating)
    if _about(folder, "made_with") == made_with and is_made_from(corpus, folder):
        return TokenisedCorpus(folder, tokenizer, annotating=annotating)
    with UnfinishedCorpus(folder, made_with) as files:
        work = Tokenising(
            corpus,
            Chunker(tokenizer=tokenizer, keep=config, dtype=dtype),
            files,
            size=TokenisedCorpus.CHUNK,
            keeps_text=bool(
                tokenizer.placeholders or tokenizer.config.sampling or annotating.names or annotating.noise
            ),
            keeps_context=bool(annotating.context),
        )
        if files.lines:
            progress(f"tokenising resumes after {files.lines:,} pairs")
        try:
            work.run(machine.cores() if workers == 0 else workers)
        except Changed as change:
            progress(f"{change}: changed since the run was stopped; tokenising it from the beginning")
            files.discard()
            work = replace(work, report=FilterReport())
            work.run(machine.cores() if workers == 0 else workers)
        if not work.report.kept:
            files.discard()
            raise DataError(
                f"{corpus.name}: no usable pair\n{work.report}",
                hint="the lines above say why each pair was set aside",
            )
        annotate(files.folder, annotating, progress=progress)
        seals = sealed(files.folder, files.lasting())  # before the move: it takes long for a large text
        files.move()
    about = {
        "files": seals,
        "dtype": dtype,
        # Without folders.
        "corpus": [" and ".join(PurePath(n).name for n in one.name.split(" and ")) for one in corpus.shards],
        "first_rows": work.first_rows,
        "made_with": made_with,
        "text": work.read.hexdigest(),
        "fingerprint": work.digest.hexdigest(),
        "report": str(work.report),
        "shards": work.shards,
    }
    about["digest"] = digest_of_table(about)
    write_whole(folder / "about.json", json.dumps(about, indent=1))
    return TokenisedCorpus(folder, tokenizer, annotating=annotating)


def digest_of_options(tokenizer: Tokenizer, config: FilterConfig, annotating: Annotating) -> str:
    """A digest of everything except the text that the tokens depend on."""
    digest = hashlib.blake2b(digest_size=16)
    digest.update(repr((tokenizer.config, config, annotating, TokenisedCorpus.CHUNK)).encode())
    if annotating.context or annotating.formality or annotating.noise:  # what has to be in the folder
        digest.update(b"context" if annotating.context else b"text")
    for vocabulary in tokenizer.vocabularies:
        for data in vocabulary.to_files().values():
            digest.update(data)
    return digest.hexdigest()


def is_made_from(corpus: Corpus, folder: Path) -> bool | None:
    """Whether the tokens in `folder` come from this text, or None if the folder holds no usable tokens."""
    if (text := usable(folder)) is None:
        return None
    read, contexts = hashlib.blake2b(digest_size=16), (folder / CONTEXT).exists()
    for lines in chunks_of(corpus, TokenisedCorpus.CHUNK, contexts=contexts):
        read.update(signed(lines.rows))
    return bool(read.hexdigest() == text)


def usable(folder: Path) -> str | None:
    """Return the digest of the text that the tokens in `folder` were made from, None if they are not usable.

    Reads all files of the folder. If one is damaged, a warning is logged.
    """
    try:
        about = json.loads((folder / "about.json").read_text(encoding="utf-8"))
        text, digest = about["text"], about.pop("digest", None)
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None
    faults = broken(folder, about.get("files", {}))
    if digest is not None and digest != digest_of_table(about):
        faults.append("about.json has changed since it was written")
    if faults:
        log.warning("%s: the tokenised text is damaged (%s)", folder, "; ".join(faults))
        return None
    return str(text)


def first_change(corpus: Corpus, folder: Path) -> str:
    """The name of the first shard that differs from the source of the tokens in `folder`."""
    shards, before = corpus.shards, _about(folder, "shards") or []
    if len(shards) > 1 and len(before) != len(shards):
        return f"{corpus.name}, {len(shards)} files instead of {len(before)},"
    read, contexts = hashlib.blake2b(digest_size=16), (folder / CONTEXT).exists()
    for shard, (_, digest) in zip(shards, before, strict=False):
        for lines in chunks_of(shard, TokenisedCorpus.CHUNK, contexts=contexts):
            read.update(signed(lines.rows))
        if read.hexdigest() != digest:
            return shard.name
    return corpus.name


def _about(folder: Path, key: str) -> Any:
    try:
        return json.loads((folder / "about.json").read_text(encoding="utf-8"))[key]
    except (OSError, ValueError, KeyError, TypeError):
        return None
