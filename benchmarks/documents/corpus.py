"""Collect real files of every format out of public packages, and translate them.

    python benchmarks/documents/corpus.py FOLDER

Downloads the packages that `collecting.py` names into FOLDER, once, and prints a table. For each kind of
file: how many were read, how many refused and why, how many come back byte for byte without a change
(packages: part for part), how many stay whole when hostile translators write into them, and how many of
those another program reads as before.

A file passes the hostile translators if ours reads each new file again and finds its bytes again; a file
with both languages must also have as many segments. It passes another program if that sees the same
structure and no more faults than in the original. Translators write into some files of each kind, the small
ones.

Needs the packages that `messages.py` and `readers.py` import, msgfmt, msgunfmt, lrelease of Qt 6, and php.
"""

from __future__ import annotations

import argparse
import io
import re
import time
import warnings
import zipfile
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

from collecting import collect
from pretenders import pretend
from readers import READERS

from dragoman.base.errors import DragomanError
from dragoman.documents.formats import FORMATS, Format, Languages, document_format
from dragoman.documents.segment import Document, Replacing
from dragoman.documents.translate import translate_document

ALL = Replacing(retranslate=True, approved=True, final=True, locked=True)
TRANSLATORS = ("plain", 0), ("hostile", 0), ("hostile", 1), ("hostile", 2)
LARGE = 60_000  # bytes; larger files meet translators only where a kind has no smaller ones, a few
FEW = 4


@dataclass
class Result:
    """What happened to one file."""

    path: Path
    refused: str = ""
    segments: int = 0
    translated: bool = False  # some met translators
    faults: list[tuple[str, str]] = field(default_factory=list)  # of identity, hostile or other; and which
    readable: bool = False  # the other program reads the original
    seconds: float = 0.0


def run(kind: str, path: Path, translated: bool) -> Result:
    """Read one file, and translate it in several ways if wanted."""
    warnings.simplefilter("ignore")
    began = time.process_time()
    result = Result(path, translated=translated)
    try:
        examine(kind, path.read_bytes(), result)
    except Exception as error:  # a crash is what is looked for
        result.faults.append(("hostile", f"crash: {type(error).__name__}: {error}"))
    result.seconds = time.process_time() - began
    return result


def examine(kind: str, data: bytes, result: Result) -> None:
    try:
        known = document_format(result.path, data)
        languages, document = opened(known, data)
    except DragomanError as error:
        result.refused = re.sub(
            r"(line|paragraph|byte|column) [\d,]+(: )?|'[^']*'|\"[^\"]*\"", "", str(error)
        ).strip()[:90]
        return
    result.segments = len(document.segments)
    if not same(document.render([None] * result.segments), data):
        result.faults.append(("identity", "other bytes"))
    if not result.translated:
        return
    name, reader = READERS.get(kind, ("", None))
    seen, before = None, 0
    if reader is not None:
        try:
            seen, before = reader(data)
            result.readable = True
        except Exception:  # any program may refuse its own kind of file
            pass
    for kind_of_translator, seed in TRANSLATORS if len(data) < LARGE else TRANSLATORS[:2]:
        who = f"{kind_of_translator} {seed}"
        translator = pretend(kind_of_translator, seed, languages.source, languages.target)
        try:
            new, _, _ = translate_document(
                translator, known.parse(data, languages), replacing=ALL, labels=known.has_labels
            )
            again = known.parse(new, languages)
            if known.bilingual and len(again.segments) != result.segments:
                result.faults.append(
                    ("hostile", f"{who}: {len(again.segments)} segments, not {result.segments}")
                )
            if not same(again.render([None] * len(again.segments)), new):
                result.faults.append(("hostile", f"{who}: no identity of the new file"))
        except DragomanError as error:
            result.faults.append(("hostile", f"{who}: refused: {error}"))
            continue
        if result.readable and reader is not None:
            try:
                now, after = reader(new)
            except Exception as error:
                result.faults.append(
                    ("other", f"{who}: {name} cannot read it: {type(error).__name__}: {error}"[:300])
                )
                continue
            if now != seen:
                result.faults.append(("other", f"{who}: {name} sees another structure"))
            if after > before:
                result.faults.append(("other", f"{who}: {name} finds {after} faults, not {before}"))


