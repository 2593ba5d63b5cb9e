"""Processes of one start find each other, whatever earlier starts left behind."""

from __future__ import annotations

import threading

import pytest

from dragoman.base.errors import TrainingError
from dragoman.training.processes.distributed import agreed_round


class Board:
    """A store in memory."""

    def __init__(self) -> None:
        self.values: dict[str, bytes] = {}

    def set(self, key: str, value: str) -> None:
        self.values[key] = value.encode()

    def check(self, keys: list[str]) -> bool:
        return all(key in self.values for key in keys)

    def multi_get(self, keys: list[str]) -> list[bytes]:
        return [self.values[key] for key in keys]


def started(board: Board, size: int) -> list[str]:
    """The names that the processes of one start get."""
    names: dict[int, str] = {}

    def one(rank: int) -> None:
        names[rank] = agreed_round(board, rank, size, patience=60)

    threads = [threading.Thread(target=one, args=(rank,)) for rank in reversed(range(size))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return [names[rank] for rank in range(size)]


def test_all_processes_of_a_start_get_one_name_and_each_start_another() -> None:
    board = Board()
    starts = [started(board, 3) for _ in range(4)]
    assert all(len(set(names)) == 1 for names in starts)
    assert len({names[0] for names in starts}) == 4


def test_what_a_start_left_that_was_killed_in_the_middle_does_not_count() -> None:
    board = Board()
    with pytest.raises(TrainingError, match="process 0"):
        agreed_round(board, 0, 2, patience=0.3)  # a first process whose other one never comes
    with pytest.raises(TrainingError, match="process 1: not all 2 processes have started"):
        agreed_round(board, 1, 2, patience=0.3)  # and another whose first one is gone
    assert len(set(started(board, 2))) == 1


def test_ranks_may_change_places() -> None:
    board = Board()
    assert len({*started(board, 2), *started(board, 3), *started(board, 2)}) == 3
