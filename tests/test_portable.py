"""What Windows and macOS lack or do otherwise, found by reading the source."""

from __future__ import annotations

import ast
import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
pytestmark = pytest.mark.thorough  # reads all modules
FILES = sorted((ROOT / "src").rglob("*.py"))
# Modules of POSIX alone. A module of ours that imports one when it is loaded cannot be loaded on Windows.
POSIX = {"fcntl", "grp", "posix", "pty", "pwd", "resource", "syslog", "termios", "tty"}
WORDS = r"(con|prn|aux|nul|com\d|lpt\d)(\.|$)"  # names of devices, with any ending


@pytest.fixture(scope="module")
def trees() -> dict[Path, ast.Module]:
    return {path: ast.parse(path.read_text(encoding="utf-8")) for path in FILES}


def test_modules_of_posix_alone_are_imported_where_they_are_used(trees: dict[Path, ast.Module]) -> None:
    for path, tree in trees.items():
        names = [alias.name for node in tree.body if isinstance(node, ast.Import) for alias in node.names]
        names += [node.module or "" for node in tree.body if isinstance(node, ast.ImportFrom)]
        assert not POSIX & {*names}, path


def test_text_files_have_the_same_line_ends_everywhere(trees: dict[Path, ast.Module]) -> None:
    """Text with "\\n" in it gets Windows' line ends unless `newline` is stated."""
    for path, tree in trees.items():
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
                words = {word.arg for word in node.keywords}
                first = node.args[0] if node.args else None
                mode = first.value if isinstance(first, ast.Constant) else None
                opens = node.func.attr == "open" and mode in ("w", "a", "x") and "encoding" in words
                writes = node.func.attr == "write_text" and "json" not in ast.unparse(node)
                assert not ((opens or writes) and "newline" not in words), f"{path}:{node.lineno}"


def test_windows_can_hold_all_files() -> None:
    """No name of a device, no sign that it refuses, no names that differ in case alone, no path too long."""
    try:
        listed = subprocess.check_output(["git", "ls-files", "-z"], cwd=ROOT, text=True, encoding="utf-8")
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("not a git checkout")
    paths = listed.strip("\0").split("\0")
    for path in paths:
        assert len(path) < 160, path
        for name in path.split("/"):
            assert not re.match(WORDS, name, re.IGNORECASE), path
            assert not re.search(r'[<>:"\\|?*]|[. ]$', name), path
    assert len({path.lower() for path in paths}) == len(paths)
