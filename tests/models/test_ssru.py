"""The SSRU against its formula, and a whole decoder against one written with numpy."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from dragoman.base.errors import ConfigError
from dragoman.models.folder.weights import weights_of
from dragoman.models.layers.cache import RecurrentCache
from dragoman.models.layers.masks import causal_bias
from dragoman.models.layers.positions import sinusoidal
from dragoman.models.layers.window import FullView
from dragoman.models.seq2seq import build_model
from dragoman.models.shapes import SSRUConfig, TransformerConfig
from dragoman.models.ssru import SSRU
from dragoman.models.transformer import SelfAttention, Transformer
from dragoman.training.data.batches import collate
from dragoman.training.step.loss import Objective
from dragoman.training.step.precision import working_copies

F64 = torch.float64


def config(**changes: Any) -> SSRUConfig:
    shape: dict[str, Any] = {"d_model": 12, "d_ff": 20, "heads": 3, "encoder_layers": 2, "decoder_layers": 2}
    return SSRUConfig(**({"source_vocab": 19, "target_vocab": 19, "dropout": 0.0} | shape | changes))


def drawn(module: Any, seed: int = 3) -> Any:
    """The module in float64 with weights none of which has a special value."""
    torch.manual_seed(seed)
    module.double().eval()
    with torch.no_grad():
        for parameter in module.parameters():
            parameter += 0.3 * torch.randn_like(parameter)
    return module


def randn(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(*shape, dtype=F64, generator=torch.Generator().manual_seed(seed))


def view(length: int) -> FullView:
    return FullView(causal_bias(length, F64, torch.device("cpu")), length)


def by_formula(cell: SSRU, x_TE: Tensor) -> list[list[float]]:
    """Kim et al. 2019, section 3.1, a number at a time."""
    w, w_f, b_f = (one.tolist() for one in (cell.candidate.weight, cell.forget.weight, cell.forget.bias))
    width = len(b_f)
    c, outputs = [0.0] * width, []
    for x in x_TE.tolist():
        for i in range(width):
            f = 1 / (1 + math.exp(-sum(w_f[i][j] * x[j] for j in range(width)) - b_f[i]))
            c[i] = f * c[i] + (1 - f) * sum(w[i][j] * x[j] for j in range(width))
        outputs.append([max(0.0, one) for one in c])
    return outputs


def test_it_is_the_formula() -> None:
    cell, x_BTE = drawn(SSRU(5)), randn(3, 7, 5)

    out_BTE = cell(x_BTE, view(7))

    wanted_BTE = torch.tensor([by_formula(cell, x_TE) for x_TE in x_BTE], dtype=F64)
    assert 0.2 < float((wanted_BTE == 0).double().mean()) < 0.8
    torch.testing.assert_close(out_BTE, wanted_BTE, rtol=1e-13, atol=1e-13)


def test_the_first_state_is_before_the_first_token_zero() -> None:
    cell, x_BTE = drawn(SSRU(5)), randn(2, 1, 5)

    f_BTE = torch.sigmoid(x_BTE @ cell.forget.weight.T + cell.forget.bias)

    wanted_BTE = ((1 - f_BTE) * (x_BTE @ cell.candidate.weight.T)).clamp(min=0)
    torch.testing.assert_close(cell(x_BTE, view(1)), wanted_BTE, rtol=1e-13, atol=1e-13)


def test_gradients_equal_finite_differences() -> None:
    cell = drawn(SSRU(4))
    weights = [weight.detach().requires_grad_() for weight in cell.parameters()]
    names = [name for name, _ in cell.named_parameters()]

    def out(x_BTE: Tensor, *weights: Tensor) -> Tensor:
        arguments = (x_BTE, view(6))
        result: Tensor = torch.func.functional_call(cell, dict(zip(names, weights, strict=True)), arguments)
        return result

    assert torch.autograd.gradcheck(out, (randn(2, 6, 4).requires_grad_(), *weights))


def test_steps_equal_the_whole_sequence_and_rows_keep_their_state() -> None:
    cell, x_BTE = drawn(SSRU(5)), randn(3, 6, 5)
    wanted_BTE = cell(x_BTE, view(6))
    cache = cell.new_cache().select(torch.tensor([2, 0]))  # before the first token

    for t in range(3):
        out_N1E = cell.step(x_BTE[[2, 0], t : t + 1], cache)
        torch.testing.assert_close(out_N1E[:, 0], wanted_BTE[[2, 0], t], rtol=1e-13, atol=1e-13)
    selected = cache.select(torch.tensor([1, 1, 0]))
    for t in range(3, 6):
        out_N1E = cell.step(x_BTE[[0, 0, 2], t : t + 1], selected)
        torch.testing.assert_close(out_N1E[:, 0], wanted_BTE[[0, 0, 2], t], rtol=1e-13, atol=1e-13)


def test_a_selected_cache_and_its_origin_go_separate_ways() -> None:
    cell, x_N1E = drawn(SSRU(5)), randn(2, 1, 5)
    cache = RecurrentCache(randn(2, 5, seed=1))
    before = cache.state_NE

    other = cache.select(torch.tensor([0, 1]))
    cell.step(x_N1E, other)

    assert cache.state_NE is before
    assert torch.equal(before, randn(2, 5, seed=1))  # type: ignore[arg-type]
    assert not torch.equal(other.state_NE, before)  # type: ignore[arg-type]


def test_states_are_float32_in_bf16() -> None:
    """200 tokens: a state in bf16 would be off by several of its roundings, 2**-9 each."""
    cell = drawn(SSRU(16)).bfloat16()
    with torch.no_grad():
        cell.forget.bias.fill_(4)  # remembers for long
    x_BTE = randn(2, 200, 16).bfloat16()
    cache = cell.new_cache()

    with torch.no_grad():
        out_BTE = cell(x_BTE, view(200))
        cell.step(x_BTE[:, :1], cache)
        f_BTE, w_BTE = cell.forget(x_BTE).double().sigmoid(), cell.candidate(x_BTE).double()
    c_BE = torch.zeros(2, 16, dtype=F64)
    for t in range(200):
        c_BE = f_BTE[:, t] * c_BE + (1 - f_BTE[:, t]) * w_BTE[:, t]

    assert out_BTE.dtype == torch.bfloat16
    assert cache.state_NE is not None
    assert cache.state_NE.dtype == torch.float32
    torch.testing.assert_close(out_BTE[:, -1].double(), c_BE.clamp(min=0), rtol=2**-8, atol=1e-5)


def test_training_in_bf16_is_close_and_reaches_every_weight() -> None:
    torch.manual_seed(1)
    objective = Objective(build_model(config()), 0.1)
    examples = collate([[4, 5, 6], [7]], [[8, 9], [10, 11, 12]], pad_id=0, start_id=1, end_id=2)

    loss, _ = objective(examples)
    coarse, _ = torch.func.functional_call(objective, working_copies(objective), (examples,))
    coarse.backward()

    assert coarse.item() == pytest.approx(loss.item(), rel=0.02)
    assert coarse.item() != loss.item()  # it was bf16 indeed
    assert all(weight.grad is not None and bool(weight.grad.any()) for weight in objective.parameters())


# The whole decoder


def numbers(weight: Tensor) -> np.ndarray[Any, Any]:
    return weight.detach().double().numpy()


def norm(layer: nn.LayerNorm, x: np.ndarray[Any, Any], epsilon: float) -> np.ndarray[Any, Any]:
    scaled = (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + epsilon)
    return scaled * numbers(layer.weight) + numbers(layer.bias)


def decoder_in_numpy(model: Any, tokens: list[int], states_SE: Tensor) -> np.ndarray[Any, Any]:
    """logits_TV of one sentence: a post-norm decoder with ReLU, as in Marian's DecoderLayerRNN."""
    c = model.config
    root, memory = math.sqrt(c.d_model), numbers(states_SE)
    x = numbers(model.target_embedding.weight)[tokens] * root
    x = x + numbers(sinusoidal(len(tokens), c.d_model, c.positions))
    for layer in model.decoder:
        candidate = x @ numbers(layer.attention.candidate.weight).T
        forget = x @ numbers(layer.attention.forget.weight).T + numbers(layer.attention.forget.bias)
        forget = 1 / (1 + np.exp(-forget))
        state, read = np.zeros(c.d_model), []
        for t in range(len(tokens)):
            state = forget[t] * state + (1 - forget[t]) * candidate[t]
            read.append(np.maximum(state, 0))
        x = norm(layer.attention_residual.norm, x + np.stack(read), c.norm_epsilon)
        cross = layer.cross_attention
        w_q, w_k, w_v = numbers(cross.project.weight).reshape(3, c.d_model, c.d_model)
        b_q, b_k, b_v = numbers(cross.project.bias).reshape(3, c.d_model)
        q, k, v = x @ w_q.T + b_q, memory @ w_k.T + b_k, memory @ w_v.T + b_v
        heads, width = [], c.d_model // c.heads
        for columns in (slice(h * width, (h + 1) * width) for h in range(c.heads)):
            weights = np.exp(q[:, columns] @ k[:, columns].T / math.sqrt(width))
            heads.append(weights / weights.sum(-1, keepdims=True) @ v[:, columns])
        attended = np.concatenate(heads, -1) @ numbers(cross.output.weight).T + numbers(cross.output.bias)
        x = norm(layer.cross_attention_residual.norm, x + attended, c.norm_epsilon)
        ffn = layer.feed_forward
        hidden = np.maximum(x @ numbers(ffn.inner.weight).T + numbers(ffn.inner.bias), 0)
        hidden = hidden @ numbers(ffn.outer.weight).T + numbers(ffn.outer.bias)
        x = norm(layer.feed_forward_residual.norm, x + hidden, c.norm_epsilon)
    return x @ numbers(model.logits.weight).T + numbers(model.logits.bias)


