"""The ways in which placeholders survive, each with a translator that makes it necessary."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any, cast

import pytest
from tests.documents.pretend import Change, Pretend, same

from dragoman.text.checks.placeholders import find_placeholders
from dragoman.text.spans import Link
from dragoman.translation.exchange import choosing
from dragoman.translation.protected import Sentence, Sentences, Translated, _is_shouted
from dragoman.translation.search.alignment import Alignment
from dragoman.translation.search.options import Beam, Decoding, Sample
from dragoman.translation.translation import Translation
from dragoman.translation.translator import Translator

PIECES = 2


def sentence(text: str) -> Sentence:
    return Sentence(text, tuple((one.start, one.end) for one in find_placeholders(text)))


def answer(translator: Pretend, text: str) -> Translated:
    (one,) = Sentences(cast("Translator", translator), Decoding()).translate([sentence(text)])
    assert [one.text[start:end] for start, end in one.kept] == sentence(text).names
    return one


def test_a_plain_sentence_is_translated() -> None:
    assert answer(Pretend(str.upper), "a dog").text == "A DOG"


@pytest.mark.parametrize("text", ["%s", "42", "{a}: {b}", "😀", "https://a.example", ""])
def test_what_is_not_language_is_copied_without_asking_the_model(text: str) -> None:
    translator = Pretend(str.upper)
    one = answer(translator, text)
    assert (one.text, one.way, translator.asked) == (text, "copied", [])


def test_placeholders_that_the_model_copies_stay() -> None:
    one = answer(Pretend(backwards=True), "copy {file} to %1$s")
    assert (one.text, one.way) == ("%1$s to {file} copy", "itself")


def test_reserved_pieces_come_first() -> None:
    translator = Pretend(backwards=True, pieces=PIECES)
    one = answer(translator, "copy {file} to %1$s")
    assert (one.text, one.way) == ("%1$s to {file} copy", "pieces")
    assert translator.asked == ["copy ⟦1⟧ to ⟦2⟧"]
    assert set(one.links) == {(0, 4, 15, 19), (5, 11, 8, 14), (12, 14, 5, 7), (15, 19, 0, 4)}


def test_more_placeholders_than_pieces_go_as_they_are() -> None:
    one = answer(Pretend(pieces=PIECES), "a {a} {b} {c}")
    assert (one.text, one.way) == ("a {a} {b} {c}", "itself")


def test_a_text_that_has_a_piece_is_not_masked() -> None:
    assert answer(Pretend(pieces=PIECES), "a ⟦1⟧ {b}").way == "itself"


def broken(word: str) -> str:
    return "{ Datei }" if "{" in word else word


def test_garbled_placeholders_are_replaced_by_alignment() -> None:
    one = answer(Pretend(broken, backwards=True), "copy {file} now")
    assert (one.text, one.way) == ("now {file} copy", "alignment")


class Linked(Pretend):
    """Translates a line with a placeholder in a given way, linked in given places."""

    def __init__(self, text: str, *links: Link, **options: Any) -> None:
        super().__init__(str.upper, **options)
        self._made = text, links

    def _one(self, line: str) -> Translation:
        made, (text, links) = super()._one(line), self._made
        if "{0}" not in line:
            return made
        numbers = tuple((n, n) for n in range(len(links)))
        sides = tuple(link[:2] for link in links), tuple(link[2:] for link in links)
        return replace(made, text=text, alignment=Alignment(line, text, *sides, numbers))


def test_an_aligned_mark_stays() -> None:
    translator = Linked("Ein Hund frisst (null).", (0, 5, 0, 8), (6, 10, 9, 15), (11, 15, 16, 23))
    one = answer(translator, "A dog eats {0}.")
    assert (one.text, one.way) == ("Ein Hund frisst ({0}).", "alignment")


@pytest.mark.parametrize("span", [(16, 18), (18, 21), (20, 21), (15, 16)])
def test_a_word_is_not_cut_by_alignment(span: tuple[int, int]) -> None:
    one = answer(Linked("Ein Hund frisst eine.", (11, 14, *span)), "A dog eats {0}.")
    assert (one.text, one.way) == ("A DOG EATS {0}.", "parts")


def test_without_alignment_the_parts_are_translated() -> None:
    translator = Pretend(lambda word: broken(word).upper(), links=False)
    one = answer(translator, "copy {file} now")
    assert (one.text, one.way) == ("COPY {file} NOW", "parts")
    assert one.doubts


def test_a_word_that_touches_a_placeholder_is_no_part_of_it() -> None:
    translator = cast("Translator", Pretend(str.upper))
    sentence = Sentence("see $1dogs", ((4, 6),), aligned=True)  # $1<b>dogs</b>
    (one,) = Sentences(translator, Decoding()).translate([sentence])
    assert (one.text, one.way) == ("SEE $1DOGS", "parts")


@pytest.mark.parametrize("name", ["git-%s", "size=%d", "a.%s.b", "#%d", "%s.txt", "f(%d"])
def test_a_word_around_a_placeholder_stays(name: str) -> None:
    one = answer(Pretend(lambda word: broken(word).upper()), f"open {name} now")
    assert (one.text, one.way) == (f"OPEN {name} NOW", "alignment")


@pytest.mark.parametrize("text", ["you have %d message%s.", "buys a newspaper{x} now", "the café{x}"])
def test_a_whole_word_before_a_placeholder_is_translated(text: str) -> None:
    one = answer(Pretend(lambda word: broken(word).upper()), text)
    assert (re.sub(r"%\w|\{x\}", "", one.text), one.way) == (re.sub(r"%\w|\{x\}", "", text).upper(), "parts")


@pytest.mark.parametrize("name", ["img%d.png", "backup{date}.zip"])
def test_the_name_of_a_file_stays(name: str) -> None:
    assert answer(Pretend(lambda word: broken(word).upper()), f"open {name} now").text == f"OPEN {name} NOW"


@pytest.mark.parametrize("links", [True, False])
def test_a_unit_behind_a_placeholder_stays(links: bool) -> None:
    translator = Pretend(lambda word: broken(word).upper(), links=links)
    assert answer(translator, "it weighs %.1fkg now").text == "IT WEIGHS %.1fkg NOW"


def test_a_placeholder_is_not_replaced_with_its_neighbour() -> None:
    """What is aligned with a placeholder and a word is not taken away."""
    translator = Pretend(lambda word: "DATEI" if "{" in word else word)
    one = answer(translator, "copy {file}-name now")
    assert "{file}" in one.text
    assert one.text.count("{file}") == 1


@pytest.mark.parametrize(
    ("change", "text"),
    [
        (lambda word: "" if "%" in word else word, "a %s b"),
        (lambda word: word * 2, "a %s b"),
        (lambda word: word + " {x}", "a b"),
        (lambda word: word.replace("%s", "%d"), "a %s b"),
        (lambda word: word.replace("%1", "%10"), "a %10 b %1 c"),
        (lambda word: "%s %s %s", "a %s b"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("links", [True, False])
@pytest.mark.parametrize("pieces", [0, PIECES])
def test_no_placeholder_is_lost_added_or_changed(change: Change, text: str, links: bool, pieces: int) -> None:
    one = answer(Pretend(change, links=links, pieces=pieces), text)
    assert sorted(each.text for each in find_placeholders(one.text)) == sorted(sentence(text).names)


def test_placeholders_that_mean_their_order_keep_it() -> None:
    one = answer(Pretend(backwards=True), "%s of %d")
    assert re.findall("%[sd]", one.text) == ["%s", "%d"]
    assert one.way == "parts"


@pytest.mark.parametrize("links", [True, False])
def test_a_text_for_a_program_gets_no_lone_sign(links: bool) -> None:
    translator = Pretend(lambda word: word.replace("use", "use%: {"), links=links)
    one = answer(translator, "use %s: a")
    assert one.text == "use %s: a"


def test_a_text_for_people_may_have_a_percentage() -> None:
    assert answer(Pretend(lambda word: word.replace("percent", "%")), "50 percent").text == "50 %"


@pytest.mark.parametrize(
    ("source", "glued", "text"),
    [
        ("the %s file", "the %sfile", "the %s file"),
        ("the %s, file", "the%s, file", "the %s, file"),
        ("the {a}file", "the {a}file", "the {a}file"),
        ("%s or {a}", "%s{a} or", "%s {a} or"),
        ("a {b} c", "好{b}好", "好{b}好"),
        ("in ({a}) x", "in ({a}) x", "in ({a}) x"),
    ],
)
def test_words_do_not_stick_to_placeholders(source: str, glued: str, text: str) -> None:
    class Glues(Pretend):
        def _one(self, line: str):  # type: ignore[no-untyped-def]
            return replace(super()._one(line), text=glued)

    assert answer(Glues(), source).text == text


def test_long_placeholders_are_found_before_those_inside_them() -> None:
    one = answer(Pretend(backwards=True), "a %10 b %1 c")
    assert one.text == "c %1 b %10 a"


def stuck(word: str) -> str:
    return "der der der der der" if word == "the" else word


def test_a_loop_is_replaced_by_the_source_with_a_doubt() -> None:
    one = answer(Pretend(stuck), "the dog")
    assert (one.text, one.way) == ("the dog", "copied")
    assert one.doubts[0].startswith("not translated")


def test_a_loop_is_searched_again_with_other_settings() -> None:
    class Once(Pretend):
        def translate(self, lines, decoding=None, *, context=None):  # type: ignore[no-untyped-def]
            self.change = same if decoding.no_repeat_ngram else stuck
            return super().translate(lines, decoding)

    assert answer(Once(), "the dog").doubts == ()


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"quality": "fast"},
        {"quality": "best"},
        {"beam": 2},
        {"mbr": "chrf"},
        {"sample": Sample(n_best=5)},
    ],
    ids=str,
)
def test_each_search_has_room_for_its_translations(options: Any, reverse: bool) -> None:
    class Searching(Pretend):
        def translate(self, lines, decoding=None, *, context=None):  # type: ignore[no-untyped-def]
            choosing(decoding, shortlist=False, reverse=reverse).how(Beam(size=1))
            return super().translate(lines, decoding)

    translator = Searching(stuck)
    (one,) = Sentences(cast("Translator", translator), Decoding(**options)).translate([sentence("the dog")])
    assert one.doubts
    assert len(translator.asked) == 2


def test_an_invention_is_not_taken() -> None:
    assert answer(Pretend(lambda word: "ein langer Satz über etwas ganz anderes"), "Dog").text == "Dog"


def test_an_empty_translation_is_not_taken() -> None:
    assert answer(Pretend(lambda word: ""), "Dog").text == "Dog"


def test_capitals_are_translated_in_lower_case() -> None:
    translator = Pretend(lambda word: word + "x")
    one = answer(translator, "DELETE THE %s FILE")
    assert one.text == "DELETEX THEX %sX FILEX" or one.text == "DELETEX THEX %s X FILEX"
    assert translator.asked[0] == "Delete the %s file"


def test_marks_beside_a_placeholder_stay_where_they_are() -> None:
    one = answer(Pretend(str.upper, links=False), "%s: cannot open (%s).")
    assert (one.text, one.way) == ("%s: CANNOT OPEN (%s).", "parts")


def test_a_part_does_not_end_as_a_sentence_does() -> None:
    class Ending(Pretend):
        def _one(self, line: str):  # type: ignore[no-untyped-def]
            made = super()._one(line)
            return replace(made, text=made.text + ".")

    one = answer(Ending(lambda word: broken(word).upper(), links=False), "It has %d dogs and %s cats.")
    assert (one.text, one.way) == ("IT HAS %d DOGS AND %s CATS.", "parts")


def test_a_translation_that_was_cut_is_not_taken() -> None:
    class Short(Pretend):
        def _one(self, line: str):  # type: ignore[no-untyped-def]
            return replace(super()._one(line), truncated=True)

    assert answer(Short(str.upper), "a dog").text == "a dog"


@pytest.mark.parametrize(
    ("text", "shouted"),
    [("DELETE IT", True), ("PDF", False), ("NATO HQ", False), ("Delete", False), ("123", False)],
)
def test_capitals_are_shouted_unless_they_abbreviate(text: str, shouted: bool) -> None:
    assert _is_shouted(text) is shouted
