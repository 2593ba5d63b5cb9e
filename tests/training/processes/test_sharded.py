"""Shared weights: the loss and the gradients are those of the whole model, whatever the architecture.

One process holds all rows here. `test_distributed.py` has several.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any, Literal

import pytest
import torch
import torch.distributed as dist
from tests.training.small_runs import ALONE, tokenizer
from torch import nn
from torch.func import functional_call

from dragoman.models.lora import add_lora, lora_weights
from dragoman.models.seq2seq import AnySeq2Seq, build_model
from dragoman.models.shapes import (
    Architecture,
    ConvolutionalConfig,
    RecurrentConfig,
    SSRUConfig,
    TransformerConfig,
)
from dragoman.training.data.batches import Batch, collate
from dragoman.training.options import TrainingConfig
from dragoman.training.processes.sharded import MuonOfShards, Shards, local_part, own_rows, whole_of
from dragoman.training.step.loss import Objective
from dragoman.training.step.optimizer import optimizers
from dragoman.training.step.precision import working_copies
from dragoman.training.step.update import seed_masks
from dragoman.translation.search.options import AttentionOf


@pytest.fixture(scope="module", autouse=True)
def group() -> Iterator[None]:
    """A group of this process alone."""
    dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    yield
    dist.destroy_process_group()


CUT = tokenizer()
SIZES: dict[str, Any] = {"source_vocab": CUT.source_size, "target_vocab": CUT.target_size, "d_model": 16}
LAYERS: dict[str, Any] = {"encoder_layers": 2, "decoder_layers": 2}
PAPER: dict[str, Any] = SIZES | LAYERS | {"d_ff": 24, "heads": 2}
SHAPES: dict[str, Architecture] = {
    "post-norm": TransformerConfig(**PAPER),
    "pre-norm": TransformerConfig(**PAPER, norm="pre"),
    "untied": TransformerConfig(**PAPER, tie="none"),
    "t5": TransformerConfig(**PAPER, positions="t5"),
    "rotary": TransformerConfig(**PAPER, positions="rotary"),
    "relative": TransformerConfig(**PAPER, positions="relative"),
    "rms, grouped": TransformerConfig(**PAPER, norm="pre", norm_kind="rms", kv_heads=1),
    "ssru": SSRUConfig(**PAPER),
    "recurrent": RecurrentConfig(**SIZES),
    "convolutional": ConvolutionalConfig(**SIZES),
}


def batch() -> Batch:
    return collate(
        [[5, 6, 7], [4]], [[5, 6], [4, 7, 9]], pad_id=CUT.pad_id, start_id=CUT.start_id, end_id=CUT.end_id
    )


def model_of(shape: Architecture) -> AnySeq2Seq:
    torch.manual_seed(3)
    return build_model(shape)


def gradients(model: AnySeq2Seq) -> dict[str, torch.Tensor]:
    return {name: whole_of(p.grad) for name, p in model.named_parameters() if p.grad is not None}


@pytest.mark.parametrize("precision", ["fp32", "bf16"])
@pytest.mark.parametrize("name", SHAPES)
def test_loss_and_gradients_are_those_of_the_whole_model(name: str, precision: str) -> None:
    plain = Objective(model_of(SHAPES[name]), 0.1, 0.5)
    shared = Objective(model_of(SHAPES[name]), 0.1, 0.5)
    shards = Shards(shared, ALONE, "bf16" if precision == "bf16" else "fp32")
    seed_masks(1, 1, 0)
    sums = (
        plain(batch()) if precision == "fp32" else functional_call(plain, working_copies(plain), (batch(),))
    )
    sums[0].backward()
    seed_masks(1, 1, 0)
    theirs = shards(batch())
    theirs[0].backward()

    close = {"rtol": 1e-5, "atol": 1e-6} if precision == "fp32" else {"rtol": 0.05, "atol": 0.05}
    torch.testing.assert_close(torch.stack(theirs), torch.stack(sums), **close)
    ours, theirs_ = gradients(plain.model), gradients(shards.model)
    assert ours.keys() == theirs_.keys()
    for key, gradient in ours.items():
        assert theirs_[key].dtype == gradient.dtype == torch.float32
        torch.testing.assert_close(theirs_[key], gradient, **close)


@pytest.mark.parametrize("precision", ["fp32", "bf16"])
def test_a_head_that_learns_to_align_gets_its_gradient(precision: Literal["fp32", "bf16"]) -> None:
    """Its loss reads weights of attention when the layer has long computed."""
    options: dict[str, Any] = {"aligning": AttentionOf(1, head=1), "alignment_weight": 0.5}
    plain, shared = (Objective(model_of(SHAPES["pre-norm"]).eval(), 0.1, **options) for _ in range(2))
    shards = Shards(shared, ALONE, precision)
    shards.model.eval()
    for objective in (plain, shards):
        objective(batch())[0].backward()

    close = {"rtol": 1e-5, "atol": 1e-6} if precision == "fp32" else {"rtol": 0.1, "atol": 0.1}
    for key, gradient in gradients(plain.model).items():
        torch.testing.assert_close(gradients(shards.model)[key], gradient, **close)


def test_the_model_is_empty_but_for_a_while() -> None:
    objective = Objective(model_of(SHAPES["pre-norm"]), 0.1)
    before = {name: p.detach().clone() for name, p in objective.model.named_parameters()}
    shards = Shards(objective, ALONE, "fp32")

    assert all(p.numel() == 0 for _, p in objective.model.named_parameters())
    with shards.whole():
        assert all(torch.equal(p, before[name]) for name, p in objective.model.named_parameters())
        assert objective.model.logits.weight is objective.model.target_embedding.weight
        kept = objective.model.logits.weight.detach()
    assert all(p.numel() == 0 for _, p in objective.model.named_parameters())
    assert torch.equal(
        kept, before["target_embedding.weight"]
    )  # as a checkpoint keeps it while it is written


def test_frozen_weights_stay_without_gradients() -> None:
    """In tuning, adapters learn and all other weights are frozen."""
    plain, shared = (Objective(model_of(SHAPES["pre-norm"]).eval(), 0.1) for _ in range(2))
    for objective in (plain, shared):
        torch.manual_seed(4)
        add_lora(objective.model, rank=2, alpha=4.0)
        for parameter in lora_weights(objective.model).values():
            nn.init.normal_(parameter, std=0.1)  # one of each two is zeros at first
    shards = Shards(shared, ALONE, "fp32")
    shards.model.eval()
    for objective in (plain, shards):
        objective(batch())[0].backward()

    ours, theirs = gradients(plain.model), gradients(shards.model)
    assert 0 < len(ours) < len(list(plain.model.parameters()))
    assert ours.keys() == theirs.keys()
    for key, gradient in ours.items():
        torch.testing.assert_close(theirs[key], gradient, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("most", [0.1, 1e9])
def test_gradients_are_clipped_as_by_pytorch(most: float) -> None:
    plain, shared = (Objective(model_of(SHAPES["pre-norm"]).eval(), 0.1) for _ in range(2))
    shards = Shards(shared, ALONE, "fp32")
    shards.model.eval()
    for objective in (plain, shards):
        objective(batch())[0].backward()

    norm = nn.utils.clip_grad_norm_(plain.model.parameters(), most)
    assert shards.clip(shards.model.parameters(), most) == pytest.approx(float(norm), rel=1e-6)
    for key, gradient in gradients(plain.model).items():
        torch.testing.assert_close(gradients(shards.model)[key], gradient, rtol=1e-5, atol=1e-7)


def test_muon_of_shards_is_muon() -> None:
    config = TrainingConfig(optimizer="muon", weight_decay=0.1)
    plain, shared = (model_of(SHAPES["pre-norm"]) for _ in range(2))
    ours, theirs = optimizers(plain, config), optimizers(shared, config, muon=MuonOfShards)
    assert [type(optimizer) for optimizer in theirs] == [MuonOfShards, torch.optim.AdamW]
    generator = torch.Generator().manual_seed(1)
    for _ in range(3):
        for one, other in zip(plain.parameters(), shared.parameters(), strict=True):
            one.grad = torch.randn(one.shape, generator=generator)
            other.grad = one.grad.clone()
        for optimizer in (*ours, *theirs):
            optimizer.param_groups[0]["lr"] = 0.01
            optimizer.step()

    for one, other in zip(plain.parameters(), shared.parameters(), strict=True):
        torch.testing.assert_close(other, one, rtol=1e-5, atol=1e-7)


def test_the_rows_of_one_process_are_all() -> None:
    objective = Objective(copy.deepcopy(model_of(SHAPES["pre-norm"])), 0.1)
    for parameter in Shards(objective, ALONE, "fp32").model.parameters():
        assert own_rows(parameter.data) == range(len(parameter))  # type: ignore[arg-type]
        assert local_part(parameter.data).shape == parameter.shape
