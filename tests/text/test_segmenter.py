"""The segmenter: pieces tile the text, nothing is lost, and joining gives each piece its place."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.text.guidance import Match
from dragoman.text.segmenter import LONGEST, Segmented, Splitting, between, may_split, segment_text

TEXTS = [
    "",
    " ",
    "\n\n",
    "One.",
    "  One.  Two.\tThree.\r\n\r\n\tFour\x0b\u2028 five.\n",
    "One.\n\nTwo.\n",
    "No end here",
    "x" * (6 * LONGEST + 5),
    "word " * 500,
    "e\u0301 \ud7ff 🙂. Next.",
]
HOWS: list[Splitting] = ["split", "lines", "one"]


def check(text: str, parts: Segmented) -> None:
    """The pieces and the space between them are the text; joined, each piece is at its place."""
    done = 0
    for one in parts.pieces:
        assert text[one.start : one.end] == one.body == one.body.strip() != ""
        assert not text[done : one.start].strip()
        done = one.end
    assert not text[done:].strip()
    marked = [f"<{one.body}>" for one in parts.pieces]
    new, spans = parts.joined(marked)
    assert [new[start:end] for start, end in spans] == marked
    assert parts.joined([one.body for one in parts.pieces])[0] == text


@pytest.mark.parametrize("how", HOWS)
@pytest.mark.parametrize("text", TEXTS, ids=range(len(TEXTS)))
def test_nothing_is_lost(text: str, how: Splitting) -> None:
    parts = segment_text(text, "en", "de", how=how)

    check(text, parts)
    assert max((len(one.body) for one in parts.pieces), default=0) <= 2 * LONGEST


@given(
    text=st.text(alphabet='aA .!?,\n\r\f\u2028。\ud800é1)"“', max_size=60),
    how=st.sampled_from(HOWS),
    longest=st.none() | st.integers(1, 20),
    places=st.lists(st.tuples(st.integers(0, 40), st.integers(0, 12)), max_size=3),
    copying=st.booleans(),
)
def test_the_pieces_tile_any_text(
    text: str, how: Splitting, longest: int | None, places: list[tuple[int, int]], copying: bool
) -> None:
    kept = [(start, start + length) for start, length in places if start + length <= len(text)]
    parts = segment_text(text, "en", "de", how=how, longest=longest, kept=kept, copying=copying)

    check(text, parts)
    for one, other in pairwise(parts.pieces):  # they may touch at the space in a span, but are not cut there
        assert not any(start < one.end and other.start < end for start, end in kept)
    if longest is not None and not kept:
        assert all(len(one.body) <= 2 * longest for one in parts.pieces)


def test_a_protected_span_is_never_cut() -> None:
    text = "Use {one. two}\nnow. Go {a\nb} on."
    kept = [(text.index("{one"), text.index("}") + 1), (text.index("{a"), text.rindex("}") + 1)]

    assert segment_text(text, "en", "de", kept=kept).sentences == ["Use {one. two}", "now.", "Go {a b} on."]
    word = "x" * 50
    assert segment_text(word, "en", "de", longest=10, kept=[(0, 50)]).sentences == [word]


def test_no_longest_cuts_nothing() -> None:
    text = "word " * 500
    assert segment_text(text, "en", "de", how="one", longest=None).sentences == [text.strip()]


def test_sentences_lines_or_the_whole() -> None:
    text = "One dog. Two dogs.\nThree dogs.\n"

    assert segment_text(text, "en", "de").sentences == ["One dog.", "Two dogs.", "Three dogs."]
    assert segment_text(text, "en", "de", how="lines").sentences == ["One dog. Two dogs.", "Three dogs."]
    assert segment_text(text, "en", "de", how="one").sentences == ["One dog. Two dogs. Three dogs."]


def test_white_space_stays_around_translations() -> None:
    parts = segment_text("\n One.  Two.\r\n\r\n", "en", "de")

    assert parts.joined(["EINS.", "ZWEI."])[0] == "\n EINS.  ZWEI.\r\n\r\n"


def test_chinese_has_no_space_between_sentences() -> None:
    parts = segment_text("One dog. Two dogs. ", "en", "zh-Hans")

    assert parts.joined(["一。", "二。"])[0] == "一。二。 "
    parts = segment_text("一只狗。两只狗。", "zh", "en")
    assert parts.joined(["One.", "Two."])[0] == "One. Two."


@pytest.mark.parametrize("how", HOWS)
@pytest.mark.parametrize("edge", ["\u200e", "\u202a", "\ufeff", "\u200b \u00ad", " \u2066"])
def test_invisible_marks_stay_around_translations(edge: str, how: Splitting) -> None:
    for text in (f"{edge}One dog.", f"One dog.{edge}", f"{edge}One dog.{edge}\n"):
        parts = segment_text(text, "en", "de", how=how)
        assert parts.sentences == ["One dog."]
        assert parts.joined(["EIN HUND."])[0] == text.replace("One dog.", "EIN HUND.")
        assert may_split(text.strip())
    assert not may_split("One dog.")
    assert segment_text("I ❤\ufe0f", "en", "de").sentences == ["I ❤\ufe0f"]


def test_what_is_no_language_is_copied() -> None:
    parts = segment_text("12 + 3\nOne dog.\n---", "en", "de", copying=True)

    assert parts.sentences == ["One dog."]
    assert parts.joined(parts.bodies(["EIN HUND."]))[0] == "12 + 3\nEIN HUND.\n---"
    assert segment_text("12", "en", "de").sentences == ["12"]


def known(*lines: str) -> dict[str, Match]:
    return {line: Match(line, line.upper(), 100.0) for line in lines}


@pytest.mark.parametrize("line", ["One dog. Two dogs.\nThree dogs.", "One dog. Two dogs.", "Two dogs."])
def test_what_is_known_is_not_cut(line: str) -> None:
    text = "One dog. Two dogs.\nThree dogs."
    memory = known(line)

    parts = segment_text(text, "en", "de", known=memory.get)

    assert line.upper() in parts.joined(parts.bodies([one.lower() for one in parts.sentences]))[0]
    assert [one.match for one in parts.pieces if one.match] == list(memory.values())
    assert not any(one in line for one in parts.sentences)


def test_a_known_line_stays_one_line() -> None:
    parts = segment_text("a dog\nb", "en", "de", known={"a dog": Match("a dog", "x\ny", 100.0)}.get)

    assert parts.joined(parts.bodies(["B"]))[0] == "x y\nB"


def test_a_text_without_pieces() -> None:
    assert Segmented((), ("",)).joined([]) == ("", [])


@pytest.mark.parametrize(
    ("space", "source", "target", "new"),
    [
        (" ", "en", "zh", ""),
        ("", "zh_Hans", "en-US", " "),
        ("", "zh", "ja", ""),
        ("  ", "en", "zh", "  "),
        ("\n", "zh", "en", "\n"),
        (" ", "en", "de", " "),
    ],
)
def test_the_space_between_sentences_is_that_of_the_language(
    space: str, source: str, target: str, new: str
) -> None:
    assert between(space, source, target) == new


def test_each_translation_has_its_place_in_the_text() -> None:
    text = "  A dog. A cat.\n \nA dog."
    new, spans = segment_text(text, "en", "de").joined(["Ein Hund.", "Eine 😀.", "Ein Hund."])

    assert new == "  Ein Hund. Eine 😀.\n \nEin Hund."
    assert [new[start:end] for start, end in spans] == ["Ein Hund.", "Eine 😀.", "Ein Hund."]
