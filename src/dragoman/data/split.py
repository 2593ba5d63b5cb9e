"""Divide parallel text into training, validation and test text without common documents or alike pairs.

What is held out is a function of the seed and of the text of each document: those with the least digests.
"""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Iterator, Mapping
from hashlib import blake2b
from typing import Any

from dragoman.base.errors import DataError
from dragoman.data.likeness import HeldOut
from dragoman.text.blank import is_blank
from dragoman.text.corpora.corpus import Corpus
from dragoman.text.corpora.lines import Line

_POOL = 4  # documents to choose from for each pair held out, since some are too long
_Unit = tuple[bytes, int, int, int]  # digest, first row, end, and the pairs that are not empty
_HELD_OUT = {"train": ("valid", "test"), "test": ("valid",), "valid": ()}  # what each part must not be like


def divided(
    corpus: Corpus, sizes: Mapping[str, int], seed: int, least: float, workers: int
) -> Iterator[tuple[str, Line, dict[str, Any] | None]]:
    """Yield the part of each line, the line, and if it is left out, where it is and which it is like.

    `sizes` are the pairs of "valid" and of "test", or fewer where no document fits in what is left. Raises
    DataError for a part without pairs.
    """
    most, pool = _POOL * sum(sizes.values()), dict[bytes, _Unit]()
    for unit in _units(corpus, seed, max(sizes.values())):
        pool.setdefault(unit[0], unit)  # copies of a document are held out once, and then left out
        if len(pool) > 8 * most:
            pool = dict(heapq.nsmallest(most, pool.items()))
    units = heapq.nsmallest(most, pool.values())
    parts: dict[int, str] = {}
    for part, size in sizes.items():
        left = size
        for _, row, end, pairs in units:
            if row not in parts and pairs <= left:
                parts |= dict.fromkeys(range(row, end), part)
                left -= pairs
        if left == size > 0:
            raise _too_short(corpus, part)
    count, held = 0, {}
    for count, found in enumerate(((one.name, line) for one in corpus.shards for line in one), 1):
        if count - 1 in parts:
            held[count - 1] = found
    if count == len(parts):
        raise _too_short(corpus, "train")
    rows, kept = [*held], Counter[str]()
    for row, (line, likes) in enumerate(HeldOut([*held.values()], least).look_for(corpus, workers)):
        part = parts.get(row, "train")
        like = next((about for at, about in likes if parts[rows[at]] in _HELD_OUT[part]), None)
        kept[part] += like is None and not (is_blank(line.source) and is_blank(line.target))
        yield part, line, like
    for part, size in {"train": 1, **sizes}.items():
        if size and not kept[part]:
            raise _too_short(corpus, part)


def _too_short(corpus: Corpus, part: str) -> DataError:
    return DataError(
        f"{corpus.name}: too short, or its documents too long: nothing is left for {part}",
        hint="change the numbers of --valid and --test",
    )


def _units(corpus: Corpus, seed: int, longest: int) -> Iterator[_Unit]:
    """Yield the documents of each shard, with the empty pairs behind them, of at most `longest` pairs.

    A shard without them has its pairs as documents; so has one with few empty lines, which end no documents.
    """
    row = 0
    for shard in corpus.shards:
        documents, pairs, named = 0, 0, False
        for line, begins, shown in _marked(shard, by_line=False):
            documents, pairs, named = documents + begins, pairs + shown, named or bool(line.document)
        by_line = not named and (documents < 2 or pairs > longest * documents)
        first, pairs, digest = row, 0, blake2b()
        for line, begins, shown in _marked(shard, by_line=by_line):
            if begins:
                if 0 < pairs <= longest:
                    yield digest.digest(), first, row, pairs
                first, pairs, digest = row, 0, blake2b(str(seed).encode(), digest_size=16)
            digest.update(f"\n{line.source}\t{line.target}".encode())
            pairs, row = pairs + shown, row + 1
        if 0 < pairs <= longest:
            yield digest.digest(), first, row, pairs


def _marked(lines: Corpus, *, by_line: bool) -> Iterator[tuple[Line, bool, bool]]:
    """Yield each line, whether a document begins there (`by_line`: a pair), and whether it shows anything."""
    before, was_shown = None, False
    for line in lines:
        shown = not (is_blank(line.source) and is_blank(line.target))
        named = before is not None and (line.document or before.document)
        new = by_line or (line.document != before.document if before and named else not was_shown)
        yield line, before is None or (shown and new), shown
        before, was_shown = line, shown
