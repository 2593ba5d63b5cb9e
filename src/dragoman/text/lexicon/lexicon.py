"""The likeliest translations of each source token, learnt from parallel text: IBM Model 1.

Each target token comes from one of the source tokens of its line, or from none (NULL), all equally likely to
begin with (Brown et al. 1993, section 4.1). Expectation maximisation finds p(target | source).

P pairs of tokens of the same line pair, one side each; M entries of the table; V source vocabulary;
W target vocabulary; N translations a token.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dragoman.base.errors import DataError

Numbers = NDArray[Any]
Progress = Callable[[str], None]

_PAIRS_AT_ONCE = 2_000_000  # of tokens: some 100 MB of working memory
_MOST_ENTRIES = 16_000_000  # of the table: some 400 MB
_TOKENS = 100  # of a line on each side; longer lines are cut, because their pairs grow with the square


@dataclass(frozen=True, kw_only=True)
class Lexicon:
    """Translations of each source token and the frequency of target tokens."""

    candidates_VN: Numbers  # int32 target ids, likeliest first; -1 fills a row
    probability_VN: Numbers  # float32, 0 where candidates are -1
    count_W: Numbers  # how often each target token occurs

    def frequent(self, count: int) -> Numbers:
        """frequent_K: int32, at most `count` of the target tokens that occur, the most frequent first."""
        order_W = np.argsort(-self.count_W, kind="stable")
        return order_W[: min(count, int((self.count_W > 0).sum()))].astype(np.int32)

    def with_itself(self) -> Lexicon:
        """Return the lexicon with each token among its own translations, in the last place if it is new."""
        candidates_VN, probability_VN = self.candidates_VN.copy(), self.probability_VN.copy()
        token_V = np.arange(len(candidates_VN))
        new = token_V[(candidates_VN != token_V[:, None]).all(1)]
        place = np.minimum((candidates_VN[new] >= 0).sum(1), candidates_VN.shape[1] - 1)
        candidates_VN[new, place], probability_VN[new, place] = new, 0.0
        return replace(self, candidates_VN=candidates_VN, probability_VN=probability_VN)


@dataclass
class IdPairs:
    """Line pairs as token ids, at most `most` of them, spread evenly over all that are added."""

    most: int
    source: list[array[int]] = field(default_factory=list)
    target: list[array[int]] = field(default_factory=list)
    read: int = 0
    stride: int = 1

    def add(self, source: Iterable[int], target: Iterable[int]) -> None:
        """Keep the pair if its turn has come. When all places are taken, keep every second pair."""
        self.read += 1
        if (self.read - 1) % self.stride:
            return
        if len(self.source) == self.most:
            self.source, self.target, self.stride = self.source[::2], self.target[::2], 2 * self.stride
            if (self.read - 1) % self.stride:
                return
        self.source.append(array("i", list(source)[:_TOKENS]))
        self.target.append(array("i", list(target)[:_TOKENS]))


def learn(
    lines: IdPairs,
    *,
    source_vocab: int,
    target_vocab: int,
    width: int,
    iterations: int = 5,
    progress: Progress = lambda text: None,
) -> Lexicon:
    """Return the `width` likeliest translations of each source token, or as many as it occurs with.

    Memory is bounded: the table keeps at most 16 million pairs of tokens, the likeliest ones. Raises
    DataError if no line has tokens on both sides.
    """
    count_W = np.zeros(target_vocab, dtype=np.int64)
    for block in _blocks(lines):
        count_W += np.bincount(block.target_T, minlength=target_vocab)
    if not count_W.any():
        raise DataError("no line has text on both sides", hint="check the files")
    progress("counting pairs of tokens")
    key_M, p_M = _first_table(lines, source_vocab, target_vocab)
    for iteration in range(1, iterations):
        progress(f"iteration {iteration} of {iterations - 1}, {len(key_M):,} pairs of tokens")
        p_M = _improved(lines, key_M, p_M, source_vocab, target_vocab)
    candidates_VN, probability_VN = _likeliest(key_M, p_M, source_vocab, target_vocab, width)
    return Lexicon(candidates_VN=candidates_VN, probability_VN=probability_VN, count_W=count_W)


@dataclass(frozen=True)
class _Block:
    """All pairs of a source and a target token in some lines. NULL is the source token V."""

    source_P: Numbers
    target_P: Numbers
    place_P: Numbers  # index of the target token in the block
    target_T: Numbers

    def keys(self, target_vocab: int) -> Numbers:
        """key_P: one number for each pair of ids."""
        return self.source_P * target_vocab + self.target_P


def _blocks(lines: IdPairs, null: int = 0) -> Iterator[_Block]:
    """Yield the pairs of all lines, a bounded number at a time."""
    first, pairs = 0, 0
    for last, (source, target) in enumerate(zip(lines.source, lines.target, strict=True), 1):
        pairs += (len(source) + 1) * len(target)
        if pairs >= _PAIRS_AT_ONCE or last == len(lines.source):
            yield _block(lines.source[first:last], lines.target[first:last], null)
            first, pairs = last, 0


def _block(source: list[array[int]], target: list[array[int]], null: int) -> _Block:
    # Each source line ends with NULL. Lines without source teach nothing.
    target = [line if words else array("i") for words, line in zip(source, target, strict=True)]
    source_S = np.concatenate([np.array([*line, null], dtype=np.int64) for line in source])
    target_T = np.concatenate([np.array(line, dtype=np.int64) for line in target])
    source_len_B = np.array([len(line) + 1 for line in source])
    begin_B = np.cumsum(source_len_B) - source_len_B
    line_T = np.repeat(np.arange(len(target)), [len(line) for line in target])
    place_P = np.repeat(np.arange(len(target_T)), source_len_B[line_T])
    pairs_T = source_len_B[line_T]
    within_P = np.arange(len(place_P)) - np.repeat(np.cumsum(pairs_T) - pairs_T, pairs_T)
    return _Block(source_S[begin_B[line_T][place_P] + within_P], target_T[place_P], place_P, target_T)


def _first_table(lines: IdPairs, source_vocab: int, target_vocab: int) -> tuple[Numbers, Numbers]:
    """Return key_M, sorted, and p_M after the first iteration, in which all translations are alike."""
    key_M: Numbers = np.zeros(0, dtype=np.int64)
    count_M: Numbers = np.zeros(0)
    for block in _blocks(lines, source_vocab):
        share_T = 1 / np.bincount(block.place_P, minlength=len(block.target_T))
        found_M, place_P = np.unique(block.keys(target_vocab), return_inverse=True)
        own_M = np.bincount(place_P, share_T[block.place_P], len(found_M))
        key_M, place = np.unique(np.concatenate((key_M, found_M)), return_inverse=True)
        count_M = np.bincount(place, np.concatenate((count_M, own_M)), len(key_M))
        if len(key_M) > _MOST_ENTRIES:
            p_M = _normalised(count_M, key_M // target_vocab)
            kept = p_M >= np.partition(p_M, len(p_M) // 2)[len(p_M) // 2]
            key_M, count_M = key_M[kept], count_M[kept]
    return key_M, _normalised(count_M, key_M // target_vocab)


def _improved(lines: IdPairs, key_M: Numbers, p_M: Numbers, source_vocab: int, target_vocab: int) -> Numbers:
    """p_M after one more iteration."""
    count_M = np.zeros(len(key_M))
    for block in _blocks(lines, source_vocab):
        key_P = block.keys(target_vocab)
        entry_P = np.searchsorted(key_M, key_P).clip(max=len(key_M) - 1)
        p_P = np.where(key_M[entry_P] == key_P, p_M[entry_P], 0.0)
        total_T = np.bincount(block.place_P, p_P, len(block.target_T))
        share_P = p_P / np.where(total_T > 0, total_T, 1.0)[block.place_P]
        count_M += np.bincount(entry_P, share_P, len(key_M))
    return _normalised(count_M, key_M // target_vocab)


def _normalised(count_M: Numbers, source_M: Numbers) -> Numbers:
    """p_M: the counts divided by the count of their source token."""
    total_V = np.bincount(source_M, count_M)
    p_M: Numbers = count_M / np.where(total_V > 0, total_V, 1.0)[source_M]
    return p_M


def _likeliest(
    key_M: Numbers, p_M: Numbers, source_vocab: int, target_vocab: int, width: int
) -> tuple[Numbers, Numbers]:
    """Return candidates_VN and probability_VN."""
    kept = key_M < source_vocab * target_vocab  # NULL has no row
    key_M, p_M = key_M[kept], p_M[kept]
    order = np.lexsort((-p_M, key_M // target_vocab))
    key_M, p_M = key_M[order], p_M[order]
    source_M = key_M // target_vocab
    rank_M = np.arange(len(key_M)) - np.searchsorted(source_M, source_M)
    best = rank_M < width
    candidates_VN = np.full((source_vocab, width), -1, dtype=np.int32)
    probability_VN = np.zeros((source_vocab, width), dtype=np.float32)
    candidates_VN[source_M[best], rank_M[best]] = key_M[best] % target_vocab
    probability_VN[source_M[best], rank_M[best]] = p_M[best]
    return candidates_VN, probability_VN
