"""Which pairs of parallel text are alike, and the keys by which they find each other."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from dragoman.data.near import Array, band_keys, normalised, signatures, similarity
from dragoman.data.passes import line_chunks, mapped
from dragoman.text.blank import is_blank
from dragoman.text.corpora.corpus import Corpus
from dragoman.text.corpora.lines import Line
from dragoman.training.data.chunk import digests_of

By = Literal["exact", "normalised", "near"]
Sides = Literal["both", "source", "target", "either"]
_OF_TARGETS = np.uint64(0x9E3779B97F4A7C15)  # so that a source and a target never have one key
Keyed = tuple[str, list[Line], list[str], Array]  # file, lines, and what `Likeness.keyed` says of them
Like = tuple[int, dict[str, Any]]  # the place of a pair held out, and how a line is like it


@dataclass(frozen=True)
class Likeness:
    """When two pairs are alike: equal; but for case and punctuation; or of at least some similarity."""

    by: By = "near"
    sides: Sides = "either"
    least: float = 0.8

    def keyed(self, lines: Sequence[Line]) -> tuple[list[str], Array]:
        """The texts of n pairs, a line feed between their sides, and n x k keys. A blank text has the key 0.

        Alike pairs have a key in common; of those that are alike by similarity, nearly all.
        """
        sources = [self._form(line.source) for line in lines]
        targets = [self._form(line.target) for line in lines]
        texts = ["\n".join(pair) for pair in zip(sources, targets, strict=True)]
        sides = {"both": [texts], "source": [sources], "target": [targets], "either": [sources, targets]}
        keys = []
        for number, side in enumerate(sides[self.sides]):
            digests = digests_of((text, "") for text in side)[:, None] if self.by != "near" else None
            found = band_keys(signatures(side)) if digests is None else digests
            shown = np.array([[bool(text.strip())] for text in side], bool).reshape(-1, 1)
            keys.append((found ^ _OF_TARGETS * np.uint64(number)) * shown)
        return texts, np.hstack(keys)

    def chunks(self, corpus: Corpus, workers: int) -> Iterator[Keyed]:
        """Yield the corpus in chunks of one file each, in order."""
        files: deque[str] = deque()

        def of_files() -> Iterator[list[Line]]:
            for shard in corpus.shards:
                for chunk in line_chunks(shard):
                    files.append(shard.name)
                    yield chunk

        for chunk, (texts, keys) in mapped(self.keyed, of_files(), workers):
            yield files.popleft(), chunk, texts, keys

    def similarity(self, one: str, other: str) -> float:
        """How alike two texts are on the sides that count: the less alike of both, or the more of either."""
        source, target = of_sides(one, other)
        both = 1.0 if one == other else min(source, target)
        return {"both": both, "source": source, "target": target, "either": max(source, target)}[self.sides]

    def are_alike(self, one: str, other: str) -> bool:
        """Whether two texts have the least similarity. Unlike sources decide alone if both sides count."""
        if self.sides == "both":
            return one == other or all(value >= self.least for value in of_sides(one, other))
        return self.similarity(one, other) >= self.least

    def _form(self, text: str) -> str:
        text = "" if is_blank(text) else text.strip().replace("\n", " ")
        return text if self.by == "exact" else normalised(text) or text


def of_sides(one: str, other: str) -> Iterator[float]:
    """The similarities of the sources and of the targets of two texts. A blank side is like none."""
    for left, right in zip(one.split("\n"), other.split("\n"), strict=True):
        yield similarity(left, right) if left and right else 0.0


class HeldOut:
    """Pairs of a test, in memory, with their files: finds what is like them on either side or both."""

    def __init__(self, pairs: Sequence[tuple[str, Line]], least: float) -> None:
        self._pairs, self._likeness = pairs, Likeness(least=least)
        self._texts, keys = self._likeness.keyed([line for _, line in pairs])
        rows, columns = np.nonzero(keys)
        order = np.argsort(keys[rows, columns], kind="stable")
        self._keys, self._rows = keys[rows, columns][order], rows[order]

    def look_for(self, corpus: Corpus, workers: int) -> Iterator[tuple[Line, Iterator[Like]]]:
        """Yield each line, and by the place of each pair held out that it is like, where and how."""
        for file, lines, texts, keys in self._likeness.chunks(corpus, workers):
            starts, ends = (np.searchsorted(self._keys, keys, end) for end in ("left", "right"))
            known = starts < ends
            found = np.any(known, axis=1)
            for row, line in enumerate(lines):
                some = zip(starts[row, known[row]], ends[row, known[row]], strict=True) if found[row] else ()
                places = {place for start, end in some for place in self._rows[start:end].tolist()}
                yield line, self._likes(file, line, texts[row], sorted(places))

    def _likes(self, file: str, line: Line, text: str, places: list[int]) -> Iterator[Like]:
        for place in places:
            similarities = [*of_sides(text, self._texts[place])]
            like, value = "pair", min(similarities)
            if value < self._likeness.least:
                value = max(similarities)
                like = ("source", "target")[similarities.index(value)]
            if value >= self._likeness.least:
                of = {"file": self._pairs[place][0], "line": self._pairs[place][1].number}
                alike = {"like": like, "similarity": round(value, 4)}
                yield place, {"file": file, "line": line.number, "of": of, **alike}
