"""Compressed files are read as what they hold, and damage is named."""

from __future__ import annotations

import gzip
import sys
from pathlib import Path

import pytest

from dragoman.base.errors import DataError
from dragoman.text.corpora.compressed import without_suffix
from dragoman.text.corpora.lines import read_lines

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

LINES = ["a dog", "", "你好"]
TEXT = "\n".join(LINES).encode()
LARGE_WINDOW = {zstd.CompressionParameter.window_log: 28}


def test_zstandard_is_read_with_and_without_its_suffix(tmp_path: Path) -> None:
    for name in ("x.en.zst", "x.en"):
        (tmp_path / name).write_bytes(zstd.compress(TEXT))
        assert list(read_lines(tmp_path / name)) == LINES


def test_frames_follow_each_other_and_may_begin_with_one_that_is_skipped(tmp_path: Path) -> None:
    skipped = b"\x50\x2a\x4d\x18" + (4).to_bytes(4, "little") + b"\0\0\0\0"
    (tmp_path / "x.zst").write_bytes(skipped + zstd.compress(b"a\n") + zstd.compress(b"b\n"))
    assert list(read_lines(tmp_path / "x.zst")) == ["a", "b"]


@pytest.mark.parametrize(
    ("name", "data", "message"),
    [
        ("x.zst", zstd.compress(TEXT)[:-3], "x.zst: a damaged Zstandard file, readable up to line"),
        ("x.zst", zstd.compress(TEXT) + b"more", "x.zst: a damaged Zstandard file"),
        ("x.gz", gzip.compress(TEXT)[:-3], "x.gz: a damaged gzip file"),
        ("x.zst", b"a dog\n", "x.zst: not a Zstandard file"),
        ("x.gz", b"a dog\n", "x.gz: not a gzip file"),
    ],
    # gzip writes the time into its header, so names made of the bytes would differ by process.
    ids=["zst cut", "zst with more", "gz cut", "not zst", "not gz"],
)
def test_damage_is_named(tmp_path: Path, name: str, data: bytes, message: str) -> None:
    (tmp_path / name).write_bytes(data)
    with pytest.raises(DataError, match=message) as caught:
        list(read_lines(tmp_path / name))
    assert caught.value.hint


def test_a_frame_that_asks_for_much_memory_is_refused(tmp_path: Path) -> None:
    with zstd.ZstdFile(tmp_path / "x.zst", "w", options=LARGE_WINDOW) as file:
        file.write(TEXT)
    with pytest.raises(DataError, match="window of over 128 MB"):
        list(read_lines(tmp_path / "x.zst"))


def test_a_small_file_that_unpacks_to_a_huge_line_is_refused(tmp_path: Path) -> None:
    (tmp_path / "x.zst").write_bytes(zstd.compress(b"a" * (1 << 25)))
    with pytest.raises(DataError, match="a line of more than 16 MB"):
        list(read_lines(tmp_path / "x.zst"))


def test_names_without_suffix() -> None:
    names = {"Train.EN.zst": "train.en", "a/b.de.gz": "a/b.de", "b.tsv": "b.tsv", "gz": "gz"}
    assert {name: without_suffix(name) for name in names} == names
