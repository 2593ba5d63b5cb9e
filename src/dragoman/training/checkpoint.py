"""What a run leaves on disk while it trains: weights worth averaging, and what resuming needs.

`checkpoints/step-000500.safetensors` holds weights alone; `checkpoints/latest/` holds weights,
optimizer state and progress. Nothing is pickled.
"""

from __future__ import annotations

import dataclasses
import json
import os
import shutil
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from torch import nn

from dragoman.errors import ModelError, TrainingError
from dragoman.weights import put_weights, read_weights, weights_of, write_weights


@dataclass
class Progress:
    """Where a run stands. With the weights and the optimizer's state it is all that resuming needs:
    every random choice is a function of the seed and these counts."""

    step: int = 0  # updates made
    epoch: int = 0
    cursor: int = 0  # updates made in this epoch
    tokens: int = 0  # target tokens seen
    seconds: float = 0.0  # time spent, validation included
    corpus: str = ""  # fingerprint
    finished: bool = False
    history: list[dict[str, Any]] = field(default_factory=list)  # one entry a validation: step, score, ...
    skipped: int = 0  # updates left out, in a row, for a gradient that was not finite


def save(folder: Path, model: nn.Module, optimizer: torch.optim.Optimizer, progress: Progress) -> None:
    """Writes `folder` anew, whole or not at all."""
    part = folder.with_name(folder.name + ".part")
    old = folder.with_name(folder.name + ".old")
    try:
        for leftover in (part, old):
            shutil.rmtree(leftover, ignore_errors=True)
        part.mkdir(parents=True)
        write_weights(part / "model.safetensors", weights_of(model))
        names = {id(parameter): name for name, parameter in model.named_parameters()}
        moments = {
            f"{names[id(parameter)]}/{key}": torch.as_tensor(value)
            for parameter, state in optimizer.state.items()
            for key, value in state.items()
        }
        write_weights(part / "optimizer.safetensors", moments)
        (part / "progress.json").write_text(json.dumps(dataclasses.asdict(progress)), encoding="utf-8")
        if folder.exists():
            os.replace(folder, old)
        os.replace(part, folder)
        shutil.rmtree(old, ignore_errors=True)
    except OSError as error:
        raise TrainingError(
            f"{folder}: the checkpoint cannot be written ({error.strerror or error})",
            hint="free some space and repeat the command: it goes on from the last checkpoint",
        ) from error


def restore(folder: Path, model: nn.Module, optimizer: torch.optim.Optimizer) -> Progress | None:
    """Puts weights and optimizer state back; None where there is no checkpoint."""
    if not folder.exists() and folder.with_name(folder.name + ".old").exists():
        folder = folder.with_name(folder.name + ".old")  # interrupted between the two renames of `save`
    if not folder.exists():
        return None
    put_weights(model, read_weights(folder / "model.safetensors"), folder)
    moments = read_weights(folder / "optimizer.safetensors")
    for name, parameter in model.named_parameters():
        state = {
            key.removeprefix(f"{name}/"): value.clone()
            for key, value in moments.items()
            if key.rpartition("/")[0] == name
        }
        if state:
            optimizer.state[parameter] = {
                key: value if key == "step" else value.to(parameter.device) for key, value in state.items()
            }
    try:
        table = json.loads((folder / "progress.json").read_text(encoding="utf-8"))
        return Progress(**table)
    except (OSError, ValueError, TypeError) as error:
        raise ModelError(
            f"{folder / 'progress.json'}: damaged ({error})", hint="remove the folder to train from the start"
        ) from error
