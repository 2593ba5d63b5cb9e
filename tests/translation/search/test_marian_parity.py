"""Weights copied from Hugging Face's MarianMTModel give the same logits and the same translations.

Marian is the paper's post-norm Transformer with biases in attention and output, sines before cosines,
tied embeddings, and padding for a start token.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from dragoman.models.search.beam import search
from dragoman.models.search.rule_masks import Mask
from dragoman.models.shapes import TransformerConfig
from dragoman.models.transformer import Transformer
from dragoman.translation.search.options import Beam

transformers = pytest.importorskip("transformers", reason="transformers, the reference, is not installed")

END, PAD, VOCAB = 0, 59, 60
LENGTHS = (7, 1, 12, 4, 9, 9, 2)
LIMIT = 14


def marian(seed: int, *, activation: str = "relu", loudness: float = 4.0) -> Any:
    config = transformers.MarianConfig(
        vocab_size=VOCAB,
        decoder_vocab_size=VOCAB,
        d_model=32,
        encoder_layers=2,
        decoder_layers=3,
        encoder_attention_heads=4,
        decoder_attention_heads=4,
        encoder_ffn_dim=48,
        decoder_ffn_dim=48,
        activation_function=activation,
        scale_embedding=True,
        max_position_embeddings=64,
        pad_token_id=PAD,
        decoder_start_token_id=PAD,
        eos_token_id=END,
        forced_eos_token_id=END,
        tie_word_embeddings=True,
        share_encoder_decoder_embeddings=True,
    )
    torch.manual_seed(seed)
    model = transformers.MarianMTModel(config).eval()
    with torch.no_grad():
        for name, weight in model.named_parameters():
            if "layer_norm" in name:
                weight.add_(0.1 * torch.randn_like(weight))
            elif "positions" not in name:
                quiet = "attn" in name or "bias" in name
                weight.normal_(std=0.1 if quiet else 0.8 if ".fc" in name else 0.3)
        # A model of random weights says one token for ever. Take away what it would say anyway, and
        # be loud about the rest; make it end now and then.
        model.model.decoder.layers[-1].final_layer_norm.weight.mul_(loudness)
        source_BS, target_BT = torch.randint(1, PAD, (2, 50, 8))
        always_V = model(input_ids=source_BS, decoder_input_ids=target_BT).logits.mean((0, 1))
        model.final_logits_bias.copy_(-always_V + torch.randn(VOCAB))
        model.final_logits_bias[:, END] += 2.0
    model.generation_config.bad_words_ids = [[PAD]]
    return model


def ours(reference: Any) -> Transformer:
    its = reference.config
    config = TransformerConfig(
        source_vocab=VOCAB,
        target_vocab=VOCAB,
        d_model=its.d_model,
        d_ff=its.encoder_ffn_dim,
        heads=its.encoder_attention_heads,
        encoder_layers=its.encoder_layers,
        decoder_layers=its.decoder_layers,
        activation=its.activation_function,
        positions="sinusoidal-halves",
        attention_bias=True,
        output_bias=True,
        pad_id=PAD,
        start_id=PAD,
        end_id=END,
    )
    model = Transformer(config).to(reference.dtype).eval()
    theirs = reference.state_dict()

    def copy(module: torch.nn.Module, *sources: str) -> None:
        """`module`'s weight and bias are those of `sources`, one below the other."""
        for part in ("weight", "bias"):
            getattr(module, part).copy_(torch.cat([theirs[f"{source}.{part}"] for source in sources]))

    def copy_attention(module: Any, source: str) -> None:
        copy(module.project, f"{source}.q_proj", f"{source}.k_proj", f"{source}.v_proj")
        copy(module.output, f"{source}.out_proj")

    with torch.no_grad():
        model.target_embedding.weight.copy_(theirs["model.shared.weight"])
        model.logits.bias.copy_(theirs["final_logits_bias"][0])
        for side in ("encoder", "decoder"):
            for i, layer in enumerate(getattr(model, side)):
                its_layer = f"model.{side}.layers.{i}"
                copy_attention(layer.attention, f"{its_layer}.self_attn")
                copy(layer.attention_residual.norm, f"{its_layer}.self_attn_layer_norm")
                if side == "decoder":
                    copy_attention(layer.cross_attention, f"{its_layer}.encoder_attn")
                    copy(layer.cross_attention_residual.norm, f"{its_layer}.encoder_attn_layer_norm")
                copy(layer.feed_forward.inner, f"{its_layer}.fc1")
                copy(layer.feed_forward.outer, f"{its_layer}.fc2")
                copy(layer.feed_forward_residual.norm, f"{its_layer}.final_layer_norm")
    return model


