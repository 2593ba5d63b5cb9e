"""A run on a terminal: a panel at its foot, and validations scrolling past above it."""

from __future__ import annotations

import atexit
import contextlib
import math
import time
from collections.abc import Callable
from typing import Any

from rich.console import Console, Group, RenderableType
from rich.live import Live as RichLive
from rich.padding import Padding
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from dragoman.display.observer import Display, harmless
from dragoman.display.plain import Plain
from dragoman.display.wording import (
    WIDTH,
    clip,
    clock_time,
    facts,
    finished,
    number,
    sample_lines,
    share_done,
    sparkline,
    validation_parts,
)
from dragoman.text.clean import clean


class Live(Display):
    """A panel at the foot of the terminal that moves, with validations scrolling past above it."""

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
        self.info: dict[str, Any] = {}
        self.metrics: dict[str, Any] = {}
        self.rate = 0.0  # updates a second, between the last two reports
        self.since = clock()  # when the last report came
        self.refreshed = -math.inf
        self.validations: list[dict[str, Any]] = []
        self.ended = False
        # Reports are seconds apart; a refresh each second keeps the clock going and costs little.
        self.live = RichLive(
            console=console,
            get_renderable=self._renderable,
            auto_refresh=threaded,
            refresh_per_second=1,
            redirect_stdout=False,
            vertical_overflow="crop",
        )

    @harmless
    def on_start(self, info: dict[str, Any]) -> None:
        self.info, self.since = info, self.clock()
        about = _grid()
        for label, value in facts(info):
            about.add_row(Text(label, "dim"), _line(value))
        self._print(Padding(about, (1, 0, 1, 2)))
        atexit.register(self.close)
        self.live.start(refresh=True)

    @harmless
    def on_step(self, metrics: dict[str, Any]) -> None:
        steps = metrics["step"] - self.metrics.get("step", metrics["step"])
        seconds = metrics["seconds"] - self.metrics.get("seconds", metrics["seconds"])
        self.rate = steps / seconds if steps > 0 and seconds > 0 else 0.0
        self.metrics, self.since = metrics, self.clock()
        self._refresh()

    @harmless
    def on_validation(self, metrics: dict[str, Any]) -> None:
        self.validations.append(metrics)
        heading = Text.assemble((f"update {metrics['step']:,}", "bold"))
        if "elapsed" in metrics:
            heading.append(f"  {clock_time(metrics['elapsed'])}", "dim")
        for part in validation_parts(metrics, brief=self.console.width < 96):
            heading.append(" · ", "dim").append(part, "green" if part == "best so far" else "")
        table = _grid()
        for sample in metrics.get("samples", [])[: self.samples]:
            for label, text, equal in sample_lines(sample):
                shown = _line(text, wrap=self.wrap, style="bold" if label == "translation" else "dim")
                if equal:
                    shown = Text.assemble(
                        ("✓ ", "green"), shown, no_wrap=not self.wrap, overflow=shown.overflow
                    )
                table.add_row(Text(label, "dim"), shown)
            table.add_row()
        self._print(Padding(Group(heading, table) if table.rows else Group(heading, Text()), (0, 0, 0, 2)))
        self._refresh(at_once=True)

    @harmless
    def on_message(self, text: str) -> None:
        # What comes before the panel, line after line, belongs together.
        below = 1 if self.live.is_started else 0
        self._print(Padding(_line(text, wrap=True, style="yellow"), (0, 0, below, 2)))

    @harmless
    def on_end(self, metrics: dict[str, Any]) -> None:
        self.metrics = {
            **self.metrics,
            "step": metrics["step"],
            "seconds": metrics["seconds"],
            "eta_seconds": 0,
        }
        self.since, self.rate, self.ended = self.clock(), 0.0, True
        self.close()
        self._print(Padding(_line(finished(metrics), wrap=True), (1, 0, 1, 2)))

    def close(self) -> None:
        atexit.unregister(self.close)
        with contextlib.suppress(Exception, SystemExit):  # a terminal that is gone needs no tidying
            if self.live.is_started:
                self.live.stop()

    def fall_back(self) -> Display:
        plain = Plain(self.console.file, clock=self.clock)
        plain.info = self.info
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
        except Exception:  # this runs in a thread of rich's, where harmless does not reach
            return Text("")

    def panel(self) -> RenderableType:
        """What is at the foot of the terminal now. Between two reports the clock and the bar run on."""
        # Lines are put together by hand: rich's tables would take ten times as long, every second.
        # Two columns stay free: at a line's very end the ^C that a terminal echoes would begin another.
        width = min(self.console.width - 2, WIDTH)
        inner = max(width - 6, 10)
        ran = 0.0 if self.ended else self.clock() - self.since
        seconds = self.metrics.get("seconds", 0.0) + ran
        limit = self.info.get("max_updates")
        step = self.metrics.get("step", self.info.get("resumed_from") or 0) + int(self.rate * ran)
        step = min(step, limit) if limit else step
        share = share_done(self.info, step, seconds)

        done = Text.assemble(("update ", "dim"), f"{step:,}", (f" of {limit:,}" if limit else "", "dim"))
        if "epoch" in self.metrics and inner >= 64:
            done.append("   epoch ", "dim").append(f"{self.metrics['epoch'] + 1:,}")
        times = Text.assemble(("elapsed ", "dim"), clock_time(seconds))
        eta = self.metrics.get("eta_seconds")
        if eta is not None and not self.ended:
            left = Text.assemble(("left ", "dim"), (clock_time(max(eta - ran, 0)), "cyan"))
            times = Text("   ").join([times, left]) if inner >= 56 else left
        lines = [_apart(done, times, inner), _bar(share, inner, "green" if self.ended else "cyan")]
        if "loss" in self.metrics:
            lines += [Text(), *self._figures(inner)]
        elif not self.ended:
            lines += [Text(), Text("the first figures come after some updates", "dim italic")]
        if course := self._course(inner):
            lines += [Text(), course]
        body = Text("\n", no_wrap=True, overflow="ellipsis").join(lines)
        return Panel(
            body,
            title=_line(clip(str(self.info.get("output", "training")), inner), style="bold"),
            title_align="left",
            border_style="dim",
            padding=(0, 2),
            width=width,
        )

    def _figures(self, width: int) -> tuple[Text, Text]:
        """As many figures as fit, labels above values."""
        m = self.metrics
        figures = [
            ("loss", f"{m['loss']:.3f}"),
            ("perplexity", number(m["perplexity"])),
            ("tokens/s", number(m["tokens_per_second"])),
            ("padding", f"{m['padding']:.1%}"),
            ("learning rate", f"{m['learning_rate']:.2g}"),
            ("gradient", f"{m['gradient_norm']:.2f}"),
        ]
        while len(figures) > 1 and sum(max(map(len, figure)) for figure in figures) > width - 3 * len(
            figures
        ):
            figures.pop()
        columns = [max(map(len, figure)) for figure in figures]
        gap = max(3, (width - sum(columns)) // len(figures)) * " "
        labels, values = (
            gap.join(cell.ljust(column) for cell, column in zip(row, columns, strict=True))
            for row in zip(*figures, strict=True)
        )
        return Text(labels, "dim"), Text(values, "bold")

    def _course(self, width: int) -> Text | None:
        """How validation went so far: a small curve, the last figure and the best."""
        by_bleu = any(v.get("bleu") is not None for v in self.validations)
        name = "bleu" if by_bleu else "loss"
        points = [(v[name], v["step"]) for v in self.validations if v.get(name) is not None]
        points = [(value, step) for value, step in points if math.isfinite(value) and value >= 0]
        if not points:
            return None
        best, at = max(points) if by_bleu else min(points)
        digits = 1 if by_bleu else 3
        label = "BLEU" if by_bleu else "validation loss"
        return Text.assemble(
            (f"{label} ", "dim"), (sparkline([value for value, _ in points], max(8, width - 45)), "cyan"),
            f" {points[-1][0]:.{digits}f}", (f"   best {best:.{digits}f} at update {at:,}", "dim"),
        )  # fmt: skip


def _line(text: str, *, wrap: bool = False, style: str = "") -> Text:
    return Text(clean(text), style, no_wrap=not wrap, overflow="fold" if wrap else "ellipsis")


def _grid() -> Table:
    table = Table.grid(padding=(0, 2))
    table.add_column(no_wrap=True)
    table.add_column()
    return table


def _apart(left: Text, right: Text, width: int) -> Text:
    """`left` and `right` at the two ends of a line; the first alone where both do not fit."""
    space = width - left.cell_len - right.cell_len
    return Text.assemble(left, " " * space, right) if space >= 2 else left


def _bar(share: float, width: int, style: str) -> Text:
    length = width - 6
    full = round(share * length)
    return Text.assemble(("━" * full, style), ("─" * (length - full), "dim"), f"  {share:4.0%}")
