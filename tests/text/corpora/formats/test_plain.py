"""Two plain files, side by side."""

from pathlib import Path

import pytest

from dragoman.base.errors import DataError
from dragoman.text.corpora.corpus import read_side_by_side
from dragoman.text.corpora.lines import Line, TextFile


def files(folder: Path, source: str, target: str) -> tuple[TextFile, TextFile]:
    both = TextFile("train.en", folder / "train.en"), TextFile("train.de", folder / "train.de")
    for file, text in zip(both, (source, target), strict=True):
        file.path.write_text(text, encoding="utf-8")
    return both


def test_lines_are_paired_and_counted_from_one_with_the_empty_ones(tmp_path: Path) -> None:
    assert list(read_side_by_side(*files(tmp_path, "a\n\nc\n", "A\nB\n\n"))) == [
        Line(1, "a", "A"),
        Line(2, "", "B"),
        Line(3, "c", ""),
    ]


@pytest.mark.parametrize(
    ("source", "target", "message"),
    [
        ("x\n" * 1000, "y\n" * 991, "train.de: 991 lines, but train.en has 1000"),
        ("x\n", "y\n" * 3, "train.en: 1 line, but train.de has 3"),
        ("x\n" * 2, "y\n\n\n", "train.en: 2 lines, but train.de has 3"),
    ],
)
def test_uneven_files(tmp_path: Path, source: str, target: str, message: str) -> None:
    pairs = read_side_by_side(*files(tmp_path, source, target))

    with pytest.raises(DataError) as caught:
        list(pairs)
    assert str(caught.value) == message
    assert caught.value.hint
