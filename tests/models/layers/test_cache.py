"""The key-value cache: what goes in comes out, for any selection of rows."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from dragoman.models.layers.cache import KeyValueCache

F64 = torch.float64


def randn(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(*shape, dtype=F64, generator=torch.Generator().manual_seed(seed))


def fill(cache: KeyValueCache, keys_NHTD: Tensor, values_NHTD: Tensor) -> tuple[Tensor, Tensor]:
    for t in range(keys_NHTD.shape[2]):
        seen = cache.append(keys_NHTD[:, :, t : t + 1], values_NHTD[:, :, t : t + 1])
    return seen


@pytest.mark.parametrize("length", [1, 15, 16, 17, 40])
def test_the_cache_gives_back_what_it_was_given(length: int) -> None:
    keys, values = randn(3, 2, length, 4, seed=1), randn(3, 2, length, 4, seed=2)

    k, v = fill(KeyValueCache(), keys, values)

    assert torch.equal(k, keys)
    assert torch.equal(v, values)


@pytest.mark.parametrize("length", [3, 16, 20])
@pytest.mark.parametrize("rows", [[0, 1, 2], [2, 0, 1], [1], [0, 0, 0, 2, 2, 1]])
def test_the_cache_selects_rows(rows: list[int], length: int) -> None:
    keys, values = randn(3, 2, length, 4, seed=1), randn(3, 2, length, 4, seed=2)
    more_k, more_v = randn(len(rows), 2, 1, 4, seed=3), randn(len(rows), 2, 1, 4, seed=4)
    cache = KeyValueCache()
    fill(cache, keys, values)

    k, v = cache.select(torch.tensor(rows)).append(more_k, more_v)

    assert torch.equal(k, torch.cat((keys[rows], more_k), 2))
    assert torch.equal(v, torch.cat((values[rows], more_v), 2))


def test_what_a_selection_says_next_does_not_reach_its_origin() -> None:
    keys, values = randn(2, 2, 3, 4, seed=1), randn(2, 2, 3, 4, seed=2)
    cache = KeyValueCache()
    fill(cache, keys, values)

    fill(cache.select(torch.tensor([0, 1])), randn(2, 2, 2, 4, seed=3), randn(2, 2, 2, 4, seed=4))
    k, v = fill(cache, keys[:, :, :1], values[:, :, :1])

    assert torch.equal(k, torch.cat((keys, keys[:, :, :1]), 2))
    assert torch.equal(v, torch.cat((values, values[:, :, :1]), 2))


def test_an_empty_cache_selects_any_number_of_rows() -> None:
    cache = KeyValueCache().select(torch.tensor([0, 0, 0]))

    k, _ = cache.append(randn(3, 1, 1, 2), randn(3, 1, 1, 2))

    assert k.shape == (3, 1, 1, 2)
