"""The page of the course: every chapter, in every language, light and dark, on a phone."""

from __future__ import annotations

import contextlib
import io
import re
from pathlib import Path
from typing import Any

import pytest

from dragoman.course.page import course_page
from dragoman.course.texts import CHAPTERS, course_languages, labels
from dragoman.course.texts import chapter as text_of
from tests.course.reading import SENTENCES, chapter, live, opened

LANGUAGES = course_languages()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("course")


@pytest.mark.slow
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("language", LANGUAGES)
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
            ends = "[...document.querySelectorAll('.chart text')].map(e => e.getBoundingClientRect().right)"
            assert max(page.evaluate(ends), default=0) <= 360, name  # the names of curves, too


@pytest.mark.parametrize(
    "sentence",
    [SENTENCES[0], pytest.param("Peter loves Anna. Anna loves Peter.", marks=pytest.mark.slow)],
)
@pytest.mark.parametrize("name", CHAPTERS)
def test_snippets_print_the_numbers_of_the_page(browser: Any, folder: Path, name: str, sentence: str) -> None:
    with opened(browser, folder) as page:
        chapter(page, name, sentence)
        shown = live(page, name)
    scope: dict[str, Any] = {}
    for snippet in text_of(name).snippets:
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            exec(compile(snippet.code.replace(SENTENCES[0], sentence), snippet.key, "exec"), scope)
        assert out.getvalue().splitlines()[-1] == shown[snippet.key]


def test_a_link_to_a_chapter_shows_its_title(browser: Any, folder: Path) -> None:
    path = folder / "link.html"
    path.write_text(course_page("en"), encoding="utf-8")
    page = browser.new_page(viewport={"width": 1280, "height": 900})
    page.goto(f"{path.as_uri()}#words")
    page.locator("body[data-ready]").wait_for(timeout=120_000)
    page.wait_for_timeout(300)  # the browser scrolls to the chapter by itself
    assert page.evaluate("scrollY") == 0
    page.close()


def test_a_click_before_the_model_is_there_does_no_harm(browser: Any, folder: Path) -> None:
    with opened(browser, folder) as page:
        page.evaluate("location.hash = '#attention'")
        page.fill("#sentence", "")
        page.locator("#loading").wait_for(state="hidden")
        for name in CHAPTERS:
            page.evaluate(f"location.hash = '#{name}'")
            page.wait_for_timeout(100)
            for button in page.locator(f"#{name} .widget button:visible").all():
                button.click()
        chapter(page, "attention", SENTENCES[0])


def test_a_sentence_stands_in_the_snippets_as_it_is(browser: Any, folder: Path) -> None:
    with opened(browser, folder) as page:
        chapter(page, "words", "It costs $& or $' or \\ or \".")
        assert "It costs $& or $' or \\\\ or \\\"." in page.locator("#words .snippet").first.inner_text()


def test_a_choice_while_the_vectors_of_a_new_order_are_computed_does_no_harm(
    browser: Any, folder: Path
) -> None:
    with opened(browser, folder) as page:
        chapter(page, "order", SENTENCES[-1])
        page.evaluate(
            """() => {
                const widget = document.querySelector("[data-widget='order.shuffle']");
                const press = () => widget.querySelectorAll(".choice button").forEach((one) => one.click());
                new MutationObserver(press).observe(widget.querySelector(".places"), { childList: true });
            }"""
        )
        chapter(page, "order", "a")


def monkey(page: Any, name: str, seed: int, actions: int) -> None:
    """Press, drag and type what is there, without waiting for results."""
    page.evaluate(
        """async ([name, seed, actions, texts]) => {
            const random = () => (seed = (Math.imul(1664525, seed) + 1013904223) >>> 0) / 2 ** 32;
            const pick = (list) => list[Math.floor(random() * list.length)];
            const write = (field, text) => {
                field.value = text;
                for (const kind of ["input", "change"])
                    field.dispatchEvent(new Event(kind, { bubbles: true }));
            };
            for (let i = 0; i < actions; i++) {
                const all = document.querySelectorAll(
                    `#sentence, #${name} :is(button, input, select, summary, [role=button])`);
                const shown = [...all].filter((one) => one.getClientRects().length);
                const one = random() < 0.1 ? all[0] : pick(shown);
                if (one.type === "range") write(one, Math.floor(random() * (Number(one.max) + 1)));
                else if (one.type === "text") write(one, pick(texts));
                else if (one.tagName === "SELECT") write(one, pick(one.options).value);
                else one.dispatchEvent(new MouseEvent("click", { bubbles: true, cancelable: true }));
                await new Promise((done) => setTimeout(done, random() < 0.3 ? 80 * random() : 0));
            }
        }""",
        [name, seed, actions, ["", "  ", "x " * 100, "👍 שלום", "\u0000", ">>de<<", *SENTENCES]],
    )


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, 2])
@pytest.mark.parametrize("name", CHAPTERS)
def test_random_actions_do_no_harm(browser: Any, folder: Path, name: str, seed: int) -> None:
    with opened(browser, folder, viewport={"width": 1280, "height": 900}) as page:
        page.evaluate(f"location.hash = '#{name}'")
        monkey(page, name, seed, 500)
        chapter(page, name, SENTENCES[0])
