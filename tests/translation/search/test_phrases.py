"""Phrases are followed as a reader would find them, token by token."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence
from functools import cache

import pytest

from dragoman.base.errors import ConfigError
from dragoman.translation.search.phrases import MOST_ROWS, PhrasePlace, Tracker, missing
from dragoman.translation.search.rules import Phrases

Tokens = tuple[int, ...]


def most_places(tokens: Tokens, forms: Sequence[Tokens], joining: frozenset[int] = frozenset()) -> int:
    """At how many places that do not overlap the tokens have one of the forms, by trying all."""

    @cache
    def most(start: int) -> int:
        if start >= len(tokens):
            return 0
        return max(
            most(start + 1),
            *(
                1 + most(start + len(form))
                for form in forms
                if tokens[start : start + len(form)] == form
                and not set(tokens[start + len(form) :][:1]) & joining
            ),
            0,
        )

    return most(0)


def lacking(rule: Phrases, tokens: Tokens) -> int:
    """How many phrases the translation lacks."""
    times = Counter(frozenset(forms) for forms in rule.phrases)
    return sum(
        max(0, count - most_places(tokens, tuple(forms), rule.joining)) for forms, count in times.items()
    )


def random_rule(draw: random.Random, words: Sequence[int], longest: int = 3) -> Phrases:
    def form() -> Tokens:
        return tuple(draw.choice(words) for _ in range(draw.randint(1, longest)))

    phrases = [tuple(form() for _ in range(draw.randint(1, 3))) for _ in range(draw.randint(1, 3))]
    if draw.random() < 0.3:
        phrases.append(phrases[0][::-1])
    joining = frozenset(draw.sample(words, draw.choice([0, 0, 1, 2])))
    return Phrases(tuple(phrases), joining)


def place_of(rule: Phrases, tokens: Tokens) -> PhrasePlace:
    return Tracker(rule).after(tokens)


def test_phrases_are_met_where_a_translation_has_them() -> None:
    draw, seen = random.Random(1), Counter[bool]()
    for _ in range(150):
        rule = random_rule(draw, (3, 4, 5))
        tracker = Tracker(rule)
        tokens: Tokens = ()
        for _ in range(12):
            tokens += (draw.choice((3, 4, 5, 6)),)
            lacks = lacking(rule, tokens)
            assert tracker.after(tokens).done == (lacks == 0)
            assert len(missing(rule, tokens)) == lacks
            seen[lacks == 0] += 1
    assert min(seen.values()) > 200


def test_as_many_tokens_as_needed_meet_all_phrases() -> None:
    draw, steps = random.Random(2), 0
    for _ in range(200):
        rule = Phrases(random_rule(draw, (3, 4, 5, 6), longest=4).phrases)
        tracker = Tracker(rule)
        tokens = tuple(draw.choice((3, 4, 5, 6, 7)) for _ in range(draw.randint(0, 8)))
        place = tracker.after(tokens)
        assert place.needed <= tracker.after(()).needed
        while place.needed:
            nearer = [token for token in place.wanted if place.step(token).needed < place.needed]
            tokens += (draw.choice(nearer),)
            place = tracker.after(tokens)
            steps += 1
        assert place.done
        assert lacking(rule, tokens) == 0
    assert steps > 150


def test_progress_counts_the_tokens_of_phrases() -> None:
    rule = Phrases((((3, 4, 5), (6,)), ((3, 7),)))
    every = ((), (3,), (3, 4), (6,), (6, 3), (3, 7, 6), (3, 4, 3))
    assert [place_of(rule, tokens).progress for tokens in every] == [0, 1, 2, 3, 4, 5, 1]
    assert Tracker(rule).all == 5
    assert place_of(rule, (3, 4)).wanted == (3, 5, 6)
    assert place_of(rule, ()).wanted == (3, 6)
    assert place_of(rule, (6,)).wanted == (3,)
    assert place_of(rule, (3, 4, 5, 3, 7)).wanted == ()


def test_a_prefix_that_comes_again_is_not_lost() -> None:
    rule = Phrases((((3, 4, 3, 4, 5),),))
    assert place_of(rule, (3, 4, 3, 4, 3, 4, 5)).done
    assert place_of(rule, (3, 4, 3, 4, 3)).progress == 3
    assert not place_of(rule, (3, 4, 3, 4, 3, 5)).done


def test_a_form_within_another_is_found() -> None:
    assert place_of(Phrases((((3, 4, 5, 6), (4, 5)),)), (3, 4, 5, 7)).done
    assert place_of(Phrases((((3, 4), (4, 5, 6)), ((5, 6),))), (3, 4, 5, 6)).done


def test_different_phrases_may_overlap_and_equal_ones_may_not() -> None:
    overlapping = Phrases((((3, 4),), ((4, 5),)))
    assert place_of(overlapping, (3, 4, 5)).done
    twice = Phrases((((3, 3), (4,)), ((4,), (3, 3))))
    assert not place_of(twice, (3, 3, 3)).done
    assert missing(twice, (3, 3, 3)) == [1]
    assert place_of(twice, (3, 3, 3, 3)).done
    assert place_of(twice, (4, 3, 3)).done


def test_a_word_that_goes_on_is_another_word() -> None:
    rule = Phrases((((3,), (3, 8)),), frozenset({8, 9}))
    assert place_of(rule, (3,)).done
    assert not place_of(rule, (3, 9)).done
    assert not place_of(rule, (3, 9, 4)).done
    assert place_of(rule, (3, 8)).done
    assert not place_of(rule, (3, 8, 9)).done
    assert place_of(rule, (3, 9, 3, 4, 9)).done


def test_required_tokens_count_as_phrases_of_one_token() -> None:
    tracker = Tracker(Phrases((((3, 4),),), frozenset({9})), once=(5, 6))
    assert tracker.after(()).needed == 4
    assert tracker.after((5, 9, 3)).needed == 2
    assert tracker.after((6, 3, 4, 5)).done


def test_possible_tokens_leave_room_for_the_phrases() -> None:
    """By going through all translations that still fit."""
    draw, bound = random.Random(3), 0
    for _ in range(60):
        rule = Phrases(random_rule(draw, (3, 4, 5)).phrases)
        tracker = Tracker(rule)
        limit = tracker.after(()).needed + draw.randint(0, 2)
        fits = {(): True}
        for _ in range(limit):
            fits = {
                (*tokens, token): possible is None or possible.get(token, possible[-1])
                for tokens, fit in fits.items()
                if fit
                for possible in [tracker.after(tokens).possible(limit - len(tokens) - 1)]
                for token in (3, 4, 5, 6)
            }
            bound += not all(fits.values())
            assert any(fits.values())
            fits = dict(list(fits.items())[:100])
        assert all(lacking(rule, tokens) == 0 for tokens, fit in fits.items() if fit)
    assert bound > 30


def test_where_phrases_no_longer_fit_as_many_as_possible_come() -> None:
    rule = Phrases((((3,),), ((9, 4),)), frozenset({9}))
    assert place_of(rule, (3,)).possible(0) is None  # 9 would undo the 3, and anything else loses time
    possible = place_of(rule, (9,)).possible(0)
    assert possible is not None
    assert [token for token, fits in possible.items() if fits] == [4]


def test_a_beam_has_a_row_for_each_count_of_tokens() -> None:
    tracker = Tracker(Phrases((((3, 4, 5), (6,)), ((3,),))))
    assert [tracker.rows(size) for size in (1, 4, 5, 6)] == [5, 5, 5, 6]
    assert Tracker(Phrases((((3,),),) * 40)).rows(2) == MOST_ROWS
    assert Tracker(None).rows(3) == 3


@pytest.mark.parametrize("phrases", [((),), (((3,),), ((),)), (((3,), ()),)], ids=str)
def test_phrases_without_tokens_are_refused(phrases: tuple[tuple[Tokens, ...], ...]) -> None:
    with pytest.raises(ConfigError, match="phrase [12]: (no forms|an empty form)"):
        Phrases(phrases)
