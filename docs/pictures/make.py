"""Make the pictures of README and docs from a model folder, with Chromium.

python docs/pictures/make.py runs/multi30k-en-de "A man rides a bike through the snow."
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from playwright.sync_api import sync_playwright

from dragoman import Translator
from dragoman.inspection.views.pictures import beam_svg

HERE = Path(__file__).parent
SERVER = "http://127.0.0.1:5098"
TEXT = "A young woman is riding a bike along the beach. Two dogs play in the snow."
WORD = 4  # of the translation, counted from 0: others are offered for it


def main(folder: str, sentence: str) -> None:
    trace = Translator.load(folder).inspect(sentence, name=Path(folder).absolute().name)
    (HERE / "beam.svg").write_text(beam_svg(trace), encoding="utf-8")
    with tempfile.TemporaryDirectory() as scratch, sync_playwright() as driver:
        report = Path(scratch) / "report.html"
        report.write_text(trace.to_html(), encoding="utf-8")
        browser = driver.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        for scheme in ("light", "dark"):
            page = browser.new_page(color_scheme=scheme, viewport={"width": 1160, "height": 860})
            page.goto(report.as_uri())
            for view in ("translation", "attention"):
                page.locator(f"#tab-{view}").click()
                page.mouse.move(0, 0)
                page.wait_for_timeout(500)
                page.screenshot(path=HERE / f"{view}-{scheme}.png")
        served = [sys.executable, "-m", "dragoman", "serve", folder, "--port", SERVER[-4:], "--quiet"]
        server = subprocess.Popen(served, stderr=subprocess.DEVNULL)
        try:
            translating(browser)
        finally:
            server.terminate()
            server.wait()
            browser.close()


def translating(browser: Any) -> None:
    """The page of the server."""
    subprocess.run(
        ["curl", "-sf", "--retry", "60", "--retry-all-errors", "--retry-delay", "1", f"{SERVER}/ready"],
        check=True,
    )
    for scheme in ("light", "dark"):
        page = browser.new_page(color_scheme=scheme, viewport={"width": 1100, "height": 460})
        page.goto(SERVER)
        page.locator("#source-text").fill(TEXT)
        page.wait_for_timeout(3000)
        box = page.locator("#target .under .word").nth(WORD).bounding_box()
        page.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
        page.wait_for_timeout(1500)
        page.screenshot(path=HERE / f"page-{scheme}.png")


if __name__ == "__main__":
    main(*sys.argv[1:])
