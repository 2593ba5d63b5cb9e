"""Adapters in the native engine: the answers of PyTorch with the same adapter, beside those of the base."""

from __future__ import annotations

import copy
import gc
import multiprocessing
import threading
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from tests.translation.native.models import answers_of, lines, native, random_model, reference, shape
from tests.translation.native.test_native import SHAPES, assert_same, requests_for

from dragoman.base.errors import ModelError
from dragoman.models.folder.merge import merge_lora, merged_matrices
from dragoman.models.folder.weights import quantise, read_weights, weights_of, write_weights
from dragoman.models.lora import add_lora, lora_weights
from dragoman.translation.native import build
from dragoman.translation.native.native import NativeEngine
from dragoman.translation.native.weights import map_weights, place_weights
from dragoman.translation.search.engine import Hypothesis
from dragoman.translation.search.options import Beam

pytestmark = pytest.mark.skipif(build.unavailable() is not None, reason="no C++ compiler")

SCALE = 3.0 / 2


def adapted(model: Any, seed: int = 5, **options: Any) -> Any:
    """A copy of the model with an adapter that has learnt."""
    other = copy.deepcopy(model)
    add_lora(other, **({"rank": 2, "alpha": 3.0} | options))
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for parameter in lora_weights(other).values():
            parameter.copy_(torch.randn(parameter.shape, generator=generator) * 0.15)
    return other


def placed(weights: Any) -> Any:
    """Weights by name, as the engine takes them."""
    return place_weights(SimpleNamespace(named_parameters=lambda: iter(weights.items())))


def with_adapter(engine: NativeEngine, other: Any, scale: float = SCALE) -> NativeEngine:
    return engine.adapted(placed(lora_weights(other)), scale)


def probabilities(engine: Any, pairs: Any) -> list[float]:
    """The log-probability of every token of given translations."""
    scored = dict(engine.score(pairs, Beam(size=1)))
    return [logp for number in range(len(pairs)) for logp in scored[number].token_logp]


@pytest.fixture(scope="module")
def model() -> Any:
    return random_model(shape(d_model=64))


@pytest.mark.parametrize("options", SHAPES.values(), ids=SHAPES)
def test_every_shape_has_the_probabilities_of_pytorch(options: dict[str, Any]) -> None:
    base = random_model(shape(**options))
    other = adapted(base)
    sources = lines(12, longest=20, vocab=base.config.source_vocab)
    pairs = list(zip(sources, lines(12, seed=2), strict=True))
    engine = native(base)
    before = probabilities(engine, pairs)

    ours = probabilities(with_adapter(engine, other), pairs)

    assert ours == pytest.approx(probabilities(reference(other), pairs), abs=2e-3)
    assert max(abs(one - old) for one, old in zip(ours, before, strict=True)) > 0.1
    assert probabilities(engine, pairs) == before


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "int8"])
def test_an_adapter_and_the_merged_model_are_one(model: Any, dtype: str) -> None:
    other = adapted(model)
    requests = requests_for(lines(30), Beam(size=3))

    ours = answers_of(with_adapter(native(model, dtype), other), requests)

    merge_lora(other)
    assert ours == answers_of(native(other, dtype), requests)


@pytest.mark.parametrize("dtype", ["float32", "int8"])
def test_a_quantised_base_is_adapted_as_its_floats_are(model: Any, dtype: str, tmp_path: Any) -> None:
    other, path = adapted(model), tmp_path / "model.safetensors"
    write_weights(path, quantise(weights_of(model)))
    requests = requests_for(lines(30), Beam(size=3))

    engine = NativeEngine(model.config, map_weights(path), dtype=dtype)
    ours = answers_of(with_adapter(engine, other), requests)

    floats = read_weights(path)
    merged = floats | merged_matrices(floats, lora_weights(other), SCALE)
    whole = copy.deepcopy(model)
    for name, parameter in whole.named_parameters():
        parameter.data.copy_(merged[name])
    assert ours == answers_of(native(whole, dtype), requests)
    assert ours != answers_of(engine, requests)


def test_layers_without_an_adapter_stay(model: Any) -> None:
    other = adapted(model, on=("feed_forward",))
    requests = requests_for(lines(20))

    assert_same(
        answers_of(with_adapter(native(model), other), requests), answers_of(reference(other), requests)
    )


def test_several_adapters_and_the_base_translate_at_once(model: Any) -> None:
    base = native(model)
    engines = [base, *(with_adapter(base, adapted(model, seed)) for seed in (1, 2, 3))]
    requests = requests_for(lines(40), Beam(size=3))
    alone = [answers_of(engine, requests) for engine in engines]
    together: dict[int, list[list[Hypothesis]]] = {}

    def translate(number: int) -> None:
        together[number] = answers_of(engines[number], requests)

    threads = [threading.Thread(target=translate, args=(number,)) for number in range(len(engines))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert [together[number] for number in range(len(engines))] == alone
    assert all(one != other for i, one in enumerate(alone) for other in alone[:i])


def test_an_adapter_outlives_the_name_of_its_base(model: Any) -> None:
    requests, other = requests_for(lines(5)), adapted(model)
    base = native(model)
    expected = answers_of(with_adapter(base, other), requests)
    engine = with_adapter(base, other)

    del base
    gc.collect()

    assert answers_of(engine, requests) == expected


def _in_child(engine: Any, requests: Any, queue: Any) -> None:
    queue.put(answers_of(engine, requests))


@pytest.mark.thorough
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_process_translates_with_an_adapter(model: Any) -> None:
    engine, requests = with_adapter(native(model), adapted(model)), requests_for(lines(5))
    expected = answers_of(engine, requests)
    context = multiprocessing.get_context("fork")
    queue = context.SimpleQueue()
    child = context.Process(target=_in_child, args=(engine, requests, queue))
    child.start()

    assert queue.get() == expected
    child.join()


LAYER = "encoder.0.attention.output"


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ({f"{LAYER}.lora.down": (2, 64)}, f"{LAYER}.lora.up is missing"),
        ({f"{LAYER}.lora.up": (64, 2)}, "weights that are not of a layer"),
        ({f"{LAYER}.lora.down": (3, 64), f"{LAYER}.lora.up": (64, 2)}, "has 3 rows, and .* 2 columns"),
        ({f"{LAYER}.lora.down": (2, 63), f"{LAYER}.lora.up": (64, 2)}, "for 64 x 63, the model has 64 x 64"),
        ({f"{LAYER}.lora.down": (2, 64), f"{LAYER}.lora.up": (65, 2)}, "for 65 x 64, the model has 64 x 64"),
        ({f"{LAYER}.lora.down": (6, 64), f"{LAYER}.lora.up": (64, 2)}, "the model has 64 x 64"),
        ({"encoder.7.x.lora.down": (2, 64), "encoder.7.x.lora.up": (64, 2)}, "no layer encoder.7.x"),
    ],
)
def test_an_adapter_of_another_shape_is_refused(model: Any, weights: dict[str, Any], message: str) -> None:
    engine = native(model)
    matrices = placed({name: torch.zeros(shape) for name, shape in weights.items()})

    with pytest.raises(ModelError, match=message):
        engine.adapted(matrices, 1.0)

    assert answers_of(engine, requests_for(lines(2)))


def test_an_adapter_with_nan_gives_an_error(model: Any) -> None:
    other = adapted(model)
    with torch.no_grad():
        lora_weights(other)[f"{LAYER}.lora.up"][3, 1] = torch.nan

    with pytest.raises(ModelError, match="gives no probabilities"):
        answers_of(with_adapter(native(model), other), requests_for(lines(3)))
