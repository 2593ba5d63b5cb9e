"""What stands around a segment, and catalogues as training text with it."""

from __future__ import annotations

from pathlib import Path
from typing import cast

import pytest

from dragoman.base.errors import ConfigError, DataError
from dragoman.documents.context.around import contexts_of
from dragoman.documents.context.catalogues import are_catalogues, open_catalogues
from dragoman.documents.formats import Languages, format_named
from dragoman.documents.segment import Code, Segment
from dragoman.documents.translate import translate_lines, translate_segments
from dragoman.text.corpora.context import with_context
from dragoman.training.runs.text.opening import open_texts
from dragoman.training.runs.text.texts import RunRequest, open_data
from dragoman.translation.translator import Translator
from tests.documents.pretend import Reading

CATALOGUE = r"""msgid ""
msgstr "Content-Type: text/plain; charset=UTF-8\n"

#: src/menu.c:3
#. In the menu of files
msgctxt "menu"
msgid "_Open"
msgstr "Öffnen"

#: src/menu.c:9
msgid "Close <b>%s</b>"
msgstr "<b>%s</b> schließen"

#: src/door.c:1
msgid "Open"
msgstr "Offen"

#: src/door.c:2
#, fuzzy
msgid "Closed"
msgstr "Zu"
"""


def sources(segments: list[Segment], *, labels: bool) -> list[str]:
    return [one.source if one else "" for one in contexts_of(segments, labels=labels)]


def test_a_heading_and_the_texts_before() -> None:
    texts = ["A Guide", "Cats are small.", "They sleep.", "They eat.", "They drink.", "Dogs", "They bark."]
    found = sources([Segment((text,), "") for text in texts], labels=False)
    assert found == [
        "",
        "A Guide",
        "A Guide Cats are small.",
        "A Guide Cats are small. They sleep.",
        "A Guide Cats are small. They sleep. They eat.",
        "A Guide They sleep. They eat. They drink.",
        "They eat. They drink. Dogs",
    ]


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("markdown", "# A Guide\n\n{}\n\n- a dog\n- ![a cat](b) sleeps\n\nThey eat.\n"),
        ("markdown", "A Guide\n===\n\n{}\n\n| a dog |\n|---|\n| a cat |\n\nThey eat.\n"),
        ("rst", "A Guide\n=======\n\n{}\n\n- a dog\n- a cat\n\nThey eat.\n"),
        ("html", "<h1>A <b>Guide</b></h1><p>{}<ul title=a><li>a dog<li><img alt=cat>a cat</ul>They eat."),
    ],
)
def test_a_short_text_is_no_heading_where_the_file_says_so(kind: str, text: str) -> None:
    text = text.format("They sleep. " * 3)
    segments = format_named(kind).parse(text.encode(), Languages("en", "de")).segments
    assert sources(segments, labels=False)[-1].startswith("A Guide ")


def test_a_message_with_branches_explains_no_other() -> None:
    branches = Segment(("{n, plural, one {# dog} other {# dogs}}",), "")
    assert sources([branches, Segment(("A cat",), "")], labels=True) == ["A cat", ""]


def test_codes_and_blank_texts_are_left_out() -> None:
    tagged = Segment((Code("<b>", "open", 1), "A cat", Code("</b>", "close", 1), " sleeps."), "")
    assert sources([tagged, Segment((" ",), ""), Segment(("It snores.",), "")], labels=False) == [
        "",
        "A cat sleeps.",
        "A cat sleeps.",
    ]


def test_messages_of_a_program() -> None:
    document = format_named("po").parse(CATALOGUE.encode(), Languages("en", "de"))
    assert sources(document.segments, labels=True) == [
        "Close %s In the menu of files menu",
        "Open",
        "Closed",
        "Open",
    ]


