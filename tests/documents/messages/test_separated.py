"""Plural forms and titles between "|"."""

from __future__ import annotations

import random
from typing import cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.documents.messages.separated import separated
from dragoman.documents.segment import Code, Content, Result, Segment, full_text
from dragoman.documents.translate import translate_segments
from dragoman.translation.translator import Translator
from tests.documents.pretend import Change, Pretend

NUMBER = "number of plural forms"


def result(
    source: str | Content, target: str = "de", change: Change = str.upper, *, labels: bool = True
) -> Result:
    content = (source,) if isinstance(source, str) else source
    translator = cast("Translator", Pretend(change, target_language=target))
    (one,), _ = translate_segments(translator, [Segment(content, "line 1")], labels=labels)
    assert one is not None
    return one


@pytest.mark.parametrize("target", ["de", "pl", "ja"])
@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("{0} no dogs|[1,19] some|[20,*] many dogs", "{0} NO DOGS|[1,19] SOME|[20,*] MANY DOGS"),
        ("{0} none | {1} one | ]1,Inf[ many", "{0} NONE | {1} ONE | ]1,Inf[ MANY"),
        ("[0] no dogs|[1] one dog|[2,*] many dogs", "[0] NO DOGS|[1] ONE DOG|[2,*] MANY DOGS"),
        ("{0,1} few dogs|]-Inf, 0[ no dogs", "{0,1} FEW DOGS|]-Inf, 0[ NO DOGS"),
    ],
)
def test_texts_with_intervals(source: str, expected: str, target: str) -> None:
    assert result(source, target) == Result((expected,))


@pytest.mark.parametrize(
    ("source", "target", "expected"),
    [
        ("One dog|:count dogs", "de", "ONE DOG|:count DOGS"),
        ("One dog|:count dogs", "pl", "ONE DOG|:count DOGS|:count DOGS"),
        ("One dog|:count dogs", "ja", ":count DOGS"),
        ("One dog|:count dogs", "tr", ":count DOGS"),
        ("One dog|:count dogs", "lv", ":count DOGS|ONE DOG|:count DOGS"),  # 0, then 1, then others
        ("One dog|:count dogs", "he", "ONE DOG|:count DOGS"),
        ("one: A dog|many: %count% dogs", "cs", "one: A DOG|many: %count% DOGS|many: %count% DOGS"),
        ("{0} no dogs|One dog|%count% dogs", "ru", "{0} NO DOGS|ONE DOG|%count% DOGS|%count% DOGS"),
        ("%{n} dog |||| %{n} dogs", "tr", "%{n} DOG |||| %{n} DOGS"),
        ("%{n} dog |||| %{n} dogs", "pl", "%{n} DOG |||| %{n} DOGS |||| %{n} DOGS"),
        ("%{n} dog |||| %{n} dogs", "zh", "%{n} DOGS"),
    ],
)
def test_forms_are_those_of_the_language(source: str, target: str, expected: str) -> None:
    change = lambda word: word if word.startswith((":", "%")) else word.upper()  # noqa: E731
    assert result(source, target, change) == Result((expected,))


@pytest.mark.parametrize(
    "source", ["dog|dogs", "no dogs | one dog | {count} dogs", "{n} dog | {n} dogs", "one dog|{0} dogs"]
)
def test_the_number_of_forms_of_other_programs_stays(source: str) -> None:
    for target in ("de", "pl", "ru", "ja"):
        new = full_text(result(source, target).content)
        assert [one.strip() for one in new.split("|")] == [
            one.strip().upper().replace("{N}", "{n}").replace("{COUNT}", "{count}")
            for one in source.split("|")
        ]
    assert result("dog|dogs", "pl").doubts == result("dog|{0} dogs", "pl").doubts == (NUMBER,)
    assert full_text(result("@:home | dogs", "pl").content).count("|") == 1  # a message of vue-i18n
    assert result("dog|dogs", "de").doubts == ()


@pytest.mark.parametrize("target", ["de", "ja", "ru"])
def test_prose_keeps_the_number_of_its_parts(target: str) -> None:
    change = lambda word: word if word.startswith((":", "%")) else word.upper()  # noqa: E731
    for text in ("use cat %file% | sort the lines", "lines :from|:to are shown"):
        new = result(text, target, change, labels=False)
        assert full_text(new.content).lower() == text
    assert result("{0} none|A dog|:count dogs", "ja", change, labels=False).content == (
        "{0} NONE|:count DOGS",
    )


def test_titles_are_translated_one_by_one() -> None:
    assert result("Home | My dog", "de", lambda word: word.replace("Home", "Start")) == Result(
        ("Start | My dog",)
    )
    assert result("Cart of :name | My Shop", "pl").content == ("CART OF :name | MY SHOP",)
    for language in ("ja", "pl"):  # nothing is lost or doubled
        content = result("Delete %name% | cancel", language, labels=True).content
        assert content == ("DELETE %name% | CANCEL",)
    b, end = Code("<b>", "open", 1), Code("</b>", "close", 1)
    assert result((b, "Home", end, " | About ", b, "us", end)).content == (
        b, "HOME", end, " | ABOUT ", b, "US", end,
    )  # fmt: skip


@pytest.mark.parametrize(
    "text",
    [
        "pipe a | b",
        "a || b",
        "{{ n | number }} dogs",
        "Answer (yes|no) now",
        "dog|",
        "|dogs",
        "yes|no",
        "A {'|'} dog",
        "--color=auto|never",
        "| a | b |",
        "dogs|" * 20 + "dogs",
    ],
)
def test_other_texts_are_one(text: str) -> None:
    assert separated(Segment((text,), "1"), ("en", "de")) is None


def test_a_separator_that_vanishes_is_marked() -> None:
    lost = result("pipe a | b", "de", lambda word: word.replace("|", "or"))
    assert "sign differs: |" in lost.doubts
    more = result(
        "{0} a dog|{1} cats", "de", lambda word: word.replace("dog", "Hund|").replace("cats", "Katzen")
    )
    assert more.content == ("{0} a dog|{1} Katzen",)
    assert more.doubts[0] == "1: not translated: it would change the structure"


@pytest.mark.parametrize(
    "seed", [*range(3), *(pytest.param(seed, marks=pytest.mark.thorough) for seed in range(3, 20))]
)
def test_a_hostile_translator_keeps_every_separator(seed: int) -> None:
    chance = random.Random(seed)
    signs = ("", "|", "||||", "{0} ", "[1,2] ", "one: ", ":count", "\n", "]1,Inf[")
    for text in ("{0} no dogs|{1} one dog|[2,*] :count dogs", "A dog|:count dogs", "My dogs | Home"):
        new = result(text, "de", lambda word: chance.choice(signs) + word + chance.choice(signs))
        assert full_text(new.content).count("|") == text.count("|")
        assert full_text(new.content).startswith(text[:2]) or not text.startswith("{")


@given(st.text(st.sampled_from("Aab |{}[]01,:'"), max_size=30))
def test_any_text_is_kept(text: str) -> None:
    divided = separated(Segment((text,), "1"), ("en", "de"))
    if divided is not None:
        same = divided.joined([Result(one.source) for one in divided.segments])
        assert full_text(same.content) == text
