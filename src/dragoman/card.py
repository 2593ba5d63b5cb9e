"""The model card: README.md of a model folder, so that whoever finds it knows what it is."""

from __future__ import annotations

import platform
import shlex
from collections.abc import Mapping
from typing import Any

import torch

from dragoman.recipe import Recipe


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

    `corpora` maps a name to its pairs, fingerprint and the report of what was set aside; `training` holds updates,
    tokens, seconds, precision, threads, processes, outcome and the validation scores.
    """
    data = recipe.data
    lines = [
        f"# {recipe.title or f'{data.source_language} to {data.target_language}'}",
        "",
        f"Translates from {data.source_language} to {data.target_language}. Trained with dragoman {version}.",
        "",
        "    dragoman translate THIS_FOLDER FILE",
        "",
        "## Model",
        "",
        "| | |",
        "| --- | --- |",
        f"| parameters | {parameters:,} |",
        f"| layers | {recipe.model.encoder_layers} + {recipe.model.decoder_layers} |",
        f"| width, feed-forward, heads | {recipe.model.d_model}, {recipe.model.d_ff}, {recipe.model.heads} |",
        f"| tokenizer | {recipe.tokenizer.kind} |",
        "",
        "## Text",
        "",
        "| text | pairs | fingerprint | read and set aside |",
        "| --- | --- | --- | --- |",
    ]
    for name, corpus in corpora.items():
        lines.append(
            f"| {name} | {corpus['pairs']:,} | `{corpus['fingerprint']}` | {corpus['report'].replace(chr(10), ';')} |"
        )
    minutes = training["seconds"] / 60
    lines += [
        "",
        "## Training",
        "",
        "| | |",
        "| --- | --- |",
        f"| command | `{shlex.join(command)}` |" if command else "| command | (from Python) |",
        f"| updates, target tokens | {training['step']:,}, {training['tokens']:,} |",
        f"| time | {minutes:.1f} minutes |",
        f"| arithmetic | {training['precision']}, {training['threads']} threads, {training['world_size']} process(es) |",
        f"| seed | {recipe.seed} |",
        f"| weights | {training['outcome']} |",
        f"| torch, Python | {torch.__version__}, {platform.python_version()} |",
    ]
    if training.get("loss") is not None:
        lines.append(f"| validation loss | {training['loss']:.4f} nats a token |")
    if training.get("bleu") is not None:
        lines += [
            f"| validation BLEU, greedy | {training['bleu']:.2f} |",
            f"| signature | `{training['signature']}` |",
        ]
    lines += ["", "The recipe is in `training.toml`, every measurement in `metrics.jsonl`.", ""]
    return "\n".join(lines)
