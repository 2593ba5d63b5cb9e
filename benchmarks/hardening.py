"""Measure what noise in the source costs a model trained without it, and one trained with it.

    python benchmarks/hardening.py WORK --data FOLDER [--recipe recipes/multi30k-en-de.toml] [--noise 0.3]
        [--seeds 1 2 3] [--updates 5200] [--test test] [OPTION=VALUE ...]

Trains the recipe, with case, and the same with data.noise, for each seed, and evaluates them with
`dragoman evaluate --noisy` on STEM.SOURCE and STEM.TARGET, next to the recipe's validation text. Both have
training.close_unseen=false, because noise changes targets. The length of a run is in updates, so the results
do not depend on the machine. A repeated command resumes: it skips what is done, and continues what was
stopped.

With the defaults the six runs need about 13 core-hours, three more than the same of the recipe as it is (99
minutes each on one core with AVX-512, see its `cost`), and their evaluation 20 minutes.

Prints for each kind of noise the chrF that the lines lose with it, as a mean over the seeds: of the plain and
of the hardened model, and the part that is left. The goal is at most half on average, without a loss on clean
text beyond two standard errors.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from math import sqrt
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

from dragoman.base.files import write_whole
from dragoman.base.tables import aligned
from dragoman.training.runs.recipe import find_data, resolve

RECIPE = Path(__file__).parents[1] / "recipes" / "multi30k-en-de.toml"
SAME = ("tokenizer.lowercase=false", "training.close_unseen=false", "training.accumulate=2")
Results = dict[str, list[dict[str, Any]]]  # of each model: a seed's output of evaluate each


def measure(arguments: argparse.Namespace) -> Results:
    """Train and evaluate what is missing, and return all results."""
    about = resolve(recipe=arguments.recipe).data
    valid = find_data(about, arguments.data, about.valid)
    text = [str(path.with_name(f"{arguments.test}{path.suffix}")) for path in valid]
    command = [sys.executable, "-m", "dragoman"]
    found: Results = {}
    for name, noise in (("plain", 0.0), ("hardened", arguments.noise)):
        for seed in arguments.seeds:
            model = arguments.work / f"{name}-{seed}"
            result = model / f"noisy-{arguments.test}.json"
            # A finished run has nothing to do, and one with other options is refused.
            options = [*SAME, *arguments.options, f"seed={seed}", f"data.noise={noise}"]
            options.append(f"training.max_updates={arguments.updates}")
            where = ["--recipe", str(arguments.recipe), "--data", str(arguments.data)]
            subprocess.run([*command, "train", *where, "-o", str(model), *options], check=True)
            if not result.exists() or result.stat().st_mtime < (model / "model.safetensors").stat().st_mtime:
                words = ["evaluate", str(model), *text, "--noisy", "--json"]
                write_whole(result, subprocess.check_output([*command, *words]))
            found.setdefault(name, []).append(json.loads(result.read_text()))
    return found


def report(found: Results) -> list[str]:
    """The losses by kind, then the scores without noise."""
    lost = {
        name: {
            row["kind"]: fmean(one["noise"][place]["chrf_lost"] for one in seeds)
            for place, row in enumerate(seeds[0]["noise"])
        }
        for name, seeds in found.items()
    }
    lines = {row["kind"]: row["lines"] for row in found["plain"][0]["noise"]}
    plain, hard = lost["plain"], lost["hardened"]
    rows = [[kind, f"{lines[kind]:,}", *_compared(plain[kind], hard[kind])] for kind in plain]
    mean = fmean(plain.values()), fmean(hard.values())
    rows.append(["mean", "", *_compared(*mean)])
    table = aligned([["noise", "lines", "plain", "hardened", "left"], *rows], right=(1, 2, 3, 4))
    clean = {name: [one["cased"]["chrf"]["value"] for one in seeds] for name, seeds in found.items()}
    errors = [stdev(scores) ** 2 / len(scores) if len(scores) > 1 else 0.0 for scores in clean.values()]
    change = fmean(clean["hardened"]) - fmean(clean["plain"])
    return [
        "chrF lost, mean of the seeds:",
        "",
        *table,
        "",
        *(
            f"clean text, {name}: chrF {', '.join(f'{one:.2f}' for one in scores)}"
            for name, scores in clean.items()
        ),
        f"clean text: {change:+.2f}, two standard errors are {2 * sqrt(sum(errors)):.2f}",
        f"the goal is {'met' if mean[1] <= mean[0] / 2 and change >= -2 * sqrt(sum(errors)) else 'missed'}",
    ]


def _compared(plain: float, hardened: float) -> tuple[str, str, str]:
    return f"{plain:.2f}", f"{hardened:.2f}", f"{hardened / plain:.0%}" if plain > 0 else ""


def main() -> None:
    assert __doc__
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("work", type=Path)
    parser.add_argument("options", nargs="*", metavar="OPTION=VALUE")
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--recipe", type=Path, default=RECIPE)
    parser.add_argument("--noise", type=float, default=0.3)
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3])
    parser.add_argument("--updates", type=int, default=5200)
    parser.add_argument("--test", default="test", metavar="STEM")
    print("\n".join(report(measure(parser.parse_intermixed_args()))))


if __name__ == "__main__":
    main()
