"""Measure what more time per sentence gains: BLEU, chrF and CPU time of several search methods.

    python benchmarks/quality.py MODEL test.en test.de [--reverse REVERSE_MODEL] [--lines 500]

Prints a row for each method. The time is the CPU time of this process, so the load of the machine changes it
little; `x` is its ratio to `--quality normal`, the model's own search.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from dragoman import Translator
from dragoman.base.tables import aligned
from dragoman.evaluation.metrics import score_corpus
from dragoman.text.corpora.lines import read_lines
from dragoman.translation.search.options import Sample


def ways(reverse: bool) -> Iterator[tuple[str, bool, dict[str, Any]]]:
    """Yield a name, whether the reverse model is used, and the options."""
    yield "fast", False, {"quality": "fast"}
    yield "normal", False, {"quality": "normal"}
    for size in (8, 16):
        yield f"beam {size}", False, {"beam": size}
    for count in (4, 8, 16, 32):
        yield f"mbr chrf, {count} of the beam", False, {"mbr": "chrf", "candidates": count}
    yield "mbr bleu, 16 of the beam", False, {"mbr": "bleu", "candidates": 16}
    for top_p in (0.8, 0.95):
        sample = Sample(top_p=top_p)
        yield f"mbr chrf, 32 draws, p {top_p}", False, {"mbr": "chrf", "candidates": 32, "sample": sample}
    if reverse:
        for weight in (0.3, 0.5):
            yield f"reverse {weight}, 16 of the beam", True, {"reverse_weight": weight}
        yield "mbr chrf and reverse 0.3, 16", True, {"mbr": "chrf", "reverse_weight": 0.3}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("model", type=Path)
    parser.add_argument("source", type=Path)
    parser.add_argument("reference", type=Path)
    parser.add_argument("--reverse", type=Path)
    parser.add_argument("--lines", type=int)
    arguments = parser.parse_args()
    translator = Translator.load(arguments.model)
    reverse = None if arguments.reverse is None else Translator.load(arguments.reverse)
    sources = list(read_lines(arguments.source))[: arguments.lines]
    references = list(read_lines(arguments.reference))[: arguments.lines]
    rows, seconds = [], {}
    for name, backwards, options in ways(reverse is not None):
        translator.reverse = reverse if backwards else None
        start = time.process_time()
        found = [one.text for one in translator.translate(sources, **options)]
        seconds[name] = time.process_time() - start
        scores = score_corpus(
            found,
            references,
            metrics=("bleu", "chrf"),
            bootstrap=0,
            target_language=translator.target_language,
        )
        rows.append([name, f"{scores.bleu.value:.2f}", f"{scores.chrf.value:.2f}"])
    timed = [[*row, f"{seconds[row[0]]:.1f} s", f"{seconds[row[0]] / seconds['normal']:.1f}"] for row in rows]
    print("\n".join(aligned([["way", "BLEU", "chrF", "CPU", "x"], *timed], right=(1, 2, 3, 4))))


if __name__ == "__main__":
    main()
