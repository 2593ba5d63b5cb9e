"""The head that aligns: its loss against loops in plain Python, its gradient, and what a run keeps of it."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest
import torch
from tests.training.small_runs import model, pairs, tokenizer
from torch import Tensor

import dragoman
from dragoman import Translator
from dragoman.base.errors import ConfigError
from dragoman.models.shapes import RecurrentConfig, SSRUConfig, TransformerConfig
from dragoman.text import toy
from dragoman.training.data.batches import Batch, collate
from dragoman.training.options import TrainingConfig
from dragoman.training.processes.distributed import World
from dragoman.training.runs.recipe import resolve
from dragoman.training.step.loss import Objective, alignment_loss
from dragoman.training.step.update import Learner
from dragoman.translation.folder.config import read_config
from dragoman.translation.search.alignment import Aligning
from dragoman.translation.search.options import AttentionOf

HEAD = AttentionOf(1, 1)
ALONE = World(0, 1, torch.device("cpu"))


def weights(source_len: list[int], target_len: list[int], *, heads: int = 3, seed: int = 1) -> Tensor:
    shape = len(source_len), heads, max(target_len), max(source_len)
    logits = torch.randn(*shape, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))
    padding = torch.arange(shape[3]) >= torch.tensor(source_len)[:, None]
    return logits.masked_fill(padding[:, None, None], -math.inf).softmax(-1)


def by_loops(weights_BHTS: Tensor, source_len: list[int], target_len: list[int]) -> float:
    total = 0.0
    for heads, source, target in zip(weights_BHTS.tolist(), source_len, target_len, strict=True):
        mean = [
            [sum(head[t][s] for head in heads[1:]) / len(heads[1:]) for s in range(source - 1)]
            for t in range(target - 1)
        ]
        for t, row in enumerate(mean):
            for s, weight in enumerate(row):
                if weight == max(row) and weight == max(other[s] for other in mean):
                    total -= math.log(heads[0][t + 1][s])
    return total


LENGTHS = [([5], [4]), ([2], [2]), ([5, 3, 1, 7], [4, 6, 3, 1]), ([3, 2], [1, 1]), ([1], [4]), ([1], [1])]


@pytest.mark.parametrize(("source_len", "target_len"), LENGTHS)
def test_the_loss_is_that_of_the_loops(source_len: list[int], target_len: list[int]) -> None:
    given = weights(source_len, target_len)
    found = alignment_loss(given, torch.tensor(source_len), torch.tensor(target_len))
    assert float(found) == pytest.approx(by_loops(given, source_len, target_len), rel=1e-12)


def test_only_the_head_learns_and_only_where_it_reads() -> None:
    source_len, target_len = LENGTHS[2]
    given = weights(source_len, target_len).requires_grad_()
    alignment_loss(given, torch.tensor(source_len), torch.tensor(target_len)).backward()
    assert given.grad is not None
    assert not given.grad[:, 1:].any()
    assert not given.grad[:, 0, 0].any()
    assert given.grad[0, 0, 1:].any()


def batch(count: int = 12) -> Batch:
    cut = tokenizer()
    source, target = zip(*pairs(count), strict=True)
    return collate(cut.encode_source(source), cut.encode_target(target), pad_id=0, start_id=1, end_id=2)


@pytest.mark.parametrize("consistency", [0.0, 2.0])
def test_the_gradient_is_the_slope(consistency: float) -> None:
    """Central differences of the whole objective in float64, in random directions."""
    net = model(tokenizer(), dropout=0.0, decoder_layers=2).double()
    objective = Objective(net, 0.1, consistency, aligning=HEAD, alignment_weight=0.7)
    one = batch()
    objective(one)[0].backward()
    step = 1e-6
    for seed in range(4):
        generator = torch.Generator().manual_seed(seed)
        random = [torch.randn(p.shape, dtype=p.dtype, generator=generator) for p in net.parameters()]
        slope = sum(
            (p.grad * d).sum().item()
            for p, d in zip(net.parameters(), random, strict=True)
            if p.grad is not None
        )
        ends = []
        for sign in (1, -2):
            with torch.no_grad():
                for parameter, direction in zip(net.parameters(), random, strict=True):
                    parameter += sign * step * direction
                ends.append(objective(one)[0].item())
        assert slope == pytest.approx((ends[0] - ends[1]) / (2 * step), rel=1e-5)
        with torch.no_grad():
            for parameter, direction in zip(net.parameters(), random, strict=True):
                parameter += step * direction


def test_the_weighted_loss_is_added_and_the_likelihood_is_not_changed() -> None:
    net, one = model(tokenizer(), dropout=0.0).double(), batch()
    net.requires_grad_(False)
    plain, nll = Objective(net, 0.1)(one)
    objectives = [Objective(net, 0.1, aligning=HEAD, alignment_weight=weight) for weight in (0.5, 1.0)]
    (half, nll_half), (full, _) = (objective(one) for objective in objectives)
    assert float(full - plain) == pytest.approx(2 * float(half - plain))
    assert half > plain
    assert nll_half == nll


def test_a_sentence_counts_the_same_in_any_batch() -> None:
    """So do batches whose gradients are accumulated."""
    net = model(tokenizer(), dropout=0.0).double()
    objective = Objective(net, 0.0, aligning=HEAD, alignment_weight=1.0)
    cut = tokenizer()
    ids = [(cut.encode_source([x])[0], cut.encode_target([y])[0]) for x, y in pairs(6)]
    ends = {"pad_id": 0, "start_id": 1, "end_id": 2}
    together = objective(collate([x for x, _ in ids], [y for _, y in ids], **ends))[0]
    alone = [objective(collate([x], [y], **ends))[0] for x, y in ids]
    assert together.item() == pytest.approx(sum(one.item() for one in alone), rel=1e-12)


def test_an_update_in_bf16_is_near_that_in_float32() -> None:
    def update(precision: Any) -> Any:
        options = TrainingConfig(
            schedule="inverse-sqrt", learning_rate=1e-3, warmup=1, precision=precision, alignment_weight=1.0
        )
        learner = Learner(model(tokenizer(), dropout=0.0, d_model=32, d_ff=64), options, ALONE)
        return learner.update([batch()], 1, seed=1)

    fine, coarse = update("fp32"), update("bf16")
    assert coarse.made
    assert coarse.loss == pytest.approx(fine.loss, rel=0.02)
    assert coarse.gradient_norm == pytest.approx(fine.gradient_norm, rel=0.1)


def test_without_a_weight_no_head_is_trained() -> None:
    assert TrainingConfig().aligning(TransformerConfig()) is None


@pytest.mark.parametrize(
    ("layers", "head"), [(6, AttentionOf(5, 1)), (2, AttentionOf(1, 1)), (1, AttentionOf(1, 1))]
)
def test_the_head_is_the_first_of_the_last_layer_but_one(layers: int, head: AttentionOf) -> None:
    for config in (TransformerConfig(decoder_layers=layers), SSRUConfig(decoder_layers=layers)):
        assert TrainingConfig(alignment_weight=0.05).aligning(config) == head


@pytest.mark.parametrize("config", [RecurrentConfig(attention="dot"), TransformerConfig(heads=1)])
def test_a_model_without_other_heads_is_refused(config: Any) -> None:
    with pytest.raises(ConfigError, match="2 heads or more"):
        TrainingConfig(alignment_weight=0.05).aligning(config)


def test_a_recipe_is_refused_before_training() -> None:
    with pytest.raises(ConfigError, match="2 heads or more"):
        resolve(preset="tiny", overrides=["model.heads=1", "training.alignment_weight=0.05"])


def test_the_model_folder_says_which_head_aligns(tmp_path: Path) -> None:
    options = ["tokenizer.vocab_size=400", "model.d_model=16", "model.d_ff=16", "training.max_updates=2"]
    options += ["training.warmup=1", "training.alignment_weight=0.1"]
    dragoman.train(toy.pairs(seed=3, count=60), output=tmp_path / "m", preset="tiny", overrides=options,
                   source_language="en", target_language="de")  # fmt: skip
    assert json.loads((tmp_path / "m" / "config.json").read_text())["alignment"] == "3.1"
    assert read_config(tmp_path / "m").alignment == AttentionOf(3, 1)
    translator = Translator.load(tmp_path / "m")
    assert translator.aligning == Aligning(AttentionOf(3, 1), reading=True)
    assert translator.bundle.alignment == AttentionOf(3, 1)
