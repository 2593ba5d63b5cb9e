from __future__ import annotations

import io
import os
import subprocess
import sys
from typing import Any

import pytest
from rich.cells import cell_len
from rich.console import Console
from tests.cli.display.runs import Clock, finished, report, started, validation

from dragoman.cli.display import Live, Plain, Silent, observer_for
from dragoman.training.events import Observer, SampleTranslation


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def console(width: int = 100, **options: Any) -> Console:
    environment = {"TERM": "xterm-256color"}
    defaults = {
        "file": Terminal(),
        "width": width,
        "height": 40,
        "_environ": environment,
        "legacy_windows": False,
    }
    return Console(**(defaults | options))


def live(width: int = 100, **options: Any) -> Live:
    return Live(console(width, force_terminal=True), threaded=False, clock=Clock(), **options)


def panel(display: Live) -> list[str]:
    """The lines of the panel as it is now, without colours."""
    screen = console(display.console.width, file=io.StringIO(), color_system=None, force_terminal=False)
    screen.print(display.panel())
    return screen.file.getvalue().splitlines()  # type: ignore[attr-defined]


def written(display: Live) -> str:
    return display.console.file.getvalue()  # type: ignore[attr-defined]


def test_the_panel() -> None:
    display = live()
    display.on_start(started())
    assert "the first figures come after some updates" in "".join(panel(display))
    display.on_report(report(2000))
    display.on_validation(validation(1000, bleu=20.0))
    display.on_validation(validation(1500, bleu=39.0))
    display.on_validation(validation(2000, bleu=38.2))
    lines = panel(display)
    assert lines[0].startswith("╭─ runs/en-de ─")
    assert "update 2,000 of 8,000   epoch 5 " in lines[1]
    assert "elapsed 16:40   left 50:00" in lines[1]
    assert lines[2].count("━") == 22  # a quarter of 88
    assert "25%" in lines[2]
    assert lines[4].split() == [
        "│",
        "loss",
        "perplexity",
        "tokens/s",
        "padding",
        "learning",
        "rate",
        "gradient",
        "│",
    ]
    assert lines[5].split() == ["│", "2.314", "6.11", "6,120", "3.1%", "0.0012", "0.83", "│"]
    assert "BLEU ▁██ 38.2   best 39.0 at update 1,500" in lines[7]
    assert len(lines) == 9
    display.close()


def test_labels_stand_above_their_values() -> None:
    display = live(80)
    display.on_report(report(20, perplexity=1234567.0))
    labels, values = panel(display)[4:6]
    for label, value in [
        ("loss", "2.314"),
        ("perplexity", "1,234,567"),
        ("padding", "3.1%"),
        ("gradient", "0.83"),
    ]:
        assert labels.index(label) == values.index(value)


@pytest.mark.parametrize("width", [20, 30, 50, 80, 100, 200])
def test_the_panel_fits(width: int) -> None:
    display = live(width)
    display.on_start(started(output="runs/" + "雪" * 80))
    display.on_report(report(123_456, tokens_per_second=999_999.0, eta_seconds=999_999.0))
    display.on_validation(validation())
    lines = panel(display)
    assert len(lines) == 9
    assert {cell_len(line) for line in lines} == {min(width - 2, 100)}  # room for an echoed ^C
    display.close()


def test_the_clock_and_the_bar_run_on_between_reports() -> None:
    display = live()
    clock = display.clock
    assert isinstance(clock, Clock)
    display.on_start(started())
    display.on_report(report(1000))
    display.on_report(report(1020))  # ten seconds later: two updates a second
    clock.now += 5
    line = panel(display)[1]
    assert "update 1,030 of 8,000" in line
    assert "elapsed 8:35   left 58:05" in line
    clock.now += 1e6
    line = panel(display)[1]
    assert "update 8,000 of 8,000" in line
    assert "left 0:00" in line
    display.on_finish(finished(step=1030))
    assert "100%" in panel(display)[2]
    display.close()


def test_without_validation_text_the_curve_is_absent_and_without_bleu_it_is_of_the_loss() -> None:
    display = live()
    display.on_validation(validation(loss=None, perplexity=None, bleu=None, samples=()))
    assert "loss" not in "".join(panel(display))
    display.on_validation(validation(1000, loss=2.0, bleu=None))
    display.on_validation(validation(1500, loss=1.5, bleu=None))
    assert "validation loss █▁ 1.500   best 1.500 at update 1,500" in "".join(panel(display))


def test_a_run_on_a_terminal() -> None:
    display = live()
    with display:
        display.on_start(started())
        display.on_report(report(500))
        display.on_validation(validation(500, elapsed=250.0))
        display.on_message("update 501 left out")
        display.on_finish(finished())
    text = written(display)
    for expected in (
        "28,961 pairs to learn from",
        "4:10",
        "Ein Mann fährt Rad.",
        "✓ ",
        "update 501 left out",
    ):
        assert expected in text
    assert "done: 8,000 updates in 58:20, the best at 7,500" in text
    assert text.count("Es schneit.") == 1  # equal to the reference, which is not repeated
    assert text.count("\x1b[?25l") == text.count("\x1b[?25h") == 1  # the cursor is hidden, and shown again
    assert not display.live.is_started
    display.on_report(report(8000))  # too late: draws nothing, harms nothing
    assert written(display) == text


