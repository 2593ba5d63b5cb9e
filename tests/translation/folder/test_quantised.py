"""What is stored as int8, and that matrices and scales which do not belong together are refused."""

from __future__ import annotations

from typing import get_args

import pytest
from torch import nn

from dragoman.base.errors import ModelError
from dragoman.models.seq2seq import build_model
from dragoman.models.shapes import AnyPositions, SSRUConfig, TransformerConfig
from dragoman.translation.folder.header import Outline
from dragoman.translation.folder.quantised import (
    bytes_in_memory,
    dequantised,
    holds_int8,
    is_quantised,
    scale_faults,
)

MATRIX = Outline(shape=(4, 3), dtype="int8")
SCALE = Outline(shape=(4,), dtype="float32")
FLOAT = Outline(shape=(4, 3), dtype="float32")
WHOLE = {"a": MATRIX, "a.scale": SCALE}
MULTIPLIER = "a.input_multiplier"


@pytest.mark.parametrize("tie", ["all", "none"])
@pytest.mark.parametrize("positions", get_args(AnyPositions))
@pytest.mark.parametrize("kind", [TransformerConfig, SSRUConfig])
def test_every_linear_layer_and_the_embeddings_of_words_are_stored_as_int8(
    kind: type[TransformerConfig] | type[SSRUConfig], positions: AnyPositions, tie: str
) -> None:
    shape = {"d_model": 8, "d_ff": 12, "heads": 2, "encoder_layers": 1, "decoder_layers": 1}
    options = {"attention_bias": True, "output_bias": True, "norm": "pre", "activation": "swiglu"}
    model = build_model(
        kind(source_vocab=9, target_vocab=9, positions=positions, tie=tie, **shape, **options)  # type: ignore[arg-type]
    )
    assert isinstance(model, nn.Module)
    of_positions = {id(p) for name, p in model.named_parameters() if "positions" in name}
    matrices = {
        id(module.weight)
        for module in model.modules()
        if isinstance(module, nn.Linear | nn.Embedding) and id(module.weight) not in of_positions
    }

    for name, parameter in model.named_parameters():
        assert is_quantised(name) == (id(parameter) in matrices), name


def test_a_model_has_the_matrices_without_their_scales() -> None:
    header = {**WHOLE, "b": FLOAT}

    assert dequantised(header, "here") == {"a": FLOAT, "b": FLOAT}
    for blocks in (1, 2, 4):
        multipliers = {MULTIPLIER: Outline(shape=(blocks,), dtype="float32")}
        assert dequantised(header | multipliers, "here") == {"a": FLOAT, "b": FLOAT}
    assert holds_int8(header)
    assert not holds_int8({"b": FLOAT})


@pytest.mark.parametrize(
    ("header", "fault"),
    [
        ({"a": MATRIX}, "a is int8 without a.scale"),
        ({"a.scale": SCALE}, "a.scale is a scale without an int8 matrix"),
        ({"a": FLOAT, "a.scale": SCALE}, "a.scale is a scale without an int8 matrix"),
        (
            {"a": MATRIX, "a.scale": Outline(shape=(3,), dtype="float32")},
            "a.scale is float32 of shape (3,), not float32 of shape (4,)",
        ),
        (
            {"a": MATRIX, "a.scale": Outline(shape=(4,), dtype="int8")},
            "a.scale is int8 of shape (4,), not float32 of shape (4,)",
        ),
        (
            {"a": Outline(shape=(4,), dtype="int8"), "a.scale": SCALE},
            "a is int8 of shape (4,), not a matrix",
        ),
        ({MULTIPLIER: SCALE}, f"{MULTIPLIER} is a multiplier without an int8 matrix"),
        ({"a": FLOAT, MULTIPLIER: SCALE}, f"{MULTIPLIER} is a multiplier without an int8 matrix"),
        *(
            (
                WHOLE | {MULTIPLIER: Outline(shape=shape, dtype=dtype)},
                f"{MULTIPLIER} is {dtype} of shape {shape}, not float32 of a length that divides 4",
            )
            for shape, dtype in (
                ((3,), "float32"),
                ((0,), "float32"),
                ((), "float32"),
                ((1, 1), "float32"),
                ((8,), "float32"),
                ((1,), "float64"),
                ((1,), "int8"),
            )
        ),
        (
            {"a": Outline(shape=(), dtype="int8"), MULTIPLIER: SCALE},
            "a is int8 of shape (), not a matrix",
        ),
    ],
)
def test_matrices_and_scales_that_do_not_belong_together_are_refused(
    header: dict[str, Outline], fault: str
) -> None:
    assert fault in scale_faults(header)
    with pytest.raises(ModelError) as caught:
        dequantised(header, "here")
    assert str(caught.value).startswith("here: ")
    assert fault in str(caught.value)
    assert caught.value.hint


def test_the_memory_of_a_type() -> None:
    float32 = {"logits.weight": FLOAT, "norm.weight": SCALE}
    quantised = {"logits.weight": MATRIX, "logits.weight.scale": SCALE, "norm.weight": SCALE}

    fixed = quantised | {"logits.weight.input_multiplier": Outline(shape=(1,), dtype="float32")}

    for header in (float32, quantised, fixed):
        assert bytes_in_memory(header, "float32") == 4 * 12 + 4 * 4
        assert bytes_in_memory(header, "bfloat16") == 2 * 12 + 4 * 4
        assert bytes_in_memory(header, "int8") == 12 + 4 * 4 + 4 * 4


def test_all_faults_are_listed() -> None:
    assert len(scale_faults({"a": MATRIX, "b": MATRIX, "c.scale": SCALE})) == 3
