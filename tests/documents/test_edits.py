"""Edits change what they name and nothing else."""

from __future__ import annotations

import pytest

from dragoman.base.errors import DataError
from dragoman.documents.edits import Edit, apply, decode_file, line_of


def test_edits_replace_their_spans() -> None:
    assert apply("one two three", [Edit(8, 13, "3"), Edit(0, 3, "1"), Edit(4, 4, "+")]) == "1 +two 3"


def test_edits_at_one_place_keep_their_order() -> None:
    assert apply("ab", [Edit(1, 1, "x"), Edit(1, 1, "y")]) == "axyb"


def test_overlapping_edits_are_a_mistake() -> None:
    with pytest.raises(ValueError, match="overlap"):
        apply("abc", [Edit(0, 2, ""), Edit(1, 3, "")])


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-32"])
def test_a_file_comes_back_in_its_encoding(encoding: str) -> None:
    data = "Grüße\r\n".encode(encoding)
    decoded = decode_file(data)
    assert decoded.text == "Grüße\r\n"
    assert decoded.encode(decoded.text) == data


def test_the_encoding_of_a_file_without_a_mark_may_be_given() -> None:
    assert decode_file(b"Gr\xfc\xdfe", "latin-1").text == "Grüße"


def test_bytes_that_do_not_fit_are_named_by_their_line() -> None:
    with pytest.raises(DataError, match="line 2: not utf-8"):
        decode_file(b"one\nGr\xfc\xdfe\n")
    with pytest.raises(DataError, match="unknown encoding 'none'"):
        decode_file(b"x", "none")


def test_a_character_that_the_encoding_lacks_is_named() -> None:
    with pytest.raises(DataError, match="latin-1 has no 'ł'"):
        decode_file(b"", "latin-1").encode("ł")


def test_lines_are_counted_from_one() -> None:
    assert [line_of("a\nb\n", place) for place in (0, 1, 2, 4)] == [1, 1, 2, 3]


@pytest.mark.parametrize("encoding", ["punycode", "idna", "unicode_escape", "undefined"])
def test_codecs_that_are_no_charset_are_refused(encoding: str) -> None:
    with pytest.raises(DataError, match="unknown encoding"):
        decode_file(b"x", encoding)
