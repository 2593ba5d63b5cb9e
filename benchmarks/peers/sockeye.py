"""Sockeye: its own preparation and training commands, on subwords already cut.

It reports sentences per second and source tokens with padding. The comparable figure is sentences times the
mean number of target tokens of a sentence.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.append(sys.path.pop(0))  # this file has the name of the package

from timing import arguments
from toolkit import report

options, shape = arguments()
work = Path(tempfile.mkdtemp(prefix="bench-"))
source, target = (str(options.workload / f"train.pieces.{side}") for side in ("src", "tgt"))
valid = []
for name in (source, target):  # Sockeye requires validation text; use the first lines
    with open(name, encoding="utf-8") as whole:
        lines = [next(whole) for _ in range(10)]
    valid.append(str(work / Path(name).name))
    Path(valid[-1]).write_text("".join(lines), encoding="utf-8")
vocab = str(shape.target_vocab)
prepare = [
    *(sys.executable, "-m", "sockeye.prepare_data", "--source", source, "--target", target),
    *("--shared-vocab", "--num-words", vocab, "--max-seq-len", "200", "--output", str(work / "data")),
]
subprocess.run(prepare, check=True, capture_output=True)
batch_tokens = json.loads((options.workload / "about.json").read_text())["batch_tokens"]
updates = options.warm + options.steps
train = [
    *(
        "--prepared-data",
        str(work / "data"),
        "--validation-source",
        valid[0],
        "--validation-target",
        valid[1],
    ),
    *(
        "--output",
        str(work / "model"),
        "--use-cpu",
        "--shared-vocab",
        "--weight-tying-type",
        "src_trg_softmax",
    ),
    *("--num-layers", f"{shape.encoder_layers}:{shape.decoder_layers}", "--num-embed", str(shape.d_model)),
    *("--transformer-model-size", str(shape.d_model), "--transformer-attention-heads", str(shape.heads)),
    *("--transformer-feed-forward-num-hidden", str(shape.d_ff), "--transformer-dropout-attention", "0"),
    *("--transformer-dropout-act", "0", "--transformer-dropout-prepost", str(shape.dropout)),
    *("--label-smoothing", "0.1", "--batch-type", "max-word", "--batch-size", str(batch_tokens)),
    *("--batch-sentences-multiple-of", "1", "--optimizer", "adam", "--initial-learning-rate", "0.0001"),
    *("--checkpoint-interval", "1000000", "--decode-and-evaluate", "0", "--max-seq-len", "200"),
    *("--max-updates", str(updates + 1)),  # because it does not report the first
]
# By default it reports every 50 batches; a short run needs a report for each.
start = "import sockeye.constants as C; C.MEASURE_SPEED_EVERY = 1; from sockeye.train import main; main()"
with open(target, encoding="utf-8") as lines_of_target:
    lengths = [len(line.split()) + 1 for line in lines_of_target]
mean = sum(lengths) / len(lengths)
report(options, [sys.executable, "-c", start, *train], r"s/sec=([\d.]+)", "sockeye", tokens=mean)
