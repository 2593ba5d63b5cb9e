"""The text of a part, and how a translation is written."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from dragoman.base.errors import ConfigError, DataError
from dragoman.bulk.run import parts_of
from dragoman.bulk.source import PartText, TextPart, kind_of_name
from dragoman.documents.files import Task


def part_of(path: Path, column: str = "text", lines: int = 99, number: int = 0) -> TextPart:
    task = Task(path, path.with_name("out"), None)
    return parts_of(task, path.parent / "work", salt="s", column=column, lines=lines)[number]


def rows(path: Path, column: str = "text") -> list[str]:
    text = PartText(part_of(path, column))
    found = list(text.texts())
    return [text.written(i, one.upper()) for i, one in enumerate(found)]


def test_the_name_says_the_kind():
    names = ("a.txt", "a.en.gz", "a", "a.JSONL", "a.jsonl.gz", "a.ndjson", "a.parquet", "a.jsonl.en")
    kinds = "lines lines lines jsonl jsonl jsonl parquet lines".split()
    assert [kind_of_name(Path(name)) for name in names] == kinds


def test_lines_keep_their_ends(tmp_path):
    (tmp_path / "a").write_bytes(b"\xef\xbb\xbfone\r\n\n \ntwo")
    assert rows(tmp_path / "a") == ["ONE\r\n", "\n", " \n", "TWO"]


def test_objects_keep_every_other_byte(tmp_path):
    lines = [
        '{"id": 1.50, "text": "a \\u0064og"}\n',
        '  {"text": "line\\nbreak", "z": [1, {}]  }  \r\n',
        "\n",
        '{"text": null}\n',
        '{"text": ""}',
    ]
    (tmp_path / "a.jsonl").write_text("".join(lines), newline="")
    assert rows(tmp_path / "a.jsonl") == [
        '{"id": 1.50, "text": "a \\u0064og", "translation": "A DOG"}\n',
        '  {"text": "line\\nbreak", "z": [1, {}], "translation": "LINE BREAK"}  \r\n',
        "\n",
        '{"text": null, "translation": null}\n',
        '{"text": "", "translation": ""}',
    ]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a", b"one\n\xff\n", "a:2: not valid UTF-8"),
        ("a", b"one\n\x00\n", "a:2: a NUL byte"),
        ("a", b"one\n\x1f\x8b\n", "a:2: not valid UTF-8"),
        ("a.jsonl", b'{"text": "x"}\n{"text"\n', "a.jsonl:2: not valid JSON"),
        ("a.jsonl", b'{"text": 5}\n', 'a.jsonl:1: "text" is not text'),
        ("a.jsonl", b'{"txt": "x"}\n', 'a.jsonl:1: no "text"'),
        ("a.jsonl", b"[]\n", "a.jsonl:1: not a JSON object"),
        ("a.jsonl", b'{"text": "x", "translation": "y"}\n', 'has a "translation" already'),
        ("a.jsonl", b'{"text": "\\ud800"}\n', "a.jsonl:1: half a surrogate pair"),
    ],
)
def test_bad_text_is_named(tmp_path, name, content, message):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(DataError, match=message):
        rows(tmp_path / name)


def test_lines_are_numbered_in_the_file_not_in_the_part(tmp_path):
    (tmp_path / "a").write_bytes(b"1\n2\n3\n\xff\n")
    with pytest.raises(DataError, match="a:4: not valid UTF-8"):
        list(PartText(part_of(tmp_path / "a", lines=2, number=1)).texts())


def test_a_file_that_changes_meanwhile_is_noticed(tmp_path):
    path = tmp_path / "a"
    path.write_text("one\ntwo\n")
    part = part_of(path)
    for changed in ("one\ntwx\n", "one\n"):
        path.write_text(changed)
        with pytest.raises(DataError, match="changed while it was translated"):
            list(PartText(part).texts())
    assert list(PartText(replace(part_of(path), name="other")).texts()) == ["one"]


def test_the_values_of_a_column(tmp_path):
    parquet = pytest.importorskip("pyarrow.parquet")
    import pyarrow

    path = tmp_path / "a.parquet"
    table = pyarrow.table({"id": [1, 2, 3], "en": ["a", None, "two\nlines"]})
    parquet.write_table(table, path, row_group_size=2)
    task = Task(path, tmp_path / "out", None)
    parts = parts_of(task, tmp_path / "work", salt="s", column="en", lines=1)
    texts = [PartText(part) for part in parts]
    assert [[*text.texts()] for text in texts] == [["a"], [""], ["two lines"]]
    assert [part.first for part in parts] == [1, 2, 3]
    assert [json.loads(text.written(0, "ä")) for text in texts] == ["ä", None, "ä"]
    for column, message in (("text", "no column 'text'"), ("id", "column 'id' is not text")):
        with pytest.raises(DataError, match=message):
            parts_of(task, tmp_path / "work", salt="s", column=column)
    path.write_bytes(b"PAR1 no")
    with pytest.raises(DataError, match="cannot be read as Parquet"):
        parts_of(task, tmp_path / "work", salt="s", column="en")


def test_parquet_without_pyarrow_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "pyarrow", None)
    with pytest.raises(ConfigError, match="needs pyarrow") as caught:
        part_of(tmp_path / "a.parquet")
    assert "dragoman[ray]" in caught.value.hint