@pytest.mark.parametrize("positions", ["sinusoidal", "sinusoidal-t2t"])
@pytest.mark.parametrize("epsilon", [1e-6, 0.2])
def test_the_decoder_equals_one_in_numpy(positions: Any, epsilon: float) -> None:
    model = drawn(
        build_model(
            config(
                positions=positions, norm_epsilon=epsilon, attention_bias=True, output_bias=True, tie="none"
            )
        )
    )
    with torch.no_grad():
        memory = model.encode(torch.tensor([[4, 5, 6, 2], [7, 8, 2, 0]]), torch.tensor([4, 3]))
        logits_BTV = model.decode(torch.tensor([[1, 9, 10, 11, 12], [1, 3, 4, 5, 0]]), memory)

    for b, (tokens, length) in enumerate((([1, 9, 10, 11, 12], 4), ([1, 3, 4, 5], 3))):
        wanted_TV = decoder_in_numpy(model, tokens, memory.states_BSE[b, :length])
        np.testing.assert_allclose(logits_BTV[b, : len(tokens)].numpy(), wanted_TV, rtol=1e-10, atol=1e-10)


def test_the_encoder_is_the_transformer_s() -> None:
    """With the same weights, also with positions inside self-attention and a window."""
    shape: dict[str, Any] = {"positions": "relative", "window": 3, "norm": "pre"}
    ours = drawn(build_model(config(**shape)))
    sizes: dict[str, Any] = {"d_model": 12, "d_ff": 20, "heads": 3, "encoder_layers": 2, "decoder_layers": 2}
    other = build_model(TransformerConfig(source_vocab=19, target_vocab=19, **sizes, **shape)).double().eval()
    missing = other.load_state_dict(ours.state_dict(), strict=False)[0]
    inputs = torch.tensor([[4, 5, 6, 7, 2], [7, 8, 2, 0, 0]]), torch.tensor([5, 3])

    assert missing
    assert all(name.startswith("decoder.") for name in missing)
    with torch.no_grad():
        assert torch.equal(ours.encode(*inputs).states_BSE, other.encode(*inputs).states_BSE)


