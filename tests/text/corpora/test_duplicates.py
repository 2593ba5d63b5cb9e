"""Digests in runs agree with a set, whether the runs are in memory or on disk."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from dragoman.text.corpora.duplicates import SeenRows


@pytest.mark.parametrize("in_memory", [1, 1 << 18])
def test_they_agree_with_a_set(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, in_memory: int) -> None:
    monkeypatch.setattr(SeenRows, "IN_MEMORY", in_memory)
    monkeypatch.setattr(SeenRows, "BLOCK", 64)
    chance, seen, reference = np.random.default_rng(1), SeenRows(tmp_path), set[int]()
    # As digests are, numbers are spread over all 64 bits.
    texts = chance.integers(0, 2**64, 3000, np.uint64)
    for size in [1, 2, 700, 0, 50, *[130] * 40]:
        digests = texts[chance.integers(0, len(texts), size)]
        expected = []
        for digest in digests.tolist():
            expected.append(digest not in reference)
            reference.add(digest)
        assert seen.add(digests).tolist() == expected

    assert len(seen) == len(reference)
    assert len(seen._runs) < 10
    assert isinstance(seen._runs[0], np.memmap) == (in_memory == 1)
    assert list(tmp_path.iterdir()) == []  # the files have no names


def test_equal_ones_within_a_chunk(tmp_path: Path) -> None:
    seen = SeenRows(tmp_path)
    assert seen.add(np.array([7, 0, 7, 2**64 - 1, 0], np.uint64)).tolist() == [True, True, False, True, False]
    assert seen.add(np.array([2**64 - 1, 1], np.uint64)).tolist() == [False, True]
