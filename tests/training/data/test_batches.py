"""Batches: which pairs, how much padding, and what the tensors hold."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from dragoman.training.data.batches import Ints, _halved, collate, plan


def lengths(count: int = 29_000, seed: int = 0) -> tuple[Ints, Ints]:
    """Token counts like those of image captions: median 14, the two sides correlated at 0.85."""
    rng = np.random.default_rng(seed)
    common, own = rng.standard_normal(count), rng.standard_normal(count)
    source = np.exp(2.61 + 0.31 * common)
    target = np.exp(2.64 + 0.35 * (0.85 * common + (1 - 0.85**2) ** 0.5 * own))
    return source.round().astype(np.int64), target.round().astype(np.int64)


def padded(group: Ints, side: Ints) -> int:
    return len(group) * int(side[group].max() + 1)


def padding(groups: list[Ints], source: Ints, target: Ints) -> float:
    real = sum(int(side[group].sum()) + len(group) for group in groups for side in (source, target))
    return 1 - real / sum(padded(group, side) for group in groups for side in (source, target))


def groups_of(source: Any, target: Any, **options: Any) -> list[Ints]:
    usual: dict[str, Any] = {"batch_tokens": 1000, "seed": 1, "epoch": 0}
    return plan(np.asarray(source), np.asarray(target), **(usual | options))


@pytest.mark.parametrize("batch_tokens", [1000, 2000, 4000])
def test_ten_epochs_have_few_shapes(batch_tokens: int) -> None:
    """oneDNN prepares each product anew for each number of positions, and keeps what it prepared."""
    source, target = lengths()

    epochs = [groups_of(source, target, batch_tokens=batch_tokens, epoch=epoch) for epoch in range(10)]

    positions = {padded(group, side) for groups in epochs for group in groups for side in (source, target)}
    assert len(positions) <= 150
    assert max(padding(groups, source, target) for groups in epochs) < 0.05


@given(
    pairs=st.lists(st.tuples(st.integers(0, 30), st.integers(0, 30)), min_size=1, max_size=60),
    batch_tokens=st.integers(1, 80),
    multiple_of=st.integers(1, 9),
    epoch=st.integers(0, 3),
)
def test_every_pair_once_within_the_budget_in_a_full_number_of_groups(
    pairs: list[tuple[int, int]], batch_tokens: int, multiple_of: int, epoch: int
) -> None:
    source, target = np.array(pairs).T

    groups = groups_of(source, target, batch_tokens=batch_tokens, multiple_of=multiple_of, epoch=epoch)

    assert sorted(np.concatenate(groups).tolist()) == list(range(len(pairs)))
    assert len(groups) % multiple_of == 0
    for group in groups:
        if len(group) > 1:
            assert max(padded(group, source), padded(group, target)) <= batch_tokens
    if any(len(group) == 0 for group in groups):  # only where there are too few pairs to go round
        assert max(map(len, groups)) == 1


@pytest.mark.parametrize("multiple_of", [1, 8])
def test_padding_is_below_5_percent(multiple_of: int) -> None:
    source, target = lengths()

    groups = groups_of(source, target, batch_tokens=4096, multiple_of=multiple_of)

    assert padding(groups, source, target) < 0.05


def test_batches_are_nearly_full() -> None:
    source, target = lengths()

    groups = groups_of(source, target, batch_tokens=4096)

    fill = [max(padded(group, source), padded(group, target)) / 4096 for group in groups]
    assert np.mean(fill) > 0.95


def test_unequal_sides_are_padded_little_too() -> None:
    """One side in characters, say: the budget and the padding look at both."""
    source, target = lengths()
    target = 3 * target + np.random.default_rng(1).integers(-6, 6, len(target))

    groups = groups_of(source, target, batch_tokens=4096)

    assert padding(groups, source, target) < 0.05
    assert max(padded(group, target) for group in groups) <= 4096


def test_a_pair_over_the_budget_stands_alone() -> None:
    groups = groups_of([3, 500, 4], [3, 2, 4], batch_tokens=20)

    assert sorted(map(sorted, map(np.ndarray.tolist, groups))) == [[0, 2], [1]]  # type: ignore[arg-type]


def test_the_plan_is_a_function_of_seed_and_epoch() -> None:
    source, target = lengths(2000)
    same = [groups_of(source, target), groups_of(source, target)]

    assert all(np.array_equal(a, b) for a, b in zip(*same, strict=True))
    for other in (groups_of(source, target, epoch=1), groups_of(source, target, seed=2)):
        assert sorted(map(tuple, other)) != sorted(map(tuple, same[0]))


def test_the_order_of_batches_is_no_order_of_length() -> None:
    source, target = lengths()

    longest = [int(target[group].max()) for group in groups_of(source, target)]

    assert abs(np.corrcoef(longest, np.arange(len(longest)))[0, 1]) < 0.2
    ups = np.mean(np.diff(longest) > 0)
    assert 0.3 < ups < 0.7


def test_pairs_meet_others_in_the_next_epoch() -> None:
    """Of two pairs in a batch, less than half the time the next epoch puts them together again."""
    source, target = lengths()
    place = np.empty((2, len(source)), np.int64)
    for epoch in range(2):
        for number, group in enumerate(groups_of(source, target, batch_tokens=4096, epoch=epoch)):
            place[epoch, group] = number
    together = np.zeros(place.max(1) + 1)
    np.add.at(together, tuple(place), 1)
    size = together.sum(1)

    again = (together * (together - 1)).sum() / (size * (size - 1)).sum()

    assert again < 0.5


# Tensors


def test_collate_writes_out_both_sides() -> None:
    batch = collate([[5, 6, 7], [8]], [[9], [10, 11]], pad_id=0, start_id=1, end_id=2)

    assert batch.source_BS.tolist() == [[5, 6, 7, 2], [8, 2, 0, 0]]
    assert batch.source_len_B.tolist() == [4, 2]
    assert batch.target_BT.tolist() == [[1, 9, 0], [1, 10, 11]]
    assert batch.predict_BT.tolist() == [[9, 2, 0], [10, 11, 2]]
    assert batch.tokens == 5
    assert batch.slots == 14
    assert {t.dtype for t in (batch.source_BS, batch.target_BT, batch.predict_BT)} == {torch.int64}


def test_collate_knows_other_ids() -> None:
    """Marian's models start with the padding token."""
    batch = collate([[5]], [[6, 7]], pad_id=9, start_id=9, end_id=0)

    assert batch.source_BS.tolist() == [[5, 0]]
    assert batch.target_BT.tolist() == [[9, 6, 7]]
    assert batch.predict_BT.tolist() == [[6, 7, 0]]


