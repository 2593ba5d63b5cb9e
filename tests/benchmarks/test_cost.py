"""The forecast of a run: its operations beside PyTorch's count, and its hours beside published ones."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import cost
import pytest
import torch
from cost import Cluster, Work, cost_of, costs_to_text, work_of_recipe
from torch.utils.flop_counter import FlopCounterMode

from dragoman.base.errors import ConfigError
from dragoman.models import loops as native
from dragoman.models.seq2seq import build_model
from dragoman.training.data.batches import collate
from dragoman.training.processes.distributed import World
from dragoman.training.runs.recipe import Recipe, resolve
from dragoman.training.step.update import Learner

SCRIPT = cost

RECIPES = Path(__file__).parents[2] / "recipes"


def cluster(**changes: float) -> Cluster:
    usual: dict[str, Any] = {
        "peak": 1e15, "utilisation": 0.3, "price": 2.5, "inside": 3e11, "bandwidth": 5e10, "disk": 1e9,
        "restart": 180, "failure": 3.6e6,
    }  # fmt: skip
    return Cluster(**{**usual, **changes})


@pytest.mark.parametrize("recompute", [False, True])
def test_operations_are_those_of_a_real_update(recompute: bool) -> None:
    """Of the preset `tiny` in its own widths. Adam and what is no product are not counted."""
    native.disable()  # PyTorch cannot count the loops in C
    recipe = resolve(preset="tiny", overrides=[f"training.recompute={str(recompute).lower()}"])
    size = recipe.tokenizer.vocab_size
    model = build_model(replace(recipe.model, source_vocab=size, target_vocab=size))
    learner = Learner(model, replace(recipe.training, precision="fp32"), World(0, 1, torch.device("cpu")))
    rows = [[5] * 27] * 8  # whole blocks of rows in the loss
    batch = collate(rows, rows, pad_id=0, start_id=1, end_id=2)

    with FlopCounterMode(display=False) as counter:
        learner.update([batch], 1, seed=1)

    work = work_of_recipe(recipe, processes=1, length=28)
    assert counter.get_total_flops() / batch.tokens == pytest.approx(work.token, rel=0.02)
    assert sum(p.numel() for p in model.parameters()) == pytest.approx(work.weights, rel=0.01)


def test_the_paper_s_base_model_takes_the_paper_s_time() -> None:
    """12 hours on 8 P100 of 9.5 TFLOP/s (sections 5.2 and 6.1), if they reach a third of that."""
    recipe = resolve(recipe=RECIPES / "wmt14-en-de-base.toml")
    work = work_of_recipe(recipe, processes=8, length=28)

    cost = cost_of(work, cluster(peak=9.5e12, utilisation=1 / 3, inside=1e10), 8)

    assert (work.tokens, work.updates) == (25_000, 100_000)
    assert cost.hours == pytest.approx(12, rel=0.05)
    assert cost.update == pytest.approx(0.4, rel=0.1)


def test_a_forecast_by_hand() -> None:
    work = Work(token=2e9, weights=1e8, tokens=30_000, updates=1000)

    one, many = (cost_of(work, cluster(failure=1e12), gpus) for gpus in (1, 16))

    assert (one.computing, one.summing) == (pytest.approx(0.2), 0)
    assert many.computing == pytest.approx(0.2 / 16)
    assert many.summing == pytest.approx(2 * 15 / 16 * 4e8 / 5e10)
    assert one.hours == pytest.approx(1000 * 0.2 / 3600, rel=0.01)
    assert many.price == pytest.approx(many.hours * 16 * 2.5)
    assert many.tokens == 30_000 / 16


def test_failures_cost_time() -> None:
    work = Work(token=1e9, weights=1e8, tokens=25_000, updates=1_000_000)

    seldom, often = (cost_of(work, cluster(failure=hours * 3600), 64) for hours in (10_000, 10))

    assert often.hours > seldom.hours * 1.01
    assert often.failures > 500 * seldom.failures
    assert often.every < seldom.every


def test_larger_updates_are_fewer_with_the_same_operations() -> None:
    recipe = resolve(preset="base")
    plain = work_of_recipe(recipe, processes=8, length=28)
    larger = work_of_recipe(recipe, processes=8, length=28, update_tokens=8 * plain.tokens)

    assert larger.updates == plain.updates / 8
    assert larger.operations == pytest.approx(plain.operations)


def test_only_transformers_are_counted() -> None:
    recipe = Recipe()
    with pytest.raises(ConfigError, match="recurrent"):
        work_of_recipe(resolve(overrides=["model.architecture=recurrent"]), processes=1, length=recipe.seed)


@pytest.mark.parametrize("changes", [{"peak": 0}, {"utilisation": 1.5}, {"price": -1}])
def test_machines_that_cannot_be(changes: dict[str, float]) -> None:
    with pytest.raises(ConfigError):
        cluster(**changes)


def test_the_table_says_what_is_assumed() -> None:
    work = Work(token=2e9, weights=1e8, tokens=30_000, updates=1000)
    text = costs_to_text(work, cluster(), [cost_of(work, cluster(), 8)])

    assert "counted: 2.000 GFLOP a target token, 100.0 million weights" in text
    assert "assumed: 1000 TFLOP/s, of which 30% are reached; 2.5 a GPU and hour" in text


def test_the_command(script_):
    words = "--preset base training.recompute=true --gpus 8,64".split()

    shown, table = script_(*words), json.loads(script_(*words, "--price", "2", "--json").out)

    assert [line.split()[0] for line in shown.out.splitlines()[-2:]] == ["8", "64"]
    assert "989 TFLOP/s, of which 30% are reached" in shown.out
    first, second = table["costs"]
    assert first["price"] == pytest.approx(first["hours"] * 8 * 2)
    assert second["summing"] > first["summing"]
    assert script_(*words, "--gpus", "0").code == 2
    assert script_("--preset", "base", "--utilisation", "30").code == 2
