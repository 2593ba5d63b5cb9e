"""Digests of files notice every change of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from dragoman.base.files import broken, digest_of_table, sealed


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "a").write_bytes(b"one two three")
    (tmp_path / "b").write_bytes(b"")
    return tmp_path


def test_what_was_written_is_whole(folder: Path) -> None:
    seals = sealed(folder, ["b", "a"])

    assert seals["b"] == [0, "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"]
    assert broken(folder, seals) == []


@pytest.mark.parametrize(
    ("data", "fault"),
    [(b"one twp three", "digest"), (b"one two", "7 bytes"), (b"one two three ", "14 bytes")],
)
def test_a_change_is_a_fault(folder: Path, data: bytes, fault: str) -> None:
    seals = sealed(folder, ["a", "b"])
    (folder / "a").write_bytes(data)

    (text,) = broken(folder, seals)
    assert text.startswith("a has")
    assert fault in text


def test_a_file_that_is_gone_is_a_fault(folder: Path) -> None:
    seals = sealed(folder, ["a", "b"])
    (folder / "b").unlink()

    assert broken(folder, seals) == ["b: No such file or directory"]


@pytest.mark.parametrize(
    "seals", [[], None, {"../x": [1, ""]}, {"a": None}, {"a": []}, {"a": ["x"]}, {"": [0, ""]}]
)
def test_a_damaged_table_is_a_fault(folder: Path, seals: object) -> None:
    assert len(broken(folder, seals)) == 1


def test_the_order_of_keys_does_not_matter() -> None:
    assert digest_of_table({"a": 1, "b": [0.1, None]}) == digest_of_table({"b": [0.1, None], "a": 1})
    assert digest_of_table({"a": 1}) != digest_of_table({"a": 2})
