"""Accelerators leave a text before it is translated, and come back once."""

from __future__ import annotations

from typing import cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dragoman.documents.accelerators import Menu, take_out
from dragoman.documents.flat import as_written, with_found
from dragoman.documents.segment import Code, Segment, text_of
from dragoman.documents.translate import translate_segments
from dragoman.translation.translator import Translator
from tests.documents.pretend import Pretend

GERMAN = {
    "Open": "Öffnen", "the": "die", "door": "Tür", "Close": "Schließ", "window": "Fenster", "Exit": "Ende",
    "Save": "Sichern", "As...": "unter...", "Dog": "Hund", "File": "Datei", "All": "Alle",
}  # fmt: skip


def translated(*texts: str, target: str = "de") -> list[tuple[str, list[str]]]:
    translator = Pretend(lambda word: GERMAN.get(word, word), target_language=target)
    segments = [Segment((text,), "line 1", context=text) for text in texts]  # as keys are
    results, _ = translate_segments(cast("Translator", translator), segments, labels=True)
    return [
        (text_of(one.content), [doubt for doubt in one.doubts if doubt.startswith("sign")])
        for one in results
        if one is not None
    ]


@pytest.mark.parametrize(
    ("text", "bare", "letter"),
    [
        ("_Open", "Open", "O"),
        ("&Save", "Save", "S"),
        ("&&Save", "Save", "S"),
        ("Save &&As...", "Save As...", "A"),
        ("~File", "File", "F"),
        ("Close &window", "Close window", "w"),
        ("Save _As...", "Save As...", "A"),
        ("Show _all", "Show all", "a"),
        ("E&xit", "Exit", "x"),
        ("E_xit", "Exit", "x"),
        ("Re_do", "Redo", "d"),
        ("Page Set_up", "Page Setup", "u"),
        ("Cance_l", "Cancel", "l"),
        ("Copie_s:", "Copies:", "s"),
        ("Dis&play", "Display", "p"),
        ("Copy to c&lipboard.", "Copy to clipboard.", "l"),
        ("Forma~t", "Format", "t"),
        ("&save", "save", "s"),
        ("(&Other)", "(Other)", "O"),
        ("R & D of &dogs", "R & D of dogs", "d"),
        ("Cats && &dogs", "Cats && dogs", "d"),
        ("&Öffnen", "Öffnen", "Ö"),
        ("&Файл", "Файл", "Ф"),
        ("文件(&F)", "文件", "F"),
        ("文件 (_F)...", "文件...", "F"),
        ("&Open %s", "Open %s", "O"),
        ("_Open\tCtrl+O", "Open\tCtrl+O", "O"),
    ],
)
def test_an_accelerator_is_taken_out(text: str, bare: str, letter: str) -> None:
    content, found = take_out(with_found((text,)))
    assert text_of(tuple(one.text if isinstance(one, Code) else one for one in content)) == bare
    assert found == (next(sign for sign in ("&&", *"_&~") if f"{sign}{letter}" in text), letter)


@pytest.mark.parametrize(
    "text",
    [
        *(
            "snake_case",
            "The file_name is",
            "_private",
            "The field _name is required.",
            "__init__",
            "call __init__ here",
            "MAX_SIZE",
            "a_b",
            "__",
        ),
        *("_name_", "_open()", "_config.yml", "x._y", "Use _open() here", "%_d", "user_name@a.de"),
        *(
            *(
                "R&D",
                "User_name",
                "Order_id",
                "Copy&paste",
                "Use drag&drop to move files.",
                "Terms&conditions",
            ),
            "AT&T",
            "Q&A",
            "A & B",
            "A && B",
            "Cats&&Dogs",
            "A &amp; B",
            "a=1&b=2",
            "https://a.b/?a=1&b=2",
            "&lt;b&gt;",
        ),
        *("~5 dogs", "~/path", "~user", "a ~ b", "~~bold~~", "/~ann/dogs"),
        *("&Yes or &No", "_Yes/_No", "&1 dog", "Open", "", "The " + "old " * 30 + "&dog"),
    ],
)
def test_other_signs_stay(text: str) -> None:
    source = with_found((text,))
    assert take_out(source) == (source, None)