def batch(seed: int) -> tuple[Tensor, Tensor]:
    """source_BS and source_len_B, each source with the end behind it."""
    rng = np.random.default_rng(seed)
    rows = [[*rng.integers(1, PAD, n).tolist(), END, *[PAD] * (max(LENGTHS) - n)] for n in LENGTHS]
    return torch.tensor(rows), torch.tensor(LENGTHS) + 1


def free_at_the_limit(limit: int) -> Mask:
    """The end costs nothing at the limit, as Hugging Face has it; our search has it pay its price."""

    def mask(prefix_NT: Tensor, logp_NV: Tensor, sentence_N: Tensor) -> Tensor:
        if prefix_NT.shape[1] == limit:
            logp_NV.fill_(-math.inf)
            logp_NV[:, END] = 0.0
        return logp_NV

    return mask


@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float32, 1e-5), (torch.float64, 1e-10)], ids=str)
@pytest.mark.parametrize("activation", ["relu", "gelu"])
def test_the_logits_are_the_same(activation: str, dtype: torch.dtype, tolerance: float) -> None:
    reference = marian(1, activation=activation, loudness=1.0).to(dtype)
    model = ours(reference).to(dtype)
    source_BS, source_len_B = batch(1)
    rng = np.random.default_rng(2)
    target_BT = torch.tensor([[PAD, *rng.integers(1, PAD, 10).tolist()] for _ in LENGTHS])
    with torch.no_grad():
        its_BTV = reference(
            input_ids=source_BS, attention_mask=(source_BS != PAD).long(), decoder_input_ids=target_BT
        ).logits
        mine_BTV = model(source_BS, source_len_B, target_BT)

    assert its_BTV.std(0).mean() > 0.5  # there is something to compare
    assert its_BTV.std(1).mean() > 0.5
    torch.testing.assert_close(mine_BTV, its_BTV, rtol=0, atol=tolerance)


@pytest.mark.parametrize(
    ("size", "alpha"), [(1, 1.0), (4, 0.0), (4, 0.6), (4, 1.0), (6, 2.0)], ids=lambda value: str(value)
)
def test_the_translations_are_the_same(size: int, alpha: float) -> None:
    truncated, lengths = 0, set()
    for seed in range(4):
        reference = marian(seed)
        model = ours(reference)
        source_BS, source_len_B = batch(seed)
        its_BT = reference.generate(
            input_ids=source_BS,
            attention_mask=(source_BS != PAD).long(),
            num_beams=size,
            num_return_sequences=size,
            do_sample=False,
            early_stopping=size > 1,
            length_penalty=alpha,
            max_new_tokens=LIMIT + 1,
        )
        with torch.no_grad():
            memory = model.encode(source_BS, source_len_B)
        how = Beam(size=size, n_best=size, length_penalty=alpha, normalization="power")
        limit_B = torch.full_like(source_len_B, LIMIT)
        found = search(model, memory, how, limit_B=limit_B, mask=free_at_the_limit(LIMIT))

        its = [tuple(token for token in row if token not in (PAD, END)) for row in its_BT.tolist()]
        mine = [one.tokens for hypotheses in found for one in hypotheses]
        assert mine == its
        truncated += sum(len(tokens) == LIMIT for tokens in mine)
        lengths |= set(map(len, mine))
    assert truncated > 0
    assert len(lengths) > 8  # both ways to finish were seen, at many lengths
