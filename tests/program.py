"""The `dragoman` program in this process: built once, run by its words."""

from __future__ import annotations

import io
import sys
from collections.abc import Sequence
from contextlib import redirect_stderr, redirect_stdout
from functools import cache
from typing import Any, NamedTuple
from unittest import mock

import typer

from dragoman import cli
from dragoman.cli.outcome import run


@cache
def program() -> Any:
    """The command line. To build its commands takes longer than most of them."""
    return typer.main.get_command(cli.app)


class Ended(NamedTuple):
    """How a command ended, with what it printed."""

    code: int
    out: str
    err: str


def run_dragoman(*words: object, stdin: bytes = b"") -> Ended:
    """Run a command line in this process, with standard streams in memory."""
    out, err = (io.TextIOWrapper(io.BytesIO(), "utf-8", newline="", write_through=True) for _ in range(2))
    with (
        mock.patch.object(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin))),
        redirect_stdout(out),
        redirect_stderr(err),
    ):
        code = run(program(), [str(word) for word in words])
    return Ended(code, *(_content(stream) for stream in (out, err)))


def _content(stream: io.TextIOWrapper) -> str:
    return stream.buffer.getvalue().decode()  # type: ignore[attr-defined]


def refusal(words: Sequence[str]) -> str:
    """Parse a command line and run nothing. Returns the message if it is refused, or nothing."""
    with mock.patch.object(typer.core.TyperCommand, "invoke", return_value=None):
        ended = run_dragoman(*words)
    return ended.err if ended.code else ""
