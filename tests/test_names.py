"""A public name has one meaning: no two files of the package define the same class or function."""

from __future__ import annotations

import ast
from collections import defaultdict
from pathlib import Path

PACKAGE = Path(__file__).parents[1] / "src" / "dragoman"

# Names that several files may define, and why.
SHARED = {
    "train": "the Python function, the command, and how a vocabulary is learned",
}


def public_names(path: Path) -> set[str]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    kinds = (ast.FunctionDef, ast.ClassDef)
    return {node.name for node in tree.body if isinstance(node, kinds) and not node.name.startswith("_")}


def test_no_public_name_has_two_meanings() -> None:
    homes: dict[str, list[str]] = defaultdict(list)
    for path in sorted(PACKAGE.rglob("*.py")):
        for name in public_names(path):
            homes[name].append(str(path.relative_to(PACKAGE)))

    assert {name: places for name, places in homes.items() if len(places) > 1 and name not in SHARED} == {}
