"""The events of a training run, and the observer that receives them.

Figures are plain numbers and strings, so an observer needs no torch.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol

from dragoman.training.checkpoints.progress import Candidate

Stop = Callable[[], int]  # the signal that asks to stop, or 0


@dataclass(frozen=True, kw_only=True)
class Started:
    """The first update is about to run. From here on the trainer checks whether it must stop."""

    output: str  # the folder of the run
    parameters: int
    source_vocab: int
    target_vocab: int
    train_pairs: int
    valid_pairs: int  # 0 without validation text
    precision: str
    threads: int  # in each process
    processes: int
    resumed_from: int  # updates made by earlier runs of the same command
    max_updates: int
    max_epochs: int | None = None
    max_seconds: float | None
    batch_tokens: int


@dataclass(frozen=True, kw_only=True)
class Report:
    """Means over the updates since the last report, and the progress of the run."""

    step: int  # updates so far
    epoch: int  # counted from 0
    loss: float  # nats a token, with label smoothing
    nll: float  # nats a token, without
    perplexity: float
    learning_rate: float
    tokens_per_second: float  # target tokens
    padding: float  # fraction of positions that hold no token
    gradient_norm: float  # of the last update, before clipping
    tokens: int  # target tokens so far
    seconds: float  # so far, validation included
    eta_seconds: float
    peak_memory: int | None = None  # bytes: the most that this process has held so far


@dataclass(frozen=True, kw_only=True)
class SampleTranslation:
    """A validation sentence and its translation."""

    source: str
    hypothesis: str
    reference: str


@dataclass(frozen=True, kw_only=True)
class Validation(Candidate):
    """A candidate for the final weights, as it is shown. A score without its text is None."""

    signature: str  # of BLEU; empty without one
    best: bool  # better than all before
    seconds: float  # that this validation took
    elapsed: float  # seconds of the run so far
    search: str = "greedy"  # used for BLEU and chrF, or "beam 5, length penalty 1"; empty without them
    samples: tuple[SampleTranslation, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Finished:
    """The run is over, and its final weights are written."""

    step: int
    seconds: float
    tokens: int  # target tokens
    best_step: int | None  # of the checkpoint that validated best; None without validation text
    outcome: str  # which weights were kept
    loss: float | None  # of these weights, on the validation text
    bleu: float | None
    signature: str
    search: str = "greedy"  # used for BLEU; empty without one
    directions: dict[str, dict[str, float]] = field(default_factory=dict)  # of several: scores by name
    peak_memory: int | None = None  # bytes: the most that any process of this command has held


class Observer(Protocol):
    """Receives the events of a run. An error in it ends the run."""

    def on_start(self, event: Started) -> None: ...
    def on_report(self, event: Report) -> None: ...
    def on_validation(self, event: Validation) -> None: ...
    def on_message(self, text: str) -> None: ...
    def on_finish(self, event: Finished) -> None: ...


class Quiet:
    """An observer that ignores everything. Override the methods you need."""

    def on_start(self, event: Started) -> None: ...
    def on_report(self, event: Report) -> None: ...
    def on_validation(self, event: Validation) -> None: ...
    def on_message(self, text: str) -> None: ...
    def on_finish(self, event: Finished) -> None: ...
