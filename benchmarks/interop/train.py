"""Trains small models with Marian and with Hugging Face, so that imports are tested on real weights.

    python benchmarks/interop/train.py marian-joint hf-opus --text train.en train.de -o models --minutes 5
    python benchmarks/interop/train.py all --text train.en train.de train.fr train.cs -o models

The first file of `--text` is the source; the others are its translations, line by line, plain or gzipped.
Cases with one target language use the second file. Each case becomes a folder as that program's users
publish it, trained on one core: `marian.py` and `huggingface.py` have the list.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import huggingface
import marian
from material import Limit, Size, Text

CASES = {**marian.CASES, **huggingface.CASES}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("cases", nargs="+", metavar="CASE", choices=[*CASES, "all"], help=", ".join(CASES))
    parser.add_argument("--text", nargs="+", type=Path, required=True, help="source and target files")
    parser.add_argument("-o", "--output", type=Path, required=True, help="folder of the model folders")
    parser.add_argument("--minutes", type=float, default=5.0, help="per model")
    options = parser.parse_args()
    names = list(CASES) if "all" in options.cases else options.cases
    if there := [name for name in names if (options.output / name).exists()]:
        parser.error(f"{options.output} already has {', '.join(there)}")
    text = Text.read(options.text)
    for name in names:
        start = time.perf_counter()
        program = marian if name in marian.CASES else huggingface
        program.train(name, options.output / name, text, Size(), Limit(minutes=options.minutes))
        print(f"{name}: {time.perf_counter() - start:.0f} seconds", flush=True)


if __name__ == "__main__":
    main()
