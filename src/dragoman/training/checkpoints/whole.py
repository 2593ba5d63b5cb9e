"""One checkpoint: weights, optimizer state and progress, saved and restored.

A checkpoint is a folder, replaced as a whole. Nothing is pickled.
"""

from __future__ import annotations

import errno
import logging
import os
import shutil
from collections.abc import Sequence
from pathlib import Path

import torch
from torch import Tensor

from dragoman.base.errors import DragomanError, ModelError, TrainingError
from dragoman.base.files import write_whole
from dragoman.models.folder.weights import (
    HasWeights,
    check_finite,
    put_weights,
    read_weights,
    weights_of,
    write_weights,
)
from dragoman.models.seq2seq import AnySeq2Seq
from dragoman.training.checkpoints.paths import PROGRESS, previous, whole
from dragoman.training.checkpoints.progress import DAMAGED, Progress, read_progress
from dragoman.training.options import TrainingConfig
from dragoman.training.step.ema import MovingAverage

log = logging.getLogger(__name__)

Optimizers = Sequence[torch.optim.Optimizer]
_EMA = "ema.safetensors"  # the moving average of the weights, if the run has one


def save(
    folder: Path,
    model: HasWeights,
    optimizers: Optimizers,
    progress: Progress,
    ema: MovingAverage | None = None,
) -> None:
    """Replace `folder`, whole or not at all. Raises TrainingError if it cannot be written."""
    part = unfinished(folder)
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
        if ema is not None:
            write_weights(part / _EMA, ema.weights)
        write_whole(part / PROGRESS, progress.to_json())
        replace(part, folder)
    except (OSError, DragomanError) as error:
        shutil.rmtree(part, ignore_errors=True)
        raise cannot_write(folder, error) from error


def unfinished(folder: Path) -> Path:
    """Where the checkpoint that will replace `folder` is written."""
    return folder.with_name(f"{folder.name}.part")


def replace(part: Path, folder: Path) -> None:
    """Replace the last checkpoint by a complete one. At every moment one of them is whole."""
    old = previous(folder)
    if folder.exists():
        shutil.rmtree(old, ignore_errors=True)
        os.replace(folder, old)
    os.replace(part, folder)
    shutil.rmtree(old, ignore_errors=True)


def cannot_write(folder: Path, error: Exception) -> TrainingError:
    """The error for a checkpoint that cannot be written."""
    return TrainingError(
        f"{folder}: the checkpoint cannot be written ({getattr(error, 'strerror', None) or error})",
        hint="free some space and repeat the command"
        + (": it resumes from the last checkpoint" if whole(folder) else "; nothing was saved yet"),
    )


def restore(
    folder: Path, model: HasWeights, optimizers: Optimizers, ema: MovingAverage | None = None
) -> Progress | None:
    """Put weights and optimizer state back and return the progress, or None without a checkpoint.

    If the checkpoint is damaged and the one before is still there, take that and log a warning. Raises
    ModelError if none is left, or if it belongs to another model.
    """
    checkpoint, before = whole(folder), previous(folder)
    if checkpoint is None:
        return None
    try:
        return _restored(checkpoint, model, optimizers, ema)
    except ModelError as error:
        if checkpoint == before or not before.exists():
            raise
        log.warning("%s; resuming from the checkpoint before it", error)
        return _restored(before, model, optimizers, ema)


def _restored(folder: Path, model: HasWeights, optimizers: Optimizers, ema: MovingAverage | None) -> Progress:
    progress = read_progress(folder / PROGRESS)
    moments = _read_moments(folder / "optimizer.safetensors", model)
    names = {id(parameter): name for name, parameter in model.named_parameters()}
    # PyTorch numbers the parameters of an optimizer in the order of its groups.
    ordered = [[names[id(p)] for group in o.param_groups for p in group["params"]] for o in optimizers]
    kinds = [{frozenset(moments.get(name, {})) for name in each} for each in ordered]
    if any(len(each) > 1 or (moments and each == {frozenset()}) for each in kinds):
        raise ModelError(f"{folder / 'optimizer.safetensors'}: some parameters have no state", hint=DAMAGED)
    weights = read_weights(folder / "model.safetensors")
    check_finite(weights, f"{folder / 'model.safetensors'}:", hint=DAMAGED)
    if ema is not None:
        averages = read_weights(folder / _EMA)
        check_finite(averages, f"{folder / _EMA}:", hint=DAMAGED)
        ema.put(averages, folder / _EMA)
    put_weights(model, weights, folder / "model.safetensors")
    for optimizer, each in zip(optimizers, ordered, strict=True):
        state = optimizer.state_dict()
        state["state"] = {number: moments[name] for number, name in enumerate(each) if name in moments}
        optimizer.load_state_dict(state)
    return progress


def _read_moments(path: Path, model: HasWeights) -> dict[str, dict[str, Tensor]]:
    """The state of the optimizers, by parameter and kind."""
    moments: dict[str, dict[str, Tensor]] = {}
    stored = read_weights(path)
    check_finite(stored, f"{path}:", hint=DAMAGED)
    shapes = {name: parameter.shape for name, parameter in model.named_parameters()}
    for key, value in stored.items():
        name, _, kind = key.rpartition("/")
        if name not in shapes or value.shape not in ((), shapes[name]) or not value.is_floating_point():
            raise ModelError(f"{path}: {key} does not fit the model", hint=DAMAGED)
        moments.setdefault(name, {})[kind] = value
    return moments


_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


def checkpoint_bytes(model: AnySeq2Seq, config: TrainingConfig) -> int:
    """Return the minimum bytes of a checkpoint: weights, and the moments of the trained ones.

    With `training.ema`, also their moving average.
    """
    others = (1 if config.optimizer == "muon" else 2) + bool(config.ema)
    return sum(one.nbytes * (1 + others * one.requires_grad) for one in model.parameters())


def check_space(folder: Path, needed: int, *, what: str = "a checkpoint") -> None:
    """Raise TrainingError unless a file of this many bytes fits into `folder`, which exists.

    The file is allocated and removed, because the free space of the disk does not show quotas and limits.
    """
    probe = folder / f".room.{os.getpid():08x}.part"  # swept up if a crash leaves it behind
    try:
        with probe.open("wb") as file:
            if hasattr(os, "posix_fallocate"):
                os.posix_fallocate(file.fileno(), 0, max(needed, 1))
    except OSError as error:
        if error.errno not in _FULL:
            return  # a file system that cannot allocate ahead; the first file written will tell
        free = shutil.disk_usage(folder).free
        raise TrainingError(
            f"{folder}: no room for {what}, {size_text(needed)} ({error.strerror}; {size_text(free)} free)",
            hint="free some space, or choose a folder on another disk with -o",
        ) from error
    finally:
        probe.unlink(missing_ok=True)


def size_text(count: int) -> str:
    """As in `1.5 MB`."""
    return f"{count / 1e6:,.1f} MB"
