"""What a run leaves on disk while it trains: weights worth averaging, and what resuming needs.

`checkpoints/step-000500.safetensors` holds weights alone; `checkpoints/latest/` holds weights,
optimizer state and progress. Nothing is pickled.
"""

from __future__ import annotations

import dataclasses
import json
import os
import shutil
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from dragoman.base.errors import DragomanError, ModelError, TrainingError
from dragoman.base.files import write_whole
from dragoman.folder.weights import put_weights, read_weights, weights_of, write_weights

_DAMAGED = "remove the folder of checkpoints to train from the start"


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
    processes: int = 1  # that share an update
    finished: bool = False
    history: list[dict[str, Any]] = field(default_factory=list)  # one entry a validation: step, score, ...
    skipped: int = 0  # updates left out, in a row, for a gradient that was not finite
    window: dict[str, Any] = field(default_factory=dict)  # sums for the next line of metrics


Optimizers = Sequence[torch.optim.Optimizer]


def save(folder: Path, model: nn.Module, optimizers: Optimizers, progress: Progress) -> None:
    """Writes `folder` anew, whole or not at all. Raises TrainingError where it cannot."""
    part, old = _beside(folder, ".part"), _beside(folder, ".old")
    try:
        shutil.rmtree(part, ignore_errors=True)  # left over by a crash
        part.mkdir(parents=True)
        write_weights(part / "model.safetensors", weights_of(model))
        moments = {
            f"{name}/{key}": torch.as_tensor(value)
            for name, parameter in model.named_parameters()
            for optimizer in optimizers
            for key, value in optimizer.state.get(parameter, {}).items()
        }
        write_weights(part / "optimizer.safetensors", moments)
        write_whole(part / "progress.json", json.dumps(dataclasses.asdict(progress)))
        if folder.exists():
            shutil.rmtree(old, ignore_errors=True)
            os.replace(folder, old)
        os.replace(part, folder)
        shutil.rmtree(old, ignore_errors=True)
    except (OSError, DragomanError) as error:
        shutil.rmtree(part, ignore_errors=True)
        raise TrainingError(
            f"{folder}: the checkpoint cannot be written ({getattr(error, 'strerror', None) or error})",
            hint="free some space and repeat the command: it goes on from the last checkpoint",
        ) from error


def restore(folder: Path, model: nn.Module, optimizers: Optimizers) -> Progress | None:
    """Puts weights and optimizers' state back; None where there is no checkpoint.

    Raises ModelError where it is damaged or of another model.
    """
    if not folder.exists():
        folder = _beside(folder, ".old")  # interrupted between the two renames of `save`
    if not folder.exists():
        return None
    progress = _read_progress(folder / "progress.json")
    moments = _read_moments(folder / "optimizer.safetensors", model)
    names = {id(parameter): name for name, parameter in model.named_parameters()}
    # PyTorch numbers the parameters of an optimizer in the order of its groups.
    ordered = [[names[id(p)] for group in o.param_groups for p in group["params"]] for o in optimizers]
    kinds = [{frozenset(moments.get(name, {})) for name in each} for each in ordered]
    if any(len(each) > 1 or (moments and each == {frozenset()}) for each in kinds):
        raise ModelError(
            f"{folder / 'optimizer.safetensors'}: not every parameter has its state", hint=_DAMAGED
        )
    put_weights(model, read_weights(folder / "model.safetensors"), folder)
    for optimizer, each in zip(optimizers, ordered, strict=True):
        state = optimizer.state_dict()
        state["state"] = {number: moments[name] for number, name in enumerate(each) if name in moments}
        optimizer.load_state_dict(state)
    return progress


def _beside(folder: Path, suffix: str) -> Path:
    return folder.with_name(folder.name + suffix)


def _read_progress(path: Path) -> Progress:
    try:
        progress = Progress(**json.loads(path.read_text(encoding="utf-8")))
        for name, value in vars(Progress()).items():
            if type(getattr(progress, name)) is not type(value):
                raise ValueError(f"{name} = {getattr(progress, name)!r}")
    except (OSError, ValueError, TypeError) as error:
        raise ModelError(f"{path}: damaged ({error})", hint=_DAMAGED) from error
    return progress


def _read_moments(path: Path, model: nn.Module) -> dict[str, dict[str, Tensor]]:
    """The optimizers' state by parameter."""
    moments: dict[str, dict[str, Tensor]] = {}
    shapes = {name: parameter.shape for name, parameter in model.named_parameters()}
    for key, value in read_weights(path).items():
        name, _, kind = key.rpartition("/")
        if name not in shapes or value.shape not in ((), shapes[name]):
            raise ModelError(f"{path}: {key} does not fit the model", hint=_DAMAGED)
        moments.setdefault(name, {})[kind] = value
    return moments
