"""The Transformer against torch.nn.Transformer, the paper's parameter counts, and its formulas."""

from __future__ import annotations

import copy
import math
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal, cast

import pytest
import torch
from torch import Tensor, nn

from dragoman.base.errors import ConfigError
from dragoman.models.folder.weights import put_weights, read_weights, weights_of, write_weights
from dragoman.models.layers.positions import sinusoidal
from dragoman.models.seq2seq import build_model
from dragoman.models.shapes import AnyPositions, TransformerConfig
from dragoman.models.transformer import FeedForward, Transformer

F64 = torch.float64
Norm = Literal["post", "pre"]
Activation = Literal["relu", "gelu", "quick-gelu", "swish"]
ACTIVATIONS: dict[str, Any] = {
    "relu": "relu",
    "gelu": "gelu",
    "quick-gelu": lambda x: x / (1 + (-1.702 * x).exp()),
    "swish": lambda x: x / (1 + (-x).exp()),
}


def config(**changes: Any) -> TransformerConfig:
    shape: dict[str, Any] = {"d_model": 12, "d_ff": 20, "heads": 3, "encoder_layers": 2, "decoder_layers": 2}
    return TransformerConfig(**({"source_vocab": 19, "target_vocab": 19, "dropout": 0.0} | shape | changes))


def scrambled(config: TransformerConfig, seed: int = 3) -> Transformer:
    """A float64 model none of whose weights has a special value: norms and biases too are drawn."""
    torch.manual_seed(seed)
    model = Transformer(config).double()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter += 0.3 * torch.randn_like(parameter)
    return model


SOURCE_BS = torch.tensor([[4, 5, 6, 7, 2], [8, 9, 2, 0, 0], [2, 0, 0, 0, 0]])
SOURCE_LEN_B = torch.tensor([5, 3, 1])
TARGET_BT = torch.tensor([[1, 5, 6, 7], [1, 10, 11, 0], [1, 4, 0, 0]])


# Parity with torch.nn.Transformer


class Times(nn.Module):
    """Stands in for dropout, to see where it is: multiplies."""

    def __init__(self, factor: float) -> None:
        super().__init__()
        self.factor = factor

    def forward(self, x: Tensor, base: Tensor | float = 0.0) -> Tensor:
        return base + x * self.factor


def copy_attention(own: nn.Module, reference: nn.MultiheadAttention) -> None:
    state = {
        "in_proj_weight": own.project.weight,
        "in_proj_bias": own.project.bias,
        "out_proj.weight": own.output.weight,
        "out_proj.bias": own.output.bias,
    }
    reference.load_state_dict(cast(dict[str, Any], state))


def copy_layer(own: Any, reference: Any) -> None:
    """Weights of an encoder or decoder layer into PyTorch's."""
    copy_attention(own.attention, reference.self_attn)
    residuals = [own.attention_residual, own.feed_forward_residual]
    if isinstance(reference, nn.TransformerDecoderLayer):
        copy_attention(own.cross_attention, reference.multihead_attn)
        residuals.insert(1, own.cross_attention_residual)
    for number, residual in enumerate(residuals, 1):
        if isinstance(residual.norm, nn.RMSNorm):  # which its layers have no option for
            setattr(reference, f"norm{number}", copy.deepcopy(residual.norm))
        getattr(reference, f"norm{number}").load_state_dict(residual.norm.state_dict())
    reference.linear1.load_state_dict(own.feed_forward.inner.state_dict())
    reference.linear2.load_state_dict(own.feed_forward.outer.state_dict())


