"""The native engine gives the answers of the PyTorch engine."""

from __future__ import annotations

import multiprocessing
import os
import random
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import pytest
import torch
from tests.translation.native.models import (
    POSITIONS,
    VOCAB,
    answers_of,
    lines,
    native,
    random_model,
    reference,
    shape,
)

from dragoman.base.errors import ConfigError, ModelError
from dragoman.base.options import entries
from dragoman.models.seq2seq import build_model
from dragoman.models.shapes import EVERYWHERE
from dragoman.translation.native import build
from dragoman.translation.native.native import NativeEngine, unsupported
from dragoman.translation.native.weights import place_weights
from dragoman.translation.search.engine import NOTHING, Hypothesis, Request
from dragoman.translation.search.options import AttentionOf, Beam, Sample
from dragoman.translation.search.phrases import missing
from dragoman.translation.search.rules import (
    Banned,
    MinimumLength,
    NoRepeatedNgram,
    Once,
    Phrases,
    Prefix,
    Rule,
)

pytestmark = pytest.mark.skipif(build.unavailable() is not None, reason="no C++ compiler")

GREEDY = Beam(size=1)
SHAPES: dict[str, dict[str, Any]] = {
    **{positions: {"positions": positions} for positions in POSITIONS},
    **{f"ssru-{positions}": {"positions": positions, "ssru": True} for positions in ("sinusoidal", "t5")},
    **{activation: {"activation": activation} for activation in ("gelu", "quick-gelu", "swish", "swiglu")},
    "pre": {"norm": "pre"},
    "embedding-norm": {"embedding_norm": True, "norm": "pre", "positions": "learned-apart"},
    "odd-embedding-norm": {"embedding_norm": True, "norm_kind": "rms", "d_model": 21, "heads": 3},
    "pre-without-final": {"norm": "pre", "final_norm": False},
    "ssru-pre": {"norm": "pre", "norm_kind": "rms", "ssru": True, "kv_heads": 1},
    "window": {"window": 4},
    "window-relative": {"window": 5, "positions": "relative"},
    "window-longer-than-blocks": {"window": 19, "positions": "alibi", "heads": 2, "kv_heads": 1},
    "biases": {"attention_bias": True, "output_bias": True, "norm_epsilon": 1e-3},
    "untied": {"tie": "none", "source_vocab": 50},
    "decoder-tied": {"tie": "decoder", "source_vocab": 50},
    "unscaled": {"embedding_scale": False, "norm_kind": "rms", "norm_epsilon": 1e-3},
    "odd": {"d_model": 21, "heads": 3, "d_ff": 37, "positions": "sinusoidal-t2t"},
    "odd-biases": {"d_model": 30, "heads": 5, "d_ff": 19, "attention_bias": True, "output_bias": True},
    "other-ids": {"pad_id": 7, "start_id": 7, "end_id": 0},
    "grouped": {
        "kv_heads": 2,
        "attention_bias": True,
        "norm": "pre",
        "norm_kind": "rms",
        "positions": "rotary",
    },
}


def requests_for(
    sources: Sequence[Sequence[int]], how: Beam | Sample = GREEDY, extra: int = 12, **options: Any
) -> list[Request]:
    return [Request(source=source, how=how, max_tokens=len(source) + extra, **options) for source in sources]


def assert_same(ours: list[list[Hypothesis]], theirs: list[list[Hypothesis]]) -> None:
    """Same tokens, ends and order; scores up to float32's rounding. Ties may change places."""
    assert len(ours) == len(theirs)
    for mine, others in zip(ours, theirs, strict=True):
        assert len(mine) == len(others)
        for one, other in zip(mine, others, strict=True):
            assert one.score == pytest.approx(other.score, abs=2e-4, rel=1e-5)
            if one.tokens != other.tokens:
                continue  # a tie, by the assertion above
            assert one.truncated == other.truncated
            # float32 rounds logits in proportion to their size.
            largest = max(20.0, -min(other.token_logp, default=0.0))
            assert one.token_logp == pytest.approx(other.token_logp, abs=1e-5 * largest)
            assert one.logp == pytest.approx(other.logp, abs=1e-3, rel=1e-5)
            assert len(one.attention) == len(other.attention)
            for row, other_row in zip(one.attention, other.attention, strict=True):
                assert row == pytest.approx(other_row, abs=1e-4)
    tied = sum(one[0].tokens != other[0].tokens for one, other in zip(ours, theirs, strict=True))
    assert tied <= len(ours) / 50


