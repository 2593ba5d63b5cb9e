"""Dropout: how often, by how much, and as a function of what."""

from __future__ import annotations

import math

import pytest
import torch

from dragoman.models.layers.dropout import Dropout, dropout, keep_mask

SIZE = 400_000


@pytest.mark.parametrize("p", [0.1, 0.25, 0.3, 0.5, 0.9])
def test_as_many_are_dropped_as_asked(p: float) -> None:
    torch.manual_seed(1)

    dropped = int((dropout(torch.ones(SIZE), p) == 0).sum())

    assert abs(dropped / SIZE - p) < 4 * math.sqrt(p * (1 - p) / SIZE) + 2**-17


@pytest.mark.parametrize("lane", range(4))
def test_each_of_the_four_numbers_in_a_word_drops_as_many(lane: int) -> None:
    torch.manual_seed(2)

    dropped = (~keep_mask(torch.Size([SIZE]), 0.2))[lane::4].double()

    assert abs(float(dropped.mean()) - 0.2) < 4 * math.sqrt(0.16 / (SIZE / 4))


@pytest.mark.parametrize("distance", [1, 2, 3, 4, 8])
def test_neighbours_are_dropped_independently(distance: int) -> None:
    torch.manual_seed(3)
    dropped = (~keep_mask(torch.Size([SIZE]), 0.3)).double()

    together = float((dropped[distance:] * dropped[:-distance]).mean())

    assert abs(together - 0.09) < 4 * math.sqrt(0.09 * 0.91 / SIZE) * 2


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("p", [0.1, 0.3, 0.5])
def test_what_is_kept_is_scaled_up(p: float, dtype: torch.dtype) -> None:
    x = torch.linspace(1, 2, 1000, dtype=dtype)

    out = dropout(x, p)

    rounded = round(p * 65536) / 65536
    torch.testing.assert_close(out[out != 0], x[out != 0] / (1 - rounded), rtol=1e-6, atol=0)
    assert rounded == pytest.approx(p, abs=2**-17)


def test_the_expectation_is_the_input_exactly() -> None:
    """The scale undoes the probability that was rounded, not the one that was asked for."""
    numbers = torch.arange(-32768, 32768)
    for p in (0.1, 0.123456, 1e-4, 0.999):
        share_kept = float((numbers >= round(p * 65536) - 32768).double().mean())
        torch.manual_seed(0)
        out = dropout(torch.ones(5000, dtype=torch.float64), p)
        assert float(out.max()) * share_kept == pytest.approx(1, rel=1e-12)


@pytest.mark.parametrize("p", [0.1, 0.3])
def test_bf16_keeps_its_precision(p: float) -> None:
    torch.manual_seed(0)
    x = torch.ones(1000, dtype=torch.bfloat16)

    out = dropout(x, p)

    assert out.dtype == torch.bfloat16
    assert float(out.max()) == pytest.approx(1 / (1 - p), rel=2**-8)


def test_the_same_seed_drops_the_same() -> None:
    x = torch.ones(1001)
    torch.manual_seed(7)
    first, second = dropout(x, 0.5), dropout(x, 0.5)
    torch.manual_seed(7)

    assert torch.equal(dropout(x, 0.5), first)
    assert not torch.equal(first, second)


@pytest.mark.parametrize("shape", [(), (1,), (3,), (0,), (2, 0), (5, 7, 3)])
def test_any_shape(shape: tuple[int, ...]) -> None:
    assert dropout(torch.ones(shape), 0.5).shape == shape


def test_nothing_is_dropped_at_zero() -> None:
    x = torch.randn(100)

    assert dropout(x, 0.0) is x


def test_a_probability_that_rounds_to_one_still_keeps_a_few() -> None:
    out = dropout(torch.ones(1000), 0.999999)

    assert bool(((out == 0) | (out == 65536)).all())


def test_gradients_flow_through_what_is_kept_only() -> None:
    x = torch.randn(1000, dtype=torch.float64, requires_grad=True)

    out = dropout(x, 0.25)
    out.sum().backward()

    assert x.grad is not None
    torch.testing.assert_close(x.grad, (out != 0) / 0.75, check_dtype=False)


def test_strided_inputs_are_dropped_alike() -> None:
    x = torch.ones(40, 50)
    torch.manual_seed(0)
    straight = dropout(x, 0.5)
    torch.manual_seed(0)

    assert torch.equal(dropout(x.T.contiguous().T, 0.5), straight)


def test_the_module_rests_in_evaluation() -> None:
    module, x = Dropout(0.5), torch.ones(1000)

    assert bool((module(x) == 0).any())
    assert module.eval()(x) is x
    assert "0.5" in repr(module)
