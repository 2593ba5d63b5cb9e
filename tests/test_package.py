"""The public names of the package."""

from __future__ import annotations

import pickle
import re
import subprocess
import sys
import traceback
from importlib.metadata import PackageNotFoundError, metadata
from pathlib import Path

import pytest
import typer
from packaging.specifiers import SpecifierSet

import dragoman
from dragoman import cli
from dragoman.cli.outcome import run
from dragoman.version import INSTALL


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


def test_the_pinned_versions_install_on_the_oldest_python() -> None:
    """A pin that needs 3.11.5 refuses the Python 3.11.2 of Debian 12, and the error names another package."""
    text = (Path(__file__).parents[1] / "constraints.txt").read_text(encoding="utf-8")
    pins = re.findall(r"^([\w.-]+)==", text, re.MULTILINE)
    newer = {}
    for name in pins:
        try:
            needs = metadata(name)["Requires-Python"]
        except PackageNotFoundError:  # of another platform
            continue
        if needs and not SpecifierSet(needs).contains("3.11.0"):
            newer[name] = needs
    assert len(pins) > 100
    assert not newer


def test_the_docs_install_what_there_is_to_install() -> None:
    """A machine without dragoman cannot install an extra by its name while no index has a release."""
    root = Path(__file__).parents[1]
    first = {
        "README.md": {INSTALL},
        "docs/how-to/install.md": {INSTALL, f"{INSTALL}[train]", f"{INSTALL}[serve]"},
        "docs/how-to/deploy.md": {f"{INSTALL}[serve]"},
    }
    for name, expected in first.items():
        named = set(
            re.findall(r"pip install '?((?:\.|dragoman)(?:\[[\w,]+\])?)['`\s]", (root / name).read_text())
        )
        assert expected <= named, name
    for page in [root / "README.md", *(root / "docs").rglob("*.md")]:
        if INSTALL != "dragoman":
            assert not re.search(r"pip install dragoman(?![\w.-]*\.whl|-)", page.read_text()), page
