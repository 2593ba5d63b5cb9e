"""The work of tokenising a text: read chunks, tokenise them, leave out duplicates, write the rest."""

from __future__ import annotations

import hashlib
import itertools
import os
import shutil
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np

from dragoman.base.files import explaining, sweep
from dragoman.base.jobs import GrowingFiles, JobRecord
from dragoman.text.corpora.context import with_context
from dragoman.text.corpora.corpus import Corpus
from dragoman.text.corpora.duplicates import SeenRows
from dragoman.text.corpora.filter import DUPLICATE, REASONS, FilterReport
from dragoman.text.corpora.lines import Line
from dragoman.text.guidance import Context
from dragoman.training.data.annotations import CONTEXT
from dragoman.training.data.chunk import Array, Chunk, Chunker, digests_of
from dragoman.training.data.workers import Workers


class LinesOfShard(NamedTuple):
    """Lines of one shard, without spaces around them, which translating ignores too."""

    shard: int
    numbers: list[int]
    sides: tuple[list[str], list[str]]
    contexts: list[Context]  # of each line, if they are kept

    @property
    def rows(self) -> list[tuple[str, ...]]:
        """What the tokens depend on, line by line."""
        if not self.contexts:
            return [*zip(*self.sides, strict=True)]
        return [(*pair, *context) for *pair, context in zip(*self.sides, self.contexts, strict=True)]


def chunks_of(corpus: Corpus, size: int, *, contexts: bool) -> Iterator[LinesOfShard]:
    for number, shard in enumerate(corpus.shards):
        lines: Iterator[tuple[Line, Context | None]]
        lines = with_context(shard) if contexts else ((line, None) for line in shard)
        while chunk := [*itertools.islice(lines, size)]:
            sides = [line.source.strip() for line, _ in chunk], [line.target.strip() for line, _ in chunk]
            known = [context for _, context in chunk if context is not None]
            yield LinesOfShard(number, [line.number for line, _ in chunk], sides, known)


def signed(rows: Iterable[Sequence[str]]) -> bytes:
    """The bytes of rows for the digests."""
    return "".join("\t".join(row) + "\n" for row in rows).encode()


class Changed(Exception):
    """A shard differs from the one that the unfinished files were made from."""


