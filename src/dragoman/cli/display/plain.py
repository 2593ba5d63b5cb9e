"""A run as lines of text, for logs and pipes."""

from __future__ import annotations

import math
import sys
import textwrap
import time
from collections.abc import Callable
from typing import IO

from dragoman.base.progress import clock_time, number
from dragoman.cli.display.observer import Display, harmless
from dragoman.cli.display.wording import (
    WIDTH,
    clip,
    facts,
    finished,
    sample_lines,
    share_done,
    validation_parts,
)
from dragoman.text.clean import clean
from dragoman.training.events import Finished, Report, Started, Validation


class Plain(Display):
    """A line every few seconds and several for each validation, none wider than 100 columns."""

    def __init__(
        self,
        stream: IO[str] | None = None,
        *,
        every: float = 10.0,
        samples: int = 1,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        super().__init__()
        self.stream, self.every, self.samples, self.clock = stream, every, samples, clock
        self.started: Started | None = None
        self.shown = -math.inf  # when the last report was shown, in seconds

    @harmless
    def on_start(self, event: Started) -> None:
        self.started = event
        for label, value in (("output", event.output), *facts(event)):
            self._write(f"{label:<10} {value}")

    @harmless
    def on_report(self, event: Report) -> None:
        now = self.clock()
        if now - self.shown < self.every:
            return
        self.shown = now
        limit = share = ""
        if self.started is not None:
            limit = f"/{self.started.max_updates:,}"
            share = f" {share_done(self.started, event.step, event.seconds):.0%}"
        self._write(
            f"update {event.step:,}{limit}{share}  loss {event.loss:.2f}  "
            f"ppl {number(event.perplexity)}  {number(event.tokens_per_second)} tok/s  "
            f"pad {event.padding:.1%}  lr {event.learning_rate:.2g}  "
            f"left {clock_time(event.eta_seconds)}"
        )

    @harmless
    def on_validation(self, event: Validation) -> None:
        self._write(f"validation at {event.step:,}: " + "  ".join(validation_parts(event)))
        for sample in event.samples[: self.samples]:
            for label, text, equal in sample_lines(sample):
                self._write(f"  {label:<11}  {text}{'  (= reference)' if equal else ''}")

    @harmless
    def on_message(self, text: str) -> None:
        for line in textwrap.wrap(clean(text), WIDTH):  # it may name many lines of the text
            self._write(line)

    @harmless
    def on_finish(self, event: Finished) -> None:
        for line in finished(event):
            self._write(line)

    def _write(self, line: str) -> None:
        stream = self.stream or sys.stderr
        encoding = getattr(stream, "encoding", None) or "utf-8"
        line = clip(clean(line), WIDTH)
        stream.write(line.encode(encoding, "backslashreplace").decode(encoding) + "\n")
        stream.flush()