def opened(known: Format, data: bytes) -> tuple[Languages, Document]:
    """Read a document in the languages that it has."""
    languages = Languages("en", "de")
    for _ in range(3):
        try:
            return languages, known.parse(data, languages)
        except DragomanError as error:
            if (found := re.search(r"is '([^']+)', not '([^']+)'", str(error))) is None:
                raise
            source = languages.source if found[2] == languages.target else found[1]
            target = found[1] if found[2] == languages.target else languages.target
            languages = Languages(source, target)
    return languages, known.parse(data, languages)


def same(new: bytes, old: bytes) -> bool:
    """Whether two files are equal, or two packages part for part."""
    if new == old or not old.startswith(b"PK"):
        return new == old
    with zipfile.ZipFile(io.BytesIO(new)) as one, zipfile.ZipFile(io.BytesIO(old)) as other:
        return one.namelist() == other.namelist() and all(
            one.read(name) == other.read(name) for name in other.namelist()
        )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("--kinds", nargs="*", help="only these")
    parser.add_argument("--most", type=int, default=60, help="files of a kind that translators write into")
    parser.add_argument("--processes", type=int, default=2)
    options = parser.parse_args()
    files = collect(options.folder)
    kinds = [kind for kind in files if not options.kinds or kind in options.kinds]
    began = time.perf_counter()
    rows = list[str]()
    with ProcessPoolExecutor(options.processes) as pool:
        waiting = {}
        for kind in kinds:
            small = [one for one in files[kind] if one.stat().st_size < LARGE]
            chosen = spread(small, options.most) or spread(files[kind], FEW)
            waiting[kind] = [pool.submit(run, kind, path, path in chosen) for path in files[kind]]
        for kind, futures in waiting.items():
            results = [one.result() for one in futures]
            rows.append(row(kind, results))
            show(kind, results)
    print(f"\n{time.perf_counter() - began:.0f} s; formats: {', '.join(FORMATS)}\n")
    print("| files | tried | read | refused | identity | hostile | another program sees the same |")
    print("| --- | ---: | ---: | --- | ---: | ---: | --- |")
    print("\n".join(rows))


def spread(paths: list[Path], most: int) -> set[Path]:
    """Some of the paths, at equal distances."""
    return set(paths[:: -(-len(paths) // most) or 1])


def row(kind: str, results: list[Result]) -> str:
    read = [one for one in results if not one.refused]
    met = [one for one in read if one.translated]
    passed = {
        fault: sum(fault not in {kind for kind, _ in one.faults} for one in some)
        for fault, some in (("identity", read), ("hostile", met))
    }
    readable = [one for one in read if one.readable]
    others = sum("other" not in {kind for kind, _ in one.faults} for one in readable)
    name = READERS[kind][0] if kind in READERS else "none"
    reasons = Counter(re.sub(r"[\d:.,]+", "…", one.refused)[:50].strip() for one in results if one.refused)
    why = ", ".join(f"{count} `{reason}`" for reason, count in reasons.most_common(2))
    return (
        f"| `{kind}` | {len(results)} | {len(read)} | {why or 0} |"
        f" {passed['identity']} | {passed['hostile']} of {len(met)} | {others} of {len(readable)}, {name} |"
    )


def show(kind: str, results: list[Result]) -> None:
    """Print the faults, and the slowest file."""
    for one in results:
        for fault, what in one.faults:
            print(f"{kind}: {fault}: {what}\n    {one.path}")
    for reason, count in Counter(one.refused for one in results if one.refused).items():
        print(
            f"{kind}: {count} refused: {reason}; {next(one.path for one in results if one.refused == reason)}"
        )
    slowest = max(results, key=lambda one: one.seconds)
    total = sum(one.seconds for one in results)
    print(
        f"{kind}: {len(results)} files, {total:.0f} s, slowest {slowest.seconds:.1f} s: {slowest.path}",
        flush=True,
    )


if __name__ == "__main__":
    main()
