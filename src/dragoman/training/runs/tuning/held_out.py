"""Pairs to measure with: drawn from a corpus, and kept apart from similar ones.

Real memories repeat themselves: a held-out sentence often has a twin that differs in a number or a word. A
model that was trained on the twin would score well without having learnt anything else. So every pair with a
side similar to a held-out one leaves the training text.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from hashlib import blake2b

from dragoman.base.errors import ConfigError
from dragoman.base.tables import count
from dragoman.text.blank import is_blank
from dragoman.text.corpora.corpus import Corpus, chained
from dragoman.text.corpora.lines import Line

Pair = tuple[str, str]
FEWEST, MOST = 50, 500
_SHARE, _LARGEST_SHARE = 0.05, 0.25
_LONGEST = 1000  # characters of a held-out side; a longer one is a document
_CHUNK = 10_000  # lines compared at once
_SLICE = 500  # of these, lines of about one length
_DIGIT = re.compile(r"\d")


@dataclass(frozen=True, kw_only=True)
class Counted:
    """The counts and the sample from reading a corpus once."""

    pairs: int  # with two sides
    letters: int  # characters of the longer sides together
    sample: tuple[Pair, ...]  # pairs that may be held out, drawn at random, in random order


def count_and_draw(corpus: Corpus, *, most: int, seed: int) -> Counted:
    """Count the pairs, and draw up to `most` of them, each equally likely and each source once.

    Drawn are the sources with the least digests, which the seed determines. Of equal ones the first counts.
    """
    key, drawn = f"held out {seed}".encode(), dict[bytes, Pair]()
    pairs = letters = 0
    for line in corpus:
        source, target = line.source.strip(), line.target.strip()
        if not source or not target:
            continue
        longest = max(len(source), len(target))
        pairs, letters = pairs + 1, letters + longest
        if longest <= _LONGEST:
            digest = blake2b(normal(source).encode(), digest_size=16, key=key).digest()
            drawn.setdefault(digest, (source, target))
        if len(drawn) > 2 * most + FEWEST:
            drawn = dict(sorted(drawn.items())[:most])
    return Counted(pairs=pairs, letters=letters, sample=tuple(drawn[key] for key in sorted(drawn)[:most]))


def kept_pairs(name: str, pairs: list[Pair]) -> Corpus:
    """Return pairs in memory, in any order, as a corpus; the list may be empty."""
    return Corpus(name, lambda: map(alone, itertools.count(1), pairs))


def alone(number: int, pair: Pair) -> Line:
    """A pair that does not stand beside the others of its corpus: each is a document of its own."""
    return Line(number, *pair, document=str(number))


def pairs_to_hold_out(pairs: int) -> int:
    """Return how many of `pairs` to hold out: 5%, from 50 to 500; 0 if that were over a quarter."""
    wanted = min(max(round(_SHARE * pairs), FEWEST), MOST)
    return wanted if wanted <= _LARGEST_SHARE * pairs else 0


def count_and_hold_out(corpus: Corpus, wanted: int | None, *, seed: int) -> Counted:
    """Count the pairs; the sample are those to hold out, `wanted` or by their number. Raises ConfigError."""
    counted = count_and_draw(corpus, most=MOST if wanted is None else wanted, seed=seed)
    if wanted and 0 < counted.pairs <= wanted:
        raise ConfigError(
            f"tuning.held_out = {wanted} of {count(counted.pairs, 'pair')}", hint="leave some to train on"
        )
    sample = counted.sample[: pairs_to_hold_out(counted.pairs) if wanted is None else wanted]
    return replace(counted, sample=sample)


def without(corpus: Corpus, held: Sequence[Pair], *, alike: float) -> tuple[Corpus, int]:
    """Return the corpus without the pairs that have a side similar to a held-out one, and their number.

    A line without a translation is left out too, but not counted.
    `alike` is the least similarity that counts, from 0 to 1: rapidfuzz's ratio of `normal` texts. The corpus
    is read once now, in chunks.
    """
    if not held:
        return corpus, 0
    sides = _Held([source for source, _ in held], alike), _Held([target for _, target in held], alike)
    pairs, shards = 0, list[Corpus]()
    for shard in corpus.shards:
        left_out: set[int] = set()
        lines, first = iter(shard), 0
        while chunk := list(itertools.islice(lines, _CHUNK)):
            found = sides[0].like([line.source for line in chunk])
            found |= sides[1].like([line.target for line in chunk])
            left_out |= {first + place for place in found}
            pairs += sum(not any(map(is_blank, chunk[place][1:3])) for place in found)
            first += len(chunk)
        languages = corpus.source_language, corpus.target_language
        shards.append(Corpus(shard.name, partial(_kept, shard, left_out), languages))
    return chained(shards), pairs


def _kept(lines: Iterable[Line], left_out: set[int]) -> Iterator[Line]:
    """The lines that are kept. Behind a gap begins another document, which has nothing before it."""
    gaps = 0
    for place, line in enumerate(lines):
        if place in left_out:
            gaps += 1
        else:
            yield line._replace(document=f"{line.document} {gaps}") if gaps else line


def normal(text: str) -> str:
    """Return text as it is compared: without case, runs of spaces, and the values of digits."""
    return _DIGIT.sub("0", " ".join(text.casefold().split()))


class _Held:
    """One side of the held-out pairs, by length: texts of very different lengths need no comparison."""

    def __init__(self, texts: Iterable[str], alike: float) -> None:
        self._texts = sorted({normal(text) for text in texts}, key=len)
        self._lengths = [len(text) for text in self._texts]
        self._alike = alike

    def like(self, texts: Sequence[str]) -> set[int]:
        """Return the places of the texts that are like a held-out one. Empty texts are like none.

        Two texts of m < n characters have a ratio of at most 2 m / (m + n), so m is at least n a / (2 - a).
        """
        import numpy as np
        from rapidfuzz.fuzz import ratio
        from rapidfuzz.process import cdist

        normals = [(normal(text), place) for place, text in enumerate(texts)]
        ordered = sorted((pair for pair in normals if pair[0]), key=lambda pair: len(pair[0]))
        share = self._alike / (2 - self._alike)
        found: set[int] = set()
        for start in range(0, len(ordered), _SLICE):
            rows = ordered[start : start + _SLICE]
            low = np.searchsorted(self._lengths, len(rows[0][0]) * share - 1e-9)
            high = np.searchsorted(self._lengths, len(rows[-1][0]) / share + 1e-9, side="right")
            scores = cdist(
                [text for text, _ in rows],
                self._texts[low:high],
                scorer=ratio,
                score_cutoff=100 * self._alike - 1e-9,
                dtype=np.float32,
            )
            found |= {rows[row][1] for row in np.flatnonzero((scores > 0).any(1)).tolist()}
        return found
