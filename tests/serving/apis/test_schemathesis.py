"""schemathesis, which makes requests of a description, good and bad, finds nothing.

It is no dependency: it runs if the program is on the path, or named by SCHEMATHESIS.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from tests.serving.standin import running

PROGRAM = os.environ.get("SCHEMATHESIS") or shutil.which("schemathesis")
# Whether a pair of languages is served, or a file can be read, is nothing that a schema says.
LEFT_OUT = "positive_data_acceptance"


@pytest.mark.slow
@pytest.mark.skipif(PROGRAM is None, reason="schemathesis is not installed")
def test_schemathesis_finds_nothing(tmp_path: Path) -> None:
    with running(suggestions=True) as server:
        words = ["--checks", "all", "--exclude-checks", LEFT_OUT, "--phases", "coverage,fuzzing"]
        words += ["--max-examples", "10", "--seed", "1"]
        done = subprocess.run(
            [str(PROGRAM), "run", f"{server.url}/openapi.json", *words],
            cwd=tmp_path,  # it leaves files behind
            env={**os.environ, "NO_PROXY": "*", "NO_COLOR": "1"},
            capture_output=True,
            text=True,
            timeout=900,
            check=False,
        )

        assert done.returncode == 0, done.stdout[-8000:]
        assert "No issues found" in done.stdout
        assert server.state.in_flight == server.state.budget.held == 0
