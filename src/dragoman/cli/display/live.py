"""A run on a terminal: a panel at the bottom, with validations scrolling past above it."""

from __future__ import annotations

import atexit
import contextlib
import math
import time
from collections.abc import Callable

from rich.console import Console, Group, RenderableType
from rich.live import Live as RichLive
from rich.padding import Padding
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from dragoman.base.progress import clock_time, number
from dragoman.cli.display.plain import (
    WIDTH,
    Display,
    Plain,
    clip,
    direction_rows,
    facts,
    finished,
    sample_lines,
    share_done,
    sparkline,
    validation_parts,
)
from dragoman.text.clean import clean
from dragoman.training.events import Finished, Report, Started, Validation


class Live(Display):
    """A panel at the bottom of the terminal, redrawn every second, below the validations."""

    def __init__(
        self,
        console: Console,
        *,
        samples: int = 2,
        wrap: bool = False,
        clock: Callable[[], float] = time.monotonic,
        threaded: bool = True,
    ) -> None:
        super().__init__()
        self.console, self.samples, self.wrap, self.clock = console, samples, wrap, clock
        self.started: Started | None = None
        self.report: Report | None = None
        self.finished: Finished | None = None
        self.validations: list[Validation] = []
        self.rate = 0.0  # updates a second, between the last two reports
        self.since = clock()  # when the last report came
        self.refreshed = -math.inf
        # Reports are seconds apart. A refresh each second keeps the clock running and costs little.
        self.live = RichLive(
            console=console,
            get_renderable=self._renderable,
            auto_refresh=threaded,
            refresh_per_second=1,
            redirect_stdout=False,
            vertical_overflow="crop",
        )

    def on_start(self, event: Started) -> None:
        self.started, self.since = event, self.clock()
        about = _grid()
        for label, value in facts(event):
            about.add_row(Text(label, "dim"), _line(value))
        self._print(Padding(about, (1, 0, 1, 2)))
        atexit.register(self.close)
        self.live.start(refresh=True)

    def on_report(self, event: Report) -> None:
        before = self.report or event
        steps, seconds = event.step - before.step, event.seconds - before.seconds
        self.rate = steps / seconds if steps > 0 and seconds > 0 else 0.0
        self.report, self.since = event, self.clock()
        self._refresh()

    def on_validation(self, event: Validation) -> None:
        self.validations.append(event)
        heading = Text.assemble((f"update {event.step:,}", "bold"), (f"  {clock_time(event.elapsed)}", "dim"))
        for part in validation_parts(event, brief=self.console.width < 96):
            heading.append(" · ", "dim").append(part, "green" if part == "best so far" else "")
        table = _grid()
        for row in direction_rows(event):
            table.add_row(Text(""), _line(row))
        for sample in event.samples[: self.samples]:
            for label, text, equal in sample_lines(sample):
                line = _line(text, wrap=self.wrap, style="bold" if label == "translation" else "dim")
                if equal:
                    line = Text.assemble(("✓ ", "green"), line, no_wrap=not self.wrap, overflow=line.overflow)
                table.add_row(Text(label, "dim"), line)
            table.add_row()
        self._print(Padding(Group(heading, table) if table.rows else Group(heading, Text()), (0, 0, 0, 2)))
        self._refresh(at_once=True)

    def on_message(self, text: str) -> None:
        # No blank lines between messages before the panel starts.
        below = 1 if self.live.is_started else 0
        self._print(Padding(_line(text, wrap=True, style="yellow"), (0, 0, below, 2)))

    def on_finish(self, event: Finished) -> None:
        self.finished, self.since, self.rate = event, self.clock(), 0.0
        self.close()
        self._print(Padding(Group(*(_line(line, wrap=True) for line in finished(event))), (1, 0, 1, 2)))

    def close(self) -> None:
        atexit.unregister(self.close)
        with contextlib.suppress(Exception, SystemExit):  # the terminal may be gone
            if self.live.is_started:
                self.live.stop()

    def fall_back(self) -> Display:
        plain = Plain(self.console.file, clock=self.clock)
        plain.started = self.started
        return plain

    def _refresh(self, at_once: bool = False) -> None:
        if self.live.is_started and (at_once or self.clock() - self.refreshed >= 0.25):
            self.refreshed = self.clock()
            self.live.refresh()

    def _print(self, what: RenderableType) -> None:
        self.console.print(what, width=min(self.console.width, WIDTH), highlight=False)

    # ---- the panel -------------------------------------------------------------------------------

    def _renderable(self) -> RenderableType:
        try:
            return self.panel()
        except Exception:  # runs in a thread of rich, which `Display` does not guard
            return Text("")

    def panel(self) -> RenderableType:
        """The panel as it is now. Between two reports the clock and the bar keep moving."""
        # Lines are built by hand, because rich's tables take ten times as long, every second.
        # Keep two columns free, so that the ^C that a terminal echoes does not begin another line.
        width = min(self.console.width - 2, WIDTH)
        inner = max(width - 6, 10)
        ran = 0.0 if self.finished is not None else self.clock() - self.since
        colour = "green" if self.finished is not None else "cyan"
        lines = [_apart(self._updates(ran, inner), self._times(ran, inner), inner)]
        share = 1.0 if self.finished is not None else 0.0
        if self.finished is None and self.report is not None:
            share = share_done(self.report, ran)
        lines.append(_bar(share, inner, colour))
        if self.report is not None:
            lines += [Text(), *_figures(self.report, inner)]
        elif self.finished is None:
            lines += [Text(), Text("the first figures come after some updates", "dim italic")]
        if curve := self._curve(inner):
            lines += [Text(), curve]
        title = self.started.output if self.started is not None else "training"
        return Panel(
            Text("\n", no_wrap=True, overflow="ellipsis").join(lines),
            title=_line(clip(title, inner), style="bold"),
            title_align="left",
            border_style="dim",
            padding=(0, 2),
            width=width,
        )

    def _step(self, ran: float) -> int:
        """The update `ran` seconds after the last report, at the rate so far."""
        if self.finished is not None:
            return self.finished.step
        first = self.started.resumed_from if self.started is not None else 0
        step = (self.report.step if self.report is not None else first) + int(self.rate * ran)
        return step if self.started is None else min(step, self.started.max_updates)

    def _seconds(self, ran: float) -> float:
        last = self.finished or self.report
        return (last.seconds if last is not None else 0.0) + ran

    def _updates(self, ran: float, width: int) -> Text:
        limit = f" of {self.started.max_updates:,}" if self.started is not None else ""
        text = Text.assemble(("update ", "dim"), f"{self._step(ran):,}", (limit, "dim"))
        if self.report is not None and width >= 64:
            text.append("   epoch ", "dim").append(f"{self.report.epoch + 1:,}")
        return text

    def _times(self, ran: float, width: int) -> Text:
        elapsed = Text.assemble(("elapsed ", "dim"), clock_time(self._seconds(ran)))
        if self.report is None or self.finished is not None:
            return elapsed
        left = Text.assemble(("left ", "dim"), (clock_time(max(self.report.eta_seconds - ran, 0)), "cyan"))
        return Text("   ").join([elapsed, left]) if width >= 56 else left

    def _curve(self, width: int) -> Text | None:
        """The curve of the validations so far, with the last value and the best."""
        by_bleu = any(validation.bleu is not None for validation in self.validations)
        points = [(v.bleu if by_bleu else v.loss, v.step) for v in self.validations]
        known = [(value, step) for value, step in points if value is not None and math.isfinite(value)]
        if not known:
            return None
        best, at = max(known) if by_bleu else min(known)
        digits = 1 if by_bleu else 3
        label = "BLEU" if by_bleu else "validation loss"
        return Text.assemble(
            (f"{label} ", "dim"), (sparkline([value for value, _ in known], max(8, width - 45)), "cyan"),
            f" {known[-1][0]:.{digits}f}", (f"   best {best:.{digits}f} at update {at:,}", "dim"),
        )  # fmt: skip


