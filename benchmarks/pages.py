"""Measure pages in Chromium: time to the first translation and memory, or whether they translate as Python.

    dragoman course -o course.html
    dragoman export runs/demo --to html -o demo.html
    python benchmarks/pages.py course.html demo.html
    python benchmarks/pages.py --model runs/demo --text test.en [--lines 1000]

Prints the median and range of several turns for each file. A turn starts Chromium anew and opens the file
from disk, without a network. The memory is the most that the process of the page has held (VmHWM, Linux).

With --model, it exports the page, pastes the lines into it, and compares what it shows with `Translator`,
after the sentence splitting of the server: how many lines are equal, and the first that differ. It does so in
int8, and in float32 with a page whose weights are not quantised, which `dragoman export` never writes.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import statistics
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from unittest import mock

from playwright.sync_api import Browser, expect, sync_playwright

from dragoman.interop.html.page import export_page
from dragoman.models.folder import quantisation
from dragoman.models.folder.bundle import load, save
from dragoman.text.segmenter import segment_text
from dragoman.translation.folder.config import read_config
from dragoman.translation.translator import Translator

TURNS = 7
SENTENCE = "A dog sleeps."
PORTION = 15_000  # characters that are pasted at once; a page takes 20,000
ENGINES = {"int8": ("", "portable"), "float32": ("", "portable", "pytorch")}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("pages", nargs="*", type=Path)
    parser.add_argument("--turns", type=int, default=TURNS)
    parser.add_argument("--model", type=Path)
    parser.add_argument("--text", type=Path)
    parser.add_argument("--lines", type=int, default=1000)
    chosen = parser.parse_args()
    if not chosen.pages and not (chosen.model and chosen.text):
        parser.error("pages, or --model and --text")
    with sync_playwright() as driver:

        def chromium() -> Browser:
            return driver.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])

        if chosen.model:
            text = chosen.text.read_text(encoding="utf-8").splitlines()[: chosen.lines]
            with chromium() as browser:
                compare(browser, chosen.model, text)
        for page in chosen.pages:
            turns = []
            for _ in range(chosen.turns):
                with chromium() as browser:
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


def compare(browser: Browser, model: Path, lines: list[str]) -> None:
    """Print how many lines a page translates as each engine of Python does."""
    print(
        f"{model.name}, {len(lines):,} lines\n\n| weights | engine in Python | equal |\n| --- | --- | --- |"
    )
    differing: list[str] = []
    with tempfile.TemporaryDirectory() as place:
        for dtype, folder in folders(model, Path(place)).items():
            page = Path(place, f"{dtype}.html")
            with mock.patch.object(
                quantisation, "quantise_folder", shutil.copytree
            ):  # else float32 becomes int8
                export_page([folder], page, views=())
            shown = in_page(browser, page, lines)
            for engine in ENGINES[dtype]:
                expected = in_python(folder, engine, lines)
                found = [i for i, pair in enumerate(zip(shown, expected, strict=True)) if pair[0] != pair[1]]
                name = engine if engine == "pytorch" else f"native {engine}".strip()
                print(f"| {dtype} | {name} | {len(lines) - len(found):,} |", flush=True)
                for i in found[:5]:
                    differing += [f"{dtype}, {name}, line {i + 1}: {lines[i]}"]
                    differing += [f"    page:   {shown[i]}", f"    Python: {expected[i]}"]
    print("", *differing, sep="\n")


def folders(model: Path, place: Path) -> dict[str, Path]:
    """The model in int8 and in float32."""
    found = {"int8": place / "int8", "float32": place / "float32"}
    if read_config(model).quantised:
        save(load(model), found["float32"])
        return {**found, "int8": model}
    quantisation.quantise_folder(model, found["int8"])
    return {**found, "float32": model}


def in_page(browser: Browser, file: Path, lines: list[str]) -> list[str]:
    """What a person sees who pastes the lines."""
    page = browser.new_context(offline=True).new_page()
    page.goto(file.as_uri())
    translation = page.locator("#target-text")
    found: list[str] = []
    for portion in portions(lines):
        page.fill("#source-text", "")
        expect(translation).to_have_value("")
        page.fill("#source-text", portion)
        expect(translation).not_to_have_value("", timeout=600_000)
        found += translation.input_value().split("\n")
    return found


def in_python(folder: Path, engine: str, lines: list[str]) -> list[str]:
    """The same by `Translator`, with a set of instructions for the native engine, or by PyTorch."""
    native = engine != "pytorch"
    with mock.patch.dict(os.environ, {"DRAGOMAN_INSTRUCTIONS": engine if native else ""}):
        translator = Translator.load(
            folder, engine="native" if native else "pytorch", device=None if native else "cpu"
        )
        found: list[str] = []
        for portion in portions(lines):
            parts = segment_text(portion, translator.source_language, translator.target_language)
            translations = translator.translate(list(parts.sentences), split=False, protect=False)
            found += parts.joined(one.text for one in translations)[0].split("\n")
        return found


def portions(lines: list[str]) -> Iterator[str]:
    """The lines in texts that the page takes."""
    text = ""
    for line in lines:
        if text and len(text) + len(line) >= PORTION:
            yield text
            text = ""
        text += ("\n" if text else "") + line
    yield text


if __name__ == "__main__":
    main()
