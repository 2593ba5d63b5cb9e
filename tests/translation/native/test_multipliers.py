"""Multipliers of inputs, against fake quantisation in PyTorch; and what is refused."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import save_file
from tests.translation.native.models import answers_of, lines, native, random_model, shape
from tests.translation.native.test_adapters import SCALE, adapted, probabilities, with_adapter
from torch import Tensor, nn

from dragoman.base.errors import ModelError
from dragoman.models.folder.merge import merged_matrices
from dragoman.models.folder.weights import dequantise, put_weights, quantise, read_weights, weights_of
from dragoman.models.lora import lora_weights
from dragoman.models.search.engine import PyTorchEngine
from dragoman.models.seq2seq import AnySeq2Seq
from dragoman.translation.folder.quantised import multiplier_name
from dragoman.translation.native import build
from dragoman.translation.native.message import Pair
from dragoman.translation.native.native import NativeEngine
from dragoman.translation.native.weights import map_weights
from dragoman.translation.search.engine import Request
from dragoman.translation.search.options import Beam

pytestmark = pytest.mark.skipif(build.unavailable() is not None, reason="no C++ compiler")

CROSS = "decoder.0.cross_attention.project.weight"
SELF = "encoder.0.attention.project.weight"
SHAPES: dict[str, dict[str, Any]] = {
    "transformer": {"d_model": 64},
    "ssru": {"d_model": 64, "ssru": True, "tie": "none"},
    "pre": {"d_model": 48, "norm": "pre", "output_bias": True, "tie": "decoder"},
}


@contextmanager
def inputs(model: AnySeq2Seq, change: Callable[[str, int, Tensor], Tensor]) -> Iterator[None]:
    """Change the input of each linear layer by the name of its matrix and its first block."""
    names = {id(weight): name for name, weight in model.named_parameters()}

    def hook(module: Any, arguments: Any) -> Any:
        x, *blocks = arguments
        return change(names[id(module.weight)], blocks[0] if blocks else 0, x), *blocks

    modules = [one for one in model.modules() if isinstance(one, nn.Linear)]  # type: ignore[attr-defined]
    handles = [one.register_forward_pre_hook(hook) for one in modules]
    yield
    for handle in handles:
        handle.remove()


def requests(count: int = 50) -> list[Request]:
    return [Request(source=one, how=Beam(size=1), max_tokens=len(one) + 8) for one in lines(count)]


def calibrated(model: AnySeq2Seq, share: float) -> dict[str, Tensor]:
    """Multipliers that clip what is beyond a share of the greatest input."""
    greatest: dict[str, list[float]] = {}

    def see(name: str, block: int, x: Tensor) -> Tensor:
        blocks = greatest.setdefault(name, [0.0] * (3 if "cross_attention.project" in name else 1))
        for one in (1, 2) if block else (0,):  # keys and values have the same input
            blocks[one] = max(blocks[one], float(x.abs().max()))
        return x

    with inputs(model, see):
        answers_of(PyTorchEngine(model), requests())
    return {name: 127 / share / torch.tensor(most) for name, most in greatest.items()}


def stored(model: AnySeq2Seq, multipliers: dict[str, Tensor]) -> dict[str, Tensor]:
    added = {multiplier_name(name): value for name, value in multipliers.items()}
    return quantise(weights_of(model)) | added


def opened(
    model: AnySeq2Seq, weights: dict[str, Tensor], folder: Path, dtype: str = "int8"
) -> NativeEngine:
    save_file(weights, path := folder / "model.safetensors")
    return NativeEngine(model.config, map_weights(path), dtype=dtype)


@pytest.mark.parametrize("options", SHAPES.values(), ids=SHAPES)
def test_the_engine_is_pytorch_with_fake_quantisation(options: dict[str, Any], tmp_path: Path) -> None:
    model = random_model(shape(**options))
    multipliers = calibrated(model, 0.7)
    weights = stored(model, multipliers)
    put_weights(model, dequantise(weights, "here"), "here")

    def rounded(name: str, block: int, x: Tensor) -> Tensor:
        multiplier = multipliers[name][block]
        return (x * multiplier).round().clamp(-127, 127) / multiplier

    ours = opened(model, weights, tmp_path)
    free = native(model, "int8")
    with inputs(model, rounded):
        theirs = PyTorchEngine(model)
        wanted = answers_of(theirs, requests())
        pairs = [
            Pair(one.source, best[0].tokens, Beam(size=1), None)
            for one, best in zip(requests(), wanted, strict=True)
        ]
        expected = probabilities(theirs, pairs)
    got = answers_of(ours, requests())
    same = [one[0].tokens == other[0].tokens for one, other in zip(got, wanted, strict=True)]
    apart = [abs(one - other) for one, other in zip(probabilities(ours, pairs), expected, strict=True)]
    others = [abs(one - other) for one, other in zip(probabilities(free, pairs), expected, strict=True)]
    print(sum(same), sum(apart)/len(apart), max(apart), sum(others)/len(others), max(others))
    assert all(same)