def _figures(report: Report, width: int) -> tuple[Text, Text]:
    """As many figures as fit, labels above values."""
    figures = [
        ("loss", f"{report.loss:.3f}"),
        ("perplexity", number(report.perplexity)),
        ("tokens/s", number(report.tokens_per_second)),
        ("padding", f"{report.padding:.1%}"),
        ("learning rate", f"{report.learning_rate:.2g}"),
        ("gradient", f"{report.gradient_norm:.2f}"),
    ]
    while len(figures) > 1 and sum(max(map(len, figure)) for figure in figures) > width - 3 * len(figures):
        figures.pop()
    columns = [max(map(len, figure)) for figure in figures]
    gap = max(3, (width - sum(columns)) // len(figures)) * " "
    labels, values = (
        gap.join(cell.ljust(column) for cell, column in zip(row, columns, strict=True))
        for row in zip(*figures, strict=True)
    )
    return Text(labels, "dim"), Text(values, "bold")


def _line(text: str, *, wrap: bool = False, style: str = "") -> Text:
    return Text(clean(text), style, no_wrap=not wrap, overflow="fold" if wrap else "ellipsis")


def _grid() -> Table:
    table = Table.grid(padding=(0, 2))
    table.add_column(no_wrap=True)
    table.add_column()
    return table


def _apart(left: Text, right: Text, width: int) -> Text:
    """`left` and `right` at the two ends of a line, or `left` alone if both do not fit."""
    space = width - left.cell_len - right.cell_len
    return Text.assemble(left, " " * space, right) if space >= 2 else left


def _bar(share: float, width: int, style: str) -> Text:
    length = width - 6
    full = round(share * length)
    return Text.assemble(("━" * full, style), ("─" * (length - full), "dim"), f"  {share:4.0%}")
