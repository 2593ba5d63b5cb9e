"""The command line accepts every command that README and docs of an earlier version show. Nothing is run."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest
from tests.program import refusal

COMMANDS = Path(__file__).with_name("commands.txt").read_text("utf-8").splitlines()


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_is_accepted(command: str) -> None:
    """Also those of `dragoman bench` that only say where they went: tests/cli/test_bench.py runs them."""
    assert refusal(shlex.split(command)[1:]) == ""


def test_a_command_that_never_was_is_refused() -> None:
    for words in (["transalte", "MODEL"], ["translate"], ["translate", "MODEL", "--no-such"]):
        assert refusal(words)
