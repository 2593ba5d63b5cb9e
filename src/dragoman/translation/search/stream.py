"""Keep an engine busy with a stream of any length, in bounded memory and in order. Imports no torch.

Items are lines, or anything else that a request is made from. The engine reads requests while it translates,
so an engine with threads of its own overlaps reading, tokenising, translating and writing.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, count
from typing import Generic, TypeVar

from dragoman.translation.search.engine import Engine, Hypothesis, Request

Item = TypeVar("Item", bound=Hashable)
Answer = TypeVar("Answer")
ToAnswer = Callable[[list[Hypothesis]], "Answer | Again[Answer]"]

_TOGETHER = 64  # items made into requests at once: tokenising many lines in one call is faster


@dataclass(frozen=True)
class Again(Generic[Answer]):
    """Another request, from whose hypotheses the answer is made."""

    request: Request
    to_answer: ToAnswer[Answer]


@dataclass(eq=False, slots=True)
class _Slot(Generic[Answer]):
    """The place of an answer, which equal items share."""

    answer: Answer | None = None


class Stream(Generic[Item, Answer]):
    """The answers to items, one each, in order. Iterate over it once.

    `requests` turns each item into a request and a function from its hypotheses to the answer, or to another
    request (`Again`). An item
    that equals one of the last `remembered` different ones gets the same answer, without another request.

    The engine works on at most `window` requests at a time. At most twice as many items are held: those, and
    later ones whose answers wait for an earlier one. The item None means that no other has arrived yet: all
    items so far are answered before the next is read. An error of `items` or `requests` is raised after the
    answers to the items before it.
    """

    def __init__(
        self,
        items: Iterable[Item | None],
        requests: Callable[[Sequence[Item]], Iterable[tuple[Request, ToAnswer[Answer]]]],
        *,
        engine: Engine,
        batch_tokens: int,
        window: int,
        remembered: int = 10_000,
    ) -> None:
        self._items, self._to_requests = iter(items), requests
        self._engine, self._batch_tokens, self._window = engine, batch_tokens, window
        self._remembered = remembered
        self._waiting: deque[_Slot[Answer]] = deque()  # one for each item that was read but not answered
        self._again: list[tuple[Again[Answer], _Slot[Answer]]] = []
        self._recent: dict[Item, _Slot[Answer]] = {}  # the item that was read last comes last
        self._paused = self._ended = False
        self._error: Exception | None = None

    def __iter__(self) -> Iterator[Answer]:
        while self._again or not self._ended:
            asked: dict[int, tuple[ToAnswer[Answer], _Slot[Answer]]] = {}
            requests = self._requests(asked)
            if (first := next(requests, None)) is not None:
                found = self._engine.search(
                    chain([first], requests), batch_tokens=self._batch_tokens, lookahead=self._window
                )
                for number, hypotheses in found:
                    to_answer, slot = asked.pop(number)
                    answer = to_answer(hypotheses)
                    if isinstance(answer, Again):
                        self._again.append((answer, slot))
                    else:
                        slot.answer = answer
                    yield from self._answered()
            yield from self._answered()
        if self._error is not None:
            raise self._error

    def _answered(self) -> Iterator[Answer]:
        """Yield the answers that no earlier item holds up."""
        waiting = self._waiting
        while waiting and (answer := waiting[0].answer) is not None:
            yield answer
            waiting.popleft()  # after the yield: until then the item counts as held

    def _requests(self, asked: dict[int, tuple[ToAnswer[Answer], _Slot[Answer]]]) -> Iterator[Request]:
        """Yield the requests of one search, and enter each in `asked` by its number.

        The search ends where its answers are needed before another item may be read.
        """
        numbers = count()
        if self._again:  # first: an item may be long in coming
            again, self._again = self._again, []
            for one, slot in again:
                number = next(numbers)
                asked[number] = one.to_answer, slot
                yield one.request
            return
        self._paused = False
        while not (self._ended or self._paused):
            if not (room := 2 * self._window - len(self._waiting)):
                return  # the first in line takes much longer than the others
            items = self._read(min(room, self._window, _TOGETHER))
            for request, to_answer, slot in self._new(items):
                asked[next(numbers)] = to_answer, slot
                yield request
            if not asked:
                return  # all answers are known: nothing to wait for

    def _read(self, most: int) -> list[Item]:
        """Return the next items, fewer than `most` if others have not arrived or do not exist."""
        items: list[Item] = []
        try:
            while len(items) < most:
                item = next(self._items)
                if item is not None:
                    items.append(item)
                elif items or self._waiting:
                    self._paused = True
                    break
        except StopIteration:
            self._ended = True
        except Exception as error:
            self._ended, self._error = True, error
        return items

    def _new(self, items: Sequence[Item]) -> Iterator[tuple[Request, ToAnswer[Answer], _Slot[Answer]]]:
        """Put all items in line. Yield the requests of those that are not answered yet."""
        recent = self._recent
        new = dict.fromkeys(item for item in items if item not in recent)
        requests = iter(self._to_requests(list(new)))
        for item in items:
            slot = recent.pop(item, None)
            asked = None
            if slot is None:
                try:
                    asked = next(requests)
                except Exception as error:
                    self._ended, self._error = True, error
                    return
                slot = _Slot()
            recent[item] = slot
            self._waiting.append(slot)
            if asked is not None:
                yield *asked, slot
        while len(recent) > self._remembered:
            del recent[next(iter(recent))]
