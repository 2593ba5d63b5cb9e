"""Word vectors from files of every format, and from files that are none."""

from __future__ import annotations

import gzip
import struct
from pathlib import Path

import numpy as np
import pytest

from dragoman.base.errors import DataError
from dragoman.text.vectors import read_vectors

TABLE = {"bread": [1.0, -2.5, 0.25], "Käse": [0.0, 3.0, -1.0], "面包": [0.5, 0.5, 1e-3]}
WANTED = {"bread", "面包", "absent"}


def text(*, header: bool) -> bytes:
    lines = [" ".join([word, *map(str, numbers)]) for word, numbers in TABLE.items()]
    return "\n".join([*([f"{len(TABLE)} 3"] if header else []), *lines, ""]).encode()


def binary(*, newline: bool) -> bytes:
    """As word2vec writes it: some versions end each entry with a line feed, some do not."""
    data = f"{len(TABLE)} 3\n".encode()
    for word, numbers in TABLE.items():
        data += word.encode() + b" " + struct.pack("<3f", *numbers) + (b"\n" if newline else b"")
    return data


FORMATS = {
    "word2vec or fastText, text": text(header=True),
    "GloVe, text": text(header=False),
    "spaces at the ends of lines": text(header=True).replace(b"\n", b" \n"),
    "blank lines at the end": text(header=False) + b"\n\n",
    "no last line feed": text(header=False).rstrip(b"\n"),
    "word2vec, binary": binary(newline=False),
    "word2vec, binary with line feeds": binary(newline=True),
    "gzip, text": gzip.compress(text(header=True)),
    "gzip, binary": gzip.compress(binary(newline=False)),
}


@pytest.mark.parametrize("data", FORMATS.values(), ids=FORMATS)
def test_every_format_is_told_by_its_content(data: bytes, tmp_path: Path) -> None:
    path = tmp_path / "vectors"
    path.write_bytes(data)

    found = read_vectors(path, WANTED)

    assert (found.width, found.in_file) == (3, 3)
    assert found.by_word.keys() == {"bread", "面包"}
    for word, vector in found.by_word.items():
        assert vector.dtype == np.float32
        assert np.array_equal(vector, np.array(TABLE[word], dtype=np.float32))


def test_a_word_may_hold_spaces_and_the_first_of_two_counts(tmp_path: Path) -> None:
    path = tmp_path / "glove.txt"
    path.write_bytes(b"plain 1 2\n. . . 3 4\nplain 5 6\n")

    found = read_vectors(path, {"plain", ". . ."})

    assert found.by_word["plain"].tolist() == [1, 2]
    assert found.by_word[". . ."].tolist() == [3, 4]


def test_blank_lines_between_words(tmp_path: Path) -> None:
    path = tmp_path / "vectors.vec"
    path.write_bytes(b"a 1 2\n\nb 3 4\n\n\n \nc 5 6\n\n\n")

    assert read_vectors(path, {"c"}).in_file == 3


def test_a_binary_file_larger_than_what_is_read_at_once(tmp_path: Path) -> None:
    path = tmp_path / "vectors.bin"
    rng = np.random.default_rng(0)
    table = rng.standard_normal((3000, 128)).astype("<f4")  # 1.5 MB
    entries = b"".join(f"w{i} ".encode() + row.tobytes() for i, row in enumerate(table))
    path.write_bytes(b"3000 128\n" + entries)

    found = read_vectors(path, {f"w{i}" for i in range(3000)})

    assert all(np.array_equal(found.by_word[f"w{i}"], row) for i, row in enumerate(table))


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"", "no vectors"),
        (b"A sentence of plain words.\nAnother one.\n", ":1: not a word and 4 numbers"),
        (b"a 1 2 3\nb 1 2\n", ":2: not a word and 3 numbers"),
        (b"2 3\nc 1 2 3\nb 1 x 3\n", ":3: not a word and 3 numbers"),
        (binary(newline=False)[:-3], "word 3 of 3"),
        (gzip.compress(text(header=True))[:-12], "cannot be read"),
        (b"5 0\n", ":1: vectors of 0 numbers"),
        (b"a 1 nan\n", "'a' is not finite"),
        (struct.pack("<ii", 793712314, 12) + b"\0" * 40, "a whole fastText model"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",  # bytes of gzip hold the time
)
def test_what_is_none_says_where(data: bytes, said: str, tmp_path: Path) -> None:
    path = tmp_path / "vectors"
    path.write_bytes(data)

    with pytest.raises(DataError) as caught:
        read_vectors(path, {"a", "b", "A", "面包"})

    assert said in str(caught.value)
    assert str(path) in str(caught.value)
    assert caught.value.hint


def test_a_missing_file_is_said(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="No such file"):
        read_vectors(tmp_path / "nowhere.vec", {"a"})
