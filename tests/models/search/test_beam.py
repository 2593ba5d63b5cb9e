from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import combinations
from typing import Literal

import numpy as np
import pytest
import torch
from tests.translation.search.reference import (
    History,
    HistoryState,
    every_translation,
    memory_of,
    next_of,
    permutations_of,
    plain_beam,
    sources,
)
from torch import Tensor

from dragoman.base.errors import ConfigError, DragomanError, ModelError
from dragoman.models.layers.memory import Memory
from dragoman.models.search.beam import search
from dragoman.models.search.rule_masks import mask_of
from dragoman.models.shapes import TransformerConfig
from dragoman.models.transformer import Transformer
from dragoman.translation.search.engine import Hypothesis
from dragoman.translation.search.options import Beam, Sample, Stop
from dragoman.translation.search.rules import Banned, MinimumLength, NoRepeatedNgram, Once, Prefix, Rule

Normalization = Literal["gnmt", "power"]
LENGTHS = (1, 4, 2, 9, 4, 3, 6)


def words_of(model: History) -> list[int]:
    special = {model.config.pad_id, model.config.start_id, model.config.end_id}
    return [token for token in range(model.config.target_vocab) if token not in special]


def found_by(
    model: History,
    lines: Sequence[Sequence[int]],
    how: Beam | Sample,
    limit: int,
    rules: Sequence[Rule] = (),
    **options: object,
) -> list[list[Hypothesis]]:
    limit_B = torch.full((len(lines),), limit)
    mask = mask_of([rules] * len(lines), model.config.end_id, [limit] * len(lines))
    return search(model, memory_of(model, lines), how, limit_B=limit_B, mask=mask, **options)  # type: ignore[arg-type]


# Beam search


@pytest.mark.parametrize("normalization", ["gnmt", "power"])
@pytest.mark.parametrize("alpha", [0.0, 0.6, 1.0, 2.5, -0.5])
def test_a_wide_enough_beam_is_exhaustive_search(alpha: float, normalization: Normalization) -> None:
    model = History(vocab=6, seed=3)
    lines = sources((3, 5), 6)
    count = sum(3**length for length in range(5))
    how = Beam(size=count, n_best=count, length_penalty=alpha, normalization=normalization)

    for line, hypotheses in zip(lines, found_by(model, lines, how, limit=4), strict=True):
        every = every_translation(next_of(model, line), words_of(model), 2, 4, alpha, normalization)
        assert [one.tokens for one in hypotheses] == [tokens for tokens, _ in every]
        np.testing.assert_allclose(
            [one.score for one in hypotheses], [score for _, score in every], rtol=1e-12
        )


@pytest.mark.parametrize("normalization", ["gnmt", "power"])
@pytest.mark.parametrize("alpha", [0.0, 0.6, 1.2])
@pytest.mark.parametrize("size", [1, 2, 4, 9])
@pytest.mark.parametrize("stop", ["full", "patient", "shrinking", "exact"])
def test_beam_search_is_the_plain_one(
    stop: Stop, size: int, alpha: float, normalization: Normalization
) -> None:
    truncated = 0
    for seed in range(6):
        model = History(vocab=8, seed=seed, end=0.5 * seed - 1)
        lines = sources(LENGTHS, 8, seed)
        limits = [length + 3 for length in LENGTHS]
        how = Beam(size=size, n_best=size, length_penalty=alpha, normalization=normalization, stop=stop)
        found = search(model, memory_of(model, lines), how, limit_B=torch.tensor(limits))

        for line, limit, hypotheses in zip(lines, limits, found, strict=True):
            following = next_of(model, line)
            plain = plain_beam(
                following, words_of(model), 2, limit, size, alpha, normalization, stop=stop, n_best=size
            )[:size]
            assert [one.tokens for one in hypotheses] == [one.tokens for one in plain]
            assert [one.truncated for one in hypotheses] == [one.truncated for one in plain]
            for mine, its in zip(hypotheses, plain, strict=True):
                np.testing.assert_allclose(mine.token_logp, its.token_logp, rtol=1e-12)
                assert math.isclose(mine.score, its.score, rel_tol=1e-12)
                assert math.isclose(mine.logp, sum(its.token_logp), rel_tol=1e-12)
            truncated += sum(one.truncated for one in hypotheses)
    assert truncated > 0  # the comparison has seen both ways to finish


