"""How fast documents of many segments are read and written, and how much memory that takes.

    python benchmarks/documents/size.py [--segments 20000] [FORMAT ...]

Builds a file of each format. A fresh process reads it, writes it without changes, and writes it with every
segment changed: the processor time of each, the median of five runs, and the most memory that the process
held, libraries included. No model takes part.
"""

from __future__ import annotations

import argparse
import io
import json
import os
import platform
import resource
import statistics
import subprocess
import sys
import time
import zipfile
from pathlib import Path

from dragoman.documents.formats import FORMATS, Languages
from dragoman.documents.segment import Result

RUNS = 5
LANGUAGES = Languages("en", "de")
W = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
TYPES = "application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml"


def sentence(number: int) -> str:
    return f"The boat no. {number} leaves the harbour at noon, with {number % 90} nets and a rope."


def po(count: int) -> bytes:
    head = 'msgid ""\nmsgstr "Content-Type: text/plain; charset=UTF-8\\n"\n\n'
    messages = (f'#: boats.c:{n}\nmsgid "{sentence(n)}"\nmsgstr ""\n\n' for n in range(count))
    return (head + "".join(messages)).encode()


def xliff(count: int) -> bytes:
    tag = '<g id="1">boat</g>'
    units = (
        f'<trans-unit id="{n}">\n<source>{sentence(n).replace("boat", tag)}</source>\n</trans-unit>\n'
        for n in range(count)
    )
    return (
        '<?xml version="1.0"?>\n<xliff xmlns="urn:oasis:names:tc:xliff:document:1.2" version="1.2"><file '
        f'original="a" source-language="en"><body>\n{"".join(units)}</body></file></xliff>\n'
    ).encode()


def docx(count: int) -> bytes:
    paragraphs = (
        f'<w:p><w:r><w:t xml:space="preserve">The </w:t></w:r><w:r><w:rPr><w:b/></w:rPr><w:t>boat</w:t></w:r>'
        f'<w:r><w:t xml:space="preserve">{sentence(n).removeprefix("The boat")}</w:t></w:r></w:p>\n'
        for n in range(count)
    )
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as package:
        package.writestr(
            "[Content_Types].xml",
            '<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types"><Override '
            f'PartName="/word/document.xml" ContentType="{TYPES}"/></Types>',
        )
        package.writestr(
            "word/document.xml", f"<w:document {W}><w:body>{''.join(paragraphs)}</w:body></w:document>"
        )
    return file.getvalue()


def csv(count: int) -> bytes:
    return ("key,en,de\n" + "".join(f'{n},"{sentence(n)}",\n' for n in range(count))).encode()


BUILDERS = {"po": po, "xliff": xliff, "docx": docx, "csv": csv}


def measure(name: str, path: Path) -> dict[str, float]:
    """Seconds and megabytes, in this process."""
    data = path.read_bytes()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    seconds: dict[str, list[float]] = {"read": [], "write": [], "write changed": []}
    for _ in range(RUNS):
        start = time.process_time()
        document = FORMATS[name].parse(data, LANGUAGES)
        seconds["read"].append(time.process_time() - start)
        for what, results in (
            ("write", [None] * len(document.segments)),
            (
                "write changed",
                [
                    Result(tuple(part.upper() if isinstance(part, str) else part for part in one.source))
                    for one in document.segments
                ],
            ),
        ):
            start = time.process_time()
            new = document.render(results)  # type: ignore[arg-type]
            seconds[what].append(time.process_time() - start)
            if (new == data) != (what == "write"):
                raise AssertionError(f"{name}: {what} gave another file")
        count = len(document.segments)
        del document, results, new
    return {
        "segments": count,
        **{what: statistics.median(values) for what, values in seconds.items()},
        "MB before": before / 1024,
        "MB": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("formats", nargs="*", metavar="FORMAT", help=", ".join(BUILDERS))
    parser.add_argument("--segments", type=int, default=20_000)
    parser.add_argument("--measure", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.measure:
        print(json.dumps(measure(options.formats[0], options.measure)))
        return
    print(
        f"{platform.processor() or platform.machine()}, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}"
    )
    print(
        f"{'':8}{'segments':>10}{'file MB':>9}{'read s':>9}{'write s':>9}{'changed s':>11}{'s':>8}{'MB':>8}"
    )
    for name in options.formats or BUILDERS:
        path = Path(f"{os.environ.get('TMPDIR', '/tmp')}/size-{os.getpid()}.{name}")
        path.write_bytes(BUILDERS[name](options.segments))
        try:
            done = subprocess.run(
                [sys.executable, __file__, name, "--measure", str(path)],
                capture_output=True,
                text=True,
                check=True,
            )
            size = path.stat().st_size / 1e6
        finally:
            path.unlink()
        row = json.loads(done.stdout)
        total = row["read"] + row["write"] + row["write changed"]
        print(
            f"{name:8}{row['segments']:10,}{size:9.1f}{row['read']:9.2f}{row['write']:9.2f}"
            f"{row['write changed']:11.2f}{total:8.2f}{row['MB']:8.0f}"
        )


if __name__ == "__main__":
    main()
