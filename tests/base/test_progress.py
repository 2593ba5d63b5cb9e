"""Progress, by a clock of the test's own."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest

from dragoman.base.progress import Meter, clock_time, number


@pytest.fixture
def now() -> list[float]:
    return [100.0]


def meter(now: list[float], messages: list[str], **options: Any) -> Meter:
    return Meter("translating", messages.append, clock=lambda: now[0], **options)


def test_progress_is_reported_every_few_seconds_and_at_the_end(now: list[float]) -> None:
    messages: list[str] = []
    count = meter(now, messages, total=1000, done=200)

    for seconds, done in ((0, 200), (5, 300), (10, 400), (15, 500), (40, 1000)):
        now[0] = 100.0 + seconds
        count(done)

    assert messages == [
        "translating: 400 of 1,000 lines, 20.0 lines/s, 40%, 0:30 left",
        "translating: 1,000 of 1,000 lines, 20.0 lines/s, 100%, 0:00 left",
    ]


def share_of(size: int) -> Callable[[int], float]:
    return lambda count: count / size


def test_without_a_total_the_share_tells_the_time_left(now: list[float]) -> None:
    messages: list[str] = []
    count = meter(now, messages, share=share_of(4800), every=0.25)
    now[0] += 60
    count(1200)
    count(1201)  # too soon

    assert messages == ["translating: 1,200 lines, 20.0 lines/s, 25%, 3:00 left"]


def test_without_a_share_only_count_and_rate_are_known(now: list[float]) -> None:
    messages: list[str] = []
    count = meter(now, messages, units="tokens")
    now[0] += 60
    count(1200)

    assert messages == ["translating: 1,200 tokens, 20.0 tokens/s"]


def test_what_an_earlier_command_did_counts_in_neither_rate_nor_time(now: list[float]) -> None:
    """The share at which it began is known with the first line."""
    messages: list[str] = []
    count = meter(now, messages, share=share_of(100), done=60, every=1)
    for done in (60, 80, 90):
        now[0] += 10
        count(done)

    assert messages == [
        "translating: 60 lines, 0.00 lines/s, 60%, - left",
        "translating: 80 lines, 1.00 lines/s, 80%, 0:20 left",
        "translating: 90 lines, 1.00 lines/s, 90%, 0:10 left",
    ]


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0, "0:00"), (7.4, "0:07"), (59.6, "1:00"), (187, "3:07"), (3729, "1:02:09"), (-3, "0:00"),
     (360_000, "100:00:00")],
)  # fmt: skip
def test_clock_time(seconds: float, text: str) -> None:
    assert clock_time(seconds) == text


@pytest.mark.parametrize("seconds", [None, math.inf, math.nan])
def test_a_time_that_is_not_known(seconds: float | None) -> None:
    assert clock_time(seconds) == "-"


def test_number() -> None:
    figures = {
        4.126: "4.13",
        52.07: "52.1",
        6120.4: "6,120",
        1.2e9: "1.2e+09",
        math.inf: "inf",
        math.nan: "nan",
    }
    assert {value: number(value) for value in figures} == figures