@pytest.mark.parametrize("normalization", ["gnmt", "power"])
@pytest.mark.parametrize("alpha", [-1.0, 0.0, 0.6, 1.0, 2.5])
@pytest.mark.parametrize("n_best", [1, 3])
def test_an_exact_stop_loses_nothing_against_a_search_to_the_limit(
    n_best: int, alpha: float, normalization: Normalization
) -> None:
    earlier = 0
    for seed in range(6):
        model = History(vocab=6, seed=seed, end=0.5)
        lines = sources((3, 5, 4), 6, seed)
        count = sum(3**length for length in range(5))
        how = Beam(size=count, n_best=n_best, length_penalty=alpha, normalization=normalization, stop="exact")
        model.rows.clear()
        for line, hypotheses in zip(lines, found_by(model, lines, how, limit=4), strict=True):
            every = every_translation(next_of(model, line), words_of(model), 2, 4, alpha, normalization)
            assert [one.tokens for one in hypotheses] == [tokens for tokens, _ in every[:n_best]]
        earlier += len(model.rows) < 5 or model.rows[-1] < max(model.rows)
    assert earlier or alpha > 1  # it does stop before the limit


class Scripted(History):
    """After n times token 3 the next token has the probabilities `rows[n]`."""

    def __init__(self, rows: Sequence[dict[int, float]]) -> None:
        super().__init__(vocab=5)
        p_PV = torch.full((len(rows), 5), 1e-12, dtype=torch.float64)
        for place, row in enumerate(rows):
            p_PV[place, list(row)] = torch.tensor(list(row.values()), dtype=torch.float64)
        self.logits_PV = (p_PV / p_PV.sum(1, keepdim=True)).log()

    def start(self, memory: Memory, max_len: int) -> HistoryState:
        return HistoryState(torch.full((len(memory.states_BSE),), -1))

    def step(self, token_N: Tensor, state: HistoryState) -> tuple[Tensor, HistoryState]:
        state = HistoryState((state.place_N + 1).clamp(max=len(self.logits_PV) - 1))
        return self.logits_PV[state.place_N], state


def test_an_exact_stop_finds_what_a_full_one_gives_up() -> None:
    """Two translations have ended after two steps. The live row is certain from there to its tenth token."""
    model = Scripted([{3: 0.6304, 2: 0.36, 4: 0.0096}, {2: 0.6424, 3: 0.3576}, *[{3: 1.0}] * 7, {2: 1.0}])
    how = Beam(size=2, length_penalty=1.0, normalization="power")
    ((full,),) = found_by(model, [[3]], how, limit=12)
    ((exact,),) = found_by(model, [[3]], replace(how, stop="exact"), limit=12)

    assert full.tokens == (3,)
    assert full.score == pytest.approx(-0.452, abs=5e-4)
    assert exact.tokens == (3,) * 9
    assert exact.score == pytest.approx(-0.149, abs=5e-4)


def test_an_exact_stop_ends_as_soon_as_nothing_can_win() -> None:
    """Without a length penalty a row only loses: the first end wins at once."""
    model = Scripted([{2: 0.9, 3: 0.1}, *[{3: 1.0}] * 8])
    found_by(model, [[3]], Beam(size=2, length_penalty=0.0, stop="exact"), limit=12)
    assert len(model.rows) == 0 or model.rows == [1]
    assert found_by(model, [[3]], Beam(size=1, stop="exact"), limit=12)[0][0].tokens == ()


def test_an_exact_stop_looks_for_as_many_as_asked() -> None:
    for seed in range(6):
        model = History(vocab=8, seed=seed, end=2.0)
        lines = sources(LENGTHS, 8, seed)
        few = found_by(model, lines, Beam(size=5, n_best=2, stop="exact"), limit=9)
        many = found_by(model, lines, Beam(size=5, n_best=5, stop="exact"), limit=9)
        assert [len(each) for each in many] == [5] * len(lines)
        assert few == [each[:2] for each in many]


@pytest.mark.parametrize("alpha", [100.0, -100.0])
def test_an_extreme_length_penalty_is_no_crash(alpha: float) -> None:
    for stop in ("full", "patient", "exact"):
        how = Beam(size=2, length_penalty=alpha, stop=stop)
        assert found_by(History(vocab=8, seed=3), sources((3, 5), 8), how, limit=70)


def test_the_ways_to_stop_differ() -> None:
    lines = sources(LENGTHS, 8)
    how = Beam(size=4, n_best=4, length_penalty=1.5)
    stops: tuple[Stop, ...] = ("full", "patient", "shrinking", "exact")
    translations = {
        stop: [
            found_by(History(vocab=8, seed=seed), lines, replace(how, stop=stop), limit=12)
            for seed in range(6)
        ]
        for stop in stops
    }
    assert all(translations[one] != translations[other] for one, other in combinations(stops, 2))


