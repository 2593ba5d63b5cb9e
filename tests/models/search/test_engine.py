from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import islice
from typing import Any

import pytest
import torch
from tests.translation.search.reference import History, sources

from dragoman.base.errors import ConfigError
from dragoman.models.search.beam import search
from dragoman.models.search.engine import PyTorchEngine, groups, pad
from dragoman.models.search.rule_masks import mask_of
from dragoman.translation.search.engine import NOTHING, Engine, Hypothesis, Request
from dragoman.translation.search.options import Beam, Sample
from dragoman.translation.search.rules import Banned, MinimumLength, NoRepeatedNgram, Once, Prefix

GREEDY = Beam(size=1)
LENGTHS = (3, 12, 0, 5, 5, 1, 30, 4, 3)


def requests_for(
    lines: Sequence[Sequence[int]], how: Beam | Sample = GREEDY, extra: int = 50
) -> list[Request]:
    return [Request(source=line, how=how, max_tokens=len(line) + extra) for line in lines]


def answers_of(engine: Engine, requests: Sequence[Request], **options: int) -> list[list[Hypothesis]]:
    """The answers in the order of the requests; each comes exactly once."""
    numbered = list(engine.search(requests, **options))
    assert sorted(number for number, _ in numbered) == list(range(len(requests)))
    return [hypotheses for _, hypotheses in sorted(numbered, key=lambda pair: pair[0])]


def alone(model: History, request: Request) -> list[Hypothesis]:
    """The same request, searched by itself."""
    if not request.source:
        return [NOTHING]
    source_BS, source_len_B = pad([request.source], 0, 2)
    prefix = max((len(rule.tokens) for rule in request.rules if isinstance(rule, Prefix)), default=0)
    limit_B = torch.tensor([max(request.max_tokens, prefix)])
    memory = model.encode(source_BS, source_len_B)
    return search(
        model, memory, request.how, limit_B=limit_B, mask=mask_of([request.rules], 2, limit_B.tolist())
    )[0]


@pytest.mark.parametrize(
    "options", [{"batch_tokens": 1}, {"batch_tokens": 40}, {}, {"lookahead": 2}], ids=str
)
def test_a_batch_changes_nothing(options: dict[str, int]) -> None:
    model = History(vocab=9, seed=3, end=-2.0)
    requests = requests_for(sources(LENGTHS, 9), Beam(size=3, n_best=2), extra=4)
    requests = [replace(request, rules=(NoRepeatedNgram(3),)) for request in requests]

    answers = answers_of(PyTorchEngine(model), requests, **options)

    assert answers == [alone(model, request) for request in requests]


def test_every_request_has_its_own_search_rules_and_limit() -> None:
    model = History(vocab=9, seed=3, end=-2.0)
    hows = [Beam(size=1), Beam(size=4, n_best=2, length_penalty=1.5), Beam(size=1)]
    rules = [(), (NoRepeatedNgram(1),), (Prefix((5, 6)),), (NoRepeatedNgram(2), Prefix((3, 4, 3, 4)))]
    requests = [
        Request(source=line, how=hows[i % 3], max_tokens=3 + i, rules=rules[i % 4])
        for i, line in enumerate(sources((*LENGTHS, *LENGTHS), 9))
    ]

    assert answers_of(PyTorchEngine(model), requests) == [alone(model, request) for request in requests]


SHORTLIST = (2, 3, 5, 7)


@pytest.mark.parametrize("how", [Beam(size=3, n_best=2), Beam(size=1), Sample(n_best=4, seed=3)], ids=str)
def test_a_shortlist_holds_for_its_own_sentence(how: Beam | Sample) -> None:
    model = History(vocab=9, seed=3, end=-1.0)
    engine = PyTorchEngine(model)
    free = requests_for(sources((*LENGTHS, *LENGTHS), 9), how, extra=3)
    chosen: list[tuple[int, ...] | None] = [None, SHORTLIST, (4, 6), ()]
    requests = [replace(request, shortlist=chosen[i % 4]) for i, request in enumerate(free)]
    together = answers_of(engine, requests)

    for number, (request, hypotheses) in enumerate(zip(requests, together, strict=True)):
        assert answers_of(engine, [request]) == [hypotheses]
        if request.shortlist is not None and request.source:
            assert all(set(one.tokens) <= set(request.shortlist) for one in hypotheses)
        else:
            assert answers_of(engine, [free[number]]) == [hypotheses]
    whole = [replace(request, shortlist=tuple(range(9))) for request in free]
    for mine, its in zip(answers_of(engine, whole), answers_of(engine, free), strict=True):
        assert mine == its


