"""Score pairs of parallel text by two models, or by translating again.

Dual conditional cross-entropy (Junczys-Dowmunt 2018, "Dual Conditional Cross-Entropy Filtering of Noisy
Parallel Corpora", eq. 2 and 3): both directions should find a pair likely, and equally so.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from dragoman.base.errors import ConfigError
from dragoman.text.corpora.filter import FilterConfig, reason_to_leave_out
from dragoman.translation.search.mbr import sentence_chrf

if TYPE_CHECKING:
    from dragoman.translation.translator import Translator

Pair = tuple[str, str]  # source, target


@dataclass(frozen=True)
class PairScore:
    """The score of a pair, from 0 to 1, or why it has none; the greater the better."""

    score: float = 0.0
    entropies: tuple[float, ...] = ()  # forward and reverse cross-entropy in nats a token
    reason: str | None = None


def dual_score(forward: float, reverse: float) -> float:
    """exp(-(|f - r| + (f + r) / 2)) of two cross-entropies in nats a token: from 0 to 1, 1 is the best.

    Junczys-Dowmunt 2018, eq. 2 and 3.
    """
    return math.exp(-(abs(forward - reverse) + (forward + reverse) / 2))


def cross_entropy(token_logp: Sequence[float]) -> float:
    """The negative mean of log-probabilities in nats, the end token's among them."""
    return -math.fsum(token_logp) / len(token_logp)


@dataclass(frozen=True, kw_only=True)
class PairScorer:
    """Scores pairs by a model and, for "dual", one of the reverse direction.

    Pairs that `keep` leaves out have no score: their lengths are in tokens of `forward`. `source` and `to`
    are the languages of the pairs, for models of several.
    """

    forward: Translator
    reverse: Translator | None = None  # with it dual, otherwise round trip
    keep: FilterConfig = FilterConfig()
    source: str | None = None
    to: str | None = None
    batch_tokens: int = 2048

    def between(self, source: str | None, to: str | None) -> PairScorer:
        """The same for pairs in these languages. Raises ConfigError if one is needed and not known."""
        if not (source and to) and any(one and one.several for one in (self.forward, self.reverse)):
            raise ConfigError(
                "the names do not say which languages these are, and the model has several",
                hint="pass --source-language and --target-language, or name the files train.en train.de",
            )
        return replace(self, source=source, to=to)

    def scores(self, pairs: Sequence[Pair]) -> list[PairScore]:
        """Return the score of each pair.

        Dual: `dual_score`. Round trip: chrF2, from 0 to 1, of the translation of the source, with the target
        as its reference.
        """
        tokenizer = self.forward.tokenizer
        lengths = zip(
            tokenizer.encode_source([source for source, _ in pairs]),
            tokenizer.encode_target([target for _, target in pairs]),
            strict=True,
        )
        reasons = [
            reason_to_leave_out(self.keep, *pair, len(source), len(target))
            for pair, (source, target) in zip(pairs, lengths, strict=True)
        ]
        scored = [pair for pair, reason in zip(pairs, reasons, strict=True) if reason is None]
        found = iter(self._round_trip(scored) if self.reverse is None else self._dual(scored, self.reverse))
        return [next(found) if reason is None else PairScore(reason=reason) for reason in reasons]

    def _dual(self, pairs: Sequence[Pair], reverse: Translator) -> list[PairScore]:
        turned, most = [(target, source) for source, target in pairs], self.batch_tokens
        there = self.forward.score(pairs, source=self.source, to=self.to, batch_tokens=most)
        back = reverse.score(turned, source=self.to, to=self.source, batch_tokens=most)
        entropies = ([cross_entropy(one.token_logp) for one in scored] for scored in (there, back))
        return [PairScore(dual_score(*both), both) for both in zip(*entropies, strict=True)]

    def _round_trip(self, pairs: Sequence[Pair]) -> list[PairScore]:
        sources, targets = [source for source, _ in pairs], [target for _, target in pairs]
        found = self.forward.translate(
            sources, source=self.source, to=self.to, beam=1, split=False, batch_tokens=self.batch_tokens
        )
        texts = [one.text for one in found]
        return [PairScore(sentence_chrf(*both)) for both in zip(texts, targets, strict=True)]


def best_of(scores: Sequence[float], *, share: float = 1.0, least: float = 0.0) -> list[bool]:
    """Whether each pair is among the best `share` of those with a score, and has at least `least`.

    NaN counts as no score. Of equal scores the first are taken. Takes about 25 bytes a pair.
    """
    import numpy as np

    values = np.asarray(scores, np.float64)
    scored = np.flatnonzero(~np.isnan(values))
    count = min(len(scored), max(1, round(share * len(scored))))
    chosen = np.zeros(len(values), bool)
    if count:
        limit = np.partition(values[scored], len(scored) - count)[len(scored) - count]
        above, equal = np.flatnonzero(values > limit), np.flatnonzero(values == limit)
        chosen[above] = chosen[equal[: count - len(above)]] = True
    answer: list[bool] = (chosen & (values >= least)).tolist()
    return answer
