"""RMSNorm against its formula, and where a model has it."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import nn

from dragoman.models.layers.norm import LayerNorm, RMSNorm, new_norm
from dragoman.models.seq2seq import build_model
from dragoman.models.shapes import TransformerConfig

SMALL = {
    "source_vocab": 9, "target_vocab": 9, "d_model": 12, "d_ff": 8, "heads": 2, "encoder_layers": 1,
    "decoder_layers": 1,
}  # fmt: skip


def test_rms_norm_is_its_formula() -> None:
    """Zhang and Sennrich 2019, eq. 4, in float64, with epsilon below the root."""
    norm = new_norm(TransformerConfig(**SMALL, norm_kind="rms", norm_epsilon=0.3)).double()
    rng = np.random.default_rng(1)
    x, gain = rng.normal(2, 3, (4, 5, 12)), rng.normal(size=12)
    norm.load_state_dict({"weight": torch.from_numpy(gain)})

    got = norm(torch.from_numpy(x))

    wanted = x / np.sqrt((x**2).sum(-1, keepdims=True) / 12 + 0.3) * gain
    np.testing.assert_allclose(got.detach(), wanted, rtol=1e-13)


@pytest.mark.parametrize(("placed", "count"), [("post", 5), ("pre", 7)])
def test_it_takes_every_place_of_layer_normalisation(placed: str, count: int) -> None:
    """Two in the encoder's layer, three in the decoder's, and the last two of a pre-norm model."""
    models = {
        kind: build_model(TransformerConfig(**SMALL, norm=placed, norm_kind=kind))
        for kind in ("layer", "rms")
    }

    for kind, theirs in (("layer", LayerNorm), ("rms", RMSNorm)):
        norms = [part for part in models[kind].modules() if isinstance(part, nn.LayerNorm | nn.RMSNorm)]
        assert [type(norm) for norm in norms] == [theirs] * count
    plain, rms = ({name for name, _ in models[kind].named_parameters()} for kind in ("layer", "rms"))
    assert plain - rms == {name for name in plain if name.endswith("norm.bias")}