@pytest.mark.parametrize("options", SHAPES.values(), ids=SHAPES)
def test_every_shape_gives_the_same_translations(options: dict[str, Any]) -> None:
    model = random_model(shape(**options))
    sources = lines(24, longest=25, vocab=model.config.source_vocab)
    distinct = (NoRepeatedNgram(1),)  # random models like to repeat themselves
    requests = [*requests_for(sources), *requests_for(sources, Beam(size=3, n_best=2), rules=distinct)]

    assert_same(answers_of(native(model), requests), answers_of(reference(model), requests))


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "int8"])
@pytest.mark.parametrize("positions", ["sinusoidal", "rotary"])
def test_shared_heads_are_as_a_copy_for_each(positions: str, dtype: str) -> None:
    """Grouped queries against multi-head attention, with every type of weights."""
    grouped = random_model(shape(d_model=64, heads=8, kv_heads=2, positions=positions, attention_bias=True))
    copied = build_model(replace(grouped.config, kv_heads=None)).eval()
    weights = grouped.state_dict()
    for name, weight in weights.items():
        if name.startswith("decoder.") and ".project." in name:
            q, k, v = weight.split([64, 16, 16])
            each = [x.unflatten(0, (2, 8)).repeat_interleave(4, 0).flatten(0, 1) for x in (k, v)]
            weights[name] = torch.cat([q, *each])
    copied.load_state_dict(weights)
    attention = AttentionOf(1, head=3)
    requests = requests_for(lines(20), Beam(size=3, n_best=2), attention=attention)

    ours, theirs = (answers_of(native(model, dtype), requests) for model in (grouped, copied))

    assert_same(ours, theirs)
    assert [[one.tokens for one in each] for each in ours] == [
        [one.tokens for one in each] for each in theirs
    ]


def test_every_option_is_tried() -> None:
    """Each that the engine is said to know, with a value other than its default; dropout is for training."""
    tried = set()
    for config in (shape(**options) for options in SHAPES.values()):
        assert unsupported(config) is None
        for name, option in entries(type(config)).items():
            value = getattr(config, name)
            if isinstance(value, str) or value != option.default:
                tried.add(f"{name}={value}" if isinstance(value, str) else name)

    assert {name for name in EVERYWHERE if "dropout" not in name} <= tried


