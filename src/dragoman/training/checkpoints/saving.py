"""Checkpoints are written at once by the leader, or by all processes while training continues."""

from __future__ import annotations

import logging
import shutil
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING

from torch import Tensor

from dragoman.base.errors import DragomanError, Elsewhere, ModelError, TrainingError
from dragoman.base.files import write_whole
from dragoman.base.tables import listing
from dragoman.models.folder.weights import not_finite, read_weights, write_weights
from dragoman.training.checkpoints import selection
from dragoman.training.checkpoints import whole as checkpoint
from dragoman.training.checkpoints.paths import PROGRESS, Checkpoints, is_sharded
from dragoman.training.checkpoints.progress import Progress
from dragoman.training.step.update import Learner

if TYPE_CHECKING:
    from dragoman.training.checkpoints.shards import Snapshot

log = logging.getLogger(__name__)

WRITING, FAILED = 1, 2
MENDING = "repeat the command with training.clip=1.0 or training.precision=fp32 to resume from there"


@dataclass(kw_only=True)
class Saver:
    """Writes the checkpoints of a run. All processes call its methods, at the same updates.

    Weights that the processes share are copied and written by a thread in each. `state` says how far this
    process is; when the greatest of all is 0, `complete` puts the checkpoint in the place of the last one.
    """

    checkpoints: Checkpoints
    learner: Learner
    _writing: _Writing | None = field(default=None, init=False)

    def restore(self) -> Progress | None:
        """Put the latest checkpoint back and return its progress, or None without one. Raises ModelError."""
        learner, latest = self.learner, self.checkpoints.latest
        if learner.sharded or is_sharded(latest):
            from dragoman.training.checkpoints import shards as shard_files

            return shard_files.restore_rows(latest, learner.trained, learner.optimizers, learner.ema)
        return checkpoint.restore(latest, learner.model, learner.optimizers, learner.ema)

    def save(self, progress: Progress, *, weights: Mapping[str, Tensor] | None = None) -> None:
        """Write the latest checkpoint, and the `weights` of this update that the final average may take.

        Only the leader writes these, and nothing may change them later. Raises TrainingError.
        """
        self.check_finite(progress.step)
        if not self.learner.sharded:
            self.learner.world.lead(lambda: self._write(progress, weights))
            return
        from dragoman.training.checkpoints.shards import Snapshot

        self.finish()
        part = checkpoint.unfinished(self.checkpoints.latest)
        self.learner.world.lead(lambda: _make(part))
        learner, world, step = self.learner, self.learner.world, self.checkpoints.step(progress.step)
        own = Snapshot.of(learner.trained, learner.optimizers, world.rank, world.size, learner.ema)
        # The moment of the checkpoint, not of its end.
        kept = selection.kept(progress.candidates, self.learner.config)
        self._writing = _Writing(own, part, progress.to_json(), kept, step, weights if world.leads else None)
        self._writing.start()

    def usable(self, steps: Sequence[int], needed: Iterable[int], *, read: bool) -> list[int]:
        """Return the updates to average: all of `steps`, unless `needed` weights are missing.

        Then it is those whose weights exist, and a warning is logged. With `read`, the files are read, and a
        damaged one is deleted: it counts as missing. Raises ModelError if the system cannot open one.
        """
        gone = []
        for step in sorted(needed):
            path = self.checkpoints.step(step)
            if path.exists() and read:
                try:
                    read_weights(path)
                except ModelError as error:
                    if isinstance(error.__cause__, OSError):  # too many open files, say: it may be whole
                        raise
                    log.warning("%s", error)
                    path.unlink(missing_ok=True)
            if not path.exists():
                gone.append(f"{step:,}")
        if gone:
            text = "%s: the weights of update %s are gone, so the final average omits them"
            log.warning(text, self.checkpoints.folder, ", ".join(gone))
            return [step for step in steps if self.checkpoints.step(step).exists()]
        return [*steps]

    def check_finite(self, step: int) -> None:
        """Raise TrainingError if a weight of any process is not finite."""
        names = not_finite(self.learner.own_weights())
        if self.learner.world.greatest(len(names)) == [0]:
            return
        names = sorted({name for some in self.learner.world.gather(names) for name in some})
        if not self.learner.world.leads:
            raise Elsewhere("weights are not finite, as the first process reports")
        raise TrainingError(
            f"after update {step} {listing(names, most=3)} {'is' if len(names) == 1 else 'are'} not finite. "
            f"{self.checkpoints.last_saved()}",
            hint=MENDING if self.checkpoints.resumable else "start again with a lower training.learning_rate",
        )

    def _write(self, progress: Progress, weights: Mapping[str, Tensor] | None) -> None:
        if weights is not None:
            write_weights(self.checkpoints.step(progress.step), weights)
        learner = self.learner
        checkpoint.save(self.checkpoints.latest, learner.model, learner.optimizers, progress, learner.ema)
        # Not earlier: the previous checkpoint may need more of them. And not only with a step: a run that
        # was killed before this has left one too many.
        self.checkpoints.prune(selection.kept(progress.candidates, self.learner.config))

    @property
    def state(self) -> int:
        """0, or WRITING, or FAILED: the state that this process reports to the others."""
        if self._writing is None:
            return 0
        return WRITING if self._writing.is_alive() else FAILED if self._writing.error is not None else 0

    def finish(self) -> None:
        """Wait until the checkpoint that is being written is complete. Raises TrainingError."""
        if self._writing is not None:
            self._writing.join()
            self.complete(*self.learner.world.greatest(self.state))

    def complete(self, greatest: int) -> None:
        """Put the checkpoint in the place of the last one, if `greatest`, of the states of all, is 0.

        Raises TrainingError if a process could not write.
        """
        writing = self._writing
        if writing is None or greatest == WRITING:
            return
        if greatest == FAILED:
            if writing.error is not None:
                raise checkpoint.cannot_write(self.checkpoints.latest, writing.error) from writing.error
            if writing.is_alive():  # the others have failed, and this checkpoint is lost
                writing.join()
            raise Elsewhere("a process of this run could not write its part of the checkpoint, as it reports")
        self._writing = None
        self.learner.world.lead(lambda: self._replace(writing))

    def _replace(self, writing: _Writing) -> None:
        latest = self.checkpoints.latest
        try:
            write_whole(writing.part / PROGRESS, writing.progress)
            checkpoint.replace(writing.part, latest)
        except (OSError, DragomanError) as error:
            raise checkpoint.cannot_write(latest, error) from error
        self.checkpoints.prune(writing.kept)


class _Writing(Thread):
    """Writes the rows of this process, and the weights of the update if there are some."""

    def __init__(
        self,
        own: Snapshot,
        part: Path,
        progress: str,
        kept: set[int],
        step: Path,
        weights: Mapping[str, Tensor] | None,
    ) -> None:
        super().__init__(name="checkpoint", daemon=True)
        self.part, self.progress, self.kept = part, progress, kept
        self.error: Exception | None = None
        self._own, self._step, self._weights = own, step, weights

    def run(self) -> None:
        try:
            if self._weights is not None:
                write_weights(self._step, self._weights)
            self._own.write(self.part)
        except Exception as error:  # of any kind: the checkpoint is not complete
            self.error = error


def _make(part: Path) -> None:
    try:
        shutil.rmtree(part, ignore_errors=True)  # left over by a crash
        part.mkdir(parents=True)
    except OSError as error:
        raise checkpoint.cannot_write(part, error) from error