@pytest.mark.parametrize("how", [Beam(size=3, n_best=3), Sample(n_best=3)], ids=str)
def test_banned_tokens_are_never_generated(how: Beam | Sample) -> None:
    model = History(vocab=8, seed=2)
    how = replace(how, banned=(4, 6))
    for hypotheses in found_by(model, sources(LENGTHS, 8), how, limit=9):
        assert not {4, 6} & {token for one in hypotheses for token in one.tokens}


def test_a_banned_token_outside_the_vocabulary_is_refused() -> None:
    with pytest.raises(ConfigError, match="banned tokens"):
        found_by(History(vocab=8), sources((2,), 8), Beam(banned=(8,)), limit=3)


@pytest.mark.parametrize("renormalize", [False, True])
def test_what_is_banned_keeps_or_gives_away_its_probability(renormalize: bool) -> None:
    model = History(vocab=8, seed=2)
    lines = sources(LENGTHS, 8)
    how = Beam(size=3, banned=(4, 6), renormalize=renormalize)
    never = [0, 1, 4, 6]
    for line, (best,) in zip(lines, found_by(model, lines, how, limit=9), strict=True):
        following = next_of(model, line)
        for place, logp in enumerate(best.token_logp):
            every = following(best.tokens[:place])
            own = every[(*best.tokens, 2)[place]]
            shared = math.log(1 - np.exp(every[never]).sum()) if renormalize else 0.0
            assert math.isclose(logp, own - shared, rel_tol=1e-9)


def test_greedy_search_is_an_argmax_loop() -> None:
    model = History(vocab=20, seed=5, end=1.0)
    lines = sources(LENGTHS, 20)
    for line, (found,) in zip(lines, found_by(model, lines, Beam(size=1), limit=12), strict=True):
        following, said = next_of(model, line), ()
        while len(said) < 12:
            logp = following(said)
            logp[[0, 1]] = -math.inf
            if (token := int(logp.argmax())) == 2:
                break
            said += (token,)
        assert found.tokens == said


def test_a_beam_wider_than_the_vocabulary_still_finds_distinct_translations() -> None:
    model = History(vocab=4, seed=2)  # one word and the end
    (found,) = found_by(model, [[3]], Beam(size=8, n_best=8), limit=5)

    assert sorted(one.tokens for one in found) == [(3,) * length for length in range(6)]


def test_the_length_penalties_are_those_of_the_literature() -> None:
    assert Beam(length_penalty=0.6).normalise(-7.0, 13) == pytest.approx(-7 / 3**0.6)
    assert Beam(length_penalty=2.0, normalization="power").normalise(-7.0, 3) == pytest.approx(-7 / 9)
    assert Beam(length_penalty=0.0).normalise(-7.0, 13) == -7.0


def test_a_greater_length_penalty_prefers_longer_translations() -> None:
    model = History(vocab=7, seed=1, end=1.0)
    lines = sources(LENGTHS, 7)
    lengths = [
        sum(
            len(found[0].tokens) for found in found_by(model, lines, Beam(size=64, length_penalty=a), limit=6)
        )
        for a in (-2.0, 0.0, 3.0)
    ]
    assert lengths[0] < lengths[1] < lengths[2]


# Company


@pytest.mark.parametrize(
    "how",
    [
        Beam(size=1),
        Beam(size=3, n_best=3),
        Beam(size=3, n_best=2, length_penalty=1.0, stop="exact"),
        Beam(size=12, n_best=5, length_penalty=1.0, normalization="power"),
        Sample(seed=4),
        Sample(seed=4, n_best=3, temperature=1.3, top_k=4, top_p=0.9),
    ],
    ids=str,
)
def test_a_sentence_is_translated_the_same_in_any_company(how: Beam | Sample) -> None:
    model = History(vocab=9, seed=7)
    lines = sources(LENGTHS, 9)
    limits = [5, 0, 7, 2, 11, 4, 11]
    rules = [NoRepeatedNgram(2), MinimumLength(2)]

    def translate(chosen: list[int], padding: int = 0) -> list[list[Hypothesis]]:
        memory = memory_of(model, [lines[i] for i in chosen], padding)
        limit_B = torch.tensor([limits[i] for i in chosen])
        mask = mask_of([rules] * len(chosen), model.config.end_id, limit_B.tolist())
        return search(model, memory, how, limit_B=limit_B, mask=mask, keys=[100 + i for i in chosen])

    alone = [translate([i])[0] for i in range(len(lines))]
    assert translate(list(range(len(lines)))) == alone
    assert translate(list(range(len(lines))), padding=5) == alone
    assert translate([2, 2, 2]) == [alone[2]] * 3
    for order in permutations_of(len(lines), seed=1, repeats=4):
        assert translate(order[:5]) == [alone[i] for i in order[:5]]


