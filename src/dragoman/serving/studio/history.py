"""One run, as the lines of metrics.jsonl describe it: curves, samples, events, and progress.

Lines come from another program, which may have another version, so every value is checked.
"""

from __future__ import annotations

import json
import math
from array import array
from bisect import bisect_left, bisect_right
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

TRAIN = ("nll", "learning_rate", "tokens_per_second", "padding", "gradient_norm")
VALID = ("loss", "bleu", "chrf")
FACTS = ("parameters", "train_pairs", "valid_pairs", "precision", "threads", "processes", "max_updates")
_KNOWN = {*TRAIN, "loss", "kind", "step", "epoch", "perplexity", "tokens", "seconds", "eta_seconds"}
_MOST_CURVES = 120  # including pairs of languages, and measurements that this version does not know
_MOST_EVENTS = 300
_MOST_SAMPLES = 60  # validations with samples
_SENTENCES = 8  # of each
_LONGEST = 1000  # characters of a text
_RECENT = 1000  # news that a page may miss before it gets everything again
Row = Mapping[str, Any]


@dataclass
class History:
    """One run. `version` counts the news; `recent` has the last ones."""

    lines: int = 0
    broken: int = 0  # invalid lines
    curves: dict[str, Series] = field(default_factory=dict)
    events: deque[Row] = field(default_factory=lambda: deque(maxlen=_MOST_EVENTS))
    samples: list[Row] = field(default_factory=list)
    facts: dict[str, Any] = field(default_factory=dict)  # of the last start
    last: dict[str, float] = field(default_factory=dict)  # figures of the last report
    best: dict[str, float] | None = None  # figures of the best validation
    state: str = "waiting"  # or running, stopped, done
    version: int = 0
    recent: deque[tuple[int, str, Any]] = field(default_factory=lambda: deque(maxlen=_RECENT))
    went_back: bool = False  # points were dropped: a page needs everything again

    def add(self, line: bytes) -> None:
        """Take in a line. One that is broken is counted."""
        self.lines += 1
        try:
            row = json.loads(line)
            kind, step = row["kind"], _number(row.get("step", 0))
            if not isinstance(kind, str) or step is None or step < 0:
                raise ValueError("no kind or no update")
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
            self.broken += 1
            return
        self._take(kind, step, row)

    def since(self, version: int) -> list[tuple[str, Any]] | None:
        """Return the news after `version`, or None if they are no longer known."""
        if version + len(self.recent) < self.version or version > self.version:
            return None
        return [(kind, thing) for number, kind, thing in self.recent if number > version]

    def note(self, kind: str, step: float) -> None:
        """Add an event that is not in the file."""
        self._event(kind, step, {}, "")

    def _take(self, kind: str, step: float, row: Row) -> None:
        match kind:
            case "train":
                self._report(step, row)
            case "valid":
                self._validation(step, row)
            case "samples":
                self._sample(step, row.get("samples"))
            case "start":
                self._start(step, row)
            case "stop":
                self.state = "stopped"
                self._event(kind, step, row, _text(row.get("reason")))
            case "finish":
                self.state = "done"
                self._event(kind, step, row, "kept " + _text(row.get("outcome")))
            case "average":
                if not self.facts:  # before there were lines for start and finish
                    self.state = "done"
                self._event(kind, step, row, _scores(row))
            case "comparison":
                self._event(kind, self.last.get("step", 0), row, _compared(row))

    def _report(self, step: float, row: Row) -> None:
        seconds = _number(row.get("seconds")) or 0.0
        self._back_to(step, "train/")
        extra = [name for name in row if name not in _KNOWN and len(name) <= 40]
        self._points("train", step, seconds, row, (*TRAIN, *extra))
        wanted = ("epoch", "nll", "tokens_per_second", "tokens", "seconds", "eta_seconds", "learning_rate")
        self.last = {"step": step} | {name: n for name in wanted if (n := _number(row.get(name))) is not None}
        self.state = "running"

    def _validation(self, step: float, row: Row) -> None:
        seconds = _number(row.get("elapsed")) or self.last.get("seconds", 0.0)
        self._back_to(step, "valid/")
        self._points("valid", step, seconds, row, VALID)
        found = row.get("directions")
        for pair, scores in found.items() if isinstance(found, dict) else ():
            if isinstance(scores, dict) and len(pair) <= 40:
                self._points(f"valid/{pair}", step, seconds, scores, VALID)
        if search := _text(row.get("search")):  # missing in files of earlier versions, which were greedy
            self.facts["search"] = search
        if row.get("best") is True:
            figures = {name: n for name in VALID if (n := _number(row.get(name))) is not None}
            self.best = {"step": step, **figures}
            self._event("best", step, {"elapsed": seconds}, _scores(row))
        self.state = "running"

    def _points(self, kind: str, step: float, seconds: float, row: Row, names: tuple[str, ...]) -> None:
        for name in names:
            value = row.get(name)
            if isinstance(value, bool) or not isinstance(value, int | float):
                continue
            key = f"{kind}/{name}"
            if key not in self.curves:
                if len(self.curves) >= _MOST_CURVES:
                    continue
                self.curves[key] = Series()
            number = _number(value)
            point = self.curves[key].add(step, seconds, math.nan if number is None else number)
            self._new("point", (key, point))

    def _back_to(self, step: float, kind: str) -> None:
        """Forget the points from `step` on, if a run that was resumed has appended to its old lines."""
        curves = [curve for key, curve in self.curves.items() if key.startswith(kind)]
        behind = [curve for curve in curves if len(curve) and curve.step[-1] >= step]
        if behind:
            self.went_back = True
            self.note("back", step)
        for curve in behind:
            curve.cut(step)

    def _start(self, step: float, row: Row) -> None:
        facts = {name: _number(row.get(name)) or _text(row.get(name)) for name in FACTS}
        self.facts = {name: value for name, value in facts.items() if value}
        self.state = "running"
        self._event("resume" if step else "start", step, row, "")

    def _sample(self, step: float, found: Any) -> None:
        if not isinstance(found, list):
            return
        sentences = [
            {name: _text(one.get(name)) for name in ("source", "reference", "hypothesis")}
            for one in found[:_SENTENCES]
            if isinstance(one, dict)
        ]
        self.samples = [one for one in self.samples if one["step"] < step]
        if len(self.samples) >= _MOST_SAMPLES:
            del self.samples[1:-1:2]  # the first and the last stay
        entry = {"step": step, "sentences": sentences}
        self.samples.append(entry)
        self._new("samples", entry)

    def _event(self, kind: str, step: float, row: Row, text: str) -> None:
        seconds = _number(row.get("elapsed", self.last.get("seconds")))
        when = {"step": step, "seconds": seconds, "time": _number(row.get("time"))}
        event = {"kind": kind, "text": text, **when}
        self.events.append(event)
        self._new("event", event)

    def _new(self, kind: str, thing: Any) -> None:
        self.version += 1
        self.recent.append((self.version, kind, thing))