def test_collate_takes_empty_sides_and_arrays() -> None:
    batch = collate(
        [np.array([], np.uint16), np.array([65535], np.uint16)],
        [np.array([4], np.uint16), np.array([], np.uint16)],
        pad_id=0,
        start_id=1,
        end_id=2,
    )

    assert batch.source_BS.tolist() == [[2, 0], [65535, 2]]
    assert batch.predict_BT.tolist() == [[4, 2], [2, 0]]


def test_a_batch_moves_whole() -> None:
    batch = collate([[5, 6]], [[7]], pad_id=0, start_id=1, end_id=2)

    moved = batch.to(torch.device("meta"))

    assert {
        t.device.type for t in (moved.source_BS, moved.source_len_B, moved.target_BT, moved.predict_BT)
    } == {"meta"}
    assert moved.tokens == batch.tokens


@given(sizes=st.lists(st.integers(0, 9), min_size=1, max_size=30), multiple_of=st.integers(1, 40))
def test_groups_are_halved_in_the_order_of_sorting_each_time(sizes: list[int], multiple_of: int) -> None:
    """A run that began with an earlier version resumes with the same batches."""
    starts = np.cumsum([0, *sizes])
    groups = [np.arange(first, last) for first, last in pairwise(starts)]
    sorted_each_time = list(groups)
    while len(sorted_each_time) % multiple_of:
        sorted_each_time.sort(key=len)
        sorted_each_time += np.array_split(sorted_each_time.pop(), 2)

    halved = _halved(groups, -len(groups) % multiple_of)
    assert [group.tolist() for group in halved] == [group.tolist() for group in sorted_each_time]


def test_many_batches_in_an_update_are_planned_without_sorting_each_time() -> None:
    """Sorting 100,000 groups 70,000 times would take hours; halving them takes seconds."""
    groups = [np.arange(10)] * 30_000

    assert len(_halved(groups, 70_000)) == 100_000
