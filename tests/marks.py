"""Which cases of a costly test `make test` runs."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest


def one_of(many: int, cases: Iterable[Any]) -> list[Any]:
    """Mark all cases as thorough but the first, and then one of so many."""
    return [
        case if number % many == 0 else pytest.param(case, marks=pytest.mark.thorough)
        for number, case in enumerate(cases)
    ]
