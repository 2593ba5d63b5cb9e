"""One update, on every kind of device there is: the same loss, gradient and weights."""

from __future__ import annotations

import copy

import pytest
import torch
from tests.training.runs import model, pairs, tokenizer
from torch import nn

from dragoman.training.batches import Batch, collate
from dragoman.training.distributed import World
from dragoman.training.loss import Objective
from dragoman.training.options import TrainingConfig
from dragoman.training.update import Learner

DEVICES = [
    "cpu",
    pytest.param("cuda", marks=pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no GPU")),
]


def batch() -> Batch:
    cut = tokenizer()
    source, target = zip(*pairs(), strict=True)
    return collate(cut.encode_source(source), cut.encode_target(target), pad_id=0, start_id=1, end_id=2)


@pytest.mark.parametrize("consistency", [0.0, 3.0])
@pytest.mark.parametrize("device", DEVICES)
def test_an_update_is_that_of_the_formulas_in_float64(device: str, consistency: float) -> None:
    """Loss over the batch's tokens; its gradient, clipped; Adam's first step, which is the sign of it."""
    made = model(tokenizer(), dropout=0.0, d_model=32, d_ff=64)
    fine = copy.deepcopy(made).double()
    before = [parameter.detach().clone() for parameter in made.parameters()]
    options = TrainingConfig(
        schedule="inverse-sqrt", learning_rate=1e-3, warmup=1, clip=0.5, precision="fp32",
        consistency=consistency,
    )  # fmt: skip
    learner = Learner(made, options, World(0, 1, torch.device(device)))
    one = batch()
    update = learner.update([one.to(torch.device(device))], 1, seed=1)

    loss, _ = Objective(fine, options.label_smoothing, consistency)(one)
    (loss / one.tokens).backward()
    norm = nn.utils.clip_grad_norm_(fine.parameters(), 0.5).item()
    assert update.made
    assert update.tokens == one.tokens
    assert update.loss == pytest.approx(loss.item(), rel=1e-5)
    assert update.gradient_norm == pytest.approx(norm, rel=1e-4)
    for old, new, wanted in zip(before, made.parameters(), fine.parameters(), strict=True):
        gradient = wanted.grad
        assert gradient is not None
        step = -1e-3 * gradient / (gradient.abs() + options.epsilon)
        moved = (new.detach().cpu() - old).double()
        clear = gradient.abs() > 1e-5  # where float32 leaves no doubt of the sign
        torch.testing.assert_close(moved[clear], step[clear], rtol=1e-2, atol=1e-6)


def test_r_drop_begins_after_so_many_updates() -> None:
    """Before, an update is one pass: that without R-Drop, bit for bit. Validation has no second pass."""
    made = model(tokenizer(), dropout=0.1, d_model=32, d_ff=64)
    options = TrainingConfig(max_updates=9, precision="fp32", consistency=3.0, consistency_after=2)
    plain = TrainingConfig(max_updates=9, precision="fp32")
    late, never = (Learner(copy.deepcopy(made), config, World(0, 1)) for config in (options, plain))

    losses = [
        tuple(learner.update([batch()], step, seed=1).loss for learner in (late, never)) for step in (1, 2, 3)
    ]

    assert losses[0][0] == losses[0][1]
    assert losses[1][0] == losses[1][1]
    assert losses[2][0] != losses[2][1]
    for learner in (late, never):
        learner.model.eval()
    never.model.load_state_dict(late.model.state_dict())
    assert late.objective(batch())[0] == never.objective(batch())[0]