def test_text_is_text() -> None:
    display = live()
    hostile = SampleTranslation(
        source="[bold]a[/]", hypothesis="x\x1b[2Jy [/nothing]", reference=":smile: [link=x]"
    )
    display.on_start(started(output="runs/[red]x[/]"))
    display.on_validation(validation(samples=(hostile,)))
    display.on_message("[blink]careful[/blink] [/]")
    text = written(display)
    assert "\x1b[2J" not in text
    for expected in (
        "[bold]a[/]",
        "x�[2Jy [/nothing]",
        ":smile: [link=x]",
        "[blink]careful[/blink] [/]",
        "[red]x[/]",
    ):
        assert expected in text
    assert display.instead is None
    display.close()


def test_an_error_gives_the_cursor_back() -> None:
    display = live()
    with pytest.raises(RuntimeError), display:
        display.on_start(started())
        raise RuntimeError
    assert "\x1b[?25h" in written(display)


def test_a_display_that_fails_goes_on_as_lines(monkeypatch) -> None:
    display = live()
    display.on_start(started())

    def broken(*_: object, **__: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(display, "_print", broken)
    display.on_message("one")
    display.on_message("two")
    assert isinstance(display.instead, Plain)
    assert "\x1b[?25h" in written(display)
    assert written(display).endswith("one\ntwo\n")


def test_a_display_that_missed_the_start_shows_the_rest() -> None:
    display = live()
    display.on_report(report(20))
    display.on_validation(validation(loss=None, perplexity=None, bleu=None, chrf=None))
    assert "update 20 " in panel(display)[1]
    display.on_finish(finished())
    assert "update 8,000 " in panel(display)[1]
    assert display.instead is None
    display.close()


@pytest.mark.thorough
@pytest.mark.skipif(sys.platform == "win32", reason="no pseudo-terminals")
def test_a_terminal_that_goes_away_stops_nothing() -> None:
    import pty

    code = """
import os, signal, sys
from dragoman.cli.display import Live, observer_for
from tests.cli.display.runs import started, report, validation, finished
signal.signal(signal.SIGHUP, signal.SIG_IGN)
display = observer_for()
assert isinstance(display, Live), display
with display:
    display.on_start(started())
    display.on_report(report(20))
    print("running", flush=True)
    sys.stdin.readline()
    for number in range(40, 100, 20):
        display.on_report(report(number))
        display.on_validation(validation(number))
    display.on_finish(finished())
print("survived", display.instead is not None, flush=True)
"""
    ours, theirs = pty.openpty()
    environment = {k: v for k, v in os.environ.items() if k not in ("NO_COLOR", "TTY_COMPATIBLE")}
    process = subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=theirs, text=True,
        env=environment | {"TERM": "xterm", "PYTHONUTF8": "1"},
    )  # fmt: skip
    os.close(theirs)
    assert process.stdin is not None
    assert process.stdout is not None
    assert process.stdout.readline() == "running\n"
    os.close(ours)
    answer, _ = process.communicate("go on\n", timeout=60)
    assert answer == "survived True\n"
    assert process.returncode == 0


# Which display


def test_a_terminal_gets_the_panel() -> None:
    display = observer_for(console())
    assert isinstance(display, Live)
    assert observer_for(console(), verbosity=1).samples > display.samples  # type: ignore[union-attr]


def test_no_color_takes_the_colours_only() -> None:
    screen = console(_environ={"NO_COLOR": "1", "TERM": "xterm-256color"})
    display = Live(screen, threaded=False)
    assert isinstance(observer_for(screen), Live)
    display.on_start(started())
    display.on_report(report())
    display.close()
    assert "\x1b[36m" not in written(display)
    colourful = live()
    colourful.on_start(started())
    colourful.on_report(report())
    colourful.close()
    assert "\x1b[36m" in written(colourful)


@pytest.mark.parametrize(
    "screen",
    [
        console(file=io.StringIO()),
        console(file=io.StringIO(), _environ={"FORCE_COLOR": "1", "TERM": "xterm"}),
        console(_environ={"TERM": "dumb"}),
        console(_environ={"TERM": "xterm", "TTY_INTERACTIVE": "0"}),
    ],
    ids=["file", "file with colours forced", "dumb", "not interactive"],
)
def test_elsewhere_there_are_lines(screen: Console) -> None:
    display = observer_for(screen)
    assert isinstance(display, Plain)
    assert display.stream is screen.file
    louder = observer_for(screen, verbosity=1)
    assert isinstance(louder, Plain)
    assert louder.every < display.every


def test_quiet() -> None:
    assert isinstance(observer_for(console(), verbosity=-1), Silent)


def test_a_terminal_without_blocks_gets_lines() -> None:
    class Old(Terminal):
        encoding = "ascii"

    assert isinstance(observer_for(console(file=Old())), Plain)


def test_standard_error_is_the_default(capsys) -> None:
    display = observer_for()
    display.on_message("a remark")
    assert capsys.readouterr() == ("", "a remark\n")


def test_all_are_observers() -> None:
    observers: list[Observer] = [Silent(), Plain(), live()]
    for name in ("on_start", "on_report", "on_validation", "on_message", "on_finish"):
        assert all(callable(getattr(observer, name)) for observer in observers)
