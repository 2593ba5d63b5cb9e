from __future__ import annotations

import math

import pytest
import torch

from dragoman.base.errors import ConfigError
from dragoman.models.search.rule_masks import (
    Mask,
    banned,
    forced,
    mask_of,
    minimum_length,
    no_repeated_ngrams,
    once,
)
from dragoman.translation.search.rules import Banned, MinimumLength, NoRepeatedNgram, Once, Prefix


def allowed(mask: Mask, prefix: list[list[int]], sentences: list[int], vocab: int = 8) -> list[list[int]]:
    """For each row, the tokens that the mask leaves; what it leaves must be unchanged."""
    logp_NV = torch.randn(len(prefix), vocab, generator=torch.Generator().manual_seed(1)).log_softmax(-1)
    before = logp_NV.clone()
    prefix_NT = torch.tensor(prefix, dtype=torch.int64).view(len(prefix), -1)
    after = mask(prefix_NT, logp_NV, torch.tensor(sentences))
    left = after > -math.inf
    assert torch.equal(after[left], before[left])
    return [row.nonzero()[:, 0].tolist() for row in left]


EVERY = list(range(8))


def without(*tokens: int) -> list[int]:
    return [token for token in EVERY if token not in tokens]


def test_a_forced_prefix_leaves_one_token_while_it_lasts() -> None:
    mask = forced([[4, 5, 6], [], [7]])

    assert allowed(mask, [[], [], [], []], [0, 1, 2, 0]) == [[4], EVERY, [7], [4]]
    assert allowed(mask, [[4], [3], [7]], [0, 1, 2]) == [[5], EVERY, EVERY]
    assert allowed(mask, [[4, 5, 6]], [0]) == [EVERY]
    assert allowed(forced([[], []]), [[], []], [0, 1]) == [EVERY, EVERY]


def test_rules_that_follow_a_prefix_do_not_touch_it() -> None:
    mask = forced([[4, 4], []], then=no_repeated_ngrams(1))

    assert allowed(mask, [[4], [4]], [0, 1]) == [[4], without(4)]
    assert allowed(mask, [[4, 4], [4, 3]], [0, 1]) == [without(4), without(4, 3)]


@pytest.mark.parametrize("token", [8, -1])
def test_a_forced_token_outside_the_vocabulary_is_refused(token: int) -> None:
    with pytest.raises(ConfigError, match="vocabulary of 8"):
        allowed(forced([[3], [token]]), [[], []], [0, 1])


def test_a_minimum_length_forbids_the_end() -> None:
    assert allowed(minimum_length(2, 5), [[3], [4]], [0, 1]) == [without(5), without(5)]
    assert allowed(minimum_length(2, 5), [[3, 3], [4, 4]], [0, 1]) == [EVERY, EVERY]


def test_ngrams_are_forbidden_their_last_token() -> None:
    prefixes = [[3, 4, 5, 3, 4], [3, 3, 3, 3, 3], [3, 4, 3, 6, 3]]

    assert allowed(no_repeated_ngrams(1), prefixes, [0, 1, 2]) == [
        without(3, 4, 5),
        without(3),
        without(3, 4, 6),
    ]
    assert allowed(no_repeated_ngrams(2), prefixes, [0, 1, 2]) == [without(5), without(3), without(4, 6)]
    assert allowed(no_repeated_ngrams(3), prefixes, [0, 1, 2]) == [without(5), without(3), EVERY]
    assert allowed(no_repeated_ngrams(6), prefixes, [0, 1, 2]) == [EVERY, EVERY, EVERY]
    assert allowed(no_repeated_ngrams(1), [[]], [0]) == [EVERY]


def test_ngrams_against_a_loop() -> None:
    prefix_NT = torch.randint(0, 4, (40, 15), generator=torch.Generator().manual_seed(2))
    for n in range(1, 6):
        expected = []
        for row in prefix_NT.tolist():
            said = {tuple(row[i : i + n]) for i in range(len(row) - n + 1)}
            expected.append([t for t in EVERY if tuple([*row, t][-n:]) not in said])
        assert allowed(no_repeated_ngrams(n), prefix_NT.tolist(), [0] * 40) == expected


