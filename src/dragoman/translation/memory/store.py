"""A translation memory: earlier translations in one SQLite file.

    memory = TranslationMemory.create("app.tm", source_language="en", target_language="de")
    memory.add("Save the file.", "Die Datei speichern.", author="Ada")
    memory.search("Save the files.")

All methods may be called from several threads at once, and several programs may use one file. The file
belongs on a local disk.
"""

from __future__ import annotations

import contextlib
import re
import sqlite3
import threading
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import islice
from pathlib import Path
from typing import Any, Self

from dragoman.base.errors import ConfigError, DataError
from dragoman.base.languages import canonical
from dragoman.text.blank import is_blank
from dragoman.text.guidance import LEAST, Guidance, Match
from dragoman.translation.memory import fuzzy_search
from dragoman.translation.memory.similarity import LONGEST, single_spaced
from dragoman.translation.memory.store_file import (
    COLUMNS,
    PairRow,
    Remembered,
    StoreFile,
    insert,
    milliseconds,
    pair_of,
    same_source,
    time_of,
    whole_row,
)

_TOGETHER = 10_000  # pairs written in one transaction
_BREAKS = re.compile(r"\s*[\r\n]+\s*")
_IMPOSSIBLE = re.compile("[\0\ud800-\udfff]")  # characters that no text file can hold


@dataclass(frozen=True)
class FuzzyMatch:
    """A pair found in a memory, and how alike its source is, in percent."""

    score: float
    pair: Remembered


@dataclass
class Added:
    """The result of adding pairs."""

    new: int = 0
    known: int = 0  # the memory had them
    blank: int = 0  # a side was empty, or invisible


@dataclass(frozen=True)
class MemorySummary:
    """The size and languages of a memory."""

    source_language: str
    target_language: str
    pairs: int
    segments: int  # different sources
    changed: datetime | None  # when it got its newest translation; None if it is empty
    used: int
    bytes: int


