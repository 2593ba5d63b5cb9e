"""Pools hold every row once, in an order that seed and epoch determine."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from dragoman.training.data import batches
from dragoman.training.data import mixture as module
from dragoman.training.data.batches import plan, updates_of
from dragoman.training.data.mixture import pools

Ints = np.ndarray


class Lengths:
    """Rows of which only the lengths are known."""

    def __init__(self, lengths: Ints) -> None:
        self.lengths = lengths

    def __len__(self) -> int:
        return len(self.lengths)

    def lengths_of(self, rows: Ints) -> Ints:
        return self.lengths[rows]


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "BLOCK", 8)
    monkeypatch.setattr(module, "POOL", 64)
    monkeypatch.setattr(batches, "LARGE", 100)


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("count", [1, 8, 64, 65, 1000, 1003])
def test_every_row_is_in_one_pool(count: int) -> None:
    several = list(pools(count, seed=1, epoch=2))

    assert sorted(np.concatenate(several).tolist()) == list(range(count))
    assert max(map(len, several)) <= 64
    assert min(map(len, several)) > 0


@pytest.mark.usefixtures("small")
def test_the_order_is_a_function_of_seed_and_epoch() -> None:
    def order(seed: int, epoch: int) -> list[int]:
        return np.concatenate(list(pools(1000, seed=seed, epoch=epoch))).tolist()

    assert order(1, 2) == order(1, 2)
    assert len({tuple(order(seed, epoch)) for seed, epoch in [(1, 0), (1, 1), (2, 0), (2, 1)]}) == 4


def sides(count: int) -> tuple[Lengths, Lengths]:
    chance = np.random.default_rng(5)
    source = chance.integers(1, 20, count)
    return Lengths(source), Lengths(source + chance.integers(0, 3, count))


def of_epoch(count: int, each: int, epoch: int = 0) -> list[list[Ints]]:
    return list(updates_of(*sides(count), batch_tokens=100, seed=7, epoch=epoch, each=each))


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("each", [1, 3])
def test_updates_have_every_pair_once_within_the_budget(each: int) -> None:
    source, target = sides(1003)
    updates = of_epoch(1003, each)

    assert {len(groups) for groups in updates} == {each}
    groups = list(itertools.chain.from_iterable(updates))
    assert sorted(np.concatenate(groups).tolist()) == list(range(1003))
    for group in groups:
        if len(group) > 1:
            assert (max(source.lengths[group].max(), target.lengths[group].max()) + 1) * len(group) <= 100
    assert not all(map(np.array_equal, groups, itertools.chain.from_iterable(of_epoch(1003, each, 1))))


@pytest.mark.usefixtures("small")
def test_a_small_text_is_one_plan() -> None:
    """Runs that began before there were pools go on in the same order."""
    source, target = sides(100)
    groups = plan(source.lengths, target.lengths, batch_tokens=100, seed=7, epoch=3, multiple_of=2)

    of_updates = list(itertools.chain.from_iterable(of_epoch(100, 2, 3)))
    assert [group.tolist() for group in of_updates] == [group.tolist() for group in groups]


@pytest.mark.usefixtures("small")
def test_only_the_pools_that_are_read_are_planned() -> None:
    read: list[int] = []
    source, target = sides(1003)

    class Watched(Lengths):
        def lengths_of(self, rows: Ints) -> Ints:
            read.append(len(rows))
            return super().lengths_of(rows)

    updates = updates_of(Watched(source.lengths), target, batch_tokens=100, seed=7, epoch=0, each=1)
    next(updates)

    assert len(read) == 1
    assert read[0] <= 64
