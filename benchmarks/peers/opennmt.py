"""OpenNMT-py and, with --eole, its successor: their own training command, on subwords already cut.

Both report source and target tokens per second for each step; the latter is read.
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path

from timing import arguments
from toolkit import pieces, report

options, shape = arguments("eole")
work = Path(tempfile.mkdtemp(prefix="bench-"))
vocabulary = work / "vocabulary.txt"
vocabulary.write_text("\n".join(pieces(options)) + "\n", encoding="utf-8")
batch_tokens = json.loads((options.workload / "about.json").read_text())["batch_tokens"]
text = {
    "path_src": str(options.workload / "train.pieces.src"),
    "path_tgt": str(options.workload / "train.pieces.tgt"),
}
updates = options.warm + options.steps
shared = {
    "save_data": str(work / "data"), "src_vocab": str(vocabulary), "tgt_vocab": str(vocabulary),
    "share_vocab": True, "report_every": 1, "data": {"text": text},
}  # fmt: skip
training = {
    "train_steps": updates, "valid_steps": 10**6, "save_checkpoint_steps": 10**6,
    "batch_type": "tokens", "batch_size": batch_tokens, "normalization": "tokens",
    "bucket_size": 30000, "num_workers": 0, "accum_count": [1], "optim": "adam", "adam_beta2": 0.98,
    "learning_rate": 0.5, "decay_method": "noam", "warmup_steps": 400, "label_smoothing": 0.1,
    "dropout": [shape.dropout], "attention_dropout": [0.0],
}  # fmt: skip
if options.eole:
    model = {
        "architecture": "transformer", "layers": shape.encoder_layers, "heads": shape.heads,
        "hidden_size": shape.d_model, "transformer_ff": shape.d_ff, "share_embeddings": True,
        "share_decoder_embeddings": True,
        "embeddings": {"word_vec_size": shape.d_model, "position_encoding_type": "SinusoidalInterleaved"},
    }  # fmt: skip
    training |= {
        "model_path": str(work / "model"), "compute_dtype": "fp32", "world_size": 0,
        "param_init_method": "xavier_uniform", "prefetch_factor": 20,
    }  # fmt: skip
    recipe = shared | {"overwrite": True, "seed": 1, "training": training, "model": model}
    program, package = [str(Path(sys.executable).with_name("eole")), "train"], "eole"
else:
    recipe = shared | training | {
        "save_model": str(work / "model"), "encoder_type": "transformer", "decoder_type": "transformer",
        "position_encoding": True, "enc_layers": shape.encoder_layers, "dec_layers": shape.decoder_layers,
        "heads": shape.heads, "hidden_size": shape.d_model, "word_vec_size": shape.d_model,
        "transformer_ff": shape.d_ff, "share_embeddings": True, "share_decoder_embeddings": True,
        "param_init": 0, "param_init_glorot": True, "model_dtype": "fp32", "seed": 1,
    }  # fmt: skip
    program, package = [str(Path(sys.executable).with_name("onmt_train"))], "OpenNMT-py"
(work / "bench.yaml").write_text(json.dumps(recipe), encoding="utf-8")  # JSON is YAML
report(options, [*program, "-config", str(work / "bench.yaml")], r"[\d.]+/\s*([\d.]+) tok/s", package)