class TranslationMemory:
    """A translation memory in a file. Close it, or use it in a `with` block."""

    def __init__(self, path: str | Path) -> None:
        """Open a memory. Raise DataError if the file is missing, damaged, newer or something else."""
        self._start(StoreFile(Path(path)))

    @classmethod
    def create(cls, path: str | Path, *, source_language: str, target_language: str) -> Self:
        """Open a memory, or make a new one. Its folder must exist.

        Raise ConfigError if it is for other languages, DataError for a file that is something else or cannot
        be made.
        """
        wanted = canonical(source_language), canonical(target_language)
        if not all(wanted) or wanted[0] == wanted[1]:
            raise ConfigError(
                f"a memory from {source_language!r} to {target_language!r}", hint="name two languages"
            )
        languages = {"source_language": source_language, "target_language": target_language}
        memory = cls.__new__(cls)
        memory._start(StoreFile.create(Path(path), languages))
        if (canonical(memory.source_language), canonical(memory.target_language)) != wanted:
            memory.close()
            raise ConfigError(
                f"{path}: is from {memory.source_language} to {memory.target_language}, not from "
                f"{source_language} to {target_language}",
                hint="use a memory for each pair of languages",
            )
        return memory

    def _start(self, file: StoreFile) -> None:
        self._file, self.path = file, file.path
        self._used: Counter[tuple[str, str]] = Counter()
        self._using = threading.Lock()
        with file.reading() as connection:
            about = dict(connection.execute("SELECT name, value FROM about").fetchall())
        try:
            self.source_language, self.target_language = about["source_language"], about["target_language"]
        except KeyError as error:
            file.close()
            raise DataError(f"{file.path}: damaged (no {error.args[0]})", hint="restore the file") from error

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the place of the file; another process opens it again."""
        return type(self), (self.path.absolute(),)

    def __repr__(self) -> str:
        return f"<TranslationMemory {str(self.path)!r}, {self.source_language} to {self.target_language}>"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Write how often pairs were used, if the file can be written, and close it."""
        used, self._used = self._used, Counter()
        if used and self._file.writable:
            with contextlib.suppress(DataError), self._file.writing() as connection:
                for (source, target), count in used.items():
                    same = same_source(connection, source)
                    for row in [row for row in same if row.target == target][:1]:
                        connection.execute("UPDATE pairs SET used = used + ? WHERE id = ?", (count, row.id))
        self._file.close()

    # ---- add confirmed translations ------------------------------------------------------------------------

    def add(self, source: str, target: str, *, author: str = "", origin: str = "", note: str = "") -> bool:
        """Confirm a translation, which becomes the first of its source. Return whether it is new.

        When this returns, the pair is on the disk. Raise DataError if it cannot be written, or is not text.
        """
        pair = _checked(Remembered(source, target, author=author, origin=origin, note=note))
        if is_blank(pair.source) or is_blank(pair.target):
            raise DataError("a translation without words", hint="give a source and its translation")
        with self._file.writing() as connection:
            same = same_source(connection, single_spaced(pair.source))
            now = max([_now(), *(row.changed + 1 for row in same)])
            known = next((row for row in same if row.target == pair.target), None)
            if known is None:
                number = insert(connection, pair, now, now)
                if not same:
                    fuzzy_search.add(connection, [(number, single_spaced(pair.source))])
            else:
                connection.execute(
                    "UPDATE pairs SET source = ?, changed = ?, author = coalesce(nullif(?, ''), author), "
                    "origin = coalesce(nullif(?, ''), origin), note = coalesce(nullif(?, ''), note) "
                    "WHERE id = ?",
                    (pair.source, now, author, origin, note, known.id),
                )
        return known is None

    def extend(self, pairs: Iterable[Remembered]) -> Added:
        """Add many pairs. A pair that the memory has is not added again.

        They are written in portions of 10,000: an error of `pairs` leaves the portions before it. Of equal
        sources the one that changed last is first; of those without a time, the last one.
        """
        added = Added()
        left = iter(pairs)
        while portion := list(islice(left, _TOGETHER)):
            counted = replace(added)
            with self._file.writing() as connection:
                new: list[tuple[int, str]] = []
                for pair in portion:
                    self._enter(connection, _checked(pair), counted, new)
                fuzzy_search.add(connection, new)
            added = counted
        return added

    def _enter(
        self, connection: sqlite3.Connection, pair: Remembered, added: Added, new: list[tuple[int, str]]
    ) -> None:
        if is_blank(pair.source) or is_blank(pair.target):
            added.blank += 1
            return
        text = single_spaced(pair.source)
        same = same_source(connection, text)
        # TMX holds no runs of spaces and no line breaks: such a pair comes back with single spaces.
        if any(single_spaced(row.target) == single_spaced(pair.target) for row in same):
            added.known += 1
            return
        now = _now()
        changed = milliseconds(pair.changed or pair.created, now)
        number = insert(connection, pair, milliseconds(pair.created, changed), changed)
        added.new += 1
        if not same:
            new.append((number, text))

    # ---- look up translations --------------------------------------------------------------------

    def exact(self, line: str) -> Match | None:
        """Return the newest translation of a line that is equal but for its spaces."""
        with self._file.reading() as connection:
            same = _shown(connection, single_spaced(line))
        return Match(same[0].source, same[0].target, 100.0) if same else None

    def match(self, line: str, *, least: float = LEAST) -> Match | None:
        """Return the most similar line, equal or at least this alike in percent."""
        if (found := self.exact(line)) is not None or least >= 100:
            return found
        similar = self.search(line, least=least, most=1)
        return Match(similar[0].pair.source, similar[0].pair.target, similar[0].score) if similar else None

    def count_use(self, match: Match) -> None:
        """Count that a match was taken over. `close` writes the counts."""
        with self._using:
            self._used[single_spaced(match.source), match.target] += 1

    def search(self, text: str, *, least: float = LEAST, most: int = 5) -> list[FuzzyMatch]:
        """Return up to `most` pairs that are at least this alike in percent, the best first.

        Of pairs with equal sources, the newest comes first. Of a text with more than 2,000 characters only
        equal ones are found.
        """
        if not 0 < least <= 100:
            raise ConfigError(f"least = {least} cannot be used", hint="use 1 to 100 percent")
        text = single_spaced(text)
        with self._file.reading() as connection:
            found = [FuzzyMatch(100.0, row.pair()) for row in _shown(connection, text)]
            if least < 100 and len(text) <= LONGEST and len(found) < most:
                for score, source in fuzzy_search.alike(connection, text, least, most):
                    found += [FuzzyMatch(score, row.pair()) for row in _shown(connection, source)]
        return found[:most]

    # ---- all of it -------------------------------------------------------------------------------------

    def pairs(self) -> Iterator[Remembered]:
        """Yield all pairs, those that changed last at the end."""
        with self._file.reading() as connection:
            for row in connection.execute(f"SELECT {COLUMNS} FROM pairs ORDER BY changed, id"):
                yield pair_of(whole_row(row))

    @property
    def stamp(self) -> tuple[int, ...]:
        """Sizes and times of the files, which differ after any program has changed them."""
        files = (self.path, self.path.with_name(f"{self.path.name}-wal"))
        with contextlib.suppress(FileNotFoundError):  # another program may write it back and delete it
            return tuple(one.stat().st_mtime_ns + one.stat().st_size for one in files if one.exists())
        return ()

    def about(self) -> MemorySummary:
        """Count what is in it, and check that the file is whole. Raise DataError if it is damaged."""
        with self._file.reading() as connection:
            faults = [one for (one,) in connection.execute("PRAGMA quick_check(1)")]
            if faults != ["ok"]:
                raise sqlite3.DatabaseError(" ".join(str(faults[0]).split()))
            pairs, segments, changed, used = connection.execute(
                "SELECT count(*), count(DISTINCT key), max(changed), sum(used) FROM pairs"
            ).fetchone()
            newest = None if changed is None else time_of(changed)
        languages, size = (self.source_language, self.target_language), self.path.stat().st_size
        return MemorySummary(*languages, pairs, segments, newest, used or 0, size)


