"""Objects, one a line, in the three forms that are about."""

from pathlib import Path

import pytest

from dragoman.base.errors import DataError
from dragoman.text.corpora.formats import jsonl
from dragoman.text.corpora.lines import Line, TextFile

PAIR = '{"source": "a", "target": "A"}'


def file(folder: Path, text: str) -> TextFile:
    path = folder / "t"
    path.write_text(text, encoding="utf-8")
    return TextFile("train.jsonl", path)


def problem(folder: Path, text: str, keys: tuple[str | None, str | None] = (None, None)) -> str:
    with pytest.raises(DataError) as caught:
        list(jsonl.read(file(folder, text), keys))
    assert caught.value.hint
    return str(caught.value)


@pytest.mark.parametrize(
    "line",
    [
        '{"source": "a", "target": "A", "score": 0.5}',
        '{"id": 1, "translation": {"en": "a", "de": "A", "fr": "b"}}',
        '{"de": "A", "en": "a", "fr": "b", "note": null}',
    ],
)
def test_the_three_forms(tmp_path: Path, line: str) -> None:
    assert list(jsonl.read(file(tmp_path, line), ("en", "de"))) == [Line(1, "a", "A")]


def test_a_number_of_any_length_may_stand_beside(tmp_path: Path) -> None:
    line = PAIR.replace("{", '{"id": ' + "9" * 5000 + ", ")
    assert list(jsonl.read(file(tmp_path, line), (None, None))) == [Line(1, "a", "A")]


def test_context_and_document_stand_beside_the_translation(tmp_path: Path) -> None:
    names = "12345678901234567890", "12345678901234567891"
    pair = '"translation": {"en": "a", "de": "A"}'
    lines = [f'{{{pair}, "document": {name}, "context": "menu"}}\n' for name in names]
    found = [*jsonl.read(file(tmp_path, "".join(lines)), ("en", "de"))]
    assert found == [Line(number, "a", "A", "menu", name) for number, name in enumerate(names, 1)]


def test_blank_lines_are_empty_pairs_so_that_numbers_stay_right(tmp_path: Path) -> None:
    pairs = list(jsonl.read(file(tmp_path, f"{PAIR}\n\n{PAIR}\n"), (None, None)))

    assert pairs == [Line(1, "a", "A"), Line(2, "", ""), Line(3, "a", "A")]


def test_escapes_are_text_and_line_breaks_are_spaces(tmp_path: Path) -> None:
    text = r'{"source": "\ud83d\ude00 \u2028 x", "target": "two\r\nlines\nmore"}'

    assert list(jsonl.read(file(tmp_path, text), (None, None))) == [Line(1, "😀 \u2028 x", "two lines more")]


@pytest.mark.parametrize(
    ("text", "languages"),
    [
        (PAIR, (None, None)),
        ('{"translation": {"en": "a", "de": "A"}}', ("en", "de")),
        ('\n{"de": "A", "en": "a", "score": 1, "url": 3}', ("de", "en")),
        ('{"id": "x7", "en": "a", "de": "A"}', ("en", "de")),
        ('{"en": "a", "id": "A"}', ("en", "id")),
    ],
)
def test_the_first_object_names_the_languages(
    tmp_path: Path, text: str, languages: tuple[str | None, str | None]
) -> None:
    assert jsonl.languages(file(tmp_path, text)) == languages


@pytest.mark.parametrize(
    "text", ["{}", '{"en": "a"}', '{"en": "a", "de": "A", "fr": "b"}', '{"english": "a", "german": "A"}']
)
def test_a_first_object_that_names_no_two_languages(tmp_path: Path, text: str) -> None:
    with pytest.raises(DataError, match="^train.jsonl:1: which keys"):
        jsonl.languages(file(tmp_path, text))


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('{"source": "a"', "not valid JSON (Expecting ',' delimiter, column 15)"),
        ("[" * 100_000, "not valid JSON"),
        ("[1, 2]", "not a JSON object"),
        ('"text"', "not a JSON object"),
        ('{"source": "a"}', 'no "target"'),
        ('{"source": "a", "target": null}', '"target" is not text'),
        (r'{"source": "a\u0000", "target": "A"}', "a NUL character"),
        (r'{"source": "a", "target": "\ud83d"}', "half a surrogate pair"),
    ],
)
def test_mistakes_are_told_with_their_line(tmp_path: Path, line: str, message: str) -> None:
    assert problem(tmp_path, f"{PAIR}\n" * 16 + line).startswith(f"train.jsonl:17: {message}")


def test_a_language_that_is_missing_further_on(tmp_path: Path) -> None:
    text = '{"en": "a", "de": "A"}\n{"en": "a", "fr": "A"}'

    assert problem(tmp_path, text, ("en", "de")) == 'train.jsonl:2: no "de"'
