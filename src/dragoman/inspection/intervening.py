"""Interventions in a model and in a search.

The model is not touched: a twin shares its weights and has hooks of its own. So another thread may use the
model meanwhile.

B batch, T positions, E model width, N rows of a search, V vocabulary.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from functools import partial
from typing import Any, cast

import torch
from torch import Tensor, nn

from dragoman.base.errors import ConfigError, DataError
from dragoman.inspection.intervention import LONGEST, Head, Intervention, TokenAt
from dragoman.inspection.record import Kind
from dragoman.models.convolutional import Convolutional
from dragoman.models.layers.positions import AttentionPositions, IndexPositions, NoPositions
from dragoman.models.recurrent import Recurrent
from dragoman.models.search.rule_masks import Mask
from dragoman.models.seq2seq import AnySeq2Seq
from dragoman.models.transformer import CrossAttention, MultiHead, SelfAttention, Transformer
from dragoman.text.tokenizers.tokenizer import Tokenizer
from dragoman.translation.search.options import Beam
from dragoman.translation.search.requests import never_generated_ids


def twin(model: AnySeq2Seq) -> AnySeq2Seq:
    """Return a model of its own that shares the weights in memory.

    It leaves out hooks, because they watch `model`, except on linear layers: adapters are such hooks.
    """
    module = cast(nn.Module, model)
    other = deepcopy(model, {id(one): one for one in (*module.parameters(), *module.buffers())})
    for part in other.modules():
        if not isinstance(part, nn.Linear):
            part._forward_hooks.clear()
            part._forward_pre_hooks.clear()
    return other


def intervened(model: AnySeq2Seq, intervention: Intervention) -> AnySeq2Seq:
    """Return the model, or a twin with the changes of the intervention.

    Raises ConfigError for heads and positions that the model does not have.
    """
    if not intervention.of_model:
        return model
    model = twin(model)
    for head in intervention.without:
        _switch_off(model, head)
    if intervention.shift:
        _shift(model, intervention.shift)
    if intervention.no_positions:
        _leave_out(model)
    return model


# Heads


def _switch_off(model: AnySeq2Seq, one: Head) -> None:
    """Set the head's part of the input of the output projection W^O to 0."""
    layers = _heads_of(model).get(one.kind)
    if not layers:
        has = ", ".join(_heads_of(model)) or "none"
        raise ConfigError(
            f"{one}: this {model.config.architecture} model has no {one.kind} heads",
            hint=f"kinds of attention with heads: {has}",
        )
    heads = layers[0].heads
    if one.layer > len(layers) or one.head > heads:
        raise ConfigError(
            f"this model has no head {one}",
            hint=f"the model has {one.kind} layers 1 to {len(layers)} with heads 1 to {heads}",
        )
    attention = layers[one.layer - 1]
    width = attention.width // heads
    part = slice((one.head - 1) * width, one.head * width)

    def silence(module: nn.Module, arguments: tuple[Tensor, ...]) -> Tensor:
        x_BTE = arguments[0].clone()
        x_BTE[..., part] = 0
        return x_BTE

    attention.output.register_forward_pre_hook(silence)


def _heads_of(model: AnySeq2Seq) -> Mapping[Kind, Sequence[MultiHead]]:
    """The attention of each layer that has heads, by kind."""
    found: dict[Kind, list[MultiHead]] = {}
    for name, module in model.named_modules():
        if isinstance(module, SelfAttention):
            found.setdefault("encoder" if name.startswith("encoder.") else "decoder", []).append(module)
        elif isinstance(module, CrossAttention):
            found.setdefault("cross", []).append(module)
    return found


# Positions of the source


def _shift(model: AnySeq2Seq, by: int) -> None:
    positions = _on_input(model)
    if isinstance(positions, NoPositions):
        raise ConfigError(
            f"positions cannot be shifted: this model knows {_kind(model)}, not positions",
            hint="a shift of all changes no distance; positions can be left out",
        )

    def later(module: nn.Module, arguments: tuple[Any, ...]) -> tuple[Any, ...]:
        x_BTE, start, *rest = arguments
        return x_BTE, start + by, *rest

    _while_reading(model, partial(positions.register_forward_pre_hook, later))


def _leave_out(model: AnySeq2Seq) -> None:
    positions = _on_input(model)

    def plain(module: nn.Module, arguments: tuple[Any, ...], output: Tensor) -> Tensor:
        x_BTE: Tensor = arguments[0]
        if isinstance(module, IndexPositions):  # the number has the last dimension for itself
            return torch.cat((x_BTE[..., :-1], torch.zeros_like(x_BTE[..., -1:])), -1)
        return x_BTE

    if not isinstance(positions, NoPositions):
        # First of the hooks, so that recording hooks see the input of the model.
        _while_reading(model, partial(positions.register_forward_hook, plain, prepend=True))
    for attention in _heads_of(model).get("encoder", ()):
        if isinstance(attention, SelfAttention):
            attention.positions = AttentionPositions()


def _on_input(model: AnySeq2Seq) -> nn.Module:
    """The module that adds positions to source tokens. Raises ConfigError for a model without positions."""
    if isinstance(model, Recurrent) or _kind(model) == "none":
        raise ConfigError(
            f"this {model.config.architecture} model has no positions to change",
            hint="leave them as they are",
        )
    if isinstance(model, Convolutional):
        return model.source_positions
    return cast(Transformer, model).positions


