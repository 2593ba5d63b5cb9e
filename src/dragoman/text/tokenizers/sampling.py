"""Random cuts of a word into subwords, as a function of the seed: in every process and on every machine.

SentencePiece samples too, but seeds its random numbers with a salt of the process. A resumed run would see
other cuts than an uninterrupted one. The samplers here draw from the same distributions with Python's
`random()`, whose numbers never change. They cache results by word, since most words of a text are frequent.

`scores` holds the score of each piece of the vocabulary. A character that is not a piece stays alone.
"""

from __future__ import annotations

import math
from bisect import bisect
from collections.abc import Callable, Mapping
from functools import lru_cache
from itertools import accumulate, pairwise

Uniform = Callable[[], float]  # in [0, 1)

_CUTS, _LATTICES = 1 << 16, 1 << 14  # kept in a cache: about 40 and 50 MB
_LONGEST = 24  # characters of a word worth caching: a whole sentence of Chinese rarely repeats
_NEVER = 1 << 60  # more trials than any word has
_UNKNOWN = 10.0  # an unknown character scores this much below the worst piece, as in SentencePiece


class MergeSampler:
    """BPE-dropout (Provilkov et al. 2020): skip each merge with probability `amount`.

    Merges are tried in the order of their scores, then from left to right. As in SentencePiece, two
    pieces whose merge was skipped are tried again only after one of them has changed; algorithm 1 of the
    paper draws anew for all pairs after each merge. An amount of 0 gives the plain encoding, 1 characters.
    """

    def __init__(self, scores: Mapping[str, float], amount: float) -> None:
        self._amount = amount
        self._ranks = {piece: -score for piece, score in scores.items()}
        # 1 / log(1 - amount), which turns the log of a uniform number into a geometric one
        self._scale = 1 / math.log1p(-amount) if 0 < amount < 1 else 0.0
        self._cached = lru_cache(_CUTS)(lambda word, skipped: self._merge(word, skipped.__contains__))

    def sample(self, word: str, random: Uniform) -> tuple[str, ...]:
        """Return the pieces of one random cut; joined they are the word."""
        if len(word) > _LONGEST:
            return self._merge(word, lambda trial: random() < self._amount)[0]
        # Draw the number of the next trial to skip, not each trial: most words then need one draw.
        skipped: tuple[int, ...] = ()
        trial = self._trials_until_skip(random)
        pieces, trials = self._cached(word, skipped)
        while trial < trials:
            skipped += (trial,)
            pieces, trials = self._cached(word, skipped)
            trial += 1 + self._trials_until_skip(random)
        return pieces

    def _trials_until_skip(self, random: Uniform) -> int:
        """Return how many merges succeed before one is skipped: geometric, by inversion."""
        if not self._amount:
            return _NEVER
        return min(int(math.log(1 - random()) * self._scale), _NEVER)

    def _merge(self, word: str, skip: Callable[[int], bool]) -> tuple[tuple[str, ...], int]:
        """Return the pieces and the number of merges tried; merge n, from 0 on, is skipped if `skip(n)`."""
        rank = self._ranks.get
        pieces = list(word)
        ranks = [rank(left + right, math.inf) for left, right in pairwise(word)]
        trials = 0
        while ranks and (best := min(ranks)) < math.inf:
            at = ranks.index(best)
            trials += 1
            if skip(trials - 1):
                ranks[at] = math.inf
                continue
            pieces[at : at + 2] = [pieces[at] + pieces[at + 1]]
            del ranks[at]
            if at:
                ranks[at - 1] = rank(pieces[at - 1] + pieces[at], math.inf)
            if at < len(ranks):
                ranks[at] = rank(pieces[at] + pieces[at + 1], math.inf)
        return tuple(pieces), trials


# The pieces that end at one place in a word: their starts, and their cumulative probabilities, without the
# last, which is 1.
_Arrivals = tuple[list[int], list[float]]


class LatticeSampler:
    """Subword regularisation (Kudo 2018, section 3.2): P(cut) is proportional to P(its pieces) ** `amount`.

    It draws from all cuts of the word, by forward filtering and backward sampling. A smaller amount makes
    their probabilities more alike.
    """

    def __init__(self, scores: Mapping[str, float], amount: float) -> None:
        self._scores, self._amount = scores, amount
        self._longest = max(map(len, scores), default=1)
        self._unknown = min(scores.values(), default=0.0) - _UNKNOWN
        self._cached = lru_cache(_LATTICES)(self._lattice)

    def sample(self, word: str, random: Uniform) -> tuple[str, ...]:
        """Return the pieces of one random cut; joined they are the word."""
        lattice = self._cached(word) if len(word) <= _LONGEST else self._lattice(word)
        pieces, end = [], len(word)
        while end:
            starts, thresholds = lattice[end - 1]
            start = starts[bisect(thresholds, random())]
            pieces.append(word[start:end])
            end = start
        return tuple(reversed(pieces))

    def _lattice(self, word: str) -> list[_Arrivals]:
        """Return the pieces that may end after each character, with their probabilities."""
        log_sums = [0.0]  # log of the summed weights of all cuts of the first n characters
        lattice = []
        for end in range(1, len(word) + 1):
            starts, logs = [], []
            for start in range(max(0, end - self._longest), end):
                score = self._scores.get(word[start:end], self._unknown if start == end - 1 else None)
                if score is not None:
                    starts.append(start)
                    logs.append(log_sums[start] + self._amount * score)
            most = max(logs)
            weights = [math.exp(log - most) for log in logs]
            total = math.fsum(weights)
            log_sums.append(most + math.log(total))
            thresholds = [sum_so_far / total for sum_so_far in accumulate(weights[:-1])]
            lattice.append((starts, thresholds))
        return lattice
