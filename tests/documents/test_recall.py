"""Segments that a translation memory has."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import pytest

from dragoman.documents.edits import decode_file
from dragoman.documents.formats import Languages, format_named
from dragoman.documents.segment import Code, Content, Replacing, Result, Segment, Status
from dragoman.documents.translate import Counts, translate_document, translate_segments
from dragoman.translation.memory.store import TranslationMemory
from dragoman.translation.translator import Translator
from tests.documents.pretend import Pretend, remembering

B, END = Code("<b>", "open", 1), Code("</b>", "close", 1)
X = Code('<x id="1"/>', "placeholder")


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[TranslationMemory]:
    path = tmp_path / "a.tm"
    with TranslationMemory.create(path, source_language="en", target_language="de") as opened:
        yield opened


def translated(translator: Pretend, *segments: Segment, **options: Any) -> tuple[list[Result | None], Counts]:
    return translate_segments(cast("Translator", translator), segments, **options)


def content(translator: Pretend, *items: str | Code, flags: tuple[str, ...] = ()) -> Content:
    (result,), _ = translated(translator, Segment(items, "line 1", flags=flags))
    assert result is not None
    return result.content


def test_a_whole_segment_is_taken_over(memory: TranslationMemory) -> None:
    memory.add("One dog. Two dogs.", "Ein Hund, zwei Hunde.")
    translator = remembering(memory)
    results, counts = translated(translator, Segment((" One dog.  Two dogs.\n",), "line 1"))
    assert results[0] is not None
    assert results[0].content == (" Ein Hund, zwei Hunde.\n",)
    assert results[0].is_remembered
    assert results[0].doubts == ()
    assert (counts.translated, counts.remembered) == (1, 1)
    assert translator.asked == []


def test_then_its_sentences_are_looked_up(memory: TranslationMemory) -> None:
    memory.add("Two dogs.", "Zwei Hunde.")
    translator = remembering(memory)
    results, counts = translated(translator, Segment(("One dog. Two dogs. TWO DOGS.",), "line 1"))
    assert results[0] is not None
    assert results[0].content == ("ONE DOG. Zwei Hunde. TWO DOGS.",)
    assert not results[0].is_remembered
    assert counts.remembered == 0
    assert counts.ways["memory"] == 1


def test_numbers_are_those_of_the_memory(memory: TranslationMemory) -> None:
    memory.add("Half past 8", "8:30")
    assert content(remembering(memory), "Half past 8") == ("8:30",)


@pytest.mark.parametrize("source", ["Open %s now", "Open {name} now", "Open <b>it</b> now"])
def test_placeholders_in_text_must_be_the_same(memory: TranslationMemory, source: str) -> None:
    memory.add(source, "Jetzt öffnen")
    assert content(remembering(memory), source) != ("Jetzt öffnen",)
    whole = "Jetzt " + " ".join(word for word in source.split(" ") if word not in ("Open", "now")) + " öffnen"
    memory.add(source, whole)
    assert content(remembering(memory), source) == (whole,)


@pytest.mark.parametrize(("links", "pieces"), [(True, 0), (False, 3)])
@pytest.mark.parametrize(
    ("source", "target"),
    [
        ("The dog sleeps.", "Der Hund {0} schläft."),
        ("The dog eats {0}.", "Der Hund frisst."),
        ("The dog eats {0}.", "Der Hund frisst {1}."),
        ("The dog eats {0}.", "Der Hund {0} frisst {0}."),
        ("The dog <b>eats</b> now.", "Der Hund frisst."),
        ("The dog eats now.", "Der Hund <i>frisst</i>."),
        ("From %s to %s now", "Von %s"),
        ("Save it. The dog eats {0}.", "Sichern. Der Hund frisst."),
    ],
)
def test_an_entry_with_other_placeholders_or_tags_is_never_used(
    memory: TranslationMemory, source: str, target: str, links: bool, pieces: int
) -> None:
    """Not for the whole, a sentence, or a part, however the placeholders are then kept."""
    for text in (source, source.replace("Save it. ", ""), "The dog eats", "the dog eats {0}."):
        memory.add(text, target)
    translator = remembering(memory, links=links, pieces=pieces)
    (result,), _ = translated(translator, Segment((source,), "line 1"))
    assert result is not None
    text = "".join(one if isinstance(one, str) else one.text for one in result.content)
    assert re.sub(r"\{0\}|%s|</?b>", "", text) == re.sub(r"\{0\}|%s|</?b>", "", source).upper()
    assert re.findall(r"\{\d\}|%s|</?\w>", text) == re.findall(r"\{\d\}|%s|</?\w>", source)
    assert not result.is_remembered


def test_what_is_similar_still_helps_where_the_entry_cannot(memory: TranslationMemory) -> None:
    memory.add("The dog eats {0}.", "Der Hund frisst.")
    memory.add("The dog eats {0} now.", "Der Hund frisst jetzt {0}.")
    found = content(remembering(memory), "The dog eats {0} now.")
    assert found == ("Der Hund frisst jetzt {0}.",)


def test_placeholders_in_order_must_keep_it_within_a_sentence(memory: TranslationMemory) -> None:
    memory.add("Copy %(a)s to %(b)s.", "Nach %(b)s wird %(a)s kopiert.")
    found = content(remembering(memory), "Copy %(a)s to %(b)s. Really.", flags=("python-format",))
    assert found == ("Nach %(b)s wird %(a)s kopiert. REALLY.",)


def test_codes_at_the_edges_stay_there(memory: TranslationMemory) -> None:
    memory.add("Save the file.", "Datei speichern.")
    br = Code("<br/>", "empty", breaks=True)
    found = content(remembering(memory), br, B, "Save the file.", END)
    assert found == (br, B, "Datei speichern.", END)


def test_codes_inside_are_put_where_the_translation_has_them(memory: TranslationMemory) -> None:
    memory.add('Press <b>Save</b> in <x id="1"/>.', 'In <x id="1"/> auf <b>Speichern</b> drücken.')
    found = content(remembering(memory), "Press ", B, "Save", END, " in ", X, ".")
    assert found == ("In ", X, " auf ", B, "Speichern", END, " drücken.")


def test_codes_that_would_be_lost_or_crossed_are_not(memory: TranslationMemory) -> None:
    source = ("Press ", B, "Save", END, " now.")
    for target in ("Jetzt <b>speichern.", "</b>Jetzt<b> speichern.", "Jetzt <b>s</b> <b>s</b>."):
        memory.add("Press <b>Save</b> now.", target)
        found = content(remembering(memory), *source)
        assert [one for one in found if isinstance(one, Code)] == [B, END]
        assert found == ("PRESS ", B, "SAVE", END, " NOW.")


def test_a_code_inside_plain_text_goes_by_alignment_or_the_text_is_not_taken(
    memory: TranslationMemory,
) -> None:
    memory.add("Press Save now.", "Drücke Sichern jetzt.")
    source = ("Press ", B, "Save", END, " now.")
    assert content(remembering(memory), *source) == ("Drücke ", B, "Sichern", END, " jetzt.")
    assert content(remembering(memory, links=False), *source)[0] != "Drücke "


def test_line_ends_inside_must_be_the_same(memory: TranslationMemory) -> None:
    memory.add("One dog and\ntwo cats", "Ein Hund und\nzwei Katzen")
    assert content(remembering(memory), "One dog and\ntwo cats\n") == ("Ein Hund und\nzwei Katzen\n",)
    assert content(remembering(memory), "One dog and two cats") == ("Ein Hund und zwei Katzen",)
    assert content(remembering(memory), "One\ndog\nand two cats") != ("Ein Hund und\nzwei Katzen",)


def test_what_is_similar_is_offered(memory: TranslationMemory) -> None:
    memory.add("Save the file.", "Datei speichern.")
    results, counts = translated(remembering(memory), Segment(("Save the files.",), "line 1"))
    assert results[0] is not None
    assert results[0].content == ("SAVE THE FILES.",)
    assert results[0].match is not None
    assert results[0].match.target == "Datei speichern."
    assert results[0].match.score == pytest.approx(84.2, abs=0.1)
    assert (counts.translated, counts.remembered, counts.doubtful) == (1, 0, 0)


def test_only_untranslated_segments_are_looked_up(memory: TranslationMemory) -> None:
    memory.add("Row", "Zeile")
    done = Segment(("Row",), "line 1", target=("Reihe",), state=Status.DONE)
    (kept, new), _ = translated(remembering(memory), done, Segment(("Row",), "line 2"))
    assert kept is None
    assert new is not None
    assert new.content == ("Zeile",)
    (again,), _ = translated(remembering(memory), done, replacing=Replacing(retranslate=True))
    assert again is not None
    assert again.content == ("Zeile",)


XLIFF = """<xliff version="1.2"><file source-language="en" target-language="de"><body>
<trans-unit id="1"><source>Row</source></trans-unit>
<trans-unit id="2"><source>Cell</source></trans-unit>
</body></file></xliff>"""


def test_xliff_says_where_a_translation_is_from(memory: TranslationMemory) -> None:
    memory.add("Row", "Zeile")
    document = format_named("xliff").parse(XLIFF.encode(), Languages("en", "de"))
    new, _, _ = translate_document(cast("Translator", remembering(memory)), document)
    text = decode_file(new).text
    assert '<target state="translated" state-qualifier="exact-match">Zeile</target>' in text
    assert '<target state="translated">CELL</target>' in text
