from __future__ import annotations

import pytest
import torch
from tests.decoding.reference import History, sources

from dragoman.decoding.pytorch import groups, pad, score_all, search_all
from dragoman.decoding.rules import no_repeated_ngrams
from dragoman.decoding.search import Beam, Hypothesis, Sample, search

LENGTHS = (3, 12, 0, 5, 5, 1, 30, 4, 3)


def one_by_one(
    model: History, lines: list[list[int]], how: Beam, extra: int, **options: object
) -> list[list[Hypothesis]]:
    found = []
    for line in lines:
        memory = model.encode(torch.tensor([[*line, 2]]), torch.tensor([len(line) + 1]))
        limit_B = torch.tensor([len(line) + extra])
        found += search(model, memory, how, limit_B=limit_B, **options)  # type: ignore[arg-type]
    return found


@pytest.mark.parametrize("batch_tokens", [1, 40, 4096])
def test_the_order_is_kept_and_the_batch_changes_nothing(batch_tokens: int) -> None:
    model = History(vocab=9, seed=3, end=-2.0)
    lines = sources(LENGTHS, 9)
    how = Beam(size=3, n_best=2)
    rules = [no_repeated_ngrams(3)]
    found = search_all(model, lines, how, max_extra_tokens=4, batch_tokens=batch_tokens, rules=rules)

    assert found == one_by_one(model, lines, how, extra=4, rules=rules)


def test_batches_hold_no_more_than_the_budget_but_always_a_sentence() -> None:
    model = History(vocab=9, seed=3)
    lines = sources((*LENGTHS, *LENGTHS), 9)
    search_all(model, lines, Beam(size=4), batch_tokens=80)

    for sentences, longest in model.encoded:
        assert sentences == 1 or sentences * longest * 4 <= 80
    assert model.encoded[0] == (1, 31)  # longer than the budget
    assert sum(sentences for sentences, _ in model.encoded) == len(lines)
    assert len(model.encoded) < len(lines)


def test_limits_leave_room_for_the_prefix() -> None:
    model = History(vocab=9, seed=3, end=-40.0)
    lines = sources((2, 2), 9)
    prefixes = [[3, 4, 3, 4, 3, 4], []]
    rules = [no_repeated_ngrams(2)]
    (first,), (second,) = search_all(
        model, lines, Beam(size=2), max_extra_tokens=1, prefixes=prefixes, rules=rules
    )

    assert first.tokens == (3, 4, 3, 4, 3, 4)
    assert first.truncated
    assert len(second.tokens) == 3


def test_prefixes_follow_their_lines_through_the_sorting() -> None:
    model = History(vocab=9, seed=3)
    lines = sources(LENGTHS, 9)
    prefixes = [[3 + i % 6] * (i % 4) for i in range(len(lines))]
    found = search_all(model, lines, Beam(size=2), batch_tokens=40, prefixes=prefixes)

    for prefix, (one,) in zip(prefixes, found, strict=True):
        assert list(one.tokens[: len(prefix)]) == prefix


def test_samples_depend_on_the_line_not_on_the_others() -> None:
    model = History(vocab=9, seed=3)
    lines = sources(LENGTHS, 9)
    how = Sample(seed=3, n_best=2)
    found = search_all(model, lines, how)

    assert search_all(model, lines[::-1], how, batch_tokens=1) == found[::-1]
    assert search_all(model, [lines[1], lines[1]], how) == [found[1], found[1]]


def test_scores_come_in_order_and_agree_with_the_search() -> None:
    model = History(vocab=9, seed=3)
    lines = sources(LENGTHS, 9)
    how = Beam(size=2, length_penalty=1.0)
    found = [hypotheses[0] for hypotheses in search_all(model, lines, how)]
    model.encoded.clear()
    scored = score_all(model, lines, [one.tokens for one in found], how, batch_tokens=50)

    assert [one.tokens for one in scored] == [one.tokens for one in found]
    assert [one.score for one in scored] == pytest.approx([one.score for one in found], rel=1e-12)
    assert len(model.encoded) > 1
    assert score_all(model, [], []) == []


def test_groups_take_every_index_once_longest_first() -> None:
    lengths = [5, 1, 9, 5, 2]

    assert list(groups(lengths, 10)) == [[2], [0, 3], [4, 1]]
    assert list(groups(lengths, 0)) == [[2], [0], [3], [4], [1]]
    assert list(groups([], 10)) == []


def test_padding_stands_behind_the_end() -> None:
    source_BS, source_len_B = pad([[5], [], [6, 7]], pad_id=0, end_id=2)

    assert source_BS.tolist() == [[5, 2, 0], [2, 0, 0], [6, 7, 2]]
    assert source_len_B.tolist() == [2, 1, 3]


def test_nothing_is_found_for_nothing() -> None:
    assert search_all(History(), [], Beam()) == []
