"""Compare engines on one model of Firefox: how many lines are equal, and source words a second.

    python benchmarks/interop/firefox.py FOLDER --text test.en [--lines 1000] [--rounds 3] [--threads 1]
        [--bergamot PACKAGE] [--chromium]

FOLDER holds the files of a Firefox model, such as `dragoman export --to firefox` writes. PACKAGE is the
unpacked npm package @browsermt/bergamot-translator, with {"type": "commonjs"} in worker/package.json, which
Node needs.

Prints, for each engine, the lines that equal fxtranslate's and bergamot's, with and without the shortlist,
and words a second of processor time, the median of rounds in turns with least and greatest. dragoman's engine
runs natively and as WebAssembly in Node. With --chromium, it and bergamot also run in headless Chromium, in
seconds of the clock. Each translates whole lines greedily, in 8 bit.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from dragoman.interop.imports import import_model
from dragoman.interop.marian import files
from dragoman.translation.native.web.wasm import MODULE, engine_wasm

_OURS = """
import json, sys, time
from dragoman.translation.translator import Translator
folder, shortlist, threads = sys.argv[1], sys.argv[2] == "1", int(sys.argv[3])
translator = Translator.load(folder, engine="native")
lines = sys.stdin.read().split("\\n")[:-1]
how = {"beam": 1, "split": False, "protect": False, "shortlist": shortlist}
translator.translate(lines[:50], **how)
before = time.process_time()
found = [one.text for one in translator.translate(lines, **how)]
print(json.dumps([found, time.process_time() - before]))
"""
_FXTRANSLATE = """
import json, sys, time, fxtranslate
read = lambda path: open(path, "rb").read() if path else None
translator = fxtranslate.Translator(*map(read, sys.argv[1:5]))
lines = sys.stdin.read().split("\\n")[:-1]
[translator.translate(line) for line in lines[:50]]
before = time.process_time()
found = [translator.translate(line) for line in lines]
print(json.dumps([found, time.process_time() - before, translator.backend()]))
"""
_NODE = """
import {readFileSync, readdirSync} from "node:fs";
const [module, folder, wasm, shortlist] = process.argv.slice(2);
const {load} = await import(module);
const read = (name) => [name, new Uint8Array(readFileSync(folder + "/" + name))];
const files = Object.fromEntries(readdirSync(folder).map(read));
const translator = await load(files, {wasm: readFileSync(wasm), dtype: "int8", worker: false});
const lines = readFileSync(0, "utf8").split("\\n").slice(0, -1);
const how = {beam: 1, shortlist: shortlist === "1"};
await translator.translate(lines.slice(0, 50), how);
const before = process.cpuUsage();
const found = await translator.translate(lines, how);
const {user, system} = process.cpuUsage(before);
console.log(JSON.stringify([found.map((one) => one[0].text), (user + system) / 1e6]));
translator.close();
"""
_CHROMIUM = {
    "dragoman": """
async ({lines, files, shortlist}) => {
    const {load} = await import("/engine.js");
    const bytes = async (name) => new Uint8Array(await (await fetch(name)).arrayBuffer());
    const read = async (name) => [name, await bytes("/model/" + name)];
    const model = Object.fromEntries(await Promise.all(files.map(read)));
    const translator = await load(model, {wasm: await bytes("/engine.wasm"), dtype: "int8", worker: false});
    const how = {beam: 1, shortlist};
    await translator.translate(lines.slice(0, 50), how);
    const before = performance.now();
    const found = await translator.translate(lines, how);
    const seconds = (performance.now() - before) / 1000;
    translator.close();
    return [found.map((one) => one[0].text), seconds];
}""",
    "bergamot": """
