"""Measure a translation memory: its speed and size, and its effect on a model.

    python benchmarks/memory.py speed SOURCE TARGET QUERIES [--pairs 100000]
    python benchmarks/memory.py quality MODEL MEMORY TEST.en TEST.de

`speed` imports the pairs of two files of lines, looks up the lines of a third, and compares the results with
the best match of all pairs. Files may be gzipped. If there are fewer pairs than requested, lines are repeated
with other numbers. Prints the size, times and memory, and how many of the best matches are found. Times are
for one thread: wall time, and processor time, which other programs disturb less.

`quality` translates a test set with and without a memory, and prints BLEU by similarity of a line's best
match. Equal lines get the translation of the memory. The others differ only if the model reads matches. The
memory may be a .tmx or .tsv file. It must not contain the test set.
"""

from __future__ import annotations

import argparse
import os
import resource
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from pathlib import Path

import numpy as np
from rapidfuzz import process
from rapidfuzz.distance import Levenshtein

from dragoman import Translation, Translator
from dragoman.base.tables import aligned
from dragoman.evaluation.metrics import score_corpus
from dragoman.text.corpora.lines import read_lines
from dragoman.text.guidance import LEAST
from dragoman.translation.memory.exchange import open_memory
from dragoman.translation.memory.similarity import LONGEST, likeness, single_spaced
from dragoman.translation.memory.store import TranslationMemory
from dragoman.translation.memory.store_file import Remembered

_BANDS = ((100.0, "100"), (85.0, "85-99"), (70.0, "70-84"), (0.0, "< 70"))


def speed(source: Path, target: Path, queries: Path, pairs: int, count: int) -> None:
    """Print how long importing, looking up and adding take, and how often the best match is found."""
    asked = [line for line in dict.fromkeys(map(single_spaced, read_lines(queries))) if line][:count]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "memory.tm")
        with TranslationMemory.create(path, source_language="en", target_language="de") as memory:
            before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
            wall, own = time.perf_counter(), time.process_time()
            added = memory.extend(Remembered(*pair) for pair in islice(numbered(source, target), pairs))
            wall, own = time.perf_counter() - wall, time.process_time() - own
            grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
            print(f"{added.new:,} pairs imported in {wall:.1f} s, {own:.1f} s of the processor")
            print(f"the process grew by {grown / 1024:.0f} MB")
        size = os.path.getsize(path)
        lines = list(islice(numbered(source, target), pairs))
        text = sum(len(side.encode()) for pair in lines for side in pair)
        print(f"size {size / 1e6:.1f} MB, of which text {text / 1e6:.1f} MB")
        with TranslationMemory(path) as memory:
            found = [memory.search(line, most=1) for line in asked]
            scores = [one[0].score if one else 0.0 for one in found]
            rows = [["milliseconds", "median", "95 of 100", "processor, median"]]
            rows += timed("search", [lambda line=line: memory.search(line, most=1) for line in asked])
            rows += timed("exact", [lambda line=line: memory.exact(line) for line in asked])
            rows += timed(
                "add", [lambda n=n: memory.add(f"A new line, number {n}.", "Neu.") for n in range(100)]
            )
            print("\n".join(aligned(rows, right=(1, 2, 3))))
    best = best_of_all(asked, list(dict.fromkeys(single_spaced(pair[0]) for pair in lines)))
    expected = [number for number, score in enumerate(best) if score >= LEAST]
    right = sum(scores[number] >= best[number] for number in expected)
    print(f"the best match of all is found for {right} of {len(expected)} lines that have one")


def numbered(source: Path, target: Path) -> Iterator[tuple[str, str]]:
    """Yield the pairs, then again with a number at the end."""
    for turn in range(1000):
        end = f" {turn}" if turn else ""
        for a, b in zip(read_lines(source), read_lines(target), strict=True):
            if a and b:
                yield a + end, b + end


