"""Multipliers of inputs, against fake quantisation in PyTorch; and what is refused."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import save_file
from tests.translation.native.models import answers_of, lines, native, random_model, shape
from tests.translation.native.page import trace
from tests.translation.native.test_adapters import SCALE, adapted, probabilities, with_adapter
from torch import Tensor, nn

from dragoman.base.errors import ModelError
from dragoman.models.folder.merge import merged_matrices
from dragoman.models.folder.weights import dequantise, put_weights, quantise, read_weights, weights_of
from dragoman.models.lora import lora_weights
from dragoman.models.search.engine import PyTorchEngine
from dragoman.models.seq2seq import AnySeq2Seq
from dragoman.translation.folder.quantised import INPUT_MULTIPLIER
from dragoman.translation.native import build
from dragoman.translation.native.native import NativeEngine
from dragoman.translation.native.weights import map_weights
from dragoman.translation.search.engine import Request
from dragoman.translation.search.options import Beam

pytestmark = pytest.mark.skipif(build.unavailable() is not None, reason="no C++ compiler")

LIST = [1, 2, *range(5, 50)]
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

    modules = {name: one for name, one in model.named_modules() if isinstance(one, nn.Linear)}  # type: ignore[attr-defined]
    handles = [one.register_forward_pre_hook(hook) for one in modules.values()]
    yield
    for handle in handles:
        handle.remove()


def requests(count: int = 50) -> list[Request]:
    """Every other one with a shortlist."""
    return [
        Request(source=one, how=Beam(size=1), max_tokens=len(one) + 8, shortlist=LIST if number % 2 else None)
        for number, one in enumerate(lines(count))
    ]


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
    return {
        name: 127 / share / torch.tensor(most) * (1.1 if ".1." in name else 1)  # no layer has that of another
        for name, most in greatest.items()
    }


def stored(model: AnySeq2Seq, multipliers: dict[str, Tensor]) -> dict[str, Tensor]:
    added = {name + INPUT_MULTIPLIER: value for name, value in multipliers.items()}
    return quantise(weights_of(model)) | added


def opened(model: AnySeq2Seq, weights: dict[str, Tensor], folder: Path, dtype: str = "int8") -> NativeEngine:
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
        pairs = [(one.source, best[0].tokens) for one, best in zip(requests(), wanted, strict=True)]
        expected = probabilities(theirs, pairs)
    got = answers_of(ours, requests())
    same = [one[0].tokens == other[0].tokens for one, other in zip(got, wanted, strict=True)]
    assert sum(same) >= 0.95 * len(same)  # another last bit of a sum may round a number the other way
    apart, others = (
        sum(abs(one - other) for one, other in zip(probabilities(each, pairs), expected, strict=True))
        for each in (ours, free)
    )
    assert apart < 0.01 * len(expected)
    assert apart < 0.05 * others


@pytest.fixture(scope="module")
def model() -> AnySeq2Seq:
    return random_model(shape(d_model=64))


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "int8"])
def test_only_int8_multiplies(model: AnySeq2Seq, dtype: str, tmp_path: Path) -> None:
    fixed = opened(model, stored(model, calibrated(model, 0.7)), tmp_path, dtype)
    free = opened(model, quantise(weights_of(model)), tmp_path, dtype)

    assert (answers_of(fixed, requests()) == answers_of(free, requests())) == (dtype != "int8")


def test_equal_blocks_are_as_one(model: AnySeq2Seq, tmp_path: Path) -> None:
    one, three = (stored(model, {SELF: torch.full((blocks,), 20.0)}) for blocks in (1, 3))

    assert answers_of(opened(model, one, tmp_path), requests(9)) == answers_of(
        opened(model, three, tmp_path), requests(9)
    )


@pytest.mark.parametrize(("name", "values"), [(SELF, [20.0, 20.0, 21.0]), (CROSS, [20.0, 30.0, 31.0])])
def test_blocks_of_one_product_have_one_multiplier(
    model: AnySeq2Seq, name: str, values: list[float], tmp_path: Path
) -> None:
    weights = stored(model, {name: torch.tensor(values)})

    with pytest.raises(ModelError, match=f"{name}.input_multiplier differs between rows") as caught:
        opened(model, weights, tmp_path)

    assert caught.value.hint
    opened(model, weights, tmp_path, "float32")


@pytest.mark.parametrize("value", [math.nan, 0.0, -1.0, math.inf, -math.inf, 1e-45])
@pytest.mark.parametrize("place", [0, 2])
def test_impossible_values(model: AnySeq2Seq, place: int, value: float, tmp_path: Path) -> None:
    multiplier = torch.full((3,), 20.0)
    multiplier[place] = value

    with pytest.raises(ModelError, match=f"{CROSS}.input_multiplier is not positive and finite") as caught:
        opened(model, stored(model, {CROSS: multiplier}), tmp_path)

    assert caught.value.hint


@pytest.mark.parametrize(
    ("name", "multiplier", "fault"),
    [
        (CROSS, torch.ones(5), r"is float32 of shape \(5,\), not float32 of a length that divides 192"),
        (CROSS, torch.ones(0), "is float32 of shape"),
        (CROSS, torch.ones(()), "is float32 of shape"),
        (CROSS, torch.ones(1, 3), "is float32 of shape"),
        (CROSS, torch.ones(3).double(), "is float64 of shape"),
        (CROSS, torch.ones(3).to(torch.int8), "is int8 of shape"),
        ("encoder.0.attention_residual.norm.weight", torch.ones(1), "without an int8 matrix"),
        ("other", torch.ones(1), "without an int8 matrix"),
    ],
)
def test_multipliers_that_belong_to_no_matrix(
    model: AnySeq2Seq, name: str, multiplier: Tensor, fault: str, tmp_path: Path
) -> None:
    with pytest.raises(ModelError, match=f"{name}.input_multiplier .*{fault}") as caught:
        opened(model, stored(model, {name: multiplier}), tmp_path)

    assert caught.value.hint


def test_layers_with_an_adapter_have_no_multiplier(model: AnySeq2Seq, tmp_path: Path) -> None:
    """Its matrix was made in float32: only the layers of the base multiply as their file says."""
    other, weights = adapted(model, on=("feed_forward",)), stored(model, calibrated(model, 0.7))

    ours = with_adapter(opened(model, weights, tmp_path), other)

    floats = read_weights(tmp_path / "model.safetensors")
    merged = merged_matrices(floats, lora_weights(other), SCALE)
    assert merged
    for name, matrix in merged.items():
        del weights[name + INPUT_MULTIPLIER], weights[name + ".scale"]
        weights[name] = matrix
    mixed = opened(model, weights, tmp_path)
    assert answers_of(ours, requests()) == answers_of(mixed, requests())


def test_a_trace_multiplies_as_a_translation_does(model: AnySeq2Seq, tmp_path: Path) -> None:
    engine = opened(model, stored(model, calibrated(model, 0.7)), tmp_path)
    source, target = lines(1)[0], [7, 9, 8, 30]

    logits = torch.from_numpy(trace(engine, source, target)["logits"])

    expected = probabilities(engine, [(source, target)])
    got = logits.log_softmax(-1)[range(5), [*target, model.config.end_id]].tolist()
    assert got == pytest.approx(expected, abs=0.1)  # its keys and values have float32
