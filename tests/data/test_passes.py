"""Passes: results in order, few in flight, the same with processes and without."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from dragoman.base.errors import DataError, DragomanError
from dragoman.data.passes import ALONE, CHUNK, line_chunks, mapped
from dragoman.text.corpora.corpus import open_pairs


def square(number: int) -> int:
    if number == -1:
        raise DataError("not a number", hint="give another")
    if number == -2:
        os._exit(3)
    return number * number


@pytest.mark.parametrize("workers", [1, 2])
def test_results_are_in_order(workers: int) -> None:
    given = list(range(ALONE + 20))
    assert [*mapped(square, given, workers)] == [(one, one * one) for one in given]


def test_few_chunks_are_read_ahead() -> None:
    read = 0

    def chunks() -> Iterator[int]:
        nonlocal read
        for number in range(1000):
            read += 1
            yield number

    results = mapped(square, chunks(), 2)
    for number, _ in zip(range(ALONE + 5), results, strict=False):
        assert read <= number + 6
    results.close()  # type: ignore[attr-defined]


def test_an_error_comes_through() -> None:
    with pytest.raises(DataError, match="not a number"):
        [*mapped(square, [*range(ALONE), -1, 5], 2)]


def test_a_process_that_ends() -> None:
    with pytest.raises(DragomanError, match="was ended"):
        [*mapped(square, [*range(ALONE), 1, -2, 5], 2)]


def test_chunks() -> None:
    corpus = open_pairs([(f"line {number}", "Zeile") for number in range(CHUNK + 7)])
    first, rest = line_chunks(corpus)
    assert (len(first), len(rest)) == (CHUNK, 7)
    assert [line.number for line in rest] == [*range(CHUNK + 1, CHUNK + 8)]
