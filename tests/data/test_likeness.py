"""Held out pairs in other text, against a comparison of all pairs."""

from __future__ import annotations

from random import Random

import pytest
from tests.data.test_dedupe import jaccard, plain, some_pairs

from dragoman.data import likeness
from dragoman.data.likeness import HeldOut
from dragoman.data.near import similarity
from dragoman.text.corpora.corpus import open_pairs


def test_what_is_found_is_what_all_pairs_show() -> None:
    pairs = some_pairs(Random(8), 240)
    Random(2).shuffle(pairs)
    train, test = open_pairs(pairs[40:], name="train"), open_pairs(pairs[:40], name="test")
    held_out = [("test", line) for line in test]
    found = {
        (line.number, place): (about["like"], about["similarity"])
        for line, likes in HeldOut(held_out, 0.8).look_for(train, 1)
        for place, about in likes
    }
    expected = {}
    for line in train:
        for place, (_, other) in enumerate(held_out):
            source, target = (
                jaccard(plain(a), plain(b))
                for a, b in ((line.source, other.source), (line.target, other.target))
            )
            if min(source, target) >= 0.8:
                expected[line.number, place] = ("pair", round(min(source, target), 4))
            elif max(source, target) >= 0.8:
                side = "source" if source >= target else "target"
                expected[line.number, place] = (side, round(max(source, target), 4))
    assert found.items() <= expected.items()
    assert len(found) >= 0.95 * len(expected)
    assert {like for like, _ in found.values()} == {"pair", "source", "target"}


def test_places_are_named() -> None:
    held_out = [("test.en-de.tsv", line) for line in open_pairs([("A cat.", "Eine Katze."), ("", "Ja.")])]
    train = open_pairs([("", "x"), ("a cat", "Ein Kater."), ("No.", "ja!")], name="train.en-de.tsv")
    none, cat, yes = (dict(likes) for _, likes in HeldOut(held_out, 0.9).look_for(train, 1))
    assert none == {}
    assert cat[0] == {
        "file": "train.en-de.tsv",
        "line": 2,
        "of": {"file": "test.en-de.tsv", "line": 1},
        "like": "source",
        "similarity": 1.0,
    }
    assert yes[1]["like"] == "target"
    nothing = HeldOut([], 0.8).look_for(train, 1)
    assert [[*likes] for _, likes in nothing] == [[], [], []]


def test_a_split_compares_no_more_than_it_needs(monkeypatch: pytest.MonkeyPatch) -> None:
    text = [
        (f"This page was last changed on day {i} of the year.", f"Geändert am Tag {i}.") for i in range(80)
    ]
    calls = []
    monkeypatch.setattr(
        likeness, "similarity", lambda one, other: calls.append(one) or similarity(one, other)
    )
    held_out = [("test", line) for line in open_pairs(text[:40])]
    firsts = [next(likes) for _, likes in HeldOut(held_out, 0.8).look_for(open_pairs(text[40:]), 1)]
    assert len(firsts) == 40
    assert len(calls) < 4 * 40
