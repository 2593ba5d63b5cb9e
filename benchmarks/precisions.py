"""Compare learning in bf16 and float32: validation loss and BLEU after training in each.

    python benchmarks/precisions.py [--updates 300] [--seeds 3]

Trains a small model on the embedded corpus in both precisions, once from each seed.

Prints the loss and BLEU of each run, then their means and standard deviations over the seeds, and the
difference of the means. A difference below the standard deviations is noise. Nothing is timed, so the machine
may be busy.
"""

from __future__ import annotations

import argparse
import json
import statistics
import tempfile
from pathlib import Path

import dragoman
from dragoman.base.tables import aligned
from dragoman.text import toy
from dragoman.training.step.malloc import keep_few_products, keep_freed_memory

PRECISIONS = ("fp32", "bf16")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--updates", type=int, default=300)
    parser.add_argument("--seeds", type=int, default=3)
    options = parser.parse_args()
    keep_freed_memory()
    keep_few_products()
    splits = toy.splits(train=20_000, valid=300, test=1)
    results: dict[str, list[tuple[float, float]]] = {precision: [] for precision in PRECISIONS}
    for seed in range(1, options.seeds + 1):
        for precision in PRECISIONS:
            loss, bleu = train(splits, precision, seed, options.updates)
            results[precision].append((loss, bleu))
            print(f"seed {seed} {precision}: validation loss {loss:.4f}, BLEU {bleu:.2f}", flush=True)
    rows = [["", *PRECISIONS, "difference"]]
    for i, (name, form) in enumerate((("validation loss", ".4f"), ("BLEU", ".2f"))):
        columns = [[result[i] for result in results[precision]] for precision in PRECISIONS]
        means = [statistics.mean(column) for column in columns]
        noises = [statistics.stdev(column) if len(column) > 1 else 0.0 for column in columns]
        cells = [f"{mean:{form}} ± {noise:{form}}" for mean, noise in zip(means, noises, strict=True)]
        rows.append([name, *cells, f"{means[1] - means[0]:+{form}}"])
    print()
    print("\n".join(aligned(rows, right=range(1, 4))))


def train(splits: toy.Splits, precision: str, seed: int, updates: int) -> tuple[float, float]:
    """Loss in nats and BLEU on the validation text after `updates` updates."""
    with tempfile.TemporaryDirectory() as folder:
        dragoman.train(
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
