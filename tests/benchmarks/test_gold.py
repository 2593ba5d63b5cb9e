from __future__ import annotations

import pytest
from gold import gold_alignment

from dragoman.text import toy
from dragoman.text.toy.grammar import words

BY_HAND = [
    (
        "Yesterday my sister bought an expensive red dress.",
        "Gestern hat meine Schwester ein teures rotes Kleid gekauft.",
        "0-0 1-2 2-3 3-8 3p1 4-4 5-5 6-6 7-7",
    ),
    (
        "Does the girl pick him up at 7 o'clock?",
        "Holt das Mädchen ihn um 7 Uhr ab?",
        "0p0 0p7 1-1 2-2 3-0 3-7 4-3 5-0 5-7 6-4 7-5 8-6",
    ),
    (
        "There is no office lamp next to the bed.",
        "Neben dem Bett steht keine Bürolampe.",
        "0p3 1-3 2-4 3-5 4-5 5-0 6-0 7-1 8-2",
    ),
    (
        "The dog is not as big as the cat.",
        "Der Hund ist nicht so groß wie die Katze.",
        "0-0 1-1 2-2 3-3 4-4 5-5 6-6 7-7 8-8",
    ),
    (
        "The men who went home cannot sleep in summer.",
        "Die Männer, die nach Hause gegangen sind, können im Sommer nicht schlafen.",
        "0-0 1-1 2-2 3-5 3p6 4-3 4-4 5-7 5-10 6-11 7-8 8-9",
    ),
    (
        "I would like to thank Anna's brother, but you liked the book.",
        "Ich möchte Annas Bruder danken, aber dir hat das Buch gefallen.",
        "0-0 1-1 2-1 3-1 4-4 5-2 6-3 7-5 8-6 9-10 9p7 10-8 11-9",
    ),
    ("A man rides a bike.", "Ein Mann fährt Fahrrad.", "0-0 1-1 2-2 3p3 4-3"),
    (
        "Mrs Braun, do you know your guest?",
        "Frau Braun, kennen Sie Ihren Gast?",
        "0-0 1-1 2p2 3-3 4-2 5-4 6-5",
    ),
    (
        "Tom sold this coat. It is not expensive.",
        "Tom hat diesen Mantel verkauft. Er ist nicht teuer.",
        "0-0 1-4 1p1 2-2 3-3 4-5 5-6 6-7 7-8",
    ),
    (
        "She runs the plant, and we play in the snow.",
        "Sie leitet die Fabrik und wir spielen im Schnee.",
        "0-0 1-1 2-2 3-3 4-4 5-5 6-6 7-7 8-7 9-8",
    ),
    ("The plant is in the kitchen.", "Die Pflanze steht in der Küche.", "0-0 1-1 2-2 3-3 4-4 5-5"),
]


@pytest.mark.parametrize(("english", "german", "links"), BY_HAND)
def test_alignments_by_hand(english: str, german: str, links: str) -> None:
    assert str(gold_alignment(english, german)) == " ".join(
        sorted(links.split(), key=lambda link: tuple(map(int, link.replace("p", "-").split("-"))))
    )


def test_every_word_of_the_corpus_is_aligned() -> None:
    sure = possible = 0
    for english, german in toy.pairs(seed=11, count=2000):
        gold = gold_alignment(english, german)
        for side, text in enumerate((english, german)):
            assert {link[side] for link in gold.possible} == set(range(len(words(text)))), (english, german)
        assert gold.sure <= gold.possible
        sure, possible = sure + len(gold.sure), possible + len(gold.possible)
    assert sure > 0.85 * possible


def test_a_word_has_few_partners() -> None:
    """At most a verb with its particle, its helper, "to", "zu" and "um"."""
    for english, german in toy.pairs(seed=12, count=500):
        gold = gold_alignment(english, german)
        for side in (0, 1):
            partners = [sum(link[side] == word for link in gold.sure) for word in range(17)]
            assert max(partners) <= 3, (english, german)
