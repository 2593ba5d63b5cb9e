"""Training that is killed at random moments ends as an uninterrupted run, bit for bit."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

KILLS = Path(__file__).parents[2] / "benchmarks" / "kills.py"

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs forks")


def killed(*words: str) -> str:
    """What the script prints. It runs by itself: forks of a process with threads may hang."""
    done = subprocess.run([sys.executable, KILLS, *words], capture_output=True, text=True, timeout=3000)
    assert done.returncode == 0, done.stderr
    return done.stdout


def seconds(table: str, kind: str) -> tuple[float, float]:
    """What a kind took, and what the simulation gives."""
    (line,) = re.findall(rf"^{kind} .*", table, re.MULTILINE)
    measured, computed = line.split()[-2:]
    return float(measured), float(computed)


@pytest.mark.slow
def test_a_few_kills() -> None:
    table = killed("--kills", "10", "--processes", "1")

    assert "10 kills, seed 1" in table
    measured, computed = seconds(table, "clock")
    assert computed == pytest.approx(measured, rel=0.6)  # the machine may be busy with other tests


@pytest.mark.slow
def test_many_kills() -> None:
    table = killed("--kills", "100", "--processes", "5", "--seed", "2")

    for phase in ("tokenised", "trained", "wrote a checkpoint", "wrote the model"):
        assert phase in table
    measured, computed = seconds(table, "clock")
    assert computed == pytest.approx(measured, rel=0.4)
