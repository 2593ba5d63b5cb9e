"""The sinusoidal table against the paper's formula in plain Python."""

from __future__ import annotations

import math

import pytest
import torch

from dragoman.models.positions import Layout, SinusoidalPositions, sinusoidal

LAYOUTS: list[Layout] = ["sinusoidal", "sinusoidal-halves"]


def paper(position: int, column: int, width: int) -> float:
    """PE(pos, 2i) = sin(pos / 10000^(2i / d_model)), PE(pos, 2i + 1) = cos of the same."""
    angle = position / 10000 ** (2 * (column // 2) / width)
    return math.sin(angle) if column % 2 == 0 else math.cos(angle)


@pytest.mark.parametrize("width", [2, 6, 7, 16])
def test_the_table_is_the_paper_s(width: int) -> None:
    table = sinusoidal(300, width)

    for position in (0, 1, 2, 17, 255, 256, 299):
        for column in range(width):
            assert float(table[position, column]) == pytest.approx(paper(position, column, width), abs=1e-7)


@pytest.mark.parametrize("width", [2, 6, 7, 16])
def test_the_halves_are_the_paper_s_columns_in_another_order(width: int) -> None:
    order = [*range(0, width, 2), *range(1, width, 2)]  # all sines, then all cosines

    assert torch.equal(sinusoidal(300, width, "sinusoidal-halves"), sinusoidal(300, width)[:, order])


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_table_may_begin_anywhere(layout: Layout) -> None:
    assert torch.equal(sinusoidal(5, 8, layout, start=1000), sinusoidal(1005, 8, layout)[1000:])


def test_far_positions_are_exact() -> None:
    """Angles in float32 would be off by 1e-3 there."""
    table = sinusoidal(1, 4, start=100_000)

    assert [float(x) for x in table[0]] == pytest.approx([paper(100_000, c, 4) for c in range(4)], abs=1e-7)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_positions_are_added_from_where_they_start(layout: Layout) -> None:
    positions = SinusoidalPositions(8, layout)
    x_BTE = torch.randn(2, 4, 8)

    assert torch.equal(positions(x_BTE), x_BTE + sinusoidal(4, 8, layout))
    assert torch.equal(positions(x_BTE, start=9), x_BTE + sinusoidal(4, 8, layout, start=9))


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("length", [256, 257, 700])
def test_there_is_no_greatest_length(length: int, layout: Layout) -> None:
    positions = SinusoidalPositions(8, layout)

    assert torch.equal(positions(torch.zeros(1, length, 8))[0], sinusoidal(length, 8, layout))
    assert torch.equal(positions(torch.zeros(1, 1, 8), start=3000)[0], sinusoidal(1, 8, layout, start=3000))
    assert torch.equal(positions(torch.zeros(1, 5, 8))[0], sinusoidal(5, 8, layout))


def test_positions_follow_the_input_s_precision() -> None:
    positions = SinusoidalPositions(8, "sinusoidal")

    assert positions(torch.zeros(1, 3, 8, dtype=torch.bfloat16)).dtype == torch.bfloat16
    assert positions(torch.zeros(1, 300, 8, dtype=torch.float64)).dtype == torch.float64


def test_a_table_that_grew_in_validation_serves_in_training() -> None:
    positions = SinusoidalPositions(4, "sinusoidal")
    with torch.inference_mode():
        positions(torch.zeros(1, 300, 4))
    x_BTE = torch.zeros(1, 300, 4, requires_grad=True)

    (positions(x_BTE) ** 2).sum().backward()

    assert x_BTE.grad is not None
    torch.testing.assert_close(x_BTE.grad[0], 2 * sinusoidal(300, 4))


def test_the_table_is_no_weight() -> None:
    positions = SinusoidalPositions(8, "sinusoidal")

    assert not positions.state_dict()
    assert not list(positions.parameters())
