"""An engine that several threads share: one thread owns the engine inside, and batches waiting requests.

The native engine needs none of this: it batches the requests of all its callers by itself. PyTorch would run
a search for each of them at the same time, each slowed by the others.
"""

from __future__ import annotations

import itertools
import queue
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from dragoman.base.errors import DragomanError
from dragoman.translation.search.engine import NOTHING, Engine, Hypothesis, Request, Tokens
from dragoman.translation.search.options import AttentionOf, Beam
from dragoman.translation.search.watching import look_up

_TOGETHER = 64  # requests of one search; those that arrive meanwhile wait for its end
_PATIENCE = 0.05  # seconds between looks at whether the caller has left

Found = tuple[int, list[Hypothesis]]


class _Caller:
    """The requests of a thread, and its answers."""

    def __init__(self, batch_tokens: int) -> None:
        self.batch_tokens = batch_tokens
        self.waiting: deque[tuple[int, Request]] = deque()
        self.answers: queue.SimpleQueue[Found | BaseException] = queue.SimpleQueue()
        self.left = False

    def next_answer(self) -> Found:
        """Wait for an answer. Raises what `abandonable` raises, or the error of the search."""
        while True:
            look_up()
            try:
                answer = self.answers.get(timeout=_PATIENCE)
            except queue.Empty:
                continue
            if isinstance(answer, BaseException):
                raise answer
            return answer


class SharedEngine:
    """An `Engine` around another one. Answers equal those alone, as `Engine` promises.

    Callers take turns: each search takes one request of every caller before a second one of any.
    """

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self._callers: deque[_Caller] = deque()  # those with requests that wait
        self._calls: deque[tuple[_Caller, Callable[[], None]]] = deque()
        self._changed = threading.Condition()
        self._closed = False
        self._thread = threading.Thread(target=self._own, name="engine", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """End the thread, after its current search. Waiting callers get an error."""
        with self._changed:
            self._closed = True
            self._changed.notify()
        self._thread.join()
        for caller in [*self._callers, *(caller for caller, _ in self._calls)]:
            caller.answers.put(_closed())

    def search(
        self, requests: Iterable[Request], *, batch_tokens: int = 4096, lookahead: int = 4096
    ) -> Iterator[Found]:
        """See `Engine.search`. Requests of other callers may be in the same batch."""
        caller, numbered = _Caller(batch_tokens), enumerate(requests)
        try:
            while ahead := list(itertools.islice(numbered, lookahead)):
                yield from ((number, [NOTHING]) for number, request in ahead if not request.source)
                asked = [one for one in ahead if one[1].source]
                with self._changed:
                    self._check()
                    caller.waiting.extend(asked)
                    if asked:
                        self._callers.append(caller)
                    self._changed.notify()
                for _ in asked:
                    yield caller.next_answer()
        finally:
            with self._changed:
                caller.left = True
                caller.waiting.clear()

    def score(
        self,
        pairs: Iterable[tuple[Tokens, Tokens]],
        how: Beam,
        *,
        attention: AttentionOf | None = None,
        batch_tokens: int = 2048,
    ) -> Iterator[tuple[int, Hypothesis]]:
        """See `Engine.score`."""
        pairs, caller = list(pairs), _Caller(batch_tokens)

        def call() -> None:
            try:
                scored = self.engine.score(pairs, how, attention=attention, batch_tokens=batch_tokens)
                for number, hypothesis in scored:
                    if caller.left:
                        break
                    caller.answers.put((number, [hypothesis]))
            except Exception as error:
                caller.answers.put(error)

        with self._changed:
            self._check()
            self._calls.append((caller, call))
            self._changed.notify()
        try:
            for _ in pairs:
                number, found = caller.next_answer()
                yield number, found[0]
        finally:
            caller.left = True

    def _check(self) -> None:
        if self._closed:
            raise _closed()

    # ---- in the thread that owns the engine ------------------------------------------------------------

    def _own(self) -> None:
        while True:
            with self._changed:
                while not (self._closed or self._callers or self._calls):
                    self._changed.wait()
                if self._closed:
                    return
                call = self._calls.popleft()[1] if self._calls else None
                together = [] if call else self._next_together()
            if call:
                call()
            elif together:
                self._search(together)

    def _next_together(self) -> list[tuple[_Caller, int, Request]]:
        """Take the requests of one search, from each caller in turn."""
        together: list[tuple[_Caller, int, Request]] = []
        while self._callers and len(together) < _TOGETHER:
            caller = self._callers.popleft()
            if caller.waiting:
                together.append((caller, *caller.waiting.popleft()))
            if caller.waiting:
                self._callers.append(caller)
        return together

    def _search(self, together: Sequence[tuple[_Caller, int, Request]]) -> None:
        left = dict(enumerate(together))
        try:
            found: Any = self.engine.search(
                [request for _, _, request in together],
                batch_tokens=min(caller.batch_tokens for caller, _, _ in together),
                lookahead=len(together),
            )
            for place, hypotheses in found:
                caller, number, _ = left.pop(place)
                caller.answers.put((number, hypotheses))
                if all(one.left for one, _, _ in left.values()):
                    break
        except Exception as error:
            if len(left) == 1:
                for caller, _, _ in left.values():
                    caller.answers.put(error)
                return
            for one in left.values():  # an error of one request does not concern the others
                self._search([one])


def _closed() -> DragomanError:
    return DragomanError("the engine is closed", hint="start a new one")
