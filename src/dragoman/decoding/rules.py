"""Rules: what a translation must and must not say, as masks on the next token's log-probabilities.

A rule is a function (prefix_NT, logp_NV, sentence_N) -> logp_NV. `prefix_NT` is what each row has said
so far, without the start token; `sentence_N` is the index of the row's sentence in the memory. A rule
may write into `logp_NV`. It sets what it forbids to -inf and does not renormalise the rest, so that
what a search returns has the score that the model gives it.

Where rules leave a row nothing to say, search ends it. Rules are applied in order.

N rows, T tokens so far, V vocabulary, B sentences, P prefix length, W windows.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from dragoman.base.errors import ConfigError

Rule = Callable[[Tensor, Tensor, Tensor], Tensor]


def forced_prefix(prefixes: Sequence[Sequence[int]], then: Sequence[Rule] = ()) -> Rule:
    """Sentence b's translation begins with the tokens `prefixes[b]`, which may be none.

    The rules `then` hold after the prefix and do not touch it: a prefix may repeat an n-gram, for
    instance, which they forbid the model.
    """
    longest = max(map(len, prefixes), default=0)
    prefix_BP = torch.tensor(
        [[*prefix, *[0] * (longest - len(prefix))] for prefix in prefixes], dtype=torch.int64
    ).view(len(prefixes), longest)
    length_B = torch.tensor([len(prefix) for prefix in prefixes], dtype=torch.int64)
    least, greatest = (int(prefix_BP.min()), int(prefix_BP.max())) if longest else (0, 0)

    def rule(prefix_NT: Tensor, logp_NV: Tensor, sentence_N: Tensor) -> Tensor:
        position, vocab = prefix_NT.shape[1], logp_NV.shape[1]
        if not 0 <= least <= greatest < vocab:
            raise ConfigError(
                f"forced prefix: tokens from {least} to {greatest}, of a vocabulary of {vocab}",
                hint="encode the prefix with the tokenizer of this model",
            )
        if position >= longest:
            return _all(then, prefix_NT, logp_NV, sentence_N)
        sentence_N = sentence_N.to(length_B.device)
        forced_N = (length_B[sentence_N] > position).to(logp_NV.device)
        token_N1 = prefix_BP[sentence_N, position, None].to(logp_NV.device)
        own_N1 = logp_NV.gather(1, token_N1)
        free_NV = logp_NV
        if then and not bool(forced_N.all()):
            free_NV = _all(then, prefix_NT, logp_NV, sentence_N.to(logp_NV.device))
        only_NV = torch.full_like(logp_NV, -math.inf).scatter_(1, token_N1, own_N1)
        return torch.where(forced_N[:, None], only_NV, free_NV)

    return rule


def minimum_length(length: int, end_id: int) -> Rule:
    """No end before `length` tokens, the end not counted."""

    def rule(prefix_NT: Tensor, logp_NV: Tensor, sentence_N: Tensor) -> Tensor:
        if prefix_NT.shape[1] < length:
            logp_NV[:, end_id] = -math.inf
        return logp_NV

    return rule


def no_repeated_ngrams(n: int) -> Rule:
    """No sequence of `n` tokens twice (Paulus et al. 2017, section 2.5). The end is no part of any."""
    if n < 1:
        raise ConfigError(f"no repeated n-grams of {n} tokens", hint="n is at least 1")

    def rule(prefix_NT: Tensor, logp_NV: Tensor, sentence_N: Tensor) -> Tensor:
        said = prefix_NT.shape[1]
        if said < n:  # the first n-gram has nothing to repeat
            return logp_NV
        window_NWn = prefix_NT.unfold(1, n, 1)
        context_N1n = prefix_NT[:, None, said - n + 1 :]
        row_M, window_M = (window_NWn[:, :, :-1] == context_N1n).all(-1).nonzero(as_tuple=True)
        logp_NV[row_M, window_NWn[row_M, window_M, -1]] = -math.inf
        return logp_NV

    return rule


def banned(tokens: Sequence[int]) -> Rule:
    """None of these tokens, ever."""
    token_M = torch.tensor(list(tokens), dtype=torch.int64)

    def rule(prefix_NT: Tensor, logp_NV: Tensor, sentence_N: Tensor) -> Tensor:
        logp_NV[:, token_M.to(logp_NV.device)] = -math.inf
        return logp_NV

    return rule


def _all(rules: Sequence[Rule], prefix_NT: Tensor, logp_NV: Tensor, sentence_N: Tensor) -> Tensor:
    for rule in rules:
        logp_NV = rule(prefix_NT, logp_NV, sentence_N)
    return logp_NV
