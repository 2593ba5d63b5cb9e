"""The time of each step of a pipeline, before it runs.

A step that ran before takes as long as then. The time of training is its limit (`training.max_minutes`;
tuning has one by default), or the operations of its updates at the rate of this machine, which a second of
products measures. It reaches a part of that rate, `_REACHED`; expect a factor of two.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

from dragoman.base.machine import usable_cores
from dragoman.models.operations import training_step
from dragoman.models.shapes import TransformerOptions
from dragoman.pipeline.graph import Pipeline, PipelineStep
from dragoman.pipeline.running import read_rows
from dragoman.training.runs.recipe import Recipe, resolve
from dragoman.training.runs.tuning.recipe import MINUTES

_REACHED = 0.4  # of the rate of large products
_TOKENS = 20  # of a sentence


@dataclass(frozen=True, kw_only=True)
class Forecast:
    """What a step takes. None is unknown: it did not run before."""

    name: str
    state: str
    needs: tuple[str, ...]
    seconds: float | None
    memory_mb: float | None


def forecast(pipeline: Pipeline) -> list[Forecast]:
    """Return what each step takes, in order."""
    rows, digests, recipes, found = read_rows(pipeline.folder), pipeline.digests(), dict[str, Recipe](), []
    for name, step in pipeline.steps.items():
        row = rows.get(name, {})
        if step.trains:
            recipes[name] = _recipe(pipeline, step, recipes)
        done = row.get("state") == "done"  # perhaps of other inputs
        found.append(
            Forecast(
                name=name,
                state=row.get("state", "waiting") if row.get("digest") == digests[name] else "waiting",
                needs=tuple(pipeline.needs(step)),
                seconds=row.get("seconds") if done else _training_seconds(recipes.get(name)),
                memory_mb=row.get("most_memory_mb") if done else None,
            )
        )
    return found


def critical_path(found: list[Forecast]) -> float:
    """The seconds of the longest chain of steps that need each other: no number of cores is faster."""
    ends: dict[str, float] = {}
    for one in found:
        ends[one.name] = max((ends[name] for name in one.needs), default=0.0) + (one.seconds or 0.0)
    return max(ends.values(), default=0.0)


def _recipe(pipeline: Pipeline, step: PipelineStep, earlier: Mapping[str, Recipe]) -> Recipe:
    words = pipeline.words(step)
    value = {name: words[i + 1] for i, name in enumerate(words[:-1]) if name in ("--recipe", "--preset")}
    path = Path(value["--recipe"]) if "--recipe" in value else None
    overrides = [word for word in words if "=" in word and not word.startswith("-")]
    if step.words[0] == "distil":
        overrides.append('teacher.models=["of the pipeline"]')
    recipe = resolve(preset=value.get("--preset"), recipe=path, overrides=overrides)
    if "--from" in words and recipe.training.max_minutes is None:
        recipe = replace(recipe, training=replace(recipe.training, max_minutes=float(MINUTES)))
    tuned = [earlier[one] for one in pipeline.needs(step) if one in earlier and "--from" in words]
    return replace(tuned[-1], training=recipe.training) if tuned else recipe  # it has the shape of its base


def _training_seconds(recipe: Recipe | None) -> float | None:
    if recipe is None or not isinstance(recipe.model, TransformerOptions):
        return None
    training, vocabulary = recipe.training, recipe.tokenizer.vocab_size
    shape = replace(recipe.model, source_vocab=vocabulary, target_vocab=vocabulary)
    lengths = [_TOKENS] * max(training.batch_tokens // _TOKENS, 1)
    operations = training.max_updates * training.accumulate * training_step(shape, lengths, lengths)
    limit = float("inf") if training.max_minutes is None else 60 * training.max_minutes
    return min(operations / (_rate() * _REACHED), limit)


@cache
def _rate() -> float:
    """Operations a second of large products in float32, on all cores."""
    import torch

    from dragoman.training.rates import product_rates

    return product_rates(torch.float32, threads=usable_cores())
