"""Measure a corpus larger than memory: tokenise it, and start training on it.

    python benchmarks/corpora.py [--pairs 1000000] [--epoch-pairs 5000000 20000000] [--shards 8]
        [--workers 1 2] [--folder FOLDER]

The text is the embedded corpus, repeated with a different number in every sentence each time, so that all
pairs differ. It is written in shards compressed with Zstandard. Each step runs in its own process.

Prints a line for each step: the tokenizer, the tokens with each number of workers, and the start of the
second epoch up to its tenth update, for one corpus and for two that are mixed. Each has its seconds, pairs
per second, processor seconds, and peak memory: of the process, of the process without mapped files, and of
the largest worker. Larger epochs (--epoch-pairs) repeat the same tokens. Exits with 1 if the tokens depend on
the number of workers.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import itertools
import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from dragoman.base import machine
from dragoman.base.tables import aligned
from dragoman.text import toy
from dragoman.text.corpora.corpus import open_corpus
from dragoman.text.corpora.filter import FilterConfig
from dragoman.text.tokenizers.tokenizer import Tokenizer, TokenizerConfig
from dragoman.training.data.tokenised import TokenisedCorpus, tokenise

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

DIFFERENT = 30_000  # pairs of the embedded corpus that are repeated
BATCH_TOKENS, UPDATES = 25_000, 10
HEADS = ("step", "s", "pairs/s", "processor s", "peak MB", "of it not files", "largest worker MB")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--pairs", type=int, default=1_000_000)
    parser.add_argument("--epoch-pairs", type=int, nargs="+", default=[])
    parser.add_argument("--shards", type=int, default=8)
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 2])
    parser.add_argument(
        "--folder", type=Path, help="where to write; it is kept, and text that it has is used"
    )
    parser.add_argument("--step", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.step:
        print(json.dumps(measured(options.step, options.folder)))
        return
    with contextlib.ExitStack() as stack:
        folder = options.folder or Path(stack.enter_context(tempfile.TemporaryDirectory()))
        write_text(folder, options.pairs, options.shards)
        size = sum(path.stat().st_size for path in folder.glob("*.zst"))
        rows = [[*HEADS]]
        steps = ["tokenizer", *(f"tokenise {count}" for count in options.workers)]
        for count in [options.pairs, *options.epoch_pairs]:
            steps += [f"epoch {count}", f"mixed {count}"]
        for step in steps:
            name, _, count = step.partition(" ")
            if name == "epoch":
                repeat_tokens(folder, options.workers[0], int(count))
            result = run_step(step, folder)
            rows.append([step, *row_of(result, int(count) if name in ("epoch", "mixed") else options.pairs)])
            print("  ".join(rows[-1]), file=sys.stderr)
        tokens = [digest_of(folder / f"tokens{count}") for count in options.workers]
        print(
            f"{options.pairs:,} pairs in {options.shards} shards, {size / 1e6:,.0f} MB compressed;"
            f" {machine.cores()} cores, {machine.processor()}; load {os.getloadavg()[0]:.1f}\n"
        )
        print("\n".join(aligned(rows, right=range(1, len(HEADS)))))
        if len(set(tokens)) > 1:
            raise SystemExit("the tokens depend on the number of workers")


def write_text(folder: Path, pairs: int, shards: int) -> None:
    """Write the shards, unless they are there."""
    folder.mkdir(parents=True, exist_ok=True)
    note = folder / "text.json"
    if note.exists() and json.loads(note.read_text()) == [pairs, shards]:
        return
    base = toy.splits(train=DIFFERENT, valid=8, test=8).train
    each = -(-pairs // shards)
    for shard in range(shards):
        numbers = range(shard * each, min((shard + 1) * each, pairs))
        for side, language in enumerate(("en", "de")):
            with zstd.open(folder / f"train-{shard:03d}.{language}.zst", "wb", level=1) as file:
                for first in range(numbers.start, numbers.stop, 10_000):
                    some = range(first, min(first + 10_000, numbers.stop))
                    text = "".join(f"{base[n % DIFFERENT][side]} {n // DIFFERENT}\n" for n in some)
                    file.write(text.encode())
    note.write_text(json.dumps([pairs, shards]))


def repeat_tokens(folder: Path, workers: int, pairs: int) -> None:
    """Write the tokens of so many pairs: those of the text, repeated."""
    source, target = folder / f"tokens{workers}", folder / "repeated"
    target.mkdir(exist_ok=True)
    shutil.copy(source / "about.json", target)
    for name in ("source.tokens", "target.tokens"):
        offsets = np.fromfile(source / f"{name}.offsets", np.int64)
        values = (source / name).read_bytes()
        width, rows = len(values) // int(offsets[-1]), len(offsets) - 1
        with (target / name).open("wb") as to, (target / f"{name}.offsets").open("wb") as ends:
            ends.write(bytes(8))
            for first in range(0, pairs, rows):
                count = min(rows, pairs - first)
                to.write(values[: width * int(offsets[count])])
                ends.write((offsets[1 : count + 1] + first // rows * offsets[-1]).tobytes())


def run_step(step: str, folder: Path) -> dict[str, Any]:
    """Do a step in a process of its own."""
    command = [sys.executable, __file__, "--step", step, "--folder", str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{step} failed:\n{done.stderr}")
    result: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return result


def row_of(result: dict[str, Any], pairs: int) -> list[str]:
    figures = [f"{result['seconds']:.1f}", f"{pairs / result['seconds']:,.0f}", f"{result['cpu']:.1f}"]
    return figures + [f"{result[key] / 1e6:,.0f}" for key in ("peak", "anonymous", "worker")]


def measured(step: str, folder: Path) -> dict[str, Any]:
    """The seconds and the memory of a step."""
    began, peaks = time.monotonic(), {"peak": 0, "anonymous": 0, "worker": 0}
    with watching(peaks):
        do(step, folder)
    times = os.times()
    cpu = times.user + times.system + times.children_user + times.children_system
    return {"seconds": time.monotonic() - began, "cpu": cpu, **peaks}


def do(step: str, folder: Path) -> None:
    name, _, count = step.partition(" ")
    if name == "tokenizer":
        pairs = ((line.source, line.target) for line in text_of(folder))
        Tokenizer.train(pairs, TokenizerConfig(vocab_size=2000)).save(folder)
        return
    tokenizer = Tokenizer.load(folder)
    if name == "tokenise":
        target = folder / f"tokens{count}"
        shutil.rmtree(target, ignore_errors=True)
        tokenise(text_of(folder), tokenizer, FilterConfig(), target, workers=int(count))
        return
    begin_epoch(TokenisedCorpus(folder / "repeated", tokenizer), mixed=name == "mixed")


def begin_epoch(corpus: TokenisedCorpus, *, mixed: bool) -> None:
    """Read the pairs of the first updates of the second epoch."""
    from dragoman.training.data.batches import updates_of
    from dragoman.training.data.mixture import Mixture, Weighted

    halves = Weighted(corpus, len(corpus) // 2), Weighted(corpus, 2 * len(corpus))
    text = Mixture(halves) if mixed else corpus
    source, target = text.epoch(1, seed=1)
    updates = updates_of(source, target, batch_tokens=BATCH_TOKENS, seed=1, epoch=1, each=1)
    for groups in itertools.islice(updates, UPDATES):
        for group in groups:
            for row in group:
                source[row].sum(), target[row].sum()


def text_of(folder: Path) -> Any:
    return open_corpus([folder / "train-*.en.zst", folder / "train-*.de.zst"])


def digest_of(folder: Path) -> str:
    digest = hashlib.blake2b()
    for path in sorted(folder.iterdir()):
        values = np.memmap(path, np.uint8, "r") if path.stat().st_size else np.empty(0, np.uint8)
        for first in range(0, len(values), 1 << 24):
            digest.update(values[first : first + (1 << 24)].tobytes())
    return digest.hexdigest()


@contextmanager
def watching(peaks: dict[str, int]) -> Iterator[None]:
    """Note the peaks of the memory of this process and of the processes that it starts (Linux)."""
    over = threading.Event()

    def watch() -> None:
        while not over.wait(0.1):
            own = status_of("self")
            peaks["peak"] = max(peaks["peak"], own.get("VmRSS", 0))
            peaks["anonymous"] = max(peaks["anonymous"], own.get("RssAnon", 0))
            for task in Path("/proc/self/task").iterdir():
                with contextlib.suppress(OSError):
                    for child in (task / "children").read_text().split():
                        peaks["worker"] = max(peaks["worker"], status_of(child).get("VmRSS", 0))

    thread = threading.Thread(target=watch)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def status_of(process: str) -> dict[str, int]:
    """The sizes in /proc/PROCESS/status in bytes."""
    with contextlib.suppress(OSError):
        lines = Path(f"/proc/{process}/status").read_text().splitlines()
        return {line.split(":")[0]: 1024 * int(line.split()[1]) for line in lines if line.endswith(" kB")}
    return {}


if __name__ == "__main__":
    main()