SEARCHES: dict[str, Beam | Sample] = {
    "greedy": GREEDY,
    "beam": Beam(size=4),
    "n-best": Beam(size=5, n_best=5),
    "power": Beam(size=4, length_penalty=1.0, normalization="power"),
    "negative penalty": Beam(size=4, length_penalty=-0.5),
    "patient": Beam(size=4, stop="patient", length_penalty=1.4),
    "patient greedy": Beam(size=1, stop="patient"),
    "shrinking": Beam(size=4, stop="shrinking"),
    "exact": Beam(size=4, stop="exact", length_penalty=1.4),
    "exact n-best": Beam(size=5, n_best=3, stop="exact"),
    "exact negative": Beam(size=3, stop="exact", length_penalty=-0.5),
    "exact greedy": Beam(size=1, stop="exact"),
    "banned": Beam(size=4, banned=(5, 9, 17)),
    "renormalized": Beam(size=4, banned=(5, 9, 17), renormalize=True),
    "more than the vocabulary": Beam(size=80, n_best=70),
    "sample": Sample(n_best=3, seed=5),
    "cold sample": Sample(n_best=2, temperature=0.3, seed=1),
    "top k": Sample(n_best=2, top_k=5, seed=2),
    "top p": Sample(n_best=2, top_p=0.7, seed=3),
    "both": Sample(n_best=2, top_k=20, top_p=0.7, temperature=2, seed=3),
    "sample renormalized": Sample(n_best=2, banned=(5, 9), renormalize=True),
}
RULES: dict[str, tuple[Rule, ...]] = {
    "none": (),
    "minimum": (MinimumLength(9),),
    "n-grams": (NoRepeatedNgram(2),),
    "unigrams": (NoRepeatedNgram(1),),
    "banned": (Banned(tuple(range(10, 40))),),
    "all banned": (Banned(tuple(range(3, VOCAB))),),
    "end banned": (Banned((2,)),),
    "prefix": (Prefix((11, 12, 13)),),
    "prefix and rules": (Prefix((11, 11)), NoRepeatedNgram(2), MinimumLength(6), Banned((20, 21))),
    "impossible prefix": (Prefix((0, 5)),),
    "long prefix": (Prefix(tuple(range(3, 40))),),
    "once": (Once((7, 30, 12)),),
    "once and banned": (Once((7, 30)), Once((12, 7)), Banned((13, 14, 15, 16))),
    "once with n-grams": (Once((7, 30, 12)), NoRepeatedNgram(1), MinimumLength(9)),
    "once after a prefix": (Prefix((11, 7, 11)), Once((7, 30, 12)), NoRepeatedNgram(2)),
    "twice in a prefix": (Prefix((7, 7)), Once((7, 30))),
    "once by force": (Once(tuple(range(20, 50))),),
}


@pytest.fixture(scope="module")
def model() -> Any:
    return random_model(shape(norm="pre", tie="none", output_bias=True), end=5.0)


def test_the_model_of_these_tests_ends_its_translations(model: Any) -> None:
    answers = answers_of(native(model), requests_for(lines(30), Beam(size=4)))
    ended = [each[0] for each in answers if not each[0].truncated]

    assert 5 <= len(ended) <= 25
    assert len({len(one.tokens) for one in ended}) > 5


@pytest.mark.parametrize("how", SEARCHES.values(), ids=SEARCHES)
def test_every_search_gives_the_same_translations(model: Any, how: Beam | Sample) -> None:
    requests = requests_for(lines(4 if how.rows > 10 else 30), how)

    assert_same(answers_of(native(model), requests), answers_of(reference(model), requests))


@pytest.mark.parametrize("rules", RULES.values(), ids=RULES)
@pytest.mark.parametrize("how", [GREEDY, Beam(size=4, n_best=2), Sample(n_best=2)], ids=["1", "4", "sample"])
def test_every_rule_gives_the_same_translations(model: Any, how: Any, rules: tuple[Rule, ...]) -> None:
    requests = requests_for(lines(12), how, rules=rules)

    assert_same(answers_of(native(model), requests), answers_of(reference(model), requests))


@pytest.mark.parametrize("how", SEARCHES.values(), ids=SEARCHES)
def test_every_search_has_required_tokens_once(model: Any, how: Beam | Sample) -> None:
    required = (7, 30, 12, 45)
    requests = [
        request
        for extra, rules in ((0, ()), (4, (NoRepeatedNgram(1),)), (4, (Prefix((12, 8)), MinimumLength(9))))
        for shortlist in (None, tuple(range(5, 25)))
        for request in requests_for(
            lines(2 if how.rows > 10 else 6), how, extra, rules=(*rules, Once(required)), shortlist=shortlist
        )
    ]

    answers = answers_of(native(model), requests)

    assert_same(answers, answers_of(reference(model), requests))
    for each in answers:
        for one in each:
            assert [one.tokens.count(token) for token in required] == [1] * 4


PHRASES = Phrases((((7, 30, 12), (7, 31)), ((45,),), ((45,),), ((12, 8),)), frozenset({8, *range(20, 40)}))


