"""Split items into parts that are answered on their own, and join the answers again, in order."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TypeVar

Item = TypeVar("Item")
Part = TypeVar("Part")
Answer = TypeVar("Answer")
Whole = TypeVar("Whole")


def by_parts(
    items: Iterable[Item | None],
    cut: Callable[[Item], Sequence[Part]],
    answers: Callable[[Iterator[Part | None]], Iterable[Answer]],
    join: Callable[[Item, Sequence[Part], Sequence[Answer]], Whole],
) -> Iterator[Whole]:
    """Yield one whole for each item, as soon as its parts are answered.

    `answers` gets the parts of all items, and None where `items` has None; it yields one answer for each
    part. An item has at least one part.
    """
    waiting: deque[tuple[Item, Sequence[Part]]] = deque()

    def parts() -> Iterator[Part | None]:
        for item in items:
            if item is None:
                yield None
                continue
            own = cut(item)
            waiting.append((item, own))
            yield from own

    found: list[Answer] = []
    for answer in answers(parts()):
        found.append(answer)
        if len(found) == len(waiting[0][1]):
            yield join(*waiting.popleft(), found)
            found = []
