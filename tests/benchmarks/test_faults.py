"""A damaged file ends in an error, a warning or the same result, never in another result without a word."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

FAULTS = Path(__file__).parents[2] / "benchmarks" / "faults.py"

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="needs limits of resources")


def faults(*words: str) -> str:
    """What the script prints."""
    done = subprocess.run([sys.executable, FAULTS, *words], capture_output=True, text=True, timeout=3000)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.slow
def test_some_faults() -> None:
    assert "\n0 of 25 ended badly" in faults("--cases", "25")


@pytest.mark.slow
def test_many_faults() -> None:
    table = faults("--cases", "300", "--seed", "2")

    assert "\n0 of 300 ended badly" in table
    errors = [int(count) for count in re.findall(r"^flip +translate +\d+ +(\d+)", table, re.MULTILINE)]
    assert errors[0] > 0  # digests are looked at
