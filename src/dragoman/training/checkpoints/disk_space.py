"""Check the disk space for checkpoints before hours are spent on the first one."""

from __future__ import annotations

import errno
import os
import shutil
from pathlib import Path

from dragoman.base.errors import TrainingError
from dragoman.models.seq2seq import AnySeq2Seq
from dragoman.training.options import TrainingConfig

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
