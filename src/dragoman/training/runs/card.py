"""The model card: README.md of a model folder, which describes the model and its training."""

from __future__ import annotations

import os
import platform
import shlex
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import torch

from dragoman.base.files import write_whole
from dragoman.base.tables import count, markdown
from dragoman.text.corpora.languages import Direction, direction_name
from dragoman.training.data.mixture import TrainingText
from dragoman.training.events import Finished, Started
from dragoman.training.runs.prepare import Prepared
from dragoman.training.runs.recipe import Recipe
from dragoman.training.runs.tuning.outcome import Tuned
from dragoman.translation.folder.summary import describe_shape
from dragoman.version import __version__

_INT8 = "int8, one scale a matrix, as in 8-bit models of Marian; all scores are of rounded weights"


def write(prepared: Prepared, *, started: Started, finished: Finished, tuned: Tuned | None = None) -> None:
    """Write the model card at the end of a run."""
    texts: dict[str, TrainingText] = {"training": prepared.training}
    for direction, text in prepared.validation.items():
        texts["validation" + f" {direction_name(direction)}" * (len(prepared.validation) > 1)] = text
    card = render(
        prepared.recipe,
        started=started,
        finished=finished,
        texts=texts,
        command=command_line(),
        directions=prepared.directions,
        tuned=tuned,
        leaked=prepared.leaked,
    )
    write_whole(prepared.folder.card, card)


def command_line() -> list[str]:
    """Return the command line, or an empty list if the run was started from Python.

    Bytes that are not UTF-8 become U+FFFD.
    """
    program = Path(sys.argv[0])
    ours = program.stem == "dragoman" or (program.stem, program.parent.name) == ("__main__", "dragoman")
    words = (os.fsencode(word).decode(errors="replace") for word in sys.argv[1:])
    return ["dragoman", *words] if ours else []


def render(
    recipe: Recipe,
    *,
    started: Started,
    finished: Finished,
    texts: Mapping[str, TrainingText],
    command: Sequence[str],
    directions: Sequence[Direction] = (),
    tuned: Tuned | None = None,
    leaked: str = "",
) -> str:
    """Return the card as Markdown. `command` is empty for a run from Python, `directions` for one pair."""
    languages = f"{recipe.data.source_language} to {recipe.data.target_language}"
    translates = f"from {languages}"
    if len(directions) > 1:
        languages = ", ".join(map(direction_name, directions))
        translates = f"between several languages: {languages}"
    head = ["", ""]
    each = f" in each of {started.processes} processes" if started.processes > 1 else ""
    sections = {
        "Model": [
            head,
            ["parameters", f"{started.parameters:,}"],
            ["architecture", recipe.model.architecture],
            ["shape", ", ".join(describe_shape(recipe.model))],
            ["tokenizer", recipe.tokenizer.kind],
        ],
        "Text": [
            ["text", "pairs", "fingerprint", "read and set aside"],
            *(
                [name, f"{len(text):,}", f"`{text.fingerprint}`", text.report.replace("\n", ";")]
                for name, text in texts.items()
            ),
        ],
        "Training": [
            head,
            ["command", f"`{shlex.join(command)}`" if command else "(from Python)"],
            ["updates, target tokens", f"{finished.step:,}, {finished.tokens:,}"],
            ["time", f"{finished.seconds / 60:.1f} minutes"],
            ["arithmetic", f"{started.precision}, {count(started.threads, 'thread')}{each}"],
            ["seed", str(recipe.seed)],
            *_teachers(recipe),
            ["weights", finished.outcome],
            *([["tuned for", _INT8]] if recipe.training.quantise else []),
            ["torch, Python", f"{torch.__version__}, {platform.python_version()}"],
            *_validation(finished, leaked),
        ],
    }
    if tuned is not None:
        sections["Before and after"] = [
            head,
            ["tuned from", f"{tuned.base}, `{recipe.tuning.base}`"],
            ["replayed general text", recipe.tuning.replay_from],
            ["share of the tuned weights", f"{tuned.share:.0%}, the rest of the base"],
        ]
    lines = [
        f"# {recipe.title or languages}",
        "",
        f"Translates {translates}. Trained with dragoman {__version__}.",
        "",
        "    dragoman translate THIS_FOLDER FILE",
        "",
    ]
    for title, (names, *rows) in sections.items():
        lines += [f"## {title}", "", *markdown(names, rows), ""]
    lines += tuned.to_markdown() if tuned is not None else []
    return "\n".join([*lines, "The recipe is in `training.toml`, every measurement in `metrics.jsonl`.", ""])


def _teachers(recipe: Recipe) -> list[list[str]]:
    teacher = recipe.teacher
    each = zip(teacher.models, teacher.digests, strict=False)
    rows = [[f"teacher {number}", f"{name}, `{digest}`"] for number, (name, digest) in enumerate(each, 1)]
    if rows:
        learnt = [] if teacher.outputs == "none" else [f"their translations ({teacher.outputs})"]
        learnt += [f"their distributions (share of the loss: {teacher.words:g})"] if teacher.words else []
        rows.append(["learnt from them", ", ".join(learnt)])
    return rows


def _validation(finished: Finished, leaked: str) -> list[list[str]]:
    rows = []
    if leaked:
        rows.append(["warning", leaked])
    if finished.loss is not None:
        rows.append(["validation loss", f"{finished.loss:.4f} nats a token"])
    if finished.bleu is not None:
        rows.append([f"validation BLEU, {finished.search}", f"{finished.bleu:.2f}"])
        rows.append(["signature", f"`{finished.signature}`"])
    for name, scores in finished.directions.items():
        rows.append(
            [name, f"loss {scores['loss']:.4f}, BLEU {scores['bleu']:.2f}, chrF {scores['chrf']:.2f}"]
        )
    return rows
