"""The digest of the weights: what other programs compute too."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from dragoman.base.errors import ModelError
from dragoman.translation.folder.digest import check_digest, digest_of, is_digest


@pytest.mark.parametrize("size", [0, 1, 5_000_000])
def test_it_is_sha256_of_the_bytes(size: int, tmp_path: Path) -> None:
    content = bytes(range(256)) * (size // 256 + 1)
    (tmp_path / "w").write_bytes(content)

    digest = digest_of(tmp_path / "w")

    assert digest == "sha256:" + hashlib.sha256(content).hexdigest()
    assert is_digest(digest)


def test_another_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "w"
    path.write_bytes(b"abc")
    digest = digest_of(path)
    check_digest(path, digest)
    path.write_bytes(b"abd")

    check_digest(path, None)
    with pytest.raises(ModelError, match="damaged") as caught:
        check_digest(path, digest)

    assert str(path) in str(caught.value)
    assert caught.value.hint


@pytest.mark.parametrize("name", ["nowhere", "."])
def test_no_file_is_an_error(name: str, tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="cannot be read"):
        digest_of(tmp_path / name)


@pytest.mark.parametrize(
    "value", [None, 3, "", "sha256", "md5:" + 32 * "0", "sha256:" + 63 * "0", "sha256:" + 64 * "G"]
)
def test_other_forms_are_not_digests(value: object) -> None:
    assert not is_digest(value)