@pytest.mark.parametrize("how", [how for how in SEARCHES.values() if isinstance(how, Beam)], ids=str)
def test_every_beam_has_all_phrases(model: Any, how: Beam) -> None:
    requests = [
        request
        for extra, rules in (
            (12, ()),
            (0, (MinimumLength(9), Once((50,)))),
            (4, (NoRepeatedNgram(1), Banned((13, 14)))),
            (4, (Prefix((12, 8, 7)), NoRepeatedNgram(2))),
        )
        for shortlist in (None, tuple(range(10, 25)))
        for request in requests_for(
            lines(1 if how.rows > 10 else 4), how, extra, rules=(*rules, PHRASES), shortlist=shortlist
        )
    ]

    answers = answers_of(native(model), requests)

    assert_same(answers, answers_of(reference(model), requests))
    for each in answers:
        for one in each:
            assert not missing(PHRASES, one.tokens)


def test_phrases_that_only_the_limit_forces(model: Any) -> None:
    never = Phrases(tuple(((20 + i, 40 + i), (3 + i, 5, 6)) for i in range(12)), frozenset({60}))
    short = Phrases((((7,),), ((8, 9),)), frozenset({7, 8, 9}))  # cannot follow one another
    requests = [
        request
        for rule in (never, short)
        for how in (GREEDY, Beam(size=4, n_best=2), Beam(size=20, stop="patient"))
        for request in requests_for(lines(3), how, -99, rules=(rule,))
    ]
    requests = [replace(request, max_tokens=2) for request in requests]

    answers = answers_of(native(model), requests)

    assert_same(answers, answers_of(reference(model), requests))
    assert all(not missing(never, each[0].tokens) for each in answers[:9])


@pytest.mark.parametrize("within", [0, 3, 5, 9])
def test_phrases_within_the_first_tokens(model: Any, within: int) -> None:
    rule = Phrases((((7, 30, 12), (7, 31)), ((45,),)), frozenset({8, *range(20, 40)}), within)
    requests = [
        request
        for how in (GREEDY, Beam(size=4, n_best=4), Beam(size=4, stop="exact", length_penalty=1.0))
        for rules in ((), (Prefix((12, 7)),), (Once((50,)),))
        for request in requests_for(lines(4), how, 12, rules=(*rules, rule))
    ]

    answers = answers_of(native(model), requests)

    assert_same(answers, answers_of(reference(model), requests))
    for request, each in zip(requests, answers, strict=True):
        # A prefix of two, the shorter form, the single token, and that of `Once`.
        least = max(within, 3 + sum(isinstance(one, Prefix | Once) for one in request.rules) * 2)
        assert all(not missing(rule, one.tokens[:least]) for one in each)


def test_requests_of_all_kinds_share_batches(model: Any) -> None:
    requests = [
        replace(request, how=how, rules=rules)
        for how, rules, request in zip(
            [*SEARCHES.values()] * 5, [*RULES.values()] * 7, requests_for(lines(105)), strict=False
        )
    ]

    assert_same(answers_of(native(model), requests), answers_of(reference(model), requests))


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "int8"])
@pytest.mark.parametrize("options", [{}, {"ssru": True, "norm": "pre"}], ids=["transformer", "ssru"])
def test_neighbours_change_nothing_in_any_type(dtype: str, options: dict[str, Any]) -> None:
    engine = native(random_model(shape(d_model=64, **options)), dtype)
    hows = [GREEDY, Beam(size=4, n_best=4, stop="exact"), Sample(n_best=2)]
    requests = [request for how in hows for request in requests_for(lines(70), how)]
    requests += requests_for(lines(20), hows[1], rules=(PHRASES,))

    together = answers_of(engine, requests)

    assert together == [answers_of(engine, [request])[0] for request in requests]
    assert together == answers_of(engine, requests[::-1], batch_tokens=300)[::-1]


def test_the_logits_of_a_large_vocabulary_are_summed_alike_in_any_batch() -> None:
    sizes = {"source_vocab": 3000, "target_vocab": 3000, "d_model": 16, "encoder_layers": 1}
    engine = native(random_model(shape(**sizes, decoder_layers=1)))
    draw = random.Random(2)
    requests = []
    for source in lines(90, vocab=3000):
        few = tuple(sorted({2, *draw.sample(range(3, 3000), 300)}))
        requests.append(
            Request(source=source, how=Beam(size=draw.choice([1, 3])), max_tokens=8, shortlist=few)
        )
        requests.append(Request(source=source, how=Beam(size=draw.choice([1, 3])), max_tokens=8))
    for some in (requests, requests[::2], requests[1::2]):
        assert answers_of(engine, some) == [answers_of(engine, [one])[0] for one in some]


