"""The report in a real browser: Chromium, opened from file://, driven by Playwright."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.inspection.models import KINDS, bundle, transformer

from dragoman.inspection import Intervention, Trace, contrast, inspect
from dragoman.inspection.positions import laboratory
from dragoman.inspection.views.report import report

VIEWS = ("translation", "attention", "beam", "positions", "terms", "complexity")
HOSTILE = "A </script><img src=x onerror=document.title=1> dog."


@pytest.fixture
def show(browser: Any, tmp_path: Path) -> Iterator[Callable[..., Any]]:
    """Opens a page from file://. No test may cause a request, or an error on the console."""
    asked: list[str] = []
    complaints: list[str] = []
    contexts = []

    def opened(content: str, **options: Any) -> Any:
        path = tmp_path / f"report-{len(contexts)}.html"
        path.write_text(content, encoding="utf-8")
        contexts.append(context := browser.new_context(offline=True, reduced_motion="reduce", **options))
        page = context.new_page()
        page.set_default_timeout(120_000)
        page.on("request", lambda request: asked.append(request.url))
        page.on(
            "console",
            lambda message: message.type in ("error", "warning") and complaints.append(message.text),
        )
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.goto(path.as_uri())
        page.wait_for_selector("[role=tablist]")
        return page

    yield opened
    for context in contexts:
        context.close()
    assert complaints == []
    assert all(url.startswith(("file://", "blob:")) for url in asked)
    assert len([url for url in asked if url.startswith("file://")]) == len(contexts)


@pytest.fixture(scope="module")
def trace() -> Trace:
    return inspect(bundle(transformer(), beam=4), "The old woman sees 12 dogs.", max_extra_tokens=3)


def numbers(page: Any, view: str, kind: str, last: int | None = None) -> list[list[str]]:
    """The cells of a table of numbers, its heads left out."""
    page.locator(f"#tab-{view}").click()
    page.evaluate(f"document.querySelectorAll('#view-{view} details').forEach(one => one.open = true)")
    page.locator(f"#view-{view} table[data-numbers={kind}]").first.wait_for()
    script = "t => [...t.tBodies[0].rows].map(r => [...r.cells].slice(1).map(c => c.textContent))"
    found: list[list[str]] = page.locator(f"#view-{view} table[data-numbers={kind}]").first.evaluate(script)
    return [row[:last] for row in found]


def close(shown: list[list[str]], expected: Any, tolerance: float) -> None:
    values = np.array([[np.nan if cell == "–" else float(cell) for cell in row] for row in shown])
    expected = np.asarray(expected, dtype=np.float64)
    assert values.shape == expected.shape
    seen = ~np.isnan(values)
    np.testing.assert_allclose(values[seen], expected[seen], atol=tolerance)
    assert np.all(expected[~seen] == 0)  # a dash stands for what is masked


def test_every_view_by_mouse_and_by_keyboard(show: Callable[..., Any], trace: Trace) -> None:
    page = show(trace.to_html())
    for view in VIEWS:
        page.locator(f"#tab-{view}").click()
        assert page.locator(f"#view-{view}").is_visible()
        assert page.locator("[role=tabpanel]:visible").count() == 1
        assert page.evaluate("location.hash") == f"#{view}"
    page.locator("#tab-translation").focus()
    for view in (*VIEWS[1:], VIEWS[0]):
        page.keyboard.press("End" if view == VIEWS[-1] else "Home" if view == VIEWS[0] else "ArrowRight")
        assert page.locator(f"#view-{view}").is_visible()
    for number, view in enumerate(VIEWS, start=1):
        page.keyboard.press(str(number))
        assert page.locator(f"#view-{view}").is_visible()


def test_numbers_are_the_traces(show: Callable[..., Any], trace: Trace) -> None:
    page = show(trace.to_html())
    for one in trace.attention:
        page.locator("#tab-attention").click()
        page.locator(f"[data-kind={one.kind}]").click()
        for layer in range(len(one.weights)):
            page.locator(f"#view-attention [data-layer='{layer}'][data-head='1']").click()
            close(numbers(page, "attention", "attention"), one.weights[layer, 1], 1e-4)
        page.locator("#view-attention [data-layer='0'][data-head='mean']").click()
        close(numbers(page, "attention", "attention"), one.weights[0].mean(0), 1e-4)
    assert trace.alignment is not None
    close(numbers(page, "translation", "alignment"), trace.alignment, 1e-4)
    steps = [row[2:5] for row in numbers(page, "translation", "steps")]
    close(steps, [[step.probability, step.logp, step.entropy] for step in trace.steps], 1e-4)
    assert trace.beam is not None
    nodes = numbers(page, "beam", "beam")
    close([row[3:6] for row in nodes], [[n.logp, n.total, n.score] for n in trace.beam.nodes], 1e-4)
    assert [row[6] for row in nodes] == [node.fate for node in trace.beam.nodes]
    assert trace.terms is not None
    stack = trace.terms.stacks[0]
    expected = [*np.moveaxis(stack.values[0, :, 0], 0, -1).reshape(-1, 6).T]
    rows = numbers(page, "terms", "terms")
    most = float(np.abs(stack.logits[0]).max()) + float(np.abs(stack.values[0]).max())
    close([row[1:7] for row in rows], np.stack(expected, -1), 1e-3 + most / 1e4)
    cell = page.locator("#view-terms .sum tbody td:first-of-type").all_inner_texts()
    close([cell[:6]], [stack.values[0, :, 0, 0, 0]], 1e-3 + most / 1e4)
    sums = [[row[7], row[8]] for row in rows]
    close(sums, np.stack([stack.logits[0, 0].ravel()] * 2, -1), 1e-3 + most / 1e4)


