"""The public names of the package."""

from __future__ import annotations

import subprocess
import sys

import pytest

import dragoman


def test_the_public_names_are_sorted_and_exist() -> None:
    assert dragoman.__all__ == sorted(dragoman.__all__)
    for name in dragoman.__all__:
        assert getattr(dragoman, name) is not None
        assert name in dir(dragoman)
    with pytest.raises(AttributeError, match="no attribute 'translate'"):
        dragoman.translate  # type: ignore[attr-defined]  # noqa: B018


@pytest.mark.thorough
def test_importing_the_package_imports_no_torch() -> None:
    code = "import sys, dragoman; dir(dragoman); dragoman.Translator; assert 'torch' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)
