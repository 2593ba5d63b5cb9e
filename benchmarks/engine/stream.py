"""Measure the cost of a line outside the engine: reading, tokenising, detokenising, ordering, writing.

    python benchmarks/engine/stream.py --model runs/en-de --text test.en [--lines 20000]

The engine is a stub that returns the ids of the source, which in a shared vocabulary are a text of about the
same length. Prints microseconds of CPU time per line of `Translator.stream` and of its parts alone, each the
median of `--rounds`, and the memory of the process during a stream of `--lines`. All lines differ, so none
comes from the cache.
"""

from __future__ import annotations

import argparse
import io
import itertools
import os
import statistics
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from dragoman import Translator
from dragoman.text.tokenizers.tokenizer import Tokenizer
from dragoman.translation.search.engine import NOTHING, Hypothesis, Request


class AtOnce:
    """An engine that answers a source with itself, as soon as it has read `ahead` requests."""

    ahead = 256

    def search(
        self, requests: Iterable[Request], *, batch_tokens: int = 4096, lookahead: int = 4096
    ) -> Iterator[tuple[int, list[Hypothesis]]]:
        numbered = enumerate(requests)
        while batch := list(itertools.islice(numbered, self.ahead)):
            for number, request in batch:
                tokens = tuple(request.source)
                zeros = (0.0,) * (len(tokens) + 1)
                yield number, [Hypothesis(tokens, 0.0, 0.0, zeros, False) if tokens else NOTHING]


def microseconds(run: Callable[[], object], lines: int, rounds: int) -> float:
    """Median of the CPU time of one line: other programs may run beside."""
    times = []
    for _ in range(rounds):
        began = time.process_time()
        run()
        times.append(time.process_time() - began)
    return 1e6 * statistics.median(times) / lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model", type=Path, required=True)
    parser.add_argument("--text", type=Path, required=True)
    parser.add_argument("--lines", type=int, default=20_000)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    read = options.text.read_text(encoding="utf-8").splitlines()
    lines = [f"{line} {number}" for number, line in zip(range(20_000), itertools.cycle(read), strict=False)]
    tokenizer = Tokenizer.load(options.model)
    translator = Translator(tokenizer, AtOnce(), source_language="", target_language="")  # type: ignore[arg-type]
    memory(translator, read, options.lines)
    ids = tokenizer.encode_source(lines)

    def write() -> None:
        out = io.StringIO()
        for translation in translator.stream(iter(lines)):
            out.write(translation.text + "\n")

    def timed(name: str, run: Callable[[], object]) -> None:
        print(f"{name:<34}{microseconds(run, len(lines), options.rounds):8.1f}", flush=True)

    print(f"{len(lines):,} lines, {sum(map(len, ids)) / len(lines):.1f} tokens each; microseconds a line")
    timed("Translator.stream", lambda: sum(1 for _ in translator.stream(iter(lines))))
    timed("... and writing", write)
    timed(
        "... of equal lines",
        lambda: sum(1 for _ in translator.stream(itertools.repeat(lines[0], len(lines)))),
    )
    timed(
        "tokenising, 64 lines a call",
        lambda: [tokenizer.encode_source(lines[i : i + 64]) for i in range(0, len(lines), 64)],
    )
    timed("tokenising, one line a call", lambda: [tokenizer.encode_source([line]) for line in lines])
    timed("text of the tokens", lambda: [tokenizer.decode(one) for one in ids])
    timed("pieces of the tokens", lambda: [tokenizer.target_pieces(one) for one in ids])


def memory(translator: Translator, read: list[str], count: int) -> None:
    """Print the resident memory after each tenth of a stream of `count` different lines."""
    lines = (f"{line} {number}" for number, line in zip(range(count), itertools.cycle(read), strict=False))
    for number, _ in enumerate(translator.stream(lines), 1):
        if number % max(count // 10, 1) == 0:
            print(f"{number:>12,} lines{resident() / 2**20:10.1f} MB", flush=True)


def resident() -> int:
    """Bytes of this process in memory."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


if __name__ == "__main__":
    main()
