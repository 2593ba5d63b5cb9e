"""bf16 on copies of float32 weights: which are copied, and how close the result comes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import torch
from tests.training.small_runs import model, pairs, tokenizer
from torch import nn
from torch.func import functional_call

from dragoman.training.data.batches import Batch, collate
from dragoman.training.step.loss import Objective
from dragoman.training.step.precision import precision_for, send_to_onednn, working_copies

CPU = torch.device("cpu")


def batch() -> Batch:
    cut = tokenizer()
    source, target = zip(*pairs(), strict=True)
    return collate(cut.encode_source(source), cut.encode_target(target), pad_id=0, start_id=1, end_id=2)


def objective(tie: str = "all") -> Objective:
    return Objective(model(tokenizer(), dropout=0.0, d_model=32, d_ff=64, tie=tie), 0.1)


@pytest.mark.parametrize("precision", ["fp32", "bf16"])
def test_what_is_asked_for_is_done(precision: str) -> None:
    assert precision_for(precision, CPU) == precision  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("capabilities", "chosen"),
    [
        ({}, "fp32"),
        ({"avx512_f": True, "avx512_bf16": False, "amx_bf16": False}, "fp32"),
        ({"avx512_bf16": True}, "bf16"),
        ({"amx_bf16": True}, "bf16"),
    ],
)
def test_auto_is_what_the_processor_multiplies(
    capabilities: dict[str, bool], chosen: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(torch.cpu, "get_capabilities", lambda: capabilities)

    assert precision_for("auto", CPU) == chosen


@pytest.mark.parametrize(("native", "chosen"), [(True, "bf16"), (False, "fp32")])
def test_a_gpu_must_not_emulate_bf16(native: bool, chosen: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def supported(including_emulation: bool = True) -> bool:
        return native or including_emulation

    monkeypatch.setattr(torch.cuda, "is_bf16_supported", supported)

    assert precision_for("auto", torch.device("cuda")) == chosen


@pytest.mark.parametrize("tie", ["all", "decoder", "none"])
def test_all_but_the_embeddings_are_copied(tie: str) -> None:
    parts = objective(tie)
    embeddings = {id(part.weight) for part in parts.modules() if isinstance(part, nn.Embedding)}

    copies = working_copies(parts)

    assert copies.keys() == dict(parts.named_parameters()).keys()
    for name, parameter in parts.named_parameters():
        if id(parameter) in embeddings:
            assert copies[name] is parameter
        else:
            assert copies[name].dtype == torch.bfloat16
            assert parameter.dtype == torch.float32


@pytest.mark.parametrize("tie", ["all", "decoder", "none"])
def test_loss_and_gradients_come_close_to_float32(tie: str) -> None:
    parts, examples = objective(tie), batch()
    parameters = list(parts.parameters())

    loss, nll = parts(examples)
    wanted = torch.autograd.grad(loss, parameters)
    coarse_loss, coarse_nll = functional_call(parts, working_copies(parts), (examples,))
    gradients = torch.autograd.grad(coarse_loss, parameters)

    assert float(coarse_loss.detach()) == pytest.approx(float(loss.detach()), rel=0.01)
    assert float(coarse_nll.detach()) == pytest.approx(float(nll.detach()), rel=0.01)
    assert not torch.equal(coarse_loss, loss)  # it was bf16 indeed
    for gradient, w in zip(gradients, wanted, strict=True):
        assert gradient.dtype == torch.float32
        assert float((gradient - w).norm() / w.norm()) < 0.05


def test_gradients_add_up_in_float32() -> None:
    """A bf16 sum of many small terms would stand still."""
    parts, examples = objective(), batch()
    weight = dict(parts.named_parameters())["model.encoder.0.feed_forward.inner.weight"]
    functional_call(parts, working_copies(parts), (examples,))[0].backward()
    assert weight.grad is not None
    once = weight.grad.clone()

    for _ in range(2):
        functional_call(parts, working_copies(parts), (examples,))[0].backward()

    torch.testing.assert_close(weight.grad, 3 * once, rtol=1e-6, atol=1e-9)


def test_the_model_itself_is_left_as_it_was() -> None:
    parts, examples = objective(), batch()
    before = {name: parameter.clone() for name, parameter in parts.named_parameters()}

    functional_call(parts, working_copies(parts), (examples,))

    for name, parameter in parts.named_parameters():
        assert parameter.dtype == torch.float32
        assert torch.equal(parameter, before[name])
    assert parts(examples)[0].dtype == torch.float32


@pytest.fixture
def products() -> Iterator[Any]:
    matmul = torch.backends.mkldnn.matmul
    before = matmul.fp32_precision
    yield matmul
    matmul.fp32_precision = before


def test_float32_products_stay_float32(products: Any) -> None:
    """Whoever computes them afterwards: against float64, where operands rounded to bf16 are off by 0.1."""
    send_to_onednn()
    a, b = torch.randn(300, 700), torch.randn(700, 500)

    assert float((a @ b - a.double() @ b.double()).abs().max()) < 1e-3


def test_a_processor_that_rounds_is_left_as_it_was(products: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    product = torch.Tensor.__matmul__

    def rounding(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        if a.dtype == torch.float32 and products.fp32_precision == "bf16":
            return product(a.bfloat16(), b.bfloat16()).float()
        return product(a, b)

    monkeypatch.setattr(torch.Tensor, "__matmul__", rounding)
    before = products.fp32_precision

    assert not send_to_onednn()
    assert products.fp32_precision == before