@pytest.mark.parametrize("how", [Beam(size=3), Sample(n_best=3, seed=2)], ids=str)
def test_finished_rows_leave_the_batch(how: Beam | Sample) -> None:
    model = History(vocab=9, seed=7, end=-1.0)
    lines = sources((3, 3, 3, 3), 9)
    limit_B = torch.tensor([1, 30, 3, 7])
    search(model, memory_of(model, lines), how, limit_B=limit_B)

    assert model.rows[0] == 4  # one row a sentence to begin with
    assert model.rows[1] == 12
    assert all(later <= row for row, later in zip(model.rows[1:], model.rows[2:], strict=False))
    assert model.rows[2] <= 9  # the first sentence has left, at the latest after its one token
    alone = sum(rows > 3 for rows in model.rows)
    assert alone <= 8


def test_a_transformer_is_searched_the_same_in_any_company() -> None:
    torch.manual_seed(1)
    config = TransformerConfig(
        source_vocab=30, target_vocab=30, d_model=16, d_ff=32, heads=2, encoder_layers=2, decoder_layers=2
    )
    model = Transformer(config).double().eval()
    with torch.no_grad():
        model.logits.weight *= 4
    lines = [[*line, 2] for line in sources(LENGTHS, 30)]
    hows = (Beam(size=1), Beam(size=4, n_best=4), Sample(n_best=3, seed=3, top_k=20))

    def translate(chosen: list[int], how: Beam | Sample) -> list[list[Hypothesis]]:
        longest = max(len(lines[i]) for i in chosen)
        source_BS = torch.tensor([[*lines[i], *[0] * (longest - len(lines[i]))] for i in chosen])
        with torch.no_grad():
            memory = model.encode(source_BS, torch.tensor([len(lines[i]) for i in chosen]))
        limit_B = torch.tensor([len(lines[i]) + 4 for i in chosen])
        return search(model, memory, how, limit_B=limit_B, keys=chosen)

    for how in hows:
        together = translate(list(range(len(lines))), how)
        for i, hypotheses in enumerate(together):
            (alone,) = translate([i], how)
            assert [one.tokens for one in hypotheses] == [one.tokens for one in alone]
            assert [one.truncated for one in hypotheses] == [one.truncated for one in alone]
            for mine, its in zip(hypotheses, alone, strict=True):
                np.testing.assert_allclose(mine.token_logp, its.token_logp, rtol=1e-9)


# Limits


@pytest.mark.parametrize("how", [Beam(size=1), Beam(size=4, n_best=4), Sample(n_best=4)], ids=str)
def test_limits_are_exact_and_flagged(how: Beam | Sample) -> None:
    endless, brief = History(vocab=8, seed=1, end=-40.0), History(vocab=8, seed=1, end=40.0)
    lines = sources((3, 3, 3, 3), 8)
    limit_B = torch.tensor([0, 1, 6, 2])
    for limit, hypotheses in zip(
        limit_B.tolist(), search(endless, memory_of(endless, lines), how, limit_B=limit_B), strict=True
    ):
        for one in hypotheses:
            assert len(one.tokens) == limit
            assert one.truncated
            assert one.token_logp[-1] < -30  # the end is paid for
            assert math.isclose(one.logp, math.fsum(one.token_logp))
    for hypotheses in search(brief, memory_of(brief, lines), how, limit_B=limit_B):
        assert hypotheses[0].tokens == ()
        assert not hypotheses[0].truncated  # it ended of itself, at the limit or before


def test_a_negative_limit_is_refused() -> None:
    model = History()
    with pytest.raises(ConfigError, match="-1 tokens"):
        search(model, memory_of(model, [[3]]), Beam(), limit_B=torch.tensor([-1]))


def test_no_sentences_have_no_translations() -> None:
    memory = Memory(torch.zeros(0, 1, 1), torch.zeros(0, 1, dtype=torch.bool))
    assert search(History(), memory, Beam(), limit_B=torch.zeros(0, dtype=torch.int64)) == []


# Special tokens


