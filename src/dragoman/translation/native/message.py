"""Requests as `dragoman_submit` in cpp/api.cpp reads them: whole numbers, and fractions."""

from __future__ import annotations

import sys
from array import array
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from dragoman.base.errors import ConfigError
from dragoman.models.shapes import SSRUConfig, TransformerConfig
from dragoman.translation.native.library import NORMALIZATIONS, STOPS
from dragoman.translation.search.engine import Request, Tokens
from dragoman.translation.search.options import AttentionOf, Beam, Sample
from dragoman.translation.search.phrases import Tracker
from dragoman.translation.search.requests import (
    check_ids,
    check_phrases,
    check_required,
    check_tokens,
    draw_key,
    limit_of,
    never_generated_ids,
    phrases_of,
    prefix_of,
    required_of,
    tokens_of,
    tracker_of,
)
from dragoman.translation.search.rules import Banned, MinimumLength, NoRepeatedNgram

Message = tuple[list[int], Sequence[float]]

_MOST_ROWS = 1_000_000  # of a sentence, in a batch
_INT = 2**30  # more than any sentence has tokens, and still an int32
_BEAM, _SAMPLE, _SCORE = range(3)


class _Head(NamedTuple):
    """`Head` of cpp/api.cpp, without the number of the request and the lengths of its lists."""

    kind: int
    size: int = 1
    wide: int = 1
    n_best: int = 1
    stop: int = 0
    normalization: int = 0
    top_k: int = 0
    renormalise: int = False
    limit: int = 0
    minimum: int = 0
    layer: int = -1
    head: int = -1
    ruled: int = False
    within: int = -1
    unscored: int = 0


class Pair(NamedTuple):
    """A translation to score."""

    source: Tokens
    target: Tokens
    how: Beam
    attention: AttentionOf | None


def message_of(config: TransformerConfig | SSRUConfig, request: Request | Pair) -> Message:
    """Return a request for a model of this shape.

    Raises ConfigError for tokens, options and rules that do not fit the model.
    """
    check_ids("source", [request.source], config.source_vocab)
    if isinstance(request, Pair):
        check_ids("target", [request.target], config.target_vocab)
        return _score_message(config, request)
    return _search_message(config, request)


def _search_message(config: TransformerConfig | SSRUConfig, request: Request) -> Message:
    how, prefix, limit = request.how, prefix_of(request.rules), limit_of(request)
    vocab = config.target_vocab
    if how.rows > _MOST_ROWS:
        raise ConfigError(
            f"{how.rows:,} translations of a sentence at once", hint=f"at most {_MOST_ROWS:,} are possible"
        )
    check_tokens("forced prefix", prefix, vocab)
    check_required(request, config)
    check_phrases(request, config)
    required, tracker = required_of(request.rules), tracker_of(request.rules)
    minimum = 0
    ngrams: list[int] = []
    banned: list[int] = []
    for rule in request.rules:
        match rule:
            case MinimumLength(tokens):
                minimum = max(minimum, tokens)
            case NoRepeatedNgram(n):
                ngrams.append(min(n, _INT))
            case Banned(tokens=ids):
                check_tokens("banned tokens", ids, vocab)
                banned += ids
    shortlist: list[int] | None = None
    if request.shortlist is not None:
        check_tokens("shortlist", request.shortlist, vocab)
        shortlist = sorted(
            {*request.shortlist, *prefix, *required, *tokens_of(phrases_of(request.rules)), config.end_id}
        )
    layer, number = _attention(config, request.attention)
    head = _Head(
        kind=_BEAM,
        wide=how.rows if tracker is None else tracker.rows(how.rows),
        n_best=how.n_best,
        renormalise=how.renormalize,
        limit=min(limit, _INT),
        minimum=min(minimum, _INT),
        layer=layer,
        head=number,
        ruled=bool(request.rules),
        within=-1 if tracker is None or tracker.within is None else min(tracker.within, _INT),
        unscored=request.unscored,
    )
    draws: Sequence[int] = ()
    match how:
        case Beam():
            normalization = NORMALIZATIONS.index(how.normalization)
            head = head._replace(size=how.size, stop=STOPS.index(how.stop), normalization=normalization)
            fractions = (how.length_penalty, 1.0, 1.0)
        case Sample():
            head = head._replace(kind=_SAMPLE, top_k=min(how.top_k, vocab))
            fractions, draws = (0.0, how.temperature, how.top_p), _generators(how, request.source)
    return _message(
        config, head, source=request.source, prefix=prefix, ngrams=ngrams, banned=sorted(set(banned)),
        required=required, tracker=tracker, never=never_generated_ids(config, how), draws=draws,
        shortlist=shortlist, fractions=fractions,
    )  # fmt: skip


