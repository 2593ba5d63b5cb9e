"""Build a Trace from a model and a sentence, with hooks and the model's own functions.

First a search translates the sentence and is recorded. Then source and translation go through the model
again, teacher-forced, so that every array has one row per token.

L layers, H heads, Q queries, K keys, S source tokens, T target tokens, V vocabulary.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import Any, get_args

import numpy as np
import torch
from torch import Tensor, nn

from dragoman.base.config import to_table
from dragoman.base.errors import ConfigError, DataError
from dragoman.decoding.attention import source_weights
from dragoman.decoding.engine import Hypothesis, Request
from dragoman.decoding.masks import mask_of
from dragoman.decoding.options import Beam
from dragoman.decoding.pytorch import pad
from dragoman.decoding.requests import limit_of, trackers_of
from dragoman.decoding.rules import Prefix, Rule, keeping
from dragoman.decoding.scoring import score
from dragoman.decoding.search import search
from dragoman.folder.bundle import Bundle
from dragoman.inspection import terms
from dragoman.inspection.arrays import Array
from dragoman.inspection.beam import Recorder
from dragoman.inspection.positions import positions_of
from dragoman.inspection.record import (
    Alternative,
    Attention,
    Found,
    Kind,
    Model,
    Step,
    Text,
    Token,
    Word,
)
from dragoman.inspection.trace import Trace
from dragoman.models.convolutional import ConvolutionalAttention
from dragoman.models.mode import evaluating
from dragoman.models.recurrent import RecurrentAttention
from dragoman.models.seq2seq import AnySeq2Seq
from dragoman.models.transformer import CrossAttention, SelfAttention, attention_weights
from dragoman.text.spans import Span, words_of
from dragoman.text.tokenizer import Tokenizer
from dragoman.version import __version__

ALTERNATIVES = 20  # of each step
_WIDEST = 50  # beam
_LONGEST = 512  # tokens of each side, because the attention of all layers is kept


def inspect(
    bundle: Bundle,
    text: str,
    *,
    target: str | None = None,
    beam: Beam | None = None,
    prefix: Sequence[int] = (),
    rules: Sequence[Rule] = (),
    max_extra_tokens: int = 50,
    name: str = "",
) -> Trace:
    """Return the trace of `text` and its translation, or of `target`, in which case no search runs.

    `prefix` and `rules` apply to the search. `name` is the name of the model, by default its languages.
    Raises DataError for text without tokens or with more than 512, ConfigError for a beam above 50, because
    a step of the tree has about the square of the beam in nodes.
    """
    tokenizer, how = bundle.tokenizer, beam or bundle.generation
    if how.size > _WIDEST:
        raise ConfigError(
            f"a beam of {how.size} to inspect",
            hint=f"use at most {_WIDEST}, because every candidate is shown",
        )
    text = tokenizer.normalise([text.strip()], "source")[0]
    source = _encoded(tokenizer.encode_source([text])[0], "the text")
    model = bundle.model
    device = model.device
    pair = pad([source], model.config.pad_id, model.config.end_id, device)
    with torch.no_grad(), evaluating(model):
        tree = None
        if target is None:
            recorder = Recorder(how, model.config.end_id, _speller(tokenizer))
            request = Request(
                source=source, how=how, max_tokens=len(source) + max_extra_tokens,
                rules=(Prefix(tuple(prefix)), *rules, *keeping(source, tokenizer.placeholders)),
            )  # fmt: skip
            hypotheses = _search(model, *pair, request, recorder)
            tree = recorder.tree(hypotheses[0])
        else:
            tokens = _encoded(tokenizer.encode_target([target.strip()])[0], "the translation")
            hypotheses = score(model, *pair, [tokens], how)
        predicted = hypotheses[0].tokens
        inputs = torch.tensor([[model.config.start_id, *predicted]], device=device)

        with _weights(model) as weights, terms.watching(model) as calls:
            logits_TV = model.decode(inputs, model.encode(*pair))[0].float()
        logit_terms = terms.logit_terms(model, calls)

    attention = tuple(_attention(weights))
    pieces = tokenizer.source_pieces(source)
    start_id, end_id = model.config.start_id, model.config.end_id
    start_piece, end_piece = tokenizer.target_pieces([start_id, end_id])
    eos = end_id, end_piece
    source_side = _side(text, bundle.source_language, source, pieces, tokenizer.source_spans(text), eos)
    pieces, places = tokenizer.target_pieces(predicted), tokenizer.target_spans(predicted)
    target_text = tokenizer.decode(predicted)
    target_side = _side(target_text, bundle.target_language, predicted, pieces, places, eos)
    alignment, note = _alignment(attention, source_side, target_side)
    return Trace(
        dragoman=__version__,
        model=_model(bundle, name),
        search=to_table(how) if tree else {},
        source=source_side,
        target=target_side,
        inputs=(_special(start_id, start_piece), *target_side.tokens[:-1]),
        translations=tuple(
            Found(text=tokenizer.decode(one.tokens), score=one.score, logp=one.logp, truncated=one.truncated)
            for one in hypotheses
        ),
        attention=attention,
        steps=tuple(_steps(logits_TV, [*predicted, model.config.end_id], _speller(tokenizer))),
        alignment=alignment,
        alignment_note=note,
        beam=tree,
        positions=positions_of(model, max(len(source), len(predicted)) + 1),
        terms=logit_terms,
    )


def _model(bundle: Bundle, name: str) -> Model:
    languages = bundle.source_language, bundle.target_language
    return Model(
        title=name or " to ".join(languages),
        architecture=bundle.model.config.architecture,
        parameters=sum(weight.numel() for weight in bundle.model.parameters()),
        source_language=bundle.source_language,
        target_language=bundle.target_language,
        config=to_table(bundle.model.config),
    )


def _search(
    model: AnySeq2Seq,
    source_BS: Tensor,
    source_len_B: Tensor,
    request: Request,
    recorder: Recorder,
) -> list[Hypothesis]:
    """Return all translations that the beam finishes, best first."""
    memory, limit = model.encode(source_BS, source_len_B), limit_of(request)
    limit_B = torch.full_like(source_len_B, limit)
    everything = replace(request.how, n_best=request.how.rows)
    trackers_B = trackers_of([request.rules])
    mask = mask_of([request.rules], model.config.end_id, [limit], trackers_B)
    return search(
        model, memory, everything, limit_B=limit_B, mask=mask, watch=recorder.watch, trackers_B=trackers_B
    )[0]


def _encoded(tokens: list[int], what: str) -> list[int]:
    if not tokens:
        raise DataError(f"{what} is empty", hint="give a sentence in quotes")
    if len(tokens) > _LONGEST:
        raise DataError(
            f"{what} has {len(tokens)} tokens, at most {_LONGEST} can be inspected",
            hint="give one sentence, not a page",
        )
    return tokens


def _speller(tokenizer: Tokenizer) -> Callable[[int], tuple[str, str]]:
    """Return a function from a target token to its piece and its text."""

    def spell(token: int) -> tuple[str, str]:
        piece = tokenizer.target_pieces([token])[0]
        return piece, _shown(piece)

    return spell


def _shown(piece: str) -> str:
    return piece.replace("\u2581", " ").strip() or piece


def _side(
    text: str,
    language: str,
    ids: Sequence[int],
    pieces: Sequence[str],
    places: Sequence[Span],
    eos: tuple[int, str],
) -> Text:
    numbers = words_of(places, text)
    tokens = [
        Token(id=i, piece=piece, text=text[start:end], start=start, end=end, word=number)
        for i, piece, (start, end), number in zip(ids, pieces, places, numbers, strict=True)
    ]
    words: list[Word] = []
    for number in range(max((n for n in numbers if n is not None), default=-1) + 1):
        own = [place for place, n in zip(places, numbers, strict=True) if n == number]
        start, end = own[0][0], max(place[1] for place in own)
        words.append(Word(text=text[start:end], start=start, end=end))
    return Text(
        text=text,
        language=language,
        tokens=(*tokens, _special(*eos, len(text))),
        words=tuple(words),
    )


def _special(token: int, name: str, at: int = 0) -> Token:
    return Token(id=token, piece=name, text=name, start=at, end=at, word=None)


def _steps(
    logits_TV: Tensor, tokens: Sequence[int], spell: Callable[[int], tuple[str, str]]
) -> Iterator[Step]:
    logp_TV = logits_TV.log_softmax(-1)
    entropy_T = torch.special.entr(logp_TV.exp()).sum(-1).tolist()
    best = logp_TV.topk(min(ALTERNATIVES, logp_TV.shape[1]))
    for t, token in enumerate(tokens):
        piece, text = spell(token)
        logp = float(logp_TV[t, token])
        others = [
            Alternative(token=other, piece=spell(other)[0], text=spell(other)[1], probability=probability)
            for other, probability in zip(
                best.indices[t].tolist(), best.values[t].exp().tolist(), strict=True
            )
        ]
        yield Step(
            token=token,
            piece=piece,
            text=text,
            probability=float(np.exp(logp)),
            logp=logp,
            entropy=entropy_T[t],
            alternatives=tuple(others),
        )


_Weights = dict[str, list[Tensor]]


@contextmanager
def _weights(model: AnySeq2Seq) -> Iterator[_Weights]:
    """Record the weights (H, Q, K) of each attention within the block, by kind, in the order of layers."""
    weights: _Weights = {}

    def keep(kind: str, module: nn.Module, arguments: tuple[Any, ...], output: Any) -> None:
        weights.setdefault(kind, []).append(_weights_of(module, arguments, output))

    handles = []
    for name, module in model.named_modules():
        if isinstance(module, SelfAttention | CrossAttention | RecurrentAttention | ConvolutionalAttention):
            kind = name.split(".")[0] if isinstance(module, SelfAttention) else "cross"
            handles.append(module.register_forward_hook(partial(keep, kind)))
    try:
        yield weights
    finally:
        for handle in handles:
            handle.remove()


def _weights_of(module: nn.Module, arguments: tuple[Any, ...], output: Tensor) -> Tensor:
    """Return the attention weights (H, Q, K) of this call for one sentence, 0 for hidden keys."""
    match module:
        case SelfAttention():
            x_BTE, view = arguments
            q, k, _ = module.laid_out(x_BTE, view)
            bias = module.positions.added(view.bias, q, view.distance_TS)
            weights: Tensor = view.matrix(attention_weights(q, k, bias))
            return weights[0]
        case _:
            return source_weights(module, arguments, output)[0]


def _attention(weights: _Weights) -> Iterator[Attention]:
    for kind in get_args(Kind):
        if kind in weights:
            weights_LHQK = torch.stack(weights[kind]).float().cpu().numpy()
            yield Attention(
                kind=kind,
                queries="source" if kind == "encoder" else "inputs",
                keys="inputs" if kind == "decoder" else "source",
                causal=kind == "decoder",
                weights=weights_LHQK,
            )


def _alignment(attention: Sequence[Attention], source: Text, target: Text) -> tuple[Array | None, str]:
    """Return the weights of target words on source words, and a note that says where they come from.

    The mean of the heads of the last layer but one aligns best in Transformers (Garg et al. 2019, section
    5.1). Weights are summed over the tokens of a source word and averaged over those of a target word.
    """
    cross = next((one for one in attention if one.kind == "cross"), None)
    if cross is None:
        return None, "This model has no attention to the source."
    layer = max(len(cross.weights) - 2, 0)
    weights_TS = cross.weights[layer].mean(0)
    of_target = _membership(target)
    per_word = of_target.sum(1, keepdims=True)
    alignment = (of_target @ weights_TS @ _membership(source).T) / np.maximum(per_word, 1)
    note = f"Attention to the source in decoder layer {layer + 1} of {len(cross.weights)}, mean of the heads."
    return alignment.astype(np.float32), note


def _membership(side: Text) -> Array:
    """Return a matrix with 1 where a token (column) belongs to a word (row)."""
    matrix = np.zeros((len(side.words), len(side.tokens)), dtype=np.float32)
    for column, token in enumerate(side.tokens):
        if token.word is not None:
            matrix[token.word, column] = 1
    return matrix
