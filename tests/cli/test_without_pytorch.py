"""The command line where PyTorch is not installed: what works, and the one line for what does not."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from dragoman.translation.native.build import unavailable

SAVED = Path(__file__).parents[1] / "saved" / "0.1"
TEXT = SAVED / "text"
TRANSFORMER, RECURRENT = str(SAVED / "transformer"), str(SAVED / "recurrent")
EN, DE = str(TEXT / "test.en"), str(TEXT / "test.de")
HINT = "hint: pip install 'dragoman[train]'"

# Imports of the extra fail as they do where it is not installed.
BLOCKED = """
import sys

class Blocker:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] == "torch":
            raise ModuleNotFoundError(f"No module named {name!r}", name="torch")

sys.meta_path.insert(0, Blocker())
"""
RUN = """
import contextlib, io, json
from dragoman.cli import main
ended = []
for words in json.loads(sys.stdin.read()):
    sys.argv, out, err = ["dragoman", *words], io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            main()
        except SystemExit as done:
            ended.append((done.code, out.getvalue(), err.getvalue()))
print(json.dumps(ended))
"""


def python(code: str, *, text: str = "", folder: Path) -> Any:
    result = subprocess.run(
        [sys.executable, "-c", BLOCKED + code], input=text, cwd=folder, capture_output=True, text=True,
        encoding="utf-8", timeout=300, check=False, env=os.environ,
    )  # fmt: skip
    assert result.returncode == 0, result.stderr
    return json.loads(result.stdout)


@pytest.mark.thorough
def test_commands_that_need_it_say_so(tmp_path: Path) -> None:
    """One line and a hint, not a traceback."""
    train = [str(TEXT / "train.en"), str(TEXT / "train.de"), "-o", "out"]
    needing = {
        "training": [["train", *train], ["demo"], ["demo", "-o", "other"]],
        "inspecting": [["inspect", TRANSFORMER, "A dog."]],
        "dragoman positions": [["positions", "-o", "positions.svg"]],
        "dragoman export": [["export", TRANSFORMER, "--to", "onnx", "-o", "exported"]],
        "dragoman import": [["import", TRANSFORMER, "-o", "imported"]],
        "dragoman model": [
            ["model", "verify", TRANSFORMER],
            ["model", "diff", TRANSFORMER, TRANSFORMER],
            ["model", "average", TRANSFORMER, TRANSFORMER, "-o", "mean"],
        ],
        f"{RECURRENT}: translating without the native engine (it has no recurrent models)": [
            ["translate", RECURRENT, EN],
            ["evaluate", RECURRENT, EN, DE],
        ],
    }
    words = [command for commands in needing.values() for command in commands]

    ended = python(RUN, text=json.dumps(words), folder=tmp_path)

    expected = [f"error: {what} needs PyTorch\n{HINT}\n" for what in needing for _ in needing[what]]
    assert [(code, out, err) for code, out, err in ended] == [(2, "", err) for err in expected]
    assert list(tmp_path.iterdir()) == []


@pytest.mark.thorough
def test_the_rest_works(tmp_path: Path) -> None:
    reason = unavailable()
    needs_engine = [["translate", TRANSFORMER, EN], ["evaluate", TRANSFORMER, EN, DE]]
    words = [
        ["score", DE, DE], ["config"], ["model", "info", TRANSFORMER], ["doctor"],
        *(needs_engine if reason is None else []),
    ]  # fmt: skip

    ended = python(RUN, text=json.dumps(words), folder=tmp_path)

    codes = {" ".join(command[:2]): code for command, (code, *_) in zip(words, ended, strict=True)}
    assert codes.pop("doctor") == (0 if reason is None else 1)
    assert set(codes.values()) == {0}, ended


@pytest.mark.thorough
def test_the_python_interface_says_so(tmp_path: Path) -> None:
    code = f"""
import json
import dragoman
from dragoman.base.errors import ConfigError
said = []
for use in (
    lambda: dragoman.train([("a", "b")], output="out"),
    lambda: dragoman.Translator.load({TRANSFORMER!r}, engine="pytorch"),
    lambda: dragoman.Translator.load({RECURRENT!r}),
):
    try:
        use()
    except ConfigError as error:
        said.append([str(error), error.hint])
print(json.dumps(said))
"""
    errors = python(code, folder=tmp_path)

    assert len(errors) == 3
    assert errors[0][0] == "training needs PyTorch"
    assert all(message.endswith("needs PyTorch") and hint in HINT for message, hint in errors)


@pytest.mark.thorough
@pytest.mark.skipif(unavailable() is not None, reason="no native engine here")
def test_looking_into_a_model_says_so(tmp_path: Path) -> None:
    code = f"""
import json
import dragoman
from dragoman.base.errors import ConfigError
translator = dragoman.Translator.load({TRANSFORMER!r})
said = []
for use in (
    lambda: translator.bundle,
    lambda: translator.inspect("A dog."),
):
    try:
        use()
    except ConfigError as error:
        said.append(str(error))
print(json.dumps(said))
"""
    assert python(code, folder=tmp_path) == [
        f"{TRANSFORMER}: looking into the model needs PyTorch",
        "inspecting needs PyTorch",
    ]
