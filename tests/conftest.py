"""What all tests share."""

import os
import shutil
import signal
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hypothesis import settings
from hypothesis.internal.conjecture import providers

from tests.program import Ended, run_dragoman

# The same examples each time, and no clock: a shared machine may be slow, and a test says the same twice.
settings.register_profile("house", derandomize=True, deadline=None, database=None)
settings.load_profile("house")
# Nor may the examples depend on which modules are loaded: Hypothesis also draws what stands in their source.
providers._get_local_constants = lambda: providers._local_constants

# A shell starts programs in the background with Ctrl-C ignored, and they would pass that on to the commands
# that tests interrupt.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.hookimpl(tryfirst=True)  # before tests are chosen by their marks
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """A browser takes seconds to start."""
    for item in items:
        if "browser" in getattr(item, "fixturenames", ()):
            item.add_marker("thorough")


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Count what was skipped in one line, by the reason."""
    skipped = terminalreporter.stats.get("skipped", [])
    reasons = Counter(str(report.longrepr[2]).removeprefix("Skipped: ") for report in skipped)
    if reasons:
        listed = "; ".join(f"{reason} ({count})" for reason, count in reasons.most_common())
        terminalreporter.write_line(f"{len(skipped)} skipped: {listed}")


@pytest.fixture(autouse=True)
def without_loops() -> Iterator[None]:
    """A test that trains turns the loops in C on; the next one begins without them."""
    yield
    if native := sys.modules.get("dragoman.models.loops"):
        native.disable()


@pytest.fixture
def dragoman_() -> Callable[..., Ended]:
    """Runs a command line in this process; returns its exit code, standard output and standard error."""
    return run_dragoman


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """A real browser. DRAGOMAN_CHROMIUM names one that is not on the path.

    Without one, its tests are skipped, but for continuous integration, where they fail. There is one
    for a module: while playwright runs, no event loop can.
    """
    if os.environ.get("CI"):
        from playwright import sync_api as playwright
    else:
        playwright = pytest.importorskip("playwright.sync_api")
    names = ("chromium", "chromium-browser", "google-chrome")
    path = os.environ.get("DRAGOMAN_CHROMIUM") or next(filter(None, map(shutil.which, names)), None)
    if path is None:
        if os.environ.get("CI"):
            pytest.fail("no Chromium: apt-get install chromium")
        pytest.skip("no Chromium on the path (Debian: apt-get install chromium)")
    with playwright.sync_playwright() as driver:
        launched = driver.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield launched
        launched.close()