@pytest.mark.parametrize(
    "ids",
    [
        {"pad_id": 0, "start_id": 1, "end_id": 2},
        {"pad_id": 5, "start_id": 5, "end_id": 0},  # Marian starts with padding
        {"pad_id": 1, "start_id": 2, "end_id": 2},  # fairseq starts with the end
    ],
)
@pytest.mark.parametrize("how", [Beam(size=1), Beam(size=4, n_best=4), Sample(n_best=8)], ids=str)
def test_padding_and_start_are_never_said_and_the_end_always(how: Beam | Sample, ids: dict[str, int]) -> None:
    model = History(vocab=7, seed=2, **ids)
    for never in {ids["pad_id"], ids["start_id"]} - {ids["end_id"]}:
        model.logits_PV[:, never] += 6.0  # the likeliest, did search not know better
    for hypotheses in found_by(model, sources(LENGTHS, 7), how, limit=9):
        for one in hypotheses:
            assert not set(one.tokens) & set(ids.values())
            assert len(one.token_logp) == len(one.tokens) + 1
    if isinstance(how, Beam):
        line = [4, 6]
        (found,) = found_by(model, [line], how, limit=5)
        plain = plain_beam(next_of(model, line), words_of(model), ids["end_id"], 5, how.size, 0.6, "gnmt")
        assert [one.tokens for one in found] == [one.tokens for one in plain[: how.size]]


# Shortlists


@pytest.mark.parametrize("renormalize", [False, True])
@pytest.mark.parametrize("how", [Beam(size=1), Beam(size=4, n_best=4), Beam(size=4, n_best=2, stop="exact")])
def test_a_shortlist_shares_all_probability_among_its_tokens(how: Beam, renormalize: bool) -> None:
    model = History(vocab=9, seed=2)
    how = replace(how, banned=(8,), renormalize=renormalize)
    lines = sources((3, 5, 4), 9)
    allowed_BV = torch.zeros(3, 9, dtype=torch.bool)
    shortlists = ([2, 3, 5, 7, 8], [1, 2, 4, 5], list(range(9)))
    for allowed_V, shortlist in zip(allowed_BV, shortlists, strict=True):
        allowed_V[shortlist] = True
    found = search(
        model, memory_of(model, lines), how, limit_B=torch.tensor([6, 5, 4]), allowed_BV=allowed_BV
    )

    never = [0, 1, 8]
    for line, limit, shortlist, hypotheses in zip(lines, (6, 5, 4), shortlists, found, strict=True):
        following = next_of(model, line)

        def shared(
            prefix: tuple[int, ...],
            shortlist: list[int] = shortlist,
            following: Callable[[tuple[int, ...]], np.ndarray] = following,
        ) -> np.ndarray:
            kept = [token for token in shortlist if not (renormalize and token in never)]
            logp = np.full(9, -math.inf)
            own = following(prefix)[kept]
            logp[kept] = own - math.log(np.exp(own).sum())
            return logp

        words = [token for token in shortlist if token not in (*never, 2)]
        plain = plain_beam(shared, words, 2, limit, how.size, 0.6, "gnmt", stop=how.stop, n_best=how.n_best)
        assert [one.tokens for one in hypotheses] == [one.tokens for one in plain[: how.n_best]]
        for mine, its in zip(hypotheses, plain, strict=False):
            np.testing.assert_allclose(mine.token_logp, its.token_logp, rtol=1e-9)


# Rules, in a search (test_masks.py has them alone)


def test_a_forced_prefix_begins_every_translation() -> None:
    model = History(vocab=8, seed=3)
    lines = sources((3, 3, 3), 8)
    prefixes = [[3, 3, 5], [], [7]]
    how = Beam(size=3, n_best=3)
    mask = mask_of([[Prefix(tuple(prefix))] for prefix in prefixes], 2, [6] * 3)
    found = search(model, memory_of(model, lines), how, limit_B=torch.full((3,), 6), mask=mask)

    for line, prefix, hypotheses in zip(lines, prefixes, found, strict=True):

        def allow(said: tuple[int, ...], logp: np.ndarray, prefix: list[int] = prefix) -> np.ndarray:
            if len(said) < len(prefix):
                only = np.full_like(logp, -math.inf)
                only[prefix[len(said)]] = logp[prefix[len(said)]]
                return only
            return logp

        plain = plain_beam(next_of(model, line), words_of(model), 2, 6, 3, 0.6, "gnmt", allow)[:3]
        assert [one.tokens for one in hypotheses] == [one.tokens for one in plain]
        assert all(list(one.tokens[: len(prefix)]) == prefix for one in hypotheses)
        np.testing.assert_allclose(
            [one.score for one in hypotheses], [one.score for one in plain], rtol=1e-12
        )


