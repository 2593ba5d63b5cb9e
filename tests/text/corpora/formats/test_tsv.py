"""Two columns, no more, no fewer."""

from pathlib import Path

import pytest

from dragoman.base.errors import DataError
from dragoman.text.corpora.corpus import read_columns
from dragoman.text.corpora.lines import Line, TextFile


def read(folder: Path, text: str) -> list[Line]:
    path = folder / "t"
    path.write_text(text, encoding="utf-8", newline="")
    return list(read_columns(TextFile("train.tsv", path)))


def test_columns_are_taken_as_they_are(tmp_path: Path) -> None:
    assert read(tmp_path, ' a "quoted" \tA\r\n\tB\nc\t\n') == [
        Line(1, ' a "quoted" ', "A"),
        Line(2, "", "B"),
        Line(3, "c", ""),
    ]


def test_a_line_with_nothing_is_an_empty_pair(tmp_path: Path) -> None:
    assert read(tmp_path, "a\tA\n\nc\tC\n")[1:] == [Line(2, "", ""), Line(3, "c", "C")]


@pytest.mark.parametrize(
    ("line", "problem"),
    [("a\tA\t0.9", "3 columns"), ("a", "1 column"), (" ", "1 column"), ("\t\t", "3 columns")],
)
def test_other_numbers_of_columns(tmp_path: Path, line: str, problem: str) -> None:
    with pytest.raises(DataError) as caught:
        read(tmp_path, "a\tA\n" * 16 + line + "\n")
    assert str(caught.value) == f"train.tsv:17: {problem}, expected 2 (source<TAB>target)"
    assert caught.value.hint
