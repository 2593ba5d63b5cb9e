"""JoeyNMT: its own training command. It counts target tokens without padding."""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path

sys.path.append(sys.path.pop(0))  # this file has the name of the package

from timing import arguments
from toolkit import pieces, report

options, shape = arguments()
work = Path(tempfile.mkdtemp(prefix="bench-"))
vocabulary = work / "vocabulary.txt"
vocabulary.write_text("\n".join(["<unk>", "<pad>", "<s>", "</s>", *pieces(options)]) + "\n", encoding="utf-8")
side = {
    "max_length": 200, "level": "bpe", "voc_file": str(vocabulary), "tokenizer_type": "sentencepiece",
    "tokenizer_cfg": {"model_file": str(options.workload / "subwords.spm")},
}  # fmt: skip
text = str(options.workload / "train")
stack = {
    "type": "transformer", "num_layers": shape.encoder_layers, "num_heads": shape.heads,
    "embeddings": {"embedding_dim": shape.d_model, "scale": True, "dropout": 0.0},
    "hidden_size": shape.d_model, "ff_size": shape.d_ff, "dropout": shape.dropout, "layer_norm": shape.norm,
}  # fmt: skip
updates = options.warm + options.steps
recipe = {
    "name": "bench", "joeynmt_version": "2.3.0", "model_dir": str(work / "model"), "use_cuda": False,
    "fp16": False, "random_seed": 1,
    "data": {
        "train": text, "dev": text, "test": text, "dataset_type": "plain", "sample_dev_subset": 10,
        "src": {"lang": "src", **side}, "trg": {"lang": "tgt", **side},
        "special_symbols": {"unk_token": "<unk>", "unk_id": 0, "pad_token": "<pad>", "pad_id": 1,
                            "bos_token": "<s>", "bos_id": 2, "eos_token": "</s>", "eos_id": 3},
    },
    "testing": {"batch_size": 4096, "batch_type": "token", "beam_size": 1, "eval_metrics": ["bleu"],
                "max_output_length": 5, "n_best": 1},
    "training": {
        "optimizer": "adam", "adam_betas": [0.9, 0.98], "learning_rate": 1e-4, "label_smoothing": 0.1,
        "scheduling": "warmupinversesquareroot", "learning_rate_warmup": 200,
        "loss": "crossentropy", "normalization": "tokens", "batch_type": "token", "batch_multiplier": 1,
        "batch_size": json.loads((options.workload / "about.json").read_text())["batch_tokens"],
        "epochs": 100, "updates": updates, "validation_freq": 10**6, "logging_freq": 1, "overwrite": True,
        "shuffle": True, "num_workers": 0, "early_stopping_metric": "ppl", "keep_best_ckpts": 1,
    },
    "model": {
        "initializer": "xavier_uniform", "embed_initializer": "xavier_uniform", "tied_embeddings": True,
        "tied_softmax": True, "encoder": stack, "decoder": stack | {"num_layers": shape.decoder_layers},
    },
}  # fmt: skip
(work / "bench.yaml").write_text(json.dumps(recipe), encoding="utf-8")  # JSON is YAML
command = [sys.executable, "-m", "joeynmt", "train", str(work / "bench.yaml"), "--skip-test"]
report(options, command, r"Tokens per Sec:\s*([\d.,]+)", "joeynmt")
