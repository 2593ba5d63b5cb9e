from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import pytest
from tests.serving.engines import until

from dragoman.serving.service.admission import Admission, Counting
from dragoman.serving.service.coalescing import Cache, Coalescer, portions, size_of
from dragoman.serving.service.limits import Limits, NotReady
from dragoman.serving.service.turns import Turns
from dragoman.translation.search.watching import look_up


class Work:
    """Writes capitals, each when it is let through."""

    def __init__(self) -> None:
        self.called: list[list[str]] = []
        self.let = threading.Semaphore(0)

    def __call__(self, keys: Sequence[str]) -> Iterator[str]:
        self.called.append(list(keys))
        for key in keys:
            while not self.let.acquire(timeout=0.005):
                look_up()
            yield key.upper()


class Stage:
    """Coalescer with a cache, and a place that says whether it is free."""

    def __init__(self, cache_bytes: int = 10_000) -> None:
        self.pool = Turns(4, "test")
        self.flights: Coalescer[str, str] = Coalescer(self.pool, Cache(cache_bytes), Counting())
        self.queue = Admission(Limits(client_rate=0), Counting(), lambda: 0.0)
        self.entered = 0

    @property
    def freed(self) -> int:
        return self.entered - self.queue.places

    def get(self, work: Work, *keys: str) -> asyncio.Task[tuple[list[str], bool]]:
        async def whole() -> tuple[list[str], bool]:
            place = self.queue.enter("", 1)
            self.entered += 1
            try:
                return await self.flights.get(keys, work, place)
            finally:
                place.leave()

        return asyncio.create_task(whole())


def test_answers_are_in_order_and_each_is_worked_out_once() -> None:
    async def story() -> None:
        stage, work = Stage(), Work()
        work.let.release(10)
        assert await stage.get(work, "b", "a", "b") == (["B", "A", "B"], False)
        assert await stage.get(work, "a", "b") == (["A", "B"], True)
        assert await stage.get(work, "a", "c") == (["A", "C"], False)
        assert await stage.get(work) == ([], True)
        assert work.called == [["b", "a"], ["c"]]
        assert stage.freed == 4

    asyncio.run(story())


def test_who_needs_only_the_first_answer_does_not_wait_for_the_last() -> None:
    async def story() -> None:
        stage, work = Stage(), Work()
        all_of_them = stage.get(work, "a", "b")
        await until(lambda: work.called)
        one = stage.get(work, "a")
        await asyncio.sleep(0)
        work.let.release()
        assert await one == (["A"], False)
        assert not all_of_them.done()
        work.let.release()
        await all_of_them
        assert work.called == [["a", "b"]]

    asyncio.run(story())


def test_work_is_stopped_when_the_last_one_has_left() -> None:
    async def story() -> None:
        stage, work = Stage(), Work()
        one, other = stage.get(work, "a"), stage.get(work, "a")
        await until(lambda: work.called)
        one.cancel()
        await asyncio.wait([one])
        assert stage.freed == 0  # the work goes on
        other.cancel()
        await until(lambda: stage.freed == 2)
        again = stage.get(work, "a")
        await until(lambda: len(work.called) == 2)
        work.let.release()
        assert (await again)[0] == ["A"]

    asyncio.run(story())


def test_a_place_is_free_as_soon_as_the_answers_are_there() -> None:
    async def story() -> None:
        stage, work = Stage(), Work()
        for _ in range(50):
            work.let.release()
            before = stage.freed
            await stage.get(work, f"{before}")
            assert stage.freed == before + 1

    asyncio.run(story())


def test_without_a_cache_equal_work_is_shared_only_in_flight() -> None:
    async def story() -> None:
        stage, work = Stage(cache_bytes=0), Work()
        work.let.release(3)
        await asyncio.gather(stage.get(work, "a"), stage.get(work, "a"))
        await stage.get(work, "a")
        assert work.called == [["a"], ["a"]]

    asyncio.run(story())


def test_stopping_ends_all_who_wait() -> None:
    async def story() -> None:
        stage, work = Stage(), Work()
        waiting = [stage.get(work, "a"), stage.get(work, "a", "b")]
        await until(lambda: len(work.called) == 2)
        stage.flights.stop()
        for one in waiting:
            with pytest.raises(NotReady):
                await one
        with pytest.raises(NotReady):
            await stage.get(work, "c")
        await until(lambda: stage.freed == 3)

    asyncio.run(story())


# ---- the cache


def test_what_was_used_last_is_kept() -> None:
    entry = size_of("a") + size_of("x" * 100)
    cache: Cache[str, str] = Cache(3 * entry)
    for key in "abc":
        cache.put(key, key * 100)
    assert cache.get("a") == "a" * 100

    cache.put("d", "d" * 100)

    assert [key for key in "abcd" if cache.get(key)] == ["a", "c", "d"]
    assert cache.bytes == 3 * entry


def test_bytes_are_bounded_whatever_comes() -> None:
    cache: Cache[int, str] = Cache(10_000)
    for number in range(2000):
        cache.put(number % 300, "x" * (number * 37 % 3000))
        assert cache.bytes <= 10_000
    assert cache.bytes == sum(
        size_of(key) + size_of(cache.get(key)) for key in range(300) if cache.get(key) is not None
    )


def test_what_is_larger_than_the_cache_is_not_kept() -> None:
    cache: Cache[str, str] = Cache(1000)
    cache.put("a", "x")
    cache.put("b", "x" * 1000)
    cache.put("a", "y" * 1000)  # nor is the older value

    assert (cache.get("a"), cache.get("b"), cache.bytes) == (None, None, 0)
    nothing: Cache[str, str] = Cache(0)
    nothing.put("a", "b")
    assert nothing.get("a") is None


def test_sizes_count_what_is_inside() -> None:
    @dataclass
    class Pair:
        one: str
        other: tuple[str, ...]

    assert size_of(Pair("x" * 5000, ("y" * 3000, "z" * 3000))) > 11_000
    assert size_of(frozenset(["x" * 5000])) > 5000


def test_work_is_divided_so_that_what_is_urgent_can_go_between() -> None:
    async def story() -> None:
        stage, work = Stage(), Work()
        stage.pool = stage.flights._threads = Turns(1, "test")
        long = stage.get(work, *(f"{number:03d}" for number in range(70)))
        await until(lambda: work.called)
        stage.queue.pace.speed = 1000.0  # now it counts that the next one is short
        short = stage.get(work, "x")
        await asyncio.sleep(0)
        work.let.release(71)
        assert await short == (["X"], False)
        assert len((await long)[0]) == 70
        assert [len(one) for one in work.called] == [32, 1, 32, 6]

    asyncio.run(story())


def test_portions_are_bounded() -> None:
    assert portions([1] * 70, lambda _: 1, 32) == [[1] * 32, [1] * 32, [1] * 6]
    assert portions([5000, 1, 3999, 1], lambda size: size) == [[5000], [1, 3999], [1]]
    assert portions([], len) == []
