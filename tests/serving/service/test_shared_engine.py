from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, cast

import pytest
from tests.serving.engines import Shift

from dragoman.base.errors import DragomanError
from dragoman.models.folder.bundle import load
from dragoman.models.search.engine import PyTorchEngine
from dragoman.serving.service.shared_engine import SharedEngine
from dragoman.translation.search.engine import NOTHING, Hypothesis, Request
from dragoman.translation.search.options import Beam
from dragoman.translation.search.watching import abandonable

SAVED = Path(__file__).parents[2] / "saved" / "0.1" / "transformer"
HOW = Beam(size=3, n_best=2)


class Recording(Shift):
    """Remembers the searches, and which threads ran them."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.searches: list[list[tuple[int, ...]]] = []
        self.threads: set[str] = set()

    def search(self, requests: Any, **options: Any) -> Iterator[tuple[int, list[Hypothesis]]]:
        requests = list(requests)
        self.searches.append([tuple(one.source) for one in requests])
        self.threads.add(threading.current_thread().name)
        if any(one.max_tokens < 0 for one in requests):
            raise DragomanError("a bad request")
        return super().search(requests, **options)


@pytest.fixture
def engine() -> Iterator[SharedEngine]:
    one = SharedEngine(Recording())
    yield one
    one.close()


def request(*tokens: int, limit: int = 20) -> Request:
    return Request(source=tokens, how=Beam(), max_tokens=limit)


def inner(engine: SharedEngine) -> Recording:
    return cast(Recording, engine.engine)


def wait_for(condition: Any) -> None:
    end = time.monotonic() + 10
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.002)


def test_answers_are_those_of_the_engine_inside(engine: SharedEngine) -> None:
    asked = [request(4), request(), request(5, 6)]

    found = dict(engine.search(asked))

    assert found[1] == [NOTHING]
    assert [found[n][0].tokens for n in (0, 2)] == [(5,), (6, 7)]
    assert list(engine.search([])) == []


def test_one_thread_owns_the_engine_and_batches_what_waits() -> None:
    gate = threading.Event()
    engine = SharedEngine(Recording(gate=gate))
    with ThreadPoolExecutor(9) as pool:
        first = pool.submit(lambda: list(engine.search([request(4)])))
        wait_for(lambda: inner(engine).searches)
        others = [
            pool.submit(lambda n=n: dict(engine.search([request(4 + n), request(12 - n)]))) for n in range(8)
        ]
        wait_for(lambda: len(engine._callers) == 8)
        gate.set()
        assert first.result()[0][1][0].tokens == (5,)
        for n, other in enumerate(others):
            assert {k: v[0].tokens for k, v in other.result().items()} == {0: (5 + n,), 1: (13 - n,)}

    assert len(inner(engine).searches) == 2
    assert len(inner(engine).searches[1]) == 16
    # Everyone's first request comes before anyone's second.
    assert set(inner(engine).searches[1][:8]) == {(4 + n,) for n in range(8)}
    assert inner(engine).threads == {"engine"}
    engine.close()


def test_the_error_of_one_is_not_that_of_others() -> None:
    gate = threading.Event()
    engine = SharedEngine(Recording(gate=gate))
    with ThreadPoolExecutor(3) as pool:
        pool.submit(lambda: list(engine.search([request(4)])))
        wait_for(lambda: inner(engine).searches)
        good = pool.submit(lambda: list(engine.search([request(5)])))
        bad = pool.submit(lambda: list(engine.search([request(6, limit=-1)])))
        wait_for(lambda: len(engine._callers) == 2)
        gate.set()
        assert good.result()[0][1][0].tokens == (6,)
        with pytest.raises(DragomanError, match="a bad request"):
            bad.result()
    engine.close()


class Gone(Exception):
    pass


def test_who_leaves_is_not_searched_for() -> None:
    gate, left = threading.Event(), threading.Event()
    engine = SharedEngine(Recording(gate=gate))

    def leave() -> None:
        if left.is_set():
            raise Gone

    def leaver() -> None:
        with abandonable(leave):
            list(engine.search([request(7), request(8)]))

    with ThreadPoolExecutor(2) as pool:
        stays = pool.submit(lambda: list(engine.search([request(4)])))
        wait_for(lambda: inner(engine).searches)
        leaves = pool.submit(leaver)
        wait_for(lambda: engine._callers)
        left.set()
        with pytest.raises(Gone):  # while the engine is still busy
            leaves.result(timeout=5)
        gate.set()
        stays.result()
    engine.close()

    assert inner(engine).searches == [[(4,)]]


def test_a_closed_engine_refuses_and_ends_who_waits() -> None:
    gate = threading.Event()
    engine = SharedEngine(Recording(gate=gate))
    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(lambda: list(engine.search([request(4)])))
        wait_for(lambda: inner(engine).searches)
        second = pool.submit(lambda: list(engine.search([request(5)])))
        scored = pool.submit(lambda: list(engine.score([((4,), (5,))], Beam())))
        wait_for(lambda: engine._callers)
        closing = threading.Thread(target=engine.close)
        closing.start()
        wait_for(lambda: engine._closed)
        gate.set()
        closing.join()
        assert len(first.result()) == 1
        for one in (second, scored):
            with pytest.raises(DragomanError, match="closed"):
                one.result(timeout=5)
    with pytest.raises(DragomanError, match="closed"):
        list(engine.search([request(4)]))


def test_a_model_gives_the_same_in_company() -> None:
    model = load(SAVED).model
    sources = [tuple((7 * n + k) % 300 + 5 for k in range(1 + n % 9)) for n in range(40)]
    asked = [Request(source=source, how=HOW, max_tokens=12) for source in sources]
    alone = [next(iter(PyTorchEngine(model).search([one])))[1] for one in asked]
    engine = SharedEngine(PyTorchEngine(model))
    with ThreadPoolExecutor(8) as pool:
        together = list(pool.map(lambda one: next(iter(engine.search([one])))[1], asked))
        scored = list(engine.score([(sources[3], alone[3][0].tokens)], HOW))
    engine.close()

    for one, other in zip(alone, together, strict=True):
        assert [each.tokens for each in one] == [each.tokens for each in other]
        assert [each.score for each in one] == pytest.approx([each.score for each in other], abs=1e-4)
    assert scored[0][1].score == pytest.approx(alone[3][0].score, abs=1e-4)
