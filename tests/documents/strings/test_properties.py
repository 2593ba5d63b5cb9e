from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.base.errors import DataError
from dragoman.documents.edits import PartsDocument
from dragoman.documents.formats import Languages
from dragoman.documents.segment import Content, Result
from dragoman.documents.strings.properties import parse
from dragoman.documents.translate import translate_document
from tests.documents.pretend import Pretend


def read(text: str, target: str = "de") -> PartsDocument:
    return parse(text.encode(), Languages("en", target))


def translate(text: str, *translations: Content | str | None) -> str:
    contents = [(one,) if isinstance(one, str) else one for one in translations]
    return read(text).render([Result(one) if one is not None else None for one in contents]).decode()


def as_java_reads(text: str) -> dict[str, str]:
    """Read as the documentation of java.util.Properties.load says, character by character."""
    pairs: dict[str, str] = {}
    lines = iter(text.replace("\r\n", "\n").replace("\r", "\n").split("\n"))
    for line in lines:
        line = line.lstrip(" \t\f")
        if not line or line[0] in "#!":
            continue
        while (len(line) - len(line.rstrip("\\"))) % 2:
            line = line[:-1] + next(lines, "").lstrip(" \t\f")
        place = 0
        while place < len(line) and line[place] not in "=: \t\f":
            place += 2 if line[place] == "\\" else 1
        key, rest = line[:place], line[place:].lstrip(" \t\f")
        if rest[:1] in ("=", ":"):
            rest = rest[1:].lstrip(" \t\f")
        pairs[_plain(key)] = _plain(rest)
    return pairs


def _plain(raw: str) -> str:
    units, place = bytearray(), 0
    while place < len(raw):
        char = raw[place]
        place += 1
        if char == "\\":
            char, place = raw[place : place + 1], place + 1
            if char == "u":
                char, place = chr(int(raw[place : place + 4], 16)), place + 4
            else:
                char = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}.get(char, char)
        units += char.encode("utf-16-le", "surrogatepass")
    return units.decode("utf-16-le", "surrogatepass")


def not_empty(pairs: dict[str, str]) -> dict[str, str]:
    return {key: value for key, value in pairs.items() if value}


FILE = """# A licence.

! Shown at night.
#Twice.
ship.leaves = The ship\\u0020leaves, \\
              at ten
harbour:Open \\\\ closed\\t
  empty
key\\ with\\:signs\\=all   value = with : signs
"""


def test_values_are_segments() -> None:
    assert [(one.context, one.source, one.where, one.note) for one in read(FILE).segments] == [
        ("ship.leaves", ("The ship leaves, at ten",), "line 5", "Shown at night.\nTwice."),
        ("harbour", ("Open \\ closed\t",), "line 7", ""),
        ("key with:signs=all", ("value = with : signs",), "line 9", ""),
    ]
    java = as_java_reads(FILE)
    assert java.pop("empty") == ""
    assert java == {one.context: one.source[0] for one in read(FILE).segments}


def test_only_what_is_translated_changes() -> None:
    new = translate(FILE, None, "Offen \\ zu\n", " ein Wert")
    assert new == FILE.replace("Open \\\\ closed\\t", "Offen \\\\ zu\\n").replace(
        "   value = with : signs", "   \\ ein Wert"
    )


@pytest.mark.parametrize(
    ("file", "written"),
    [
        ("a=x", "\\u00fc\\u6f22\\ud83d\\ude42:"),
        ("a=x\nb=\\u00FC", "\\u00FC\\u6F22\\uD83D\\uDE42:"),
        ("a=x\n# ä", "ü漢🙂:"),
        ("\ufeffa=x", "ü漢🙂:"),
        ("a=x\nb=c\\:d", "\\u00fc\\u6f22\\ud83d\\ude42\\:"),
        ("a=x\nb=\\'d\\'\\ud83d\\ude42", "\\u00fc\\u6f22\\ud83d\\ude42:"),
    ],
)
def test_characters_are_escaped_as_in_the_file(file: str, written: str) -> None:
    new = translate(file, "ü漢🙂:", *[None] * (len(read(file).segments) - 1))
    assert new == file.replace("a=x", f"a={written}")


def test_what_a_file_escapes_needlessly_is_escaped() -> None:
    assert translate("a=x\nb=\\\"it\\'s", "'\"", None) == "a=\\'\\\"\nb=\\\"it\\'s"


