"""Consoles and pipes of Windows, simulated."""

from __future__ import annotations

import io
import signal
import sys
from pathlib import Path

import pytest
from tests.program import program

from dragoman.base.errors import Interrupted
from dragoman.cli import outcome
from dragoman.cli.outcome import run
from dragoman.cli.train.train import training


class Console(io.TextIOWrapper):
    """A terminal with an encoding of its own."""

    def __init__(self, encoding: str) -> None:
        super().__init__(io.BytesIO(), encoding=encoding, newline="\r\n")

    def isatty(self) -> bool:
        return True

    def shown(self) -> str:
        self.flush()
        return self.buffer.getvalue().decode(self.encoding)  # type: ignore[attr-defined]


def test_a_console_without_a_letter_shows_its_number(monkeypatch: pytest.MonkeyPatch) -> None:
    console = Console("cp1252")
    monkeypatch.setattr(sys, "stderr", console)
    outcome._use_utf8()
    outcome._say("error", "дом: exists already", "31")

    assert "\\u0434\\u043e\\u043c: exists already" in console.shown()


def test_a_pipe_gets_utf8_and_plain_line_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    pipe = io.TextIOWrapper(io.BytesIO(), encoding="cp1252", newline="\r\n")
    monkeypatch.setattr(sys, "stdout", pipe)
    outcome._use_utf8()
    print("дом", file=sys.stdout, flush=True)

    assert pipe.buffer.getvalue() == "дом\n".encode()  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("system", "terminal", "coloured"), [("linux", "", True), ("win32", "", False), ("win32", "x", True)]
)
def test_old_consoles_of_windows_get_no_colours(
    monkeypatch: pytest.MonkeyPatch, system: str, terminal: str, coloured: bool
) -> None:
    console = Console("utf-8")
    monkeypatch.setattr(sys, "stderr", console)
    monkeypatch.setattr(sys, "platform", system)
    for name in ("NO_COLOR", "TERM", "WT_SESSION"):
        monkeypatch.delenv(name, raising=False)
    if terminal:
        monkeypatch.setenv("WT_SESSION", terminal)
    outcome._say("error", "no such file", "31")

    assert ("\033[" in console.shown()) == coloured


def test_a_stop_after_the_last_update_is_not_forgotten(tmp_path: Path) -> None:
    with pytest.raises(Interrupted) as caught, training(tmp_path, verbosity=0) as (_, stopper):
        stopper.signal = signal.SIGTERM
    assert caught.value.exit_code == 143


def test_the_help_of_a_group_may_meet_a_closed_pipe(monkeypatch: pytest.MonkeyPatch) -> None:
    class Closed(io.StringIO):
        def write(self, _: str) -> int:
            raise BrokenPipeError

    monkeypatch.setattr("sys.stdout", Closed())
    assert run(program(), ["data"]) == 0