def test_keys_outside_the_window_are_masked(show: Callable[..., Any]) -> None:
    one = inspect(bundle(transformer(window=4)), "The old woman sees 12 dogs.")
    page = show(one.to_html())
    page.locator("#tab-terms").click()
    for kind in ("encoder", "decoder"):
        page.locator(f"#view-terms [data-stack={kind}]").click()
        attention = one.attention_of(kind)
        assert attention is not None
        assert len(numbers(page, "terms", "terms")) == np.count_nonzero(attention.weights[0, 0])


def test_only_undivided_sines_are_compared_with_the_formula(show: Callable[..., Any]) -> None:
    shapes = transformer(), replace(KINDS["convolutional"], positions="sinusoidal")
    for shape, compared in zip(shapes, (1, 0), strict=True):
        page = show(inspect(bundle(shape), "The old woman sees 12 dogs.").to_html())
        page.locator("#tab-positions").click()
        assert page.get_by_text("greatest difference between this table").count() == compared


def test_words_are_gathered(show: Callable[..., Any], trace: Trace) -> None:
    page = show(trace.to_html())
    page.locator("#tab-attention").click()
    page.locator("[data-kind=cross]").click()
    page.locator("[data-unit=words]").click()
    layers = len(trace.attention[2].weights)
    page.locator(f"#view-attention [data-layer='{layers - 2}'][data-head='mean']").click()
    shown = numbers(page, "attention", "attention")
    assert trace.alignment is not None
    words = [row[: len(trace.source.words)] for row in shown[: len(trace.target.words)]]
    close(words, trace.alignment, 1e-4)  # the same sums, made in Python


def test_the_cell_under_the_cursor(show: Callable[..., Any], trace: Trace) -> None:
    page = show(trace.to_html())
    page.locator("#tab-attention").click()
    page.locator("[data-kind=encoder]").click()
    page.locator("#view-attention [data-layer='0'][data-head='0']").click()
    page.locator("#view-attention canvas[role=application]").focus()
    for key in ("PageUp", "Home", "ArrowDown", "ArrowRight", "ArrowRight"):
        page.keyboard.press(key)
    readout = page.locator("#view-attention .readout:visible").inner_text()
    assert float(readout.split(": ")[1]) == pytest.approx(trace.attention[0].weights[0, 0, 1, 2], abs=1e-4)
    assert trace.source.tokens[1].text in readout


def test_alternatives_of_a_token(show: Callable[..., Any], trace: Trace) -> None:
    page = show(trace.to_html())
    page.locator("[data-step='2']").focus()
    page.keyboard.press("Enter")
    rows = page.locator(".alternatives tbody tr").all_inner_texts()
    assert len(rows) == 20
    for row, one in zip(rows, trace.steps[2].alternatives, strict=True):
        assert f"{one.probability:.4f}" in row


def test_text_stays_text(show: Callable[..., Any]) -> None:
    page = show(inspect(bundle(transformer()), HOSTILE, target=HOSTILE).to_html())
    for view in VIEWS:
        page.locator(f"#tab-{view}").click()
    assert page.locator("img").count() == 0
    assert page.locator("h1").inner_text() == HOSTILE
    assert HOSTILE in page.title()


@pytest.mark.parametrize("base", [10000.0, 100.0])
def test_the_laboratory_without_a_model(show: Callable[..., Any], base: float) -> None:
    lab = laboratory(16, 12, base=base)
    page = show(report([], lab, base=base))
    assert page.locator("[role=tab]").all_inner_texts() == ["Positions", "Complexity"]
    close(numbers(page, "positions", "positions"), lab.tables[0].values, 1e-4)
    rings = [row[2:4] for row in numbers(page, "positions", "rings")]
    position = int(page.locator("#view-positions input[aria-label=Position]").input_value())
    table = lab.tables[0].values[position]
    close(rings, np.stack((table[1::2], table[0::2]), -1), 1e-4)
    shift = page.locator("#view-positions").inner_text()
    rotated, there = re.search(
        r"R\(k\) · PE\(pos\)\s*(\(.*?\)).*?= (\(\S+, \S+\))", shift, re.DOTALL
    ).groups()  # type: ignore[union-attr]
    assert rotated == there
    difference = re.search(r"greatest over all 8 rings: (\S+)", shift)
    assert difference is not None
    assert float(difference[1]) < 1e-12