def test_surrogates_are_one_character() -> None:
    assert read("a=\\ud83d\\ude42 \\ud83d").segments[0].source == ("🙂 \ud83d",)


def test_latin_1() -> None:
    data = "# é\na=x\n".encode("latin-1")
    document = parse(data, Languages("en", "fr"))
    assert document.render([None]) == data
    assert document.render([Result(("é€",))]) == data.replace(b"x", b"\xe9\\u20ac")


def test_continued_lines_go_on_after_line_ends() -> None:
    text = "a=one\\n\\\r\n   two\\n\\\r\n   three\r\nb=c"
    assert translate(text, "eins\nzwei\\\n", None) == text.replace("one", "eins").replace(
        "two\\n\\\r\n   three", "zwei\\\\\\n"
    )
    assert translate("a=one \\\n two", "eins zwei") == "a=eins zwei"
    assert translate("a=one \\\n two", "C:\\new\nx") == "a=C:\\\\new\\n\\\n x"


def test_strings_with_arguments_are_for_message_format() -> None:
    def flags(text: str) -> list[tuple[str, ...]]:
        return [one.flags for one in read(text).segments]

    assert flags("a=Open {0}\nb=Don''t open {1}\nc=Don't\n") == [("java-format",)] * 2 + [()]
    assert flags("a=Open {0}\nb=Don't open {1}\n") == [(), ()]  # for another program


@pytest.mark.parametrize(
    "text", ["", "\n", "#", "=", "\\", "a\\", "a=b\\", "a\\\n", " \\\n\n", "a=\\\r\n\\\r\nb", "a\\\n b=c"]
)
def test_small_files(text: str) -> None:
    segments = read(text).segments
    assert {one.context: one.source[0] for one in segments} == not_empty(as_java_reads(text))
    assert translate(text, *[None] * len(segments)) == text


@given(st.text(st.sampled_from("ab=: \t\f\\\n\r#!u00e9'{}"), max_size=60))
def test_any_file(text: str) -> None:
    try:
        document = read(text)
    except DataError:
        assert "\\u" in text
        return
    segments = document.segments
    found = {one.context: one.source[0] for one in segments}
    assert not_empty(as_java_reads(text)).items() <= found.items()
    assert document.render([None] * len(segments)).decode() == text
    assert document.render([Result(one.source) for one in segments]).decode() == text


@given(
    st.lists(st.text(max_size=20), min_size=1, max_size=4),
    st.sampled_from(
        ["a{} = old\n", "a{}:old \\\n   old\r\n", "# ä\na{} old\n", "a{}=\\:\\u00AF\\n\\\n  x\n"]
    ),
)
def test_java_reads_what_is_written(values: list[str], line: str) -> None:
    text = "".join(line.replace("{}", str(number)) for number in range(len(values)))
    document = read(text)
    new = document.render([Result((value,)) for value in values]).decode()
    assert as_java_reads(new) == {f"a{number}": value for number, value in enumerate(values)}


@pytest.mark.parametrize("backwards", [False, True])
def test_a_tag_with_an_argument_is_one(backwards: bool) -> None:
    """Apostrophes around an argument are doubled, as java.text.MessageFormat wants."""
    tags = ('<a href="{0}" target="_blank">', "<a href=''{1}''>", "<img src={0}/>")
    text = "".join(f"key{n}=It''s {{2}}. {tag}the book</a> of dogs\n" for n, tag in enumerate(tags))
    new, results, _ = translate_document(Pretend(str.upper, backwards), read(text))
    for line, tag in zip(new.decode().splitlines(), tags, strict=True):
        assert line.count(tag) == 1
        assert sorted(re.findall(r"\{\d\}", line)) == sorted(re.findall(r"\{\d\}", tag + "{2}"))
    assert [one and one.doubts for one in results] == [()] * 3
    assert translate_document(Pretend(), read(text))[0] == text.encode()


def test_spaces_behind_a_continued_line_are_written_so_that_java_reads_them() -> None:
    file = "a=Usage:\\n\\\n\\  -a  show\n"
    new = translate(file, "Aufruf:\n  -a  zeigen\n ")
    assert as_java_reads(new) == {"a": "Aufruf:\n  -a  zeigen\n "}
