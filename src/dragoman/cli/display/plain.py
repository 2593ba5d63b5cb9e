"""A run as lines of text, for logs and pipes."""

from __future__ import annotations

import functools
import logging
import math
import sys
import textwrap
import time
from collections.abc import Callable, Iterable, Sequence
from typing import IO, Self

from rich.cells import cell_len, set_cell_size

from dragoman.base.progress import clock_time, number
from dragoman.base.tables import aligned, count
from dragoman.text.clean import clean
from dragoman.training.events import Finished, Quiet, Report, SampleTranslation, Started, Validation


class Display(Quiet):
    """An observer that shows something. A with-block closes it, so that the terminal is left tidy.

    An error of a display does not stop the training: the display closes, and its fall-back takes over.
    """

    def __init_subclass__(cls) -> None:
        for name in [name for name in vars(cls) if name.startswith("on_")]:
            setattr(cls, name, _harmless(vars(cls)[name]))

    def __init__(self) -> None:
        self.instead: Display | None = None  # takes over when this display has failed

    def close(self) -> None:
        """Restore the terminal. Never raises, and may be called twice."""

    def fall_back(self) -> Display:
        """The display that takes over when this one fails."""
        return Silent()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _harmless(method: Callable[..., None]) -> Callable[..., None]:
    @functools.wraps(method)
    def guarded(self: Display, event: object) -> None:
        if self.instead is None:
            try:
                return method(self, event)
            except (Exception, SystemExit):  # rich exits the program when a pipe is closed
                logging.getLogger(__name__).debug("a display failed", exc_info=True)
                self.instead = self.fall_back()
                self.close()
        getattr(self.instead, method.__name__)(event)
        return None

    return guarded


class Silent(Display):
    """Shows nothing."""


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

    def on_start(self, event: Started) -> None:
        self.started = event
        for label, value in (("output", event.output), *facts(event)):
            self._write(f"{label:<10} {value}")

    def on_report(self, event: Report) -> None:
        now = self.clock()
        if now - self.shown < self.every:
            return
        self.shown = now
        limit = share = ""
        if self.started is not None:
            limit = f"/{self.started.max_updates:,}"
            share = f" {share_done(event):.0%}"
        self._write(
            f"update {event.step:,}{limit}{share}  loss {event.loss:.2f}  "
            f"ppl {number(event.perplexity)}  {number(event.tokens_per_second)} tok/s  "
            f"pad {event.padding:.1%}  lr {event.learning_rate:.2g}  "
            f"left {clock_time(event.eta_seconds)}"
        )

    def on_validation(self, event: Validation) -> None:
        self._write(f"validation at {event.step:,}: " + "  ".join(validation_parts(event)))
        for line in direction_rows(event):
            self._write(f"  {line}")
        for sample in event.samples[: self.samples]:
            for label, text, equal in sample_lines(sample):
                self._write(f"  {label:<11}  {text}{'  (= reference)' if equal else ''}")

    def on_message(self, text: str) -> None:
        for line in textwrap.wrap(clean(text), WIDTH):  # it may name many lines of the text
            self._write(line)

    def on_finish(self, event: Finished) -> None:
        for line in finished(event):
            self._write(line)

    def _write(self, line: str) -> None:
        stream = self.stream or sys.stderr
        encoding = getattr(stream, "encoding", None) or "utf-8"
        line = clip(clean(line), WIDTH)
        stream.write(line.encode(encoding, "backslashreplace").decode(encoding) + "\n")
        stream.flush()


WIDTH = 100  # columns at most, since long lines are hard to read
_BLOCKS = "▁▂▃▄▅▆▇█"


def clip(text: str, width: int) -> str:
    """Return `text` cut to `width` columns of a terminal, with an ellipsis if it was longer."""
    return text if cell_len(text) <= width else set_cell_size(text, width - 1).rstrip() + "…"


def sparkline(values: Sequence[float], width: int = 30) -> str:
    """Return a curve of block characters. More than `width` values are thinned evenly; the last is kept."""
    if len(values) > width:
        chosen = [round(n * (len(values) - 1) / (width - 1)) for n in range(width)] if width > 1 else [-1]
        values = [values[n] for n in chosen]
    low, high = min(values, default=0), max(values, default=0)
    span = high - low
    top = len(_BLOCKS) - 1
    return "".join(_BLOCKS[round((value - low) / span * top) if span else top // 2] for value in values)


def share_done(report: Report, ran: float = 0.0) -> float:
    """Return the share of the time of the run, from 0 to 1, that is over `ran` seconds after a report."""
    whole = report.seconds + report.eta_seconds
    return min((report.seconds + ran) / whole, 1.0) if whole > 0 else 1.0


def facts(started: Started) -> Iterable[tuple[str, str]]:
    """Yield labels and values that describe the run."""
    source, target = started.source_vocab, started.target_vocab
    vocabulary = f"{source:,}" if source == target else f"{source:,} and {target:,}"
    yield "model", f"{started.parameters:,} parameters, vocabulary {vocabulary}"
    validation = f", {started.valid_pairs:,} to validate" if started.valid_pairs else ""
    yield "data", f"{started.train_pairs:,} pairs to learn from{validation}"
    machine = f"{started.precision}, {count(started.threads, 'thread')}"
    if started.processes > 1:
        machine += f" in each of {started.processes} processes"
    yield "machine", f"{machine}, batches of {started.batch_tokens:,} tokens"
    limits = [f"{started.max_updates:,} updates"]
    if started.max_epochs is not None:
        limits.append(count(started.max_epochs, "epoch"))
    if started.max_seconds is not None:
        limits.append(clock_time(started.max_seconds))
    yield "until", " or ".join(limits)
    if started.resumed_from:
        yield "resumes", f"from update {started.resumed_from:,}"


def validation_parts(validation: Validation, *, brief: bool = False) -> Iterable[str]:
    """The figures of a validation. `brief` leaves out the loss, which the perplexity implies."""
    if validation.loss is not None and not brief:
        yield f"loss {validation.loss:.3f}"
    if validation.perplexity is not None:
        yield f"perplexity {number(validation.perplexity)}"
    search, _, _ = validation.search.partition(",")  # the width of the beam is enough here
    for value, label in ((validation.bleu, "BLEU"), (validation.chrf, "chrF")):
        if value is not None:
            yield f"{label} {value:.1f}" + (f" ({search})" if label == "BLEU" and search != "greedy" else "")
    if validation.best:
        yield "best so far"


def direction_rows(validation: Validation) -> list[str]:
    """The scores of each direction of a model of several, as a table."""
    labels = {"loss": "loss", "bleu": "BLEU", "chrf": "chrF"}
    rows = [
        [name, *(f"{label} {scores[key]:.{3 if key == 'loss' else 1}f}" for key, label in labels.items())]
        for name, scores in validation.directions.items()
    ]
    return aligned(rows) if rows else []


def sample_lines(sample: SampleTranslation) -> Iterable[tuple[str, str, bool]]:
    """Label, text, and whether it equals the reference, which then gets no separate line."""
    equal = sample.hypothesis.strip() == sample.reference.strip()
    yield "source", sample.source, False
    yield "translation", sample.hypothesis, equal
    if not equal:
        yield "reference", sample.reference, False


def finished(event: Finished) -> list[str]:
    """The last lines of a run."""
    best = "" if event.best_step is None else f", the best at {event.best_step:,}"
    lines = [f"done: {event.step:,} updates in {clock_time(event.seconds)}{best}; kept {event.outcome}"]
    if event.peak_memory is not None:
        lines.append(f"peak memory of a process: {event.peak_memory / 1e9:.2f} GB")
    return lines
