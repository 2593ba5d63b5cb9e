"""Time from opening a page in Chromium to its first translation, and the memory of the page.

    dragoman course -o course.html
    dragoman export runs/demo --to html -o demo.html
    python benchmarks/pages.py course.html demo.html

Prints the median and range of several turns for each file. A turn starts Chromium anew and opens the file
from disk, without a network. The memory is the most that the process of the page has held (VmHWM, Linux).
"""

from __future__ import annotations

import argparse
import re
import shutil
import statistics
import time
from pathlib import Path

from playwright.sync_api import Browser, sync_playwright

TURNS = 7
SENTENCE = "A dog sleeps."


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("pages", nargs="+", type=Path)
    parser.add_argument("--turns", type=int, default=TURNS)
    chosen = parser.parse_args()
    with sync_playwright() as driver:
        for page in chosen.pages:
            turns = []
            for _ in range(chosen.turns):
                with driver.chromium.launch(
                    executable_path=shutil.which("chromium"), args=["--no-sandbox"]
                ) as browser:
                    turns.append(measure(browser, page))
            seconds, megabytes = (sorted(values) for values in zip(*turns, strict=True))
            print(
                f"{page.name}: {page.stat().st_size / 1e6:.1f} MB, first translation after "
                f"{statistics.median(seconds):.2f} s ({seconds[0]:.2f}-{seconds[-1]:.2f}), "
                f"{statistics.median(megabytes):.0f} MB of memory"
            )


def measure(browser: Browser, file: Path) -> tuple[float, float]:
    """Return the seconds until the first translation, and the megabytes of the page's process."""
    page = browser.new_context(offline=True).new_page()
    begin = time.perf_counter()
    page.goto(file.resolve().as_uri() + "#words")
    if page.locator("#course").count():
        page.locator("#translation:not(:empty)").wait_for(timeout=120_000)
    else:
        page.fill("#source-text", SENTENCE)
        page.locator("#target .part").first.wait_for(state="attached", timeout=120_000)
    seconds = time.perf_counter() - begin
    processes = browser.new_browser_cdp_session().send("SystemInfo.getProcessInfo")["processInfo"]
    held = [
        int(re.findall(r"VmHWM:\s+(\d+)", Path(f"/proc/{one['id']}/status").read_text())[0])
        for one in processes
        if one["type"] == "renderer"
    ]
    return seconds, max(held) / 1024


if __name__ == "__main__":
    main()
