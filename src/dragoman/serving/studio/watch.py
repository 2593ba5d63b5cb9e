"""Watch runs, and report news about them."""

from __future__ import annotations

import asyncio
import os
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

from dragoman.base.config import read_toml
from dragoman.base.errors import ConfigError, DataError
from dragoman.base.options import option_name, show
from dragoman.pipeline.running import RECORD, log_end, read_rows
from dragoman.serving.studio.history import Axis, History, Point

METRICS, RECIPE = "metrics.jsonl", "training.toml"
SHOWN = 600  # points of a curve that a page gets at first
_AT_ONCE = 32  # chunks that one look at a file reads
_QUIET = 300.0  # seconds without news after which a run is called quiet, if its reports are frequent
_HALF = 10.0  # seconds after which a half-written line is worth a word
Seen = tuple[int, int]  # generation and version of a run


class Watched:
    """One run: the tail and history of its metrics, and its recipe. Its methods may run in any thread."""

    def __init__(self, path: Path, label: str) -> None:
        folder = path if path.is_dir() else path.parent
        self.metrics = path / METRICS if path.is_dir() else path
        self.folder = folder if self.metrics.name == METRICS else None  # where recipe and checkpoints may be
        self.label = label
        self.tail, self.history = Tail(self.metrics), History()
        self.recipe: dict[str, Any] = {}
        self.generation = 0  # rises when a page needs everything again
        self._trouble = ""
        self._lock = threading.Lock()

    def look(self) -> bool:
        """Read new lines. Return whether there were any."""
        with self._lock:
            changed = self._look_at_recipe()
            for _ in range(_AT_ONCE):
                news = self.tail.read()
                trouble = "missing" if news.missing else news.error
                changed |= bool(news.lines) or news.restarted or trouble != self._trouble
                self._trouble = trouble
                if news.restarted:
                    self._begin_again()
                for line in news.lines:
                    self.history.add(line)
                if not news.more:
                    break
            if self.history.went_back:
                self.history.went_back = False
                self.generation += 1
            return changed

    def news(self, seen: Seen | None) -> dict[str, Any]:
        """Return the news for a page that has `seen` this run up to a point; everything if it has not."""
        with self._lock:
            here = (self.generation, self.history.version)
            newer = self.history.since(seen[1]) if seen is not None and seen[0] == self.generation else None
            table: dict[str, Any] = {"seen": here, "summary": self._summary()}
            if newer is None:
                return table | {"whole": self._whole()}
            points: dict[str, list[Point]] = {}
            for kind, thing in newer:
                if kind == "point":
                    points.setdefault(thing[0], []).append(thing[1])
            for kind in ("event", "samples"):
                table[kind] = [thing for name, thing in newer if name == kind]
            return table | {"points": points}

    def points(self, most: int, axis: Axis, low: float, high: float) -> dict[str, list[Point]]:
        """Return the curves between two places."""
        with self._lock:
            curves = self.history.curves.items()
            return {name: curve.view(most, axis=axis, low=low, high=high) for name, curve in curves}

    def _look_at_recipe(self) -> bool:
        recipe = recipe_at(self.folder / RECIPE) if self.folder is not None else {}
        changed = bool(recipe) and recipe != self.recipe
        if changed:  # one that vanishes is remembered
            self.recipe = recipe
            self.generation += 1
        return changed

    def _begin_again(self) -> None:
        """The file is another one: a run was resumed, or another copy was put there."""
        before = self.history
        self.history = History(version=before.version)
        if before.lines:
            self.history.note("replaced", before.last.get("step", 0))
        self.generation += 1

    def _whole(self) -> dict[str, Any]:
        history = self.history
        return {
            "curves": {name: curve.view(SHOWN) for name, curve in history.curves.items()},
            "event": list(history.events),
            "samples": history.samples,
            "recipe": flat(self.recipe),
        }

    def _summary(self) -> dict[str, Any]:
        history, training = self.history, self.recipe.get("training")
        limits = training if isinstance(training, dict) else {}
        age = max(time.time() - self.tail.changed, 0.0) if self.tail.changed else None
        return {
            "label": self.label,
            "path": str(self.metrics),
            "state": self._state(age),
            "age": age,
            "max_updates": history.facts.get("max_updates", _limit(limits.get("max_updates"))),
            "last": history.last,
            "best": history.best,
            "facts": history.facts,
            "notes": self._notes(age),
        }

    def _state(self, age: float | None) -> str:
        history = self.history
        if self._trouble:
            return "missing" if self._trouble == "missing" else "unreadable"
        if history.state == "running" and age is not None:
            reports = len(history.curves["train/nll"]) if "train/nll" in history.curves else 0
            each = history.last.get("seconds", 0.0) / max(reports, 1)
            return "quiet" if age > max(_QUIET, 5 * each) else "running"
        return history.state

    def _notes(self, age: float | None) -> list[str]:
        """Return notes about problems with the files."""
        notes, broken = [], self.history.broken + self.tail.broken
        if self._trouble == "missing":
            read = self.history.lines
            notes.append("The file is missing. These are its last lines." if read else f"No {METRICS} yet.")
        elif self._trouble:
            notes.append(f"The file cannot be read: {self._trouble}.")
        if broken:
            notes.append(f"{broken:,} {'line is' if broken == 1 else 'lines are'} broken and left out.")
        if self.tail.unfinished and age is not None and age > _HALF:
            notes.append("The last line is half-written.")
        return notes


