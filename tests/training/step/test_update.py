"""One update, on every kind of device there is: the same loss, gradient and weights."""

from __future__ import annotations

import copy

import pytest
import torch
from tests.training.small_runs import model, pairs, tokenizer
from torch import nn

from dragoman.models.layers.embeddings import CLOSED, close
from dragoman.training.data.batches import Batch, collate
from dragoman.training.options import Optimizer, TrainingConfig
from dragoman.training.processes.distributed import World
from dragoman.training.step.loss import Objective
from dragoman.training.step.update import Learner

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


def test_validation_makes_one_pass_of_r_drop() -> None:
    """Without dropout both passes are equal."""
    made = model(tokenizer(), dropout=0.1, d_model=32, d_ff=64)
    rows: list[int] = []
    made.encoder[0].register_forward_pre_hook(lambda _, inputs: rows.append(len(inputs[0])))
    options = TrainingConfig(precision="fp32", consistency=3.0)
    learner = Learner(made, options, World(0, 1, torch.device("cpu")))
    one = batch()

    learner.update([one], 1, seed=1)
    learner.model.eval()
    loss, _ = learner.objective(one)

    assert rows == [2 * len(one), len(one)]
    assert loss == Objective(made, options.label_smoothing)(one)[0]


def test_weight_decay_does_not_open_closed_tokens() -> None:
    made = model(tokenizer(), output_bias=True)
    closed_V = torch.arange(tokenizer().target_size) == 3
    close(made.logits, closed_V)
    options = TrainingConfig(
        schedule="inverse-sqrt", learning_rate=0.05, warmup=1, weight_decay=10.0, precision="fp32",
        close_unseen=True,
    )  # fmt: skip
    learner = Learner(made, options, World(0, 1, torch.device("cpu")))

    for step in range(1, 6):
        learner.update([batch()], step, seed=1)

    assert torch.equal(made.logits.bias == CLOSED, closed_V)


@pytest.mark.parametrize("optimizer", ["adam", "muon"])
def test_an_embedding_of_zeros_stays_zero(optimizer: Optimizer) -> None:
    made = model(tokenizer())
    start = made.config.start_id
    with torch.no_grad():
        made.target_embedding.weight[start] = 0.0
    before = made.target_embedding.weight.clone()
    options = TrainingConfig(
        schedule="inverse-sqrt", learning_rate=0.05, warmup=1, ema=0.9, precision="fp32", optimizer=optimizer
    )
    learner = Learner(made, options, World(0, 1, torch.device("cpu")))

    for step in range(1, 4):
        learner.update([batch()], step, seed=1)

    assert not made.target_embedding.weight[start].any()
    with learner.whole():  # the moving average
        assert not made.target_embedding.weight[start].any()
    moved = (made.target_embedding.weight != before).any(1)
    assert int(moved.sum()) == len(moved) - 1
