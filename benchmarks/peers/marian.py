"""Marian from the package pymarian: its own training command. It counts target subwords."""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path

sys.path.append(sys.path.pop(0))  # this file has the name of the program

from timing import arguments
from toolkit import pieces, report

options, shape = arguments()
work = Path(tempfile.mkdtemp(prefix="bench-"))
vocabulary = work / "vocabulary.yml"  # JSON is YAML
names = ["</s>", "<unk>", *pieces(options)]
vocabulary.write_text(
    json.dumps({name: i for i, name in enumerate(names)}, ensure_ascii=False), encoding="utf-8"
)
batch_tokens = json.loads((options.workload / "about.json").read_text())["batch_tokens"]
command = [
    *(sys.executable, "-m", "pymarian", "train", "--type", "transformer", "--model", str(work / "model.npz")),
    *("--train-sets", *(str(options.workload / f"train.pieces.{side}") for side in ("src", "tgt"))),
    *("--vocabs", str(vocabulary), str(vocabulary), "--cpu-threads", str(options.threads), "--sync-sgd"),
    *("--workspace", "4000", "--dim-emb", str(shape.d_model), "--transformer-dim-ffn", str(shape.d_ff)),
    *("--transformer-heads", str(shape.heads), "--enc-depth", str(shape.encoder_layers)),
    *("--dec-depth", str(shape.decoder_layers), "--transformer-dropout", str(shape.dropout)),
    *("--label-smoothing", "0.1", "--tied-embeddings-all", "--transformer-postprocess", "dan"),
    *("--learn-rate", "0.0001", "--optimizer-params", "0.9", "0.98", "1e-09", "--max-length", "200"),
    *("--mini-batch", "4096", "--mini-batch-words", str(batch_tokens), "--maxi-batch", "100"),
    *("--after-batches", str(options.warm + options.steps), "--disp-freq", "1", "--save-freq", "1000000"),
    *("--cost-type", "ce-mean-words"),
]
report(options, command, r"([\d.]+) words/s", "pymarian")
