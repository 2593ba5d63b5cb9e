"""Duplicates in parallel text of any size: groups of pairs that are alike, and the best pair of each.

The keys of all pairs go into files by their highest bits, each small enough to be sorted in memory. Of the
pairs with one key, each is compared with the first and with the one before it, so n of them cost O(n). What
is alike is united, so groups are transitive. The files have no names, so a kill leaves nothing behind.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import partial
from itertools import compress, islice
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any

import numpy as np

from dragoman.data.likeness import Likeness
from dragoman.data.near import Array
from dragoman.data.passes import CHUNK, mapped
from dragoman.text.checks.faults import faults
from dragoman.text.corpora.corpus import Corpus
from dragoman.text.corpora.lines import Line

_BITS = 7  # of a key, which choose its file: on some systems a process may open 256
_KEY = np.dtype([("key", np.uint64), ("row", np.int32)])
_PLACE = np.dtype([("end", np.int64), ("line", np.int32), ("file", np.int32)])  # `end` is that of its text
_Compared = tuple[Array, Array, list[tuple[str, str]]]  # rows, other rows, and the texts of both


class Duplicates:
    """The pairs of a corpus as rows from 0 on, and for each the row that stands for its group.

    It takes some 30 bytes of memory a row, and files in `folder`: 12 bytes a key, 16 a row, and the texts.
    """

    def __init__(
        self,
        corpus: Corpus,
        likeness: Likeness,
        folder: Path,
        seen: Callable[[int], None] = lambda rows: None,
        *,
        workers: int,
        stack: ExitStack,
    ) -> None:
        self._corpus, self._likeness, self._workers = corpus, likeness, workers
        files = [stack.enter_context(TemporaryFile(dir=folder)) for _ in range(2 + (1 << _BITS))]  # noqa: SIM115
        self._text, self._index, *self._keys = files
        self._files: list[str] = []
        count = self._spool(seen)
        self._places = np.memmap(self._index, _PLACE, "r")
        self._groups = np.arange(count, dtype=np.int32)  # an earlier row of the group, or the row itself
        if likeness.by != "near":
            for rows, others in self._candidates():
                _unite(self._groups, rows, others)
        else:
            for (rows, others, _), alike in mapped(partial(_are_alike, likeness), self._compared(), workers):
                _unite(self._groups, rows[alike], others[alike])
        _first(self._groups, np.arange(count))
        self._best = self._best_of_groups()
        self._is_kept = self._best == np.arange(count, dtype=np.int32)
        kept = int(self._is_kept.sum())
        self.counts = {"pairs": count, "kept": kept, "left_out": count - kept}

    def kept(self) -> Iterator[Line]:
        """The pairs that stand for their groups, in order."""
        return compress(self._corpus, self._is_kept.tobytes())

    def left_out(self) -> Iterator[dict[str, Any]]:
        """Say of each other pair where it is, and which pair stands for it."""
        for row in np.flatnonzero(~self._is_kept).tolist():
            best = int(self._best[row])
            about = self._place(row) | {"of": self._place(best)}
            if self._likeness.by == "near":
                value = self._likeness.similarity(self._read(row), self._read(best))
                about["similarity"] = round(value, 4)
            yield about

    def _place(self, row: int) -> dict[str, Any]:
        place = self._places[row]
        return {"file": self._files[place["file"]], "line": int(place["line"])}

    def _read(self, row: int) -> str:
        start = int(self._places[row - 1]["end"]) if row else 0
        self._text.seek(start)
        return self._text.read(int(self._places[row]["end"]) - start).decode()

    def _spool(self, seen: Callable[[int], None]) -> int:
        """Write what is needed of each pair into files. Return the number of pairs."""
        count = end = 0
        for file, chunk, texts, keys in self._likeness.chunks(self._corpus, self._workers):
            if file not in self._files[-1:]:
                self._files.append(file)
            encoded = [text.encode() if self._likeness.by == "near" else b"" for text in texts]
            places = np.empty(len(chunk), _PLACE)
            places["end"] = end + np.cumsum([*map(len, encoded)])
            places["line"], places["file"] = [line.number for line in chunk], len(self._files) - 1
            self._text.write(b"".join(encoded))
            self._index.write(places.tobytes())
            rows, columns = np.nonzero(keys)
            records = np.empty(len(rows), _KEY)
            records["key"], records["row"] = keys[rows, columns], rows + count
            numbers = (records["key"] >> np.uint64(64 - _BITS)).astype(np.uint8)
            records = records[np.argsort(numbers, kind="stable")]
            ends = np.cumsum(np.bincount(numbers, minlength=1 << _BITS))
            for keys_file, some in zip(self._keys, np.split(records, ends[:-1]), strict=True):
                keys_file.write(some.tobytes())
            count, end = count + len(chunk), int(places["end"][-1])
            seen(count)
        self._index.flush()
        return count

    def _candidates(self) -> Iterator[tuple[Array, Array]]:
        """Yield rows and rows before them with a key in common that are not yet in one group."""
        for file in self._keys:
            file.seek(0)
            records = np.frombuffer(file.read(), _KEY)
            records = records[np.argsort(records["key"], kind="stable")]
            later = 1 + np.flatnonzero(records["key"][1:] == records["key"][:-1])
            first = np.arange(len(records))
            first[later] = 0
            first = np.maximum.accumulate(first)[later]
            yield _apart(self._groups, records["row"][later], records["row"][first])
            if self._likeness.by == "near":
                later = later[first < later - 1]
                yield _apart(self._groups, records["row"][later], records["row"][later - 1])

    def _compared(self) -> Iterator[_Compared]:
        for whole in self._candidates():
            for start in range(0, len(whole[0]), CHUNK):
                rows, others = _apart(self._groups, *(side[start : start + CHUNK] for side in whole))
                texts = zip(*(map(self._read, side.tolist()) for side in (rows, others)), strict=True)
                yield rows, others, [*texts]

    def _best_of_groups(self) -> Array:
        """The row that stands for the group of each row: the first without faults, or else the first."""
        groups, count = self._groups, len(self._groups)
        if (self._likeness.by, self._likeness.sides) == ("exact", "both"):  # all are equal
            return groups
        within = groups != np.arange(count)
        within[groups[within]] = True
        best = np.full(count, count, np.int32)
        lines = compress(enumerate(self._corpus), within.tobytes())
        unknown = (line for line in lines if best[groups[line[0]]] == count)  # all rows so far have faults
        faulty = partial(_are_faulty, self._corpus.source_language or "", self._corpus.target_language or "")
        for chunk, found in mapped(faulty, iter(lambda: [*islice(unknown, CHUNK)], []), self._workers):
            good = np.array([row for row, _ in chunk], np.int32)[~np.array(found)]
            np.minimum.at(best, groups[good], good)
        return np.where(best < count, best, np.arange(count, dtype=np.int32))[groups]


def _are_alike(likeness: Likeness, compared: _Compared) -> Array:
    return np.array([likeness.are_alike(*texts) for texts in compared[2]], bool)


def _are_faulty(source: str, target: str, lines: list[tuple[int, Line]]) -> list[bool]:
    return [bool(faults(line.source, line.target, source, target)) for _, line in lines]


def _first(groups: Array, rows: Array) -> Array:
    """The first rows of the groups of `rows`, whose ways there are made shorter."""
    above = groups[rows]
    while not np.array_equal(above, higher := groups[above]):
        groups[rows] = above = higher
    return above


def _apart(groups: Array, rows: Array, others: Array) -> tuple[Array, Array]:
    """The rows that are not in one group with the others, and those others."""
    apart = _first(groups, rows) != _first(groups, others)
    return rows[apart], others[apart]


def _unite(groups: Array, rows: Array, others: Array) -> None:
    """Make one group of those of each row and its other."""
    while len(rows):
        ones, twos = _first(groups, rows), _first(groups, others)
        np.minimum.at(groups, np.maximum(ones, twos), np.minimum(ones, twos))
        rows, others = _apart(groups, rows, others)
