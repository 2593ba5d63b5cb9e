"""The page of the course in Chromium, and its live numbers."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from dragoman.course.page import course_page
from dragoman.translation.native.web.wasm import engine_wasm

SENTENCES = (
    "The old farmer gets up early every day.",
    "Yesterday my sister bought an expensive red dress.",
    "Peter stayed at home because he was sick.",
    "I know the woman who lives in Vienna.",
    "The children do not want to tidy up the kitchen.",
    "If it rains, we will drive to the station.",
    "A dog sleeps.",
    "She sleeps.",
    "My brother and my father work in Berlin.",
    "Where do you live?",
    "The beautiful red winter coat costs 38 euros.",
    "Did the teacher see the small house?",
    "We have never read this book.",
    "The doctor thinks that the girl is tired.",
    "a",
    "Hello",
    "dog dog dog dog",
    "THE CAT SEES THE MOUSE!",
    "Zebras gossip about λ and Žižek.",
    "He gave the boy a book, a car key and two old letters, and went to the station with his brother.",
)
# One input in every run, all of them in the slow ones.
each_input = pytest.mark.parametrize(
    "sentences",
    [pytest.param(SENTENCES[1:2], id="one"), pytest.param(SENTENCES, id="all", marks=pytest.mark.slow)],
)


@contextmanager
def opened(browser: Any, folder: Path, language: str = "en", **options: Any) -> Iterator[Any]:
    """The page, opened from file://. It may make no request, and no complaint on the console."""
    try:
        engine_wasm()
    except Exception as error:
        pytest.skip(str(error))
    path = folder / f"course-{language}.html"
    if not path.exists():
        path.write_text(course_page(language), encoding="utf-8")
    options = {
        "viewport": {"width": 1280, "height": 20_000},
        **options,
    }  # all widgets are in view
    context = browser.new_context(offline=True, reduced_motion="reduce", **options)
    page = context.new_page()
    asked: list[str] = []
    complaints: list[str] = []
    page.set_default_timeout(120_000)
    page.on("request", lambda request: asked.append(request.url))
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on(
        "console", lambda message: message.type in ("error", "warning") and complaints.append(message.text)
    )
    page.goto(path.as_uri())
    yield page
    context.close()
    assert complaints == []
    assert [url for url in asked if not url.startswith("blob:")] == [path.as_uri()]


def chapter(page: Any, name: str, sentence: str | None = None) -> None:
    """Go to a chapter, reveal all of it, type a sentence, and wait until all is computed."""
    page.evaluate(f"location.hash = '#{name}'")
    page.locator(f"#{name}").wait_for()
    for skip in page.locator(f"#{name} .skip").all():
        skip.click()
    if sentence is not None and name != "index":  # the first page has no sentence
        page.fill("#sentence", sentence)
    page.evaluate("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
    page.locator("body[data-ready]").wait_for()


def live(page: Any, name: str) -> dict[str, str]:
    """The live numbers and words of a chapter, by key."""
    script = (
        f"[...document.querySelectorAll('#{name} [data-live]')].map(e => [e.dataset.live, e.textContent])"
    )
    pairs = page.evaluate(script)
    found = dict(pairs)
    assert all(found[key] == text for key, text in pairs), "a key has two values"
    return found


def assert_equal(shown: dict[str, str], computed: dict[str, float | str], prefix: str) -> None:
    """Every live value under `prefix` is the computed one, rounded to the digits shown."""
    own = {key: text for key, text in shown.items() if key.startswith(prefix)}
    assert not (other := own.keys() ^ computed.keys()), sorted(other)
    for key, text in own.items():
        value = computed[key]
        if isinstance(value, str):
            assert text == value, (key, text, value)
        else:
            decimals = len(text.partition(".")[2])
            assert (
                abs(float(text.replace(",", "")) - value) <= 0.51 * 10**-decimals + 2e-6 * abs(value) + 1e-5
            ), (
                key,
                text,
                value,
            )