@pytest.mark.parametrize(
    ("text", "new"),
    [
        ("_Open the door", "_Öffnen die Tür"),  # no o: the first letter
        ("Close &window", "&Schließ Fenster"),
        ("E&xit", "&Ende"),
        ("Save _As...", "_Sichern unter..."),
        ("~Save", "~Sichern"),
        ("&Dog", "Hun&d"),
        ("_Open\tCtrl+O", "_Öffnen\tCtrl+O"),
        ("_File %s", "_Datei %s"),
        ("Rex", "Rex"),
        ("_Rex", "_Rex"),
        ("Bo&b", "Bo&b"),
        ("A & B", "A & B"),
    ],
)
def test_the_translation_has_it_once(text: str, new: str) -> None:
    assert translated(text) == [(new, [])]


@pytest.mark.parametrize("target", ["zh", "zh-TW", "ja", "ko"])
def test_chinese_japanese_and_korean_have_it_in_brackets(target: str) -> None:
    new = translated("&Open", "Save _As...", "~File\tCtrl+O", "&Open %s", target=target)
    assert [text for text, _ in new] == [
        "Öffnen(&O)", "Sichern unter(_A)...", "Datei(~F)\tCtrl+O", "Öffnen %s(&O)",
    ]  # fmt: skip


def test_neighbours_have_different_letters() -> None:
    new = [text for text, _ in translated("_Dog", "_All", "D_oor", "_Do All", "_Dog")]
    letters = [text[text.index("_") + 1].casefold() for text in new]
    assert letters[0] == letters[4]  # as in the source
    assert len(set(letters)) == 3 + (letters[3] != letters[0])
    assert [text for text, _ in translated("&File", "&Dog")] == ["&Datei", "&Hund"]
    menu = Menu()
    one, two = ("_", "a"), ("_", "b")
    assert menu.put(("xy",), one, "de") == ("_xy",)
    assert menu.put(("xy",), two, "de") == ("x_y",)
    assert menu.put(("x",), two, "de") == ("_x",)  # no letter is free


def test_a_sign_that_is_lost_is_a_doubt() -> None:
    assert translated("&Yes or &No")[0][1] == []
    translator = Pretend(lambda word: word.replace("&", "").replace("_", ""))
    texts = ("&Yes or &No", "The file_name", "R&D", "&&Yes or &&No")
    results, _ = translate_segments(
        cast("Translator", translator), [Segment((text,), "1") for text in texts], labels=True
    )
    lost = [[d for d in one.doubts if d.startswith("sign")] for one in results if one]
    assert lost == [["sign: & missing"], ["sign: _ missing"], ["sign: & missing"], ["sign: && missing"]]
    digits = Pretend(lambda word: "5")
    results, _ = translate_segments(cast("Translator", digits), [Segment(("_Open",), "1")], labels=True)
    assert results[0] is not None
    assert "sign: _ missing" in results[0].doubts


def test_an_access_key_is_the_letter_of_another_label() -> None:
    translator = Pretend(lambda word: word + word)
    segments = [
        Segment((text,), "1", context=context)
        for context, text in (("open.accesskey", "O"), ("openAccessKey", "x"), ("open", "O"), ("x.key", "Ox"))
    ]
    results, _ = translate_segments(cast("Translator", translator), segments, labels=True)
    assert [text_of(one.content) for one in results if one] == ["O", "x", "OO", "OxOx"]


def test_prose_has_none() -> None:
    translator = Pretend(lambda word: word.replace("&", "").replace("_", ""))
    results, _ = translate_segments(cast("Translator", translator), [Segment(("Close &window",), "1")])
    assert results[0] is not None
    assert (results[0].content, results[0].doubts) == (("Close window",), ())


@settings(max_examples=30, deadline=None)
@given(st.text("ab _&~();\t.%s", max_size=12))
def test_an_identity_changes_nothing_and_no_text_is_lost(text: str) -> None:
    source = with_found((text,))
    bare, found = take_out(source)
    if found is None:
        assert as_written(bare) == as_written(source)
    translator = Pretend(target_language="en")
    results, _ = translate_segments(cast("Translator", translator), [Segment((text,), "1")], labels=True)
    assert results[0] is not None
    assert text_of(results[0].content) == text
