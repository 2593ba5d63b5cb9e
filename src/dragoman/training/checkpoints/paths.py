"""The files in the folder of checkpoints.

latest/                     weights, optimizer state and progress: what resuming needs; with training.ema,
                            also the moving average of the weights
step-0000500.safetensors    weights alone, to average; with training.ema, their moving average
final.safetensors           the weights that training ended with
corpus/train, corpus/valid  the tokenised text; corpus/train.NAME of several training texts; corpus/replay,
                            corpus/general in tuning
outputs/                    translations by teachers (`training/runs/text/translations.py`)
lessons/                    the teachers' distributions for each tokenised text (`training/distillation`)
config.json, generation.json    the shape and the search of the model, which make a checkpoint readable
lock, lock.owner            the lock of the run that writes here, and who holds it
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from dragoman.base.errors import ConfigError
from dragoman.base.tables import count
from dragoman.training.checkpoints.progress import Progress, read_progress
from dragoman.translation.folder.checkpoint import saved_steps, step_file

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
    def resumable(self) -> bool:
        """Whether there is a checkpoint to resume from."""
        return whole(self.latest) is not None

    def step(self, step: int) -> Path:
        """The weights after update `step`."""
        return step_file(self.folder, step)

    def chosen(self, *, last: int | None = None, best: int | None = None, by: str | None = None) -> list[int]:
        """The updates of the `last` weights, or of the `best` by a score of their validation, best first.

        `by` is loss, perplexity, bleu, chrf or chrf++; None is the measure that the run itself went by.
        Raises ConfigError for fewer weights than wanted, or without that score; ModelError for a damaged
        progress.
        """
        steps = saved_steps(self.folder)
        has = f"it has {count(len(steps), 'checkpoint')}"
        if best is not None:
            history = {one.step: one for one in (self.progress().history if self.resumable else ())}
            scores = {step: history[step].measure(by or "score") for step in steps if step in history}
            lower = by in ("loss", "perplexity")
            known = {step: -score if lower else score for step, score in scores.items() if score is not None}
            steps = sorted(known, key=lambda step: known[step], reverse=True)
            has = f"{has}, {len(steps):,} with {by or 'a score'}"
        wanted = (last if best is None else best) or 0
        if len(steps) < wanted:
            raise ConfigError(
                f"{self.folder}: {wanted:,} checkpoints wanted, but {has}",
                hint="a run keeps those that its own average may take: train with a larger training.average",
            )
        return steps[:wanted] if best is not None else steps[len(steps) - wanted :]

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

    def learnt_texts(self) -> list[Path]:
        """The folders of all tokenised text that the model learns from: in tuning, also the replayed text."""
        return [*self.training_texts(), *filter(Path.exists, [self.corpus("replay")])]

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
