"""The command line accepts every command that README and docs of an earlier version show. Nothing is run."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest
from tests.program import refusal

COMMANDS = Path(__file__).with_name("commands.txt").read_text("utf-8").splitlines()
# The beginning of a command that moved, and what its message says about where.
MOVED: dict[str, str] = {}


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_is_accepted_or_says_where_it_went(command: str) -> None:
    where = [message for words, message in MOVED.items() if f"{command} ".startswith(f"{words} ")]

    message = refusal(shlex.split(command)[1:])

    assert bool(message) == bool(where), message
    assert all(words in message for words in where)


def test_a_command_that_never_was_is_refused() -> None:
    for words in (["transalte", "MODEL"], ["translate"], ["translate", "MODEL", "--no-such"]):
        assert refusal(words)
