from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.base.errors import DataError
from dragoman.documents.edits import PartsDocument
from dragoman.documents.formats import Languages
from dragoman.documents.segment import Content, Result, text_of
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
    assert translate(ARB, None, "Später", None) == ARB.replace('"Later"', '"Später"').replace(
        '"@@locale": "en"', '"@@locale": "de"'
    )


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


@pytest.mark.parametrize(
    ("named", "target", "expected"), [("en", "de", "de"), ("en_US", "pt-BR", "pt_BR"), ("fr", "de", "fr")]
)
def test_arb_names_the_target_language(named: str, target: str, expected: str) -> None:
    text = f'{{"@@locale": "{named}", "a": "One", "b": {{"lang": "en"}}}}'
    document = read(text, target)
    assert document.render([None]) == text.encode()
    new = json.loads(document.render([Result(("Eins",))]))
    assert new == {"@@locale": expected, "a": "Eins", "b": {"lang": target}}
    angular = read(text.replace("@@locale", "locale", 1), target)
    new = json.loads(angular.render([Result(("Eins",))] * len(angular.segments)))
    assert new["locale"] == {"pt_BR": "pt-BR", "fr": "Eins"}.get(expected, expected)  # "fr" may be a word


@pytest.mark.parametrize(
    ("text", "messages"),
    [
        (  # WebExtensions
            '{"a": {"message": "Hi $NAME$", "description": "A note", "placeholders": {"name": '
            '{"content": "$1", "example": "Ann"}}}, "b": {"message": "Bye"}}',
            [("a.message", "Hi $NAME$", "A note"), ("b.message", "Bye", "")],
        ),
        (  # FormatJS
            '{"x": {"defaultMessage": "Hi", "description": {"a": 1}}, "y": {"defaultMessage": "Bye"}}',
            [("x.defaultMessage", "Hi", ""), ("y.defaultMessage", "Bye", "")],
        ),
        (
            '[{"id": "x", "description": "A note", "defaultMessage": "Hi", "file": "a.js", "start": 1}]',
            [("[0].defaultMessage", "Hi", "A note")],
        ),
        (  # Transifex
            '{"a": {"string": "Hi", "context": "c", "developer_comment": "A note", "character_limit": 9}}',
            [("a.string", "Hi", "A note")],
        ),
        (  # go-i18n 1, Lokalise
            '[{"id": "x", "translation": {"one": "Ox", "other": "Oxen"}}, {"id": "y", "translation": "Hi"}]',
            [
                ("[0].translation.one", "Ox", ""),
                ("[0].translation.other", "Oxen", ""),
                ("[1].translation", "Hi", ""),
            ],
        ),
        (  # go-i18n 2
            '{"a": "Hi", "b": {"description": "A note", "one": "Ox", "other": "Oxen"}, "_comment": "Two"}',
            [("a", "Hi", ""), ("b.one", "Ox", ""), ("b.other", "Oxen", "")],
        ),
        (  # no go-i18n, and a table of languages
            '{"a": {"title": "Hi", "one": "Ox", "other": "Oxen", "description": "Bye"}, '
            '"b": [{"lang": "en"}]}',
            [
                ("a.title", "Hi", ""),
                ("a.one", "Ox", ""),
                ("a.other", "Oxen", ""),
                ("a.description", "Bye", ""),
                ("b[0].lang", "en", ""),
            ],
        ),
        (  # i18next
            '{"x": {"translation": {"title": "Hi", "description": "Bye"}}}',
            [("x.translation.title", "Hi", ""), ("x.translation.description", "Bye", "")],
        ),
        (  # VS Code
            '{"a": "Hi", "b": {"message": "Bye", "comment": ["One", "Two"]}}',
            [("a", "Hi", ""), ("b.message", "Bye", "One\nTwo")],
        ),
        (  # others
            '{"error": {"title": "Oops", "message": "It broke"}, "ok": {"message": "It works"}}',
            [("error.title", "Oops", ""), ("error.message", "It broke", ""), ("ok.message", "It works", "")],
        ),
        (
            '{"a": "Hi", "b": {"message": "Bye", "description": "See you"}}',
            [("a", "Hi", ""), ("b.message", "Bye", ""), ("b.description", "See you", "")],
        ),
    ],
)
def test_only_messages_are_translated_where_objects_describe_them(
    text: str, messages: list[tuple[str, str, str]]
) -> None:
    segments = read(text).segments
    assert [(one.context, text_of(one.source), one.note) for one in segments] == messages


I18NEXT = """{
    "dog_one": "{{count}} dog",
    "dog_other" : "{{count}} dogs",
    "place_ordinal_one": "{{count}}st", "place_ordinal_other": "{{count}}th",
    "another": "Another one", "see_other": "See others",
    "cat" : {"one": "a cat", "other": "cats"},
    "side": {"one": "this one", "other": "the other", "none": "none"}
}"""


def test_plurals_of_i18next_get_the_keys_of_the_language() -> None:
    new = read(I18NEXT, "pl")
    results: list[Result | None] = [Result((text_of(one.source).upper(),)) for one in new.segments]
    text = new.render(results).decode()
    dogs = [f'    "dog_{form}" : "{{{{COUNT}}}} DOGS",\n' for form in ("other", "few", "many")]
    assert "".join(dogs) in text
    assert '{"one": "A CAT", "other": "CATS", "few": "CATS", "many": "CATS"}' in text
    added = set(json.loads(text)) - set(json.loads(I18NEXT))
    assert added == {"dog_few", "dog_many"}
    assert set(json.loads(text)["side"]) == {"one", "other", "none"}
    again = read(text, "pl")
    assert again.render([None] * len(again.segments)) == text.encode()
    assert [one.context for one in new.segments][:4] == [
        "dog_one",
        "dog_other",
        "dog_other[few]",
        "dog_other[many]",
    ]
    for target in ("de", "ja", "qqq"):  # none is dropped
        other = read(I18NEXT, target)
        upper: list[Result | None] = [Result((text_of(one.source).upper(),)) for one in other.segments]
        assert set(json.loads(other.render(upper))) == set(json.loads(I18NEXT))


@pytest.mark.parametrize(
    ("target", "added"),
    [
        ("de", {}),
        ("fr", {}),
        ("pl", {"dog_0": "A DOG", "dog_1": "DOGS", "dog_2": "DOGS"}),
        ("ja", {"dog_0": "DOGS"}),
        ("ar", {f"dog_{n}": "A DOG" if n == 1 else "DOGS" for n in range(6)}),
    ],
)
def test_plurals_of_old_i18next_get_the_numbers_of_the_language(target: str, added: dict[str, str]) -> None:
    text = '{"dog": "a dog", "dog_plural": "dogs", "cat_plural": "cats"}'
    document = read(text, target)
    new = document.render([Result((text_of(one.source).upper(),)) for one in document.segments])
    assert json.loads(new) == {"dog": "A DOG", "dog_plural": "DOGS", "cat_plural": "CATS", **added}


def test_keys_that_are_there_twice_are_no_trouble() -> None:
    text = (
        '{"a": {"b": {"x_one": "One", "x_other": "Two"}}, "a": "Three", "l": [{"x_other": "A"}, "B"],'
        ' "l": {}}'
    )
    assert len(read(text, "pl").segments) == 5


def test_many_keys_and_escaped_quotes_are_read_once() -> None:
    file = json.dumps({f"k{n}_other": "Many dogs" for n in range(20_000)} | {'"' * 20_000: "A dog"})
    assert len(read(file, "pl").segments) == 20_001
