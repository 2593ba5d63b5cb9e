"""Short runs on the text of the course, and their curves."""

from __future__ import annotations

import itertools
import json
import math
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from dragoman.base.files import write_whole
from dragoman.course import MODEL
from dragoman.models.folder.bundle import Bundle, load, save
from dragoman.models.seq2seq import AnySeq2Seq, build_model
from dragoman.models.shapes import TransformerConfig
from dragoman.text import toy
from dragoman.text.tokenizers.tokenizer import Tokenizer
from dragoman.training.data.batches import Batch, collate, plan
from dragoman.training.options import TrainingConfig
from dragoman.training.processes.distributed import World
from dragoman.training.runs.demo import HELD_OUT, PAIRS
from dragoman.training.step.update import Learner

EVERY = 25  # updates between two points of a curve
Pair = tuple[str, str]
Table = dict[str, Any]


def training(**options: Any) -> TrainingConfig:
    """Return training options of the short runs."""
    plain = {"batch_tokens": 1024, "precision": "fp32", "schedule": "cosine", "learning_rate": 0.004}
    return TrainingConfig(**(plain | {"warmup": 100, "max_updates": 400} | options))


class Text:
    """Pairs as tokens."""

    def __init__(self, pairs: Sequence[Pair], tokenizer: Tokenizer) -> None:
        self.source = tokenizer.encode_source([pair[0] for pair in pairs])
        self.target = tokenizer.encode_target([pair[1] for pair in pairs])
        self.ids = ids_of(tokenizer)

    def batches(self, size: int, *, seed: int = 0, epoch: int = 0) -> Iterator[Batch]:
        """Yield one epoch, `size` tokens a side in each batch."""
        lengths = (np.array([len(line) for line in side]) for side in (self.source, self.target))
        for group in plan(*lengths, batch_tokens=size, seed=seed, epoch=epoch):
            yield collate([self.source[i] for i in group], [self.target[i] for i in group], **self.ids)


def ids_of(tokenizer: Tokenizer) -> dict[str, int]:
    """Return the special tokens by the names that models and batches give them."""
    return {name: getattr(tokenizer, name) for name in ("pad_id", "start_id", "end_id")}


class Course:
    """The text and the model of the course, and the kept results of runs."""

    def __init__(self, runs: Path, seeds: int = 3) -> None:
        self.runs, self.seeds, self.bundle = runs, range(1, seeds + 1), load(MODEL)
        self.tokenizer, self.seconds = self.bundle.tokenizer, 0.0
        splits = toy.splits(train=PAIRS, valid=HELD_OUT, test=4000)
        self.pairs, self.held_out, self.test = splits.train, splits.valid, splits.test

    @cached_property
    def texts(self) -> tuple[Text, Text]:
        """Training and validation text."""
        return Text(self.pairs, self.tokenizer), Text(self.held_out[:200], self.tokenizer)

    def once(self, name: str, run: Callable[[], Table]) -> Table:
        """Return the result of a run, which is made only once."""
        path = self.runs / f"{name}.json"
        if not path.exists():
            began = time.process_time()
            path.parent.mkdir(parents=True, exist_ok=True)
            result = run() | {"cost": time.process_time() - began}
            write_whole(path, json.dumps(result))
            print(f"{name}  {result['cost']:.0f} s", flush=True)
        kept: Table = json.loads(path.read_text(encoding="utf-8"))
        self.seconds += kept.pop("cost")
        return kept

    def new(self, seed: int, kind: type[Any] = TransformerConfig, **options: Any) -> Any:
        """Return a new model, by default a Transformer of the course's shape."""
        if kind is TransformerConfig:
            options = {
                "d_model": 64,
                "d_ff": 256,
                "heads": 4,
                "encoder_layers": 2,
                "decoder_layers": 2,
            } | options
        sizes = {"source_vocab": self.tokenizer.source_size, "target_vocab": self.tokenizer.target_size}
        torch.manual_seed(seed)
        return build_model(kind(**ids_of(self.tokenizer), **sizes, **options, dropout=0.0))

    def saved(self, model: AnySeq2Seq, name: str) -> Bundle:
        """Write the model folder of a run."""
        (self.runs / name).mkdir(parents=True, exist_ok=True)
        bundle = Bundle(model=model, tokenizer=self.tokenizer, source_language="en", target_language="de")
        save(bundle, self.runs / name)
        return bundle