# The model


def test_a_layer_has_these_weights_in_a_model_folder() -> None:
    model = build_model(config(attention_bias=True))

    names = {name for name in weights_of(model) if name.startswith("decoder.0.attention.")}

    assert names == {
        f"decoder.0.attention.{name}" for name in ("candidate.weight", "forget.weight", "forget.bias")
    }
    assert isinstance(model, Transformer)
    assert not any(isinstance(module, SelfAttention) for module in model.decoder.modules())


@pytest.mark.parametrize("positions", ["sinusoidal", "relative", "t5", "rotary"])
def test_a_decoder_layer_saves_half_of_self_attention_s_products(positions: Any) -> None:
    """Two matrices and one bias in place of four matrices; positions in attention are the encoder's only."""

    def count(model: Transformer) -> int:
        return sum(parameter.numel() for parameter in model.decoder.parameters())

    sizes: dict[str, Any] = {"d_model": 24, "d_ff": 20, "heads": 3, "encoder_layers": 2, "decoder_layers": 2}
    vocabulary = {"source_vocab": 19, "target_vocab": 19}

    difference = count(build_model(TransformerConfig(**vocabulary, **sizes))) - count(
        build_model(SSRUConfig(**vocabulary, **sizes, positions=positions))
    )
    assert difference == 2 * (2 * 24 * 24 - 24)


def test_its_weights_begin_as_marian_s_do() -> None:
    """Glorot-uniform matrices and gates half open."""
    torch.manual_seed(0)
    cell = SSRU(64)

    bound = math.sqrt(6 / (64 + 64))
    for linear in (cell.candidate, cell.forget):
        assert 0.98 * bound < float(linear.weight.detach().abs().max()) <= bound
    assert not cell.forget.bias.any()
    assert cell.candidate.bias is None


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"heads": 5}, "model.heads = 5"),
        ({"window": 0}, "window"),
        ({"final_norm": False}, "final_norm"),
        ({"positions": "rotary", "heads": 4}, "rotary"),
        ({"architecture": "transformer"}, "architecture"),
    ],
)
def test_a_shape_that_makes_no_sense_is_an_error(changes: dict[str, Any], named: str) -> None:
    with pytest.raises(ConfigError) as caught:
        config(**changes)

    assert named in str(caught.value)
    assert caught.value.hint