class Watch:
    """Looks at several runs again and again, and wakes readers that wait for news."""

    def __init__(self, paths: Sequence[Path], *, every: float = 1.0) -> None:
        """Look at folders or metrics files `every` few seconds. Raises DataError if one is not found."""
        for path in paths:
            if not path.exists():
                raise DataError(f"{path}: not found", hint=f"name a training folder or its {METRICS}")
        self.pipelines = [path for path in paths if (path / RECORD).exists()]
        trained = {
            folder: [folder / name / METRICS for name, row in read_rows(folder).items() if row.get("trains")]
            for folder in self.pipelines
        }
        paths = [run for path in paths for run in trained.get(path, [path])]
        labels = labels_of(paths)
        self.runs = [Watched(path, label) for path, label in zip(paths, labels, strict=True)]
        self.every = every
        self.closed = False
        self.bell = asyncio.Event()  # rings at the next news

    async def keep_looking(self) -> None:
        """Look at the files for ever."""
        while True:
            changed = await asyncio.to_thread(lambda: [run.look() for run in self.runs])
            if any(changed):
                self._wake()
            await asyncio.sleep(self.every)

    def news(self, seen: Sequence[Seen | None]) -> list[dict[str, Any]]:
        """Return the news of each run for a page that has `seen` the runs so far."""
        return [run.news(before) for run, before in zip(self.runs, seen, strict=True)]

    def close(self) -> None:
        """Wake all readers for good."""
        self.closed = True
        self._wake()

    def _wake(self) -> None:
        self.bell.set()
        self.bell = asyncio.Event()


def steps_of(folder: Path) -> dict[str, Any]:
    """The steps of a pipeline. Those that run or failed have the end of their log."""
    rows = []
    for name, row in read_rows(folder).items():
        shown = {key: row.get(key) for key in ("state", "seconds", "began", "most_memory_mb", "needs")}
        going = row.get("state") in ("running", "failed")
        rows.append({"name": name, **shown, "log": log_end(folder, name, 6) if going else []})
    return {"folder": str(folder), "now": time.time(), "steps": rows}


def labels_of(paths: Sequence[Path]) -> list[str]:
    """Return a short name for each path: as many of its last parts as tell it from the others."""
    whole = [path.absolute() for path in paths]
    whole = [path.parent if path.name == METRICS else path for path in whole]
    for length in range(1, max((len(path.parts) for path in whole), default=1) + 1):
        labels = ["/".join(path.parts[-length:]) for path in whole]
        if len(set(labels)) == len(set(whole)):
            break
    return [label if labels.index(label) == i else f"{label} ({i + 1})" for i, label in enumerate(labels)]