def reference_of(model: Transformer) -> nn.Transformer:
    """torch.nn.Transformer with the model's weights. A stack gets a norm at its end only if the model has
    it: nn.Transformer would add one by itself."""
    c = model.config
    options: dict[str, Any] = {
        "d_model": c.d_model,
        "nhead": c.heads,
        "dim_feedforward": c.d_ff,
        "dropout": 0.0,
        "activation": ACTIVATIONS[c.activation],
        "layer_norm_eps": c.norm_epsilon,
        "batch_first": True,
        "norm_first": c.norm == "pre",
        "dtype": next(model.parameters()).dtype,
    }
    kind: Any = nn.RMSNorm if c.norm_kind == "rms" else nn.LayerNorm
    encoder_norm, decoder_norm = (
        kind(c.d_model, c.norm_epsilon, dtype=options["dtype"]) if c.norm == "pre" and c.final_norm else None
        for _ in range(2)
    )
    encoder = nn.TransformerEncoder(
        nn.TransformerEncoderLayer(**options), c.encoder_layers, encoder_norm, enable_nested_tensor=False
    )
    decoder = nn.TransformerDecoder(nn.TransformerDecoderLayer(**options), c.decoder_layers, decoder_norm)
    # Copied last: nn.Transformer draws the weights of what it is given anew.
    reference = nn.Transformer(
        c.d_model, c.heads, custom_encoder=encoder, custom_decoder=decoder, batch_first=True
    )
    for own, other in zip(model.encoder, encoder.layers, strict=True):
        copy_layer(own, other)
    for own, other in zip(model.decoder, decoder.layers, strict=True):
        copy_layer(own, other)
    if encoder_norm is not None and decoder_norm is not None:
        encoder_norm.load_state_dict(model.encoder_norm.state_dict())
        decoder_norm.load_state_dict(model.decoder_norm.state_dict())
    return reference


def reference_logits(model: Transformer, reference: nn.Transformer, embedding_factor: float = 1) -> Tensor:
    def embed(token_BT: Tensor, side: str) -> Tensor:
        weights, width, length = dict(model.named_parameters()), model.config.d_model, token_BT.shape[1]
        embedding = model.source_embedding if side == "source" else model.target_embedding
        x_BTE = embedding.weight[token_BT] * (math.sqrt(width) if model.config.embedding_scale else 1)
        apart = {"source": "positions.table.weight", "target": "target_positions.table.weight"}
        x_BTE = x_BTE + (
            weights[apart[side]][:length] if apart[side] in weights else sinusoidal(length, width)
        )
        if model.config.embedding_norm:
            gain, shift = (weights[f"{side}_embedding_norm.{part}"] for part in ("weight", "bias"))
            x_BTE = nn.functional.layer_norm(x_BTE, (width,), gain, shift, model.config.norm_epsilon)
        return x_BTE * embedding_factor

    hidden_BS = torch.arange(SOURCE_BS.shape[1]) >= SOURCE_LEN_B[:, None]
    look_ahead_TT = torch.ones(TARGET_BT.shape[1], TARGET_BT.shape[1]).tril() == 0
    states_BTE = reference(
        embed(SOURCE_BS, "source"),
        embed(TARGET_BT, "target"),
        tgt_mask=look_ahead_TT,
        src_key_padding_mask=hidden_BS,
        memory_key_padding_mask=hidden_BS,
    )
    return cast(Tensor, model.logits(states_BTE))


