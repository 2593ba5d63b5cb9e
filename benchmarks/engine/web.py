"""Measure the engine as WebAssembly, in Node and headless Chromium, against the native engine on one core.

    python benchmarks/engine/web.py --model runs/demo --text test.en [--lines 500] [--rounds 3]

Prints source words per second of each, the median of interleaved rounds with least and greatest: of processor
time for the native engine and Node, of elapsed time for Chromium, which has processes of its own. Then how
long the first translation takes after the bytes of the model are there, loading included, and the memory of
Node's process.
"""

from __future__ import annotations

import argparse
import base64
import json
import shutil
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from playwright.sync_api import sync_playwright

from dragoman.text.tokenizers.tokenizer import Tokenizer
from dragoman.translation.native.native import NativeEngine
from dragoman.translation.native.web.wasm import MODULE, engine_wasm
from dragoman.translation.search.engine import Request
from dragoman.translation.search.options import Beam

# Returns the seconds of `now`, and the milliseconds from the bytes to the first translation.
_MEASURE = """
async function measure(files, wasm, dtype, beam, lines, now, worker) {
    const begin = performance.now();
    const translator = await load(files, {wasm, dtype, ...worker});
    await translator.translate(lines.slice(0, 1), {beam});
    const first = performance.now() - begin;
    await translator.translate(lines.slice(0, 100), {beam}); // until the code is optimised
    const before = now();
    await translator.translate(lines, {beam});
    const seconds = now() - before;
    translator.close();
    return {seconds, first};
}
"""
_NODE = """
import {readFileSync, readdirSync} from "node:fs";
const {load} = await import(process.argv[2]);
MEASURE
const {folder, wasm, dtype, beam, lines} = JSON.parse(readFileSync(0, "utf8"));
const read = (name) => [name, new Uint8Array(readFileSync(folder + "/" + name))];
const files = Object.fromEntries(readdirSync(folder).map(read));
const now = () => { const {user, system} = process.cpuUsage(); return (user + system) / 1e6; };
const found = await measure(files, readFileSync(wasm), dtype, beam, lines, now, {worker: false});
console.log(JSON.stringify({...found, peak: process.resourceUsage().maxRSS / 1024}));
"""
_PAGE = """<!doctype html><meta charset=utf-8><script type="module">MODULE
MEASURE
const bytes = (text) => Uint8Array.from(atob(text), (one) => one.charCodeAt(0));
const given = GIVEN, wasm = bytes(given.wasm);
const files = Object.fromEntries(Object.entries(given.files).map(([name, text]) => [name, bytes(text)]));
window.run = (dtype, beam, lines) => measure(files, wasm, dtype, beam, lines, () => performance.now() / 1000);
</script>"""


def native(folder: Path, dtype: str, beam: int, lines: list[str]) -> dict[str, float]:
    engine, tokenizer = NativeEngine.load(folder, dtype=dtype, threads=1), Tokenizer.load(folder)
    before = time.process_time()
    sources = [tuple(one) for one in tokenizer.encode_source(lines)]
    requests = [Request(source=one, how=Beam(size=beam), max_tokens=len(one) + 50) for one in sources]
    for _, found in engine.search(requests):
        tokenizer.decode(found[0].tokens)
    return {"seconds": time.process_time() - before}


def node(folder: Path, dtype: str, beam: int, lines: list[str]) -> dict[str, float]:
    task = {"folder": str(folder), "wasm": str(engine_wasm()), "dtype": dtype, "beam": beam, "lines": lines}
    with tempfile.TemporaryDirectory() as place:
        script = Path(place, "measure.mjs")
        script.write_text(_NODE.replace("MEASURE", _MEASURE), encoding="utf-8")
        command = ["node", str(script), MODULE.as_uri()]
        run = subprocess.run(command, input=json.dumps(task), capture_output=True, text=True, check=True)
    measured: dict[str, float] = json.loads(run.stdout)
    return measured


def page(folder: Path) -> str:
    def encoded(path: Path) -> str:
        return base64.b64encode(path.read_bytes()).decode()

    given = {"wasm": encoded(engine_wasm()), "files": {one.name: encoded(one) for one in folder.iterdir()}}
    text = _PAGE.replace("MODULE", MODULE.read_text(encoding="utf-8")).replace("MEASURE", _MEASURE)
    return text.replace("GIVEN", json.dumps(given))


def show(words: int, runs: list[dict[str, float]]) -> str:
    rates = sorted(words / one["seconds"] for one in runs)
    row = f"{statistics.median(rates):,.0f} ({rates[0]:,.0f}-{rates[-1]:,.0f})"
    if "first" in runs[0]:
        row += f" | {statistics.median(one['first'] for one in runs):.0f} ms"
    return row + (f" | {max(one['peak'] for one in runs):.0f} MB" if "peak" in runs[0] else "")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--model", type=Path, required=True)
    parser.add_argument("--text", type=Path, required=True)
    parser.add_argument("--lines", type=int, default=500)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    lines = options.text.read_text(encoding="utf-8").splitlines()[: options.lines]
    words = sum(len(line.split()) for line in lines)
    path = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))))
    with sync_playwright() as driver, tempfile.TemporaryDirectory() as place:
        opened = driver.chromium.launch(executable_path=path, args=["--no-sandbox"]).new_page()
        opened.set_default_timeout(600_000)
        file = Path(place, "page.html")
        file.write_text(page(options.model), encoding="utf-8")
        opened.goto(file.as_uri())
        opened.wait_for_function("Boolean(window.run)")

        def chromium(_folder: Path, *given: Any) -> dict[str, float]:
            measured: dict[str, float] = opened.evaluate("(given) => run(...given)", list(given))
            return measured

        contenders: tuple[Callable[..., dict[str, float]], ...] = (native, node, chromium)
        print("| type, beam | where | words/s | first translation | peak memory |")
        print("| --- | --- | --- | --- | --- |")
        for dtype in ("float32", "int8"):
            for beam in (1, 4):
                rounds = [
                    [run(options.model, dtype, beam, lines) for run in contenders]
                    for _ in range(options.rounds)
                ]
                for run, measured in zip(contenders, zip(*rounds, strict=True), strict=True):
                    print(f"| {dtype}, {beam} | {run.__name__} | {show(words, list(measured))} |", flush=True)


if __name__ == "__main__":
    main()
