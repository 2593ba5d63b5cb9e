"""The drivers of other toolkits and their environments: pinned, apart from the package."""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from peers import install
from peers.install import DRIVERS, python_of
from training import contenders

from dragoman.base.errors import ConfigError

SCRIPT = install


def test_every_environment_is_pinned() -> None:
    """Whatever a contender runs in can be installed, and torch is the one that is measured everywhere."""
    requirements = install.requirements()
    assert {one.environment for one in contenders.CONTENDERS} - {""} == set(requirements)
    for path in requirements.values():
        lines = path.read_text(encoding="utf-8").split()
        assert all("==" in line for line in lines), path
        assert "torch==2.13.0" in lines or path.stem == "marian"  # which is a program of its own
    for one in contenders.CONTENDERS:
        assert bool(one.file) == bool(one.environment)
        assert not one.file or (DRIVERS / one.file).exists()


def test_drivers_import_nothing_of_ours_but_the_clock() -> None:
    importers = {
        path.name
        for path in DRIVERS.glob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.ImportFrom | ast.Import) and "dragoman" in ast.unparse(node)
    }

    assert importers == {"timing.py", "install.py"}


def test_the_clock_needs_only_numpy() -> None:
    """As in an environment without dragoman, whose source the drivers find by its place."""
    code = "import sys, timing; print(sorted({n.partition('.')[0] for n in sys.modules}))"
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=DRIVERS, env=environment, capture_output=True, text=True, check=True
    )
    third = set(ast.literal_eval(done.stdout)) - set(sys.stdlib_module_names)

    assert not third & {"torch", "rich", "typer", "sentencepiece", "sacrebleu", "safetensors"}
    assert {"numpy", "dragoman"} <= third


def test_a_toolkit_s_speed_is_read_from_its_log(tmp_path: Path) -> None:
    """The median after the warm-up, in tokens; the memory of the toolkit, not of its driver."""
    log = "x = bytearray(200_000_000)\nfor speed in ('1', '1,000', '3', '2,000'): print(f'{speed} units/s')"
    code = f"""
from types import SimpleNamespace
import sys
from toolkit import report
options = SimpleNamespace(warm=1)
report(options, [sys.executable, "-c", {log!r}], r"([\\d.,]+) units/s", "numpy", tokens=2.0)
report(options, [sys.executable, "-c", "print('oh dear')"], "([0-9]+) units/s", "numpy")
"""
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=DRIVERS, capture_output=True, text=True, check=False
    )
    facts = json.loads(done.stdout)

    assert facts["tokens_per_second"] == 2000
    assert facts["peak_memory"] > 200_000_000
    assert facts["version"].startswith("numpy ")
    assert done.returncode == 1
    assert done.stderr == "no speed in the log of numpy: oh dear\n"


def test_an_environment_that_cannot_be_made_does_not_exist(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))

    def fail(command: list[str], **_: object) -> None:
        if "pip" in command:
            raise subprocess.CalledProcessError(1, command)
        python_of("huggingface").parent.mkdir(parents=True)
        python_of("huggingface").touch()

    monkeypatch.setattr(subprocess, "run", fail)
    with pytest.raises(ConfigError, match="huggingface cannot be installed"):
        install.install("huggingface")
    assert not python_of("huggingface").exists()


def test_they_are_listed(
    script_: Callable[..., Any], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    abacus = tmp_path / "abacus.txt"
    abacus.write_text("beads==1.0\nwire==2\n", encoding="utf-8")
    monkeypatch.setattr(install, "requirements", lambda: {"abacus": abacus})

    assert script_().out.split() == ["abacus", "not", "installed", "beads==1.0,", "wire==2"]


def test_an_unknown_toolkit(script_: Callable[..., Any]) -> None:
    ended = script_("hugo")

    assert (ended.code, "error: unknown environment hugo" in ended.err) == (2, True)
    assert "hint: choose among: eole, huggingface" in ended.err
