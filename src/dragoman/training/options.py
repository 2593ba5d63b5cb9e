"""What can be said about a training run, and who is told how it goes."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, get_args

from dragoman.base.errors import ConfigError
from dragoman.training import schedule
from dragoman.training.precision import Precision

Schedule = Literal["paper", "inverse-sqrt", "cosine"]
StopOn = Literal["loss", "bleu"]
AverageOf = Literal["last", "best"]
Optimizer = Literal["adam", "muon"]


@dataclass(frozen=True, kw_only=True)
class TrainingConfig:
    """How to train. The defaults are the paper's, section 5, but for the size of a batch."""

    batch_tokens: int = 4096  # most padded tokens a side in one batch
    accumulate: int = 1  # batches that make up one update
    max_updates: int = 100_000
    max_epochs: int | None = None
    max_minutes: float | None = None
    schedule: Schedule = "paper"
    learning_rate: float | None = None  # the peak; the paper's schedule has its own
    warmup: int = 4000  # updates
    optimizer: Optimizer = "adam"  # or Muon for the matrices, Adam for the rest: see training/optimizer.py
    betas: tuple[float, ...] = (0.9, 0.98)
    epsilon: float = 1e-9
    weight_decay: float = 0.0  # decoupled (AdamW)
    clip: float = 0.0  # greatest gradient norm; 0 leaves gradients as they are
    label_smoothing: float = 0.1
    consistency: float = 0.0  # weight of R-Drop's divergence between two passes (Wu et al. 2021); 0: one pass
    precision: Precision = "auto"
    validate_every: int = 500  # updates; a checkpoint is written as often
    stop_on: StopOn = "loss"  # what makes a checkpoint better
    patience: int = 0  # validations without a better one before stopping; 0 never stops early
    average: int = 5  # checkpoints in the final average
    average_of: AverageOf = "last"
    log_every: int = 20  # updates

    def __post_init__(self) -> None:
        choices = {
            "schedule": Schedule,
            "precision": Precision,
            "stop_on": StopOn,
            "average_of": AverageOf,
            "optimizer": Optimizer,
        }
        for name, kind in choices.items():
            if getattr(self, name) not in get_args(kind):
                raise ConfigError(
                    f'training.{name} = "{getattr(self, name)}"',
                    hint=f"choose one of: {', '.join(get_args(kind))}",
                )
        at_least_one = (
            "batch_tokens",
            "accumulate",
            "max_updates",
            "warmup",
            "validate_every",
            "average",
            "log_every",
        )
        for name in at_least_one:
            if getattr(self, name) < 1:
                raise ConfigError(f"training.{name} = {getattr(self, name)}", hint="it must be at least 1")
        for name in ("max_epochs", "max_minutes", "learning_rate", "epsilon"):
            value = getattr(self, name)
            if value is not None and not 0 < value < math.inf:
                raise ConfigError(f"training.{name} = {value}", hint="it must be above 0")
        for name in ("clip", "weight_decay", "patience", "consistency"):
            if not 0 <= getattr(self, name) < math.inf:
                raise ConfigError(f"training.{name} = {getattr(self, name)}", hint="it must not be below 0")
        if not 0 <= self.label_smoothing < 1:
            raise ConfigError(f"training.label_smoothing = {self.label_smoothing}", hint="0 <= smoothing < 1")
        if len(self.betas) != 2 or not all(0 <= beta < 1 for beta in self.betas):
            raise ConfigError(f"training.betas = {list(self.betas)}", hint="two numbers from 0 to below 1")
        if self.schedule != "paper" and self.learning_rate is None:
            raise ConfigError(
                f'training.schedule = "{self.schedule}" needs a peak', hint="set training.learning_rate"
            )
        if self.schedule == "paper" and self.learning_rate is not None:
            raise ConfigError(
                'training.schedule = "paper" sets its own learning rate',
                hint='for a peak of your own set training.schedule="inverse-sqrt"',
            )

    def rate(self, step: int, d_model: int) -> float:
        """The learning rate of update `step`, counted from 1."""
        match self.schedule:
            case "paper":
                return schedule.paper(step, d_model=d_model, warmup=self.warmup)
            case "inverse-sqrt":
                return schedule.inverse_sqrt(step, peak=self.learning_rate or 0, warmup=self.warmup)
            case "cosine":
                return schedule.cosine(
                    step, peak=self.learning_rate or 0, warmup=self.warmup, last=self.max_updates
                )
