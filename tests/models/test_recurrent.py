"""Recurrent cells against torch.nn, scores against their formulas, and what a decoder may see."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any, Literal

import pytest
import torch
from torch import Tensor, nn

from dragoman.base.errors import ConfigError
from dragoman.models.recurrent import (
    GRU,
    LSTM,
    ReadingLayer,
    Recurrent,
    RecurrentAttention,
    backwards,
    read_words,
)
from dragoman.models.shapes import RecurrentConfig

F64 = torch.float64
LENGTHS = torch.tensor([5, 2, 1])


def randn(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(*shape, dtype=F64, generator=torch.Generator().manual_seed(seed))


def close(got: Tensor, wanted: Tensor) -> None:
    torch.testing.assert_close(got, wanted, rtol=1e-12, atol=1e-12)


def scrambled(module: nn.Module, seed: int = 3) -> Any:
    torch.manual_seed(seed)
    module.double()
    with torch.no_grad():
        for parameter in module.parameters():
            parameter += 0.3 * torch.randn_like(parameter)
    return module


def into(reference: nn.RNNBase, cell: LSTM | GRU, suffix: str = "l0") -> None:
    """The cell's weights into PyTorch's. Where ours has one bias, the second there is 0."""
    second = cell.recurrent.bias
    state = {
        f"weight_ih_{suffix}": cell.input.weight,
        f"weight_hh_{suffix}": cell.recurrent.weight,
        f"bias_ih_{suffix}": cell.input.bias,
        f"bias_hh_{suffix}": torch.zeros_like(cell.input.bias) if second is None else second,
    }
    with torch.no_grad():
        for name, value in state.items():
            getattr(reference, name).copy_(value)


def test_lstm_equals_pytorch() -> None:
    cell = scrambled(LSTM(4, 3))
    reference = nn.LSTM(4, 3, batch_first=True, dtype=F64)
    into(reference, cell)
    x_BTE, h_BE, c_BE = randn(2, 6, 4), randn(2, 3, seed=1), randn(2, 3, seed=2)

    states = read_words(cell, x_BTE, torch.stack((h_BE, c_BE), 1))
    wanted, (h, c) = reference(x_BTE, (h_BE[None], c_BE[None]))

    close(states[:, :, 0], wanted)
    close(states[:, -1], torch.stack((h[0], c[0]), 1))


def test_gru_equals_pytorch() -> None:
    cell = scrambled(GRU(4, 3))
    reference = nn.GRU(4, 3, batch_first=True, dtype=F64)
    into(reference, cell)
    x_BTE, h_BE = randn(2, 6, 4), randn(2, 3, seed=1)

    states = read_words(cell, x_BTE, h_BE[:, None])
    wanted, h = reference(x_BTE, h_BE[None])

    close(states[:, :, 0], wanted)
    close(states[:, -1, 0], h[0])


@pytest.mark.parametrize("kind", ["lstm", "gru"])
def test_gradients_equal_pytorch_s(kind: str) -> None:
    cell = scrambled(LSTM(4, 3) if kind == "lstm" else GRU(4, 3))
    reference = (nn.LSTM if kind == "lstm" else nn.GRU)(4, 3, batch_first=True, dtype=F64)
    into(reference, cell)
    x_BTE = randn(2, 6, 4).requires_grad_()

    (read_words(cell, x_BTE, torch.zeros(2, cell.parts, 3, dtype=F64))[:, :, 0] ** 2).sum().backward()
    ours = x_BTE.grad
    x_BTE.grad = None
    (reference(x_BTE)[0] ** 2).sum().backward()

    assert ours is not None
    assert x_BTE.grad is not None
    close(ours, x_BTE.grad)
    assert cell.recurrent.weight.grad is not None
    close(cell.recurrent.weight.grad, reference.weight_hh_l0.grad)  # type: ignore[arg-type]


@pytest.mark.parametrize("kind", ["lstm", "gru"])
def test_both_directions_equal_pytorch_s_packed_sequences(kind: Literal["lstm", "gru"]) -> None:
    layer = scrambled(ReadingLayer(RecurrentConfig(cell=kind, d_model=6)))
    reference = (nn.LSTM if kind == "lstm" else nn.GRU)(6, 3, batch_first=True, bidirectional=True, dtype=F64)
    for cell, suffix in zip(layer.directions, ("l0", "l0_reverse"), strict=True):
        into(reference, cell, suffix)
    x_BSE = randn(3, 5, 6)

    outputs_BSE, last_BPE = layer(x_BSE, LENGTHS)
    packed = nn.utils.rnn.pack_padded_sequence(x_BSE, LENGTHS, batch_first=True)
    wanted, last = reference(packed)
    wanted_BSE, _ = nn.utils.rnn.pad_packed_sequence(wanted, batch_first=True)

    for b, length in enumerate(LENGTHS.tolist()):
        close(outputs_BSE[b, :length], wanted_BSE[b, :length])
    for part, wanted_part in enumerate(last if kind == "lstm" else (last,)):
        close(last_BPE[:, part], wanted_part.transpose(0, 1).flatten(1))


def test_a_sentence_backwards_keeps_its_padding_behind() -> None:
    x_BSE = torch.arange(15.0).view(3, 5, 1)

    assert backwards(x_BSE, LENGTHS)[:, :, 0].tolist() == [
        [4, 3, 2, 1, 0],
        [6, 5, 7, 8, 9],
        [10, 11, 12, 13, 14],
    ]


# Scores


@pytest.mark.parametrize("kind", ["dot", "general", "additive"])
def test_scores_are_their_formulas(kind: Literal["dot", "general", "additive"]) -> None:
    scores = scrambled(RecurrentAttention(kind, 4))
    h_BTE, s_BSE = randn(2, 3, 4, seed=1), randn(2, 5, 4, seed=2)
    bias_B1S = torch.tensor([[[0.0] * 5], [[0.0, 0.0, 0.0, -math.inf, -math.inf]]], dtype=F64)

    weights_BTS = scores.weights(h_BTE, scores.keys(s_BSE), bias_B1S)

    @torch.no_grad()
    def score(h: Tensor, s: Tensor) -> float:
        match kind:
            case "dot":
                return float(sum(h * s))
            case "general":
                return float(h @ scores.of_source.weight @ s)
            case "additive":
                mixed = scores.of_target.weight @ h + scores.of_source.weight @ s + scores.of_source.bias
                return float(scores.score.weight[0] @ mixed.tanh())

    for b, seen in enumerate((5, 3)):
        for t in range(3):
            shares = [math.exp(score(h_BTE[b, t], s_BSE[b, s])) for s in range(seen)]
            wanted = torch.tensor([share / sum(shares) for share in shares] + [0.0] * (5 - seen), dtype=F64)
            close(weights_BTS[b, t], wanted)
    context = scores(h_BTE, scores.keys(s_BSE), s_BSE, bias_B1S)
    close(context, torch.einsum("bts,bse->bte", weights_BTS, s_BSE))


# The whole


CONFIG = RecurrentConfig(source_vocab=9, target_vocab=9, d_model=6, layers=2, dropout=0.0)
SOURCE_BS = torch.tensor([[4, 5, 6, 7, 2], [8, 2, 0, 0, 0]])
TARGET_BT = torch.tensor([[1, 5, 6], [1, 7, 0]])


@pytest.mark.parametrize("attention", ["none", "dot"])
def test_without_attention_the_last_state_is_all_the_decoder_gets(attention: Literal["none", "dot"]) -> None:
    model: Recurrent = scrambled(Recurrent(replace(CONFIG, attention=attention)))
    memory = model.encode(SOURCE_BS, torch.tensor([5, 2]))
    other = replace(memory, states_BSE=memory.states_BSE + 1)

    same = torch.equal(model.decode(TARGET_BT, other), model.decode(TARGET_BT, memory))

    assert same == (attention == "none")


def test_the_context_is_joined_to_the_decoder_s_state() -> None:
    """Luong et al. 2015, eq. 5: tanh(W [c; h])."""
    model: Recurrent = scrambled(Recurrent(replace(CONFIG, attention="general", layers=1)))
    memory = model.encode(SOURCE_BS[:1], torch.tensor([5]))
    x_BTE = model.target_embedding(TARGET_BT[:1]) * math.sqrt(6)
    h_TE = read_words(model.decoder[0], x_BTE, memory.last_BLPE[:, 0])[0, :, 0]  # type: ignore[arg-type]
    scores = model.attention
    assert scores is not None

    weights_TS = (h_TE @ scores.of_source.weight @ memory.states_BSE[0].T).softmax(-1)  # type: ignore[operator]
    context_TE = weights_TS @ memory.states_BSE[0]
    wanted = (torch.cat((context_TE, h_TE), 1) @ model.join.weight.T).tanh()

    close(model.decode_states(TARGET_BT[:1], memory)[0], wanted)


def test_a_reversed_source_is_read_from_its_end() -> None:
    """So the first word is read last, and stands nearest to the first of the translation."""
    forward: Recurrent = scrambled(Recurrent(replace(CONFIG, bidirectional=False)))
    reverse = Recurrent(replace(CONFIG, bidirectional=False, reverse_source=True)).double()
    reverse.load_state_dict(forward.state_dict())

    there = reverse.encode(SOURCE_BS[:1], torch.tensor([5]))
    wanted = forward.encode(SOURCE_BS[:1].flip(1), torch.tensor([5]))

    close(there.last_BLPE, wanted.last_BLPE)
    close(there.states_BSE, wanted.states_BSE.flip(1))  # states stand where their words do


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"cell": "rnn"}, "model.cell"),
        ({"attention": "luong"}, "model.attention"),
        ({"layers": 0}, "model.layers"),
        ({"d_model": 7}, "model.bidirectional"),
        ({"reverse_source": True}, "model.reverse_source"),
        ({"dropout": 1.0}, "model.dropout"),
    ],
)
def test_a_shape_that_cannot_be_is_refused(options: dict[str, Any], named: str) -> None:
    with pytest.raises(ConfigError, match=named):
        RecurrentConfig(**options)
