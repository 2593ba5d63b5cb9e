from __future__ import annotations

import openstep_plist
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dragoman.base.errors import DataError
from dragoman.documents.apple.strings import parse
from dragoman.documents.edits import PartsDocument
from dragoman.documents.formats import Languages
from dragoman.documents.segment import Result, text_of

_TEXT = st.text("ab Z\"'\\=;/*\n\t%@é\U0001f600", max_size=10)
FILES = st.lists(st.tuples(_TEXT, _TEXT), max_size=5).map(
    lambda pairs: "".join(f"/* x */\n{_quoted(key)} = {_quoted(value)};\n\n" for key, value in pairs).encode()
)


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def loaded(text: str) -> dict[str, str]:
    """What another reader of old property lists has."""
    return dict(openstep_plist.loads("{" + text + "}", use_numbers=False))


def read(text: str | bytes) -> PartsDocument:
    return parse(text if isinstance(text, bytes) else text.encode(), Languages("en", "de"))


def translate(text: str, *new: str) -> str:
    return read(text).render([Result((one,)) for one in new]).decode()


def test_values_are_read_with_their_comments() -> None:
    text = (
        '/* Title of the\n   window */\n"a" = "One \\"boat\\"";\n// Second\nb.c="Two\\nlines";\n'
        "d = word; 'e' = 'it''s'; \"f\";\n\"g\" = \"\";\n".replace("it''s", "its")
    )
    segments = read(text).segments
    assert [(one.where, one.context, text_of(one.source)) for one in segments] == [
        ("line 3", "a", 'One "boat"'),
        ("line 5", "b.c", "Two\nlines"),
        ("line 6", "d", "word"),
        ("line 6", "e", "its"),
    ]
    assert [one.note for one in segments[:2]] == ["Title of the\n   window", "Second"]
    assert translate(text, 'Ein "Boot"', "Zwei\nZeilen", "Wort", "es") == text.replace(
        'One \\"boat\\"', 'Ein \\"Boot\\"'
    ).replace("Two\\nlines", "Zwei\\nZeilen").replace("word", '"Wort"').replace("'its'", '"es"')


def test_escapes_and_line_ends_are_written_as_in_the_file() -> None:
    assert translate('"a" = "caf\\U00e9";', "Müß\U0001f600") == '"a" = "M\\U00fc\\U00df\\Ud83d\\Ude00";'
    assert translate('"a" = "café";', "Müß\x07\x01") == '"a" = "Müß\\a\\U0001";'
    assert translate('"a" = "two\nlines";', "a\nb") == '"a" = "a\nb";'
    assert translate('"a" = "two\r\nlines";\r\n', "a\nb") == '"a" = "a\r\nb";\r\n'
    assert text_of(read('"a" = "\\Ud83d\\Ude00 \\t\\\\ \\101";').segments[0].source) == "\U0001f600 \t\\ A"


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be", "utf-8-sig"])
def test_encodings(encoding: str) -> None:
    text = '/* x */\n"a" = "One boat";\n'
    new = read(text.encode(encoding)).render([Result(("Ein Böt",))])
    assert new == text.replace("One boat", "Ein Böt").encode(encoding)


@settings(max_examples=30, deadline=None)
@given(FILES, st.data())
def test_another_reader_sees_the_same_texts(data: bytes, draws: st.DataObject) -> None:
    document = read(data)
    old, new = loaded(data.decode()), [draws.draw(_TEXT) for _ in document.segments]
    written = loaded(document.render([Result((one,)) for one in new]).decode())
    assert [*written] == [*old]
    last = {one.context: text for one, text in zip(document.segments, new, strict=True)}
    for key, text in last.items():
        assert written[key] == text or not old[key].strip()


def test_a_property_list_in_xml_is_read_too() -> None:
    text = '<plist version="1.0"><dict>\n<key>a</key>\n<string>One boat</string></dict></plist>'
    assert [one.context for one in read(text).segments] == ["a"]
    assert "<string>Ein Boot</string>" in translate(text, "Ein Boot")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('"a" = "b"\n"c" = "d";', 'line 2: expected ";"'),
        ('"a" "b";', 'line 1: expected "="'),
        ('"a" =\n;', "line 2: expected a value"),
        ('"a" = "b";\n"c', "line 2: expected a key"),
        ('"a" = "b";\n"c" = ', "line 2: expected a value"),
        ('"a" = (\n"b", "c");', "line 1: expected a value"),
        ("bplist00\xd1", "a binary property list"),
    ],
)
def test_bad_files_are_refused(text: str, message: str) -> None:
    with pytest.raises(DataError, match=message) as error:
        read(text.encode("latin-1"))
    assert error.value.hint
