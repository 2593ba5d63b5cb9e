from __future__ import annotations

from importlib import import_module

import pytest

from dragoman.moved import MOVED


@pytest.mark.parametrize("old", MOVED)
def test_a_module_is_found_under_its_old_name(old: str) -> None:
    with pytest.warns(DeprecationWarning, match=f"{old} is now {MOVED[old]}"):
        module = import_module(old)

    assert module is import_module(MOVED[old])


def test_an_unknown_module_is_still_unknown() -> None:
    with pytest.raises(ModuleNotFoundError):
        import_module("dragoman.memory.nothing")
