"""What the tests of scripts share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import pytest
import typer

from dragoman.cli.outcome import run


class Ended(NamedTuple):
    code: int
    out: str
    err: str


@pytest.fixture
def script_(capsys: pytest.CaptureFixture[str], request: pytest.FixtureRequest) -> Callable[..., Ended]:
    """Runs the command line of the script that the tested file names as SCRIPT, in this process."""
    app = request.module.SCRIPT.app

    def called(*words: Any) -> Ended:
        capsys.readouterr()
        code = run(typer.main.get_command(app), [str(word) for word in words])
        return Ended(code, *capsys.readouterr())

    return called
