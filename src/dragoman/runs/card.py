"""The model card: README.md of a model folder, so that whoever finds it knows what it is."""

from __future__ import annotations

import platform
import shlex
from collections.abc import Mapping
from typing import Any

import torch

from dragoman.base.config import to_table
from dragoman.base.tables import count, markdown
from dragoman.models.shapes import Architecture
from dragoman.runs.recipe import Recipe


def render(
    recipe: Recipe,
    *,
    command: list[str],
    parameters: int,
    corpora: Mapping[str, Mapping[str, Any]],
    training: Mapping[str, Any],
    version: str,
) -> str:
    """The card as Markdown.

    `corpora` maps a name to its pairs, fingerprint and the report of what was set aside; `training`
    holds updates, tokens, seconds, precision, threads, processes, outcome and the validation scores.
    """
    data, model = recipe.data, recipe.model
    languages = f"{data.source_language} to {data.target_language}"
    lines = [
        f"# {recipe.title or languages}",
        "",
        f"Translates from {languages}. Trained with dragoman {version}.",
        "",
        "    dragoman translate THIS_FOLDER FILE",
        "",
        "## Model",
        "",
        *markdown(
            ["", ""],
            [
                ["parameters", f"{parameters:,}"],
                ["architecture", model.architecture],
                ["shape", ", ".join(f"{name} {value}" for name, value in _shape(model))],
                ["tokenizer", recipe.tokenizer.kind],
            ],
        ),
        "",
        "## Text",
        "",
        *markdown(
            ["text", "pairs", "fingerprint", "read and set aside"],
            [
                [name, f"{of['pairs']:,}", f"`{of['fingerprint']}`", of["report"].replace("\n", ";")]
                for name, of in corpora.items()
            ],
        ),
        "",
        "## Training",
        "",
    ]
    rows = [
        ["command", f"`{shlex.join(command)}`" if command else "(from Python)"],
        ["updates, target tokens", f"{training['step']:,}, {training['tokens']:,}"],
        ["time", f"{training['seconds'] / 60:.1f} minutes"],
        ["arithmetic", f"{training['precision']}, {_processes(training['threads'], training['world_size'])}"],
        ["seed", str(recipe.seed)],
        ["weights", training["outcome"]],
        ["torch, Python", f"{torch.__version__}, {platform.python_version()}"],
    ]
    if training.get("loss") is not None:
        rows.append(["validation loss", f"{training['loss']:.4f} nats a token"])
    if training.get("bleu") is not None:
        rows.append(["validation BLEU, greedy", f"{training['bleu']:.2f}"])
        rows.append(["signature", f"`{training['signature']}`"])
    lines += markdown(["", ""], rows)
    lines += ["", "The recipe is in `training.toml`, every measurement in `metrics.jsonl`.", ""]
    return "\n".join(lines)


def _processes(threads: int, processes: int) -> str:
    return count(threads, "thread") + (f" in each of {processes} processes" if processes > 1 else "")


def _shape(model: Architecture) -> list[tuple[str, Any]]:
    """The options that say how large the model is and what it is made of."""
    ids = ("architecture", "source_vocab", "target_vocab", "pad_id", "start_id", "end_id")
    return [(name, value) for name, value in to_table(model).items() if name not in ids and value]
