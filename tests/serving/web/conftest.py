"""A server with a dictionary for a model, and its page in a real browser."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest
from tests.serving.standin import Running, running
from tests.serving.web.dictionary import service_of


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    with running(service_of(memory=tmp_path_factory.mktemp("memory") / "en-de.tm")) as one:
        yield one


@pytest.fixture
def serve() -> Iterator[Callable[..., Running]]:
    """Starts servers, which end after the pages of a test."""
    with ExitStack() as servers:
        yield lambda service, **settings: servers.enter_context(running(service, **settings))


@pytest.fixture
def show(browser: Any, serve: Callable[..., Running]) -> Iterator[Callable[..., Any]]:
    """Opens the page of a server. No test may cause a request to elsewhere, or a complaint of the browser.

    A page may be shown with `failing=True`: then answers that are errors are no complaint.
    """
    asked: list[tuple[str, str]] = []
    complaints: list[str] = []
    contexts = []

    def opened(server: Running, *, link: str = "", failing: bool = False, **options: Any) -> Any:
        contexts.append(context := browser.new_context(reduced_motion="reduce", **options))
        context.grant_permissions(["clipboard-read", "clipboard-write"])
        page = context.new_page()
        page.set_default_timeout(120_000)
        page.on("request", lambda request: asked.append((server.url, request.url)))

        def complain(message: Any) -> None:
            refused = failing and "Failed to load resource" in message.text
            if message.type in ("error", "warning") and not refused:
                complaints.append(message.text)

        page.on("console", complain)
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.goto(f"{server.url}/{link}")
        return page

    yield opened
    for context in contexts:
        context.close()
    assert complaints == []
    assert [url for own, url in asked if not url.startswith((f"{own}/", f"blob:{own}/"))] == []
