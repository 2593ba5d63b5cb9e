"""Split general text into training, validation and test text, without the texts that a model is scored on.

    python benchmarks/general_text.py MIX.en MIX.de -o FOLDER [--without DOMAIN.en DOMAIN.de] [--valid 1500]
        [--test 0] [--apart NEWS.en NEWS.de] [--alike 1]

The first pairs are held out: --valid of them, then --test. A pair leaves the training text if one of its
sides is in a held-out text, or in a text of --without or --apart, which may be given several times; case and
punctuation do not count. Text of --without is not held out either, so use it for a domain that the model must
not see. With --alike 0.8, sides that are this similar to a side of a held-out text or of --apart also count,
measured as in tuning.alike. Files may be gzipped.

Prints the counts. Writes train.LANGUAGE, valid.LANGUAGE and test.LANGUAGE into FOLDER.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterable, Sequence
from pathlib import Path

from dragoman.base.files import write_whole
from dragoman.base.tables import aligned
from dragoman.text.corpora.corpus import Corpus, open_corpus
from dragoman.text.corpora.lines import Line
from dragoman.training.runs.tuning import held_out

Pair = tuple[str, str]


def main() -> None:
    options = arguments()
    text = pairs(options.text)
    domain = sides(pair for files in options.without for pair in pairs(files))
    rest = without(text, domain)
    print(f"{len(text):,} pairs, {len(rest):,} that the domain lacks")
    rows = [["apart from", "pairs", "equal", f"alike at {options.alike:g}"]]
    parts: dict[str, list[Pair]] = {}
    for name, size in (("valid", options.valid), ("test", options.test)):
        if size:
            parts[name] = rest[:size]
            rest, equal, alike = apart(rest[size:], parts[name], options.alike)
            rows.append([name, f"{len(parts[name]):,}", f"{equal:,}", f"{alike:,}"])
    for files in options.apart:
        held = pairs(files)
        rest, equal, alike = apart(rest, held, options.alike)
        rows.append([str(files[0]), f"{len(held):,}", f"{equal:,}", f"{alike:,}"])
    print("\n".join(aligned(rows, right=(1, 2, 3))))
    print(f"{len(rest):,} to train on")
    for name, part in (("train", rest), *parts.items()):
        for side, path in enumerate(options.text):
            language = path.name.removesuffix(".gz").rpartition(".")[2]
            write_whole(options.output / f"{name}.{language}", "".join(f"{pair[side]}\n" for pair in part))


def apart(text: Sequence[Pair], held: Sequence[Pair], alike: float) -> tuple[list[Pair], int, int]:
    """Return the pairs without those that have a side equal to or like one of `held`, and both counts."""
    kept = without(text, sides(held))
    equal = len(text) - len(kept)
    if alike == 1:
        return kept, equal, 0
    corpus = Corpus("text", lambda: (Line(number, *pair) for number, pair in enumerate(kept, 1)))
    corpus, lost = held_out.without(corpus, held, alike=alike)
    return [(line.source, line.target) for line in corpus], equal, lost


def pairs(files: Sequence[Path]) -> list[Pair]:
    return [(line.source, line.target) for line in open_corpus(files)]


def sides(pairs: Iterable[Pair]) -> set[tuple[int, str]]:
    return {(side, words(text)) for pair in pairs for side, text in enumerate(pair)}


def without(pairs: Iterable[Pair], seen: set[tuple[int, str]]) -> list[Pair]:
    return [pair for pair in pairs if not any((side, words(text)) in seen for side, text in enumerate(pair))]


def words(text: str) -> str:
    return re.sub(r"\W+", " ", text.lower()).strip()


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("text", nargs=2, type=Path)
    parser.add_argument("-o", "--output", type=Path, required=True)
    parser.add_argument("--without", nargs=2, type=Path, action="append", default=[])
    parser.add_argument("--valid", type=int, default=1500)
    parser.add_argument("--test", type=int, default=0)
    parser.add_argument("--apart", nargs=2, type=Path, action="append", default=[])
    parser.add_argument("--alike", type=float, default=1.0)
    return parser.parse_args()


if __name__ == "__main__":
    main()