def test_a_shortlist_is_all_that_there_is(model: Any) -> None:
    listed = tuple(range(10, 30))
    for how in (GREEDY, Beam(size=4, n_best=2), Sample(n_best=2)):
        requests = requests_for(lines(20), how, shortlist=listed)
        requests += requests_for(lines(4), how)
        requests += requests_for(lines(4), how, shortlist=listed, rules=(Prefix((40,)), Banned((11,))))

        answers = answers_of(native(model), requests)

        assert_same(answers, answers_of(reference(model), requests))
        assert all(set(one.tokens) <= set(listed) for each in answers[:20] for one in each)


@pytest.mark.parametrize("attention", [AttentionOf(1), AttentionOf(2, 3)], ids=str)
def test_attention_comes_with_each_hypothesis(model: Any, attention: AttentionOf) -> None:
    for how in (GREEDY, Beam(size=4, n_best=3), Sample(n_best=2)):
        requests = requests_for(lines(10), how, attention=attention)
        answers = answers_of(native(model), requests)

        for request, each in zip(requests, answers, strict=True):
            for one in each:
                assert len(one.attention) == len(one.tokens) + 1
                assert all(len(row) == len(request.source) + 1 for row in one.attention)
                assert all(sum(row) == pytest.approx(1, abs=1e-5) for row in one.attention)
        assert_same(answers, answers_of(reference(model), requests))


@pytest.mark.parametrize("how", [Beam(), Beam(length_penalty=1, normalization="power", renormalize=True)])
def test_scores_of_given_translations_are_the_same(model: Any, how: Beam) -> None:
    pairs = [*zip(lines(20), lines(20, seed=2), strict=True), ([], []), ([], [5, 6]), ([5, 6], [])]
    native_scores = dict(native(model).score(pairs, how))
    expected = dict(reference(model).score(pairs, how))

    assert_same([[native_scores[i]] for i in range(23)], [[expected[i]] for i in range(23)])


def test_a_search_and_its_score_agree(model: Any) -> None:
    engine, sources = native(model), lines(10)
    found = answers_of(engine, requests_for(sources, Beam(size=4)))
    scores = dict(engine.score([(s, each[0].tokens) for s, each in zip(sources, found, strict=True)], Beam()))

    assert [scores[i].token_logp for i in range(10)] == [each[0].token_logp for each in found]


# Requests as a stream


def test_requests_are_read_ahead_only_as_far_as_allowed(model: Any) -> None:
    read = 0

    def stream() -> Iterator[Request]:
        nonlocal read
        for request in requests_for(lines(50)):
            read += 1
            yield request

    for done, _ in enumerate(native(model).search(stream(), lookahead=5), 1):
        assert read <= done - 1 + 5
    assert read == 50


def test_an_empty_source_asks_nothing(model: Any) -> None:
    assert answers_of(native(model), requests_for([[], [5], []]))[::2] == [[NOTHING], [NOTHING]]


def test_a_stream_that_is_dropped_leaves_the_engine_usable(model: Any) -> None:
    engine = native(model)
    for _ in range(20):
        next(iter(engine.search(requests_for(lines(100), Beam(size=4)))))

    requests = requests_for(lines(5))
    assert_same(answers_of(engine, requests), answers_of(reference(model), requests))


