"""Convolutions against torch.nn.functional, and how far they see."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from dragoman.base.errors import ConfigError
from dragoman.models.convolutional import Convolution, Convolutional
from dragoman.models.shapes import ConvolutionalConfig

F64 = torch.float64
CONFIG = ConvolutionalConfig(
    source_vocab=9, target_vocab=9, d_model=6, encoder_layers=2, decoder_layers=2, dropout=0.0
)


def scrambled(module: nn.Module, seed: int = 3) -> Any:
    torch.manual_seed(seed)
    module.double()
    with torch.no_grad():
        for parameter in module.parameters():
            parameter += 0.1 * torch.randn_like(parameter)
    return module


def randn(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(*shape, dtype=F64, generator=torch.Generator().manual_seed(seed))


def close(got: Tensor, wanted: Tensor) -> None:
    torch.testing.assert_close(got, wanted, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("kernel", [1, 3, 5])
@pytest.mark.parametrize("layer", [0, 1, 2])
def test_a_layer_equals_conv1d_and_glu(kernel: int, layer: int) -> None:
    config = replace(CONFIG, kernel=kernel, dilated=True)
    own: Convolution = scrambled(Convolution(config, layer))
    x_BTE = randn(2, own.reach + 7, 6)
    # Our weight holds the window's vectors side by side; conv1d has the window last.
    weight = own.linear.weight.view(12, kernel, 6).transpose(1, 2)

    wanted = nn.functional.conv1d(
        x_BTE.transpose(1, 2), weight, own.linear.bias, dilation=kernel**layer
    ).transpose(1, 2)

    close(own(x_BTE), nn.functional.glu(wanted))


def test_the_weights_make_up_for_gates_and_dropout() -> None:
    """Section 3.5: gates are taken to quarter the variance, dropout is what is left of the sum's terms."""

    def variance(dropout: float) -> float:
        torch.manual_seed(0)
        layer = Convolution(replace(CONFIG, d_model=256, dropout=dropout), 0)
        with torch.no_grad():
            return float(layer(torch.randn(8, 64, 256)).var())

    assert 1.0 < variance(0.0) < 1.6  # 4 E[sigmoid(b)^2] for b of variance 4
    assert variance(0.3) == pytest.approx(variance(0.0), rel=0.1)


def reach_of(model: Convolutional, length: int) -> list[int]:
    """Which source positions the encoder's state in the middle depends on."""
    source_BS = torch.randint(3, 9, (1, length))
    length_B = torch.tensor([length])
    states = model.encode(source_BS, length_B).states_BSE[0, length // 2]
    seen = []
    for s in range(length):
        other_BS = source_BS.clone()
        other_BS[0, s] = (source_BS[0, s] - 2) % 6 + 3
        if not torch.equal(model.encode(other_BS, length_B).states_BSE[0, length // 2], states):
            seen.append(s - length // 2)
    return seen


@pytest.mark.parametrize(
    ("layers", "kernel", "dilated", "side"),
    [(2, 3, False, 2), (3, 3, False, 3), (2, 5, False, 4), (2, 3, True, 4), (3, 3, True, 13)],
)
def test_how_far_the_encoder_sees(layers: int, kernel: int, dilated: bool, side: int) -> None:
    """Dilated, (k^L - 1) / 2 to either side, so that the path between n words is log_k(n) layers long."""
    config = replace(CONFIG, encoder_layers=layers, kernel=kernel, dilated=dilated)
    model: Convolutional = scrambled(Convolutional(config))
    assert not dilated or side == (kernel**layers - 1) // 2

    with torch.no_grad():
        assert reach_of(model, 41) == list(range(-side, side + 1))


def test_the_decoder_is_equation_1() -> None:
    """One layer written out: d = W h + b + g, weights from d . z, context from z + e."""
    model: Convolutional = scrambled(Convolutional(replace(CONFIG, decoder_layers=1, positions="none")))
    source_BS, target_BT = torch.tensor([[4, 5, 6, 2]]), torch.tensor([[1, 7, 8]])
    memory = model.encode(source_BS, torch.tensor([4]))
    z_SE = memory.states_BSE[0]
    e_SE = model.source_embedding(source_BS)[0]
    g_TE = model.target_embedding(target_BT)[0]
    layer: Any = model.decoder[0]
    half = math.sqrt(0.5)

    window = torch.cat((torch.zeros(2, 6, dtype=F64), g_TE))
    a, b = layer.convolution.linear(torch.stack([window[t : t + 3].flatten() for t in range(3)])).chunk(2, -1)
    h_TE = a * torch.sigmoid(b)
    d_TE = (h_TE @ layer.query.weight.T + layer.query.bias + g_TE) * half
    c_TE = (d_TE @ z_SE.T).softmax(-1) @ ((z_SE + e_SE) * half) * math.sqrt(4)
    out_TE = ((h_TE + layer.context(c_TE)) * half + g_TE) * half

    close(model.decode_states(target_BT, memory)[0], out_TE)


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"kernel": 4}, "model.kernel"),
        ({"kernel": 0}, "model.kernel"),
        ({"positions": "rotary"}, "model.positions"),
        ({"dilated": True, "decoder_layers": 12}, "model.dilated"),
        ({"encoder_layers": 0}, "model.encoder_layers"),
    ],
)
def test_a_shape_that_cannot_be_is_refused(options: dict[str, Any], named: str) -> None:
    with pytest.raises(ConfigError, match=named):
        ConvolutionalConfig(**options)
