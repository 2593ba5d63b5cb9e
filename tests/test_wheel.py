"""The wheel: built with the engine inside, it translates without PyTorch and without a compiler."""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
import venv
import zipfile
from pathlib import Path

import pytest

from dragoman.base.compiler import CompilerError, find_compiler
from dragoman.translation.translator import Translator

pytest.importorskip("hatchling")
pytestmark = pytest.mark.slow
ROOT = Path(__file__).parents[1]
SAVED = ROOT / "tests" / "saved" / "0.1"
MODEL, TEXT = SAVED / "transformer", SAVED / "text" / "test.en"


def built(folder: Path, path: str | None = None, tag: str = "") -> Path:
    """The wheel of this checkout, for a platform or this machine.

    `path` takes the place of PATH, and then the package ziglang is hidden.
    """
    environment = os.environ | {"DRAGOMAN_WHEEL": tag} | ({} if path is None else {"PATH": path, "CXX": ""})
    hide = "" if path is None else "sys.modules['ziglang'] = None; "
    start = f"import runpy, sys; {hide}runpy.run_module('hatchling', run_name='__main__', alter_sys=True)"
    command = [sys.executable, "-c", start, "build", "-t", "wheel", "-d", str(folder)]
    subprocess.run(command, cwd=ROOT, env=environment, check=True, timeout=3000)
    (wheel,) = folder.iterdir()
    return wheel


@pytest.mark.thorough
# The second is one of the wheels of `make wheels`.
@pytest.mark.parametrize("tag", ["", "manylinux_2_17_x86_64.manylinux2014_x86_64"])
def test_it_translates_in_an_empty_environment(tmp_path: Path, tag: str) -> None:
    try:
        find_compiler("CXX", ("c++", "g++", "clang++"))
    except CompilerError:
        pytest.skip("no C++ compiler here")
    if tag:
        pytest.importorskip("ziglang")
        if (sys.platform, platform.machine()) != ("linux", "x86_64"):
            pytest.skip("the wheel is for another platform")
    wheel = built(tmp_path / "dist", tag=tag)
    assert tag in wheel.name
    assert "-py3-none-" in wheel.name
    assert "-any" not in wheel.name
    venv.create(tmp_path / "venv", with_pip=True)
    python = next(tmp_path.glob("venv/[bS]*/python*"))
    alone = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    subprocess.run([python, "-m", "pip", "install", "-q", str(wheel)], env=alone, check=True, timeout=600)
    # No compiler, no cache, and nothing of this checkout.
    bare = {"PATH": str(tmp_path), "HOME": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path / "cache")}

    def run(*words: str, text: str = "") -> str:
        return subprocess.run(
            [python, *words], input=text, cwd=tmp_path, env=bare, capture_output=True, text=True,
            encoding="utf-8", check=True, timeout=120,
        ).stdout  # fmt: skip

    assert run("-c", "import importlib.util; print(importlib.util.find_spec('torch'))").strip() == "None"
    text = TEXT.read_text(encoding="utf-8")
    translated = run("-m", "dragoman", "translate", str(MODEL), text=text)
    findings = {row["name"]: row for row in json.loads(run("-m", "dragoman", "doctor", "--json"))}

    assert not (tmp_path / "cache").exists()
    expected = Translator.load(MODEL, engine="pytorch").translate(text.splitlines())
    assert translated.splitlines() == [translation.text for translation in expected]
    assert findings["native engine"]["data"]["available"]


@pytest.mark.thorough
def test_without_a_compiler_it_has_no_engine(tmp_path: Path) -> None:
    wheel = built(tmp_path / "dist", path=str(tmp_path))

    assert wheel.name.endswith("-py3-none-any.whl")


@pytest.mark.thorough
def test_it_has_the_pages(tmp_path: Path) -> None:
    with zipfile.ZipFile(built(tmp_path / "dist", path=str(tmp_path))) as wheel:
        names = {*wheel.namelist()}

    source = ROOT / "src"
    rooms = ("dragoman/serving/web", "dragoman/inspection/views/page")
    pages = [path for room in rooms for path in (source / room).rglob("*") if path.is_file()]
    assert len(pages) > 40
    assert {path.relative_to(source).as_posix() for path in pages} <= names
