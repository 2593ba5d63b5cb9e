"""What teachers find likely, in a vocabulary without closed tokens."""

from __future__ import annotations

import pytest
import torch

from dragoman.training.distillation.loss import TaughtRows


@pytest.mark.parametrize("left", [3, 4, 5, 40], ids="{0} tokens left".format)
def test_tokens_without_a_place_give_way_to_tokens_that_a_row_lacks(left: int) -> None:
    """Also where hardly more tokens are left than a row has."""
    vocab, rows, width = 50, 200, 3
    generator = torch.Generator().manual_seed(5)
    ids_NK = torch.stack([torch.randperm(vocab, generator=generator)[:width] for _ in range(rows)])
    taught = TaughtRows(ids_NK, torch.rand(rows, width, generator=generator), 0.5)
    open_tokens = torch.randperm(vocab, generator=generator)[:left].sort().values.tolist()
    place_V = torch.full((vocab,), -1)
    place_V[open_tokens] = torch.arange(left)

    found = taught.renumbered(place_V, left)

    for old, p_old, new, p_new in zip(
        ids_NK.tolist(), taught.p_NK.tolist(), found.ids_NK.tolist(), found.p_NK.tolist(), strict=True
    ):
        assert len(set(new)) == width
        assert set(new) <= set(range(left))
        for one, p, other, q in zip(old, p_old, new, p_new, strict=True):
            assert (other, q) == (open_tokens.index(one), p) if one in open_tokens else q == 0
