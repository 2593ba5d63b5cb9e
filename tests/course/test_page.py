"""The page of the course: every chapter, in every language, light and dark, on a phone."""

from __future__ import annotations

import contextlib
import io
import re
from pathlib import Path
from typing import Any

import pytest

from dragoman.course.texts import CHAPTERS, course_languages, labels
from dragoman.course.texts import chapter as text_of
from tests.course.reading import SENTENCES, chapter, live, opened

LANGUAGES = course_languages()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("course")


@pytest.mark.parametrize(
    ("language", "scheme"),
    [
        pytest.param(
            language, scheme, marks=[pytest.mark.slow] if (language, scheme) != ("en", "light") else []
        )
        for language in LANGUAGES
        for scheme in ("light", "dark")
    ],
)
def test_every_chapter_is_accessible(browser: Any, folder: Path, language: str, scheme: str) -> None:
    from axe_playwright_python import sync_playwright as axe

    with opened(browser, folder, language, color_scheme=scheme, bypass_csp=True) as page:
        for name in ("index", *CHAPTERS):
            chapter(page, name, SENTENCES[0])
            found = axe.Axe().run(page).response["violations"]
            serious = [
                (one["id"], one["nodes"][0]["html"])
                for one in found
                if one["impact"] in ("serious", "critical")
            ]
            assert serious == []


# What the views that the course shares with other pages say in English, if they are told nothing else.
SHARED = ("Light", "Dark", "Arrow keys", "masked", "Show the numbers", "The numbers", "million", "billion")


def test_the_german_page_says_nothing_in_english(browser: Any, folder: Path) -> None:
    german = " ".join(labels("de").values())
    phrases = [text for text in labels("en").values() if re.fullmatch(r"[^{}]* [^{}]*", text)]
    english = [*SHARED, *(text for text in phrases if text not in german)]
    everything = """[document.body.innerText, ...Array.from(
        document.querySelectorAll("[aria-label], [title]"), (one) => `${one.ariaLabel} ${one.title}`,
    )].join("\\n")"""
    with opened(browser, folder, "de") as page:
        for name in CHAPTERS:
            chapter(page, name, SENTENCES[0])
            shown = page.evaluate(everything)
            assert [text for text in english if re.search(rf"\b{re.escape(text)}(?!\w)", shown)] == []
        chapter(page, "attention", SENTENCES[0])
        maps = page.locator('[data-widget="attention.maps"]')
        maps.locator(".trio button").nth(8).click()  # the first head of the decoder
        for key in ("PageUp", "End"):  # what the first token must not see
            maps.locator("canvas[tabindex]").press(key)
        assert maps.locator(".flag").text_content() == labels("de")["attention.hidden"]
        page.locator("button.scheme").click()
        assert page.locator("button.scheme").text_content() == labels("de")["light"]


def test_a_phone(browser: Any, folder: Path) -> None:
    with opened(browser, folder, viewport={"width": 360, "height": 20_000}) as page:
        for name in ("index", *CHAPTERS):
            chapter(page, name, SENTENCES[1])
            assert page.evaluate("document.documentElement.scrollWidth") <= 360


@pytest.mark.parametrize("name", CHAPTERS)
def test_snippets_print_the_numbers_of_the_page(browser: Any, folder: Path, name: str) -> None:
    with opened(browser, folder) as page:
        chapter(page, name, SENTENCES[0])
        shown = live(page, name)
    scope: dict[str, Any] = {}
    for snippet in text_of(name).snippets:
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            exec(compile(snippet.code, snippet.key, "exec"), scope)
        assert out.getvalue().splitlines()[-1] == shown[snippet.key]
