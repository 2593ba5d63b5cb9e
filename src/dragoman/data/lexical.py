"""Score pairs of text by a lexicon of the same text: how well the words of each side explain the other's.

IBM Model 1 in both directions, each word compared with its frequency (Moore 2002, section 3). The words of a
bad pair hardly teach it anything, because what is seen once is discounted.

S source words, T target words, N translations a word.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterable, Sequence
from functools import cached_property

import numpy as np

from dragoman.data.words import SideWords, learnt
from dragoman.evaluation.dual import Pair, PairScore
from dragoman.text.corpora.reservoir import draw_sample

_LINES = 60_000  # that the lexicon is learnt from
_TOKENS = 250  # of a side: the rest of a longer text is not read
_SPARE = 3  # words without evidence that each side also has: a short text says little


class LexiconScorer:
    """Scores pairs by a lexicon, which it learns from some of them when the first scores are wanted.

    The score is from 0 to 1.
    """

    def __init__(self, pairs: Iterable[Pair], languages: tuple[str | None, str | None]) -> None:
        self._pairs, self._languages = pairs, languages

    @cached_property
    def sides(self) -> tuple[SideWords, SideWords]:
        """The words of both sides."""
        kept = draw_sample(self._pairs, _LINES, random.Random(1))
        one, other = self._languages
        sources, targets = [pair[0] for pair in kept], [pair[1] for pair in kept]
        return SideWords(sources, one or ""), SideWords(targets, other or "")

    @cached_property
    def ways(self) -> tuple[_Way, _Way]:
        """The lexicon in both directions."""
        one, other = self.sides
        lines = [*zip(one.lines, other.lines, strict=True)]
        return _Way(one, other, lines), _Way(other, one, [pair[::-1] for pair in lines])

    def scores(self, pairs: Sequence[Pair]) -> list[PairScore]:
        """The logistic function of the mean of two log-ratios a word, which are the `entropies`."""
        found = []
        for pair in pairs:
            words = [
                np.array(side.known(text)[:_TOKENS], int) for side, text in zip(self.sides, pair, strict=True)
            ]
            ratios = self.ways[0].ratio(*words), self.ways[1].ratio(*words[::-1])
            found.append(PairScore(1 / (1 + math.exp(-sum(ratios) / 2)), ratios))
        return found


class _Way:
    """The lexicon in one direction."""

    def __init__(
        self, given: SideWords, other: SideWords, pairs: Iterable[tuple[Sequence[int], Sequence[int]]]
    ):
        self.table = learnt(given, other, pairs)
        self.share_V = (other.count_V + 0.5) / (other.count_V.sum() + 0.5 * len(other.count_V))
        self.open_V = 1 - self.table.probability_VN.sum(1)

    def ratio(self, given_S: np.ndarray, other_T: np.ndarray) -> float:
        """The log of how much likelier words are beside given ones than anywhere, a word."""
        hit_SNT = self.table.candidates_VN[given_S][:, :, None] == other_T
        share_T = self.share_V[other_T]
        p_T = np.einsum("snt,sn->t", hit_SNT, self.table.probability_VN[given_S])
        p_T = (p_T + (self.open_V[given_S].sum() + 1) * share_T) / (len(given_S) + 1)
        return float(np.log(p_T / share_T).sum()) / (len(other_T) + _SPARE)
