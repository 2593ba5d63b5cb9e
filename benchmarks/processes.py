"""Train one model in one process and in several, and compare the losses of every report.

    python benchmarks/processes.py [--processes 2 4] [--updates 40] [--folder FOLDER] [OPTION=VALUE ...]

A model trains on the embedded corpus, in float32 and with dropout. Every run has as many batches in an update
as the largest number of processes; a single process accumulates them. OPTION=VALUE are options of
`dragoman train` for all runs, such as training.optimizer=muon. The processes run on this machine, with one
thread each.

Prints for each run the largest relative difference of a training loss and of a validation loss from the run
with one process: in the first tenth of the updates, and in all. Also prints the CPU time of all processes
including their start. Exits with 1 if a run fails.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from dragoman.base.tables import aligned
from dragoman.text import toy

MODEL = ["model.d_model=128", "model.d_ff=512", "model.heads=4", "model.encoder_layers=2"]
OPTIONS = [
    *MODEL,
    *("model.decoder_layers=2", "model.dropout=0.1", "tokenizer.vocab_size=1000"),
    *("training.precision=fp32", "training.batch_tokens=500", "training.log_every=1", "training.clip=1.0"),
    *("training.schedule=inverse-sqrt", "training.learning_rate=0.001", "training.warmup=20"),
]


@dataclass(frozen=True)
class Outcome:
    """What a run reported."""

    losses: list[float]
    validations: list[float]
    seconds: float  # of the processors


def text(folder: Path) -> list[str]:
    """Write training and validation text. Return the words of the command that name them."""
    pairs = toy.pairs(seed=1, count=2200)
    for name, part in (("train", pairs[:2000]), ("valid", pairs[2000:])):
        for place, side in enumerate(("en", "de")):
            lines = "".join(f"{pair[place]}\n" for pair in part)
            (folder / f"{name}.{side}").write_text(lines, encoding="utf-8")
    files = [str(folder / name) for name in ("train.en", "train.de", "valid.en", "valid.de")]
    return [*files[:2], "--valid", *files[2:]]


def run(folder: Path, files: list[str], processes: int, options: list[str]) -> Outcome:
    """Train, and read what the run reported. Raises SystemExit if it fails."""
    start = [sys.executable, "-m", "dragoman"]
    if processes > 1:
        torchrun = ["torch.distributed.run", "--standalone", f"--nproc-per-node={processes}"]
        start = [sys.executable, "-m", *torchrun, "-m", "dragoman"]
    words = ["train", *files, "-o", str(folder), "--preset=tiny", "--quiet", *OPTIONS, *options]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run([*start, *words], env=os.environ | {"OMP_NUM_THREADS": "1"}, check=False)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode:
        raise SystemExit(1)
    rows = [json.loads(line) for line in (folder / "metrics.jsonl").read_text("utf-8").splitlines()]
    return Outcome(
        losses=[row["loss"] for row in rows if row["kind"] == "train"],
        validations=[row["loss"] for row in rows if row["kind"] == "valid"],
        seconds=after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime,
    )


def difference(ours: list[float], theirs: list[float]) -> str:
    return f"{max(abs(a - b) / b for a, b in zip(ours, theirs, strict=True)):.1e}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--processes", type=int, nargs="+", default=[2, 4])
    parser.add_argument("--updates", type=int, default=40)
    parser.add_argument("--folder", type=Path, help="where the runs are kept; by default they are deleted")
    parser.add_argument("options", nargs="*", metavar="OPTION=VALUE")
    chosen = parser.parse_args()
    batches = max(chosen.processes)
    with tempfile.TemporaryDirectory() as temporary:
        folder = chosen.folder or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        files = text(folder)
        table = [["processes", "weights", "first tenth", "training", "validation", "CPU s"]]
        alone = None
        for parallel in ("replicated", "sharded"):
            for count in [1, *chosen.processes] if alone is None else chosen.processes:
                options = [
                    *(
                        f"training.max_updates={chosen.updates}",
                        f"training.validate_every={chosen.updates // 2}",
                    ),
                    *(f"training.accumulate={batches // count}", f"training.parallel={parallel}"),
                    *chosen.options,
                ]
                outcome = run(folder / f"{parallel}-{count}", files, count, options)
                alone = alone or outcome
                tenth = max(1, chosen.updates // 10)
                table.append(
                    [
                        *(str(count), parallel, difference(outcome.losses[:tenth], alone.losses[:tenth])),
                        difference(outcome.losses, alone.losses),
                        difference(outcome.validations, alone.validations),
                        f"{outcome.seconds:.0f}",
                    ]
                )
    print("\n".join(aligned(table, right=range(2, 6))))


if __name__ == "__main__":
    main()
