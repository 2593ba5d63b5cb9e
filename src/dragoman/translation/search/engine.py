"""The interface of engines: requests of token ids in, hypotheses out. Plain data; imports no torch.

`PyTorchEngine` in `models/search/engine.py` is the reference for every other engine.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from dragoman.base.errors import ModelError
from dragoman.translation.search.options import AttentionOf, Beam, Sample
from dragoman.translation.search.rules import Rule

Tokens = Sequence[int]


@dataclass(frozen=True, kw_only=True)
class Request:
    """One sentence to translate."""

    source: Tokens  # ids without start and end
    how: Beam | Sample
    max_tokens: int  # length limit of the translation, raised if its prefix and other rules need more
    rules: tuple[Rule, ...] = ()
    attention: AttentionOf | None = None  # the cross-attention to return with each hypothesis
    shortlist: tuple[int, ...] | None = None
    """Target ids that may be generated, sorted; None for all. The end and the tokens of a prefix, of `Once`
    and of `Phrases` always may.

    The probabilities are normalised over these alone.
    """
    unscored: int = 0
    """Tokens of the prefix, from the first on, whose log-probability counts as 0: they are no choice of the
    model, such as the mark of a target language.
    """


@dataclass(frozen=True)
class Hypothesis:
    """A finished translation, as tokens."""

    tokens: tuple[int, ...]  # without start and end
    score: float  # logp, normalised for length
    logp: float  # log-probability in nats, the end token's included
    token_logp: tuple[float, ...]  # one for each token, then the end token's
    truncated: bool  # the length limit ended it, not the end token
    attention: tuple[tuple[float, ...], ...] = ()
    """Weights of the requested cross-attention: one row for each token, then one for the end.

    A row has one weight for each source token, then one for the end of the source.
    """


NOTHING = Hypothesis((), 0.0, 0.0, (), False)  # the answer to an empty source


def without_start(hypothesis: Hypothesis, start: int, how: Beam | None = None) -> Hypothesis:
    """The hypothesis without its first tokens, the mark of a language.

    A search has not counted their log-probability. For given tokens, `how` says how to normalise the rest.
    """
    if not start or not hypothesis.token_logp:
        return hypothesis
    score, logp, own = hypothesis.score, hypothesis.logp, hypothesis.token_logp[start:]
    if how is not None:
        logp = math.fsum(own)
        score = how.normalise(logp, len(hypothesis.token_logp))
    return replace(
        hypothesis,
        tokens=hypothesis.tokens[start:],
        score=score,
        logp=logp,
        token_logp=own,
        attention=hypothesis.attention[start:],
    )


def no_probabilities(tokens: int) -> ModelError:
    """The error of a model whose logits are no numbers after so many tokens."""
    return ModelError(
        f"search: the model gives no probabilities after {tokens} tokens "
        "(its logits are NaN, infinite, or all -inf)",
        hint="are its weights damaged? Train again, or load another checkpoint",
    )


def no_translation() -> ModelError:
    """The error of a search that finds nothing."""
    return ModelError(
        "search: the model gives every translation of a sentence probability 0",
        hint="are its weights damaged, or do the rules forbid what they force?",
    )


class Engine(Protocol):
    """Translates requests.

    The tokens of an answer do not depend on the other sentences of a batch. Its scores differ at most by
    rounding.
    """

    def search(
        self, requests: Iterable[Request], *, batch_tokens: int = 4096, lookahead: int = 4096
    ) -> Iterator[tuple[int, list[Hypothesis]]]:
        """Yield (number of the request, its hypotheses, best first) as requests finish, in any order.

        A request gets `how.n_best` hypotheses, or as many as exist. An empty source gets `NOTHING`
        without running the model. At most `lookahead` requests are read before their answers are given;
        a batch holds at most `batch_tokens` source tokens, padding and rows counted, but at least one
        sentence. Raises ConfigError for a token, a rule or a shortlist that does not fit the vocabulary
        and for an attention that the model does not have, ModelError if the model gives no probabilities.
        """
        ...

    def score(
        self,
        pairs: Iterable[tuple[Tokens, Tokens]],
        how: Beam,
        *,
        attention: AttentionOf | None = None,
        batch_tokens: int = 2048,
    ) -> Iterator[tuple[int, Hypothesis]]:
        """Yield (number of the pair, its target as a hypothesis), in any order.

        The scores equal the scores of `search` for the same tokens. A pair of two empty sides gets `NOTHING`.
        """
        ...
