"""What the tests of the command line share."""

from __future__ import annotations

import io
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from dragoman import cli


@dataclass
class Ended:
    code: int
    out: str
    err: str


@pytest.fixture
def dragoman_(capsysbinary, monkeypatch):
    """Runs a command line in this process."""

    def called(*words: str | Path, stdin: bytes = b"") -> Ended:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin)))
        capsysbinary.readouterr()
        code = cli.run([str(word) for word in words])
        out, err = capsysbinary.readouterr()
        return Ended(code, out.decode(), err.decode())

    return called
