"""Measurements of a run in bounded memory. Minima and maxima are never left out."""

from __future__ import annotations

import math
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from typing import Literal

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
