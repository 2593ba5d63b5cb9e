"""Documented modules that have moved. Their old names work for one version, with a warning that says so."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Sequence
from importlib import import_module
from importlib.machinery import ModuleSpec
from types import ModuleType

MOVED = {
    "dragoman.memory.store": "dragoman.translation.memory.store",
    "dragoman.memory.terms": "dragoman.translation.terms.terms",
    "dragoman.text.tokenizer": "dragoman.text.tokenizers.tokenizer",
}
_PACKAGES = {"dragoman.memory"}


class _Finder:
    """Finds the old names. Python asks it last, when no module has the name.

    It is no subclass of `importlib.abc.MetaPathFinder`: that module takes long to import.
    """

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname in _PACKAGES:
            return ModuleSpec(fullname, self, is_package=True)  # type: ignore[arg-type]
        return ModuleSpec(fullname, self) if fullname in MOVED else None  # type: ignore[arg-type]

    def create_module(self, spec: ModuleSpec) -> None:
        """Let Python make an empty module."""

    def exec_module(self, module: ModuleType) -> None:
        if new := MOVED.get(module.__name__):
            warnings.warn(f"{module.__name__} is now {new}", DeprecationWarning, stacklevel=2)
            sys.modules[module.__name__] = import_module(new)


def keep_old_names() -> None:
    """Make the old names importable."""
    sys.meta_path.append(_Finder())