def test_an_ngram_of_no_tokens_is_refused() -> None:
    with pytest.raises(ConfigError, match="0 tokens"):
        NoRepeatedNgram(0)


def test_banned_tokens_are_gone() -> None:
    assert allowed(banned([3, 5]), [[], []], [0, 1]) == [without(3, 5)] * 2
    assert allowed(banned([]), [[]], [0]) == [EVERY]


def test_a_required_token_comes_once_and_the_end_after_the_last() -> None:
    mask = once([[3, 6], [], [4]], 5, [9, 1, 9])

    assert allowed(mask, [[], [], []], [0, 1, 2]) == [without(5), EVERY, without(5)]
    assert allowed(mask, [[3], [3], [4]], [0, 1, 2]) == [without(3, 5), EVERY, without(4)]
    assert allowed(mask, [[6, 3], [4, 4]], [0, 2]) == [without(3, 6), without(4)]


def test_the_limit_leaves_only_what_is_missing() -> None:
    mask = once([[3, 6, 7], [4]], 5, [4, 4])

    assert allowed(mask, [[2], [2], [3]], [0, 1, 0]) == [[3, 6, 7], without(5), without(3, 5)]
    assert allowed(mask, [[2, 6], [2, 2]], [0, 1]) == [[3, 7], without(5)]
    assert allowed(mask, [[2, 6, 7], [2, 2, 2], [7, 6, 3]], [0, 1, 0]) == [[3], [4], without(3, 6, 7)]
    assert allowed(mask, [[2, 6, 7, 3], [2, 2, 2, 4]], [0, 1]) == [without(3, 6, 7), without(4)]


def test_a_required_token_outside_the_vocabulary_is_refused() -> None:
    with pytest.raises(ConfigError, match="vocabulary of 8"):
        allowed(once([[8]], 5, [4]), [[]], [0])


# Rules as data, for each sentence its own


def test_no_rules_need_no_mask() -> None:
    assert mask_of([[], []], 2, [9, 9]) is None
    assert mask_of([[Prefix(())]], 2, [9]) is None
    assert mask_of([[Once(())]], 2, [9]) is None


def test_each_sentence_follows_its_own_rules() -> None:
    rules = [[Banned((3,)), MinimumLength(2)], [], [NoRepeatedNgram(1)], [Banned((3,))]]
    mask = mask_of(rules, end_id=5, limits=[9] * 4)
    assert mask is not None

    rows = [[4], [4], [4], [4]]
    assert allowed(mask, rows, [0, 1, 2, 3]) == [without(3, 5), EVERY, without(4), without(3)]
    assert allowed(mask, rows, [3, 0, 0, 1]) == [without(3), without(3, 5), without(3, 5), EVERY]
    assert allowed(mask, [[4, 6]] * 2, [0, 2]) == [without(3), without(4, 6)]


def test_a_prefix_precedes_the_other_rules_of_its_sentence() -> None:
    rules = [[NoRepeatedNgram(1), Prefix((4, 4))], [NoRepeatedNgram(1)], [Prefix((5,))]]
    mask = mask_of(rules, end_id=2, limits=[9] * 3)
    assert mask is not None

    assert allowed(mask, [[], [], []], [0, 1, 2]) == [[4], EVERY, [5]]
    assert allowed(mask, [[4], [4], [5]], [0, 1, 2]) == [[4], without(4), EVERY]
    assert allowed(mask, [[4, 4], [4, 3]], [0, 1]) == [without(4), without(4, 3)]


def test_a_rule_given_twice_leaves_the_other_sentences_alone() -> None:
    mask = mask_of([[Banned((3,)), Banned((3,))], []], end_id=5, limits=[9] * 2)
    assert mask is not None

    assert allowed(mask, [[], []], [0, 1]) == [without(3), EVERY]


def test_a_prefix_given_twice_is_one_prefix() -> None:
    mask = mask_of([[Prefix((3,)), Prefix((3,))]], end_id=5, limits=[9])
    assert mask is not None

    assert allowed(mask, [[]], [0]) == [[3]]
