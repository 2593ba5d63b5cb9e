"""A lost process is named, by a clock and a store that the tests hold."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from dragoman.base.errors import ConfigError, Elsewhere
from dragoman.training.processes.watchdog import VARIABLE, Watchdog, guilty, limit_from_environment


class Ended(Exception):
    """Where the real watchdog would end the process."""


class Machines:
    """The store and the clock of three processes, on hosts a, b and c."""

    def __init__(self, limit: float = 60.0) -> None:
        self.now, self.values, self.down = 100.0, dict[str, str](), False
        self.between: Callable[[], None] = lambda: None
        self.ranks = [
            Watchdog(
                self, rank, 3, limit=limit, clock=lambda: self.now, wait=self.wait, end=self.end, host=host
            )
            for rank, host in enumerate("abc")
        ]

    def set(self, key: str, value: str) -> None:
        self._answer()
        self.values[key] = value

    def check(self, keys: list[str]) -> bool:
        self._answer()
        return all(key in self.values for key in keys)

    def multi_get(self, keys: list[str]) -> list[bytes]:
        self._answer()
        return [self.values[key].encode() for key in keys]

    def _answer(self) -> None:
        if self.down:
            raise RuntimeError("connection reset")

    def wait(self, seconds: float) -> None:
        """What a process does that waits: time passes, and the others look."""
        self.now += seconds
        self.between()

    def end(self, text: str) -> None:
        raise Ended(text)

    def pass_time(self, seconds: int, *alive: int) -> None:
        for _ in range(seconds):
            self.now += 1
            self.look(*alive)

    def look(self, *alive: int) -> None:
        for rank in alive:
            self.ranks[rank].look()


def test_processes_that_live_are_left_alone() -> None:
    run = Machines()
    for watchdog in run.ranks:
        watchdog.training()

    run.pass_time(1000, 0, 1, 2)


def test_a_process_that_stops_giving_signs_is_named_after_the_limit() -> None:
    run = Machines()
    run.ranks[0].training()
    run.pass_time(10, 0, 1, 2)

    run.pass_time(58, 0, 1)
    with pytest.raises(Ended, match="process 0 of this run ends: process 2 on c has not answered for 60 s"):
        run.pass_time(3, 0, 1)


def test_before_training_nobody_has_to_answer() -> None:
    """The leader may hold Python's lock for an hour while it trains the tokenizer."""
    run = Machines()

    run.pass_time(4000, 1, 2)


def test_a_process_that_keeps_the_others_waiting_is_named() -> None:
    """It gives signs, because its watchdog lives, but it never comes to the next exchange."""
    run = Machines()
    for watchdog in run.ranks:
        watchdog.training()
        watchdog.arrive()
        watchdog.leave_exchange()
    for rank in (0, 2):
        run.ranks[rank].arrive()

    run.pass_time(59, 0, 1, 2)
    with pytest.raises(Ended, match="process 1 on b has kept the others waiting for 60 s"):
        run.pass_time(2, 0, 1, 2)


def test_a_leader_that_works_alone_may_take_its_time() -> None:
    run = Machines()
    for watchdog in run.ranks:
        watchdog.training()
    with run.ranks[0].alone():
        for rank in (1, 2):
            run.ranks[rank].arrive()

        run.pass_time(1000, 0, 1, 2)

    with pytest.raises(Ended, match="process 0 on a has kept"):
        run.pass_time(2, 0, 1, 2)


def test_the_process_that_died_is_named_within_seconds() -> None:
    run = Machines()
    run.pass_time(10, 0, 1, 2)
    run.between = lambda: run.look(0, 1)
    before = run.now

    assert run.ranks[0].lost() == "process 2 on c ended"
    assert run.now - before <= 8


def test_a_process_that_is_busy_in_a_long_call_is_not_taken_for_the_one_that_died() -> None:
    run = Machines()
    run.pass_time(10, 0, 1, 2)
    run.pass_time(100, 1, 2)  # the leader holds Python's lock
    run.between = run.ranks[1].look

    assert run.ranks[1].lost() == "process 2 on c ended"


def test_a_process_that_ended_with_an_error_is_named_with_it() -> None:
    run = Machines()
    run.pass_time(1, 0, 1, 2)
    run.ranks[2].close()  # because it has lost process 1, too
    run.ranks[1].close("the disk is full")

    assert run.ranks[0].lost() == "process 1 on b ended: the disk is full"


def test_nobody_is_blamed_who_left_in_good_order() -> None:
    run = Machines()
    run.ranks[0].training()
    run.pass_time(1, 0, 1, 2)
    run.ranks[2].close()

    run.pass_time(1000, 0, 1)
    run.between = lambda: run.look(0, 1)
    assert run.ranks[0].lost() == ""


@pytest.mark.thorough
def test_the_end_of_the_store_is_that_of_the_first_process() -> None:
    run = Machines()
    run.pass_time(1, 0, 1, 2)
    run.down = True
    run.between = run.ranks[1].look

    assert run.ranks[1].lost().startswith("process 0, or the torchrun that started it, has ended")
    run.ranks[1].training()
    with pytest.raises(Ended, match="process 0, or the torchrun"):
        run.pass_time(61, 1)
    run.ranks[1].close()  # no error although the store is gone


@pytest.mark.parametrize("text", ["0", "-3", "soon", "nan"])
def test_a_wrong_limit_is_refused(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, text)
    with pytest.raises(ConfigError, match=VARIABLE):
        limit_from_environment()


def test_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)
    assert limit_from_environment() == 600
    monkeypatch.setenv(VARIABLE, "2.5")
    assert limit_from_environment() == 2.5


def test_only_the_error_of_a_process_itself_is_told() -> None:
    assert guilty(ValueError("full"), (Elsewhere,)) == "full"
    assert guilty(KeyboardInterrupt(), (Elsewhere,)) == "KeyboardInterrupt"
    assert guilty(Elsewhere("the first one"), (Elsewhere,)) == ""
