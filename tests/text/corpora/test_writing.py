"""Rows that the readers of training text read again."""

from __future__ import annotations

from pathlib import Path

import pytest

from dragoman.base.errors import ConfigError
from dragoman.text.corpora.corpus import open_corpus
from dragoman.text.corpora.lines import Line
from dragoman.text.corpora.writing import check_kind, pair_rows, row_of

LINES = [
    Line(1, 'A "dog"\\.', "Ein Hund."),
    Line(2, "", ""),
    Line(3, "Open", "Öffnen", "menu", "app"),
    Line(4, "Two\u2028lines", "Zwei\x85Zeilen"),
]


@pytest.mark.parametrize("kind", [".tsv", ".jsonl"])
def test_rows_are_read_again(kind: str, tmp_path: Path) -> None:
    path = tmp_path / f"pairs.en-de{kind}"
    path.write_text("".join(row_of(line, kind) for line in LINES), encoding="utf-8", newline="")
    found = [*open_corpus([path])]
    assert [(line.source, line.target) for line in found] == [(line.source, line.target) for line in LINES]
    if kind == ".jsonl":
        assert found == LINES


def test_an_empty_row_ends_a_document() -> None:
    lines = [Line(1, "a", "A", document=""), Line(2, "b", "B", document="x"), Line(3, "c", "C", document="x")]
    lines += [Line(4, "d", "D", document="y")]
    assert "".join(pair_rows(lines, ".tsv")) == "a\tA\n\nb\tB\nc\tC\n\nd\tD\n"
    assert len("".join(pair_rows(lines, ".jsonl")).splitlines()) == 4


def test_a_row_stays_one_row() -> None:
    assert row_of(Line(1, "a\tb", "c\r\nd"), ".tsv") == "a b\tc  d\n"


def test_other_names_are_refused() -> None:
    with pytest.raises(ConfigError, match=r"out\.txt: pairs are written as \.tsv or \.jsonl"):
        check_kind(Path("out.txt"))
