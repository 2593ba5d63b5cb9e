"""Segments as the model reads them, and back."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from dragoman.documents.flat import Flat, FoundCode, as_written, flatten, parts, unflatten, with_found
from dragoman.documents.segment import Code

BREAK = Code("<w:br/>", "empty", shown=" ", breaks=True)


def test_tags_leave_the_text_and_placeholders_stay() -> None:
    flat = flatten(
        with_found(("Press ", Code("<b>", "open", 1), "Save", Code("</b>", "close", 1), " in {app}."))
    )
    assert flat.text == "Press Save in {app}."
    assert [(at, code.text) for at, code in flat.tags] == [(6, "<b>"), (10, "</b>")]
    assert [(start, end, code.text) for start, end, code in flat.kept] == [(14, 19, "{app}")]


def test_tags_in_a_text_are_pairs_by_their_names() -> None:
    flat = flatten(with_found(("<i>a <b>b</b> <b>c</b></i> <br/> </p>",)))
    pairs = [(code.text, code.kind, code.pair) for _, code in flat.tags]
    assert pairs == [
        ("<i>", "open", 3), ("<b>", "open", 1), ("</b>", "close", 1), ("<b>", "open", 2),
        ("</b>", "close", 2), ("</i>", "close", 3), ("<br/>", "empty", 0), ("</p>", "close", 0),
    ]  # fmt: skip


def test_tabs_end_sentences_and_shortcuts_stay() -> None:
    found = {
        "Open the door\tCtrl+O": ["\t", "Ctrl+O"],
        "Dog:\t\t%s": ["\t\t", "%s"],
        r"Dog:\t\t%s\nCat": [r"\t\t", "%s", r"\n"],
        "Help\tF1": ["\t", "F1"],
        r"Help\tDel": [r"\t", "Del"],
        r"Open the door\tCtrl+O": [r"\t", "Ctrl+O"],
        "Dog\tCat": ["\t"],
        "Name\tA dog": ["\t"],
        "Press Ctrl+Shift+Page Up, Alt-F4 or ⌘S, ⇧⌘Z.": ["Ctrl+Shift+Page Up", "Alt-F4", "⌘S", "⇧⌘Z"],
        "Press <Control>q or <Primary><Shift>F10 now": ["<Control>q", "<Primary><Shift>F10"],
        "Zoom with Ctrl++ and CmdOrCtrl+-": ["Ctrl++", "CmdOrCtrl+-"],
        "Hit CTRL+o, <ctrl>o, Strg+O or ⌘+S, ⌥⌫": ["CTRL+o", "<ctrl>o", "Strg+O", "⌘+S", "⌥⌫"],
        "A Shift-free Control-panel, Alt and Home": [],
    }
    for text, codes in found.items():
        content = with_found((text,))
        assert [one.text for one in content if isinstance(one, Code)] == codes, text
        assert as_written(content) == (text,)
        breaks = [one.text for one in content if isinstance(one, Code) and one.breaks]
        assert breaks == [one for one in codes if one.isspace() or one.startswith("\\")]
    assert not any(isinstance(one, Code) and one.breaks for one in with_found((r"See C:\temp",)))


def test_numbers_of_found_pairs_are_apart_from_those_of_the_file() -> None:
    flat = flatten(with_found((Code("<x>", "open", 7), "<b>a</b>", Code("</x>", "close", 7))))
    assert [code.pair for _, code in flat.tags] == [7, 8, 8, 7]


def test_a_placeholder_may_be_shown_as_something_else() -> None:
    code = Code("<field n='3'/>", "placeholder", shown="Page 3")
    flat = flatten(with_found(("See ", code, ".")))
    assert (flat.text, flat.kept) == ("See Page 3.", ((4, 10, code),))
    assert unflatten(flat) == ("See ", code, ".")


def test_a_placeholder_that_shows_nothing_is_a_tag() -> None:
    content = ("a", Code("\t", "placeholder"), "b")
    assert flatten(with_found(content)).kept == ()
    assert unflatten(flatten(with_found(content))) == content


def test_what_a_tag_shows_is_not_doubled() -> None:
    content = ("a", Code("<tab/>", "empty", shown=" "), "b")
    assert flatten(with_found(content)).text == "a b"
    assert unflatten(flatten(with_found(content))) == content


def test_what_a_tag_shows_is_not_doubled_by_a_tag_at_its_place() -> None:
    tab, mark = Code("<tab/>", "empty", shown=" "), Code("<mark/>", "empty")
    flat = Flat("a b", ((1, tab), (1, mark)))
    assert unflatten(flat) == ("a", tab, mark, "b")


def test_parts_end_at_elements_that_stand_on_their_own() -> None:
    found = parts(with_found(("<ul><li>a</li><li><b>b</b> c</li></ul> cp <li>",)))
    texts = [
        "".join(one for one in each if isinstance(one, str)) for each in found if isinstance(each, tuple)
    ]
    assert [text for text in texts if text] == ["a", "b c", " cp "]


def test_parts_end_at_breaks() -> None:
    assert list(parts(with_found(("a", BREAK, "b<br>c")))) == [
        ("a",),
        BREAK,
        ("b",),
        FoundCode("<br>", "empty", breaks=True),
        ("c",),
    ]


def test_what_was_found_is_text_again() -> None:
    assert as_written(("a ", FoundCode("%s", "placeholder"), "", " b")) == ("a %s b",)


BOLD = Code("<b>", "open", 1), Code("</b>", "close", 1)


def test_a_url_that_is_bold_in_part_is_one() -> None:
    content = ("See https://exam", BOLD[0], "ple", BOLD[1], ".org/x!")
    flat = flatten(with_found(content))
    assert flat.text == "See https://example.org/x!"
    assert [flat.text[start:end] for start, end, _ in flat.kept] == ["https://example.org/x"]
    assert flat.tags == ()
    assert unflatten(flat) == content


def test_a_tag_in_a_url_whose_partner_is_outside_goes_to_its_edge() -> None:
    content = (BOLD[0], "See https://exam", BOLD[1], "ple.org, ", Code("<i>", "open", 2), "now")
    assert as_written(with_found(content)) == content
    assert unflatten(flatten(with_found(content))) == (
        BOLD[0], "See https://example.org", BOLD[1], ", ", Code("<i>", "open", 2), "now",
    )  # fmt: skip


def test_a_url_ends_at_a_break_and_a_placeholder() -> None:
    name = Code("<x id='1'/>", "placeholder")
    content = ("https://a.org", BREAK, "b https://c.org", name, "d")
    found = [one for one in with_found(content) if isinstance(one, FoundCode)]
    assert [one.text for one in found] == ["https://a.org", "https://c.org"]


def test_a_tag_with_an_argument_of_the_file_is_one() -> None:
    name = Code("{0}", "placeholder")
    content = ('Read <a href="', name, '">the ', name, "</a>")
    flat = flatten(with_found(content))
    assert (flat.text, [(at, code.kind, code.text) for at, code in flat.tags]) == (
        "Read the {0}",
        [(5, "open", '<a href="{0}">'), (12, "close", "</a>")],
    )
    assert [code for *_, code in flat.kept] == [name]
    assert unflatten(flat) == content


def test_words_across_codes_are_no_placeholders() -> None:
    content = ("50", BOLD[0], "%", BOLD[1], "sure")
    assert with_found(content) == content


@given(st.text(alphabet="ab <>/%s{}n\\&;"))
def test_any_text_comes_back(text: str) -> None:
    content = tuple(one for one in (text,) if one)
    assert unflatten(flatten(with_found(content))) == content
