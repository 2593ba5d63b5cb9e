"""Tables of weight names: both directions, and every fault at once."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from dragoman.base.errors import ModelError
from dragoman.interop.name_table import NameTable, Row, linear

TABLE = NameTable(
    rows=[
        Row("project", ("q", "k", "v"), "transposed"),
        Row("bias", ("bq", "bk", "bv"), "row"),
        *linear("output", "out"),
    ],
    zeros={"absent": (2, 3)},
    ignored=lambda name: name.startswith("step"),
)
SHAPES = {"project": (6, 4), "bias": (6,), "output.weight": (4, 2), "output.bias": (4,)}


@pytest.fixture
def ours() -> dict[str, Tensor]:
    torch.manual_seed(1)
    return {name: torch.randn(shape) for name, shape in SHAPES.items()}


@pytest.fixture
def theirs(ours: dict[str, Tensor]) -> dict[str, Tensor]:
    return TABLE.to_theirs(ours)


def test_blocks_are_stored_apart_and_as_the_layout_says(
    ours: dict[str, Tensor], theirs: dict[str, Tensor]
) -> None:
    assert torch.equal(theirs["k"], ours["project"][2:4].T)
    assert theirs["k"].is_contiguous()
    assert torch.equal(theirs["bv"], ours["bias"][None, 4:6])
    assert torch.equal(theirs["absent"], torch.zeros(2, 3))


def test_there_and_back_is_the_same_to_the_bit(ours: dict[str, Tensor], theirs: dict[str, Tensor]) -> None:
    del theirs["absent"]
    theirs["step.number"] = torch.ones(1)
    back = TABLE.to_ours(theirs, SHAPES, "model")
    assert back.keys() == ours.keys()
    assert all(torch.equal(back[name], ours[name]) for name in ours)


def test_half_precision_becomes_float32(theirs: dict[str, Tensor]) -> None:
    del theirs["absent"]
    halves = {name: tensor.half() for name, tensor in theirs.items()}
    assert {tensor.dtype for tensor in TABLE.to_ours(halves, SHAPES, "model").values()} == {torch.float32}


def test_every_fault_is_listed(theirs: dict[str, Tensor]) -> None:
    del theirs["absent"], theirs["k"]
    theirs["q"] = theirs["q"].T.contiguous()
    theirs["bq"] = theirs["bq"].int()
    theirs["bv"][0, 1] = torch.nan
    theirs["more"] = torch.ones(2, 2)
    with pytest.raises(ModelError) as caught:
        TABLE.to_ours(theirs, SHAPES, "file.npz")
    assert str(caught.value).splitlines() == [
        "file.npz: 5 weights do not fit the configuration:",
        "  bq holds int32, not floating-point numbers",
        "  bv has numbers that are NaN or infinite",
        "  missing: k 4 x 2",
        "  q has shape 2 x 4, the configuration needs 4 x 2",
        "  unknown: more 2 x 2",
    ]
