"""Measure the splitter of sentences on corpora with one sentence a line.

    python benchmarks/sentences.py FOLDER           # of corpora; files NAME.LANGUAGE or NAME.LANGUAGE.gz
    python benchmarks/sentences.py FOLDER --show 20 # also some of the faults of each language

Two neighbouring lines that both end in a full stop, a question or an exclamation mark are joined by a space,
Chinese ones by nothing. Prints a row for each file: `missed` counts the joins that are not found, and
`cut` the lines that are divided, although they are one sentence for the corpus.
"""

from __future__ import annotations

import argparse
import collections
import gzip
import random
import re
from collections.abc import Iterator
from pathlib import Path

from dragoman.text.sentences import split_sentences

_END = re.compile(r"[.!?。！？][\"'”’»›“」』)]*$")


def _lines(path: Path) -> list[str]:
    opened = gzip.open if path.suffix == ".gz" else open
    with opened(path, "rt", encoding="utf-8") as file:
        return [line.strip() for line in file.read().split("\n")]


def _corpora(folder: Path, languages: list[str]) -> Iterator[tuple[str, Path]]:
    for path in sorted(folder.rglob("*")):
        language = path.name.removesuffix(".gz").rpartition(".")[2]
        if path.is_file() and language in languages:
            yield language, path


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--languages", nargs="+", default=["en", "de", "fr", "zh"])
    parser.add_argument("--most", type=int, default=10_000, help="lines of each file (default: %(default)s)")
    parser.add_argument("--show", type=int, default=0, help="faults to print for each language")
    given = parser.parse_args()
    counts = collections.Counter[tuple[str, str, str]]()
    faults = collections.defaultdict[tuple[str, str], list[str]](list)
    for language, path in _corpora(given.folder, given.languages):
        of = language, f"{path.parent.name}/{path.name}"
        lines = _lines(path)[: given.most]
        between = "" if language == "zh" else " "
        for one, next_one in zip(lines, [*lines[1:], ""], strict=True):
            if not _END.search(one):
                continue
            counts[*of, "lines"] += 1
            if len(split_sentences(one, language, longest=None)) > 1:
                counts[*of, "cut"] += 1
                faults[language, "cut"].append(one)
            if not _END.search(next_one):
                continue
            counts[*of, "joins"] += 1
            place, places = 0, set[int]()
            for piece in split_sentences(one + between + next_one, language, longest=None):
                place += len(piece)
                places.add(place)
            if len(one + between) not in places:
                counts[*of, "missed"] += 1
                faults[language, "missed"].append(f"{one} | {next_one}")
    rows = sorted({key[:2] for key in counts})
    print("| language | file | lines | cut | joins | missed | one in |\n" + "| --- " * 7 + "|")
    for language in given.languages:
        of_language = [row for row in rows if row[0] == language]
        for row in [*of_language, (language, "all")]:
            lines, cut, joins, missed = (
                sum(counts[*one, what] for one in (of_language if row[1] == "all" else [row]))
                for what in ("lines", "cut", "joins", "missed")
            )
            rate = f"{joins / missed:,.0f}" if missed else "-"
            print(f"| {' | '.join(row)} | {lines:,} | {cut:,} | {joins:,} | {missed:,} | {rate} |")
    chosen = random.Random(1)
    for (language, what), texts in sorted(faults.items()):
        for text in chosen.sample(texts, min(given.show, len(texts))):
            print(f"{language} {what}: {text}")


if __name__ == "__main__":
    main()
