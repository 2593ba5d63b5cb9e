"""Which checkpoints to average are still there, before a run trains for days and then lacks them."""

from __future__ import annotations

import logging
from collections.abc import Iterable

from dragoman.base.errors import ModelError
from dragoman.folder.weights import read_weights
from dragoman.training.checkpoints import Checkpoints

log = logging.getLogger(__name__)


def left(steps: Iterable[int], needed: Iterable[int], checkpoints: Checkpoints, *, read: bool) -> list[int]:
    """Return the updates to choose from: all of `steps`, unless weights that are `needed` are gone.

    Then those whose weights are there, and a warning is logged. With `read`, the files are read, and a
    damaged one is deleted: it counts as gone. Raises ModelError if the system cannot open one.
    """
    gone = []
    for step in sorted(needed):
        path = checkpoints.step(step)
        if path.exists() and read:
            try:
                read_weights(path)
            except ModelError as error:
                if isinstance(error.__cause__, OSError):  # too many open files, say: it may be whole
                    raise
                log.warning("%s", error)
                path.unlink(missing_ok=True)
        if not path.exists():
            gone.append(step)
    if gone:
        log.warning(
            "%s: the weights of update %s are gone, so the final average does without them",
            checkpoints.folder, ", ".join(f"{step:,}" for step in gone),
        )  # fmt: skip
        return [step for step in steps if checkpoints.step(step).exists()]
    return list(steps)
