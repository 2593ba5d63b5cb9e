"""Items in parts: answers come back whole, in order, and as soon as they can."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from dragoman.translation.search.parts import by_parts


def cut(item: str) -> list[str]:
    return item.split(" ")


def join(item: str, parts: Sequence[str], answers: Sequence[str]) -> tuple[str, str]:
    assert list(parts) == cut(item)
    return item, "+".join(answers)


def test_each_item_is_answered_whole_and_in_order() -> None:
    def answers(parts: Iterator[str | None]) -> Iterator[str]:
        return (part.upper() for part in parts if part is not None)

    found = by_parts(["a b", None, "c", "d e f"], cut, answers, join)
    assert list(found) == [("a b", "A+B"), ("c", "C"), ("d e f", "D+E+F")]


def test_an_item_is_answered_before_the_next_is_read() -> None:
    read: list[str] = []

    def items() -> Iterator[str]:
        for item in ("a b", "c d"):
            read.append(item)
            yield item

    found = by_parts(items(), cut, lambda parts: (str(part) for part in parts), join)
    assert next(found) == ("a b", "a+b")
    assert read == ["a b"]


def test_a_pause_reaches_the_answers() -> None:
    seen: list[str | None] = []

    def answers(parts: Iterator[str | None]) -> Iterator[str]:
        for part in parts:
            seen.append(part)
            if part is not None:
                yield part

    list(by_parts(["a b", None, "c"], cut, answers, join))
    assert seen == ["a", "b", None, "c"]
