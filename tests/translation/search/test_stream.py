"""A stream of items: one answer each, in order, equal items asked once, never more held than allowed."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Any, cast

import pytest

from dragoman.base.errors import DataError
from dragoman.translation.search.engine import Engine, Hypothesis, Request
from dragoman.translation.search.options import Beam
from dragoman.translation.search.stream import Stream, ToAnswer

HOW = Beam()


class Eager:
    """An engine that always has `lookahead` requests in work, and answers any of them, as threads do.

    The answer to n is n; 0 is answered last.
    """

    def __init__(self, *, reach: int | None = None) -> None:
        """`reach`: how many of the requests in work, the oldest first, may be answered next."""
        self.asked: list[int] = []
        self.searches = self.most = 0
        self.random, self.reach = random.Random(1), reach

    def search(
        self, requests: Iterable[Request], *, batch_tokens: int, lookahead: int
    ) -> Iterator[tuple[int, list[Hypothesis]]]:
        self.searches += 1
        numbered = enumerate(requests)
        work = list(islice(numbered, lookahead))
        while work:
            self.most = max(self.most, len(work))
            quick = [one for one in work if one[1].source != [0]] or work
            work.remove(one := self.random.choice(quick[: self.reach]))
            self.asked.append(one[1].source[0])
            yield one[0], [Hypothesis(tuple(one[1].source), 0.0, 0.0, (), False)]
            work += islice(numbered, 1)


class Sorted(Eager):
    """An engine that reads `lookahead` requests, then answers them in another order, as PyTorch's does."""

    def search(
        self, requests: Iterable[Request], *, batch_tokens: int, lookahead: int
    ) -> Iterator[tuple[int, list[Hypothesis]]]:
        self.searches += 1
        numbered = enumerate(requests)
        while work := list(islice(numbered, lookahead)):
            self.most = max(self.most, len(work))
            for number, request in sorted(work, key=lambda one: -one[1].source[0]):
                self.asked.append(request.source[0])
                yield number, [Hypothesis(tuple(request.source), 0.0, 0.0, (), False)]


def requests_for(items: Sequence[int]) -> Iterator[tuple[Request, ToAnswer[int]]]:
    for item in items:

        def answer(found: list[Hypothesis], item: int = item) -> int:
            assert found[0].tokens == (item,)
            return item

        yield Request(source=[item], how=HOW, max_tokens=1), answer


def stream(items: Iterable[int | None], engine: Any, *, window: int = 8, **changes: Any) -> Stream[int, int]:
    options = {"requests": requests_for, "window": window, "batch_tokens": 9} | changes
    return Stream(items, engine=cast(Engine, engine), **cast(Any, options))


@pytest.mark.parametrize("window", [1, 2, 8, 1000])
@pytest.mark.parametrize("engine", [Eager, Sorted])
def test_every_item_has_its_answer_in_order(engine: type[Eager], window: int) -> None:
    chance = random.Random(window)
    items = [chance.randrange(300) for _ in range(1000)]
    paused = [one for item in items for one in ([item] if chance.random() < 0.9 else [None, item, None])]

    for given in (items, paused):
        asked = engine()
        assert list(stream(given, asked, window=window)) == items
        assert sorted(asked.asked) == sorted(set(items))
        assert asked.most <= window


def test_an_engine_that_works_while_it_reads_is_asked_once() -> None:
    engine = Eager(reach=3)

    assert list(stream(range(1, 1000), engine, window=64)) == list(range(1, 1000))
    assert engine.searches == 1
    assert engine.most == 64


def test_nothing_comes_of_nothing() -> None:
    engine = Eager()

    assert list(stream([], engine)) == []
    assert list(stream([None, None], engine)) == []
    assert engine.searches == 0


@pytest.mark.parametrize("items", [range(10_000), [5] * 10_000, [0] * 10_000], ids=["new", "5", "0"])
@pytest.mark.parametrize("engine", [Eager, Sorted])
def test_at_most_twice_the_window_is_held(engine: type[Eager], items: Iterable[int]) -> None:
    """The item 0 is answered last, so all later ones wait for it."""
    taken = answered = most = 0

    def counted() -> Iterator[int]:
        nonlocal taken, most
        for item in items:
            taken += 1
            most = max(most, taken - answered)
            yield item

    for _ in stream(counted(), engine(), window=16):
        answered += 1

    assert answered == taken == 10_000
    assert most <= 2 * 16 + 1  # and the one that the reader of the answers has


def test_an_item_that_has_not_arrived_holds_up_no_answer() -> None:
    """All items before a pause are answered before another is read."""
    seen: list[int] = []
    batches = [[1, 2, 3], [2], [4], [4, 4, 5]]

    def arriving() -> Iterator[int | None]:
        read = 0
        for batch in batches:
            yield from batch
            read += len(batch)
            yield None
            assert len(seen) == read

    for answer in stream(arriving(), Eager()):
        seen.append(answer)

    assert seen == [item for batch in batches for item in batch]


def test_one_at_a_time_an_equal_item_is_answered_before_the_next_is_read() -> None:
    read: list[int] = []

    def typed() -> Iterator[int]:
        for item in (7, 7, 7, 8):
            read.append(item)
            yield item

    answers = iter(stream(typed(), Sorted(), window=1))

    for number in range(1, 5):
        next(answers)
        assert len(read) == number


def test_only_the_last_ten_thousand_are_remembered() -> None:
    engine = Eager()

    list(stream([1, *range(2, 10_002), 2, 1], engine, window=4))

    assert engine.asked.count(1) == 2
    assert engine.asked.count(2) == 1


@pytest.mark.parametrize("engine", [Eager, Sorted])
def test_nothing_may_be_remembered(engine: type[Eager]) -> None:
    items = [number // 3 % 7 for number in range(500)]
    asked = engine()

    assert list(stream(items, asked, window=4, remembered=0)) == items
    assert len(asked.asked) > 7


@pytest.mark.parametrize("engine", [Eager, Sorted])
def test_an_error_comes_after_the_answers_to_the_items_before_it(engine: type[Eager]) -> None:
    def broken() -> Iterator[int]:
        yield from (1, 2, 1, 3)
        raise DataError("line 5")

    def picky(items: Sequence[int]) -> Iterator[Request]:
        for item in items:
            if item == 3:
                raise DataError("3 is not good")
            yield from requests_for([item])

    for items, changes, message, before in (
        (broken(), {}, "line 5", [1, 2, 1, 3]),
        (iter([1, 2, 1, 3, 4]), {"requests": picky}, "3 is not good", [1, 2, 1]),
    ):
        answers: list[int] = []
        with pytest.raises(DataError, match=message):
            for answer in stream(items, engine(), **changes):
                answers.append(answer)
        assert answers == before


def test_an_interrupt_ends_at_once() -> None:
    def interrupted() -> Iterator[int]:
        yield 1
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        next(iter(stream(interrupted(), Eager())))
