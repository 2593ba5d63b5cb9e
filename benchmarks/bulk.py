"""Measure bulk translation on Ray: the start, lines per second, the overhead of a part, memory.

    python benchmarks/bulk.py MODEL [--lines 20000] [--few 1000] [--part-lines 5000] [--small 100]
        [--rounds 3]

Translates lines of the embedded corpus with `dragoman translate`: as one file line by line, in parts in one
process (`dragoman bulk`), and on Ray with 1 and 2 workers of one thread each. Each command runs with `--few`
lines and with all of them, which separates the start from the work, and on Ray once more with parts of
`--small` lines, which gives the cost of a part. The commands take turns. Processor time and memory include
child processes, read from /proc five times a second.

Prints after each round the load of the machine and a line for each command, with medians over the rounds:
seconds with few lines and with all, lines per second of the difference, processor seconds for 1,000 lines of
the difference, processor seconds with few lines, and the peak resident memory of all its processes, which
counts shared pages more than once. Then prints the cost of a part, and a forecast for a million lines on N
workers with one core each: the start, the processor seconds of `dragoman bulk` divided by N, and the seconds
in which one process splits and joins. Seconds mean little on a busy machine.
"""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from dragoman.base import machine
from dragoman.base.tables import aligned
from dragoman.bulk.run import join_parts, parts_of
from dragoman.documents.files import Task
from dragoman.text import toy

TICK, PAGE = os.sysconf("SC_CLK_TCK"), os.sysconf("SC_PAGE_SIZE")
# Name: words of the command, threads
WAYS = {
    "line by line, 1 thread": ([], 1),
    "line by line, 2 threads": ([], 2),
    "here, 1 thread": (["--on", "here"], 1),
    "--on ray, 1 worker": (["--on", "ray", "--workers", "1"], 1),
    "--on ray, 2 workers": (["--on", "ray", "--workers", "2"], 2),
}
RAY = "--on ray, 1 worker"


@dataclass
class Measured:
    """One command."""

    seconds: float
    processor: float  # seconds
    memory: int  # bytes


Results = dict[tuple[str, str], list[Measured]]  # by way and text


