"""Lines that arrive slowly: none is held back, and reading ahead has a limit."""

from __future__ import annotations

import time
from collections.abc import Iterator
from queue import Queue
from threading import Event

import pytest

from dragoman.base.errors import DataError
from dragoman.text.corpora.arriving import arriving


def waits(condition: Event) -> bool:
    return condition.wait(10)


def test_every_line_comes_in_order() -> None:
    assert [line for line in arriving(map(str, range(10_000)), ahead=7) if line is not None] == [
        str(number) for number in range(10_000)
    ]
    assert [line for line in arriving([]) if line is not None] == []


def test_none_says_that_no_line_is_there_yet_and_then_it_is_waited_for() -> None:
    written: Queue[str | None] = Queue()
    lines = arriving(iter(written.get, None))

    written.put("a")
    first = [line for line in (next(lines), next(lines)) if line is not None]
    written.put("b")
    written.put(None)

    assert first == ["a"]
    assert [line for line in lines if line is not None] == ["b"]


def test_lines_that_are_there_are_not_interrupted() -> None:
    read = Event()

    def lines() -> Iterator[int]:
        yield from range(100)
        read.set()

    items = arriving(lines())
    next(items)
    assert waits(read)

    assert [item for item in items if item is not None] == list(range(1, 100))


def test_reading_ahead_has_a_limit_and_ends_with_the_reader() -> None:
    taken = 0
    closed = Event()

    def endless() -> Iterator[int]:
        nonlocal taken
        try:
            while True:
                taken += 1
                yield taken
        finally:
            closed.set()

    lines = arriving(endless(), ahead=5)
    assert next(line for line in lines if line is not None) == 1
    time.sleep(0.05)

    assert taken <= 1 + 5 + 1  # the one that waits for a place
    lines.close()  # type: ignore[attr-defined]
    assert waits(closed)


def test_an_error_comes_after_the_lines_before_it() -> None:
    def broken() -> Iterator[str]:
        yield "a"
        raise DataError("line 2")

    seen = []
    with pytest.raises(DataError, match="line 2"):
        for line in arriving(broken()):
            seen.append(line)
    assert [line for line in seen if line is not None] == ["a"]