@pytest.mark.parametrize("how", [Beam(size=1), Beam(size=5, n_best=5), Sample(n_best=5)], ids=str)
def test_a_minimum_length_holds(how: Beam | Sample) -> None:
    model = History(vocab=8, seed=3, end=4.0)
    lines = sources(LENGTHS, 8)
    for least in (0, 1, 4):
        found = found_by(model, lines, how, limit=6, rules=[MinimumLength(least)])
        assert min(len(one.tokens) for each in found for one in each) == least
        assert not any(one.truncated for each in found for one in each[:1])


@pytest.mark.parametrize("how", [Beam(size=1), Beam(size=4, n_best=4), Sample(n_best=4)], ids=str)
@pytest.mark.parametrize("n", [1, 2, 3])
def test_no_ngram_comes_twice(how: Beam | Sample, n: int) -> None:
    model = History(vocab=6, seed=3, end=-3.0)
    lines = sources(LENGTHS, 6)

    def repeats(one: Hypothesis) -> bool:
        ngrams = [one.tokens[i : i + n] for i in range(len(one.tokens) - n + 1)]
        return len(set(ngrams)) < len(ngrams)

    free = found_by(model, lines, how, limit=20)
    assert any(repeats(one) for each in free for one in each)
    ruled = found_by(model, lines, how, limit=20, rules=[NoRepeatedNgram(n)])
    assert not any(repeats(one) for each in ruled for one in each)


@pytest.mark.parametrize("how", [Beam(size=1), Beam(size=4, n_best=4), Sample(n_best=4)], ids=str)
def test_where_rules_leave_nothing_the_end_is_forced_at_its_own_price(how: Beam | Sample) -> None:
    model = History(vocab=6, seed=3)
    line = [4, 5]
    rules = [MinimumLength(10), NoRepeatedNgram(1)]
    (found,) = found_by(model, [line], how, limit=15, rules=rules)

    for one in found:
        assert sorted(one.tokens) == [3, 4, 5]
        assert not one.truncated  # a rule ended it, not the limit
        assert one.token_logp[-1] == pytest.approx(next_of(model, line)(one.tokens)[2], rel=1e-12)
        assert math.isfinite(one.score)


@pytest.mark.parametrize("how", [Beam(size=2), Sample()], ids=str)
def test_the_limit_is_stronger_than_a_minimum_length(how: Beam | Sample) -> None:
    model = History(vocab=6, seed=3)
    ((found,),) = found_by(model, [[4, 5]], how, limit=3, rules=[MinimumLength(10)])

    assert len(found.tokens) == 3
    assert found.truncated
    assert math.isfinite(found.logp)


REQUIRED = (4, 6)


def allow_once(
    prefix: tuple[int, ...], limit: int, least: int = 0
) -> Callable[[tuple[int, ...], np.ndarray], np.ndarray]:
    """`Once(REQUIRED)` after a prefix, and a minimum length, written without tensors."""

    def allow(tokens: tuple[int, ...], logp: np.ndarray) -> np.ndarray:
        possible = set(range(len(logp)))
        if len(tokens) < len(prefix):
            possible = {prefix[len(tokens)]}
        else:
            missing = set(REQUIRED) - set(tokens)
            possible -= set(REQUIRED) - missing
            if missing or len(tokens) < least:
                possible -= {2}
            if missing and limit - len(tokens) <= len(missing):
                possible &= missing
        return np.array([value if i in possible else -math.inf for i, value in enumerate(logp)])

    return allow


@pytest.mark.parametrize("prefix", [(), (5, 6), (4, 6, 6)], ids=str)
@pytest.mark.parametrize("size", [1, 2, 5])
@pytest.mark.parametrize("stop", ["full", "patient", "shrinking", "exact"])
def test_required_tokens_in_a_search_are_those_of_the_plain_one(
    stop: Stop, size: int, prefix: tuple[int, ...]
) -> None:
    forced = 0
    for seed in range(8):
        model = History(vocab=8, seed=seed, end=seed - 4)
        lines = sources(LENGTHS, 8, seed)
        limit = max(2, len(prefix) + 1) + seed
        how = Beam(size=size, n_best=size, length_penalty=1.0, stop=stop)
        rules = [Prefix(prefix), Once(REQUIRED), MinimumLength(4)]
        for line, hypotheses in zip(lines, found_by(model, lines, how, limit, rules), strict=True):
            plain = plain_beam(
                next_of(model, line), words_of(model), 2, limit, size, 1.0, "gnmt",
                allow_once(prefix, limit, 4), stop=stop, n_best=size,
            )[:size]  # fmt: skip
            assert [one.tokens for one in hypotheses] == [one.tokens for one in plain]
            for mine, its in zip(hypotheses, plain, strict=True):
                np.testing.assert_allclose(mine.token_logp, its.token_logp, rtol=1e-12)
            for one in hypotheses:
                assert all(one.tokens.count(token) == max(1, prefix.count(token)) for token in REQUIRED)
            forced += sum(one.tokens[-1] in REQUIRED and one.truncated for one in hypotheses)
    assert forced or prefix  # the limit has forced some


