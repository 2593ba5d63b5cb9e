"""The scripts of `benchmarks/`: they start, they explain themselves, and what they patch is there."""

from __future__ import annotations

import importlib.util
import re
import runpy
import sys
from pathlib import Path
from types import ModuleType

import pytest

SCRIPTS = sorted((Path(__file__).parents[2] / "benchmarks").glob("*.py"))


def load(path: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"benchmark_{path.stem}", path)
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, spec.name, module)  # dataclasses look it up
    spec.loader.exec_module(module)
    return module


def test_there_are_some() -> None:
    names = (
        "alignment bulk complexity context corpora cost data_scale distillation faults general general_text"
        " gold goodput hardening kills languages memory overheads pages pairs phrases pieces planning planted"
        " precisions processes quality recompute risk scaling sentences serving start terms time_to_quality"
        " training_speed translation_speed tuning update_profile"
    )
    assert [path.stem for path in SCRIPTS] == names.split()


@pytest.mark.thorough
@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.stem)
def test_they_explain_themselves(
    path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The docstring gives the commands and what they print; every option that it names exists."""
    monkeypatch.syspath_prepend(path.parent)
    text, name = load(path, monkeypatch).__doc__ or "", f"python benchmarks/{path.name}"
    commands = re.findall(rf"^    ({name}.*(?:\n        .*)*)", text, re.MULTILINE)

    assert commands
    assert "Prints " in text
    for command in commands:
        first, *words = re.sub(r"[][]", " ", command.removeprefix(name)).split()
        subcommand = [first] if first.islower() and not first.startswith("-") else []
        monkeypatch.setattr(sys, "argv", [str(path), *subcommand, "--help"])
        with pytest.raises(SystemExit) as ended:
            runpy.run_path(str(path), run_name="__main__")
        assert not ended.value.code
        shown = capsys.readouterr().out
        for word in words:
            assert not word.startswith("--") or word in shown


def test_every_piece_can_be_taken_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each variant replaces things that exist, and puts them back."""
    import torch

    from dragoman.models.layers import dropout

    pieces = load(next(path for path in SCRIPTS if path.stem == "pieces"), monkeypatch)
    before = dropout.dropout, torch.optim.AdamW
    for variant in pieces.VARIANTS.values():
        with variant.inside():
            pass
    assert (dropout.dropout, torch.optim.AdamW) == before
    assert pieces.WHOLE in pieces.VARIANTS
