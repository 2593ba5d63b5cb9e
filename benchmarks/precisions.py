"""Whether bf16 learns what float32 learns: final loss and BLEU of some seeds in each, on the embedded corpus.

    python benchmarks/precisions.py [--updates 300] [--seeds 3]

Trains a small model for a while in each precision from each seed; prints both figures of each run, their
means and standard deviations, and the difference of the means beside the noise of the seeds.
"""

from __future__ import annotations

import argparse
import json
import statistics
import tempfile
from pathlib import Path

from dragoman.runs import run
from dragoman.text import toy
from dragoman.training.malloc import keep_freed_memory


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--updates", type=int, default=300)
    parser.add_argument("--seeds", type=int, default=3)
    options = parser.parse_args()
    keep_freed_memory()
    splits = toy.splits(train=20_000, valid=300, test=1)
    found: dict[str, list[tuple[float, float]]] = {"fp32": [], "bf16": []}
    for seed in range(1, options.seeds + 1):
        for precision, results in found.items():
            results.append(train(splits, precision, seed, options.updates))
            loss, bleu = results[-1]
            print(f"seed {seed} {precision}: validation loss {loss:.4f}, BLEU {bleu:.2f}", flush=True)
    for i, name in enumerate(("validation loss", "BLEU")):
        columns = {precision: [result[i] for result in results] for precision, results in found.items()}
        means = {precision: statistics.mean(column) for precision, column in columns.items()}
        noise = {p: statistics.stdev(c) if len(c) > 1 else 0.0 for p, c in columns.items()}
        print(
            f"{name}: fp32 {means['fp32']:.4f} ± {noise['fp32']:.4f}, bf16 {means['bf16']:.4f}"
            f" ± {noise['bf16']:.4f}, difference {means['bf16'] - means['fp32']:+.4f}"
        )


def train(splits: toy.Splits, precision: str, seed: int, updates: int) -> tuple[float, float]:
    """Loss and BLEU on the held-out sentences after so many updates."""
    with tempfile.TemporaryDirectory() as folder:
        run.train(
            splits.train,
            valid=splits.valid,
            output=Path(folder) / "model",
            preset="tiny",
            source_language="en",
            target_language="de",
            overrides=[
                f"seed={seed}", "tokenizer.vocab_size=1000", "model.dropout=0.1",
                "model.encoder_layers=2", "model.decoder_layers=2", "training.batch_tokens=3000",
                f"training.max_updates={updates}", f"training.validate_every={updates}",
                "training.warmup=100", f"training.precision={precision}", "training.average=1",
            ],
        )  # fmt: skip
        lines = (Path(folder) / "model" / "metrics.jsonl").read_text(encoding="utf-8").splitlines()
    (last,) = (entry for entry in map(json.loads, lines) if entry["kind"] == "valid")
    return last["loss"], last["bleu"]


if __name__ == "__main__":
    main()
