"""A run as lines of text, for logs and pipes."""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable
from typing import IO, Any

from dragoman.display.observer import Display, harmless
from dragoman.display.wording import (
    WIDTH,
    clip,
    clock_time,
    facts,
    finished,
    number,
    sample_lines,
    share_done,
    validation_parts,
)
from dragoman.text.clean import clean


class Plain(Display):
    """A line every so many seconds and a few for each validation, none wider than 100 columns."""

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
        self.info: dict[str, Any] = {}
        self.shown = -math.inf  # when the last line was, in seconds

    @harmless
    def on_start(self, info: dict[str, Any]) -> None:
        self.info = info
        for label, value in (("output", str(info.get("output", "-"))), *facts(info)):
            self._write(f"{label:<10} {value}")

    @harmless
    def on_step(self, metrics: dict[str, Any]) -> None:
        now = self.clock()
        if now - self.shown < self.every:
            return
        self.shown = now
        step, limit = metrics["step"], self.info.get("max_updates")
        share = f" {share_done(self.info, step, metrics['seconds']):.0%}" if limit else ""
        self._write(
            f"update {step:,}{f'/{limit:,}' if limit else ''}{share}  loss {metrics['loss']:.2f}  "
            f"ppl {number(metrics['perplexity'])}  {number(metrics['tokens_per_second'])} tok/s  "
            f"pad {metrics['padding']:.1%}  lr {metrics['learning_rate']:.2g}  "
            f"left {clock_time(metrics.get('eta_seconds'))}"
        )

    @harmless
    def on_validation(self, metrics: dict[str, Any]) -> None:
        self._write(f"validation at {metrics['step']:,}: " + "  ".join(validation_parts(metrics)))
        for sample in metrics.get("samples", [])[: self.samples]:
            for label, text, equal in sample_lines(sample):
                self._write(f"  {label:<11}  {text}{'  (= reference)' if equal else ''}")

    @harmless
    def on_message(self, text: str) -> None:
        self._write(text)

    @harmless
    def on_end(self, metrics: dict[str, Any]) -> None:
        self._write(finished(metrics))

    def _write(self, line: str) -> None:
        stream = self.stream or sys.stderr
        encoding = getattr(stream, "encoding", None) or "utf-8"
        line = clip(clean(line), WIDTH)
        stream.write(line.encode(encoding, "backslashreplace").decode(encoding) + "\n")
        stream.flush()
