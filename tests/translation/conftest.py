"""A translator of letters."""

from __future__ import annotations

import pytest
from tests.translation.letters import translator_of
from tests.translation.search.reference import History

from dragoman import Translator


@pytest.fixture
def model() -> History:
    return History(vocab=14, seed=2, end=0.5)


@pytest.fixture
def translator(model: History) -> Translator:
    return translator_of(model)
