"""The page in a real browser: Chromium, driven by Playwright, with a real server on the loopback."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.serving.studio.lines import RECIPE, line, samples, start, train, valid
from tests.serving.studio.server import serving

PATIENCE = 120_000  # milliseconds
HOSTILE = "<img src=x onerror=document.title=1>"
Show = Callable[..., Any]


@pytest.fixture
def show(browser: Any) -> Iterator[Show]:
    """Opens a page. No test may cause a request to elsewhere, or an error on the console."""
    asked: list[str] = []
    complaints: list[str] = []
    contexts: list[Any] = []
    served: list[str] = []

    def opened(url: str, **options: Any) -> Any:
        served.append(url)
        contexts.append(context := browser.new_context(reduced_motion="reduce", **options))
        page = context.new_page()
        page.set_default_timeout(PATIENCE)
        page.on("request", lambda request: asked.append(request.url))
        page.on(
            "console",
            lambda message: message.type in ("error", "warning") and complaints.append(message.text),
        )
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.goto(url)
        page.wait_for_selector(".runs article")
        return page

    yield opened
    for context in contexts:
        context.close()
    lost = [text for text in complaints if "ERR_CONNECTION_REFUSED" not in text]  # a server that was stopped
    assert lost == []
    assert asked
    assert all(url.startswith(tuple(served)) for url in asked)


@pytest.fixture
def run(tmp_path: Path) -> Path:
    folder = tmp_path / "mine"
    folder.mkdir()
    texts = [start(), *(train(step, nll=4 - step / 50) for step in range(10, 110, 10))]
    texts += [valid(100, 2.25), samples(100, "Eine Katze läuft.")]
    (folder / "metrics.jsonl").write_text("".join(texts))
    (folder / "training.toml").write_text(RECIPE.format(width=64))
    return folder


@pytest.fixture
def other(run: Path) -> Path:
    folder = run.parent / "other"
    shutil.copytree(run, folder)
    (folder / "training.toml").write_text(RECIPE.format(width=128))
    with (folder / "metrics.jsonl").open("a") as file:
        file.write("{broken\n" + line("finish", 100, time=1.7e9, outcome="update 100"))
    return folder


def append(folder: Path, *texts: str) -> None:
    with (folder / "metrics.jsonl").open("a", encoding="utf-8") as file:
        file.write("".join(texts))


def figure(page: Any, title: str) -> Any:
    return page.locator("figure", has=page.locator("b", has_text=re.compile(f"^{title}$")))


def numbers(page: Any, title: str) -> list[list[str]]:
    """The rows of the table of a chart."""
    chart = figure(page, title)
    chart.locator("details").evaluate("one => one.open = true")
    chart.locator("table").wait_for()
    script = "t => [...t.tBodies[0].rows].map(r => [...r.cells].map(c => c.textContent))"
    found: list[list[str]] = chart.locator("table").evaluate(script)
    return found


def test_a_run_that_grows_while_it_is_watched(show: Show, run: Path) -> None:
    with serving(run) as url:
        page = show(url)
        page.get_by_text("100 of 1,000").wait_for()
        assert numbers(page, "Loss")[-1] == ["100", "2.000", "2.250"]
        assert figure(page, "Loss").locator(".readout").inner_text().split("\n")[0] == "last"

        append(run, train(110, nll=1.5), valid(120, 1.75), samples(120, "Eine Katze schläft."))
        page.get_by_text("110 of 1,000").wait_for()
        assert numbers(page, "Loss")[-2:] == [["110", "1.500", ""], ["120", "", "1.750"]]
        row = page.locator("#translations tbody tr").first
        row.get_by_text("= reference").wait_for()
        assert row.locator("mark").all_inner_texts() == ["schläft"]
        assert page.locator("#events tbody tr").first.inner_text().startswith(" best so far\t120")
        assert page.title() == "11% mine"

        append(run, line("stop", 120, time=1.7e9, reason=HOSTILE))
        page.locator(".state.stopped").wait_for()
        assert HOSTILE in page.locator("#events").inner_text()
        assert page.locator("img").count() == 0


def test_pairs_of_languages_have_lines_of_their_own(show: Show, run: Path) -> None:
    with serving(run) as url:
        page = show(url)
        assert figure(page, "BLEU by pair").count() == 0
        append(run, valid(110, directions={"en-de": {"bleu": 30.25}, "de-en": {"bleu": 34.0}}))
        figure(page, "BLEU by pair").wait_for()
        assert numbers(page, "BLEU by pair") == [["110", "34.0", "30.3"]]
        assert figure(page, "BLEU by pair").locator("thead").inner_text().split() == [
            "update",
            "de-en",
            "en-de",
        ]
        assert figure(page, "Loss by pair").count() == 0


def test_broken_files_are_said_and_never_break_the_page(show: Show, run: Path) -> None:
    path = run / "metrics.jsonl"
    whole = path.read_text()
    with serving(run) as url:
        page = show(url)
        append(run, "{broken\n")
        page.get_by_text("1 line is broken and left out.").wait_for()
        path.unlink()
        page.get_by_text("The file is missing. These are its last lines.").wait_for()
        assert len(numbers(page, "Loss")) == 10
        path.write_text(whole[: len(whole) // 2])  # a copy that is not there as a whole
        page.locator(".state.running").wait_for()
        path.write_text(whole + train(110, nll=0.5))
        page.get_by_text("110 of 1,000").wait_for()
        path.write_text(start() + train(10, nll=7.0))  # another run
        page.get_by_text("10 of 1,000", exact=True).wait_for()
        figure(page, "Loss").locator("tbody tr").nth(1).wait_for(state="detached")
        assert numbers(page, "Loss") == [["10", "7.000"]]
        assert "file replaced" in page.locator("#events").inner_text()


def test_the_page_goes_on_when_the_server_comes_back(show: Show, run: Path) -> None:
    with serving(run) as url:
        page = show(url)
        page.get_by_text("100 of 1,000").wait_for()
        port = int(url.rpartition(":")[2])
    page.get_by_text("The server does not answer.").wait_for()
    append(run, train(200))
    with serving(run, port=port):
        page.get_by_text("200 of 1,000").wait_for()
        page.get_by_text("The server does not answer.").wait_for(state="detached")


def test_values_by_keyboard_and_a_closer_look(show: Show, run: Path) -> None:
    append(run, *(train(step, nll=9.0 if step == 1777 else 2.0) for step in range(111, 4000)))
    with serving(run) as url:
        page = show(url)
        page.get_by_text("3,999 of 1,000").wait_for()
        chart = figure(page, "Loss").locator("svg.chart")
        assert any("9.000" in row for row in numbers(page, "Loss"))  # thinned, with its maximum
        chart.focus()
        page.keyboard.press("Home")
        assert chart.get_attribute("aria-valuetext") == "update 10: training 3.800"
        page.keyboard.press("ArrowRight")
        second = numbers(page, "Loss")[1]
        assert chart.get_attribute("aria-valuetext").startswith(f"update {second[0]}: training {second[1]}")
        assert figure(page, "Speed").locator(".readout").inner_text().startswith("update 1")  # as near
        page.keyboard.press("PageUp")
        for _ in range(6):
            page.keyboard.press("+")
            page.wait_for_timeout(300)
        page.get_by_role("button", name="Show all").wait_for()
        near = [int(row[0].replace(",", "")) for row in numbers(page, "Loss")]
        assert max(near) < 600
        assert near[-3:] == [*range(near[-1] - 2, near[-1] + 1)]  # every update is there now
        page.keyboard.press("Escape")
        page.get_by_role("button", name="Show all").wait_for(state="hidden")
        assert int(numbers(page, "Loss")[-1][0].replace(",", "")) == 3999


def test_a_logarithmic_axis_of_a_plateau_has_round_values(show: Show, run: Path) -> None:
    with serving(run) as url:
        ask = "async ([low, high]) => (await import('./scale.js')).ticksOf(low, high, 5, true).ticks"
        found = [show(url).evaluate(ask, ends) for ends in ([2.1, 2.9], [3.2, 3.8], [1, 1000])]
    assert found == [[2.2, 2.4, 2.6, 2.8], [3.2, 3.4, 3.6, 3.8], [1, 10, 100, 1000]]


def test_a_part_is_chosen_by_dragging(show: Show, run: Path) -> None:
    with serving(run) as url:
        page = show(url)
        chart = figure(page, "BLEU").locator("svg.chart")
        chart.scroll_into_view_if_needed()
        box = chart.bounding_box()
        page.mouse.move(box["x"] + 52 + 0.25 * (box["width"] - 68), box["y"] + 60)
        page.mouse.down()
        page.mouse.move(box["x"] + 52 + 0.65 * (box["width"] - 68), box["y"] + 60, steps=4)
        page.mouse.up()
        page.get_by_role("button", name="Show all").wait_for()
        shown = [int(row[0]) for row in numbers(page, "Speed")]
        assert shown == [30, 40, 50, 60]
        page.get_by_role("button", name="Show all").click()
        page.get_by_role("button", name="Show all").wait_for(state="hidden")
        assert len(numbers(page, "Speed")) == 10


def test_two_runs_beside_each_other(show: Show, run: Path, other: Path) -> None:
    from playwright.sync_api import expect

    with serving(run, other) as url:
        page = show(url)
        page.locator(".state.done").wait_for()
        assert page.locator(".runs h3").all_inner_texts() == ["mine", "other"]
        assert page.locator("#recipes tbody tr").all_inner_texts() == ["model.d_model\t64\t128"]
        page.get_by_label("only differences").uncheck()
        assert page.locator("#recipes tbody tr").count() == 4
        heads = figure(page, "BLEU").locator(".readout").inner_text()
        assert "mine" in heads
        assert "other" in heads
        page.locator(".runs article").nth(1).get_by_label("show").uncheck()
        expect(figure(page, "BLEU").locator(".readout")).not_to_contain_text("other", timeout=PATIENCE)
        assert page.locator("#translations tbody tr").count() == 1
        page.get_by_role("button", name="Time").click()
        page.locator(".chart").first.get_by_text("1:00").wait_for()
        assert numbers(page, "Speed")[0][0] == "0:20"
        page.get_by_role("button", name="Logarithmic").click()


def test_without_measurements_the_page_says_so(show: Show, tmp_path: Path) -> None:
    with serving(tmp_path) as url:
        page = show(url)
        page.get_by_text("No metrics.jsonl yet.").wait_for()
        page.get_by_text("No measurements yet.").wait_for()
        page.get_by_text("have recorded no translations").wait_for()
        page.get_by_text("The checkpoints are not on this machine.").wait_for()
        page.get_by_text("No training.toml").wait_for()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_nothing_serious_for_those_who_cannot_see(show: Show, run: Path, other: Path, scheme: str) -> None:
    from axe_playwright_python import sync_playwright as axe

    with serving(run, other) as url:
        page = show(url, color_scheme=scheme, bypass_csp=True)
        page.locator(".state.done").wait_for()
        page.evaluate("document.querySelectorAll('details').forEach((one) => one.open = true)")
        page.wait_for_timeout(500)
        found = axe.Axe().run(page).response["violations"]
        serious = [
            (one["id"], one["nodes"][0]["html"]) for one in found if one["impact"] in ("serious", "critical")
        ]
        assert serious == []


def test_a_phone(show: Show, run: Path, other: Path) -> None:
    with serving(run, other) as url:
        page = show(url, viewport={"width": 360, "height": 740})
        page.locator(".state.done").wait_for()
        page.evaluate("document.querySelectorAll('details').forEach((one) => one.open = true)")
        page.wait_for_timeout(500)
        assert page.evaluate("document.documentElement.scrollWidth") <= 360


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_steps_of_a_pipeline(show: Show, run: Path, tmp_path: Path, scheme: str) -> None:
    from axe_playwright_python import sync_playwright as axe

    rows = {
        "mine": {"state": "done", "seconds": 61.0, "most_memory_mb": 1200, "needs": [], "trains": True},
        "b": {"state": "failed", "seconds": 2.0, "needs": ["mine"], "trains": False},
        "c": {"state": "waiting", "needs": ["b"], "trains": False},
    }
    (tmp_path / "pipeline.json").write_text(json.dumps({"title": "", "steps": rows}))
    (tmp_path / "logs").mkdir()
    (tmp_path / "logs" / "b.log").write_text(f"$ b\n10%\r{HOSTILE}\n")
    with serving(tmp_path) as url:
        page = show(url, color_scheme=scheme, bypass_csp=True, viewport={"width": 360, "height": 740})
        page.locator("#steps tbody tr").nth(3).wait_for()
        shown = [" ".join(text.split()) for text in page.locator("#steps tbody tr").all_inner_texts()]
        assert shown == [
            "mine done 1:01 1,200 MB",
            "b failed 0:02 mine",
            f"$ b {HOSTILE}",
            "c waiting 0:00 b",
        ]
        page.get_by_role("link", name="Steps").wait_for()
        assert page.locator(".runs article").count() == 1
        assert page.evaluate("document.documentElement.scrollWidth") <= 360
        found = axe.Axe().run(page, context="#steps").response["violations"]
        assert [one["id"] for one in found if one["impact"] in ("serious", "critical")] == []
    with serving(run) as url:
        page = show(url)
        assert not page.locator("#steps").is_visible()
        assert page.get_by_role("link", name="Steps").count() == 0
