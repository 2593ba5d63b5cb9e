"""Hugging Face transformers: Seq2SeqTrainer continues a model for some minutes, with its usual settings.

    python benchmarks/peers/huggingface_tuning.py MODEL MEMORY.tsv NEW --minutes 5 [--rate 5e-5] [--rows 16]

Trains on the whole memory. The speed of the first updates determines how many fit into the time, and the
learning rate falls linearly to zero over them. Loading and measuring the speed are not counted.
"""

from __future__ import annotations

import argparse
import shutil
import time
from pathlib import Path

import torch
import transformers

WARM, TIMED = 10, 50  # updates that are not timed, and then those that say how fast the machine is

parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
parser.add_argument("model", type=Path)
parser.add_argument("memory", type=Path)
parser.add_argument("output", type=Path)
parser.add_argument("--minutes", type=float, required=True)
parser.add_argument("--rate", type=float, default=5e-5)  # of TrainingArguments
parser.add_argument("--rows", type=int, default=16)
parser.add_argument("--seed", type=int, default=1)
parser.add_argument("--threads", type=int, default=2)
options = parser.parse_args()
torch.set_num_threads(options.threads)
transformers.set_seed(options.seed)

tokenizer = transformers.MarianTokenizer.from_pretrained(options.model)
pairs = [line.split("\t") for line in options.memory.read_text(encoding="utf-8").splitlines()]
rows = [
    {**tokenizer(source, text_target=target, truncation=True, max_length=256)}
    for source, target in pairs
    if source.strip() and target.strip()
]


def trainer(updates: int) -> transformers.Seq2SeqTrainer:
    """A trainer of the first weights for so many updates."""
    config = transformers.AutoConfig.from_pretrained(options.model)
    kind = getattr(transformers, config.architectures[0])
    model = kind.from_pretrained(options.model, dtype=torch.float32)
    return transformers.Seq2SeqTrainer(
        model=model,
        args=transformers.Seq2SeqTrainingArguments(
            output_dir=str(options.output.with_suffix(".trainer")),
            max_steps=updates,
            learning_rate=options.rate,
            per_device_train_batch_size=options.rows,
            train_sampling_strategy="group_by_length",
            label_smoothing_factor=0.1,
            save_strategy="no",
            report_to="none",
            disable_tqdm=True,
            use_cpu=True,
            seed=options.seed,
        ),
        train_dataset=rows,
        data_collator=transformers.DataCollatorForSeq2Seq(tokenizer, model=model),
    )


trainer(WARM).train()
began = time.monotonic()
trainer(TIMED).train()
seconds = (time.monotonic() - began) / TIMED
updates = max(1, int(60 * options.minutes / seconds))
last = trainer(updates)
began = time.monotonic()
last.train()
print(f"{updates} updates in {(time.monotonic() - began) / 60:.2f} minutes")
shutil.copytree(options.model, options.output, dirs_exist_ok=True)  # the vocabulary
last.model.save_pretrained(options.output)
shutil.rmtree(options.output.with_suffix(".trainer"), ignore_errors=True)
