from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.documents.files import parse, sources, translated, with_results

WRAPPED = "The boats lie in the harbour until\nthe storm is over and the water\nis calm.\n"
ENDS = st.sampled_from(["\n", "\r\n", "\r", "\n\n", "\n \n"])
ROWS = st.text(st.sampled_from("ab.-12>* \tä水。"), max_size=30)


def test_a_paragraph_is_one_segment():
    assert sources("text", f"{WRAPPED}\nAnother one.\n") == [
        "The boats lie in the harbour until the storm is over and the water is calm.",
        "Another one.",
    ]


def test_bullets_numbers_and_indents_begin_segments():
    text = "Bring:\n- a rope\n- two lamps\n1. first\n2) second\n  indented\n"
    assert sources("text", text) == ["Bring:", "a rope", "two lamps", "first", "second", "indented"]


def test_a_hanging_indent_goes_on():
    assert sources("text", "- a rope that is\n  long enough\n- a lamp\n") == [
        "a rope that is long enough",
        "a lamp",
    ]


def test_short_lines_that_end_a_sentence_are_paragraphs():
    text = "It rained.\nThe whole village stood at the harbour and waited for them.\n"
    assert len(sources("text", text)) == 2


def test_lines_of_a_list_or_a_poem_are_not_joined():
    for text in (
        "Shopping list\nA red car\nA dog\n2 cats\n",
        "Roses are red\nViolets are blue\nSugar is sweet\n",
        "INTRODUCTION\nA man rides a bike in the park while it\n",
    ):
        assert sources("text", text) == text.splitlines()
    assert sources("text", "the water is\ncalm and the\nboats lie still\n") == [
        "the water is calm and the boats lie still"
    ]
    wide = "The boats lie in the harbour of Hull until the\nGerman fishermen come back home, says\nOld Tom.\n"
    assert sources("text", wide) == [" ".join(wide.splitlines())]
    assert (
        len(
            sources(
                "text", "Please read the guide, which was written at our office in\nBerlin.\n" + "x" * 110
            )
        )
        == 1
    )
    assert len(sources("text", "我们在北京见面，那是\n2024年的春天。\n")) == 1


def test_tabs_and_gaps_stay_and_end_sentences():
    text = "Name:\tA dog\nColour:\t\t A red car\nOne   two  three\n"
    assert sources("text", text) == ["Name:⟨\t⟩A dog", "Colour:⟨\t\t ⟩A red car", "One⟨   ⟩two  three"]
    assert translated("text", text) == "NAME:\tA DOG\nCOLOUR:\t\t A RED CAR\nONE   TWO THREE\n"
    assert sources("text", "the cat\tsleeps   in the house and\nthe dog too\n") == [
        "the cat\tsleeps   in the house and the dog too"
    ]


def test_rulers_and_lines_without_words_stay():
    text = "Title\n=====\n\n* * *\n\nText.\n"
    assert translated("text", text) == "TITLE\n=====\n\n* * *\n\nTEXT.\n"


def test_hyphens_at_line_ends_stay():
    assert sources("text", "He is a well-\nknown man\n") == ["He is a well-known man"]


@pytest.mark.parametrize(
    ("lines", "joined"),
    [
        ("eine be‐\nkannte Sache", "eine bekannte Sache"),  # as groff divides words
        ("eine be\xad\nkannte Sache", "eine bekannte Sache"),
        (
            "hier steht, wie der Befehl ein Debian‐\nPaket auspackt",
            "hier steht, wie der Befehl ein Debian‐Paket auspackt",
        ),
        ("die Vor‐\nund Nachteile", "die Vor‐ und Nachteile"),
        ("les pré‐\net post‐traitements", "les pré‐ et post‐traitements"),
    ],
)
def test_divided_words_are_joined(lines: str, joined: str):
    assert sources("text", lines + "\n") == [joined]


def test_chinese_lines_are_joined_without_space():
    assert sources("text", "他们在港口等待\n暴风雨过去\n") == ["他们在港口等待暴风雨过去"]


def test_an_edited_paragraph_is_wrapped_to_its_old_width():
    new = translated("text", WRAPPED, lambda text: "Die " + text)
    rows = new.splitlines()
    assert " ".join(rows) == "Die The boats lie in the harbour until the storm is over and the water is calm."
    assert len(rows) == 3
    assert max(map(len, rows)) <= 34


def test_wrapped_lines_keep_their_margin():
    new = translated(
        "text", "> quoted lines of a\n> letter that is long\n", lambda text: text + " indeed it is"
    )
    assert new == "> quoted lines of a\n> letter that is long\n> indeed it is\n"


def test_chinese_is_wrapped_by_characters_without_a_stop_at_the_beginning():
    new = with_results("text", "aaaa bbbb\ncccc dddd\n", ("他们在港。口等待",))
    assert new == "他们在\n港。口等\n待\n"


def test_no_wrapped_line_begins_like_a_list():
    new = with_results("text", "one two three\nfour five six\n", ("aaaa bbbb cc - dddd 12. eeee",))
    assert len(sources("text", new)) == 1


def test_no_break_spaces_stay():
    assert "5\u00a0km" in with_results("text", "Five\n", ("5\u00a0km weit",))


def test_margins_stay_byte_for_byte():
    text = "\ufeff  \r\n\tOne two \t\r\n\r\n\r\n Three"
    assert translated("text", text) == "\ufeff  \r\n\tONE TWO \t\r\n\r\n\r\n THREE"


def test_segments_name_their_lines():
    assert [one.where for one in parse("text", "\nOne\n\n\n- two\n").segments] == ["line 2", "line 5"]


@pytest.mark.thorough
@given(st.lists(st.tuples(ROWS, ENDS)))
def test_an_edit_keeps_what_is_no_word(rows: list[tuple[str, str]]):
    """But for the marks of quoted lines, of which there may be fewer after wrapping."""
    text = "".join(row + end for row, end in rows)
    new, old = (re.sub(r"[\s>]+", "", one) for one in (translated("text", text), text.upper()))
    assert new == old