def _kind(model: AnySeq2Seq) -> str:
    kind: str = cast(Any, model.config).positions
    return "distances" if kind in ("relative", "t5", "alibi", "rotary") else kind


def _while_reading(model: AnySeq2Seq, hook: Callable[[], Any]) -> None:
    """Have the hook in place while the model reads a source, because the decoder may use the same module."""
    encode = model.encode

    def reading(source_BS: Tensor, source_len_B: Tensor) -> Any:
        with hook():
            return encode(source_BS, source_len_B)

    cast(Any, model).encode = reading  # of this one object


# Tokens


class Choices:
    """The tokens that a search must and must not take, as the tokenizer of a model writes them."""

    def __init__(self, intervention: Intervention, tokenizer: Tokenizer, how: Beam, config: Any) -> None:
        """Raises ConfigError for tokens that cannot be generated, DataError for text that has no tokens."""
        self.forced: dict[int, int] = {}  # token by step, counted from 0
        self.banned: list[tuple[int | None, list[int]]] = []  # step of the first, counted from 0, and tokens
        self._never = never_generated_ids(config, how)
        self._vocab, self._end_id = config.target_vocab, config.end_id
        for one in intervention.force:
            for step, token in enumerate(self._tokens(one, tokenizer), (one.step or 1) - 1):
                if self.forced.setdefault(step, token) != token:
                    raise ConfigError(f"step {step + 1} is forced twice", hint="force one token at each step")
                if step >= LONGEST:
                    raise ConfigError(f"{one} goes beyond step {LONGEST}", hint="force an earlier step")
        for one in intervention.ban:
            self.banned.append((None if one.step is None else one.step - 1, self._tokens(one, tokenizer)))
        for step, token in self.forced.items():
            if any(tokens == [token] and at in (None, step) for at, tokens in self.banned):
                raise ConfigError(f"step {step + 1}: a token is forced and banned", hint="leave one out")
        ends = [step for step, token in self.forced.items() if token == self._end_id]
        if ends and max(self.forced) > min(ends):
            raise ConfigError("a token is forced after the end", hint="force the end last")

    @property
    def least(self) -> int:
        """The least number of tokens of the translation."""
        return max((step + (token != self._end_id) for step, token in self.forced.items()), default=0)

    def check_prefix(self, tokens: int, *, marks: int) -> None:
        """Raise ConfigError if a step belongs to a prefix of that many tokens, the first of them `marks`."""
        steps = *self.forced, *(at for at, _ in self.banned if at is not None)
        if (first := min(steps, default=marks)) < marks:
            raise ConfigError(f"step {first + 1} is the mark of the language", hint="choose a later step")
        if any(step < tokens for step in self.forced):
            raise ConfigError(
                f"a token is forced within the prefix, which has {tokens} tokens",
                hint="leave out the prefix, or force a later step",
            )

    def over(self, then: Mask | None, *, begun: int = 0) -> Mask | None:
        """Return a mask that applies `then` and these choices. A prefix, of `begun` tokens, may have all."""
        if not self.forced and not self.banned:
            return then
        last = max(self.forced, default=-1)

        def mask(prefix_NT: Tensor, logp_NV: Tensor, sentence_N: Tensor) -> Tensor:
            step = prefix_NT.shape[1]
            if (token := self.forced.get(step)) is not None:
                only_NV = torch.full_like(logp_NV, -math.inf)
                only_NV[:, token] = logp_NV[:, token]
                return only_NV
            if then is not None:
                logp_NV = then(prefix_NT, logp_NV, sentence_N)
            for at, (*before, token) in self.banned if step >= begun else ():
                if at in (None, step - len(before)) and len(before) <= step:
                    ends_NB = prefix_NT[:, step - len(before) :] == prefix_NT.new_tensor(before)
                    logp_NV[ends_NB.all(1), token] = -math.inf
            if step < last:
                logp_NV[:, self._end_id] = -math.inf
            return logp_NV

        return mask

    def _tokens(self, one: TokenAt, tokenizer: Tokenizer) -> list[int]:
        tokens = [one.token] if isinstance(one.token, int) else tokens_of_text(one.token, tokenizer)
        for token in tokens:
            if not 0 <= token < self._vocab:
                raise ConfigError(f"token {token}, of a vocabulary of {self._vocab}", hint="give its text")
            if token in self._never:
                raise ConfigError(f"token {token} is never generated", hint="choose another token")
        return tokens


def tokens_of_text(text: str, tokenizer: Tokenizer) -> list[int]:
    """Return the tokens of a word or several; text that begins with ▁ or < may be a piece as it is.

    Raises DataError if the vocabulary cannot spell it.
    """
    if text[0] in "▁<":
        pieces = tokenizer.target_pieces(range(tokenizer.target_size))
        if text in pieces:
            return [pieces.index(text)]
    (tokens,) = tokenizer.encode_target([text.strip()])
    if not tokens or tokenizer.unk_id in tokens:
        raise DataError(
            f"{text!r}: the tokenizer of this model cannot spell it",
            hint="use words and characters that the training text has",
        )
    return tokens