def test_several_threads_share_an_engine(model: Any) -> None:
    engine, requests = native(model), requests_for(lines(60), Beam(size=3))
    results: dict[int, list[list[Hypothesis]]] = {}

    def translate(number: int) -> None:
        results[number] = answers_of(engine, requests[number * 10 : number * 10 + 10])

    threads = [threading.Thread(target=translate, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert [one for number in range(6) for one in results[number]] == answers_of(engine, requests)


def _in_child(engine: Any, requests: list[Request], queue: Any) -> None:
    queue.put(answers_of(engine, requests))


@pytest.mark.thorough
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_process_translates(model: Any) -> None:
    engine, requests = native(model), requests_for(lines(5))
    expected = answers_of(engine, requests)
    context = multiprocessing.get_context("fork")
    queue = context.SimpleQueue()
    child = context.Process(target=_in_child, args=(engine, requests, queue))
    child.start()

    assert queue.get() == expected
    child.join()


# What is refused


@pytest.mark.parametrize(
    ("request_", "message"),
    [
        (Request(source=[VOCAB], how=GREEDY, max_tokens=5), "source token 61"),
        (Request(source=[-1], how=GREEDY, max_tokens=5), "source token -1"),
        (Request(source=[5], how=Beam(banned=(99,)), max_tokens=5), "banned tokens"),
        (Request(source=[5], how=GREEDY, max_tokens=5, rules=(Banned((99,)),)), "banned tokens"),
        (Request(source=[5], how=GREEDY, max_tokens=5, rules=(Prefix((99,)),)), "forced prefix"),
        (Request(source=[5], how=GREEDY, max_tokens=5, rules=(Prefix((4,)), Prefix((5,)))), "two prefixes"),
        (Request(source=[5], how=GREEDY, max_tokens=5, rules=(Once((99,)),)), "appear once"),
        (Request(source=[5], how=GREEDY, max_tokens=5, rules=(Once((4, 5)), Banned((5,)))), "token 5 must"),
        (Request(source=[5], how=Beam(banned=(4,)), max_tokens=5, rules=(Once((4, 5)),)), "token 4 must"),
        (Request(source=[5], how=GREEDY, max_tokens=5, rules=(Once((2,)),)), "token 2 must"),
        (Request(source=[5], how=GREEDY, max_tokens=5, rules=(Phrases((((99,),),)),)), "tokens of phrases"),
        (Request(source=[5], how=Sample(), max_tokens=5, rules=(Phrases((((9,),),)),)), "with sampling"),
        (Request(source=[5], how=GREEDY, max_tokens=5, shortlist=(99,)), "shortlist"),
        (Request(source=[5], how=GREEDY, max_tokens=-1), "limit of -1"),
        (Request(source=[5], how=GREEDY, max_tokens=5, attention=AttentionOf(3)), "layers 1 to 2"),
        (Request(source=[5], how=GREEDY, max_tokens=5, attention=AttentionOf(1, 9)), "heads 1 to 4"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_does_not_fit_the_model_is_refused(model: Any, request_: Request, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        answers_of(native(model), [*requests_for(lines(3)), request_])


def test_too_many_translations_at_once_are_refused(model: Any) -> None:
    with pytest.raises(ConfigError, match="at once"):
        list(native(model).search([Request(source=(5,), how=Sample(n_best=2**31), max_tokens=5)]))


def test_options_without_bound_may_be_huge(model: Any) -> None:
    rules = (NoRepeatedNgram(2**40),)
    hows = [Sample(top_k=2**40), Beam(length_penalty=-100)]
    requests = [Request(source=lines(1)[0], how=how, max_tokens=9, rules=rules) for how in hows]
    assert_same(
        answers_of(native(model), requests, batch_tokens=2**70), answers_of(reference(model), requests)
    )


def test_a_window_may_be_wider_than_any_sentence() -> None:
    model = random_model(shape())
    wide = NativeEngine(replace(model.config, window=2**31 + 5), place_weights(model))
    requests = [Request(source=source, how=GREEDY, max_tokens=9) for source in lines(3)]
    assert answers_of(wide, requests) == answers_of(native(model), requests)


def test_requests_have_any_number(model: Any) -> None:
    engine, request = native(model), Request(source=(5, 6), how=GREEDY, max_tokens=5)
    numbers = [number for number, _ in engine._run(iter([(2**31 + 7, request)]), 4096, 10)]
    assert numbers == [2**31 + 7]


def test_a_vocabulary_without_the_end_is_refused() -> None:
    model = random_model(shape(tie="decoder"))
    config = replace(model.config, source_vocab=2)
    with pytest.raises(ModelError, match="weights: the end is not in the source vocabulary"):
        NativeEngine(config, place_weights(model))


# Neither a stream that is not over nor a thread that waits for one may disturb the end of a program.
_ENDS = {
    "stream": "next(stream)",
    "thread": "import threading; threading.Thread(target=lambda: list(stream), daemon=True).start()",
    # An atexit function from before the engine runs after the engine is closed.
    "late": """
import threading
def late():
    thread = threading.Thread(target=lambda: print(next(stream)), daemon=True)
    thread.start()
    thread.join(0.3)
""",
}


@pytest.mark.thorough
@pytest.mark.parametrize("code", _ENDS.values(), ids=_ENDS)
def test_a_program_may_end_during_a_stream(code: str) -> None:
    start = """
import atexit
atexit.register(lambda: globals().get("late", int)())
from itertools import count
from tests.translation.native.models import native, random_model, shape
from dragoman.translation.search.engine import Request
from dragoman.translation.search.options import Beam
engine = native(random_model(shape()))
requests = (Request(source=(5, 3 + n % 50), how=Beam(size=1), max_tokens=9) for n in count())
stream = engine.search(requests)
"""
    done = subprocess.run([sys.executable, "-c", start + code], timeout=60, capture_output=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system cannot fork")
def test_a_stream_ends_with_its_process(model: Any) -> None:
    engine = native(model)
    requests = [Request(source=source, how=GREEDY, max_tokens=9) for source in lines(600)]
    stream = engine.search(iter(requests), lookahead=10)
    next(stream)
    child = os.fork()
    if not child:
        status = 1
        try:
            list(stream)
        except ConfigError:
            status = 0
        finally:
            os._exit(status)
    assert os.waitpid(child, 0)[1] == 0
    assert len(list(stream)) == 599


_SHORT_OF_MEMORY = """
import resource
from tests.translation.native.models import native, random_model, shape
from dragoman.base.errors import DragomanError
from dragoman.translation.search.engine import Request
from dragoman.translation.search.options import Beam
engine = native(random_model(shape()), threads=1)
short, long = (Request(source=(5, 6) * times, how=Beam(size=2), max_tokens=5) for times in (1, 10**6))
list(engine.search([short]))
pages = int(open("/proc/self/statm").read().split()[0])
most = pages * resource.getpagesize() + 1000 * 2**20
resource.setrlimit(resource.RLIMIT_AS, (most, most))
try:
    list(engine.search([long]))
except DragomanError as error:
    print(error)
print(len(list(engine.search([short]))))
"""


# The weights of the second model do not fit.
_LOADING_SHORT_OF_MEMORY = """
import gc, resource
from tests.translation.native.models import native, random_model, shape
from dragoman.base.errors import ModelError
from dragoman.translation.search.engine import Request
from dragoman.translation.search.options import Beam
small, large = random_model(shape()), random_model(shape(source_vocab=2**18, target_vocab=2**18, d_model=128))
first = native(small, threads=1)
_, most = resource.getrlimit(resource.RLIMIT_AS)
pages = int(open("/proc/self/statm").read().split()[0])
resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + 50 * 2**20, most))
try:
    native(large, threads=1)
except ModelError as error:
    print(error)
resource.setrlimit(resource.RLIMIT_AS, (most, most))
del large
gc.collect()
requests = [Request(source=(5, 6), how=Beam(size=2), max_tokens=5)]
second = native(small, threads=1)
print(list(first.search(requests)) == list(second.search(requests)))
"""


def _printed(program: str) -> list[str]:
    """What a program prints that ends as it should."""
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, timeout=60, capture_output=True, text=True, check=False)
    assert done.returncode == 0, (done.returncode, done.stderr)
    return done.stdout.splitlines()


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="limits the memory of a process")
def test_an_engine_survives_a_lack_of_memory() -> None:
    assert _printed(_SHORT_OF_MEMORY) == ["translation: out of memory", "1"]


@pytest.mark.thorough
@pytest.mark.skipif(sys.platform != "linux", reason="limits the memory of a process")
def test_a_model_that_does_not_fit_harms_no_other() -> None:
    assert _printed(_LOADING_SHORT_OF_MEMORY) == ["weights: out of memory", "True"]


# First 64 rows of 60 tokens, 6 KB each: 23 MB with any beam. Then a line of 2000 tokens.
_MEMORY = """
import resource
from tests.translation.native.models import native, random_model, shape
from dragoman.translation.search.engine import Request
from dragoman.translation.search.options import Beam
from dragoman.translation.search.rules import MinimumLength

def megabytes():
    return int(open("/proc/self/statm").read().split()[1]) * resource.getpagesize() // 2**20

def translate(source, beam, tokens, count=1):
    rules = (MinimumLength(tokens),)
    request = Request(source=source, how=Beam(size=beam), max_tokens=tokens, rules=rules)
    list(engine.search([request] * count))

engine = native(random_model(shape(decoder_layers=24)), threads=1)
for beam in (32, 16, 12, 8, 6, 5, 4):
    translate((5, 6), beam, 60, 64 // beam)
    if beam == 32:
        before = megabytes()
print(megabytes() - before)
engine = native(random_model(shape(d_ff=8192)), threads=1)
translate((5, 6), 1, 2)
before = megabytes()
translate((5,) * 2000, 1, 2)
translate((5, 6), 1, 2)
print(megabytes() - before)
"""


@pytest.mark.thorough
@pytest.mark.skipif(sys.platform != "linux", reason="reads the memory of a process")
def test_memory_that_is_no_longer_needed_is_given_back() -> None:
    beams, line = map(int, _printed(_MEMORY))
    assert beams < 50
    assert line < 50


def test_other_architectures_are_refused() -> None:
    from dragoman.models.shapes import RecurrentConfig

    model = random_model(RecurrentConfig(source_vocab=9, target_vocab=9, d_model=8, layers=1))
    with pytest.raises(ConfigError, match="no recurrent models"):
        native(model)


@pytest.mark.parametrize("number", [float("nan"), float("inf")])
@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "int8"])
@pytest.mark.parametrize("name", ["target_embedding", "encoder.0.feed_forward.inner", "decoder_norm"])
def test_damaged_weights_give_an_error(dtype: str, name: str, number: float) -> None:
    model = random_model(shape(norm="pre"))
    with torch.no_grad():
        dict(model.named_parameters())[f"{name}.weight"].fill_(number)

    with pytest.raises(ModelError, match="no probabilities"):
        answers_of(native(model, dtype), requests_for(lines(3)))


def test_weights_of_another_shape_are_refused() -> None:
    model, other = random_model(shape()), random_model(shape(d_ff=64))
    other.config = model.config  # type: ignore[misc]
    with pytest.raises(ModelError, match="feed_forward.inner.weight is 64 x 32, the model needs 48 x 32"):
        native(other)


def test_messages_may_be_cut_inside_a_character(monkeypatch: pytest.MonkeyPatch) -> None:
    model, name = random_model(shape()), "é" * 300
    placed = place_weights(model)
    weights = {**placed.weights, name: placed.weights["target_embedding.weight"]}
    with pytest.raises(ModelError, match="weights: the model has no weight éé"):
        NativeEngine(model.config, placed._replace(weights=weights))

    monkeypatch.setenv("DRAGOMAN_INSTRUCTIONS", name)
    with pytest.raises(ConfigError, match='unknown instructions "éé'):
        native(model)


def test_missing_and_unknown_weights_are_refused() -> None:
    model, other = random_model(shape()), random_model(shape(norm="pre"))
    model.config, other.config = other.config, model.config  # type: ignore[misc]
    with pytest.raises(ModelError, match=r"weight encoder_norm\.weight is missing"):
        native(model)
    with pytest.raises(ModelError, match=r"the model has no weight decoder_norm\.bias"):
        native(other)
