"""A checkpoint of a run as a model folder: `RUN@500`, or a file in RUN/checkpoints."""

from __future__ import annotations

import re
import tempfile
from dataclasses import replace
from pathlib import Path

from dragoman.base.errors import ModelError
from dragoman.base.files import link_or_copy
from dragoman.base.tables import listing
from dragoman.translation.folder.config import (
    SHORTLIST,
    WEIGHTS,
    read_generation,
    read_model_config,
    write_config,
)
from dragoman.translation.folder.header import read_header

_STEP = re.compile(r"step-(\d+)\.safetensors")
_FOLDERS: dict[Path, tempfile.TemporaryDirectory[str]] = {}  # by weights; deleted when the program ends


def step_file(checkpoints: Path, step: int) -> Path:
    """The weights after update `step` in a folder of checkpoints."""
    return checkpoints / f"step-{step:07d}.safetensors"


def saved_steps(checkpoints: Path) -> list[int]:
    """The updates whose weights are in a folder of checkpoints, in order."""
    return sorted(int(name[1]) for path in checkpoints.glob("*") if (name := _STEP.fullmatch(path.name)))


def weights_of_run(path: Path) -> tuple[Path, Path] | None:
    """Return the run and the weights that `path` names, which need not exist; None if it names no checkpoint.

    A folder whose own name has such an ending is a folder.
    """
    run, _, step = path.name.rpartition("@")
    if run and step.isdecimal() and step.isascii() and not path.exists() and path.with_name(run).is_dir():
        return path.with_name(run), step_file(path.with_name(run) / "checkpoints", int(step))
    if path.suffix == ".safetensors" and path.parent.name == "checkpoints":
        return path.parent.parent, path
    return None


def run_of(path: Path) -> Path:
    """The folder of the run of a checkpoint; any other path itself."""
    return path if (found := weights_of_run(path)) is None else found[0]


def model_folder(path: Path) -> Path:
    """Return a temporary model folder for a checkpoint, until the program ends; any other path itself.

    Its search and tokenizer are the run's. It has no calibrated risk, which belongs to other weights. Raises
    ModelError if the run has no such checkpoint, or does not say what model it trains.
    """
    if (found := weights_of_run(path)) is None:
        return path
    run, weights = found
    if not weights.is_file():
        steps = saved_steps(run / "checkpoints")
        has = f"it has those of updates {listing([f'{step:,}' for step in steps], most=20)}" if steps else ""
        raise ModelError(
            f"{path}: {run} has no such checkpoint",
            hint=has or "a run keeps as many as training.average says, and the best",
        )
    header = read_header(weights)
    if any(".lora." in name for name in header):
        raise ModelError(
            f"{path}: weights with an adapter that is not merged yet", hint=f"use the model of the run: {run}"
        )
    if weights not in _FOLDERS:
        about = next((one for one in (run / "checkpoints", run) if (one / "config.json").is_file()), run)
        config = replace(read_model_config(about), weights=None, quantised=None, original=None)
        search = run if (run / "generation.json").is_file() else about
        _FOLDERS[weights] = temporary = tempfile.TemporaryDirectory(
            prefix=f"{run.name}.{weights.stem}-",
            ignore_cleanup_errors=True,  # Windows deletes no file that is mapped
        )
        write_config(replace(config, generation=read_generation(search)), Path(temporary.name))
        links = {WEIGHTS: weights} | {one.name: one for one in (*run.glob("tokenizer*"), run / SHORTLIST)}
        for name, target in links.items():
            if target.is_file():
                link_or_copy(target, Path(temporary.name, name))
    return Path(_FOLDERS[weights].name)