def test_a_wide_enough_beam_with_required_tokens_is_exhaustive_search() -> None:
    model = History(vocab=7, seed=3)
    lines = sources((3, 5), 7)
    how = Beam(size=400, n_best=400)
    for line, found in zip(lines, found_by(model, lines, how, 4, [Once(REQUIRED)]), strict=True):
        every = every_translation(next_of(model, line), words_of(model), 2, 4, 0.6, "gnmt")
        holding = [one for one in every if all(one[0].count(token) == 1 for token in REQUIRED)]
        assert len(holding) == 62
        assert [one.tokens for one in found] == [tokens for tokens, _ in holding]
        np.testing.assert_allclose([one.score for one in found], [score for _, score in holding], rtol=1e-12)


@pytest.mark.parametrize("other", [[], [NoRepeatedNgram(1)], [NoRepeatedNgram(2), MinimumLength(5)]], ids=str)
@pytest.mark.parametrize(
    "how",
    [Beam(size=1), Beam(size=4, n_best=4), Sample(n_best=6), Sample(top_k=1), Sample(top_p=0.4)],
    ids=str,
)
@pytest.mark.parametrize("limit", [3, 4, 9])
def test_required_tokens_come_exactly_once(how: Beam | Sample, limit: int, other: list[Rule]) -> None:
    required = (3, 5, 7)
    model = History(vocab=9, seed=1)
    model.logits_PV[:, 3] -= 30  # a model that never would
    model.logits_PV[:, 5] += 5  # and one that never stops
    for hypotheses in found_by(model, sources(LENGTHS, 9), how, limit, [Once((7,)), *other, Once((5, 3))]):
        for one in hypotheses:
            assert [one.tokens.count(token) for token in required] == [1, 1, 1]
            assert len(one.tokens) <= limit
            assert math.isfinite(one.score)


@pytest.mark.parametrize("how", [Beam(size=1), Beam(size=3, n_best=3), Sample(n_best=3)], ids=str)
def test_a_limit_below_the_required_tokens_holds_as_many_as_fit(how: Beam | Sample) -> None:
    model = History(vocab=9, seed=1)
    for hypotheses in found_by(model, sources(LENGTHS, 9), how, 2, [Once((3, 5, 7))]):
        for one in hypotheses:
            assert len(set(one.tokens)) == 2
            assert set(one.tokens) < {3, 5, 7}


# Sampling


def test_a_seed_repeats_its_draws_and_another_gives_others() -> None:
    model = History(vocab=30, seed=3, spread=0.5)
    lines = sources(LENGTHS, 30)
    first = found_by(model, lines, Sample(seed=1, n_best=2), limit=10)

    assert first == found_by(model, lines, Sample(seed=1, n_best=2), limit=10)
    assert first != found_by(model, lines, Sample(seed=2, n_best=2), limit=10)
    assert all(len({one.tokens for one in each}) == 2 for each in first)
    same_line_twice = found_by(model, [lines[0], lines[0]], Sample(seed=1), limit=10)
    assert same_line_twice[0] != same_line_twice[1]  # their keys are 0 and 1
    keyed = found_by(model, [lines[0], lines[0]], Sample(seed=1), limit=10, keys=[8, 8])
    assert keyed[0] == keyed[1]


def test_samples_come_as_often_as_the_model_says() -> None:
    model = History(vocab=6, seed=3, spread=1.0)
    line, count = [4, 5], 20_000
    (found,) = found_by(model, [line], Sample(n_best=count, seed=5, temperature=0.8), limit=2)
    following = next_of(model, line)

    def p(prefix: tuple[int, ...]) -> np.ndarray:
        tempered = following(prefix) / 0.8
        tempered[[0, 1]] = -math.inf
        exp = np.exp(tempered - tempered.max())
        return np.asarray(exp / exp.sum())

    expected = {(): p(())[2]}
    for first in (3, 4, 5):
        expected[(first,)] = p(())[first] * p((first,))[2]
        for second in (3, 4, 5):
            expected[(first, second)] = p(())[first] * p((first,))[second]
    drawn = dict.fromkeys(expected, 0)
    for one in found:
        drawn[one.tokens] += 1
        assert one.truncated <= (len(one.tokens) == 2)
        assert one.score == one.logp
    chi_square = sum((drawn[tokens] - count * e) ** 2 / (count * e) for tokens, e in expected.items())
    assert sum(expected.values()) == pytest.approx(1)
    assert chi_square < 32.9  # 12 degrees of freedom: 1 chance in 1000, at this fixed seed