@pytest.mark.parametrize(
    "kind", ["transformer-t5-all", "transformer-rotary-all", *[k for k in KINDS if "trans" not in k]]
)
def test_other_models(show: Callable[..., Any], kind: str) -> None:
    page = show(inspect(bundle(KINDS[kind]), "The dog 你好 sees.", max_extra_tokens=2).to_html())
    for view in VIEWS:
        page.locator(f"#tab-{view}").click()
        assert len(page.locator(f"#view-{view}").inner_text()) > 20


def test_two_side_by_side(show: Callable[..., Any], trace: Trace) -> None:
    other = inspect(bundle(KINDS["lstm"] if "lstm" in KINDS else transformer()), "A dog.", max_extra_tokens=2)
    page = show(trace.to_html(other))
    for view in VIEWS:
        page.locator(f"#tab-{view}").click()
        assert page.locator(f"#view-{view}").is_visible()
    page.locator("#tab-translation").click()
    assert page.locator("#view-translation .sentence").count() == 4


def test_a_run_beside_the_untouched_one(show: Callable[..., Any]) -> None:
    pair = bundle(transformer(), beam=4)
    change = Intervention.of(without=["cross.2.1"], force=["2=Hund"])
    both = contrast(pair, "The old woman sees 12 dogs.", change, max_extra_tokens=3)
    page = show(both.to_html())
    assert page.locator("[role=tab]").first.inner_text() == "Difference"
    assert page.locator(".changes li").all_inner_texts()[0] == "Cross layer 2, head 1 is off"
    assert page.locator(".changes li").all_inner_texts()[1] == "Step 2 is “Hund”"
    for i, tokens in enumerate((both.of_untouched, both.of_changed)):
        rows = page.locator("#view-difference table").nth(i).locator("tbody tr").all()
        cells = [row.locator("td").all_inner_texts()[:2] for row in rows]
        wanted = [(token.before, token.after) for token in tokens]
        wanted.append((sum(one for one, _ in wanted), sum(other for _, other in wanted)))
        close(cells, wanted, 1e-4)
    marked = page.locator("#view-difference del").count(), page.locator("#view-difference ins").count()
    assert marked == tuple(
        sum(end - first for first, end in ranges)
        for ranges in ([one.before for one in both.words], [one.after for one in both.words])
    )
    for view in ("difference", *VIEWS):
        page.locator(f"#tab-{view}").click()
        assert page.locator(f"#view-{view}").is_visible()
    page.locator("#tab-attention").click()
    page.locator("[data-kind=cross]").click()
    assert page.locator("#view-attention .heads .off").count() == 1


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_nothing_serious_for_those_who_cannot_see(
    show: Callable[..., Any], trace: Trace, scheme: str
) -> None:
    from axe_playwright_python import sync_playwright as axe

    page = show(trace.to_html(), color_scheme=scheme, bypass_csp=True)
    for view in VIEWS:
        page.locator(f"#tab-{view}").click()
        found = axe.Axe().run(page).response["violations"]
        serious = [
            (one["id"], one["nodes"][0]["html"]) for one in found if one["impact"] in ("serious", "critical")
        ]
        assert serious == []


def test_a_phone(show: Callable[..., Any], trace: Trace) -> None:
    page = show(trace.to_html(), viewport={"width": 360, "height": 740})
    for view in VIEWS:
        page.locator(f"#tab-{view}").click()
        assert page.evaluate("document.documentElement.scrollWidth") <= 360


def test_paper_has_every_view(show: Callable[..., Any], trace: Trace) -> None:
    page = show(trace.to_html())
    page.emulate_media(media="print")
    for view in VIEWS:
        page.locator(f"#view-{view}").wait_for()  # until it is visible
    assert page.locator(".controls:visible").count() == 0


def test_a_notebook_frame(show: Callable[..., Any], trace: Trace, browser: Any, tmp_path: Path) -> None:
    path = tmp_path / "notebook.html"
    path.write_text(
        f"<!doctype html><meta charset=utf-8><title>n</title>{trace._repr_html_()}", encoding="utf-8"
    )
    page = browser.new_page()
    page.set_default_timeout(120_000)
    page.goto(path.as_uri())
    frame = page.frame_locator("iframe")
    frame.locator("#tab-beam").click()
    assert frame.locator("#view-beam svg.beam").is_visible()
    page.close()
