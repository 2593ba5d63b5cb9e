"""The files in the folder of checkpoints.

latest/                     weights, optimizer state and progress: what resuming needs; with training.ema,
                            also the moving average of the weights
step-0000500.safetensors    weights alone, to average; with training.ema, their moving average
final.safetensors           the weights that training ended with
corpus/train, corpus/valid  the tokenised text; corpus/train.NAME of several training texts; corpus/replay,
                            corpus/general in tuning
outputs/                    translations by teachers (`training/runs/text/translations.py`)
lessons/                    the teachers' distributions for each tokenised text (`training/distillation`)
lock, lock.owner            the lock of the run that writes here, and who holds it
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from dragoman.training.checkpoints.progress import Progress, read_progress

PROGRESS = "progress.json"
Part = Literal["train", "valid", "replay", "general"]  # the last two in tuning only


@dataclass(frozen=True)
class Checkpoints:
    """The paths in a folder of checkpoints. They need not exist."""

    folder: Path

    @property
    def latest(self) -> Path:
        """The checkpoint to resume from."""
        return self.folder / "latest"

    @property
    def final(self) -> Path:
        """The final weights of training."""
        return self.folder / "final.safetensors"

    @property
    def lock(self) -> Path:
        """The lock of the run that writes here."""
        return self.folder / "lock"

    @property
    def resumable(self) -> bool:
        """Whether there is a checkpoint to resume from."""
        return whole(self.latest) is not None

    def step(self, step: int) -> Path:
        """The weights after update `step`."""
        return self.folder / f"step-{step:07d}.safetensors"

    def corpus(self, part: str) -> Path:
        """The folder of a tokenised text: a `Part`, or train.NAME for one of several training texts."""
        return self.folder / "corpus" / part

    def outputs(self, text: str) -> Path:
        """The folder of the teachers' translations of a text."""
        return self.folder / "outputs" / text

    def lessons(self, part: str) -> Path:
        """The folder of the teachers' distributions for the tokenised text in `corpus(part)`."""
        return self.folder / "lessons" / part

    def training_texts(self) -> list[Path]:
        """The folders of the tokenised training text: train, or else every train.NAME."""
        whole = self.corpus("train")
        return [whole] if whole.exists() else sorted((self.folder / "corpus").glob("train.*/"))

    def progress(self) -> Progress:
        """The progress of the run. Raises ModelError if it cannot be read."""
        return read_progress((whole(self.latest) or self.latest) / PROGRESS)

    def last_saved(self) -> str:
        """Return the checkpoint to resume from, as text for a message."""
        if not self.resumable:
            return "Nothing was saved yet"
        return f"The last checkpoint is whole (update {self.progress().step})"

    def prune(self, kept: Collection[int]) -> None:
        """Delete the weights of every update but these."""
        paths = {self.step(step) for step in kept}
        for path in self.folder.glob("step-*.safetensors"):
            if path not in paths:
                path.unlink()


def previous(folder: Path) -> Path:
    """The path of the old checkpoint while a new one replaces it."""
    return folder.with_name(f"{folder.name}.old")


def whole(folder: Path) -> Path | None:
    """The checkpoint at `folder`, or the previous one if a crash interrupted its replacement."""
    return next((path for path in (folder, previous(folder)) if path.exists()), None)


def is_sharded(folder: Path) -> bool:
    """Whether the checkpoint at `folder` was written by processes that share the weights."""
    checkpoint = whole(folder)
    return checkpoint is not None and any(checkpoint.glob("shard-*.safetensors"))
