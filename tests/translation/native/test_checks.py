"""What the library refuses: a page, or a damaged file, may pass it anything."""

from __future__ import annotations

import ctypes
import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from tests.translation.native.models import VOCAB, native, random_model, shape

from dragoman.base.errors import DragomanError, ModelError
from dragoman.translation.native import build, library
from dragoman.translation.native.message import Pair, message_of
from dragoman.translation.native.native import NativeEngine
from dragoman.translation.native.session import Session
from dragoman.translation.native.weights import PlacedWeights, place_weights
from dragoman.translation.search.engine import Request
from dragoman.translation.search.options import Beam, Sample
from dragoman.translation.search.rules import MinimumLength, NoRepeatedNgram, Once, Phrases, Rule

pytestmark = pytest.mark.skipif(build.unavailable() is not None, reason="no C++ compiler")

OPTIONS = {"encoder_layers": 1, "decoder_layers": 1}
INT32 = (0, -1, 2**31 - 1, -(2**31))


@pytest.fixture(scope="module")
def weights() -> PlacedWeights:
    return place_weights(random_model(shape(**OPTIONS)))


def opened(
    weights: PlacedWeights,
    change: Callable[[Any, Any], object] = lambda *_: None,
    *,
    type: int = 0,
    **options: Any,
) -> str:
    """Open the model with a changed shape and table. Returns the message, or "" if it is accepted."""
    config = shape(**OPTIONS, **options)
    shape_of, table = library._shape(config, "weights"), library._table(weights, "weights")
    change(shape_of, table)
    message = ctypes.create_string_buffer(300)
    functions = library.functions()
    handle = functions.dragoman_open(ctypes.byref(shape_of), table, len(table), type, 0, 1, message, 300)
    if handle is None:
        assert message.value
        return message.value.decode()
    functions.dragoman_close(ctypes.c_void_p(handle))
    return ""


def test_the_model_of_these_tests_is_right_without_a_change(weights: PlacedWeights) -> None:
    assert opened(weights) == ""


@pytest.mark.parametrize(
    ("field", "numbers"),
    [
        *((name, INT32) for name in ("source_vocab", "target_vocab", "width", "hidden", "heads", "kv_heads")),
        ("encoder_layers", (*INT32, 2, 1000)),
        ("decoder_layers", (*INT32, 2, 1000)),
        ("heads", (3, 64)),
        ("kv_heads", (3, 8)),
        *((name, (-1, VOCAB, 2**31 - 1)) for name in ("pad", "start", "end")),
        ("tie", (-1, 3)),
        ("positions", (-1, 12)),
        ("activation", (-1, 5)),
        ("window", (-1, -(2**31))),
        ("epsilon", (math.nan, math.inf, -math.inf, -1.0, 1e300)),
    ],
)
def test_a_shape_that_no_model_has(weights: PlacedWeights, field: str, numbers: tuple[Any, ...]) -> None:
    for number in numbers:
        assert opened(weights, lambda one, _, n=number: setattr(one, field, n)), number


def test_shapes_that_only_fit_some_models(weights: PlacedWeights) -> None:
    def odd(one: Any, _: Any) -> None:
        one.positions, one.heads, one.kv_heads = 11, 32, 32

    assert "odd width" in opened(weights, odd)
    assert "different vocabularies" in opened(weights, lambda one, _: setattr(one, "source_vocab", 60))
    assert "unknown type" in opened(weights, type=3)
    assert "unknown type" in opened(weights, type=-1)
    assert "too wide for int8" in opened(weights, lambda one, _: setattr(one, "hidden", 70_000), type=2)


@pytest.mark.parametrize(
    ("rows", "columns"),
    [
        (2**32, 2**32),
        (2**61, 8),
        (8, 2**61),
        (2**63 - 1, 2**63 - 1),
        (-1, 8),
        (8, -1),
        (-8, -8),
        (0, 8),
        (8, 0),
        (2**62, 0),
        (-(2**63), 1),
        (2**31, 2**31),
    ],
)
def test_sizes_whose_product_no_memory_has(weights: PlacedWeights, rows: int, columns: int) -> None:
    def change(_: Any, table: Any) -> None:
        table[0].rows, table[0].columns = rows, columns

    message = opened(weights, change)
    assert "impossible size" in message or "the model needs" in message


def test_weights_without_numbers(weights: PlacedWeights) -> None:
    for name, value in (
        ("data", None),
        ("stored", 5),
        ("stored", -1),
        ("stored", 4),
    ):  # 4: int8 without scales
        message = opened(weights, lambda _, table, n=name, v=value: setattr(table[0], n, v))
        assert "unknown type" in message


def test_a_size_is_not_cut_to_32_bits(weights: PlacedWeights) -> None:
    config = shape(**OPTIONS)
    for name in ("encoder_layers", "decoder_layers", "d_ff"):
        with pytest.raises(ModelError, match="size") as error:
            NativeEngine(replace(config, **{name: 2**32 + 1}), weights)  # type: ignore[arg-type]
        assert error.value.hint


# ---- requests ------------------------------------------------------------------------------------

HEAD = (
    "number",
    "kind",
    "size",
    "wide",
    "n_best",
    "stop",
    "normalization",
    "top_k",
    "renormalise",
    "limit",
    "minimum",
    "layer",
    "head",
    "ruled",
    "within",
    "unscored",
    "source",
    "prefix",
    "ngrams",
    "banned",
    "required",
    "phrases",
    "joining",
    "never",
    "draws",
    "shortlist",
)
LISTS = HEAD[16:]


