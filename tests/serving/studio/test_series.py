"""Curves: bounded, and still with their extremes."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.serving.studio.history import Series, thinned

NUMBERS = st.lists(st.floats(allow_infinity=True, allow_nan=True, width=32), max_size=200)


@given(NUMBERS, st.integers(5, 60))
def test_extremes_and_ends_survive(values: list[float], most: int) -> None:
    kept = list(thinned(values, most))

    assert len(kept) <= most
    assert kept == sorted(set(kept))
    if not values:
        assert kept == []
        return
    assert {0, len(values) - 1} <= set(kept)
    finite = [value for value in values if math.isfinite(value)]
    shown = [values[index] for index in kept if math.isfinite(values[index])]
    if finite:
        assert (min(shown), max(shown)) == (min(finite), max(finite))
    assert len(finite) == len(values) or any(not math.isfinite(values[index]) for index in kept)


def test_every_part_keeps_its_extremes() -> None:
    values = [math.sin(n / 5) * n for n in range(3000)]

    kept = thinned(values, 302)
    for part in range(100):  # 100 parts of 30 values
        own = range(30 * part, 30 * part + 30)
        inside = [values[index] for index in kept if index in own]
        assert min(inside) == min(values[index] for index in own)
        assert max(inside) == max(values[index] for index in own)


def test_a_gap_is_not_thinned_away() -> None:
    values = [float(n % 7) for n in range(3000)]
    values[1234] = math.nan

    assert 1234 in thinned(values, 302)


def test_memory_is_bounded() -> None:
    curve = Series(most=100)
    for step in range(10_000):
        curve.add(step, 2 * step, -1e9 if step == 777 else 1e9 if step == 4321 else step % 7)
        assert len(curve) <= 100

    points = curve.view(5)
    assert len(points) <= 5
    assert {value for _, _, value in points} >= {-1e9, 1e9}
    assert curve.view(500)[0] == (0.0, 0.0, 0.0)
    assert curve.view(500)[-1][0] == 9999


def test_a_part_has_its_neighbours_and_more_detail() -> None:
    curve = Series()
    for step in range(1000):
        curve.add(step, step / 10, step)

    assert [step for step, _, _ in curve.view(500, low=10, high=14)] == [9, 10, 11, 12, 13, 14, 15]
    assert [step for step, _, _ in curve.view(500, axis="seconds", low=1.0, high=1.4)] == [*range(9, 16)]
    assert len(curve.view(20)) <= 20
    assert curve.view(20, low=2000)[0][0] == 999


def test_what_is_not_finite_is_a_gap() -> None:
    curve = Series()
    assert curve.add(1, 1, math.nan) == (1, 1, None)
    assert curve.add(2, 2, math.inf) == (2, 2, None)
    assert [value for _, _, value in curve.view(10)] == [None, None]


@pytest.mark.parametrize(("step", "left"), [(0, []), (3, [1, 2]), (2.5, [1, 2]), (9, [1, 2, 3])])
def test_points_are_cut_off(step: float, left: list[int]) -> None:
    curve = Series()
    for n in (1, 2, 3):
        curve.add(n, n, n)
    curve.cut(step)

    assert [step for step, _, _ in curve.view(10)] == left
