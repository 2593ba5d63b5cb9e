"""Rules as masks on the log-probabilities of the next token, for the PyTorch search.

A mask is a function (prefix_NT, logp_NV, sentence_N) -> logp_NV. `prefix_NT` holds the tokens of each row
so far, without the start; `sentence_N` is the number of the row's sentence in the batch. It sets forbidden
tokens to -inf, and may write into `logp_NV`.

N rows, T tokens so far, V vocabulary, B sentences, P prefix length or tokens of a rule, W windows, M entries
of logp_NV.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache

import torch
from torch import Tensor

from dragoman.models.shapes import ModelConfig
from dragoman.translation.search.options import Beam, Sample
from dragoman.translation.search.phrases import JOINING, OTHER, Tracker
from dragoman.translation.search.requests import (
    check_tokens,
    never_generated_ids,
    phrases_of,
    prefix_of,
    required_of,
    tokens_of,
    trackers_of,
)
from dragoman.translation.search.rules import (
    Banned,
    MinimumLength,
    NoRepeatedNgram,
    Once,
    Phrases,
    Prefix,
    Rule,
)

Mask = Callable[[Tensor, Tensor, Tensor], Tensor]


@lru_cache(maxsize=16)  # a search asks at every step
def never_generated(
    config: ModelConfig, how: Beam | Sample, device: torch.device | str | None = None
) -> Tensor:
    """The ids that no search generates: padding, start and `how.banned`, but never the end.

    Raises ConfigError for a banned token outside the vocabulary.
    """
    return torch.tensor(never_generated_ids(config, how), dtype=torch.int64, device=device)


def allowed_of(
    shortlists_B: Sequence[Sequence[int] | None], rules_B: Sequence[Sequence[Rule]], config: ModelConfig
) -> Tensor | None:
    """allowed_BV: the tokens in the shortlist of each sentence, those that its rules require, and the end.

    A sentence without a shortlist may use all.
    None if no sentence has a shortlist. Raises ConfigError for a token outside the vocabulary.
    """
    if all(shortlist is None for shortlist in shortlists_B):
        return None
    allowed_BV = torch.ones(len(shortlists_B), config.target_vocab, dtype=torch.bool)
    for allowed_V, shortlist, rules in zip(allowed_BV, shortlists_B, rules_B, strict=True):
        if shortlist is None:
            continue
        prefix = prefix_of(rules)
        required = (*required_of(rules), *tokens_of(phrases_of(rules)))
        check_tokens("shortlist", shortlist, config.target_vocab)
        check_tokens("forced prefix", prefix, config.target_vocab)
        check_tokens("tokens that must appear", required, config.target_vocab)
        allowed_V.zero_()
        allowed_V[[*shortlist, *prefix, *required, config.end_id]] = True
    return allowed_BV


def mask_of(
    rules_B: Sequence[Sequence[Rule]],
    end_id: int,
    limits: Sequence[int],
    trackers_B: Sequence[Tracker] | None = None,
    unscored_B: Sequence[int] = (),
) -> Mask | None:
    """Return one mask for a batch in which sentence b follows `rules_B[b]`; None without any rules.

    `limits[b]` is the length limit of sentence b. `trackers_B` come from the search, if it has some, and
    `unscored_B` from its requests.
    """
    members: dict[Rule, list[int]] = {}
    for sentence, rules in enumerate(rules_B):
        for rule in dict.fromkeys(rules):  # once, even if it is given twice
            members.setdefault(rule, []).append(sentence)
    masks = [
        _only(mask_of_rule(rule, end_id), sentences, len(rules_B))
        for rule, sentences in members.items()
        if not isinstance(rule, Prefix | Once | Phrases)
    ]
    required_B = [required_of(rules) for rules in rules_B]
    if any(required_B):
        masks.append(once(required_B, end_id, limits))
    trackers_B = trackers_of(rules_B) if trackers_B is None else trackers_B
    if trackers_B is not None:
        masks = [with_phrases(trackers_B, end_id, limits, _all(masks))]
    mask = _all(masks) if masks else None
    prefix_B = [prefix_of(rules) for rules in rules_B]
    return forced(prefix_B, then=mask, unscored_B=unscored_B) if any(prefix_B) else mask


def mask_of_rule(rule: MinimumLength | NoRepeatedNgram | Banned, end_id: int) -> Mask:
    """Return the mask that applies the rule to every row."""
    match rule:
        case MinimumLength(tokens):
            return minimum_length(tokens, end_id)
        case NoRepeatedNgram(n):
            return no_repeated_ngrams(n)
        case Banned(tokens):
            return banned(tokens)


def forced(
    prefixes: Sequence[Sequence[int]], then: Mask | None = None, unscored_B: Sequence[int] = ()
) -> Mask:
    """Return a mask: sentence b begins with `prefixes[b]`, which may be empty, then `then` applies.

    The first `unscored_B[b]` tokens, if given, have the log-probability 0.
    Raises ConfigError, when called, for a token outside the vocabulary.
    """
    longest = max(map(len, prefixes), default=0)
    prefix_BP = torch.tensor(
        [[*prefix, *[0] * (longest - len(prefix))] for prefix in prefixes], dtype=torch.int64
    ).view(len(prefixes), longest)
    length_B = torch.tensor([len(prefix) for prefix in prefixes], dtype=torch.int64)
    costly_B = torch.tensor(unscored_B or [0] * len(prefixes), dtype=torch.int64)
    least, greatest = (int(prefix_BP.min()), int(prefix_BP.max())) if longest else (0, 0)

    def mask(prefix_NT: Tensor, logp_NV: Tensor, sentence_N: Tensor) -> Tensor:
        position, vocab = prefix_NT.shape[1], logp_NV.shape[1]
        check_tokens("forced prefix", (least, greatest), vocab)
        if position >= longest:
            return logp_NV if then is None else then(prefix_NT, logp_NV, sentence_N)
        forced_N = (length_B[sentence_N.to(length_B.device)] > position).to(logp_NV.device)
        token_N1 = prefix_BP[sentence_N.to(length_B.device), position, None].to(logp_NV.device)
        counts_N1 = (costly_B[sentence_N.to(costly_B.device), None] <= position).to(logp_NV.device)
        own_N1 = logp_NV.gather(1, token_N1).where(counts_N1, 0.0)
        free_NV = logp_NV
        if then is not None and not bool(forced_N.all()):
            free_NV = then(prefix_NT, logp_NV, sentence_N)
        only_NV = torch.full_like(logp_NV, -math.inf).scatter_(1, token_N1, own_N1)
        return torch.where(forced_N[:, None], only_NV, free_NV)

    return mask


def minimum_length(length: int, end_id: int) -> Mask:
    """Return a mask that forbids the end before `length` tokens."""

    def mask(prefix_NT: Tensor, logp_NV: Tensor, sentence_N: Tensor) -> Tensor:
        if prefix_NT.shape[1] < length:
            logp_NV[:, end_id] = -math.inf
        return logp_NV

    return mask


def no_repeated_ngrams(n: int) -> Mask:
    """Return a mask that forbids tokens that would complete an n-gram which the row already has."""

    def mask(prefix_NT: Tensor, logp_NV: Tensor, sentence_N: Tensor) -> Tensor:
        length = prefix_NT.shape[1]
        if length < n:  # the first n-gram has nothing to repeat
            return logp_NV
        window_NWn = prefix_NT.unfold(1, n, 1)
        context_N1n = prefix_NT[:, None, length - n + 1 :]
        row_M, window_M = (window_NWn[:, :, :-1] == context_N1n).all(-1).nonzero(as_tuple=True)
        logp_NV[row_M, window_NWn[row_M, window_M, -1]] = -math.inf
        return logp_NV

    return mask


def banned(tokens: Sequence[int]) -> Mask:
    """Return a mask that forbids these tokens."""
    token_M = torch.tensor(list(tokens), dtype=torch.int64)

    def mask(prefix_NT: Tensor, logp_NV: Tensor, sentence_N: Tensor) -> Tensor:
        check_tokens("banned tokens", tokens, logp_NV.shape[1])
        logp_NV[:, token_M.to(logp_NV.device)] = -math.inf
        return logp_NV

    return mask


def once(tokens_B: Sequence[Sequence[int]], end_id: int, limits: Sequence[int]) -> Mask:
    """Return a mask: sentence b has each of `tokens_B[b]`, which differ, once in its `limits[b]` tokens.

    Raises ConfigError, when called, for a token outside the vocabulary.
    """
    longest = max(map(len, tokens_B), default=0)
    token_BP = torch.tensor([[*tokens, *[-1] * (longest - len(tokens))] for tokens in tokens_B])
    limit_B = torch.tensor(limits)
    every = [token for tokens in tokens_B for token in tokens]

    def mask(prefix_NT: Tensor, logp_NV: Tensor, sentence_N: Tensor) -> Tensor:
        check_tokens("tokens that appear once", every, logp_NV.shape[1])
        token_NP = token_BP.to(logp_NV.device)[sentence_N]
        left_N = limit_B.to(logp_NV.device)[sentence_N] - prefix_NT.shape[1]
        used_NP = (prefix_NT[:, :, None] == token_NP[:, None]).any(1)
        missing_NP = (token_NP >= 0) & ~used_NP
        missing_N = missing_NP.sum(1)
        row_M, place_M = missing_NP.nonzero(as_tuple=True)
        missing_M = row_M, token_NP[row_M, place_M]
        own_M = logp_NV[missing_M]
        logp_NV[missing_N > 0, end_id] = -math.inf
        logp_NV[(missing_N > 0) & (missing_N >= left_N)] = -math.inf
        logp_NV[missing_M] = own_M
        row_M, place_M = used_NP.nonzero(as_tuple=True)
        logp_NV[row_M, token_NP[row_M, place_M]] = -math.inf
        return logp_NV

    return mask


def with_phrases(trackers_B: Sequence[Tracker], end_id: int, limits: Sequence[int], then: Mask) -> Mask:
    """Return a mask: `then` applies, but not to tokens that bring a phrase further; no end before the last.

    When the limit leaves room only for the phrases, nothing else may follow.
    """

    def mask(prefix_NT: Tensor, logp_NV: Tensor, sentence_N: Tensor) -> Tensor:
        prefixes, trackers = prefix_NT.tolist(), [trackers_B[sentence] for sentence in sentence_N.tolist()]
        place_N = [tracker.after(tuple(prefix)) for tracker, prefix in zip(trackers, prefixes, strict=True)]
        wanted = [(row, token) for row, place in enumerate(place_N) for token in place.wanted]
        row_M, token_M = torch.tensor(wanted, device=logp_NV.device, dtype=torch.int64).view(-1, 2).T
        own_M = logp_NV[row_M, token_M]
        logp_NV = then(prefix_NT, logp_NV, sentence_N)
        logp_NV[row_M, token_M] = own_M
        for row, (place, sentence) in enumerate(zip(place_N, sentence_N.tolist(), strict=True)):
            if not place.done:
                logp_NV[row, end_id] = -math.inf
            left = place.tracker.left(prefix_NT.shape[1], limits[sentence])
            if (possible := place.possible(left)) is not None:
                _only_possible(logp_NV[row], possible, place.tracker.joining, end_id)
        return logp_NV

    return mask


def _only_possible(logp_V: Tensor, possible: dict[int, bool], joining: Iterable[int], end_id: int) -> None:
    """Forbid the tokens that `PhrasePlace.possible` excludes, in place."""
    allowed_V = torch.full_like(logp_V, possible[OTHER], dtype=torch.bool)
    allowed_V[list(joining)] = possible[JOINING]
    for token, allowed in possible.items():
        if token >= 0:
            allowed_V[token] = allowed
    allowed_V[end_id] = True  # has its own rule
    logp_V.masked_fill_(~allowed_V, -math.inf)


def _only(mask: Mask, sentences: Sequence[int], count: int) -> Mask:
    """Return a mask that applies `mask` to the rows of these sentences, of `count` in the batch."""
    if len(sentences) == count:
        return mask
    member_B = torch.zeros(count, dtype=torch.bool)
    member_B[list(sentences)] = True

    def applied(prefix_NT: Tensor, logp_NV: Tensor, sentence_N: Tensor) -> Tensor:
        row_M = member_B.to(sentence_N.device)[sentence_N].nonzero()[:, 0]
        if len(row_M):
            logp_NV[row_M] = mask(prefix_NT[row_M], logp_NV[row_M], sentence_N[row_M])
        return logp_NV

    return applied


def _all(masks: Sequence[Mask]) -> Mask:
    """Return a mask that applies all masks in order."""

    def applied(prefix_NT: Tensor, logp_NV: Tensor, sentence_N: Tensor) -> Tensor:
        for mask in masks:
            logp_NV = mask(prefix_NT, logp_NV, sentence_N)
        return logp_NV

    return applied
