"""A measured process: run a command with lines as its input, and answer with its time and peak memory.

    python benchmarks/decoding/start.py [--first-line] LINES COMMAND ...

It is small. The system counts the memory of the process that starts another as the other's, until the new
program is loaded, so a large process cannot measure a small one.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--first-line", action="store_true")
    parser.add_argument("lines")
    parser.add_argument("command", nargs=argparse.REMAINDER)
    options = parser.parse_args()
    with (
        open(options.lines, "rb") as file,
        tempfile.TemporaryFile() as source,
        tempfile.TemporaryFile() as errors,
    ):
        source.write(file.readline() if options.first_line else file.read())
        source.seek(0)
        began = time.perf_counter()
        process = subprocess.Popen(options.command, stdin=source, stdout=subprocess.PIPE, stderr=errors)
        written = process.stdout.read() if process.stdout else b""
        _, status, usage = os.wait4(process.pid, 0)
        seconds = time.perf_counter() - began
        source.seek(0)
        expected = source.read().count(b"\n")
        errors.seek(0)
        if status or written.count(b"\n") != expected:
            sys.exit((errors.read().decode(errors="replace").strip().splitlines() or ["no translation"])[-1])
    unit = 1 if sys.platform == "darwin" else 1024
    facts = {
        "seconds": seconds,
        "work": usage.ru_utime + usage.ru_stime,
        "peak_memory": usage.ru_maxrss * unit,
    }
    sys.stdout.write(json.dumps(facts) + "\n")


if __name__ == "__main__":
    main()