def family(ancestor: int) -> dict[int, tuple[float, int]]:
    """Processor seconds and resident bytes of a process and its descendants."""
    stats: dict[int, list[str]] = {}
    for place in Path("/proc").iterdir():
        if place.name.isdecimal():
            try:
                stats[int(place.name)] = (place / "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue  # it has ended
    found, below = {}, [ancestor]
    while below:
        one = below.pop()
        if one in stats:
            fields = stats[one]
            found[one] = (int(fields[11]) + int(fields[12])) / TICK, int(fields[21]) * PAGE
        below += [pid for pid, fields in stats.items() if int(fields[1]) == one]
    return found


def measure(words: list[str], threads: int) -> Measured:
    """Run a command, and watch it."""
    used: dict[int, float] = {}
    peak, start = 0, time.perf_counter()
    process = subprocess.Popen(words, env={**os.environ, "OMP_NUM_THREADS": str(threads)})
    while process.poll() is None:
        now = family(process.pid)
        used |= {pid: seconds for pid, (seconds, _) in now.items()}
        peak = max(peak, sum(memory for _, memory in now.values()))
        time.sleep(0.2)
    if process.returncode:
        raise SystemExit(f"{' '.join(words)}: {process.returncode}")
    return Measured(time.perf_counter() - start, sum(used.values()), peak)


def alone(text: Path, folder: Path, part_lines: int) -> float:
    """Processor seconds of what one process does for all: cutting the file and joining its parts."""
    task = Task(text, folder / "joined", None)
    start = time.process_time()
    parts = parts_of(task, folder / "parts", salt="s", column="text", lines=part_lines)
    cut = time.process_time() - start
    lines = text.read_bytes().splitlines(keepends=True)
    for part in parts:
        body = b"".join(lines[part.first - 1 : part.first - 1 + part.lines])
        Path(part.place).write_bytes(b'{"lines": %d, "truncated": 0, "first": []}\n' % part.lines + body)
    start = time.process_time()
    join_parts(task, parts)
    return cut + time.process_time() - start


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model", metavar="MODEL")
    parser.add_argument("--lines", type=int, default=20_000)
    parser.add_argument("--few", type=int, default=1_000)
    parser.add_argument("--part-lines", type=int, default=5_000)
    parser.add_argument("--small", type=int, default=100)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    print(f"{machine.processor()}, {machine.cores()} cores, load {os.getloadavg()[0]:.1f}")
    folder = Path(tempfile.mkdtemp(prefix="dragoman-bulk-"))
    try:
        run(options, folder)
    finally:
        shutil.rmtree(folder)
    print(f"load {os.getloadavg()[0]:.1f}")


def run(options: argparse.Namespace, folder: Path) -> None:
    lines = [f"{source}\n" for source, _ in toy.pairs(seed=5, count=options.lines)]
    (folder / "all").write_text("".join(lines))
    (folder / "few").write_text("".join(lines[: options.few]))
    results: Results = {}
    for number in range(1, options.rounds + 1):
        for name, (words, threads) in WAYS.items():
            for text in ("few", "all", "small") if name == RAY else ("few", "all"):
                source = folder / ("all" if text == "small" else text)
                command = [
                    sys.executable,
                    "-m",
                    "dragoman",
                    "bulk" if words else "translate",
                    options.model,
                    str(source),
                ]
                size = options.small if text == "small" else options.part_lines
                parts = ["--part-lines", str(size)] if words else []
                command += ["-q", "-o", str(folder / "out"), *words, *parts]
                results.setdefault((name, text), []).append(measure(command, threads))
                (folder / "out").unlink()
        print(f"\nafter round {number}, load {os.getloadavg()[0]:.1f}", flush=True)
        show(results, options, folder)


def show(results: Results, options: argparse.Namespace, folder: Path) -> None:
    def median(name: str, text: str, field: str) -> float:
        return statistics.median(getattr(one, field) for one in results[name, text])

    rows = [["", "s, few", "s, all", "lines/s", "CPU s/1,000", "CPU s, few", "peak MB"]]
    more, costs = options.lines - options.few, {}
    for name in WAYS:
        few, whole = median(name, "few", "seconds"), median(name, "all", "seconds")
        costs[name] = (median(name, "all", "processor") - median(name, "few", "processor")) / more * 1000
        memory = max(one.memory for one in results[name, "all"]) / 1e6
        rows.append(
            [
                name,
                f"{few:.1f}",
                f"{whole:.1f}",
                f"{more / (whole - few):,.0f}",
                f"{costs[name]:.2f}",
                f"{median(name, 'few', 'processor'):.1f}",
                f"{memory:,.0f}",
            ]
        )
    print("\n".join(aligned(rows, right=range(1, 7))))
    extra = options.lines / options.small - options.lines / options.part_lines
    for field, what in (("seconds", "ms"), ("processor", "ms of a processor")):
        cost = (median(RAY, "small", field) - median(RAY, "all", field)) / extra
        print(f"a part costs {cost * 1e3:.0f} {what}, of 1 worker")
    serial = statistics.median(alone(folder / "all", folder, options.part_lines) for _ in range(5))
    serial *= 1e6 / options.lines
    work = costs["here, 1 thread"]  # a worker runs the same code, and Ray's start varies too much
    start = median(RAY, "few", "seconds") - work * options.few / 1000
    print(f"\ncutting and joining a million lines, by one process: {serial:.1f} s; start {start:.1f} s")
    print("a million lines on N workers with a core each, on paper:")
    table = [["workers", "s", "lines/s", "of N times one"]]
    one = start + serial + work * 1000
    for count in (1, 2, 8, 64, 512):
        seconds = start + serial + work * 1000 / count
        table.append([str(count), f"{seconds:,.0f}", f"{1e6 / seconds:,.0f}", f"{one / seconds / count:.0%}"])
    print("\n".join(aligned(table, right=range(4))), flush=True)


if __name__ == "__main__":
    main()
