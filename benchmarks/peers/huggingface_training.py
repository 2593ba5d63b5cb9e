"""Hugging Face transformers: Seq2SeqTrainer trains a MarianMT model from scratch for some minutes.

    python benchmarks/peers/huggingface_training.py train.en train.de NEW --shape shape.json --minutes 120
        [--rate 5e-5] [--rows 8] [--warmup 0] [--smoothing 0] [--grouped] [--bf16] [--valid valid.en]

Learns a SentencePiece vocabulary for both sides. The speed of the first updates determines how many fit into
the time; the learning rate rises for --warmup updates and falls linearly to zero over the rest. Vocabulary,
loading and measuring the speed are not counted. The defaults are those of TrainingArguments. A repeated
command resumes from the last checkpoint.

With --valid, it translates that text greedily 40 times during the run, at equal intervals, and writes a line
of JSON to NEW.translations: updates, seconds of training without these pauses, translations. A repeated
command then starts over.
"""

from __future__ import annotations

import argparse
import json
import shutil
import time
from collections.abc import Iterator
from pathlib import Path

import sentencepiece
import torch
import transformers
from transformers.trainer_utils import get_last_checkpoint

# Updates that are not timed, and then those that say how fast the machine is. With --grouped the first 50
# batches are sorted by length, the longest first.
WARM, TIMED = 10, 50
LONGEST = 256  # tokens
END, UNKNOWN, PAD = "</s>", "<unk>", "<pad>"

parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
parser.add_argument("source", type=Path)
parser.add_argument("target", type=Path)
parser.add_argument("output", type=Path)
parser.add_argument("--shape", type=Path, required=True)
parser.add_argument("--minutes", type=float, required=True)
parser.add_argument("--rate", type=float, default=5e-5)
parser.add_argument("--rows", type=int, default=8)
parser.add_argument("--warmup", type=int, default=0)
parser.add_argument("--smoothing", type=float, default=0.0)
parser.add_argument("--grouped", action="store_true", help="batches of pairs of about one length")
parser.add_argument("--bf16", action="store_true")
parser.add_argument("--valid", type=Path)
parser.add_argument("--seed", type=int, default=1)
parser.add_argument("--threads", type=int, default=2)
options = parser.parse_args()
torch.set_num_threads(options.threads)
transformers.set_seed(options.seed)
shape = json.loads(options.shape.read_text(encoding="utf-8"))
work = options.output.with_suffix(".trainer")
if options.valid:  # it begins again
    shutil.rmtree(work, ignore_errors=True)
work.mkdir(parents=True, exist_ok=True)


def lines(path: Path) -> Iterator[str]:
    return (line.strip() for line in path.read_text(encoding="utf-8").split("\n"))


def learn_vocabulary() -> transformers.MarianTokenizer:
    """One SentencePiece model for both sides, as OPUS-MT numbers it: end, unknown, the pieces, padding."""
    if not (work / "vocab.json").exists():
        sentencepiece.SentencePieceTrainer.train(
            input=[str(options.source), str(options.target)],
            model_prefix=str(work / "source"),
            vocab_size=shape["vocab_size"] - 1,  # and padding
            hard_vocab_limit=False,
            num_threads=options.threads,
            bos_id=-1,
            eos_id=0,
            unk_id=1,
            minloglevel=1,
        )
        (work / "source.model").rename(work / "source.spm")
        shutil.copy(work / "source.spm", work / "target.spm")
        pieces = sentencepiece.SentencePieceProcessor(model_file=str(work / "source.spm"))
        names = [*(pieces.id_to_piece(i) for i in range(pieces.get_piece_size())), PAD]
        (work / "vocab.json").write_text(json.dumps({name: i for i, name in enumerate(names)}))
    return transformers.MarianTokenizer(
        source_spm=str(work / "source.spm"),
        target_spm=str(work / "target.spm"),
        vocab=str(work / "vocab.json"),
        source_lang=options.source.suffix[1:],
        target_lang=options.target.suffix[1:],
        eos_token=END,
        unk_token=UNKNOWN,
        pad_token=PAD,
    )


