"""The figures of a run for TensorBoard, as an observer. Needs the package tensorboard."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from dragoman.base.errors import ConfigError
from dragoman.training.events import Finished, Observer, Quiet, Report, Started, Validation

_TRAINING = ("loss", "nll", "perplexity", "learning_rate", "tokens_per_second", "padding", "gradient_norm")
_VALIDATION = ("loss", "perplexity", "bleu", "chrf")


class TensorBoard:
    """Writes the figures of a run into a folder of event files, and passes every event to `then`.

    The horizontal axis is the update. A resumed run continues the curves: what TensorBoard shows after the
    update that it resumes from is replaced. Raises ConfigError without the package tensorboard.
    """

    def __init__(self, folder: str | Path, *, then: Observer | None = None) -> None:
        try:
            from torch.utils.tensorboard import SummaryWriter
        except ImportError as error:
            raise ConfigError(
                "the package tensorboard is not installed", hint="pip install 'dragoman[tensorboard]'"
            ) from error
        self._open = SummaryWriter
        self._folder, self._then = Path(folder), then or Quiet()
        self._writer: Any = None

    def on_start(self, event: Started) -> None:
        self._writer = self._open(self._folder, purge_step=event.resumed_from + 1)
        self._then.on_start(event)

    def on_report(self, event: Report) -> None:
        self._add("train", event, _TRAINING, event.step)
        self._then.on_report(event)

    def on_validation(self, event: Validation) -> None:
        self._add("valid", event, _VALIDATION, event.step)
        self._then.on_validation(event)

    def on_message(self, text: str) -> None:
        self._then.on_message(text)

    def on_finish(self, event: Finished) -> None:
        self._add("final", event, ("loss", "bleu"), event.step)
        self._writer.close()
        self._then.on_finish(event)

    def _add(self, part: str, event: object, names: tuple[str, ...], step: int) -> None:
        for name in names:
            if (value := getattr(event, name)) is not None:
                self._writer.add_scalar(f"{part}/{name}", value, step)
        self._writer.flush()  # the run may be stopped, and is to be watched
