"""Many clients of all kinds at once: `benchmarks/serving.py load` with a saved model."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
from tests.serving.http.test_server import MODEL, ROOT

from dragoman.translation.native.build import unavailable

pytestmark = pytest.mark.skipif(unavailable() is not None, reason="no native engine here")


def load(*words: str, seconds: int) -> None:
    """Put load on a server. The script says what went wrong."""
    script = ROOT / "benchmarks" / "serving.py"
    command = [sys.executable, str(script), "load", "--model", str(MODEL), "--seconds", str(seconds), *words]
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src"), "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, env=environment, timeout=seconds + 300
    )
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.thorough
def test_no_answer_is_lost_or_wrong() -> None:
    load("--clients", "16", "--texts", "10", seconds=2)


@pytest.mark.slow
def test_none_is_lost_in_a_minute_with_64_clients() -> None:
    load("--clients", "64", "--texts", "100", seconds=60)