@dataclass
class Tokenising:
    """The state of one `tokenise`."""

    corpus: Corpus
    chunker: Chunker
    files: UnfinishedCorpus
    size: int  # lines of a chunk
    keeps_text: bool
    keeps_context: bool
    report: FilterReport = field(default_factory=FilterReport)

    ALONE = 10  # chunks that need no other processes: starting them would take longer

    def run(self, workers: int) -> None:
        """Read the text to its end. Raises Changed if its beginning differs from the files."""
        tokenizer = self.chunker.tokenizer
        self.read, self.digest = hashlib.blake2b(digest_size=16), hashlib.blake2b(digest_size=16)
        self.shards: Digests = []
        self.first_rows = [0]  # of each shard
        arrays = ["source.tokens", "target.tokens", "source.text", "target.text"]
        arrays += [CONTEXT] if self.keeps_context else []
        self.files.open([*arrays, *(["copied"] if tokenizer.placeholders else [])])
        chunks = chunks_of(self.corpus, self.size, contexts=self.keeps_context)
        self._skip(chunks)
        self.seen = self._seen_so_far()
        self.lines = self.files.lines
        with explaining(self.files.target):
            for lines in itertools.islice(chunks, self.ALONE if workers > 1 else None):
                self._add(lines, self.chunker.chunk(*lines.sides))
            more = next(chunks, None)
            if more is not None:
                with Workers(self.chunker, workers) as pool:
                    for lines, chunk in pool.chunks(
                        (one, one.sides) for one in itertools.chain([more], chunks)
                    ):
                        self._add(lines, chunk)
            self._end_shards(len(self.corpus.shards))
            self.files.save(lines=self.lines, text=self.read.hexdigest(), shards=self.shards)

    def _add(self, lines: LinesOfShard, chunk: Chunk) -> None:
        """Write a chunk without its duplicates."""
        reasons = chunk.reasons.copy()
        rows = np.flatnonzero(reasons == 0)
        contexts = ["\n".join(lines.contexts[row]) for row in rows] if self.keeps_context else []
        fresh = np.ones(len(rows), bool)
        if self.chunker.keep.drop_duplicates:
            fresh = self.seen.add(self._in_context(chunk.digests, contexts))
        reasons[rows[~fresh]] = 1 + REASONS.index(DUPLICATE)
        self._count(lines, reasons)
        files = self.files
        files.append(REASONS_FILE, reasons.tobytes())
        numbers = np.array(lines.numbers, np.int64)[rows[fresh]]
        files.append(LINES, np.where(numbers < 2**32, numbers, 0).astype(LINE).tobytes())
        files.append(SEEN, chunk.digests[fresh].tobytes())
        for side, values, lengths in (
            ("source", chunk.source, chunk.source_lengths),
            ("target", chunk.target, chunk.target_lengths),
        ):
            files.append_rows(f"{side}.tokens", lengths[fresh], _chosen(values, lengths, fresh).tobytes())
        if self.chunker.tokenizer.placeholders:
            spans = _chosen(chunk.copied, chunk.copied_lengths, fresh)
            files.append_rows("copied", chunk.copied_lengths[fresh], spans.tobytes())
        for side, texts in zip(("source", "target"), lines.sides, strict=True):
            kept = [texts[row].encode() for row in rows[fresh]] if self.keeps_text else []
            files.append_rows(f"{side}.text", np.array([*map(len, kept)], np.int64), b"".join(kept))
        if self.keeps_context:
            kept = [contexts[row].encode() for row in np.flatnonzero(fresh)]
            files.append_rows(CONTEXT, np.array([*map(len, kept)], np.int64), b"".join(kept))
        self.lines += len(reasons)
        if files.due:
            files.save(lines=self.lines, text=self.read.hexdigest(), shards=self.shards)

    def _count(self, lines: LinesOfShard, reasons: Array) -> None:
        """Add the lines to the digests and to the report."""
        self._end_shards(lines.shard)
        rows = lines.rows
        text = signed(rows)
        self.read.update(text)
        self.digest.update(
            signed(rows[row] for row in np.flatnonzero(reasons == 0)) if reasons.any() else text
        )
        self.report.keep(int((reasons == 0).sum()))
        shards = self.corpus.shards
        name = f"{shards[lines.shard].name}:" if len(shards) > 1 else ""
        for row in np.flatnonzero(reasons).tolist():
            number = lines.numbers[row]
            self.report.leave_out(REASONS[reasons[row] - 1], f"{name}{number:,}" if name else number)

    def _end_shards(self, count: int) -> None:
        """Note the digest of each of the first `count` shards that is not noted yet."""
        while len(self.shards) < count:
            self.shards.append((self.corpus.shards[len(self.shards)].name, self.read.hexdigest()))
            self.first_rows.append(self.report.kept)

    def _skip(self, chunks: Iterator[LinesOfShard]) -> None:
        """Read the lines that the files hold, and compare them with the digests of the record."""
        record, lines = self.files.table, 0
        while lines < self.files.lines:
            if (chunk := next(chunks, None)) is None:
                raise Changed(self.corpus.name)
            reasons = self.files.past(REASONS_FILE, lines, len(chunk.numbers), "uint8")
            if len(reasons) < len(chunk.numbers):
                raise Changed(self.corpus.shards[chunk.shard].name)
            self._count(chunk, reasons)
            lines += len(reasons)
            for (name, digest), (_, before) in zip(self.shards, record["shards"], strict=False):
                if digest != before:
                    raise Changed(name)
        if lines and (lines != self.files.lines or self.read.hexdigest() != record["text"]):
            raise Changed(self.corpus.shards[min(len(self.shards), len(self.corpus.shards) - 1)].name)

    def _seen_so_far(self) -> SeenRows:
        seen, size = (SeenRows(self.files.folder), self.files.table.get("sizes", {}).get(SEEN, 0) // 8)
        for first in range(0, size, seen.IN_MEMORY):
            count = min(seen.IN_MEMORY, size - first)
            contexts = self.files.past_rows(CONTEXT, first, count) if self.keeps_context else []
            seen.add(self._in_context(self.files.past(SEEN, first, count, "uint64"), contexts))
        return seen

    def _in_context(self, digests: Array, contexts: Sequence[str]) -> Array:
        """The digests of pairs in their contexts: the same pair in another context is no duplicate."""
        return digests ^ digests_of((one, "") for one in contexts) if self.keeps_context else digests


def _chosen(values: Array, lengths: Array, rows: Array) -> Array:
    """The values of the chosen rows."""
    return values if rows.all() else values[np.repeat(rows, lengths)]


Digests = list[tuple[str, str]]  # the name of each shard, and a digest of the text up to its end

REASONS_FILE, SEEN, _RECORD = "reasons", "seen", "record.json"
LINES, LINE = "lines", np.dtype("<u4")  # the line number of each pair; 0 for one that does not fit


class UnfinishedCorpus(GrowingFiles):
    """A tokenised corpus that is not complete: its files grow, and after a kill they resume from the record.

        unfinished/source.tokens ...  the files of the corpus so far
        unfinished/lines              the line number of each pair in its shard
        unfinished/reasons            a byte for each line that was read: 0, or why the pair was left out
        unfinished/seen               a digest of 8 bytes for each pair
        unfinished/record.json        how many lines they hold, the sizes of the files, digests of the text

    Bytes beyond the recorded sizes are cut off. The record has digests of the text up to the end of
    each shard, so that a changed one can be named. `made_with` says what else the files depend on.
    """

    def __init__(self, folder: Path, made_with: str) -> None:
        place = folder / "unfinished"
        super().__init__(place, JobRecord(place / _RECORD, made_with, key="made_with"))
        self.target = folder
        self._ends: dict[str, int] = {}  # of the last row of each ragged array
        self.read()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def lines(self) -> int:
        """How many lines of the text the files hold."""
        return int(self.table.get("lines", 0))

    def open(self, names: Iterable[str]) -> None:
        """Open the files to resume from the record: these ragged arrays, reasons and seen."""
        arrays = list(names)
        with explaining(self.target):
            if not self.table:
                shutil.rmtree(self.folder, ignore_errors=True)
            self.folder.mkdir(parents=True, exist_ok=True)
            sweep(self.folder)
            super().open(
                [*(f"{one}{end}" for one in arrays for end in ("", ".offsets")), LINES, REASONS_FILE, SEEN]
            )
            if not self.table:
                for array in arrays:
                    self.append(f"{array}.offsets", bytes(8))
        self._ends = {array: self._last_offset(array) for array in arrays}

    def past(self, name: str, first: int, count: int, dtype: str) -> Array:
        """Numbers of a file, beginning with those present when it was opened."""
        width = np.dtype(dtype).itemsize
        return np.fromfile(self.folder / name, dtype, count, offset=first * width)

    def past_rows(self, array: str, first: int, count: int) -> list[str]:
        """Texts of a ragged array, beginning with those present when it was opened."""
        offsets = self.past(f"{array}.offsets", first, count + 1, "int64")
        data = self.past(array, int(offsets[0]), int(offsets[-1] - offsets[0]), "uint8").tobytes()
        return [data[a - offsets[0] : b - offsets[0]].decode() for a, b in pairwise(offsets)]

    def append_rows(self, array: str, lengths: Array, values: bytes) -> None:
        """Append rows to a ragged array; `lengths` are in values."""
        offsets = self._ends[array] + np.cumsum(lengths, dtype=np.int64)
        self.append(f"{array}.offsets", offsets.tobytes())
        self.append(array, values)
        if len(offsets):
            self._ends[array] = int(offsets[-1])

    def lasting(self) -> list[str]:
        """The names of the files that the corpus keeps."""
        names = (path.name for path in self.folder.iterdir() if path.is_file())
        return [name for name in names if name not in (_RECORD, REASONS_FILE)]

    def move(self) -> None:
        """Move the files to their places in the corpus. about.json must be written then."""
        self.close()
        with explaining(self.target):
            for name in ("about.json", CONTEXT):  # earlier tokens may have had contexts
                (self.target / name).unlink(missing_ok=True)
            for name in (_RECORD, REASONS_FILE):
                (self.folder / name).unlink()
            for path in sorted(self.folder.iterdir()):
                os.replace(path, self.target / path.name)
            self.folder.rmdir()

    def discard(self) -> None:
        """Delete the files."""
        self.close()
        shutil.rmtree(self.folder, ignore_errors=True)
        self.table = {}

    def _last_offset(self, array: str) -> int:
        file = self._files[f"{array}.offsets"]
        file.flush()
        file.seek(-8, os.SEEK_END)
        return int.from_bytes(file.read(8), sys.byteorder, signed=True)

    def _fits(self, table: dict[str, Any]) -> bool:
        return table["lines"] > 0 and super()._fits(table)
