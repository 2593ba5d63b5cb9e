"""Segments: sentence by sentence, with everything between them kept."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any, cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dragoman.documents.flat import as_written, flatten, with_found
from dragoman.documents.segment import Code, Content, Guard, Replacing, Result, Segment, Status, text_of
from dragoman.documents.translate import translate_lines, translate_segments
from dragoman.text.checks.faults import Fault
from dragoman.text.checks.placeholders import find_placeholders
from dragoman.translation.search.options import Decoding
from dragoman.translation.search.risk import Risk
from dragoman.translation.translation import Translation
from dragoman.translation.translator import Translator
from tests.documents.pretend import Pretend


def results(translator: Pretend, *segments: Segment, **options: Any) -> list[Result | None]:
    return translate_segments(cast("Translator", translator), segments, **options)[0]


def content(translator: Pretend, *items: str | Code) -> Content:
    (result,) = results(translator, Segment(items, "line 1"))
    assert result is not None
    assert result.doubts == ()
    return result.content


def swap(word: str) -> str:
    return word if find_placeholders(word) else word.swapcase()


def test_sentences_are_translated_alone_and_their_space_is_kept() -> None:
    translator = Pretend(backwards=True)
    assert content(translator, "One dog.  Two dogs.\n\n And a cat.") == (
        "dog. One  dogs. Two\n\n cat. a And",
    )
    assert translator.asked == ["One dog.", "Two dogs.", "And a cat."]


def test_tags_follow_their_words_across_sentences() -> None:
    b, end = Code("<b>", "open", 1), Code("</b>", "close", 1)
    assert content(Pretend(swap), "A dog. ", b, "Big cats. Small", end, " mice.") == (
        "a DOG. ", b, "bIG CATS. sMALL", end, " MICE.",
    )  # fmt: skip


def test_a_sentence_does_not_go_beyond_a_break() -> None:
    br = Code("<br/>", "empty", breaks=True)
    translator = Pretend(backwards=True)
    assert content(translator, "Yours truly", br, "A man") == ("truly Yours", br, "man A")


def test_a_tag_inside_a_word_stays_if_the_text_does() -> None:
    u, end = Code("<u>", "open", 1), Code("</u>", "close", 1)
    assert content(Pretend(), u, "S", end, "ave") == (u, "S", end, "ave")


def test_chinese_sentences_lose_their_space_and_get_it_back() -> None:
    assert content(Pretend(str.upper, target_language="zh"), "One. Two.") == ("ONE.TWO.",)
    assert content(Pretend(lambda word: word + ".", source_language="zh"), "一。二。") == ("一。. 二。.",)


def test_a_model_of_several_languages_splits_the_language_that_it_is_told() -> None:
    translator = Pretend(lambda word: word + ".", source_language="mul", target_language="mul")
    decoding = Decoding(source="zh", to="en")
    (result,) = results(translator, Segment(("一。二。",), "1"), decoding=decoding)
    assert result is not None
    assert result.content == ("一。. 二。.",)


def test_numbers_that_differ_are_doubts() -> None:
    (result,) = results(Pretend(lambda word: "6" if word == "5" else word), Segment(("5 dogs",), "1"))
    assert result is not None
    assert result.doubts == ("number differs: 5 missing", "number differs: 6 added")


def test_every_sentence_of_a_message_for_a_program_is_strict() -> None:
    translator = Pretend(lambda word: word.replace("half", "50%"))
    strict = [Segment(("Wait %s. It is half.",), "1"), Segment(("It is half.",), "2", flags=("c-format",))]
    for result in results(translator, *strict):
        assert result is not None
        assert "50%" not in text_of(result.content)
    (free,) = results(translator, Segment(("It is half.",), "3"))
    assert free is not None
    assert free.content == ("It is 50%.",)


LOCKED: frozenset[Guard] = frozenset(("approved", "locked"))


@pytest.mark.parametrize(
    ("flags", "wanted"),
    [
        ("", "missing, draft"),
        ("retranslate", "missing, draft, doubtful, done"),
        ("final", "missing, draft, final"),
        ("approved", "missing, draft"),
        ("approved locked", "missing, draft, both, empty"),
        ("retranslate final", "missing, draft, doubtful, done, final"),
    ],
)
def test_what_people_translated_stays_unless_asked(flags: str, wanted: str) -> None:
    segments = {
        "missing": Segment(("a",), "1"),
        "draft": Segment(("b",), "2", target=("B",), state=Status.DRAFT),
        "doubtful": Segment(("c",), "3", target=("C",), state=Status.DOUBTFUL),
        "done": Segment(("d",), "4", target=("D",), state=Status.DONE),
        "final": Segment(("e",), "5", target=("E",), state=Status.DONE, guards=frozenset(("final",))),
        "both": Segment(("f",), "6", target=("F",), state=Status.DRAFT, guards=LOCKED),
        "empty": Segment(("g",), "7", guards=LOCKED),
    }
    replacing = Replacing(**dict.fromkeys(flags.split(), True))
    new = results(Pretend(), *segments.values(), replacing=replacing)
    assert ", ".join(name for name, one in zip(segments, new, strict=True) if one) == wanted


def test_counts_say_what_became_of_the_translations_of_the_file() -> None:
    done, draft = Status.DONE, Status.DRAFT
    segments = [
        Segment(("a",), "1"),
        Segment(("b",), "2", target=("b",), state=draft),  # a copy of the source
        Segment(("c",), "3", target=("x",), state=draft),
        Segment(("d",), "4", target=("D",), state=draft),  # nothing new
        Segment(("e",), "5", target=("E",), state=done),
        Segment(("la la la la",), "6"),
    ]
    translator = Pretend(lambda word: "na na na na na" * 9 if word == "la" else word.upper())
    _, counts = translate_segments(cast("Translator", translator), segments)
    assert (counts.filled, counts.replaced, counts.kept, counts.left_out) == (2, 1, 2, 1)
    assert (counts.segments, counts.translated) == (6, 3)


def test_lines_are_translated_as_they_come() -> None:
    read: list[int] = []

    def lines() -> Iterator[str]:
        for number in range(9):
            read.append(number)
            yield f"Line %s {number}. Two." if number % 2 else ""

    new = translate_lines(cast("Translator", Pretend(str.swapcase)), lines(), window=4)
    assert text_of(next(new).content) == ""
    assert len(read) == 4
    assert [text_of(one.content) for one in new][:3] == ["lINE %s 1. tWO.", "", "lINE %s 3. tWO."]


def test_counts_say_what_happened() -> None:
    segments = [Segment((text,), "1") for text in ("a %s", "%d", "5 dogs. Cats.", "")]
    _, counts = translate_segments(
        cast("Translator", Pretend(lambda word: "six" if word == "5" else word)), segments
    )
    assert (counts.segments, counts.translated, counts.doubtful) == (4, 4, 1)
    assert counts.ways == {"itself": 1, "copied": 1, "plain": 2}


WORDS = st.sampled_from(
    ["ab ", "Save ", " ", "  ", "x. ", "Go. ", "%s ", "{n} ", "\n", "É ", "https://a.b/c ", "1,000 ",
     "&amp; ", " <i>ab </i> ", "<br/>"]
)  # fmt: skip


@st.composite
def contents(draw: st.DrawFn) -> Content:
    """Text with placeholders, and tags inside each other, all at the edges of words."""
    number = 0

    def items(depth: int) -> list[str | Code]:
        nonlocal number
        out: list[str | Code] = []
        for kind in draw(st.lists(st.integers(0, 5 if depth < 3 else 3), max_size=4)):
            if kind <= 2:
                out.append(draw(WORDS))
            elif kind == 3:
                out.append(Code(f"<e{len(out)}/>", "empty", breaks=draw(st.booleans())))
            else:
                number += 1
                own = number
                out += [Code(f"<p{own}>", "open", own), *items(depth + 1), Code(f"</p{own}>", "close", own)]
        return out

    return as_written(items(0))


def without_space(content: Content) -> str:
    return re.sub(r"\s+", "", "".join(one if isinstance(one, str) else one.text for one in content))


@pytest.mark.thorough
@settings(max_examples=300, deadline=None)
@given(contents())
def test_every_tag_stays_with_its_words(source: Content) -> None:
    pieces = [one if isinstance(one, Code) else re.split(r"(\s+|<[^>]*>)", one) for one in source]
    expected = tuple(one if isinstance(one, Code) else "".join(map(swap, one)) for one in pieces)
    new = content(Pretend(swap, target_language="en"), *source)
    assert without_space(new) == without_space(expected)
    assert flatten(with_found(new)).text == flatten(with_found(expected)).text


@settings(max_examples=300, deadline=None)
@given(contents())
def test_an_identity_changes_nothing(source: Content) -> None:
    assert content(Pretend(target_language="en"), *source) == source


@pytest.mark.thorough
@settings(max_examples=300, deadline=None)
@given(contents(), st.booleans(), st.booleans())
def test_codes_survive_any_translator(source: Content, backwards: bool, links: bool) -> None:
    """Not one is lost, doubled or out of order, whatever the model does."""
    translator = Pretend(lambda word: word[1:] + "%d", backwards=backwards, links=links)
    (result,) = results(translator, Segment(source, "1"))
    assert result is not None
    assert [doubt for doubt in result.doubts if doubt.startswith(("placeholder", "tag"))] == []


@pytest.mark.parametrize("target", ["de", "zh"])
def test_an_empty_segment_stays_empty(target: str) -> None:
    assert content(Pretend(target_language=target)) == ()


@dataclass
class Doubtful(Pretend):
    """A translator that is not sure of any sentence, if it is asked."""

    flags: tuple[Fault, ...] = (Fault("omission", "the old"), Fault("number differs", "5 missing"))

    def translate(
        self, lines: Iterable[str], decoding: Decoding | None = None, *, context: object = None
    ) -> list[Translation]:
        risk = Risk(0.9, self.flags) if decoding and decoding.risk else None
        return [replace(one, risk=risk) for one in super().translate(lines, decoding)]


def test_the_flags_of_a_sentence_are_doubts_if_asked_for() -> None:
    segment = Segment(("A dog. A cat.",), "line 1")

    same_language = Doubtful(target_language="en")  # so that copying is no fault
    (plain,) = results(same_language, segment)
    (risky,) = results(same_language, segment, decoding=Decoding(risk=True))
    assert plain == Result(("A dog. A cat.",))
    # Numbers and placeholders are checked for the whole segment anyway.
    assert risky == Result(("A dog. A cat.",), ("omission: the old",))
