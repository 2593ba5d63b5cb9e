from __future__ import annotations

import threading

import pytest

from dragoman.serving.service.turns import Turns


def test_the_most_urgent_work_goes_first_and_no_more_than_fits() -> None:
    turns, gate, order = Turns(4, "test", most=10), threading.Event(), list[str]()
    first = turns.submit(gate.wait, order=9.0, size=10)
    others = [
        turns.submit(lambda name=name: order.append(name), order=due, size=10)  # type: ignore[misc]
        for name, due in (("late", 3.0), ("soon", 1.0), ("then", 2.0), ("also", 2.0))
    ]
    assert not any(one.running() or one.done() for one in others)
    gate.set()
    for one in (first, *others):
        one.result(10)

    assert order == ["soon", "then", "also", "late"]
    turns.shutdown()


def test_what_is_cancelled_is_left_out_and_an_error_is_its_own() -> None:
    turns, gate = Turns(1, "test"), threading.Event()
    first = turns.submit(gate.wait, order=0.0, size=1)
    second, third = (turns.submit(lambda: 1 // 0, order=float(n), size=1) for n in (1, 2))
    assert second.cancel()
    gate.set()

    assert first.result(10)
    with pytest.raises(ZeroDivisionError):
        third.result(10)
    assert turns.submit(lambda: 5, order=0.0, size=10**9).result(10) == 5  # larger than all, but alone
    turns.shutdown()


def test_what_waits_at_the_end_is_dropped() -> None:
    turns, gate = Turns(1, "test"), threading.Event()
    running = turns.submit(gate.wait, order=0.0, size=1)
    waiting = turns.submit(gate.wait, order=0.0, size=1)
    threading.Timer(0.05, gate.set).start()
    turns.shutdown(cancel_futures=True)

    assert waiting.cancelled()
    assert running.result(1)
