from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.base.errors import DataError
from dragoman.documents.edits import PartsDocument
from dragoman.documents.formats import Languages
from dragoman.documents.segment import Content, Result
from dragoman.documents.strings.json import parse

GERMAN = Languages("en", "de")


def read(text: str, target: str = "de") -> PartsDocument:
    return parse(text.encode("utf-8", "surrogatepass"), Languages("en", target))


def translate(text: str, *translations: Content | str | None) -> str:
    contents = [(one,) if isinstance(one, str) else one for one in translations]
    return read(text).render([Result(one) if one else None for one in contents]).decode()


def test_strings_that_are_values_are_segments() -> None:
    text = (
        '{"a": {"b": ["x", 1, {"c": "y"}, null, ["z"]]},\n "k": "v", "k" : "w", "n": 1e5, "": "e", "f": ""}'
    )
    assert [(one.context, one.source, one.where) for one in read(text).segments] == [
        ("a.b[0]", ("x",), "line 1"),
        ("a.b[2].c", ("y",), "line 1"),
        ("a.b[4][0]", ("z",), "line 1"),
        ("k", ("v",), "line 2"),
        ("k", ("w",), "line 2"),
        ("", ("e",), "line 2"),
    ]
    assert [(one.context, one.source) for one in read('"alone"').segments] == [("", ("alone",))]
    assert read("12").segments == []


def test_only_what_is_translated_changes() -> None:
    text = '\r\n{\t"a" :"One \\"x\\"\\u00fc",  "k":"v", "k":"w" }\r\n'
    assert translate(text, None, "neu", None) == text.replace('"v"', '"neu"')
    assert translate(text, 'Eins "ö"\n', None, None) == text.replace(
        'One \\"x\\"\\u00fc', 'Eins \\"\\u00f6\\"\\n'
    )


@pytest.mark.parametrize(
    ("file", "written"),
    [
        ('{"a": "x"}', "é漢🙂</'&"),
        ('{"a": "x", "é\\u00e9é": 1}', "é漢🙂</'&"),
        ('{"a": "x", "\\u00e9": 1}', "\\u00e9\\u6f22\\ud83d\\ude42</'&"),
        ('{"a": "x", "\\u00E9": 1}', "\\u00E9\\u6F22\\uD83D\\uDE42</'&"),
        ('{"a": "x", "b": "\\/\\u003c\\u0027\\u0026"}', "é漢🙂\\u003c\\/\\u0027\\u0026"),
        ('{"a": "x", "b": "\\\\u00e9"}', "é漢🙂</'&"),
    ],
)
def test_characters_are_escaped_as_in_the_file(file: str, written: str) -> None:
    new = translate(file, "é漢🙂</'&", *[None] * (len(read(file).segments) - 1))
    assert new == file.replace('"x"', f'"{written}"')
    assert json.loads(new)["a"] == "é漢🙂</'&"


def test_half_a_surrogate_pair_is_escaped() -> None:
    text = '{"é": "x\\ud83d"}'
    assert translate(text, "y\ud83d") == text.replace("x", "y")


ARB = """{
  "@@locale": "en",
  "@@x-author": "me",
  "ships": "{n, plural, one {# ship} other {# ships}}",
  "@ships": {"description": "Shown at night", "placeholders": {"n": {"example": "3"}}},
  "@later": {"description": "Before its key"},
  "later": "Later",
  "@alone": {"a": "b"}
}
"""


def test_metadata_of_arb_are_notes() -> None:
    segments = read(ARB).segments
    assert [(one.context, one.note) for one in segments] == [
        ("ships", "Shown at night"),
        ("later", "Before its key"),
        ("@alone.a", ""),
    ]
    assert translate(ARB, None, "Später", None) == ARB.replace('"Later"', '"Später"')


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("", "line 1: not JSON: Expecting value"),
        ('{"a":\n"b', "line 2: not JSON: Unterminated string starting at"),
        ('{"a": "b",\n}', "line 1: not JSON: Illegal trailing comma before end of object"),
        ('{"a": "b"}\n}', "line 2: not JSON: Extra data"),
        ("]", "line 1: not JSON: Expecting value"),
        ('{"a": "\t"}', "line 1: not JSON: Invalid control character at"),
        ('{"NaN": "a NaN",\n"b": NaN}', "line 2: not JSON: NaN"),
        ('["-Infinity",\n\n-Infinity]', "line 3: not JSON: -Infinity"),
        ("Infinity", "line 1: not JSON: Infinity"),
        ("// no\n{}", "line 1: not JSON: Expecting value"),
        ("[\n" * 100_000, "line 201: nested more than 200 deep"),
    ],
)
def test_errors_say_the_line(text: str, what: str) -> None:
    with pytest.raises(DataError) as error:
        read(text)
    if "trailing comma" in what:  # older versions of Python say it otherwise, and of the next line
        assert "not JSON" in str(error.value)
    else:
        assert str(error.value) == what


def test_encodings() -> None:
    for name in ("utf-8-sig", "utf-16", "utf-32"):
        data = '{"a": "ü"}'.encode(name)
        assert parse(data, GERMAN).segments[0].source == ("ü",)
        assert parse(data, GERMAN).render([None]) == data
    with pytest.raises(DataError, match="line 2: not utf-8"):
        parse('{"a":\n"ü"}'.encode("latin-1"), GERMAN)
    assert len(read(f'{{"a": {"9" * 10_000}, "b": "c"}}').segments) == 1


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text() | st.just("{n, plural, other {#'s}}"),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
    max_leaves=12,
)


def strings_of(value: Any) -> list[str]:
    match value:
        case str():
            return [value] * bool(value)
        case dict():
            return [one for inner in value.values() for one in strings_of(inner)]
        case list():
            return [one for inner in value for one in strings_of(inner)]
    return []


def doubled(value: Any) -> Any:
    match value:
        case str():
            return value + value
        case dict():
            return {key: doubled(inner) for key, inner in value.items()}
        case list():
            return [doubled(inner) for inner in value]
    return value


def dumped(value: Any, ascii: bool, indent: int | str | None) -> bytes:
    return json.dumps(value, ensure_ascii=ascii, indent=indent).encode("utf-8", "surrogatepass")


FILES = st.builds(dumped, VALUES, st.booleans(), st.sampled_from([None, 2, "\t"]))


@given(VALUES, st.booleans(), st.sampled_from([None, 2, "\t"]))
def test_files_of_the_json_module(value: Any, ascii: bool, indent: int | str | None) -> None:
    document = parse(dumped(value, ascii, indent), GERMAN)
    assert [one.source[0] for one in document.segments] == strings_of(value)
    twice: list[Result | None] = [Result(one.source * 2) for one in document.segments]
    assert json.loads(document.render(twice)) == doubled(value)
