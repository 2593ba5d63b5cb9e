"""Ctrl-C at any moment of a start ends in a message, never in a traceback."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import pytest

PROGRAM = """
import os, signal, sys
from dragoman.__main__ import main

class Interrupting:  # as if the user pressed Ctrl-C while `NAME` is imported
    def find_spec(self, name, path=None, target=None):
        if name == NAME:
            os.kill(os.getpid(), signal.SIGINT)

sys.meta_path.insert(0, Interrupting())
sys.argv = ["dragoman", "translate", "--help"]
main()
"""


@pytest.mark.parametrize(
    "name", ["dragoman.cli", "typer", "dragoman.cli.outcome", "dragoman.cli.translate.translate"]
)
def test_ctrl_c_while_importing(name: str) -> None:
    ended = subprocess.run(
        [sys.executable, "-c", PROGRAM.replace("NAME", repr(name))], capture_output=True, timeout=120
    )

    assert (ended.returncode, ended.stderr) == (130, b"error: interrupted\n")


def test_who_ignores_ctrl_c_goes_on() -> None:
    program = PROGRAM.replace("NAME", "'typer'")
    ended = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, timeout=120,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_IGN),
    )  # fmt: skip

    assert (ended.returncode, ended.stderr) == (0, b"")
    assert ended.stdout.startswith(b"Usage: dragoman translate")


def test_a_command_raises_again() -> None:
    """So that its half-written files are removed."""
    program = "import signal; from dragoman.base import ctrl_c_at_start as start; "
    program += "start.end_at_once(); start.raise_interrupts(); "
    program += "assert signal.getsignal(signal.SIGINT) is signal.default_int_handler"
    subprocess.run([sys.executable, "-c", program], check=True, timeout=120, env=os.environ)
