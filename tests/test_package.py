"""The public names of the package."""

from __future__ import annotations

import pickle
import subprocess
import sys
import traceback

import pytest
import typer

import dragoman
from dragoman import cli
from dragoman.cli.outcome import run


def test_the_public_names_are_sorted_and_exist() -> None:
    assert dragoman.__all__ == sorted(dragoman.__all__)
    for name in dragoman.__all__:
        assert getattr(dragoman, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'translate'"):
        dragoman.translate  # type: ignore[attr-defined]  # noqa: B018


@pytest.mark.thorough
def test_importing_the_package_imports_no_torch() -> None:
    code = "import sys, dragoman; dir(dragoman); dragoman.Translator; assert 'torch' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


def test_dir_shows_what_is_public() -> None:
    assert dir(dragoman) == dragoman.__all__


def test_an_error_shows_its_hint_in_a_traceback() -> None:
    """As a notebook prints it. It survives the way from another process."""
    error = dragoman.DataError("a.en:3: no text", hint="delete the line")
    for one in (error, pickle.loads(pickle.dumps(error))):  # noqa: S301
        shown = "".join(traceback.format_exception(one))
        assert shown.endswith("DataError: a.en:3: no text\nhint: delete the line\n")
    assert "hint" not in "".join(traceback.format_exception(dragoman.ConfigError("no beam")))


@pytest.mark.parametrize("debug", [[], ["--debug"]])
def test_the_command_line_prints_a_hint_once(debug: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert run(typer.main.get_command(cli.app), ["translate", "nowhere", *debug]) == 4
    lines = capsys.readouterr().err.splitlines()
    assert [line.startswith("error:") for line in lines[-2:]] == [True, False]
    assert sum("hint:" in line for line in lines) == 1


def test_the_errors_are_the_base_and_its_kinds() -> None:
    kinds = dragoman.ConfigError, dragoman.DataError, dragoman.ModelError, dragoman.TrainingError
    assert all(issubclass(kind, dragoman.DragomanError) for kind in kinds)
