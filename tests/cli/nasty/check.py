"""Runs a row, and checks what holds for every row."""

from __future__ import annotations

import io
import json
import re
import resource
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from tests.cli.nasty.row import Row
from tests.program import program

from dragoman.cli.outcome import run

CODES = {0, 1, 2, 3, 4, 5}  # those of the help; 130 and others are of signals
SECONDS = 120  # only against hanging
GROWTH = 512  # MB that a row may add to the largest size of the process
_OURS = re.compile(r"Traceback|unexpected \w+:|bug in dragoman|fault of dragoman")
# What a terminal would obey, and what would tear the message apart.
_FORBIDDEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
# A run that stopped before its first checkpoint leaves its recipe; other options may follow.
_BEGUN = {"out", "out/training.toml", "out/checkpoints", "out/checkpoints/lock"}
_UNFINISHED = (".unfinished", ".unfinished.json", ".unfinished.jsonl")

# Drops the capabilities with which root ignores permissions, and limits the processor time and the memory.
_LAUNCHER = """
import ctypes, os, resource, sys
if os.geteuid() == 0:
    for capability in (1, 2):
        ctypes.CDLL(None).prctl(24, capability, 0, 0, 0)
resource.setrlimit(resource.RLIMIT_CPU, (60, 60))
resource.setrlimit(resource.RLIMIT_AS, (4 << 30, 4 << 30))
os.execv(sys.executable, [sys.executable, "-m", "dragoman", *sys.argv[1:]])
"""


class Ended(NamedTuple):
    """How a command ended."""

    code: int
    out: bytes
    err: bytes


def run_inside(row: Row, model: Path, capture: Any, patch: pytest.MonkeyPatch) -> Ended:
    """Run a row in this process."""
    patch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(row.stdin)))
    capture.readouterr()
    before = _megabytes()
    with _in_time():
        code = run(program(), row.words(model))
    assert _megabytes() - before < GROWTH
    return Ended(code, *capture.readouterr())


def run_outside(row: Row, folder: Path, model: Path) -> Ended:
    """Run a row as a process of its own, with limits on time and memory."""
    ended = subprocess.run(
        [sys.executable, "-I", "-c", _LAUNCHER, *row.words(model)],
        input=row.stdin,
        capture_output=True,
        cwd=folder,
        timeout=SECONDS,
        check=False,
    )
    return Ended(ended.returncode, ended.stdout, ended.stderr)


def check(row: Row, ended: Ended, folder: Path, before: dict[str, bytes | None]) -> None:
    """Check the outcome of a row, and what holds for all rows."""
    err = ended.err.decode()
    assert not _OURS.search(err), err
    assert ended.code in CODES
    assert ended.code == row.code, err
    assert row.message in (ended.out.decode() if row.form == "report" else err), err
    assert not _FORBIDDEN.search(err), repr(err)
    assert len(err.splitlines()) <= (8 if row.code else 30), err
    assert all(len(line) < 700 for line in err.splitlines()), err
    after = content_of(folder)
    assert not [name for name in after if name.endswith(".part")], "a half-written file"
    assert before.items() <= {name: after.get(name, b"gone") for name in before}.items(), (
        "an input has changed"
    )
    if row.form == "report":
        assert set(after) == set(before)
    elif row.code:
        _check_refusal(row, ended.out, err)
        after = {
            name: after[name] for name in after if row.form != "partial" or name.split("/")[0] != row.writes
        }
        assert {name for name in after if not name.endswith(_UNFINISHED)} - (_BEGUN - set(before)) == set(
            before
        )
    else:
        _check_output(row, ended.out, folder)


def _check_refusal(row: Row, out: bytes, err: str) -> None:
    assert out == b"" or row.form == "partial"
    errors = [line for line in err.splitlines() if line.startswith("error: ")]
    assert errors, err
    assert row.named in "".join(errors), err
    assert err.splitlines()[-1].startswith("hint: "), err


def _check_output(row: Row, data: bytes, folder: Path) -> None:
    if row.writes:
        path = folder / row.writes
        assert path.exists()
        data = path.read_bytes() if path.is_file() else b""
    if row.form in ("any", "partial"):
        return
    out = data.decode()
    if row.form == "json":
        json.loads(out)
        return
    lines = out.split("\n")
    last = lines.pop()
    if row.form == "jsonl":
        tables = [json.loads(line) for line in lines]
        assert last == ""
        assert row.lines is None or len(tables) == row.lines
        return
    assert row.lines is not None
    assert last == "" or not row.ends
    assert len(lines) == row.lines - (not row.ends)


def content_of(folder: Path) -> dict[str, bytes | None]:
    """All that is in a folder: the bytes of files, None for everything else."""
    return {
        str(path.relative_to(folder)): path.read_bytes() if path.is_file() else None
        for path in sorted(folder.rglob("*"))
    }


def _megabytes() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


@contextmanager
def _in_time() -> Iterator[None]:
    def stop(*_: object) -> None:
        raise TimeoutError(f"not at its end after {SECONDS} s")

    old = signal.signal(signal.SIGALRM, stop)
    signal.alarm(SECONDS)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, old)
