from __future__ import annotations

import pytest
import torch

from dragoman.models.search.rows import best


@pytest.mark.parametrize("vocab", [5, 300, 1023, 1024, 1025, 1279, 8000, 8003])
@pytest.mark.parametrize("k", [1, 4, 64])
def test_best_is_topk(vocab: int, k: int) -> None:
    k = min(k, vocab)
    score_NV = torch.randn(50, vocab, generator=torch.Generator().manual_seed(vocab))
    score_NV[:25] = score_NV[:25].sort(descending=True).values  # the best side by side
    score_NK, index_NK = best(score_NV, k)
    top_NK, place_NK = score_NV.topk(k)

    assert torch.equal(score_NK, top_NK)
    assert torch.equal(index_NK, place_NK)


def test_where_almost_nothing_is_possible_the_rest_are_still_tokens() -> None:
    score_NV = torch.full((2, 2001), -torch.inf)
    score_NV[0, 2000] = -1.0
    score_NK, index_NK = best(score_NV, 4)

    assert score_NK.tolist() == [[-1.0] + [-torch.inf] * 3, [-torch.inf] * 4]
    assert index_NK[0, 0] == 2000
    assert bool(((index_NK >= 0) & (index_NK < 2001)).all())
