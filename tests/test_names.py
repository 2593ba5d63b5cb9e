"""A public name has one meaning: no two files define the same class or unrelated functions."""

from __future__ import annotations

import ast
from collections import defaultdict
from pathlib import Path

PACKAGE = Path(__file__).parents[1] / "src" / "dragoman"

# Functions that several files may define, because all of them mean the same.
SHARED = {
    **dict.fromkeys(("train", "evaluate", "score", "inspect"), "the library function, and its command"),
    **dict.fromkeys(("to_table", "to_text", "to_toml"), "one value written in that form"),
    **dict.fromkeys(("save", "read"), "one kind of file, called with the name of its module"),
    "write": "one kind of file, called with the name of its module",
    "softmax_block": "the operation, and its loop in C",
    **dict.fromkeys(("unsupported", "notes", "verify"), "one format, called with the name of its module"),
    **dict.fromkeys(("import_model", "export_model"), "the library function, and its command"),
    "stated_languages": "the languages of a list of terms, in one format each",
    "parse": "one format, called with the name of its module",
    "main": "the entry point of a program",
    "run": "a command line, run as the program or as one command",
    "to_json": "one value written in that form",
    **dict.fromkeys(("table", "number", "text", "sections", "whole", "words"), "a field of a request"),
    "server_of": "the HTTP server of the translation server, and of the studio",
}


def definitions(path: Path) -> set[tuple[str, bool]]:
    """The public names that a file defines, and whether each is a class."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return {
        (node.name, isinstance(node, ast.ClassDef))
        for node in tree.body
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and not node.name.startswith("_")
    }


def test_no_public_name_has_two_meanings() -> None:
    homes: dict[str, list[str]] = defaultdict(list)
    for path in sorted(PACKAGE.rglob("*.py")):
        for name, is_class in definitions(path):
            if is_class or name not in SHARED:
                homes[name].append(str(path.relative_to(PACKAGE)))

    assert len(homes) > 300
    assert {name: places for name, places in homes.items() if len(places) > 1} == {}


def test_every_exception_is_needed() -> None:
    names = [name for path in PACKAGE.rglob("*.py") for name, _ in definitions(path)]

    assert [name for name in SHARED if names.count(name) < 2] == []
