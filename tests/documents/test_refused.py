"""Formats that are not read are refused by name, with a hint."""

from __future__ import annotations

from pathlib import Path
from typing import cast

import pytest

from dragoman.base.errors import DataError
from dragoman.documents.files import translate_file
from dragoman.documents.formats import FORMATS, document_format
from dragoman.documents.refused import REFUSED
from dragoman.translation.translator import Translator
from tests.documents.pretend import Pretend


def test_none_is_read_and_none_is_a_language() -> None:
    assert not REFUSED.keys() & {suffix for one in FORMATS.values() for suffix in one.suffixes}
    assert not REFUSED.keys() & {
        ".pl",
        ".cs",
        ".so",
        ".ps",
        ".ai",
        ".sh",
        ".mo",
    }  # names of text in these languages
    assert all(text.count(": ") == 1 and suffix.islower() for suffix, text in REFUSED.items())


@pytest.mark.parametrize(
    "name", ["a.pdf", "B.DOC", "c.sdlppx", "d.mqxlz", "e.mobi", "f.idml", "g.zip", "h.php", "i.ipynb"]
)
@pytest.mark.parametrize("data", [b"x", b'{"a": "b"}'])
def test_the_error_says_what_to_do(name: str, data: bytes, tmp_path: Path) -> None:
    """Also if the content looks like a format."""
    what, _, hint = REFUSED[Path(name.lower()).suffix].partition(": ")
    (tmp_path / name).write_bytes(data)
    with pytest.raises(DataError, match=f"unknown format: {what}") as error:
        translate_file(cast("Translator", Pretend()), tmp_path / name, tmp_path / "out")
    assert str(error.value.hint).startswith(f"{hint}, or say which format it has with --format: text, ")
    assert not (tmp_path / "out").exists()


def test_other_names_pass() -> None:
    for name in ("train.pl", "a", "a.unknown", ".pdf"):
        assert document_format(Path(name), b"A dog.") is FORMATS["text"]
