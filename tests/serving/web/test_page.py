"""The page in Chromium: what a person does, and what is seen of it."""

from __future__ import annotations

import asyncio
import os
import re
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from tests.serving.standin import Running, StandIn, keys_file
from tests.serving.web.dictionary import service_of

from dragoman import Translator
from dragoman.serving.http.settings import Keys
from dragoman.serving.service.limits import Limits, Overloaded
from dragoman.serving.service.service import ModelSpec, Service

if os.environ.get("CI"):
    import playwright.sync_api as playwright
else:
    playwright = pytest.importorskip("playwright.sync_api")

playwright.expect.set_options(timeout=60_000)

Show = Callable[..., Any]
Serve = Callable[..., Running]

MODEL = Path(__file__).parents[2] / "saved" / "0.1" / "transformer"
TEXT = "A dog runs. A cat sleeps fast."
TRANSLATION = "Ein Hund rennt. Ein Katze schläft schnell."


def source(page: Any) -> Any:
    return page.locator("#source-text")


def target(page: Any) -> Any:
    return page.locator("#target-text")


def shows(page: Any, text: str) -> None:
    """Wait until the translation is this text, and has all of its marks."""
    playwright.expect(target(page)).to_have_value(text)
    playwright.expect(page.locator("#target .under")).to_have_js_property("textContent", f"{text}\u200b")
    playwright.expect(page.locator("#target")).not_to_have_attribute("aria-busy", "true")


def write(page: Any, text: str = TEXT, translation: str = TRANSLATION) -> None:
    source(page).fill(text)
    shows(page, translation)


def caret(page: Any, place: int, to: int | None = None, side: str = "target") -> None:
    field = page.locator(f"#{side}-text")
    field.focus()
    field.evaluate("(field, [start, end]) => field.setSelectionRange(start, end)", [place, to or place])


def words(page: Any, kind: str) -> list[str]:
    found: list[str] = page.locator(f"#target .under .word.{kind}").all_inner_texts()
    return found


def click_word(page: Any, text: str) -> None:
    box = page.locator("#target .under .word", has_text=re.compile(f"^{text}$")).first.bounding_box()
    page.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)


# Typing


def test_typing_translates(show: Show, server: Running) -> None:
    page = show(server)
    write(page, "A", "Ein")  # the server has been asked once
    source(page).press_sequentially(" dog")
    shows(page, "Ein Hund")
    source(page).press_sequentially(" runs. A cat", delay=20)
    shows(page, "Ein Hund rennt. Ein Katze")
    write(page, "A dog.\n\n  A cat.\n", "Ein Hund.\n\n  Ein Katze.\n")
    write(page, "😀 A dog.", "⁇ Ein Hund.")
    assert words(page, "sure")[-2:] == ["Hund", "."]
    page.locator("#clear").click()
    shows(page, "")
    assert not page.locator("#sentence").is_visible()