@pytest.mark.parametrize("tie", ["all", "none"])
@pytest.mark.parametrize("activation", ACTIVATIONS)
@pytest.mark.parametrize("norm", ["post", "pre"])
def test_logits_equal_those_of_torch_nn_transformer(norm: Norm, activation: Activation, tie: str) -> None:
    model = scrambled(config(norm=norm, activation=activation, tie=tie, attention_bias=True))

    wanted = reference_logits(model, reference_of(model))

    assert float(wanted.detach().std()) > 0.1
    torch.testing.assert_close(model(SOURCE_BS, SOURCE_LEN_B, TARGET_BT), wanted, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize(
    "changes",
    [
        {"norm_epsilon": 0.3},
        {"norm": "pre", "norm_epsilon": 0.3},
        {"norm": "pre", "final_norm": False},
        {"embedding_scale": False},
        {"embedding_norm": True},
        {"embedding_norm": True, "positions": "learned-apart"},
        {"norm": "pre", "final_norm": False, "embedding_scale": False, "norm_epsilon": 1e-6},
        {"norm_kind": "rms"},
        {"norm": "pre", "norm_kind": "rms", "norm_epsilon": 0.3},
    ],
    ids=str,
)
def test_so_they_do_with_each_of_these_options(changes: dict[str, Any]) -> None:
    default = scrambled(config(attention_bias=True, norm=changes.get("norm", "post")))
    model = scrambled(config(attention_bias=True, **changes))

    wanted = reference_logits(model, reference_of(model))

    logits_BTV = model(SOURCE_BS, SOURCE_LEN_B, TARGET_BT)
    torch.testing.assert_close(logits_BTV, wanted, rtol=1e-10, atol=1e-10)
    if len(changes) > 1 or "norm" not in changes:
        assert not torch.allclose(logits_BTV, default(SOURCE_BS, SOURCE_LEN_B, TARGET_BT), atol=1e-3)


@pytest.mark.parametrize("norm", ["post", "pre"])
def test_in_single_precision_too(norm: Norm) -> None:
    model = scrambled(config(norm=norm, attention_bias=True, d_model=64, d_ff=128, heads=4)).float()

    wanted = reference_logits(model, reference_of(model))

    scale = float(wanted.detach().abs().max())
    torch.testing.assert_close(model(SOURCE_BS, SOURCE_LEN_B, TARGET_BT), wanted, rtol=0, atol=1e-5 * scale)


@pytest.mark.parametrize("norm", ["post", "pre"])
def test_dropout_stands_where_torch_nn_transformer_has_it(norm: Norm) -> None:
    """On the sums of embeddings and positions and on each sub-layer's output (section 5.4), and if
    asked inside the feed-forward network."""
    model = scrambled(config(norm=norm, attention_bias=True))
    reference = reference_of(model)
    model.dropout = cast(Any, Times(0.5))
    for own, other in zip(
        [*model.encoder, *model.decoder], [*reference.encoder.layers, *reference.decoder.layers], strict=True
    ):
        factors = {"attention_residual": 0.3, "feed_forward_residual": 0.7, "cross_attention_residual": 1.1}
        for name, factor in factors.items():
            if hasattr(own, name):
                getattr(own, name).dropout = Times(factor)
        own.feed_forward.dropout = Times(1.3)
        other.dropout = Times(1.3)
        decodes = isinstance(other, nn.TransformerDecoderLayer)
        for number, factor in enumerate([0.3, 1.1, 0.7] if decodes else [0.3, 0.7], 1):
            setattr(other, f"dropout{number}", Times(factor))

    wanted = reference_logits(model, reference, embedding_factor=0.5)

    torch.testing.assert_close(model(SOURCE_BS, SOURCE_LEN_B, TARGET_BT), wanted, rtol=1e-10, atol=1e-10)


def test_the_rates_of_dropout_go_where_they_are_named_for() -> None:
    model = Transformer(config(dropout=0.1, attention_dropout=0.2, activation_dropout=0.3))

    for layer in cast(Any, [*model.encoder, *model.decoder]):
        assert layer.attention.drop == 0.2
        assert layer.feed_forward.dropout.p == 0.3
        assert layer.attention_residual.dropout.p == layer.feed_forward_residual.dropout.p == 0.1
    for layer in cast(Any, model.decoder):
        assert layer.cross_attention.drop == 0.2
        assert layer.cross_attention_residual.dropout.p == 0.1
    assert model.dropout.p == 0.1


# The parts


def test_swiglu_is_shazeer_s_formula() -> None:
    torch.manual_seed(1)
    ffn = FeedForward(config(activation="swiglu")).double()
    for parameter in ffn.parameters():
        nn.init.normal_(parameter)
    x_E = torch.randn(12, dtype=F64)
    w, b = ffn.inner.weight.detach(), ffn.inner.bias.detach()

    gate_F, value_F = w[:20] @ x_E + b[:20], w[20:] @ x_E + b[20:]
    hidden_F = gate_F / (1 + (-gate_F).exp()) * value_F

    torch.testing.assert_close(ffn(x_E), ffn.outer.weight @ hidden_F + ffn.outer.bias)


def test_gelu_is_x_times_the_normal_distribution() -> None:
    torch.manual_seed(1)
    ffn = FeedForward(config(activation="gelu")).double()
    x_E = torch.randn(12, dtype=F64)

    inner = ffn.inner(x_E).tolist()
    hidden = [x * 0.5 * (1 + math.erf(x / math.sqrt(2))) for x in inner]

    torch.testing.assert_close(ffn(x_E), ffn.outer(torch.tensor(hidden, dtype=F64)))


@pytest.mark.parametrize(("activation", "rate"), [("swish", 1.0), ("quick-gelu", 1.702)])
def test_swish_and_its_steeper_sister_are_x_times_a_sigmoid(activation: Activation, rate: float) -> None:
    torch.manual_seed(1)
    ffn = FeedForward(config(activation=activation)).double()
    x_E = torch.randn(12, dtype=F64)

    hidden = [x / (1 + math.exp(-rate * x)) for x in ffn.inner(x_E).tolist()]

    torch.testing.assert_close(ffn(x_E), ffn.outer(torch.tensor(hidden, dtype=F64)))


@pytest.mark.parametrize("scale", [True, False])
@pytest.mark.parametrize("positions", ["sinusoidal", "sinusoidal-halves", "sinusoidal-t2t"])
def test_embeddings_are_scaled_by_the_root_of_their_width(positions: Any, scale: bool) -> None:
    """Section 3.4, and positions are added to them unscaled, section 3.5."""
    model = scrambled(config(positions=positions, tie="none", embedding_scale=scale)).eval()
    read: list[Tensor] = []
    model.encoder[0].register_forward_pre_hook(lambda _, inputs: read.append(inputs[0]))
    model.decoder[0].register_forward_pre_hook(lambda _, inputs: read.append(inputs[0]))

    model(SOURCE_BS, SOURCE_LEN_B, TARGET_BT)

    for x_BTE, token_BT, weight in (
        (read[0], SOURCE_BS, model.source_embedding.weight),
        (read[1], TARGET_BT, model.target_embedding.weight),
    ):
        wanted = weight[token_BT] * (12**0.5 if scale else 1) + sinusoidal(token_BT.shape[1], 12, positions)
        torch.testing.assert_close(x_BTE, wanted, rtol=1e-13, atol=1e-13)


def test_weights_begin_as_the_paper_s_do() -> None:
    """Xavier-uniform matrices, embeddings of unit variance once scaled, biases at 0, norms the identity."""
    torch.manual_seed(0)
    model = Transformer(config(d_model=64, d_ff=256, heads=4, source_vocab=500, target_vocab=500))

    for name, weight in weights_of(model).items():
        if "norm" in name:
            assert bool((weight == (1 if name.endswith("weight") else 0)).all()), name
        elif name.endswith("bias"):
            assert bool((weight == 0).all()), name
        elif "embedding" in name:
            assert float(weight.std()) * 8 == pytest.approx(1, rel=0.02)
        else:
            bound = math.sqrt(6 / (64 + 64 if "attention" in name else 64 + 256))
            assert 0.98 * bound < float(weight.abs().max()) <= bound, name


# Tied weights, section 3.4


def test_tie_all_is_one_matrix() -> None:
    model = Transformer(config(tie="all"))

    assert model.source_embedding.weight is model.target_embedding.weight is model.logits.weight


def test_tie_decoder_is_two_matrices() -> None:
    model = Transformer(config(tie="decoder", source_vocab=11))

    assert model.target_embedding.weight is model.logits.weight
    assert model.source_embedding.weight.shape == (11, 12)


def test_tie_none_is_three_matrices() -> None:
    model = Transformer(config(tie="none"))

    assert len({id(m.weight) for m in (model.source_embedding, model.target_embedding, model.logits)}) == 3


def test_tied_weights_stay_tied(tmp_path: Path) -> None:
    model = Transformer(config(tie="all"))
    write_weights(tmp_path / "w.safetensors", weights_of(model))
    loaded = Transformer(config(tie="all"))
    put_weights(loaded, read_weights(tmp_path / "w.safetensors"), "w")

    for other in (loaded, copy.deepcopy(model).double(), Transformer(config(tie="all")).bfloat16()):
        assert other.source_embedding.weight is other.logits.weight
        with torch.no_grad():
            other.logits.weight[3] = 7
        assert bool((other.source_embedding(torch.tensor(3)) == 7).all())
    torch.testing.assert_close(loaded.logits.weight[4], model.logits.weight[4], rtol=0, atol=0)


def test_the_gradient_of_a_tied_matrix_is_the_sum_over_its_three_places() -> None:
    tied = scrambled(config(tie="all"))
    apart = Transformer(config(tie="none")).double()
    weights = weights_of(tied)
    matrix = weights["target_embedding.weight"]
    put_weights(apart, weights | {"source_embedding.weight": matrix, "logits.weight": matrix}, "tied")

    for model in (tied, apart):
        model(SOURCE_BS, SOURCE_LEN_B, TARGET_BT).square().sum().backward()

    gradients = [m.weight.grad for m in (apart.source_embedding, apart.target_embedding, apart.logits)]
    assert tied.logits.weight.grad is not None
    torch.testing.assert_close(
        tied.logits.weight.grad, cast(Tensor, sum(cast(list[Tensor], gradients))), rtol=1e-10, atol=1e-10
    )


# How many parameters


def parameters_by_the_paper(
    vocab: int, d: int, f: int, encoder_layers: int = 6, decoder_layers: int = 6
) -> int:
    """Sections 3.1 to 3.4: one shared embedding; W^Q, W^K, W^V and W^O without biases; eq. 2; a gain and
    a bias for each LayerNorm."""
    attention, feed_forward, norm = 4 * d * d, d * f + f + f * d + d, 2 * d
    encoder = attention + feed_forward + 2 * norm
    decoder = 2 * attention + feed_forward + 3 * norm
    return vocab * d + encoder_layers * encoder + decoder_layers * decoder


def count(config: TransformerConfig) -> int:
    with torch.device("meta"):
        return sum(parameter.numel() for parameter in build_model(config).parameters())


@pytest.mark.parametrize(
    ("shape", "exactly"),
    [
        ({}, 63_045_632),  # base: table 3 says 65 million
        ({"d_model": 1024, "d_ff": 4096, "heads": 16}, 214_171_648),  # big: 213 million
    ],
)
def test_base_and_big_have_the_paper_s_parameters(shape: dict[str, int], exactly: int) -> None:
    chosen = TransformerConfig(source_vocab=37_000, target_vocab=37_000, **cast(Any, shape))

    assert count(chosen) == parameters_by_the_paper(37_000, chosen.d_model, chosen.d_ff) == exactly


def test_tiny_has_under_3_million() -> None:
    tiny = config(
        source_vocab=8000,
        target_vocab=8000,
        d_model=128,
        d_ff=256,
        heads=4,
        encoder_layers=4,
        decoder_layers=4,
    )

    assert count(tiny) == parameters_by_the_paper(8000, 128, 256, 4, 4) < 3_000_000


@pytest.mark.parametrize(
    ("changes", "more"),
    [
        ({"tie": "decoder"}, 19 * 12),
        ({"tie": "none"}, 2 * 19 * 12),
        ({"tie": "decoder", "source_vocab": 31}, 31 * 12),
        ({"norm": "pre"}, 2 * 24),
        ({"attention_bias": True}, 6 * 4 * 12),
        ({"output_bias": True}, 19),
        ({"activation": "gelu"}, 0),
        ({"activation": "swiglu"}, 4 * (12 * 20 + 20)),
        ({"heads": 1}, 0),
        ({"activation": "swish"}, 0),
        ({"activation": "quick-gelu"}, 0),
        ({"positions": "sinusoidal-halves"}, 0),
        ({"positions": "sinusoidal-t2t"}, 0),
        ({"norm": "pre", "final_norm": False}, 0),
        ({"norm_epsilon": 1e-6, "embedding_scale": False}, 0),
        ({"norm_kind": "rms"}, -10 * 12),
        (
            {"kv_heads": 1},
            -2 * 2 * 12 * 2 * 8,
        ),  # of each attention in two layers, keys and values lose 8 rows
    ],
)
def test_options_add_what_they_should(changes: dict[str, Any], more: int) -> None:
    assert count(config(**changes)) == parameters_by_the_paper(19, 12, 20, 2, 2) + more


# Heads that share keys and values (Ainslie et al. 2023)


def with_copies(model: Transformer, shared: int) -> Transformer:
    """The same model with multi-head attention: each head of the decoder's keys and values `shared` times."""
    c = model.config
    other = Transformer(replace(c, kv_heads=None)).double()
    weights, width = dict(model.state_dict()), c.d_model // c.heads
    for name, weight in weights.items():
        if name.startswith("decoder.") and ".project." in name:
            q, *rest = weight.split([c.d_model, *[c.d_model // shared] * 2])
            copies = [each.view(-1, width, *each.shape[1:]).repeat_interleave(shared, 0) for each in rest]
            weights[name] = torch.cat([q, *(copy.flatten(0, 1) for copy in copies)])
    other.load_state_dict(weights)
    return other


@pytest.mark.parametrize("positions", ["sinusoidal", "rotary", "relative", "t5"])
@pytest.mark.parametrize("kv_heads", [1, 2])
def test_shared_heads_are_as_a_copy_for_each(positions: AnyPositions, kv_heads: int) -> None:
    """The logits of the whole sequence and of each step."""
    model = scrambled(
        config(d_model=16, heads=4, kv_heads=kv_heads, positions=positions, attention_bias=True, window=3)
    )
    other = with_copies(model, 4 // kv_heads)
    memory = model.encode(SOURCE_BS, SOURCE_LEN_B)
    assert torch.equal(memory.states_BSE, other.encode(SOURCE_BS, SOURCE_LEN_B).states_BSE)

    wanted_BTV = other.decode(TARGET_BT, memory)
    torch.testing.assert_close(model.decode(TARGET_BT, memory), wanted_BTV, rtol=1e-12, atol=1e-12)
    state = model.start(memory, TARGET_BT.shape[1])
    for t, token_N in enumerate(TARGET_BT.unbind(1)):
        logits_NV, state = model.step(token_N, state)
        torch.testing.assert_close(logits_NV, wanted_BTV[:, t], rtol=1e-12, atol=1e-12)
    assert state.shared.source.keys_BHSD[0].shape == (3, kv_heads, 5, 4)
    assert state.caches[0].keys_NHTD.shape[:2] == (3, kv_heads)  # type: ignore[union-attr]


def test_as_many_heads_of_keys_as_of_queries_is_multi_head_attention() -> None:
    """The same weights from the same seed, and the same option left out or given."""
    torch.manual_seed(1)
    plain = Transformer(config())
    torch.manual_seed(1)
    named = Transformer(config(kv_heads=3))

    for (name, one), (other_name, other) in zip(
        plain.state_dict().items(), named.state_dict().items(), strict=True
    ):
        assert name == other_name
        assert torch.equal(one, other)


# Configuration


def test_the_defaults_are_the_paper_s_base_model() -> None:
    base = TransformerConfig(source_vocab=10, target_vocab=10)

    assert (base.d_model, base.d_ff, base.heads) == (512, 2048, 8)
    assert (base.encoder_layers, base.decoder_layers, base.dropout) == (6, 6, 0.1)
    assert (base.norm, base.activation, base.positions, base.tie) == ("post", "relu", "sinusoidal", "all")
    assert (base.attention_dropout, base.activation_dropout) == (0, 0)


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"d_model": 0}, "d_model"),
        ({"d_ff": -1}, "d_ff"),
        ({"heads": 0}, "heads"),
        ({"encoder_layers": 0}, "encoder_layers"),
        ({"decoder_layers": 0}, "decoder_layers"),
        ({"heads": 5}, "model.heads = 5"),
        ({"dropout": 1.0}, "model.dropout = 1.0"),
        ({"dropout": -0.1}, "dropout"),
        ({"dropout": math.nan}, "dropout"),
        ({"attention_dropout": 1.5}, "attention_dropout"),
        ({"activation_dropout": 2}, "activation_dropout"),
        ({"source_vocab": 11}, "vocabularies of 11 and 19"),
        ({"source_vocab": -3, "target_vocab": -3}, "source_vocab"),
        ({"norm": "middle"}, "middle"),
        ({"activation": "silu"}, "silu"),
        ({"final_norm": False}, "final_norm"),
        ({"norm_epsilon": 0.0}, "norm_epsilon"),
        ({"norm_epsilon": math.inf}, "norm_epsilon"),
        ({"embedding_scale": 2}, "embedding_scale"),
        ({"positions": "spiral"}, "spiral"),
        ({"positions": "rotary", "heads": 4}, "rotary"),
        ({"window": 0}, "window"),
        ({"norm_kind": "batch"}, "batch"),
        ({"kv_heads": 2}, "model.heads = 3 is not a multiple of model.kv_heads = 2"),
        ({"kv_heads": 6}, "model.kv_heads = 6"),
        ({"kv_heads": 0}, "kv_heads"),
        ({"tie": "both"}, "both"),
        ({"pad_id": -1}, "pad_id"),
        ({"end_id": 19}, "end_id"),
    ],
)
def test_a_shape_that_makes_no_sense_is_an_error(changes: dict[str, Any], named: str) -> None:
    with pytest.raises(ConfigError) as caught:
        config(**changes)

    assert named in str(caught.value)
    assert caught.value.hint


def test_different_vocabularies_may_go_without_a_common_embedding() -> None:
    model = build_model(config(source_vocab=11, tie="decoder"))

    assert model.source_embedding.num_embeddings == 11
    assert model.logits.out_features == 19