UNITS = "".join(
    f'<file original="{name}" source-language="en" datatype="x"><body>'
    f'<trans-unit id="1"><source>{name} dog</source></trans-unit></body></file>'
    for name in "ab"
)
UNITS_2 = "".join(
    f'<file id="{name}"><unit id="1"><segment><source>{name} dog</source></segment></unit></file>'
    for name in "ab"
)
XMLNS = "urn:oasis:names:tc:xliff:document:"
CONTEXTS = "".join(
    f"<context><name>{name}</name><message><source>{name} dog</source><translation/></message></context>"
    for name in "ab"
)


@pytest.mark.parametrize(
    ("kind", "text", "expected"),
    [
        (
            "xliff",
            f'<xliff version="1.2" xmlns="{XMLNS}1.2">{UNITS}</xliff>',
            ["", ""],
        ),
        (
            "xliff",
            f'<xliff version="2.0" srcLang="en" xmlns="{XMLNS}2.0">{UNITS_2}</xliff>',
            ["", ""],
        ),
        ("qt", f'<TS version="2.1" language="de">{CONTEXTS}</TS>', ["a", "b"]),
    ],
)
def test_messages_of_several_files_do_not_explain_each_other(
    kind: str, text: str, expected: list[str]
) -> None:
    segments = format_named(kind).parse(text.encode(), Languages("en", "de")).segments
    assert sources(segments, labels=True) == expected


def test_each_sentence_is_translated_in_context() -> None:
    translator = Reading()
    segments = [Segment(("Cats are small. They sleep.",), ""), Segment(("They eat {0} mice.",), "")]
    translate_segments(cast(Translator, translator), segments)
    assert sorted(translator.read) == [
        ("Cats are small.", ""),
        ("They eat {0} mice.", "Cats are small. They sleep."),
        ("They sleep.", "Cats are small."),
    ]
    plain = Reading(reads=())
    translate_segments(cast(Translator, plain), segments)
    assert {context for _, context in plain.read} == {""}


def test_a_catalogue_is_training_text(tmp_path: Path) -> None:
    for name in ("a.po", "b.po"):
        (tmp_path / name).write_text(CATALOGUE, encoding="utf-8")
    corpus = open_data([tmp_path / "a.po", tmp_path / "b.po"], ("en", "de"))
    rows = [(line.source, line.target, context.source) for line, context in with_context(corpus)]
    assert (
        rows
        == [
            ("Open", "Öffnen", "Close %s In the menu of files menu"),
            ("Close %s", "%s schließen", "Open"),
            ("Open", "Offen", "Closed"),
        ]
        * 2
    )
    assert (corpus.source_language, len(corpus.shards)) == ("en", 2)
    assert not are_catalogues(["a.po", "b.tsv"])
    assert not are_catalogues([])
    (tmp_path / "mono.ts").write_text("Avuxeni.\n")  # Tsonga, not Qt
    assert not are_catalogues([tmp_path / "mono.ts"])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (None, "no such file"),
        ('msgid "a', "a.po: line 1"),
        ('msgid "a"\nmsgstr ""\n', "a.po: no finished translations"),
    ],
)
def test_catalogues_that_cannot_be_used(text: str | None, message: str, tmp_path: Path) -> None:
    if text is not None:
        (tmp_path / "a.po").write_text(text)
    with pytest.raises(DataError, match=message):
        open_catalogues([tmp_path / "a.po"], ("en", "de"))
    with pytest.raises(ConfigError, match="which languages are these"):
        open_catalogues([tmp_path / "a.po"], (None, "de"))


def test_lines_with_placeholders_are_translated_alone() -> None:
    translator = Reading()
    lines = ["Cats are small.", "They sleep. They eat."]
    assert len([*translate_lines(cast(Translator, translator), lines)]) == 2
    assert sorted(translator.read) == [
        ("Cats are small.", ""),
        ("They eat.", "They sleep."),
        ("They sleep.", ""),
    ]


def test_one_catalogue_is_text_with_two_sides(tmp_path: Path) -> None:
    (tmp_path / "a.po").write_text(CATALOGUE, encoding="utf-8")
    request = RunRequest(data=[tmp_path / "a.po"], languages=("en", "de"))
    texts = open_texts(request, lambda text: None)
    assert [line.target for line in texts.training] == ["Öffnen", "%s schließen", "Offen"]