def _number(value: Any) -> float | None:
    """Return a finite number as float, or None."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        number = float(value)
    except OverflowError:
        return None
    return number if math.isfinite(number) else None


def _text(value: Any) -> str:
    return value[:_LONGEST] if isinstance(value, str) else ""


def _scores(row: Row) -> str:
    known = (("loss", "loss", 3), ("bleu", "BLEU", 1), ("chrf", "chrF", 1))
    figures = [(label, _number(row.get(name)), digits) for name, label, digits in known]
    shown = [f"{label} {value:.{digits}f}" for label, value, digits in figures if value is not None]
    search = _text(row.get("search"))
    return ", ".join(shown if search in ("", "greedy") else [*shown, search])


def _compared(row: Row) -> str:
    """Return BLEU before and after tuning, on one text."""
    systems = row.get("systems")
    parts = [
        f"{_text(name)} BLEU {value:.1f}"
        for name, scores in (systems.items() if isinstance(systems, dict) else ())
        if isinstance(scores, dict)
        and isinstance(bleu := scores.get("bleu"), dict)
        and (value := _number(bleu.get("value"))) is not None
    ]
    return f"{_text(row.get('text'))}: {', '.join(parts)}"


Axis = Literal["step", "seconds"]
Point = tuple[float, float, float | None]  # update, seconds of the run, value; None if it is not finite
MOST = 1 << 15  # points that a curve keeps


class Series:
    """The values of one measurement, by update and by time. Far more than MOST points are thinned."""

    def __init__(self, most: int = MOST) -> None:
        self.most = most
        self.step, self.seconds, self.values = array("d"), array("d"), array("d")

    def __len__(self) -> int:
        return len(self.step)

    def add(self, step: float, seconds: float, value: float) -> Point:
        """Append a point, and return it as it is shown."""
        if len(self) >= self.most:
            self._keep(thinned(self.values, self.most // 2))
        self.step.append(step)
        self.seconds.append(seconds)
        self.values.append(value)
        return self._point(len(self) - 1)

    def cut(self, step: float) -> None:
        """Forget the points from update `step` on."""
        self._keep(range(bisect_left(self.step, step)))

    def view(
        self, most: int, *, axis: Axis = "step", low: float = -math.inf, high: float = math.inf
    ) -> list[Point]:
        """Return at most `most` points (5 or more) with `low` <= axis <= `high`, and the one on either side.

        With them the curve reaches both edges of the chart.
        """
        places = self.step if axis == "step" else self.seconds
        start = max(bisect_left(places, low) - 1, 0)
        end = bisect_right(places, high) + 1
        return [self._point(start + index) for index in thinned(self.values[start:end], most)]

    def _point(self, index: int) -> Point:
        value = self.values[index]
        return self.step[index], self.seconds[index], value if math.isfinite(value) else None

    def _keep(self, indices: Sequence[int]) -> None:
        for name in ("step", "seconds", "values"):
            column = getattr(self, name)
            setattr(self, name, array("d", (column[index] for index in indices)))


def thinned(values: Sequence[float], most: int) -> Sequence[int]:
    """Return at most `most` (5 or more) indices, ascending, that keep the shape of a curve.

    Each of equal parts keeps its least and its greatest value, and one that is not finite. The first and the
    last value are kept.
    """
    count = len(values)
    if count <= most:
        return range(count)
    parts = (most - 2) // 3
    kept = {0, count - 1}
    for part in range(parts):
        start, end = part * count // parts, (part + 1) * count // parts
        finite = [index for index in range(start, end) if math.isfinite(values[index])]
        if finite:
            kept.add(min(finite, key=values.__getitem__))
            kept.add(max(finite, key=values.__getitem__))
        if len(finite) < end - start:
            kept.add(next(index for index in range(start, end) if not math.isfinite(values[index])))
    return sorted(kept)