tokenizer = learn_vocabulary()
pairs = zip(lines(options.source), lines(options.target), strict=True)
rows = [
    {**tokenizer(source, text_target=target, truncation=True, max_length=LONGEST)}
    for source, target in pairs
    if source and target
]


def new_model() -> transformers.MarianMTModel:
    """A model of the shape with first weights."""
    config = transformers.MarianConfig(
        **{**shape, "vocab_size": len(tokenizer)},
        max_position_embeddings=2 * LONGEST,
        scale_embedding=True,
        pad_token_id=tokenizer.pad_token_id,
        bos_token_id=tokenizer.eos_token_id,
        eos_token_id=tokenizer.eos_token_id,
        forced_eos_token_id=tokenizer.eos_token_id,
        decoder_start_token_id=tokenizer.pad_token_id,
    )
    return transformers.MarianMTModel(config)


class Translating(transformers.TrainerCallback):
    """Translates the validation text every so many updates."""

    def __init__(self, source: Path, updates: int) -> None:
        self.lines = list(lines(source))[:-1]  # nothing follows the last newline
        self.every, self.paused = max(1, updates // 40), 0.0
        self.output = options.output.with_suffix(".translations")
        self.output.unlink(missing_ok=True)

    def on_train_begin(self, *_: object, **__: object) -> None:
        self.began = time.monotonic()

    def on_step_end(self, _: object, state: transformers.TrainerState, *__: object, **named: object) -> None:
        if state.global_step % self.every:
            return
        now = time.monotonic()
        row = {"step": state.global_step, "seconds": now - self.began - self.paused}
        with self.output.open("a", encoding="utf-8") as file:
            file.write(json.dumps({**row, "translations": self.translations(named["model"])}) + "\n")
        self.paused += time.monotonic() - now

    def translations(self, model: transformers.MarianMTModel) -> list[str]:
        order = sorted(range(len(self.lines)), key=lambda i: len(self.lines[i]))
        translated = [""] * len(order)
        model.eval()
        for first in range(0, len(order), 64):
            some = order[first : first + 64]
            inputs = tokenizer(
                [self.lines[i] for i in some], padding=True, truncation=True, max_length=LONGEST,
                return_tensors="pt",
            )  # fmt: skip
            with torch.inference_mode():
                ids = model.generate(**inputs, num_beams=1, do_sample=False, max_new_tokens=100)
            for i, text in zip(some, tokenizer.batch_decode(ids, skip_special_tokens=True), strict=True):
                translated[i] = text
        model.train()
        return translated


def trainer(updates: int, *, saves: bool = False) -> transformers.Seq2SeqTrainer:
    """A trainer of a new model for this many updates."""
    model = new_model()
    translating = [Translating(options.valid, updates)] if saves and options.valid else []
    return transformers.Seq2SeqTrainer(
        model=model,
        args=transformers.Seq2SeqTrainingArguments(
            output_dir=str(work),
            max_steps=updates,
            learning_rate=options.rate,
            warmup_steps=min(options.warmup, updates // 2),
            per_device_train_batch_size=options.rows,
            train_sampling_strategy="group_by_length" if options.grouped else "random",
            label_smoothing_factor=options.smoothing,
            bf16=options.bf16,
            save_strategy="steps" if saves else "no",
            save_steps=max(1, updates // 10),
            save_total_limit=1,
            report_to="none",
            disable_tqdm=True,
            use_cpu=True,
            seed=options.seed,
        ),
        train_dataset=rows,
        data_collator=transformers.DataCollatorForSeq2Seq(tokenizer, model=model),
        callbacks=translating,
    )


planned = work / "updates.json"
if not planned.exists():
    trainer(WARM).train()
    began = time.monotonic()
    trainer(TIMED).train()
    seconds = (time.monotonic() - began) / TIMED
    planned.write_text(json.dumps(max(1, int(60 * options.minutes / seconds))))
updates = json.loads(planned.read_text())
last = trainer(updates, saves=True)
began = time.monotonic()
last.train(resume_from_checkpoint=get_last_checkpoint(work))
print(
    f"{updates} updates; {(time.monotonic() - began) / 60:.2f} minutes since the start or the last checkpoint"
)
tokenizer.save_pretrained(options.output)
last.model.save_pretrained(options.output)
shutil.rmtree(work)
