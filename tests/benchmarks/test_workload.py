"""The batches that all contenders are given."""

from __future__ import annotations

from pathlib import Path

import pytest
from training import workload

from dragoman.base.errors import DataError
from dragoman.text import toy
from dragoman.text.tokenizers.subwords import Subwords

PAIRS = toy.pairs(count=300)


@pytest.fixture(autouse=True)
def cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))


def test_batches_are_full_and_are_the_text() -> None:
    toys = workload.make(PAIRS, title="toy", batch_tokens=200, batches=5)
    vocabulary = Subwords((toys.folder / "subwords.spm").read_bytes())
    texts = set(PAIRS)

    assert len(toys.batches) == 5
    for source, target in toys.batches:
        assert source.size <= 200 and 0.85 * 200 < target.size <= 200  # noqa: PT018
        for row in zip(source, target, strict=True):
            sides = [side[side != 0] for side in row]
            assert [side[-1] for side in sides] == [2, 2]
            assert tuple(vocabulary.decode(side[:-1].tolist()) for side in sides) in texts


def test_toolkits_get_the_same_text_whole_and_cut() -> None:
    folder = workload.make(PAIRS, title="toy", batch_tokens=200, batches=2).folder
    vocabulary = Subwords((folder / "subwords.spm").read_bytes())

    for suffix, side in (("src", 0), ("tgt", 1)):
        lines = (folder / f"train.{suffix}").read_text(encoding="utf-8").splitlines()
        cut = (folder / f"train.pieces.{suffix}").read_text(encoding="utf-8").splitlines()
        assert lines == [pair[side] for pair in PAIRS]
        assert [line.split(" ") for line in cut] == [
            vocabulary.pieces(ids) for ids in vocabulary.encode(lines)
        ]
    known = (folder / "pieces.txt").read_text(encoding="utf-8").splitlines()
    assert {piece for line in cut for piece in line.split(" ")} <= set(known)


def test_it_is_made_once() -> None:
    first = workload.make(PAIRS, title="toy", batch_tokens=200, batches=2)
    stamp = (first.folder / "batches.npz").stat().st_mtime_ns
    second = workload.make(PAIRS, title="toy", batch_tokens=200, batches=2)

    assert second.folder == first.folder
    assert (second.folder / "batches.npz").stat().st_mtime_ns == stamp
    assert workload.make(PAIRS, title="toy", batch_tokens=300, batches=2).folder != first.folder


def test_too_little_text_is_an_error() -> None:
    with pytest.raises(DataError, match="toy: 300 pairs fill .* not 5000"):
        workload.make(PAIRS, title="toy", batch_tokens=200, batches=5000)
