"""Make general text for a model that is to be tuned on a domain: all pairs of a text that the domain lacks.

    python benchmarks/general_text.py MIX.en MIX.de -o FOLDER --without DOMAIN.en DOMAIN.de [--valid 1500]

A pair is left out if one of its sides is in a text of --without, which may be given several times; case and
punctuation do not count. The first --valid pairs of the rest are held out, and what has a side in common with
them is left out too. Files may be gzipped.

Prints the counts. Writes train.LANGUAGE and valid.LANGUAGE into FOLDER.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterable, Sequence
from pathlib import Path

from dragoman.text.corpus import open_corpus

Pair = tuple[str, str]


def main() -> None:
    options = arguments()
    text = pairs(options.text)
    domain = sides(pair for files in options.without for pair in pairs(files))
    apart = without(text, domain)
    valid = apart[: options.valid]
    train = without(apart[options.valid :], sides(valid))
    print(f"{len(text):,} pairs, {len(apart):,} that the domain lacks")
    print(f"{len(train):,} to train on, {len(valid):,} to validate with")
    options.output.mkdir(parents=True, exist_ok=True)
    for name, part in (("train", train), ("valid", valid)):
        for side, path in enumerate(options.text):
            language = path.name.removesuffix(".gz").rpartition(".")[2]
            lines = (pair[side] + "\n" for pair in part)
            (options.output / f"{name}.{language}").write_text("".join(lines), encoding="utf-8")


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
    return parser.parse_args()


if __name__ == "__main__":
    main()
