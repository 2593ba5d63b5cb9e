"""What all tests share."""

import sys
from collections.abc import Iterator

import pytest
from hypothesis import settings

# The same examples each time, and no clock: a shared machine may be slow, and a test says the same twice.
settings.register_profile("house", derandomize=True, deadline=None, database=None)
settings.load_profile("house")


@pytest.fixture(autouse=True)
def without_loops() -> Iterator[None]:
    """A test that trains turns the loops in C on; the next one begins without them."""
    yield
    if native := sys.modules.get("dragoman.native"):
        native.disable()
