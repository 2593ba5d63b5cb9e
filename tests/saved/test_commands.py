"""The command line accepts every command that README and docs of an earlier version show. Nothing is run."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

import pytest
import typer
from tests.saved.make_commands import accepts

from dragoman import cli

COMMANDS = Path(__file__).with_name("commands.txt").read_text("utf-8").splitlines()
# The beginning of a command that moved, and what its message says about where.
MOVED: dict[str, str] = {}


@pytest.fixture(scope="module")
def program() -> Any:
    return typer.main.get_command(cli.app)


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_is_accepted_or_says_where_it_went(
    program: Any, command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    where = [message for words, message in MOVED.items() if f"{command} ".startswith(f"{words} ")]

    accepted = accepts(program, shlex.split(command))

    said = capsys.readouterr().err
    assert accepted == (not where), said
    assert all(message in said for message in where)


def test_a_command_that_never_was_is_not_accepted(program: Any) -> None:
    for command in ("dragoman transalte MODEL", "dragoman translate", "dragoman translate MODEL --no-such"):
        assert not accepts(program, shlex.split(command))