def test_a_request_that_is_out_of_date_is_cancelled(
    show: Show, serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    service = service_of()
    own = serve(service)
    page = show(own)
    write(page, "A", "Ein")
    translate, begun, left = service.translate, threading.Event(), threading.Event()

    async def slow(texts: Any, *args: Any, **options: Any) -> Any:
        if texts == ["A dog"]:
            begun.set()
            try:
                await asyncio.sleep(60)
            finally:
                left.set()
        return await translate(texts, *args, **options)

    monkeypatch.setattr(service, "translate", slow)
    source(page).fill("A dog")
    assert begun.wait(60)
    source(page).fill("A cat")
    shows(page, "Ein Katze")
    assert left.wait(60)


def test_words_are_marked_by_confidence(show: Show, server: Running) -> None:
    page = show(server)
    write(page)
    assert words(page, "very-unsure") == ["schläft"]  # 0.1
    assert words(page, "unsure") == ["Katze"]  # 0.45
    assert {"Hund", "rennt", "schnell", "Ein", "."} == set(words(page, "sure"))

    def line(kind: str) -> Any:
        word = page.locator(f"#target .under .word.{kind}").first
        style = "const { textDecorationStyle, textDecorationLine } = getComputedStyle(one);"
        return word.evaluate(f"one => {{ {style} return [textDecorationStyle, textDecorationLine]; }}")

    assert line("very-unsure") == ["solid", "underline"]  # never colour alone
    assert line("unsure") == ["dotted", "underline"]
    assert line("sure")[1] == "none"
    assert page.locator(".legend i").all_inner_texts() == ["unsure", "very unsure", "yours"]
    for side in ("source", "target"):
        one, other = page.locator(f"#{side}-text"), page.locator(f"#{side} .under")
        assert one.evaluate("one => one.scrollHeight") <= other.evaluate("one => one.offsetHeight")


# Choosing words


def test_a_click_on_a_word_offers_others_and_the_search_goes_on(show: Show, server: Running) -> None:
    page = show(server)
    write(page)
    click_word(page, "Katze")
    options = page.locator("#menu [role=option]")
    playwright.expect(options).to_have_count(3)
    assert [one.split() for one in options.all_inner_texts()] == [
        ["Katze", "45", "%"],
        ["Mieze", "30", "%"],
        ["Kater", "20", "%"],
    ]
    assert options.nth(0).get_attribute("aria-selected") == "true"
    options.nth(1).click()
    shows(page, "Ein Hund rennt. Ein Mieze schläft schnell.")
    assert words(page, "chosen") == ["Mieze"]
    assert page.locator("#menu").is_hidden()
    assert target(page).evaluate("field => field.selectionStart") == len("Ein Hund rennt. Ein Mieze")
    page.locator("#undo").click()
    shows(page, TRANSLATION)
    assert words(page, "chosen") == []


def test_a_pointer_that_rests_points_at_nothing_that_is_gone(show: Show, server: Running) -> None:
    page = show(server)
    write(page, "A dog runs.", "Ein Hund rennt.")
    click_word(page, "rennt")
    page.keyboard.press("Escape")
    write(page, "A.", "Ein.")
    playwright.expect(page.locator("#word")).to_have_text("")
    write(page)


def test_words_are_chosen_by_keyboard_alone(show: Show, server: Running) -> None:
    page = show(server)
    playwright.expect(source(page)).to_be_focused()
    page.keyboard.type("A dog runs.")
    shows(page, "Ein Hund rennt.")
    target(page).focus()
    page.keyboard.press("Control+Home")
    for _ in range(5):
        page.keyboard.press("ArrowRight")
    page.keyboard.press("Alt+ArrowDown")
    playwright.expect(page.locator("#menu [role=option]")).to_have_count(2)
    assert page.evaluate("() => document.activeElement.id") == "menu"
    assert page.locator("#menu").get_attribute("aria-label") == "Instead of Hund"
    page.keyboard.press("ArrowDown")
    active = page.locator("#menu").get_attribute("aria-activedescendant")
    assert "Dackel" in page.locator(f"#{active}").inner_text()
    page.keyboard.press("Enter")
    shows(page, "Ein Dackel rennt.")
    assert page.evaluate("() => document.activeElement.id") == "target-text"
    page.keyboard.press("Alt+ArrowDown")
    playwright.expect(page.locator("#menu [role=option]")).to_have_count(2)
    page.keyboard.press("Escape")
    assert page.locator("#menu").is_hidden()
    assert page.evaluate("() => document.activeElement.id") == "target-text"
    shows(page, "Ein Dackel rennt.")


def test_a_screen_reader_hears_of_words_that_are_not_sure(show: Show, server: Running) -> None:
    page = show(server)
    write(page)
    caret(page, TRANSLATION.index("schläft") + 2)
    playwright.expect(page.locator("#spoken")).to_have_text("schläft: 10 %, very unsure")
    assert page.locator("#word").inner_text() == "schläft: 10 %, very unsure"
    caret(page, 5)
    playwright.expect(page.locator("#spoken")).to_have_text("")
    assert page.locator("#word").inner_text() == "Hund: 90 %"


# Typing over


def test_the_search_goes_on_from_what_is_typed(show: Show, server: Running) -> None:
    page = show(server)
    write(page)
    caret(page, 4, 8)
    page.keyboard.type("Dackel")
    shows(page, "Ein Dackel rennt. Ein Katze schläft schnell.")
    playwright.expect(page.locator("#target .under .word.chosen")).to_have_text("Dackel")
    assert target(page).evaluate("field => field.selectionStart") == len("Ein Dackel")
    # The other sentence changes, this one stays.
    source(page).focus()
    page.keyboard.press("Control+End")
    page.keyboard.type(" A dog.")
    shows(page, "Ein Dackel rennt. Ein Katze schläft schnell. Ein Hund.")


def test_what_is_deleted_stays_deleted(show: Show, server: Running) -> None:
    page = show(server)
    write(page)
    caret(page, 3, 8)
    page.keyboard.press("Delete")
    page.wait_for_timeout(400)
    shows(page, "Ein rennt. Ein Katze schläft schnell.")
    page.locator("#undo").click()
    shows(page, TRANSLATION)
    caret(page, 4, 30)  # into the second sentence
    page.keyboard.press("Backspace")
    page.wait_for_timeout(400)
    left = "Ein äft schnell."
    assert left == TRANSLATION[:4] + TRANSLATION[30:]
    shows(page, left)
    source(page).focus()
    page.keyboard.press("Control+End")
    page.keyboard.type(" A dog.")
    shows(page, f"{left} Ein Hund.")


def test_what_the_model_cannot_spell_stays_as_it_was_typed(show: Show, server: Running) -> None:
    page = show(server)
    write(page, "A dog runs.", "Ein Hund rennt.")
    caret(page, 4)
    page.keyboard.type("Ω ")
    page.wait_for_timeout(400)
    shows(page, "Ein Ω Hund rennt.")
    assert page.locator("#status").is_hidden()


# The sentence


def test_the_sentence_and_the_word_are_marked_in_both_panes(show: Show, server: Running) -> None:
    page = show(server)
    write(page)
    caret(page, TEXT.index("cat") + 1, side="source")
    for side, sentence in (("source", "A cat sleeps fast."), ("target", "Ein Katze schläft schnell.")):
        assert page.locator(f"#{side} .under .current").all_inner_texts() == [sentence]
    assert page.locator("#source .under .here").all_inner_texts() == ["cat"]
    assert page.locator("#target .under .linked").all_inner_texts() == ["Katze"]
    box = page.locator("#target .under .word", has_text="rennt").bounding_box()
    page.mouse.move(box["x"] + 5, box["y"] + 5)
    playwright.expect(page.locator("#source .under .linked")).to_have_text("runs")
    page.mouse.move(5, 5)
    playwright.expect(page.locator("#source .under .here")).to_have_text("cat")


def test_whole_translations_are_offered(show: Show, server: Running) -> None:
    page = show(server)
    write(page, "A dog runs.", "Ein Hund rennt.")
    others = page.locator("#alternatives li:not([hidden]) button")
    playwright.expect(others).to_have_count(5)
    assert others.first.inner_text() == "Ein Hund läuft."
    others.first.click()
    shows(page, "Ein Hund läuft.")
    playwright.expect(others).to_have_count(5)  # the model's own instead of the one that is shown
    assert others.first.inner_text() == "Ein Hund rennt."
    source(page).press_sequentially(" A cat.")
    shows(page, "Ein Hund läuft. Ein Katze.")


def test_a_correction_is_kept_only_when_the_person_says_so(show: Show, serve: Serve, tmp_path: Path) -> None:
    own = serve(service_of(memory=tmp_path / "new.tm"))
    page = show(own)
    write(page, "A dog runs.", "Ein Hund rennt.")
    assert page.locator("#keep").is_hidden()
    caret(page, 4, 8)
    page.keyboard.type("Dackel")
    playwright.expect(page.locator("#keep")).to_be_visible()
    page.wait_for_timeout(400)
    assert page.locator("#matches").is_hidden()  # nothing was stored
    translation = target(page).input_value()
    page.locator("#keep").click()
    playwright.expect(page.locator("#kept")).to_have_text("Kept in the memory.")
    assert page.locator("#keep").is_hidden()
    playwright.expect(page.locator("#matches .score")).to_have_text("100 %")
    fresh = show(own)
    write(fresh, "A dog runs.", translation)
    write(fresh, "A dog runs fast.", "Ein Hund rennt schnell.")
    match = fresh.locator("#matches:not([inert]) button")
    playwright.expect(match).to_have_count(1)
    assert re.match(r"[78]\d %", match.locator(".score").inner_text())
    match.click()
    shows(fresh, translation)


def test_without_a_memory_nothing_can_be_kept(show: Show, serve: Serve) -> None:
    own = serve(service_of())
    page = show(own)
    write(page, "A dog runs.", "Ein Hund rennt.")
    caret(page, 4, 8)
    page.keyboard.type("Dackel")
    shows(page, "Ein Dackel rennt.")
    playwright.expect(page.locator("#undo")).to_be_visible()
    assert page.locator("#keep").is_hidden()


# Links, colours, directions


def test_a_link_has_the_text_and_the_server_never_sees_it(show: Show, server: Running) -> None:
    page = show(server)
    write(page)
    page.locator("#link").click()
    playwright.expect(page.locator("#link")).to_have_text("Copied")
    link = page.evaluate("() => navigator.clipboard.readText()")
    assert link == page.url
    path, _, fragment = link.partition("#")
    assert path == f"{server.url}/"
    again = show(server, link=f"#{fragment}")
    shows(again, TRANSLATION)
    assert source(again).input_value() == TEXT


def test_light_and_dark_follow_the_system_until_somebody_chooses(show: Show, server: Running) -> None:
    page = show(server, color_scheme="dark")
    ground = "() => getComputedStyle(document.body).backgroundColor"
    dark = page.evaluate(ground)
    page.emulate_media(color_scheme="light")
    light = page.evaluate(ground)
    assert (dark, light) == ("rgb(22, 22, 26)", "rgb(255, 255, 255)")
    page.locator("#theme").click()
    assert page.evaluate(ground) == dark
    page.reload()
    assert page.evaluate(ground) == dark


def test_languages_have_their_direction(show: Show, server: Running) -> None:
    page = show(server)
    answer = {
        "source": "en", "target": "he", "text": "כלב רץ.",
        "sentences": [{
            "source": "A dog runs.", "text": "כלב רץ.", "source_at": 0, "target_at": 0, "remembered": False,
            "truncated": False, "source_words": [], "links": [],
            "words": [{"start": 0, "end": 3, "confidence": 0.1}],
        }],
    }  # fmt: skip
    about = {
        "languages": [
            {"code": "en", "name": "English", "targets": ["he"]},
            {"code": "he", "name": "Hebrew", "targets": []},
        ],
        "models": [], "memories": [], "how": False,
        "limits": {"characters": 1000, "file_bytes": 1000},
    }  # fmt: skip
    page.route("**/v1/page", lambda route: route.fulfill(json=about))
    page.route("**/v1/words", lambda route: route.fulfill(json=answer))
    page.route("**/v1/alternatives", lambda route: route.fulfill(json={"alternatives": []}))
    page.reload()
    write(page, "A dog runs.", "כלב רץ.")
    assert target(page).evaluate("field => [field.dir, field.lang]") == ["rtl", "he"]
    assert source(page).evaluate("field => [field.dir, field.lang]") == ["ltr", "en"]
    field = target(page).bounding_box()
    word = page.locator("#target .under .word.very-unsure").bounding_box()
    assert word["x"] > field["x"] + field["width"] / 2  # the first word is on the right


# Files


def drop(page: Any, name: str, data: str) -> None:
    script = """([name, data]) => {
        const files = new DataTransfer();
        files.items.add(new File([data], name, { type: "text/plain" }));
        for (const kind of ["dragover", "drop"]) {
            const event = { dataTransfer: files, bubbles: true, cancelable: true };
            document.body.dispatchEvent(new DragEvent(kind, event));
        }
    }"""
    page.evaluate(script, [name, data])


def test_a_file_that_is_dropped_in_comes_back_translated(show: Show, server: Running) -> None:
    page = show(server)
    write(page, "A", "Ein")
    drop(page, "dogs.txt", "A dog runs.\n\nA cat sleeps.\n")
    with page.expect_download() as download:
        page.get_by_text("Download the translation").click()
    assert download.value.suggested_filename == "dogs.de.txt"
    assert Path(download.value.path()).read_text() == "Ein Hund rennt.\n\nEin Katze schläft.\n"


def test_a_file_is_translated_into_the_language_that_it_was_dropped_for(show: Show, serve: Serve) -> None:
    standin = StandIn()
    page = show(serve(standin))
    write(page, "A", "A")
    standin.gate.clear()
    for name in ("one.txt", "two.txt"):
        drop(page, name, "A dog.\n")
    page.locator("#target-language").select_option("fr")
    standin.gate.set()
    playwright.expect(page.get_by_text("Download the translation")).to_have_count(2)
    assert [ask.target for ask in standin.documents] == ["de", "de"]


def test_files_that_cannot_be_translated_say_why(show: Show, serve: Serve) -> None:
    own = serve(service_of(limits=Limits(file_bytes=100)))
    page = show(own, failing=True)
    write(page, "A", "Ein")
    drop(page, "long.txt", "A dog. " * 100)
    playwright.expect(page.locator("#files .error")).to_contain_text("Too large: at most 0 kB")
    drop(page, "strange.pdf", "A dog.")
    playwright.expect(page.locator("#files .error").last).to_contain_text("not supported")
    playwright.expect(page.locator("#files progress")).to_have_count(0)


# Inside a sentence


def test_how_shows_the_sentence_from_inside(show: Show, serve: Serve, tmp_path: Path) -> None:
    """With a real model, in another tab, which knows the key."""
    keys = Keys.read(keys_file(tmp_path, ada="secret"))
    own = serve(Service.open([ModelSpec(folder=MODEL)], Limits(seconds=600)), keys=keys)
    page = show(own, failing=True)
    playwright.expect(page.locator("#key")).to_be_visible()
    page.keyboard.type("secret")
    page.keyboard.press("Enter")
    source(page).fill("Tom sleeps.")
    playwright.expect(page.locator("#how")).to_have_text("Look inside sentence")
    with page.context.expect_page() as opened:
        page.locator("#how").click()
    how = opened.value
    how.set_default_timeout(120_000)
    assert how.url == f"{own.url}/how#source=en&target=de&text=Tom+sleeps."
    how.locator(".workbench summary").click()
    how.locator("[data-off='cross.1.1']").click()
    playwright.expect(how.locator("#view-difference")).to_be_visible(timeout=120_000)
    text = Translator.load(MODEL).translate(["Tom sleeps."])[0].text
    playwright.expect(how.locator("#view-difference .version .sentence").first).to_have_text(text)


def test_the_link_inside_has_what_is_read_there(show: Show, serve: Serve) -> None:
    page = show(serve(StandIn()))
    write(page, "A dog.", "A DOG.")
    page.locator("#option-adapter").select_option("legal")
    page.locator("#option-terms").select_option("product")
    shows(page, "A DOG.")
    assert page.locator("#how").get_attribute("href") == "how#source=en&target=de&text=A+dog."


# When there is no answer


def test_a_key_is_asked_for_and_kept_in_the_tab(show: Show, serve: Serve, tmp_path: Path) -> None:
    keys = Keys.read(keys_file(tmp_path, ada="secret"))
    own = serve(service_of(), keys=keys)
    page = show(own, failing=True)
    dialog = page.locator("#key")
    playwright.expect(dialog).to_be_visible()
    page.locator("#key-cancel").click()
    source(page).fill("A")
    playwright.expect(dialog).to_be_visible()
    page.keyboard.type("wrong")
    page.keyboard.press("Enter")
    playwright.expect(page.locator("#key-why")).to_contain_text("Invalid")
    playwright.expect(dialog).to_be_visible()
    page.keyboard.type("secret")
    page.keyboard.press("Enter")
    playwright.expect(dialog).to_be_hidden()
    write(page, "A dog.", "Ein Hund.")
    page.reload()
    write(page, "A dog.", "Ein Hund.")
    assert page.evaluate("() => localStorage.length") == 0
    page.evaluate("() => sessionStorage.clear()")
    page.reload()
    playwright.expect(dialog).to_be_visible()


def test_a_text_that_is_too_long_is_said_before_it_is_sent(show: Show, serve: Serve) -> None:
    own = serve(service_of(limits=Limits(characters=20)))
    page = show(own)
    write(page, "A dog.", "Ein Hund.")
    source(page).fill("A dog runs. A dog runs.")
    playwright.expect(page.locator("#status")).to_have_text("Too long: 23 of 20 characters.")
    playwright.expect(page.locator("#target")).not_to_have_attribute("aria-busy", "true")
    source(page).fill("\U0001f600" * 10)
    playwright.expect(page.locator("#count")).to_have_text("10 / 20")
    write(page, "A cat.", "Ein Katze.")
    playwright.expect(page.locator("#status")).to_be_hidden()


def test_a_server_that_is_busy_is_asked_again(
    show: Show, serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    service = service_of()
    own = serve(service)
    page = show(own, failing=True)
    write(page, "A", "Ein")
    translate, refusals = service.translate, [Overloaded("the queue is full", retry_after=1)]

    async def busy(texts: Sequence[str], *args: Any, **options: Any) -> Any:
        # Not what the page may still ask about the text before, which it does without a message.
        if refusals and texts == ["A dog."]:
            raise refusals.pop()
        return await translate(texts, *args, **options)

    monkeypatch.setattr(service, "translate", busy)
    source(page).fill("A dog.")
    playwright.expect(page.locator("#status")).to_have_text("The server is busy. Trying again in 2 s.")
    shows(page, "Ein Hund.")
    playwright.expect(page.locator("#status")).to_be_hidden()


def test_without_a_network_it_waits_for_it(show: Show, server: Running) -> None:
    page = show(server, failing=True)
    write(page, "A", "Ein")
    page.context.set_offline(True)
    source(page).fill("A dog.")
    playwright.expect(page.locator("#status")).to_contain_text("No connection to the server.")
    page.context.set_offline(False)
    shows(page, "Ein Hund.")
    playwright.expect(page.locator("#status")).to_be_hidden()


# For everybody


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [360, 1200])
def test_axe_finds_nothing_serious(show: Show, server: Running, scheme: str, width: int) -> None:
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    page = show(server, color_scheme=scheme, viewport={"width": width, "height": 800}, bypass_csp=True)
    write(page)
    click_word(page, "schläft")
    playwright.expect(page.locator("#menu [role=option]")).to_have_count(3)
    playwright.expect(page.locator("#alternatives")).to_be_visible()
    found = axe.run(page).response["violations"]
    serious = [one for one in found if one["impact"] in ("serious", "critical")]
    assert [(one["id"], one["nodes"][0]["html"]) for one in serious] == []


@pytest.mark.parametrize("width", [360, 800, 1400])
def test_nothing_is_wider_than_the_window(show: Show, server: Running, width: int) -> None:
    page = show(server, viewport={"width": width, "height": 740})
    write(page, "A" * 300, "⁇")
    write(page)
    click_word(page, "schnell")
    playwright.expect(page.locator("#menu [role=option]")).to_have_count(2)
    assert page.evaluate("() => document.documentElement.scrollWidth") <= width
    menu = page.locator("#menu").bounding_box()
    assert menu["x"] >= 0
    assert menu["x"] + menu["width"] <= width


@pytest.mark.thorough
@pytest.mark.parametrize("path", ["", "how"])
@pytest.mark.parametrize("why", ["refused", "no scripts"])
def test_a_page_whose_scripts_do_not_run_says_so(browser: Any, server: Running, path: str, why: str) -> None:
    context = browser.new_context(java_script_enabled=why != "no scripts")
    page = context.new_page()
    page.route("**/*.js", lambda route: route.fulfill(status=403))
    page.goto(f"{server.url}/{path}")
    playwright.expect(page.locator(".unstarted")).to_be_visible()
    playwright.expect(page.locator(".unstarted")).to_contain_text("$http_host")
    context.close()


def test_a_page_that_has_started_does_not(show: Show, server: Running) -> None:
    page = show(server)
    playwright.expect(page.locator(".unstarted")).to_have_count(0)
