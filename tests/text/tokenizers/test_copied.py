"""What a pair has on both sides, and pairs with reserved pieces in its place."""

from __future__ import annotations

from random import Random

import pytest

from dragoman.text.tokenizers.copied import (
    Copied,
    copied,
    draw_pieces,
    packed,
    pieces_for,
    replaced,
    unpacked,
)

SHOWN = [
    ("Copy %s to {path}.", "Nach {path} kopiere %s.", {"%s": "placeholder", "{path}": "placeholder"}),
    ("See https://a.org/x now", "Siehe https://a.org/x.", {"https://a.org/x": "placeholder"}),
    (
        "in 1999, 3.14 or 10:30",
        "1999 oder 3.14, 10:30",
        {"1999": "number", "3.14": "number", "10:30": "number"},
    ),
    ("Peter met Anna", "Anna traf Peter", {"Peter": "name", "Anna": "name"}),
    ("I was in the die", "in die was", {}),  # short or in lower case: equal by chance
    ("In New York", "In Neu York", {"York": "name"}),
    ("使用Python编写了3个", "用了Python和3个", {"Python": "name", "3": "number"}),
    ("MP3 and a4", "MP3 oder a4", {"MP3": "name"}),
    ("b2b 1x 2", "b2b 1x 3", {}),
    ("%d of %d", "%d von %d", {"%d": "placeholder"}),
    ("%d of %d", "%d", {}),  # which of them is it?
    ("%s %s {a}", "%s {a}", {"{a}": "placeholder"}),
    ("5 <b>6</b>", "<b>6</b> 7", {"<b>": "placeholder", "6": "number", "</b>": "placeholder"}),
    ("", "", {}),
]


@pytest.mark.parametrize(("source", "target", "expected"), SHOWN)
def test_what_both_sides_have(source: str, target: str, expected: dict[str, str]) -> None:
    spans = copied(source, target)

    assert {source[slice(*one.source)]: one.what for one in spans} == expected
    assert all(source[slice(*one.source)] == target[slice(*one.target)] for one in spans)
    assert spans == sorted(spans, key=lambda one: one.source)
    assert unpacked(packed(spans)) == spans


def test_what_comes_twice_is_paired_in_order() -> None:
    assert copied("%d of %d", "%d/%d") == [
        Copied("placeholder", (0, 2), (0, 2)),
        Copied("placeholder", (6, 8), (3, 5)),
    ]


SPANS = copied("%s {a} <b> 1 2 3 4 Anna Peter", "Peter Anna 4 3 2 1 <b> {a} %s")


def test_a_pair_is_masked_as_often_as_asked_with_all_its_placeholders() -> None:
    draws = [draw_pieces(SPANS, 10, 0.3, Random(f"{n}")) for n in range(2000)]
    masked = [drawn for drawn in draws if drawn]

    assert len(masked) / len(draws) == pytest.approx(0.3, abs=0.04)
    for drawn in masked:
        assert {one for one in SPANS if one.what == "placeholder"} <= {one for one, _ in drawn}
    for what, count, chance in (("number", 4, 0.5), ("name", 2, 0.1)):
        chosen = sum(one.what == what for drawn in masked for one, _ in drawn)
        assert chosen / (count * len(masked)) == pytest.approx(chance, abs=0.05)


def test_the_numbers_of_the_pieces_mean_nothing() -> None:
    draws = [draw_pieces(SPANS[:2], 4, 1.0, Random(f"{n}")) for n in range(1200)]
    orders = [tuple(piece for _, piece in drawn) for drawn in draws]

    assert len(set(orders)) == 12
    assert all(70 < orders.count(order) < 130 for order in set(orders))
    assert all(len({piece for _, piece in drawn}) == 2 for drawn in draws)


def test_there_are_no_more_pieces_than_the_vocabulary_has() -> None:
    draws = [draw_pieces(SPANS, 2, 1.0, Random(f"{n}")) for n in range(50)]
    assert all({piece for _, piece in drawn} == {"⟦1⟧", "⟦2⟧"} for drawn in draws)
    assert {one for drawn in draws for one, _ in drawn if one.what == "placeholder"} == set(SPANS[:3])


def test_a_share_of_nothing_and_a_pair_without_copies() -> None:
    assert draw_pieces(SPANS, 10, 0.0, Random("1")) == []
    assert draw_pieces([], 10, 1.0, Random("1")) == []


def test_text_is_replaced_at_its_places() -> None:
    assert replaced("a %s b %d", [(7, 9, "⟦3⟧"), (2, 4, "⟦12⟧")]) == "a ⟦12⟧ b ⟦3⟧"
    assert replaced("abc", []) == "abc"


def test_text_without_pairs_reserves_nothing() -> None:
    assert pieces_for([]) == 0
    assert pieces_for([("%s", "%s")]) == 10