@pytest.fixture(scope="module")
def engine() -> NativeEngine:
    return native(random_model(shape(**OPTIONS)), threads=1)


def answer(engine: NativeEngine, head: dict[str, int], lists: dict[str, list[int]], fractions: Any) -> bool:
    """Send a request of these numbers. Returns whether it is accepted."""
    session = Session(engine._handle(), 100)
    try:
        numbers = [head[name] for name in HEAD[1:16]]
        numbers += [len(lists[name]) if name in lists else -1 for name in LISTS]
        for name in LISTS:
            numbers += lists.get(name, [])
        session.add(0, numbers, fractions)
        session.submit()
        sources = {0: (0, len(lists["source"]))}
        while sources:
            try:
                list(session.collect(100, sources))
            except ModelError:
                break
        return True
    except DragomanError as error:
        if "does not fit the model" not in str(error) or not error.hint:
            raise
        return False
    finally:
        session.close()


def parts(engine: NativeEngine, request: Any) -> tuple[dict[str, int], dict[str, list[int]], Any]:
    numbers, fractions = message_of(engine.config, request)  # type: ignore[arg-type]
    numbers = [0, *numbers]
    head, at, lists = dict(zip(HEAD, numbers, strict=False)), len(HEAD), {}
    for name in LISTS:
        if head[name] >= 0:
            lists[name] = numbers[at : at + head[name]]
            at += head[name]
    return head, lists, list(fractions)


RULES: tuple[Rule, ...] = (NoRepeatedNgram(2), MinimumLength(2), Once((5,)))


def searched(*rules: Rule, how: Any = None, shortlist: Any = None) -> Request:
    return Request(source=(4, 5, 6), max_tokens=8, how=how or Beam(size=2), rules=rules, shortlist=shortlist)


@pytest.mark.parametrize(
    "request_",
    [
        searched(),
        searched(*RULES),
        searched(how=Sample(n_best=2)),
        searched(shortlist=[3, 4, 5, 9]),
        searched(Phrases((((7, 8), (9,)), ((10,),)))),
        Pair((4, 5), (6,), Beam(), None),
    ],
    ids=["beam", "rules", "sample", "shortlist", "phrases", "score"],
)
def test_every_number_of_a_request_may_be_wrong(engine: NativeEngine, request_: Any) -> None:
    """It is refused, or has an answer. What no request has is always refused."""
    head, lists, fractions = parts(engine, request_)
    assert answer(engine, head, lists, fractions)
    wrong = {
        "kind": (-1, 3),
        "size": (0, -1, 2**30),
        "wide": (0, -1, 2**30),
        "n_best": (0, -1, 2**30),
        "stop": (-1, 4),
        "normalization": (-1, 2),
        "top_k": (-1,),
        "limit": (-1, 2**30 + 1),
        "minimum": (-1,),
        "layer": (-2, 1),
        "head": (-2, 4),
    }
    for name, values in wrong.items():
        for value in values:
            assert not answer(engine, head | {name: value}, lists, fractions), (name, value)
    for name, ids in lists.items():
        if name in ("ngrams", "draws", "phrases"):
            continue
        for value in (-1, VOCAB, 2**31 - 1, -(2**31)):
            assert not answer(engine, head, lists | {name: [*ids, value]}, fractions), (name, value)
        if name not in ("source", "prefix"):
            assert not answer(engine, head, lists | {name: [6, 3]}, fractions), name
    assert not answer(engine, head, lists | {"source": []}, fractions)
    assert not answer(engine, head, lists | {"ngrams": [0]}, fractions)
    for place in range(3):
        assert not answer(engine, head, lists, [*fractions[:place], math.nan, *fractions[place + 1 :]])
    assert not answer(engine, head | {"kind": 1}, lists | {"draws": [1] * 7}, fractions)


@pytest.mark.parametrize(
    "phrases",
    [
        [1],
        [1, 0],
        [1, 0, 1],
        [1, 0, 0],
        [0, 0, 1, 1, 5],
        [-1, 0, 1, 1, 5],
        [1, 0, 1, 2, 5],
        [1, 0, 1, 0],
        [1, 0, 2, 1, 5],
        [1, 0, 1, -1, 5],
        [1, 0, 1, 1, VOCAB],
        [1, 0, 1, 1, -1],
        [2**31 - 1, 0, 1, 2, 5, 6],
        [1, 0, 2**31 - 1, 1, 5],
        [1, 0, 1, 2**31 - 1, 5],
        [1, 0, 1, 1, 5, 1],
    ],
    ids=str,
)
def test_phrases_that_are_cut(engine: NativeEngine, phrases: list[int]) -> None:
    head, lists, fractions = parts(engine, searched(Phrases((((7,),),))))
    assert answer(engine, head, lists, fractions)
    assert not answer(engine, head, lists | {"phrases": phrases}, fractions)


def test_models_of_different_vocabularies_are_no_ensemble(engine: NativeEngine) -> None:
    other = native(random_model(shape(**OPTIONS, source_vocab=50, target_vocab=50)), threads=1)
    with pytest.raises(ModelError, match="different vocabularies"):
        NativeEngine.ensemble([engine, other])
