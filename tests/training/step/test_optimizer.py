"""Which optimizer has which weights, and what Muon does to a matrix."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import nn

from dragoman.models.seq2seq import build_model
from dragoman.models.shapes import TransformerConfig
from dragoman.training.options import TrainingConfig
from dragoman.training.processes.distributed import World
from dragoman.training.step import optimizer
from dragoman.training.step.optimizer import StackedMuon, optimizers


def model() -> nn.Module:
    torch.manual_seed(0)
    return build_model(
        TransformerConfig(
            source_vocab=11, target_vocab=11, d_model=8, d_ff=12, heads=2, encoder_layers=1, decoder_layers=1
        )
    )


def owned(each: torch.optim.Optimizer) -> set[int]:
    return {id(p) for group in each.param_groups for p in group["params"]}


def test_adam_has_them_all_by_default() -> None:
    net = model()

    (adam,) = optimizers(net, TrainingConfig())

    assert isinstance(adam, torch.optim.AdamW)
    assert owned(adam) == {id(p) for p in net.parameters()}


def test_muon_has_the_matrices_of_the_layers() -> None:
    net = model()

    muon, adam = optimizers(net, TrainingConfig(optimizer="muon"))

    names = {name for name, p in net.named_parameters() if id(p) in owned(muon)}
    assert isinstance(muon, torch.optim.Muon)
    assert owned(muon) | owned(adam) == {id(p) for p in net.parameters()}
    assert not owned(muon) & owned(adam)
    assert "encoder.0.attention.project.weight" in names
    assert "decoder.0.feed_forward.outer.weight" in names
    assert all(name.endswith("weight") and "embedding" not in name and "norm" not in name for name in names)


@pytest.mark.parametrize("optimizer", ["adam", "muon"])
def test_what_is_frozen_stays(optimizer: str) -> None:
    net = model()
    frozen = net.get_parameter("target_embedding.weight")
    frozen.requires_grad_(False)

    has = set().union(*(owned(each) for each in optimizers(net, TrainingConfig(optimizer=optimizer))))  # type: ignore[arg-type]

    assert id(frozen) not in has
    assert len(has) == len(list(net.parameters())) - 1


def test_muon_s_step_is_near_to_the_orthogonal_factor_of_the_gradient() -> None:
    """All singular values about 1, times 0.2 sqrt(the longer side) so that its size is Adam's."""
    layer = nn.Linear(6, 4)
    (muon, _) = optimizers(nn.Sequential(layer), TrainingConfig(optimizer="muon"))
    before = layer.weight.detach().clone()
    gradient = torch.randn(4, 6, generator=torch.Generator().manual_seed(1))
    muon.param_groups[0]["lr"] = 0.1

    layer.weight.grad = gradient.clone()
    muon.step()

    moved = (before - layer.weight.detach()) / (0.1 * 0.2 * 6**0.5)
    u, _, v = torch.linalg.svd(gradient, full_matrices=False)
    assert float((moved * (u @ v)).sum() / moved.norm() / (u @ v).norm()) > 0.97  # the same direction
    assert (
        torch.linalg.svdvals(moved).sub(1).abs().max() < 0.35
    )  # five steps of Newton and Schulz come so near


def test_matrices_of_a_shape_together_are_pytorch_s_muon(monkeypatch: pytest.MonkeyPatch) -> None:
    """Over three updates, with tall, wide and square matrices, and one without a gradient."""
    monkeypatch.setattr(optimizer, "multiplies_bf16", lambda _: True)  # PyTorch's is in bf16 everywhere
    generator = torch.Generator().manual_seed(1)
    shapes = [(24, 8), (8, 8), (8, 24), (24, 8), (8, 8), (5, 7)]
    first = [torch.randn(shape, generator=generator) for shape in shapes]
    ours, theirs = ([nn.Parameter(weight.clone()) for weight in first] for _ in range(2))
    options = {"lr": 0.01, "weight_decay": 0.1, "adjust_lr_fn": "match_rms_adamw"}
    stacked, single = StackedMuon(ours, **options), torch.optim.Muon(theirs, **options)

    for _ in range(3):
        for mine, other in list(zip(ours, theirs, strict=True))[:-1]:
            mine.grad = torch.randn(mine.shape, generator=generator)
            other.grad = mine.grad.clone()
        stacked.step()
        single.step()

    for mine, other, before in zip(ours, theirs, first, strict=True):
        torch.testing.assert_close(mine, other, rtol=1e-6, atol=1e-7)
        assert torch.equal(mine, before) == (mine is ours[-1])


@pytest.mark.parametrize(("native", "dtype"), [(True, torch.bfloat16), (False, torch.float32)])
def test_matrices_become_orthogonal_in_bf16_only_where_that_is_fast(
    native: bool, dtype: torch.dtype, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The singular values follow the polynomial of the Newton-Schulz iteration; the vectors stay."""
    monkeypatch.setattr(optimizer, "multiplies_bf16", lambda _: native)
    stack = torch.randn(3, 12, 5, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    a, b, c = coefficients = (3.4445, -4.7750, 2.0315)
    u, s, v = torch.linalg.svd(stack, full_matrices=False)
    s = s / stack.norm(dim=(1, 2))[:, None]
    for _ in range(5):
        s = a * s + b * s**3 + c * s**5

    ours = optimizer.orthogonal(stack.float(), {"ns_coefficients": coefficients, "ns_steps": 5, "eps": 1e-7})

    assert ours.dtype == dtype
    tolerance = 0.1 if native else 1e-4
    torch.testing.assert_close(ours.double(), u * s[:, None] @ v, rtol=0, atol=tolerance)


@pytest.mark.parametrize("size", [2, 3])
def test_processes_divide_the_matrices(size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """What they have is summed, so each matrix must come from one of them."""
    generator = torch.Generator().manual_seed(1)
    shapes = [(24, 8), (8, 8), (24, 8), (8, 8), (5, 7)]
    gradients = [torch.randn(shape, generator=generator) for shape in shapes]
    made: list[int] = []
    orthogonal = optimizer.orthogonal

    def counted(stack: torch.Tensor, *args: Any, **options: Any) -> torch.Tensor:
        made.append(len(stack))
        return orthogonal(stack, *args, **options)

    def moved(world: World | None) -> list[nn.Parameter]:
        parameters = [nn.Parameter(torch.zeros(shape)) for shape in shapes]
        for parameter, gradient in zip(parameters, gradients, strict=True):
            parameter.grad = gradient.clone()
        StackedMuon(parameters, world=world, lr=0.01, weight_decay=0.0).step()
        return parameters

    monkeypatch.setattr(optimizer, "orthogonal", counted)
    monkeypatch.setattr(World, "sum", lambda _, values: values)  # so that each process moves its own matrices
    whole = moved(None)
    each = [moved(World(rank, size, torch.device("cpu"))) for rank in range(size)]

    assert sum(made) == 2 * len(shapes)
    for matrix, *others in zip(whole, *each, strict=True):
        assert sum(bool(other.any()) for other in others) == 1
        torch.testing.assert_close(torch.stack([*others]).sum(0), matrix)
    assert all(any(bool(matrix.any()) for matrix in own) for own in each)


def test_an_adapter_of_matrices_alone_needs_no_adam() -> None:
    net = nn.ModuleDict({"up": nn.Linear(4, 3, bias=False)})
    (muon,) = optimizers(net, TrainingConfig(optimizer="muon"))  # type: ignore[arg-type]
    assert owned(muon) == {id(parameter) for parameter in net.parameters()}