def test_an_empty_shortlist_leaves_the_end() -> None:
    (request,) = requests_for([[4, 5]], Beam(size=2))
    ((found,),) = answers_of(PyTorchEngine(History(vocab=9)), [replace(request, shortlist=())])
    assert (found.tokens, found.logp) == ((), 0.0)


def test_a_prefix_is_possible_outside_the_shortlist() -> None:
    model = History(vocab=9, seed=3, end=-3.0)
    (request,) = requests_for([[4, 5]], Beam(size=2, n_best=2), extra=5)
    ((one, _),) = answers_of(
        PyTorchEngine(model), [replace(request, shortlist=SHORTLIST, rules=(Prefix((8, 6)),))]
    )
    ((same, _),) = answers_of(
        PyTorchEngine(model), [replace(request, shortlist=(*SHORTLIST, 6, 8), rules=(Prefix((8, 6)),))]
    )
    assert one == same  # the tokens of the prefix join the shortlist
    assert one.tokens[:2] == (8, 6)
    assert set(one.tokens) <= {8, 6, *SHORTLIST}


@pytest.mark.parametrize("shortlist", [(3, 9), (-1, 3)])
def test_a_shortlist_outside_the_vocabulary_is_refused(shortlist: tuple[int, ...]) -> None:
    (request,) = requests_for([[4, 5]])
    with pytest.raises(ConfigError, match="shortlist"):
        answers_of(PyTorchEngine(History(vocab=9)), [replace(request, shortlist=shortlist)])


def test_no_more_is_read_ahead_than_asked() -> None:
    read = 0

    def requests() -> Iterator[Request]:
        nonlocal read
        for request in requests_for(sources((3, 3, 3, 3, 3), 9)):
            read += 1
            yield request

    answers = PyTorchEngine(History(vocab=9)).search(requests(), lookahead=2)
    list(islice(answers, 2))
    assert read == 2
    assert len(list(answers)) == 3


def test_an_empty_source_is_answered_without_the_model() -> None:
    model = History(vocab=9)

    assert answers_of(PyTorchEngine(model), requests_for([[], []])) == [[NOTHING], [NOTHING]]
    assert model.encoded == []


def test_batches_hold_no_more_than_the_budget_but_always_a_sentence() -> None:
    model = History(vocab=9, seed=3)
    lines = [line for line in sources((*LENGTHS, *LENGTHS), 9) if line]
    answers_of(PyTorchEngine(model), requests_for(lines, Beam(size=4)), batch_tokens=80)

    for sentences, longest in model.encoded:
        assert sentences == 1 or sentences * longest * 4 <= 80
    assert model.encoded[0] == (1, 31)  # longer than the budget
    assert sum(sentences for sentences, _ in model.encoded) == len(lines)
    assert len(model.encoded) < len(lines)


def test_limits_leave_room_for_the_prefix() -> None:
    model = History(vocab=9, seed=3, end=-40.0)
    first, second = requests_for(sources((2, 2), 9), Beam(size=2), extra=1)
    first = replace(first, rules=(Prefix((3, 4, 3, 4, 3, 4)), NoRepeatedNgram(2)))

    (long,), (short,) = answers_of(PyTorchEngine(model), [first, second])

    assert long.tokens == (3, 4, 3, 4, 3, 4)
    assert long.truncated
    assert len(short.tokens) == 3


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"rules": (Prefix((9,)),)}, "vocabulary of 9"),
        ({"rules": (Banned((9,)),)}, "vocabulary of 9"),
        ({"rules": (Banned((-1,)),)}, "vocabulary of 9"),
        ({"rules": (Prefix((3,)), Prefix((4,)))}, "two prefixes"),
        ({"rules": (Once((9,)),)}, "appear once: .* vocabulary of 9"),
        ({"rules": (Once((4, 5)), Banned((5,)))}, "token 5 must appear once"),
        ({"rules": (Once((4,)),), "how": Beam(banned=(4,))}, "token 4 must appear once"),
        ({"rules": (Once((2,)),)}, "token 2 must appear once"),
        ({"source": [3, 9]}, "source token 9"),
        ({"source": [-1]}, "source token -1"),
    ],
    ids=str,
)
def test_what_does_not_fit_the_vocabulary_is_refused(changes: dict[str, Any], message: str) -> None:
    request = replace(requests_for([[3, 4]])[0], **changes)
    with pytest.raises(ConfigError, match=message):
        answers_of(PyTorchEngine(History(vocab=9)), [request])