# Curves


@dataclass(frozen=True)
class Case:
    """One model of an entry: its fields in the file, its options, and a change of the new model."""

    fields: Table
    model: Table = field(default_factory=dict)
    training: Table = field(default_factory=dict)
    change: Callable[[Any], None] = lambda model: None
    gradients_at: Sequence[int] = ()


def curves(course: Course, entry: str, cases: Sequence[Case], seeds: Sequence[int] = ()) -> list[Table]:
    """Train every case with every seed, and return their curves."""
    rows = []
    for seed, case in itertools.product(seeds or course.seeds, cases):
        name = f"{entry}/{'-'.join(map(str, case.fields.values()))}-{seed}"
        rows.append(
            case.fields | {"seed": seed} | course.once(name, partial(learn, course, case, seed, name))
        )
    return rows


def learn(course: Course, case: Case, seed: int, name: str) -> Table:
    """Train a model, and return its curves."""
    model = course.new(seed, **case.model)
    case.change(model)
    learner = Learner(model, training(**case.training), World(0, 1))
    train, valid = course.texts
    first, held_out = next(train.batches(1024)), list(valid.batches(4096))
    rows: Table = {name: [] for name in ("steps", "train", "valid", "probability", "gradients")}
    nll = tokens = 0.0
    for step, batch in enumerate(endless(train, learner.config.batch_tokens, seed)):
        if step in case.gradients_at:
            rows["gradients"].append({"step": step, **gradient_norms(learner, first)})
        if step and step % EVERY == 0:
            logp = log_probabilities(model, held_out)
            point = (nll / tokens, -float(logp.mean()), float(logp.exp().mean()))
            rows["steps"].append(step)
            for key, value in zip(("train", "valid", "probability"), point, strict=True):
                rows[key].append(short(value))
            nll = tokens = 0.0
        if step == learner.config.max_updates:
            break
        update = learner.update([batch], step + 1, seed=seed)
        nll, tokens = nll + update.nll, tokens + update.tokens
    course.saved(model, name)
    return rows


def endless(text: Text, size: int, seed: int) -> Iterator[Batch]:
    """Yield the batches of all epochs."""
    for epoch in itertools.count():
        yield from text.batches(size, seed=seed, epoch=epoch)


@torch.no_grad()
def log_probabilities(model: AnySeq2Seq, batches: Sequence[Batch]) -> Tensor:
    """Return the log-probability of each right token."""
    model.eval()
    found = []
    for batch in batches:
        memory = model.encode(batch.source_BS, batch.source_len_B)
        logp_BTV = model.decode(batch.target_BT, memory).log_softmax(-1)
        logp_BT = logp_BTV.gather(-1, batch.predict_BT[..., None])[..., 0]
        found.append(logp_BT[batch.predict_BT != model.config.pad_id])
    return torch.cat(found).double()


def gradient_norms(learner: Learner, batch: Batch) -> Table:
    """Return the norm of the gradient of each layer for one batch."""
    model: Any = learner.model.train()
    loss, _ = learner.objective(batch)
    torch.autograd.backward(loss / batch.tokens)
    norms = {
        side: [
            short(math.sqrt(sum(float(p.grad.square().sum()) for p in layer.parameters())))
            for layer in getattr(model, side)
        ]
        for side in ("encoder", "decoder")
    }
    model.zero_grad()
    return norms


def short(x: float) -> float | None:
    """Return x with 4 significant digits, None if it is not finite."""
    return float(f"{x:.4g}") if math.isfinite(x) else None


def without(rows: Sequence[Table], *names: str) -> list[Table]:
    """Return the rows without these fields."""
    return [{name: value for name, value in row.items() if name not in names} for row in rows]
