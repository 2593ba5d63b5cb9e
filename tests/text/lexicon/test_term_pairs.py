"""Terms and their translations, found in parallel text."""

from random import Random

import pytest

from dragoman.text.guidance import Note
from dragoman.text.lexicon.term_pairs import (
    TermPair,
    TermPairs,
    WordLink,
    WordLinks,
    draw_notes,
    words_of_line,
)

NOUNS = {
    "table": "Tabelle", "letter": "Buchstabe", "window": "Fenster", "print preview": "Druckvorschau",
    "colour": "Farbe", "picture": "Bild", "comment": "Kommentar", "page": "Seite",
}  # fmt: skip
VERBS = {"opens": "öffnet", "closes": "schließt", "shows": "zeigt", "hides": "verbirgt"}


def written() -> list[tuple[str, str]]:
    """Sentences of two nouns and a verb. A noun is in the plural once in four times."""
    random, pairs = Random(1), []
    for _ in range(600):
        (one, eins), (two, zwei) = random.sample(sorted(NOUNS.items()), 2)
        verb, tut = random.choice(sorted(VERBS.items()))
        if random.random() < 0.25:
            two, zwei = two + "s", zwei + ("n" if zwei.endswith("e") else "en")
        pairs.append((f"The {one} {verb} the {two}.", f"Die {eins} {tut} die {zwei}."))
    return pairs


PAIRS = written()


@pytest.fixture(scope="module")
def terms() -> TermPairs:
    return TermPairs.learn(lambda: PAIRS, target_language="de")


def test_terms_and_their_translations(terms: TermPairs) -> None:
    source, target = "The print preview shows the tables.", "Die Druckvorschau zeigt die Tabellen."
    found = {(source[a:b], target[c:d], form) for a, b, c, d, form in terms.of(source, target)}
    assert found == {
        ("print preview", "Druckvorschau", "Druckvorschau"), ("shows", "zeigt", "zeigt"),
        ("tables", "Tabellen", "Tabellen"),
    }  # fmt: skip


def test_the_form_is_the_commonest_of_the_word() -> None:
    pairs = [(source.replace("tables", "table"), target) for source, target in PAIRS]
    terms = TermPairs.learn(lambda: pairs, target_language="de")
    forms = [one.form for one in terms.of("The table.", "Die Tabellen.")]
    assert forms == ["Tabelle"]


def test_nearly_all_words_are_found(terms: TermPairs) -> None:
    both = {**NOUNS, **VERBS}
    right = wrong = 0
    for source, target in PAIRS:
        for a, b, c, d, _ in terms.of(source, target):
            word = source[a:b] if source[a:b] in both else source[a:b].removesuffix("s")
            good = word in both and target[c:d].startswith(both[word])
            right, wrong = right + good, wrong + (not good)
    assert right > 0.9 * 3 * len(PAIRS)
    assert wrong < 0.02 * right


def test_frequent_words_are_no_terms(terms: TermPairs) -> None:
    assert all(
        "the" not in source[one.start : one.end].lower().split()
        for source, target in PAIRS[:50]
        for one in terms.of(source, target)
    )


def test_text_without_words() -> None:
    terms = TermPairs.learn(lambda: [("1 2", "3"), ("", "")], target_language="de")
    assert terms.of("a b", "c d") == []


def test_links_prefer_the_same_place_in_the_line() -> None:
    links = WordLinks({"dog": {"hund": 0.9}}, {"hund": {"dog": 0.9}})
    ours, theirs = words_of_line("dog x dog"), words_of_line("Hund y Hund")
    assert links.of(ours, theirs) == [WordLink(0, 0, True), WordLink(2, 2, True)]


def test_a_word_that_is_linked_elsewhere_is_not_inside_a_term() -> None:
    table = {"read": {"lesen": 0.9}, "now": {"jetzt": 0.9}, "it": {"lesen": 0.5}}
    links = WordLinks(table, {"lesen": {"read": 0.9}, "jetzt": {"now": 0.9}})
    assert TermPairs(links, {}, "de").of("read now it", "jetzt lesen") == [TermPair(5, 8, 0, 5, "jetzt")]


def test_notes_are_some_of_the_terms() -> None:
    source, target = "aaa bbb ccc ddd eee", "aA bB cC dD eE"
    terms = [TermPair(4 * n, 4 * n + 3, 3 * n, 3 * n + 2, f"{n}") for n in range(5)]
    drawn = [draw_notes(terms, source, target, Random(seed)) for seed in range(300)]
    assert drawn[7] == draw_notes(terms, source, target, Random(7))
    assert {len(notes) for notes in drawn} == {1, 2, 3}
    assert all(list(notes) == sorted(notes, key=lambda note: note.start) for notes in drawn)
    seen = {note for notes in drawn for note in notes}
    assert {Note(one.start, one.end, one.form) for one in terms} <= seen
    assert Note(0, 7, "0 1") in seen  # two neighbours as one


def test_words_that_are_apart_are_not_joined() -> None:
    terms = [TermPair(0, 3, 10, 13, "x"), TermPair(4, 7, 0, 3, "y")]
    for seed in range(100):
        for note in draw_notes(terms, "aaa bbb", "yyy zzz zzxxx", Random(seed)):
            assert note.text in ("x", "y")