async ({lines, model, lexicon, vocabularies}) => {
    const {BatchTranslator, TranslatorBacking} = await import("/package/translator.js");
    const get = async (name) => (await fetch("/firefox/" + name)).arrayBuffer();
    const buffer = async (name) => name ? get(name) : new ArrayBuffer(0);
    class Local extends TranslatorBacking {
        async loadModelRegistery() { return [{from: "xx", to: "yy", files: {}}]; }
        async loadTranslationModel() {
            const vocabs = await Promise.all(vocabularies.map(buffer));
            const files = {model: await buffer(model), shortlist: await buffer(lexicon), vocabs};
            return {...files, qualityModel: null, config: {}};
        }
    }
    const options = {workers: 1, pivotLanguage: null};
    const translator = new BatchTranslator(options, new Local(options));
    const translate = (text) => translator.translate({from: "xx", to: "yy", text, html: false});
    await Promise.all(lines.slice(0, 50).map(translate));
    const before = performance.now();
    const found = await Promise.all(lines.map(translate));
    const seconds = (performance.now() - before) / 1000;
    await translator.delete();
    return [found.map((one) => one.target.text), seconds];
}""",
}


class _Silent(SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        """Keep quiet."""


def in_chromium(site: Path, script: str, given: dict[str, object]) -> tuple[list[str], float]:
    """Run a script of the site in a new Chromium."""
    from playwright.sync_api import sync_playwright

    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(_Silent, directory=str(site)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        page = browser.new_page()
        page.set_default_timeout(3_600_000)
        page.goto(f"http://127.0.0.1:{server.server_port}/index.html")
        found, seconds = page.evaluate(script, given)
        browser.close()
    server.shutdown()
    return [line.strip() for line in found], seconds


def site_of(place: Path, model: Path, package: Path) -> Path:
    """A folder with all that the scripts for Chromium fetch."""
    shutil.copytree(place / "model", place / "site/model")
    shutil.copytree(model.parent, place / "site/firefox")
    shutil.copytree(package, place / "site/package")
    shutil.copy(MODULE, place / "site/engine.js")
    shutil.copy(engine_wasm(), place / "site/engine.wasm")
    (place / "site/index.html").write_text("<!doctype html><title>engines</title>", encoding="utf-8")
    return place / "site"


def run(command: list[str], lines: list[str], threads: int) -> tuple[list[str], float]:
    text = "".join(f"{line}\n" for line in lines)
    environment = {**os.environ, "OMP_NUM_THREADS": str(threads)}
    done = subprocess.run(command, input=text, capture_output=True, text=True, env=environment, timeout=3600)
    if done.returncode:
        sys.exit(f"{command[:3]}: {done.stderr[-2000:]}")
    found, seconds, *more = json.loads(done.stdout.splitlines()[-1])
    if more:
        print("fxtranslate:", *more)
    return [line.strip() for line in found], seconds


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--text", type=Path, required=True)
    parser.add_argument("--lines", type=int, default=1000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--bergamot", type=Path)
    parser.add_argument("--chromium", action="store_true")
    options = parser.parse_args()
    if options.chromium and not options.bergamot:
        parser.error("--chromium needs --bergamot")
    text = [" ".join(line.split()) for line in options.text.read_text(encoding="utf-8").splitlines()]
    lines = [line for line in text if line][: options.lines]
    words = sum(len(line.split()) for line in lines)
    found = files.find(options.folder)
    with tempfile.TemporaryDirectory() as place:
        ours = str(Path(place, "model"))
        import_model(str(options.folder), Path(ours), verified=False)
        script = Path(place, "ours.mjs")
        script.write_text(_NODE, encoding="utf-8")
        bergamot = str(Path(__file__).with_name("bergamot.mjs"))
        site = site_of(Path(place), found.model, options.bergamot) if options.chromium else None
        for shortlist in (True, False):
            lexicon = str(found.shortlist) if shortlist and found.shortlist else ""
            paths = [str(found.model), *map(str, found.vocabularies)]
            shared = paths[1:2] if paths[1] == paths[2] else paths[1:]
            flag = str(int(shortlist))
            contenders: dict[str, Callable[[], tuple[list[str], float]]] = {
                "dragoman": lambda f=flag: run(
                    [sys.executable, "-c", _OURS, ours, f, str(options.threads)], lines, options.threads
                ),
                "fxtranslate": lambda x=(*paths, lexicon): run(
                    [sys.executable, "-c", _FXTRANSLATE, *x], lines, options.threads
                ),
                "dragoman, Node": lambda f=flag: run(
                    ["node", str(script), MODULE.as_uri(), ours, str(engine_wasm()), f], lines, 1
                ),
            }
            if options.bergamot is not None:
                command = [
                    "node",
                    bergamot,
                    str(options.bergamot.resolve()),
                    paths[0],
                    lexicon or "/dev/null",
                    *shared,
                ]
                contenders["bergamot, Node"] = lambda c=command: run(c, lines, 1)
            if site is not None:
                given: dict[str, object] = {
                    "lines": lines,
                    "files": [one.name for one in (site / "model").iterdir() if one.is_file()],
                    "shortlist": shortlist,
                    "model": found.model.name,
                    "lexicon": Path(lexicon).name,
                    "vocabularies": [Path(one).name for one in shared],
                }
                for name, code in _CHROMIUM.items():
                    contenders[f"{name}, Chromium"] = partial(in_chromium, site, code, given)
            rounds = [{name: one() for name, one in contenders.items()} for _ in range(options.rounds)]
            print(f"{len(lines)} lines, {words} words, {'with' if shortlist else 'without'} the shortlist")
            peers = [name for name in contenders if "dragoman" not in name]
            print("| engine |", " | ".join(f"equal to {name}" for name in peers), "| words/s |")
            print("| --- |", "--- | " * (len(peers) + 1))
            for name in contenders:
                equal = [
                    sum(a == b for a, b in zip(rounds[0][name][0], rounds[0][peer][0], strict=True))
                    for peer in peers
                ]
                rates = sorted(words / each[name][1] for each in rounds)
                rate = f"{statistics.median(rates):,.0f} ({rates[0]:,.0f}-{rates[-1]:,.0f})"
                print(f"| {name} |", " | ".join(map(str, equal)), f"| {rate} |", flush=True)


if __name__ == "__main__":
    main()
