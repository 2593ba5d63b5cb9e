"""A beam search with phrases meets them all, as well as a plain one and one through all translations."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

import numpy as np
import pytest
import torch
from tests.translation.search.reference import (
    History,
    Next,
    every_translation,
    memory_of,
    next_of,
    penalty,
    sources,
)
from tests.translation.search.test_phrases import lacking

from dragoman.base.errors import ConfigError
from dragoman.models.search.beam import search
from dragoman.models.search.engine import PyTorchEngine
from dragoman.models.search.rule_masks import mask_of
from dragoman.translation.search.engine import Hypothesis, Request
from dragoman.translation.search.options import Beam, Sample, Stop
from dragoman.translation.search.requests import trackers_of
from dragoman.translation.search.rules import (
    Banned,
    MinimumLength,
    NoRepeatedNgram,
    Once,
    Phrases,
    Prefix,
    Rule,
)

Tokens = tuple[int, ...]
LENGTHS = (1, 4, 2, 9, 4, 3, 6)
STOPS: tuple[Stop, ...] = ("full", "patient", "shrinking", "exact")
RULE = Phrases((((3, 4), (6,)), ((5, 5, 3),)), frozenset({4}))


def translations(
    model: History,
    lines: Sequence[Sequence[int]],
    how: Beam | Sample,
    limit: int,
    *rules: Rule,
    **options: object,
) -> list[list[Hypothesis]]:
    requests = [
        Request(source=line, how=how, max_tokens=limit, rules=rules, **options)  # type: ignore[arg-type]
        for line in lines
    ]
    return [found for _, found in sorted(PyTorchEngine(model).search(requests), key=lambda one: one[0])]


# Exhaustive search


@pytest.mark.parametrize("stop", STOPS)
@pytest.mark.parametrize(
    "rule",
    [
        Phrases((((4, 5),),)),
        Phrases((((4, 5), (3, 3, 6)),), frozenset({5, 6})),
        Phrases((((4,),), ((4,),), ((6, 5),))),
    ],
    ids=["one", "forms", "twice"],
)
def test_a_wide_enough_beam_is_exhaustive_search(rule: Phrases, stop: Stop) -> None:
    model = History(vocab=7, seed=3)
    lines = sources((3, 5), 7)
    how = Beam(size=300, n_best=300 if stop == "full" else 3, stop=stop)
    for line, found in zip(lines, translations(model, lines, how, 4, rule), strict=True):
        every = every_translation(next_of(model, [*line, 2]), (3, 4, 5, 6), 2, 4, 0.6, "gnmt")
        holding = [one for one in every if lacking(rule, one[0]) == 0]
        assert len(holding) >= 3
        if stop in ("full", "exact"):  # the others give up earlier
            expected = holding if stop == "full" else holding[:3]
            assert [one.tokens for one in found] == [tokens for tokens, _ in expected]
        scores = dict(holding)
        np.testing.assert_allclose(
            [one.score for one in found], [scores[one.tokens] for one in found], rtol=1e-12
        )


def test_overlapping_phrases_are_found_unless_the_limit_has_no_room_for_both() -> None:
    model, rule = History(vocab=6, seed=3), Phrases((((3, 4),), ((4, 5),)), frozenset({3}))
    how = Beam(size=800, n_best=800)
    (found,) = translations(model, [[4, 5]], how, 6, rule)
    every = every_translation(next_of(model, [4, 5, 2]), (3, 4, 5), 2, 6, 0.6, "gnmt")
    holding = [tokens for tokens, _ in every if lacking(rule, tokens) == 0 and len(tokens) < 6]
    assert (5, 5, 3, 4, 5) in holding
    assert [one.tokens for one in found if len(one.tokens) < 6] == holding


# A plain search


def plain_place(rule: Phrases, tokens: Tokens) -> tuple[int, int]:
    """The tokens of phrases that are met, and the same with those of one that has begun."""
    phrases = [*map(frozenset, rule.phrases)]
    met = begun = 0
    for forms in set(phrases):
        times = start = 0
        ended = False
        for at in range(1, len(tokens) + 1):
            ended = any(tokens[max(start, at - len(form)) : at] == form for form in forms)
            if ended and times < phrases.count(forms) and not set(tokens[at : at + 1]) & rule.joining:
                times, start = times + 1, at
        met += times * max(map(len, forms))
        if times < phrases.count(forms):
            rest = tokens[start:]
            sizes = [
                size for form in forms for size in range(len(form)) if rest[len(rest) - size :] == form[:size]
            ]
            begun = max(begun, *sizes)
    return met, met + begun


def plain_constrained(
    following: Next, words: Sequence[int], limit: int, how: Beam, rule: Phrases
) -> list[tuple[Tokens, float]]:
    """Dynamic beam allocation over lists, where the limit is too far to force phrases."""
    whole = sum(max(map(len, forms)) for forms in rule.phrases)
    rows = max(how.size, whole + 1)
    live: list[tuple[Tokens, tuple[float, ...]]] = [((), ())]
    done: list[tuple[Tokens, float]] = []
    for length in range(limit - whole):
        banks: dict[int, list[tuple[Tokens, tuple[float, ...]]]] = {}
        ends = []
        for tokens, logps in live:
            logp = following(tokens)
            met, progress = plain_place(rule, tokens)
            after = {token: plain_place(rule, (*tokens, token))[1] for token in words}
            best = sorted(words, key=lambda token: -logp[token])[:rows]
            for token in words:
                if token in best or after[token] > progress:
                    bank = banks.setdefault(after[token], [])
                    bank.append(((*tokens, token), (*logps, float(logp[token]))))
            if met == whole:
                ends.append((tokens, (*logps, float(logp[2]))))
        for bank in banks.values():
            bank.sort(key=lambda one: -sum(one[1]))
        turns = itertools.zip_longest(*(banks[progress] for progress in sorted(banks, reverse=True)))
        live = [one for turn in turns for one in turn if one][:rows]
        rivals = [sum(logps) for tokens, logps in live if plain_place(rule, tokens)[0] == whole]
        room = max(1, min(how.size, rows - len(live) + len(rivals)))
        rivals = sorted((*rivals, *(sum(logps) for _, logps in ends)), reverse=True)
        for tokens, logps in ends:
            if rivals.index(sum(logps)) < room:
                done.append((tokens, sum(logps) / penalty(length + 1, how.length_penalty, "gnmt")))
        done.sort(key=lambda one: -one[1])
        places = how.size if how.stop == "patient" else how.n_best
        at = limit + 1 if how.stop == "exact" and how.size > 1 else length + 1
        hope = max(sum(logps) for _, logps in live) / penalty(at, how.length_penalty, "gnmt")
        if len(done) >= places and hope <= done[places - 1][1]:
            return done[: how.n_best]
    raise AssertionError("the limit is too near")


@pytest.mark.parametrize("size", [1, 2, 5, 9])
@pytest.mark.parametrize("stop", STOPS)
def test_the_search_is_the_plain_one(stop: Stop, size: int) -> None:
    for seed in range(2):
        model = History(vocab=8, seed=seed, end=1.0 - seed)
        lines = sources(LENGTHS[:4], 8, seed)
        how = Beam(size=size, n_best=min(size, 2), stop=stop, length_penalty=0.2)
        for line, found in zip(lines, translations(model, lines, how, 60, RULE), strict=True):
            plain = plain_constrained(next_of(model, [*line, 2]), range(3, 8), 60, how, RULE)
            assert [one.tokens for one in found] == [tokens for tokens, _ in plain]
            np.testing.assert_allclose(
                [one.score for one in found], [score for _, score in plain], rtol=1e-12
            )


# Every search meets every phrase

SEARCHES = [
    Beam(size=1),
    Beam(size=1, stop="exact"),
    Beam(size=4, n_best=4),
    Beam(size=3, stop="patient", length_penalty=1.4),
    Beam(size=4, n_best=2, stop="shrinking"),
    Beam(size=4, stop="exact", length_penalty=-0.5),
    Beam(size=30, banned=(10,), renormalize=True),
]
RULES: dict[str, tuple[Rule, ...]] = {
    "alone": (),
    "prefix": (Prefix((3, 8)),),
    "prefix that begins a phrase": (Prefix((7, 5, 5)),),
    "prefix with a phrase": (Prefix((6,)),),
    "prefix with all": (Prefix((6, 5, 5, 3)),),
    "n-grams": (NoRepeatedNgram(1), MinimumLength(9)),
    "banned": (Banned((8, 9)), NoRepeatedNgram(2)),
    "once": (Once((8, 9)), NoRepeatedNgram(1)),
}


@pytest.mark.parametrize("rules", RULES.values(), ids=RULES)
@pytest.mark.parametrize("how", SEARCHES, ids=str)
@pytest.mark.parametrize("limit", [0, 9])
def test_every_translation_has_all_phrases(how: Beam, limit: int, rules: tuple[Rule, ...]) -> None:
    model = History(vocab=11, seed=1)
    model.logits_PV[:, 5] -= 30  # a model that never would
    model.logits_PV[:, 8] += 5  # and one that never stops
    for shortlist in (None, (4, 8, 10)):
        for found in translations(model, sources(LENGTHS, 11), how, limit, RULE, *rules, shortlist=shortlist):
            assert found
            for one in found:
                assert lacking(RULE, one.tokens) == 0
                assert math.isfinite(one.score)
                if "Once" in str(rules):
                    assert one.tokens.count(8) == one.tokens.count(9) == 1


@pytest.mark.parametrize(("size", "joining"), [(1, frozenset[int]()), (4, frozenset({3, 36}))])
def test_very_many_phrases_fit_exactly(size: int, joining: frozenset[int]) -> None:
    model = History(vocab=40, seed=1)
    rule = Phrases(tuple(((4 + i, 5 + i), (4 + i,)) for i in range(30)), joining)
    for (found,) in translations(model, [[5, 4]], Beam(size=size), 1, rule):
        assert lacking(rule, found.tokens) == 0
        assert len(found.tokens) <= 31


def test_a_phrase_longer_than_the_limit_raises_it() -> None:
    rule = Phrases((((5, 6, 5, 6, 5, 7),),))
    for (found,) in translations(History(vocab=9), sources(LENGTHS, 9), Beam(size=2), 3, rule):
        assert found.tokens == (5, 6, 5, 6, 5, 7)
        assert found.truncated or len(found.tokens) == 6


def test_a_phrase_that_the_prefix_has_is_done() -> None:
    model = History(vocab=9, seed=3, end=9.0)
    rules = (Prefix((5, 6)), Phrases((((5, 6),),)))
    for (found,) in translations(model, sources(LENGTHS, 9), Beam(size=2), 9, *rules):
        assert found.tokens == (5, 6)
    rules = (Prefix((5, 6)), Phrases((((5, 6),), ((5, 6),))))
    for (found,) in translations(model, sources(LENGTHS, 9), Beam(size=2), 9, *rules):
        assert lacking(rules[1], found.tokens) == 0
        assert found.tokens[:2] == (5, 6)


def test_what_cannot_be_met_comes_last() -> None:
    """After the prefix, nothing may follow that does not continue its word."""
    model = History(vocab=6, seed=3)
    rule = Phrases((((3,), (4, 5)),), frozenset({3, 4, 5}))
    for found in translations(model, [[3, 4], [5]], Beam(size=40, n_best=40), 3, rule):
        lacks = [lacking(rule, one.tokens) for one in found]
        assert lacks == sorted(lacks)
        assert lacks[0] == 0
        for one in found:
            assert lacking(rule, one.tokens) == 0 or one.truncated


def test_neighbours_change_nothing() -> None:
    model = History(vocab=9, seed=3)
    rules: list[tuple[Rule, ...]] = [
        (),
        (RULE,),
        (Phrases((((3, 4, 5),),) * 3),),
        (Once((5,)),),
        (Phrases(()),),
    ]
    requests = [
        Request(source=line, how=Beam(size=3), max_tokens=9, rules=each)
        for line in sources(LENGTHS, 9)
        for each in rules
    ]
    engine = PyTorchEngine(model)
    together = dict(engine.search(requests))
    assert together == {n: dict(engine.search([one]))[0] for n, one in enumerate(requests)}


def test_sentences_with_and_without_phrases_share_a_search() -> None:
    model, how = History(vocab=9, seed=3), Beam(size=3)
    lines, rules_B = sources((3, 4, 2), 9), [[RULE], [], [Phrases((((7,),),))]]
    trackers_B = trackers_of(rules_B)
    mask = mask_of(rules_B, 2, [9] * 3, trackers_B)
    found = search(
        model,
        memory_of(model, [[*line, 2] for line in lines]),
        how,
        limit_B=torch.full((3,), 9),
        mask=mask,
        trackers_B=trackers_B,
    )
    for number in (0, 2):
        assert [found[number]] == translations(model, [lines[number]], how, 9, *rules_B[number])
    assert math.isfinite(found[1][0].score)


# What is refused


@pytest.mark.parametrize(
    ("rules", "how", "message"),
    [
        ((Phrases((((9,),),)),), Beam(), "tokens of phrases: .* vocabulary of 9"),
        ((Phrases((((-1,),),)),), Beam(), "tokens of phrases: .* vocabulary of 9"),
        ((Phrases((((3,),),), frozenset({9})),), Beam(), "continue a word: .* vocabulary of 9"),
        ((Phrases((((3,),),)), Phrases((((4,),),))), Beam(), "two rules for phrases"),
        ((Phrases((((3, 4),),)), Banned((4,))), Beam(), "a phrase needs token 4, which"),
        ((Phrases((((3, 4),),)), Once((4,))), Beam(), "a phrase needs token 4, which"),
        ((Phrases((((3, 4),),)),), Beam(banned=(3,)), "a phrase needs token 3, which"),
        ((Phrases((((3, 2),),)),), Beam(), "a phrase needs token 2, which"),
        ((Phrases((((0,),),)),), Beam(), "a phrase needs token 0, which"),
        ((Phrases((((3,),),)),), Sample(), "phrases cannot be used with sampling"),
    ],
    ids=str,
)
def test_what_cannot_be_searched_is_refused(
    rules: tuple[Rule, ...], how: Beam | Sample, message: str
) -> None:
    with pytest.raises(ConfigError, match=message) as caught:
        translations(History(vocab=9), [[3, 4]], how, 5, *rules)
    assert caught.value.hint
