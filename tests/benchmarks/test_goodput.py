"""The simulated goodput against closed forms, and the best interval against Young's and Daly's."""

from __future__ import annotations

import json
import math
import time

import goodput
import pytest
from goodput import Machines, best_interval, daly, expected_goodput, simulate, young

from dragoman.base.errors import ConfigError

SCRIPT = goodput

HOUR = 3600.0


def machines(**changes: float) -> Machines:
    usual = {"update": 0.5, "checkpoint": 20, "restart": 180, "failure": 40 * HOUR, "count": 4}
    return Machines(**{**usual, **changes})


def test_without_failures_only_checkpoints_cost() -> None:
    plain = machines(failure=math.inf)

    course = simulate(plain, every=100, updates=1000)

    assert course.seconds == pytest.approx(180 + 1000 * 0.5 + 10 * 20)
    assert (course.updates, course.failures) == (1000, 0)
    assert expected_goodput(plain, 100) == pytest.approx(50 / 70)


def test_a_failure_undoes_what_no_checkpoint_holds() -> None:
    """Restart 10 s, an update 1 s, a checkpoint of 5 s after each 10 updates: the second of them is lost."""
    small = machines(update=1, checkpoint=5, restart=10, failure=1, count=1)

    course = simulate(small, every=10, updates=30, failures=iter([10 + 15 + 14, 9]))

    assert course.failures == 2  # the second before the restart was over
    assert course.seconds == pytest.approx((10 + 15 + 14) + 9 + 10 + 2 * 15)
    assert course.updates == 30


def test_a_run_that_ends_by_the_clock() -> None:
    small = machines(update=1, checkpoint=5, restart=10, failure=1, count=1)

    course = simulate(small, every=10, hours=100 / HOUR, failures=iter([40]))

    assert (course.seconds, course.updates, course.failures) == (pytest.approx(100), 50, 1)
    assert course.goodput == pytest.approx(0.5)


@pytest.mark.parametrize("every", [60, 400, 3000])
@pytest.mark.parametrize("count", [1, 8, 64])
def test_long_runs_approach_the_closed_form(every: int, count: int) -> None:
    some = machines(count=count)
    failures = 20_000

    course = simulate(some, every=every, hours=failures * some.between / HOUR)

    assert course.goodput == pytest.approx(expected_goodput(some, every), rel=0.02)
    assert course.failures == pytest.approx(failures, rel=0.03)


def test_a_restart_longer_than_the_time_between_failures() -> None:
    hopeless = machines(failure=60, count=1)

    assert simulate(hopeless, every=100, hours=100).goodput == pytest.approx(
        expected_goodput(hopeless, 100), abs=0.01
    )
    assert expected_goodput(machines(failure=0.1), 100) == 0


@pytest.mark.parametrize("count", [1, 8, 64])
def test_the_best_interval_is_that_of_the_formulas(count: int) -> None:
    """Goodput is flat around its maximum, so what counts is the goodput of the interval."""
    some = machines(count=count)
    highest = max(expected_goodput(some, every) for every in range(10, 20_000, 10))

    hours = 4000 * some.between / HOUR
    for every in (best_interval(some, hours=hours), daly(some) / some.update):
        assert expected_goodput(some, every) == pytest.approx(highest, rel=0.003)
    assert daly(some) == pytest.approx(young(some), rel=0.1)


def test_checkpoints_that_take_longer_than_failures_allow() -> None:
    """Daly 2006: then the best interval is the time between failures."""
    assert daly(machines(checkpoint=100, failure=40, count=1)) == 40


def test_equal_seeds_give_equal_courses_and_years_are_fast() -> None:
    many = machines(count=1000)
    began = time.perf_counter()

    one, other = (simulate(many, every=200, hours=24 * 365, seed=7) for _ in range(2))

    assert one == other != simulate(many, every=200, hours=24 * 365, seed=8)
    assert time.perf_counter() - began < 10


@pytest.mark.parametrize("wrong", [{"update": 0}, {"failure": -1}, {"count": 0}, {"restart": -1}])
def test_wrong_figures(wrong: dict[str, float]) -> None:
    with pytest.raises(ConfigError, match="must"):
        machines(**wrong)


def test_a_run_without_an_end() -> None:
    with pytest.raises(ConfigError, match="limited"):
        simulate(machines(), every=10)
    with pytest.raises(ConfigError, match="without failures"):
        best_interval(machines(failure=math.inf), hours=1)


def test_the_command(script_):
    words = "--update 0.5 --checkpoint 20 --restart 180 --failure 2000".split()

    shown = script_(*words)
    table = json.loads(script_(*words, "--every", "500", "--machines", "8", "--hours", "20000", "--json").out)

    assert shown.out.startswith(
        "update 0.5 s, checkpoint 20 s, restart 180 s, a machine fails every 2000 hours"
    )
    assert [line.split()[0] for line in shown.out.splitlines()[3:6]] == ["1", "8", "64"]
    (forecast,) = table["forecasts"]
    assert (forecast["machines"], forecast["every"]) == (8, 500)
    assert forecast["goodput"] == pytest.approx(forecast["expected"], abs=0.01)
    assert script_(*words, "--machines", "some").code == 2
    assert script_(*words, "--machines", "0").code == 2