def timed(name: str, calls: Sequence[Callable[[], object]]) -> list[list[str]]:
    """Return a row of times in milliseconds."""
    wall, own = [], []
    for call in calls:
        start, begun = time.perf_counter(), time.process_time()
        call()
        wall.append(1000 * (time.perf_counter() - start))
        own.append(1000 * (time.process_time() - begun))
    wall.sort()
    figures = statistics.median(wall), wall[int(0.95 * len(wall))], statistics.median(own)
    return [[name, *(f"{figure:.2f}" for figure in figures)]]


def best_of_all(queries: Sequence[str], segments: Sequence[str]) -> list[float]:
    """Return the highest likeness of each query with any segment, 0 below the least. Compares all of them."""
    best = []
    least = 2 * LEAST / 100 - 1  # of the characters, if all words are equal
    for query in queries:
        if len(query) > LONGEST:
            best.append(0.0)
            continue
        by_characters = process.cdist(
            [query], segments, scorer=Levenshtein.normalized_similarity, score_cutoff=least, dtype=np.float32
        )[0]
        highest = 0.0
        for number in np.argsort(-by_characters):
            if 50 * (1 + float(by_characters[number])) + 0.01 < max(highest, LEAST):
                break
            highest = max(highest, likeness(query, segments[number], LEAST))
        best.append(highest)
    return best


def quality(model: Path, path: Path, source: Path, reference: Path) -> None:
    """Print BLEU by the likeness of the best match, with and without the memory."""
    plain = Translator.load(model)
    lines, references = list(read_lines(source)), list(read_lines(reference))
    with open_memory(path, (plain.source_language, plain.target_language)) as memory:
        helped = plain.using(memory=memory)
        reads = "reads" if "matches" in plain.reads else "does not read"
        print(f"{memory.about().pairs:,} pairs; the model {reads} matches")
        without, with_memory = plain.translate(lines), helped.translate(lines)
    rows = [["match", "lines", "BLEU without", "BLEU with", "difference"]]
    for number, (least, name) in enumerate(_BANDS):
        most = _BANDS[number - 1][0] if number else 101.0
        chosen = [n for n, one in enumerate(with_memory) if least <= score_of(one) < most]
        rows.append(row(name, chosen, references, without, with_memory))
    rows.append(row("all", range(len(lines)), references, without, with_memory))
    print("\n".join(aligned(rows, right=(1, 2, 3, 4))))


def score_of(translation: Translation) -> float:
    return 0.0 if translation.match is None else translation.match.score


def row(
    name: str,
    chosen: Sequence[int],
    references: Sequence[str],
    without: Sequence[Translation],
    with_memory: Sequence[Translation],
) -> list[str]:
    """Return a row of the table, for the lines with these numbers."""
    if not chosen:
        return [name, "0", "", "", ""]
    own = [references[n] for n in chosen]
    first, second = (
        score_corpus([side[n].text for n in chosen], [own], metrics=("bleu",), bootstrap=0).bleu.value
        for side in (without, with_memory)
    )
    return [name, str(len(chosen)), f"{first:.1f}", f"{second:.1f}", f"{second - first:+.1f}"]


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parts = parser.add_subparsers(required=True)
    fast = parts.add_parser("speed", help="speed, size, and how often the best match is found")
    fast.add_argument("files", type=Path, nargs=3, metavar="FILE", help="sources, translations, queries")
    fast.add_argument("--pairs", type=int, default=100_000)
    fast.add_argument("--queries", type=int, default=200)
    fast.set_defaults(run=lambda options: speed(*options.files, options.pairs, options.queries))
    good = parts.add_parser("quality", help="BLEU with and without the memory, by match")
    good.add_argument("files", type=Path, nargs=4, metavar="FILE", help="model, memory, test set, reference")
    good.set_defaults(run=lambda options: quality(*options.files))
    options = parser.parse_args()
    options.run(options)


if __name__ == "__main__":
    main()
