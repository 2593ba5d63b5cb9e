"""Random cuts follow the definitions of BPE-dropout and subword regularisation."""

import math
from collections import Counter, defaultdict
from collections.abc import Iterator
from random import Random

import pytest

from dragoman.text.tokenizers import sampling
from dragoman.text.tokenizers.sampling import LatticeSampler, MergeSampler

DRAWS = 10_000
# As in a vocabulary of SentencePiece, the score of a merge is minus its number; characters come last.
MERGES = {piece: -float(n) for n, piece in enumerate(("bc", "ab", "cd", "abc", "abcd", *"abcd"))}
PIECES = {
    "a": -2.0,
    "b": -2.5,
    "c": -3.0,
    "d": -2.2,
    "ab": -3.1,
    "bc": -4.0,
    "cd": -3.3,
    "abc": -5.0,
    "bcd": -6.0,
}

Cut = tuple[str, ...]


def merge_chances(pieces: Cut, skipped: frozenset[int], amount: float) -> dict[Cut, float]:
    """Every cut with its probability, one trial at a time. `skipped` are the places of skipped pairs."""
    options = [
        (-MERGES[pieces[n] + pieces[n + 1]], n)
        for n in range(len(pieces) - 1)
        if n not in skipped and pieces[n] + pieces[n + 1] in MERGES
    ]
    if not options:
        return {pieces: 1.0}
    at = min(options)[1]
    chances: dict[Cut, float] = defaultdict(float)
    merged = (*pieces[:at], pieces[at] + pieces[at + 1], *pieces[at + 2 :])
    # The merge makes two new pairs of its neighbours; pairs further right move one to the left.
    kept = frozenset(n if n < at else n - 1 for n in skipped if n < at - 1 or n > at + 1)
    for share, rest in (
        (1 - amount, merge_chances(merged, kept, amount)),
        (amount, merge_chances(pieces, skipped | {at}, amount)),
    ):
        for cut, chance in rest.items():
            chances[cut] += share * chance
    return chances


def cuts(word: str) -> Iterator[Cut]:
    if not word:
        yield ()
    for end in range(1, len(word) + 1):
        if word[:end] in PIECES:
            yield from ((word[:end], *rest) for rest in cuts(word[end:]))


def assert_drawn_as(chances: dict[Cut, float], drawn: Counter[Cut]) -> None:
    assert sum(chances.values()) == pytest.approx(1)
    assert drawn.keys() <= chances.keys()
    for cut, chance in chances.items():
        spread = math.sqrt(DRAWS * chance * (1 - chance))
        assert abs(drawn[cut] - DRAWS * chance) < 5 * spread + 1, cut


def draw(sampler: MergeSampler | LatticeSampler, word: str) -> Counter[Cut]:
    random = Random(1).random
    return Counter(sampler.sample(word, random) for _ in range(DRAWS))


@pytest.fixture(params=["cached", "not cached"], autouse=True)
def caching(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Words too long for the cache take another way to the same distribution."""
    if request.param == "not cached":
        monkeypatch.setattr(sampling, "_LONGEST", 0)


# BPE-dropout


@pytest.mark.parametrize("amount", [0.1, 0.5, 0.9])
def test_merges_are_skipped_by_chance(amount: float) -> None:
    chances = merge_chances(tuple("abcdab"), frozenset(), amount)

    assert len(chances) > 5
    assert_drawn_as(chances, draw(MergeSampler(MERGES, amount), "abcdab"))


@pytest.mark.parametrize("amount", [0.01, 0.1, 0.5, 0.99])
def test_the_share_of_skipped_merges_is_the_amount(amount: float) -> None:
    assert_drawn_as({("b", "c"): amount, ("bc",): 1 - amount}, draw(MergeSampler(MERGES, amount), "bc"))


def test_an_amount_of_0_merges_all_and_of_1_nothing() -> None:
    random = Random(1).random

    for _ in range(100):
        assert MergeSampler(MERGES, 0.0).sample("abcdxab", random) == ("abcd", "x", "ab")
        assert MergeSampler(MERGES, 1.0).sample("abcdxab", random) == tuple("abcdxab")


# Unigram


@pytest.mark.parametrize("amount", [0.0, 0.2, 1.0])
def test_cuts_have_the_powers_of_their_probabilities(amount: float) -> None:
    weights = {cut: math.exp(amount * sum(PIECES[piece] for piece in cut)) for cut in cuts("abcdab")}
    total = sum(weights.values())

    assert len(weights) > 10
    assert_drawn_as(
        {cut: weight / total for cut, weight in weights.items()},
        draw(LatticeSampler(PIECES, amount), "abcdab"),
    )


def test_a_large_power_leaves_the_best_cut() -> None:
    best = max(cuts("abcdab"), key=lambda cut: sum(PIECES[piece] for piece in cut))

    assert draw(LatticeSampler(PIECES, 1000.0), "abcdab") == {best: DRAWS}


def test_an_unknown_character_stays_alone() -> None:
    assert all("x" in cut for cut in draw(LatticeSampler(PIECES, 0.2), "abxcd"))


# Both


@pytest.mark.parametrize("sampler", [MergeSampler(MERGES, 0.3), LatticeSampler(PIECES, 0.3)])
def test_pieces_join_to_the_word(sampler: MergeSampler | LatticeSampler) -> None:
    random = Random(1).random

    for word in ("", "a", "▁abcd", "xyz", "abcd" * 50):
        assert "".join(sampler.sample(word, random)) == word


@pytest.mark.parametrize("kind", [MergeSampler, LatticeSampler])
def test_what_is_cached_makes_no_difference(kind: type[MergeSampler] | type[LatticeSampler]) -> None:
    fresh, used = kind(MERGES, 0.3), kind(MERGES, 0.3)
    for seed in range(5):
        used.sample("abcdab", Random(seed).random)

    random, again = Random(7).random, Random(7).random
    assert [fresh.sample("abcdab", random) for _ in range(200)] == [
        used.sample("abcdab", again) for _ in range(200)
    ]
