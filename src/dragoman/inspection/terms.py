"""Attention logits as a sum of terms of content and position.

With x = content + position, the logit q k^T / sqrt(D) is the sum of four products and a bias. The bias comes
from the biases of the projections and from positions inside attention. In the first layer of a post-norm
model that is all, unless it normalises embeddings. Other layers see the output of normalisations and of
earlier sub-layers. A normalisation is linear if its scale is fixed, here at its value for this sentence.
Earlier sub-layers mix content and position. Their contribution is the remainder.

The model's own modules compute everything.

B batch, T queries, S keys, H heads, D head width, E model width.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any, Literal

import torch
from torch import Tensor, nn

from dragoman.inspection.record import Stack, Terms
from dragoman.models.layers.window import AttentionView, FullView
from dragoman.models.seq2seq import AnySeq2Seq
from dragoman.models.shapes import SSRUConfig, TransformerConfig
from dragoman.models.transformer import (
    DecoderLayer,
    EncoderLayer,
    SelfAttention,
    Transformer,
    attention_logits,
)
from dragoman.text.tokenizers.tokenizer import Side

NAMES = ("content·content", "content·position", "position·content", "position·position", "bias", "remainder")
_LARGEST = 40_000  # numbers of a stack in a trace; the first layer is always included


@dataclass(frozen=True)
class _Parts:
    """x = content + position + constant + rest, where the rest comes from earlier sub-layers."""

    content: Tensor
    position: Tensor
    constant: Tensor

    def through(self, norm: nn.LayerNorm | nn.RMSNorm, x_BTE: Tensor) -> _Parts:
        """The parts after a normalisation that has the mean and scale of `x_BTE`."""
        if isinstance(norm, nn.RMSNorm):
            factor_BTE = (x_BTE.square().mean(-1, keepdim=True) + (norm.eps or 0)).rsqrt() * norm.weight
            return _Parts(*(part * factor_BTE for part in (self.content, self.position, self.constant)))
        scale_BT1 = (x_BTE.var(-1, correction=0, keepdim=True) + norm.eps).rsqrt()
        content, position, constant = (
            (part - part.mean(-1, keepdim=True)) * scale_BT1 * norm.weight
            for part in (self.content, self.position, self.constant)
        )
        return _Parts(content, position, constant + norm.bias)


def logit_terms(model: AnySeq2Seq, calls: Calls) -> Terms | None:
    """Return the terms of encoder and decoder, or None if the model is not a Transformer.

    A decoder without self-attention has none.

    `calls` is the record of `watching` while the model read one sentence and its translation.
    """
    if not isinstance(model, Transformer):
        return None
    stacks = (
        _stack("encoder", model.encoder, _embedded(model, calls, "source"), calls, model.config),
        _stack("decoder", model.decoder, _embedded(model, calls, "target"), calls, model.config),
    )
    return Terms(names=NAMES, stacks=tuple(stack for stack in stacks if stack is not None))


def _embedded(model: Transformer, calls: Calls, side: Side) -> _Parts:
    """Return the parts of the input of a stack, from one call of the positional encoding."""
    _, positions, norm = model.input_of(side)
    call = calls[positions][0 if side == "source" else -1]
    words_BTE, content = call.arguments[0], call.arguments[0]
    if model.config.positions in ("index", "fraction"):  # the position replaces a dimension of the word
        content = torch.cat((words_BTE[..., :-1], torch.zeros_like(words_BTE[..., -1:])), -1)
    parts = _Parts(content, call.output - content, torch.zeros_like(content))
    return parts.through(norm, call.output) if isinstance(norm, nn.LayerNorm | nn.RMSNorm) else parts


def _stack(
    kind: Literal["encoder", "decoder"],
    layers: Iterable[EncoderLayer | DecoderLayer],
    parts: _Parts,
    calls: Calls,
    config: TransformerConfig | SSRUConfig,
) -> Stack | None:
    normed = config.norm == "pre" or config.embedding_norm  # before the first attention
    values, logits, exact, notes = [], [], [], []
    stored = 0
    for number, layer in enumerate(layers):
        attention = layer.attention
        if not isinstance(attention, SelfAttention):
            return None
        pre, norm = layer.attention_residual.pre, layer.attention_residual.norm
        x_BTE, view = calls[attention][-1].arguments
        entered = parts.through(norm, _last(calls, norm)) if pre else parts
        terms_6HTS, logits_HTS = _terms(attention, entered, x_BTE, view)
        if number and stored + terms_6HTS.numel() > _LARGEST:
            break
        stored += terms_6HTS.numel()
        values.append(terms_6HTS)
        logits.append(logits_HTS)
        exact.append(not number and not normed and x_BTE.dtype in (torch.float32, torch.float64))
        notes.append(f"{_note(number, normed)} {_WITHIN.get(config.positions, '')}".strip())
        if not pre:
            between = [layer.cross_attention_residual] if isinstance(layer, DecoderLayer) else []
            for residual in (layer.attention_residual, *between, layer.feed_forward_residual):
                parts = parts.through(residual.norm, _last(calls, residual.norm))
    return Stack(
        kind=kind,
        causal=kind == "decoder",
        exact=tuple(exact),
        notes=tuple(notes),
        values=torch.stack(values).float().cpu().numpy(),
        logits=torch.stack(logits).float().cpu().numpy(),
    )


def _terms(
    attention: SelfAttention, parts: _Parts, x_BTE: Tensor, view: AttentionView
) -> tuple[Tensor, Tensor]:
    """Return (terms_6HTS, logits_HTS) of one sentence, 0 for hidden keys."""
    everything = FullView(x_BTE.new_zeros(1), x_BTE.shape[1])  # hidden keys are removed at the end
    turn = attention.positions.turn
    zero = attention.queries_keys_values(torch.zeros_like(x_BTE))  # the biases of the projections

    def projected(part: Tensor, *, bias: bool = False) -> tuple[Tensor, Tensor]:
        q, k, _ = attention.queries_keys_values(part)
        return (turn(q), turn(k)) if bias else (turn(q - zero[0]), turn(k - zero[1]))

    q, k = projected(x_BTE, bias=True)
    placed = attention.positions.bias(q, everything.distance_TS())
    qc, kc = projected(parts.content)
    qp, kp = projected(parts.position)
    qb, kb = projected(parts.constant, bias=True)
    logits = attention_logits(q, k, placed)
    four = [attention_logits(a, b) for a in (qc, qp) for b in (kc, kp)]
    known = attention_logits(qc + qp + qb, kc + kp + kb, placed)
    terms = torch.stack([*four, known - sum(four), logits - known])[:, 0]
    hidden = view.matrix((view.bias == 0).float()).broadcast_to(logits.shape)[0] == 0
    return terms.masked_fill(hidden, 0.0), logits[0].masked_fill(hidden, 0.0)


# Which term holds positions that are not part of the input.
_WITHIN = {
    "rotary": "Rotary positions rotate queries and keys, so they are part of content·content.",
    "relative": "Relative positions add the bias, which depends on content too.",
    "t5": "Positions add the bias.",
    "alibi": "Positions add the bias.",
    "none": "The model has no positions.",
}


def _note(number: int, normed: bool) -> str:
    if number:
        return (
            "Earlier layers mix content and position. Their contribution is the remainder. "
            "Normalisations keep the scale they had for this sentence."
        )
    if normed:
        return (
            "A normalisation precedes the first attention. Its scale depends on content and position "
            "together, and is fixed at its value for this sentence. With this scale the terms add up to "
            "the logit."
        )
    return "The sum of the terms is the logit."


@dataclass(frozen=True)
class ModuleCall:
    """One call of a module."""

    arguments: tuple[Any, ...]
    output: Any


Calls = dict[nn.Module, list[ModuleCall]]


def _last(calls: Calls, module: nn.Module) -> Tensor:
    """The input of the last call."""
    x_BTE: Tensor = calls[module][-1].arguments[0]
    return x_BTE


@contextmanager
def watching(model: AnySeq2Seq) -> Iterator[Calls]:
    """Record the calls of positions, self-attention and layer normalisations within the block.

    Records nothing for other architectures.
    """
    calls: Calls = {}

    def keep(module: nn.Module, arguments: tuple[Any, ...], output: Any) -> None:
        calls.setdefault(module, []).append(ModuleCall(arguments, output))

    with ExitStack() as hooks:
        if isinstance(model, Transformer):
            positions = model.positions, model.target_positions
            for module in model.modules():
                if module in positions or isinstance(module, SelfAttention | nn.LayerNorm | nn.RMSNorm):
                    hooks.enter_context(module.register_forward_hook(keep))
        yield calls