def _limit(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else None


CHUNK = 1 << 20  # bytes read at once, and of the longest line
_ANCHOR = 4096  # bytes before the place of reading that must be as they were


@dataclass(frozen=True, kw_only=True)
class TailNews:
    """The result of one look at the file."""

    lines: tuple[bytes, ...] = ()
    restarted: bool = False  # the file is another one now: forget the lines before these
    more: bool = False  # there is more to read at once
    missing: bool = False
    error: str = ""  # why it cannot be read


@dataclass
class Tail:
    """A place in a file. `read` returns the lines after it and moves on. A half-written line waits.

    The file may be a copy that is synchronised from another machine: each copy is a new file that begins
    like the old one, and reading resumes where it was.
    """

    path: Path
    offset: int = 0  # after the last whole line
    size: int = 0  # of the file, when it was last seen
    changed: float = 0.0  # when it was last written, in seconds since 1970
    broken: int = 0  # lines longer than CHUNK, which are skipped
    _anchor: bytes = b""  # what is before `offset`
    _skipping: bool = False  # within a line that is too long
    _seen: tuple[int, ...] = field(default=())  # as the file was when there was nothing more to read

    @property
    def unfinished(self) -> bool:
        """Whether the file ends within a line."""
        return self.size > self.offset

    def read(self) -> TailNews:
        """Return the whole lines of the next CHUNK. Never raises OSError."""
        try:
            if _identity(os.stat(self.path)) == self._seen:
                return TailNews()
            with self.path.open("rb") as file:
                status = os.fstat(file.fileno())
                restarted = not self._continues(file, status.st_size)
                if restarted:
                    self.offset, self._anchor, self._skipping, self.broken = 0, b"", False, 0
                file.seek(self.offset)
                data = file.read(CHUNK)
        except FileNotFoundError:
            self._seen = ()
            return TailNews(missing=True)
        except OSError as error:
            self._seen = ()
            return TailNews(error=error.strerror or str(error))
        self.size, self.changed = status.st_size, status.st_mtime
        lines = self._whole(data)
        more = len(data) == CHUNK
        self._seen = () if more else _identity(status)
        return TailNews(lines=lines, restarted=restarted, more=more)

    def _continues(self, file: IO[bytes], size: int) -> bool:
        """Whether what was read is still there, before the place of reading."""
        file.seek(self.offset - len(self._anchor))
        return size >= self.offset and file.read(len(self._anchor)) == self._anchor

    def _whole(self, data: bytes) -> tuple[bytes, ...]:
        """Return the whole lines at the start of `data`, and move after them."""
        end = data.rfind(b"\n") + 1
        if not end:
            if len(data) < CHUNK:
                return ()
            end = len(data)  # a line that is too long: its end is skipped, too
            self.broken += not self._skipping
            lines: list[bytes] = []
            skipping = True
        else:
            lines = data[:end].split(b"\n")[:-1]
            lines, skipping = lines[self._skipping :], False
        self._skipping = skipping
        self.offset += end
        self._anchor = (self._anchor + data[:end])[-_ANCHOR:]
        return tuple(lines)


def _identity(status: os.stat_result) -> tuple[int, ...]:
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns


_LARGEST = 1 << 18  # bytes
_LONGEST = 300  # characters of a value


def recipe_at(path: Path) -> dict[str, Any]:
    """Return the tables of a recipe; empty if the file is missing, damaged or far too large."""
    try:
        return read_toml(path) if os.path.getsize(path) <= _LARGEST else {}
    except (ConfigError, OSError, RecursionError):
        return {}


def flat(tables: Mapping[str, Any], section: str = "") -> dict[str, str]:
    """Return options by their full names, such as `model.heads`, with their values as TOML."""
    found: dict[str, str] = {}
    for key, value in tables.items():
        name = option_name(section, key)
        if isinstance(value, Mapping):
            found |= flat(value, name)
        else:
            shown = show(value)
            found[name] = shown if len(shown) <= _LONGEST else shown[:_LONGEST] + "…"
    return found
