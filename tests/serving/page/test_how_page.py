"""The page of the server in a real browser."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.inspection.models import KINDS, bundle, transformer
from tests.serving.standin import StandIn, running

from dragoman import Translator
from dragoman.inspection import Intervention, TokenAt
from dragoman.serving.service.models import ServedModel

SAVED = Path(__file__).parents[2] / "saved" / "0.1"
SENTENCE = "#source=en&target=de&text=Tom+sleeps."


@pytest.fixture(scope="module")
def translator() -> Translator:
    return Translator.load(SAVED / "transformer", engine="pytorch")


@pytest.fixture(scope="module")
def french() -> dict[str, Translator]:
    """Two models of one pair."""
    named = {"large": bundle(transformer(), seed=1), "small": bundle(transformer(), seed=2)}
    return {name: Translator.of(replace(one, target_language="fr")) for name, one in named.items()}


@pytest.fixture(scope="module")
def address(translator: Translator, french: dict[str, Translator]) -> Iterator[str]:
    recurrent = Translator.of(replace(bundle(KINDS["lstm-dot"]), source_language="de", target_language="en"))
    named = {"en-de": translator, "de-en": recurrent, **french}
    models = [ServedModel(name, one) for name, one in named.items()]
    with running(StandIn(models=models)) as server:
        yield server.url


@pytest.fixture
def visit(browser: Any, address: str) -> Iterator[Callable[..., Any]]:
    """Opens the page. No test may ask another host, or cause an error on the console.

    With `failing=True`, answers that are errors are none.
    """
    complaints: list[str] = []
    asked: list[str] = []
    contexts = []

    def opened(place: str = SENTENCE, *, changing: bool = True, failing: bool = False, **options: Any) -> Any:
        contexts.append(context := browser.new_context(reduced_motion="reduce", **options))
        page = context.new_page()
        page.set_default_timeout(120_000)
        page.on("request", lambda request: asked.append(request.url))

        def complain(message: Any) -> None:
            refused = failing and "Failed to load resource" in message.text
            if message.type in ("error", "warning") and not refused:
                complaints.append(message.text)

        page.on("console", complain)
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.goto(f"{address}/how{place}")
        if changing:
            page.locator(".workbench summary").click()
        return page

    yield opened
    for context in contexts:
        context.close()
    assert complaints == []
    assert all(url.startswith((address, "data:")) for url in asked)


def settled(page: Any, *, changed: bool) -> None:
    """Wait for the answer to the last change."""
    text = "" if changed else "Change the run to see what that does."
    page.wait_for_function("text => document.querySelector('.status')?.textContent === text", arg=text)


def agree(page: Any, translator: Translator, change: Intervention) -> None:
    """The page shows what Python says of the change."""
    both = translator.inspect("Tom sleeps.", intervention=change)
    page.locator("#tab-difference").click()
    shown = page.locator("#view-difference .version .sentence").all_text_contents()
    assert shown == [trace.target.text for trace in (both.untouched, both.changed)]
    rows = page.locator("#view-difference table").last.locator("tbody tr").all()
    assert len(rows) == len(both.of_changed) + 1
    for row, token in zip(rows, both.of_changed, strict=False):
        before, after = row.locator("td").all_inner_texts()[:2]
        assert float(before) == pytest.approx(token.before, abs=1e-3)
        assert float(after) == pytest.approx(token.after, abs=1e-3)


def test_heads_are_clicked_off(visit: Callable[..., Any], translator: Translator) -> None:
    page = visit()
    settled(page, changed=False)
    page.locator("[data-off='cross.1.1']").click()
    page.locator("[data-off='encoder.1.2']").click()
    settled(page, changed=True)
    agree(page, translator, Intervention.of(without=["cross.1.1", "encoder.1.2"]))
    assert page.locator(".workbench .changes li").count() == 3  # and "undo all"
    page.get_by_role("button", name="Undo all").click()
    settled(page, changed=False)
    assert page.locator("[data-off][aria-pressed=true]").count() == 0
    assert page.locator("#tab-difference").count() == 0


def test_a_layer_at_once_and_by_keyboard(visit: Callable[..., Any]) -> None:
    page = visit()
    settled(page, changed=False)
    page.get_by_role("button", name="Cross layer 1, all heads").focus()
    page.keyboard.press("Enter")
    settled(page, changed=True)
    heads = page.locator("[data-off^='cross.1.']")
    assert heads.count() == page.locator("[data-off^='cross.1.'][aria-pressed=true]").count() > 1
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Space")
    settled(page, changed=True)
    assert page.locator("[data-off='cross.1.1']").get_attribute("aria-pressed") == "false"


def test_a_token_is_forced_and_banned(visit: Callable[..., Any], translator: Translator) -> None:
    own, other = translator.inspect("Tom sleeps.").steps[0].alternatives[:2]
    page = visit()
    settled(page, changed=False)
    page.locator("[data-place='1']").click()
    rows = page.locator(".knobs .alternatives tbody tr")
    assert rows.count() == 8
    rows.nth(1).get_by_role("button", name="force").click()
    settled(page, changed=True)
    changes = page.locator(".workbench .changes")
    assert changes.inner_text().startswith("Step 1 is “")
    assert page.locator("[data-place='1']").get_attribute("aria-label").endswith(", forced")
    agree(page, translator, Intervention(force=(TokenAt(other.token, 1),)))
    page.locator(".undo").click()
    settled(page, changed=False)

    rows.first.get_by_role("button", name="everywhere").click()
    settled(page, changed=True)
    assert changes.inner_text().split("”")[1].startswith(" is banned everywhere")
    agree(page, translator, Intervention(ban=(TokenAt(own.token),)))
    page.locator("#tab-beam").click()
    page.get_by_label("Show pruned and banned candidates").check()
    assert page.locator("#view-beam [data-fate=banned]").count() > 0


def test_positions_and_length_penalty(visit: Callable[..., Any]) -> None:
    page = visit()
    settled(page, changed=False)
    page.locator("[data-positions=shifted]").click()
    settled(page, changed=True)
    assert "Source positions are shifted by 1" in page.locator(".workbench .changes").inner_text()
    page.locator("[data-positions=none]").click()
    settled(page, changed=True)
    assert page.locator(".workbench .changes").inner_text().startswith("The source has no positions")
    page.locator("[data-positions=own]").click()
    settled(page, changed=False)
    page.locator(".knobs section:last-child input").focus()
    page.keyboard.press("End")
    settled(page, changed=True)
    assert page.locator(".workbench .changes").inner_text().startswith("Length penalty 3")


def test_every_view_shows_both_runs(visit: Callable[..., Any]) -> None:
    page = visit()
    settled(page, changed=False)
    page.locator("[data-off='encoder.1.1']").click()
    settled(page, changed=True)
    for view in ("difference", "translation", "attention", "beam", "positions", "terms", "complexity"):
        page.locator(f"#tab-{view}").click()
        assert page.locator(f"#view-{view}").is_visible()
        assert len(page.locator(f"#view-{view}").inner_text()) > 20
    page.locator("#tab-attention").click()
    page.locator("[data-kind=encoder]").click()
    assert page.locator("#view-attention .heads .off").count() == 1
    page.locator("[data-off='encoder.1.2']").click()
    settled(page, changed=True)
    assert page.locator("#view-attention").is_visible()  # the same view


def test_other_models_and_errors(visit: Callable[..., Any]) -> None:
    page = visit("#source=de&target=en&text=Tom")
    settled(page, changed=False)
    assert "no heads to switch off" in page.locator(".workbench").inner_text()
    assert "no positions" in page.locator(".workbench").inner_text()
    page.locator("select").first.select_option(label="English")
    settled(page, changed=False)
    assert page.locator("[data-off]").count() > 1
    page.locator("textarea").fill("Anna sleeps.")
    page.keyboard.press("Enter")
    page.wait_for_function("() => document.querySelector('.result .sentence').textContent.includes('Anna')")
    assert page.evaluate("location.hash") == "#source=en&target=de&text=Anna+sleeps."


def test_the_model_of_a_pair_is_chosen(visit: Callable[..., Any], french: dict[str, Translator]) -> None:
    def shown(page: Any) -> tuple[str, str]:
        settled(page, changed=False)
        return page.locator("#view-translation .sentence").nth(1).inner_text().removesuffix(
            " </s>"
        ), page.evaluate("location.hash")

    texts = {name: one.inspect("Tom").target.text for name, one in french.items()}
    assert texts["large"] != texts["small"]
    page = visit("#source=en&target=fr&text=Tom", changing=False)
    place = "#source=en&target=fr&model={}&text=Tom"
    assert shown(page) == (texts["large"], place.format("large"))
    target = page.locator("select").nth(1)
    assert target.locator("option").all_inner_texts() == ["German", "French: large", "French: small"]
    target.select_option(label="French: small")
    page.wait_for_function(
        "text => document.querySelector('.result').innerText.includes(text)", arg=texts["small"]
    )
    assert shown(page) == (texts["small"], place.format("small"))
    other = visit(place.format("small"), changing=False)
    assert shown(other)[0] == texts["small"]


@pytest.mark.parametrize(
    ("place", "why"),
    [
        (
            "#source=de&target=fr&text=Tom",
            "No single model translates from German to French. Choose other languages.",
        ),
        (
            "#source=es&target=de&text=Tom",
            "No single model translates from Spanish to German. Choose other languages.",
        ),
        (
            "#source=en&target=fr&model=old&text=Tom",
            "No model “old” translates from English to French. Choose other languages.",
        ),
    ],
)
def test_a_pair_without_a_model_is_not_shown_as_another(
    visit: Callable[..., Any], place: str, why: str
) -> None:
    page = visit(changing=False)
    settled(page, changed=False)
    page.evaluate("place => { location.hash = place; }", place)
    page.wait_for_function("text => document.querySelector('.status').textContent === text", arg=why)
    assert page.locator(".result").inner_text() == ""
    assert page.locator("textarea").input_value() == "Tom"
    page.get_by_role("button", name="Show").click()
    settled(page, changed=False)


def test_a_text_that_is_too_long_is_refused_not_cut(visit: Callable[..., Any]) -> None:
    page = visit(f"#source=en&target=de&text={'a' * 501}", changing=False, failing=True)
    page.wait_for_function(
        "() => document.querySelector('.status.failed')?.textContent.includes('at most 500')"
    )
    assert len(page.locator("textarea").input_value()) == 501


def test_the_text_leaves_the_query(visit: Callable[..., Any]) -> None:
    page = visit("?source=en&target=de&text=Tom+sleeps.")
    settled(page, changed=False)
    assert page.evaluate("location.search + location.hash") == SENTENCE


def test_text_stays_text(visit: Callable[..., Any]) -> None:
    page = visit("#source=en&target=de&text=<img src=x onerror=alert(1)>")
    settled(page, changed=False)
    assert page.locator("img").count() == 0


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_nothing_serious_for_those_who_cannot_see(visit: Callable[..., Any], scheme: str) -> None:
    from axe_playwright_python import sync_playwright as axe

    page = visit(color_scheme=scheme, bypass_csp=True)
    settled(page, changed=False)
    page.locator("[data-off='cross.1.1']").click()
    page.locator("[data-place='1']").click()
    settled(page, changed=True)
    for view in ("difference", "attention"):
        page.locator(f"#tab-{view}").click()
        found = axe.Axe().run(page).response["violations"]
        assert [
            (one["id"], one["nodes"][0]["html"]) for one in found if one["impact"] in ("serious", "critical")
        ] == []


def test_the_views_are_visible_before_anything_is_scrolled(visit: Callable[..., Any]) -> None:
    page = visit(changing=False, viewport={"width": 1280, "height": 720})
    settled(page, changed=False)
    place = page.locator("#view-translation .sentence").first.bounding_box()
    assert place["y"] + place["height"] < 720


def test_a_phone(visit: Callable[..., Any]) -> None:
    page = visit(viewport={"width": 360, "height": 740})
    settled(page, changed=False)
    page.locator("[data-off='cross.1.1']").click()
    page.locator("[data-place='1']").click()
    settled(page, changed=True)
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
