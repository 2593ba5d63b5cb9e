"""Train the model of the course and write it to src/dragoman/course/model.

    OMP_NUM_THREADS=1 python recipes/course/make_model.py

It writes text of the embedded grammar, and runs `dragoman train`, `model quantize` and `evaluate` on it. The
folder of the run, by default runs/course, keeps checkpoints, so the same command resumes. On one make of
processor, one thread gives the same weights, bit for bit. The digest that is printed last tells.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
from pathlib import Path

from dragoman.base.jobs import digest_of_file
from dragoman.training.runs.demo import write_text

ROOT = Path(__file__).parents[2]
RECIPE = "recipes/course/model.toml"


def main() -> None:
    """Train, quantise, score."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--run", type=Path, default=Path("runs/course"), help="text, checkpoints")
    parser.add_argument("-o", "--output", type=Path, default=Path("src/dragoman/course/model"))
    chosen = parser.parse_args()
    os.chdir(ROOT)  # the card of the model shows paths
    text, trained = chosen.run / "text", chosen.run / "trained"
    write_text(text)
    dragoman("train", "--recipe", RECIPE, "--data", text, "-o", trained)
    shutil.rmtree(chosen.output, ignore_errors=True)
    dragoman("model", "quantize", trained, "-o", chosen.output)
    dragoman("evaluate", chosen.output, text / "test.en", text / "test.de")
    print(digest_of_file(chosen.output / "model.safetensors"))


def dragoman(*words: str | Path) -> None:
    """Run a command."""
    subprocess.run([sys.executable, "-m", "dragoman", *map(str, words)], check=True)


if __name__ == "__main__":
    main()