def test_limits_leave_room_for_required_tokens() -> None:
    model = History(vocab=9, seed=3, end=9.0)
    request = Request(source=(3, 4), how=Beam(size=2, n_best=2), max_tokens=1)
    required = Once((5, 6, 7))
    for prefix, length in (((), 3), ((6, 8), 4), ((5, 6, 7, 8), 4)):
        ((best, *_),) = answers_of(
            PyTorchEngine(model), [replace(request, rules=(Prefix(prefix), required, Banned((3,))))]
        )
        assert len(best.tokens) == length
        assert {5, 6, 7} <= set(best.tokens)
        assert best.tokens[: len(prefix)] == prefix


def test_required_tokens_are_possible_outside_the_shortlist() -> None:
    model = History(vocab=9, seed=3)
    for how in (Beam(size=3, n_best=3), Sample(n_best=3)):
        requests = requests_for(sources((3, 1, 6), 9), how, extra=4)
        requests = [replace(one, rules=(Once((5, 8)),), shortlist=(3, 8)) for one in requests]
        for hypotheses in answers_of(PyTorchEngine(model), requests):
            for one in hypotheses:
                assert set(one.tokens) <= {3, 5, 8}
                assert one.tokens.count(5) == one.tokens.count(8) == 1


def test_wrong_limits_are_refused() -> None:
    engine = PyTorchEngine(History(vocab=9))
    with pytest.raises(ConfigError, match="lookahead = 0"):
        list(engine.search(requests_for([[3]]), lookahead=0))
    with pytest.raises(ConfigError, match="target token 9"):
        list(engine.score([([3], [9])], GREEDY))
    with pytest.raises(ConfigError, match="minimum length of -1"):
        MinimumLength(-1)


def test_samples_depend_on_the_line_not_on_the_others() -> None:
    engine = PyTorchEngine(History(vocab=9, seed=3))
    lines = sources(LENGTHS, 9)
    requests = requests_for(lines, Sample(seed=3, n_best=2))
    answers = answers_of(engine, requests)

    assert answers_of(engine, requests[::-1], batch_tokens=1) == answers[::-1]
    assert answers_of(engine, [requests[1], requests[1]]) == [answers[1], answers[1]]


def test_scores_agree_with_the_search() -> None:
    model = History(vocab=9, seed=3)
    engine = PyTorchEngine(model)
    lines = sources(LENGTHS, 9)
    how = Beam(size=2, length_penalty=1.0)
    best = [hypotheses[0] for hypotheses in answers_of(engine, requests_for(lines, how))]
    model.encoded.clear()
    pairs = [(line, one.tokens) for line, one in zip(lines, best, strict=True)]
    scored = dict(engine.score(pairs, how, batch_tokens=50))

    assert [scored[i].tokens for i in range(len(lines))] == [one.tokens for one in best]
    assert [scored[i].score for i in range(len(lines))] == pytest.approx(
        [one.score for one in best], rel=1e-12
    )
    assert len(model.encoded) > 1
    assert list(engine.score([], how)) == []


def test_groups_take_every_index_once_longest_first() -> None:
    lengths = [5, 1, 9, 5, 2]

    assert list(groups(lengths, 10)) == [[2], [0, 3], [4, 1]]
    assert list(groups(lengths, 0)) == [[2], [0], [3], [4], [1]]
    assert list(groups([], 10)) == []


def test_padding_stands_behind_the_end() -> None:
    source_BS, source_len_B = pad([[5], [], [6, 7]], pad_id=0, end_id=2)

    assert source_BS.tolist() == [[5, 2, 0], [2, 0, 0], [6, 7, 2]]
    assert source_len_B.tolist() == [2, 1, 3]
