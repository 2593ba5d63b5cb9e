"""One server around a stand-in for the tests that only read."""

from __future__ import annotations

from collections.abc import Iterator

import httpx
import pytest

from tests.serving.standin import Running, running


@pytest.fixture(scope="package")
def shared() -> Iterator[Running]:
    with running() as one:
        yield one


@pytest.fixture
def server(shared: Running) -> Running:
    """A server that nothing has been asked of."""
    shared.standin.asked.clear()
    shared.standin.corrections.clear()
    shared.standin.failing = None
    return shared


@pytest.fixture
def client(server: Running) -> Iterator[httpx.Client]:
    with server.client() as one:
        yield one
