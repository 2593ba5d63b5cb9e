"""The page of the course: every chapter, in every language, light and dark, on a phone."""

from __future__ import annotations

import contextlib
import io
from pathlib import Path
from typing import Any

import pytest

from dragoman.course.texts import CHAPTERS, course_languages
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


def test_a_phone(browser: Any, folder: Path) -> None:
    with opened(browser, folder, viewport={"width": 360, "height": 20_000}) as page:
        for name in ("index", *CHAPTERS):
            chapter(page, name, SENTENCES[1])
            assert page.evaluate("document.documentElement.scrollWidth") <= 360
            ends = "[...document.querySelectorAll('.chart text')].map(e => e.getBoundingClientRect().right)"
            assert max(page.evaluate(ends), default=0) <= 360, name  # the names of curves, too


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