def _score_message(config: TransformerConfig | SSRUConfig, pair: Pair) -> Message:
    how = pair.how
    layer, number = _attention(config, pair.attention)
    head = _Head(
        kind=_SCORE,
        normalization=NORMALIZATIONS.index(how.normalization),
        renormalise=how.renormalize,
        limit=len(pair.target),
        layer=layer,
        head=number,
    )
    never, fractions = never_generated_ids(config, how), (how.length_penalty, 1.0, 1.0)
    return _message(config, head, source=pair.source, prefix=pair.target, never=never, fractions=fractions)


def _message(
    config: TransformerConfig | SSRUConfig,
    head: _Head,
    *,
    source: Tokens,
    prefix: Tokens,
    never: Sequence[int],
    fractions: Sequence[float],
    ngrams: Sequence[int] = (),
    banned: Sequence[int] = (),
    required: Sequence[int] = (),
    tracker: Tracker | None = None,
    draws: Sequence[int] = (),
    shortlist: Sequence[int] | None = None,
) -> Message:
    """Lay out `Head` of cpp/api.cpp, without the key, and its lists."""
    phrases = () if tracker is None else _phrases(tracker)
    joining = () if tracker is None else _sorted(tracker.joining)
    lists = ([*source, config.end_id], prefix, ngrams, banned, required, phrases, joining, never, draws)
    numbers = [*head, *map(len, lists), -1 if shortlist is None else len(shortlist)]
    for one in lists:
        numbers += one
    numbers += shortlist or ()
    return numbers, fractions


def _phrases(tracker: Tracker) -> list[int]:
    """Lay out the phrases as `Tracker` of cpp/phrases.h reads them."""
    numbers: list[int] = []
    for matcher in tracker.matchers:
        numbers += matcher.times, bool(matcher.joining), len(matcher.forms)
        for form in matcher.forms:
            numbers += len(form), *form
    return numbers


@lru_cache(maxsize=16)  # half a vocabulary, the same for every sentence
def _sorted(ids: frozenset[int]) -> tuple[int, ...]:
    return tuple(sorted(ids))


def _generators(how: Sample, source: Tokens) -> list[int]:
    """Where the random numbers of each draw begin, the same numbers as in `models/search/sampling.py`.

    NumPy's PCG64 has a state and an increment of 128 bits. Each is four int32, the lowest first.
    """
    import numpy as np

    key, words = draw_key(source), array("i")
    for sample in range(how.n_best):
        place = np.random.PCG64((how.seed, key, sample)).state["state"]
        for name in ("state", "inc"):
            words.frombytes(place[name].to_bytes(16, "little"))
    if sys.byteorder == "big":
        words.byteswap()
    return words.tolist()


def _attention(config: TransformerConfig | SSRUConfig, asked: AttentionOf | None) -> tuple[int, int]:
    """Layer and head of the cross-attention to return, counted from 0; -1 for neither and for the mean."""
    if asked is None:
        return -1, -1
    asked.check(config.decoder_layers, config.heads)
    return asked.layer - 1, -1 if asked.head is None else asked.head - 1
