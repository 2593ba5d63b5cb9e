"""The page of sentence pairs in Chromium: what it shows, what a person changes, and what is saved."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from dragoman.data.align import Bead, Prose
from dragoman.data.bilingual import AlignedDocuments, review_page


@pytest.fixture
def file(tmp_path: Path) -> Path:
    source = Prose(["One & <b>two</b>.", "Three.", "Four.", "Five."], "en")
    target = Prose(["Eins und zwei.", "Drei. Vier.", "Fünf."], "de")
    beads = [
        Bead(0, 1, 0, 1, 3.0, 0.9),
        Bead(1, 2, 1, 2, 3.0, 0.3),
        Bead(2, 3, 2, 2),
        Bead(3, 4, 2, 3, 3.0, 0.8, True),
    ]
    path = tmp_path / "page.html"
    path.write_text(review_page([AlignedDocuments("a b", source, target, beads)], 0.5), encoding="utf-8")
    return path


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_page_is_accessible_on_a_phone(browser: Any, file: Path, scheme: str) -> None:
    axe = pytest.importorskip("axe_playwright_python.sync_playwright")
    context = browser.new_context(
        offline=True, color_scheme=scheme, bypass_csp=True, viewport={"width": 360, "height": 740}
    )
    page = context.new_page()
    page.goto(file.as_uri())
    page.locator(".row").first.wait_for(timeout=5000)
    found = axe.Axe().run(page).response["violations"]

    assert [(one["id"], one["nodes"][0]["html"]) for one in found] == []
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    context.close()


def test_a_person_merges_and_saves(browser: Any, file: Path, tmp_path: Path) -> None:
    context = browser.new_context(offline=True)
    page = context.new_page()
    complaints: list[str] = []
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.goto(file.as_uri())
    first = page.locator(".row").first.inner_text()
    page.get_by_role("button", name="Merge with next, row 2").click()
    with page.expect_download() as download:
        page.get_by_role("button", name="Save .tsv").click()
    download.value.save_as(tmp_path / "saved.tsv")
    page.get_by_role("button", name="Unpair, row 1").click()
    unpaired = page.locator(".row").count()
    page.get_by_role("button", name="Undo").click()

    assert "Three." in first
    assert (tmp_path / "saved.tsv").read_text(encoding="utf-8").splitlines() == [
        "One & <b>two</b>.\tEins und zwei.",
        "Three. Four.\tDrei. Vier.",
        "Five.\tFünf.",
    ]
    assert unpaired == 4
    assert page.locator(".row").count() == 3
    assert complaints == []
    context.close()
