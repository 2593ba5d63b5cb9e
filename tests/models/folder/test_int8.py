"""Weights rounded with one scale a matrix, against numpy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from tests.training.small_runs import model, tokenizer

from dragoman.models.folder.int8 import int8_parts, round_to_int8, rounded_to_int8
from dragoman.models.folder.weights import weights_of
from dragoman.models.seq2seq import build_model
from dragoman.models.shapes import SSRUConfig

Floats = NDArray[np.float32]


def reference(matrix: Floats) -> tuple[NDArray[np.int8], np.float32]:
    """One matrix, by numpy, which rounds half to even."""
    scale = np.float32(127) / np.abs(matrix).max()
    return np.clip(np.rint(matrix * scale), -127, 127).astype(np.int8), scale


def test_each_part_has_its_own_scale() -> None:
    parts = (5, 3, 3)
    whole = np.random.default_rng(1).normal(size=(11, 7)).astype(np.float32)
    whole[5:8] *= 100

    numbers, scales = round_to_int8(torch.from_numpy(whole), parts)

    assert numbers.dtype == torch.int8
    for number, rows in enumerate(np.split(np.arange(11), np.cumsum(parts)[:-1])):
        wanted, scale = reference(whole[rows])
        assert scales[number].item() == scale
        assert (numbers.numpy()[rows] == wanted).all()


def test_ties_go_to_the_even_number() -> None:
    matrix = np.array([[127, 0.5, 1.5, 2.5, -0.5, -1.5, -2.5, 126.5]], np.float32)

    numbers, scales = round_to_int8(torch.from_numpy(matrix), (1,))

    assert scales.tolist() == [1]
    assert numbers.tolist() == [[127, 0, 2, 2, 0, -2, -2, 126]]
    assert numbers.tolist() == reference(matrix)[0].tolist()


def test_a_matrix_of_zeros() -> None:
    numbers, scales = round_to_int8(torch.zeros(4, 2), (2, 2))

    assert not numbers.any()
    assert scales.tolist() == [1, 1]


@pytest.mark.parametrize("tie", ["all", "none"])
def test_the_matrices_of_the_layers_and_the_embeddings(tie: Any) -> None:
    sizes = {"d_model": 8, "d_ff": 16, "heads": 2, "encoder_layers": 1, "decoder_layers": 1}
    net = build_model(SSRUConfig(source_vocab=9, target_vocab=9, tie=tie, positions="learned", **sizes))
    of_attention = {"project.weight": (8, 8, 8), "output.weight": (8,)}
    wanted = {"target_embedding.weight": (9,)}
    if tie == "none":
        wanted |= {"source_embedding.weight": (9,), "logits.weight": (9,)}
    for part in ("encoder.0.attention", "decoder.0.cross_attention"):
        wanted |= {f"{part}.{name}": rows for name, rows in of_attention.items()}
    wanted |= {f"decoder.0.attention.{name}.weight": (8,) for name in ("candidate", "forget")}
    for side in ("encoder", "decoder"):
        wanted |= {f"{side}.0.feed_forward.{name}.weight": (n,) for name, n in (("inner", 16), ("outer", 8))}

    assert int8_parts(net) == wanted
    assert all(sum(rows) == len(weights_of(net)[name]) for name, rows in wanted.items())


def test_within_the_block_the_model_has_rounded_weights_and_then_its_own() -> None:
    net = model(tokenizer())
    own = {name: weight.clone() for name, weight in weights_of(net).items()}
    addresses = {name: weight.data_ptr() for name, weight in weights_of(net).items()}

    with pytest.raises(KeyboardInterrupt), rounded_to_int8(net):
        assert net.logits.weight is net.target_embedding.weight
        for name, weight in weights_of(net).items():
            parts = int8_parts(net).get(name)
            if parts is None:
                assert torch.equal(weight, own[name])
                continue
            begin = 0
            for rows in parts:
                numbers, scale = reference(own[name][begin : begin + rows].numpy())
                np.testing.assert_allclose(weight[begin : begin + rows], numbers / scale, rtol=1e-6)
                begin += rows
        raise KeyboardInterrupt

    assert {name: weight.data_ptr() for name, weight in weights_of(net).items()} == addresses
    assert all(torch.equal(weight, own[name]) for name, weight in weights_of(net).items())
