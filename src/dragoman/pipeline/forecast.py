"""What a pipeline will take: time, memory and disk of each step, before it runs.

The time of training is its limit (`training.max_minutes`), or the operations of its updates at the rate of
this machine, which a second of products measures. Of translation it is the operations of its lines. Both
reach a part of that rate, which `_REACHED` holds; expect a factor of two. Steps that are done have their real
time.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

from dragoman.base.errors import DragomanError
from dragoman.base.machine import usable_cores
from dragoman.models.operations import training_step, translation
from dragoman.models.shapes import TransformerOptions
from dragoman.pipeline.graph import Pipeline, PipelineStep
from dragoman.pipeline.running import read_rows
from dragoman.text.corpora.corpus import open_sources
from dragoman.training.runs.recipe import Recipe, resolve

_TRANSLATING = ("translate", "back-translate", "bulk", "distil")
_REACHED = {"training": 0.4, "translation": 0.5}  # of the rate of large products
_INT8 = 2.9  # times as fast as float32: docs/how-to/distil.md
_TOKENS = 20  # of a sentence
# Of a parameter: weights, gradient, moments and a copy in memory; weights and two checkpoints on disk.
_BYTES = {"memory": 20, "disk": 28}
_EMPTY = 3.5e8  # bytes of a process with PyTorch before it has a model
_LOGITS = 12  # bytes of a logit and its gradients in training


@dataclass(frozen=True, kw_only=True)
class Forecast:
    """What a step takes. None is unknown: its text does not exist yet, or its command has no forecast."""

    name: str
    state: str
    needs: tuple[str, ...]
    seconds: float | None
    memory_mb: float | None
    disk_mb: float | None


def forecast(pipeline: Pipeline) -> list[Forecast]:
    """Return what each step takes, in order."""
    rows, digests, recipes, found = read_rows(pipeline.folder), pipeline.digests(), dict[str, Recipe](), []
    for name, step in pipeline.steps.items():
        row = rows.get(name, {}) if rows.get(name, {}).get("digest") == digests[name] else {}
        if step.trains:
            recipes[name] = _recipe(pipeline, step)
            if "--from" in step.words:  # it has the shape of what it tunes
                tuned = [recipes[one] for one in pipeline.needs(step) if one in recipes]
                if tuned:
                    recipes[name] = replace(tuned[-1], training=recipes[name].training)
        done = row.get("state") == "done"
        seconds = row.get("seconds") if done else _seconds(pipeline, step, recipes)
        size = _parameters(recipes[name]) if name in recipes else None
        memory = None if size is None else _EMPTY + _BYTES["memory"] * size + _LOGITS * _logits(recipes[name])
        found.append(
            Forecast(
                name=name,
                state=row.get("state", "waiting"),
                needs=tuple(pipeline.needs(step)),
                seconds=seconds,
                memory_mb=row.get("most_memory_mb") if done else None if memory is None else memory / 1e6,
                disk_mb=None if size is None else _BYTES["disk"] * size / 1e6,
            )
        )
    return found


def critical_path(found: list[Forecast]) -> float:
    """The seconds of the longest chain of steps that need each other: no number of cores is faster."""
    ends: dict[str, float] = {}
    for one in found:
        ends[one.name] = max((ends[name] for name in one.needs), default=0.0) + (one.seconds or 0.0)
    return max(ends.values(), default=0.0)


def _recipe(pipeline: Pipeline, step: PipelineStep) -> Recipe:
    words = pipeline.words(step)
    value = {name: words[i + 1] for i, name in enumerate(words[:-1]) if name in ("--recipe", "--preset")}
    path = Path(value["--recipe"]) if "--recipe" in value else None
    overrides = [word for word in words if "=" in word and not word.startswith("-")]
    if step.words[0] == "distil":
        overrides.append('teacher.models=["of the pipeline"]')
    return resolve(preset=value.get("--preset"), recipe=path, overrides=overrides)


def _shape(recipe: Recipe) -> Any:
    vocabulary = recipe.tokenizer.vocab_size
    return replace(recipe.model, source_vocab=vocabulary, target_vocab=vocabulary)


def _seconds(pipeline: Pipeline, step: PipelineStep, recipes: Mapping[str, Recipe]) -> float | None:
    total: float | None = None
    own = recipes.get(step.name)
    if own is not None and isinstance(shape := _shape(own), TransformerOptions):
        lengths = [_TOKENS] * max(own.training.batch_tokens // _TOKENS, 1)
        operations = (
            own.training.max_updates * own.training.accumulate * training_step(shape, lengths, lengths)
        )
        total = operations / (_rate() * _REACHED["training"])
        if own.training.max_minutes is not None:
            total = min(total, 60 * own.training.max_minutes)
    if step.words[:1] and step.words[0] in _TRANSLATING:
        models = [recipes[name] for name in pipeline.needs(step) if name in recipes]
        lines = _lines(pipeline, step)
        if not models or lines is None or not isinstance(shape := _shape(models[0]), TransformerOptions):
            return total
        beam = _beam(step, own, models[0])
        each = translation(shape, _TOKENS, _TOKENS, beam) / (_INT8 if "int8" in step.run else 1.0)
        total = (total or 0.0) + bool(beam) * lines * each / (_rate() * _REACHED["translation"])
    return total


def _beam(step: PipelineStep, own: Recipe | None, model: Recipe) -> int:
    """The width of the beam with which a step translates; 0 if its teachers do not translate."""
    if own is not None:
        return own.teacher.beam if own.teacher.outputs != "none" else 0
    if {"greedy", "sample"} & {*step.words}:
        return 1
    wide = dict(pairwise(step.words)).get("--beam", "")
    return int(wide) if wide.isdecimal() else model.generation.size


def _lines(pipeline: Pipeline, step: PipelineStep) -> int | None:
    """The lines of the text that a step reads; at most as many as that of which steps will make it."""
    texts = [word for word in step.words if not _of_training(pipeline, word)]
    paths = [Path(pipeline.filled(step, word)) for word in texts if "{" in word and "{out}" not in word]
    if step.shell:
        paths = [path for found in pipeline.files(step).values() for path in found]
    counts = []
    for path in paths:
        if path.is_file():
            with suppress(DragomanError):
                counts.append(sum(1 for _ in open_sources(path)))
                if step.words:  # the text comes before that to validate on
                    break
    if not counts:
        needs = [pipeline.steps[name] for name in pipeline.needs(step)]
        found = [_lines(pipeline, one) for one in needs if not one.trains]
        counts = [count for count in found if count is not None]
    return max(counts, default=None)


def _of_training(pipeline: Pipeline, word: str) -> bool:
    return any(step.trains and f"{{{name}}}" in word for name, step in pipeline.steps.items())


def _logits(recipe: Recipe) -> int:
    return recipe.training.batch_tokens * recipe.tokenizer.vocab_size


def _parameters(recipe: Recipe) -> int:
    import torch

    from dragoman.models.folder.weights import weights_of
    from dragoman.models.seq2seq import build_model

    with torch.random.fork_rng(devices=[]), torch.device("meta"):
        return sum(weight.numel() for weight in weights_of(build_model(_shape(recipe))).values())


@cache
def _rate() -> float:
    """Operations a second of large products in float32, on all cores."""
    import torch

    from dragoman.training.rates import product_rates

    return product_rates(torch.float32, threads=usable_cores())