class MemoryGuide:
    """Gives each line the most similar line of a memory that is at least this alike, in percent.

    With `reads`, the model reads the translation of a line that is not equal. With `exact=False`, a line that
    the memory has gets nothing: its translation cannot be used.
    """

    def __init__(
        self, memory: TranslationMemory, *, least: float = LEAST, reads: bool = False, exact: bool = True
    ) -> None:
        self.memory, self.least, self.reads, self.exact = memory, least, reads, exact

    def inexact(self) -> MemoryGuide:
        """The same with `exact=False`."""
        return MemoryGuide(self.memory, least=self.least, reads=self.reads, exact=False)

    def guide(self, lines: Sequence[str]) -> list[Guidance | None]:
        """See `Guide.guide`. A translation of several lines becomes one."""
        return [self._guidance(line) for line in lines]

    def _guidance(self, line: str) -> Guidance | None:
        match = self.memory.match(line, least=self.least)
        if match is None or (match.exact and not self.exact):
            return None
        if match.exact:
            self.memory.count_use(match)
        joined = Match(_BREAKS.sub(" ", match.source), _BREAKS.sub(" ", match.target), match.score)
        return Guidance(match=joined, reads_match=self.reads and not match.exact)


def _checked(pair: Remembered) -> Remembered:
    """The pair without spaces around its texts. Raise DataError for characters that no file can hold."""
    for text in (pair.source, pair.target, pair.author, pair.origin, pair.note):
        if _IMPOSSIBLE.search(text):
            raise DataError(f"{text[:60]!r} has a NUL character or half a surrogate pair", hint="remove it")
    return replace(pair, source=pair.source.strip(), target=pair.target.strip())


def _shown(connection: sqlite3.Connection, text: str) -> list[PairRow]:
    """The rows with a source, the newest first. An earlier version took translations that are invisible."""
    return [row for row in same_source(connection, text) if not is_blank(row.target)]


def _now() -> int:
    return time.time_ns() // 1_000_000