def test_samples_are_given_best_first_with_the_probability_of_the_model() -> None:
    model = History(vocab=9, seed=3)
    line = [4, 5]
    (found,) = found_by(model, [line], Sample(n_best=10, temperature=3.0, top_k=3), limit=6)

    assert [one.score for one in found] == sorted((one.score for one in found), reverse=True)
    for one in found:
        own = [next_of(model, line)(one.tokens[:i])[t] for i, t in enumerate((*one.tokens, 2))]
        np.testing.assert_allclose(one.token_logp, own, rtol=1e-12)


# Damage


class Damaged(History):
    """Speaks sense for two tokens, then gives one row of `row`."""

    def __init__(self, row: list[float]) -> None:
        super().__init__(vocab=6, seed=1, end=-9.0)
        self.row = torch.tensor(row, dtype=torch.float64)

    def step(self, token_N: Tensor, state: HistoryState) -> tuple[Tensor, HistoryState]:
        logits_NV, state = super().step(token_N, state)
        if len(self.rows) > 2:
            logits_NV[-1] = self.row
        return logits_NV, state


@pytest.mark.parametrize(
    "row",
    [[0, 0, 0, math.nan, 0, 0], [-math.inf] * 6, [0, 0, 0, math.inf, 0, 0], [math.nan] * 6],
    ids=["one nan", "all -inf", "inf", "all nan"],
)
@pytest.mark.parametrize("how", [Beam(size=1), Beam(size=3), Sample()], ids=str)
def test_logits_that_are_no_probabilities_are_an_error(how: Beam | Sample, row: list[float]) -> None:
    with pytest.raises(ModelError, match="no probabilities after 2 tokens"):
        found_by(Damaged(row), [[3, 4], [5, 5]], how, limit=1000)


@pytest.mark.parametrize("how", [Beam(size=1), Beam(size=3), Sample()], ids=str)
def test_a_model_that_can_never_end_is_an_error_not_a_loop(how: Beam | Sample) -> None:
    model = History(vocab=6, seed=1, end=-math.inf)
    with pytest.raises(DragomanError, match="probability 0"):
        found_by(model, [[3, 4]], how, limit=20)


@pytest.mark.parametrize("how", [Beam(size=2), Sample()], ids=str)
def test_a_model_that_only_ever_pads_is_an_error(how: Beam | Sample) -> None:
    model = History(vocab=6, seed=1)
    model.logits_PV[:, 1:] = -math.inf
    with pytest.raises(DragomanError, match="probability 0"):
        found_by(model, [[3, 4]], how, limit=20)


def test_the_models_logits_are_left_alone() -> None:
    class Lending(History):
        def step(self, token_N: Tensor, state: HistoryState) -> tuple[Tensor, HistoryState]:
            _, state = super().step(token_N, state)
            return self.logits_PV[: len(token_N)], state  # a view of its own weights

    model = Lending(vocab=6, seed=1)
    before = model.logits_PV.clone()
    found_by(model, [[3, 4], [5]], Beam(size=2), limit=4, rules=[Banned((3,)), NoRepeatedNgram(1)])
    assert torch.equal(model.logits_PV, before)


# Settings


@pytest.mark.parametrize(
    ("setting", "value"),
    [("size", 0), ("n_best", 0), ("n_best", 5), ("length_penalty", math.nan), ("normalization", "wu")],
)
def test_a_beam_that_makes_no_sense_is_refused(setting: str, value: object) -> None:
    with pytest.raises(ConfigError) as caught:
        replace(Beam(), **{setting: value})  # type: ignore[arg-type]
    assert caught.value.hint


@pytest.mark.parametrize(
    ("setting", "value"),
    [
        ("temperature", 0.0),
        ("temperature", math.nan),
        ("temperature", math.inf),
        ("top_k", -1),
        ("top_p", 0.0),
        ("top_p", 1.5),
        ("seed", -1),
        ("n_best", 0),
    ],
)
def test_a_sample_that_makes_no_sense_is_refused(setting: str, value: object) -> None:
    with pytest.raises(ConfigError) as caught:
        replace(Sample(), **{setting: value})  # type: ignore[arg-type]
    assert caught.value.hint
