"""Make the pictures of README and docs from a model folder, with Chromium.

python docs/pictures/make.py runs/multi30k-en-de "A man rides a bike through the snow."
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from pathlib import Path

from playwright.sync_api import sync_playwright

from dragoman import Translator
from dragoman.inspection.pictures import beam_svg

HERE = Path(__file__).parent


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
        browser.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
