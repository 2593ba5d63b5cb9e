"""Make the recorded runs of the course: src/dragoman/course/recorded.json.

    OMP_NUM_THREADS=1 python recipes/course/record.py [ENTRY ...]

Without names it makes all entries. A finished run is kept in the folder --runs, so the same command resumes;
no run takes ten minutes on one core. All runs are small models that learn the text of the course's model,
with its tokenizer. Needs src/dragoman/course/model, see make_model.py.

The file is one object. Each entry has `command`, `seeds`, `seconds` (of processor time, all runs together),
`processor`, and these, where losses are nats a token without smoothing and numbers have 4 digits:

    cheating   curves of {mask, seed}: steps, train, valid; and translations by the models of seed 1, which
               have the look-ahead mask or not: {source, reference, with, without}
    residual   curves of {residual, seed}: steps, train, valid; and gradients: {residual, step, encoder,
               decoder}, the norm of the gradient of each layer, from the first
    norm       curves of {norm, warmup, seed}: steps, train, valid
    smoothing  curves of {smoothing, seed}: steps, train, valid, and probability, the mean of the right token
    heads      pairs, loss, and without: {head: loss with this head switched off}, heads as "cross.2.1"
    ladder     buckets: [{from, to, pairs}], words of the source;
               systems: [{system, seed, parameters, updates, seconds, bleu, by_length}], BLEU by bucket;
               attention: [{system, source, target, weights}], tokens, and rows of weights of target tokens

`train` is the mean since the step before, `valid` belongs to the step itself, and null is not finite.
"""

from __future__ import annotations

import argparse
import itertools
import json
import math
import random
import time
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from dragoman.base.files import write_whole
from dragoman.base.machine import processor_name
from dragoman.course import MODEL, RECORDED
from dragoman.evaluation.evaluate import evaluate
from dragoman.inspection.inspect import inspect
from dragoman.inspection.intervening import intervened
from dragoman.inspection.intervention import Head, Intervention
from dragoman.models import loops
from dragoman.models.folder.bundle import Bundle, load, save
from dragoman.models.layers.window import AttentionSpan, FullView
from dragoman.models.seq2seq import AnySeq2Seq, build_model
from dragoman.models.shapes import Architecture, ConvolutionalConfig, RecurrentConfig, TransformerConfig
from dragoman.models.transformer import Residual
from dragoman.text import toy
from dragoman.text.tokenizers.tokenizer import Tokenizer
from dragoman.training.data.batches import Batch, collate, plan
from dragoman.training.options import TrainingConfig
from dragoman.training.processes.distributed import World
from dragoman.training.runs.demo import HELD_OUT, PAIRS
from dragoman.training.step.precision import send_to_onednn
from dragoman.training.step.update import Learner
from dragoman.translation.translator import Translator

HEAD_PAIRS = 300
Pair = tuple[str, str]
Table = dict[str, Any]


# Text, batches, training


class Text:
    """Pairs as tokens of the course's tokenizer."""

    def __init__(self, pairs: Sequence[Pair], tokenizer: Tokenizer) -> None:
        self.tokenizer = tokenizer
        self.source = tokenizer.encode_source([pair[0] for pair in pairs])
        self.target = tokenizer.encode_target([pair[1] for pair in pairs])

    def batches(self, size: int, *, seed: int = 0, epoch: int = 0) -> Iterator[Batch]:
        """Yield one epoch, `size` tokens a side in each batch."""
        lengths = (np.array([len(line) for line in side]) for side in (self.source, self.target))
        names = ("pad_id", "start_id", "end_id")
        ids = {name: getattr(self.tokenizer, name) for name in names}
        for group in plan(*lengths, batch_tokens=size, seed=seed, epoch=epoch):
            yield collate([self.source[i] for i in group], [self.target[i] for i in group], **ids)


def shape(tokenizer: Tokenizer, kind: type[Architecture] = TransformerConfig, **options: Any) -> Any:
    """Return a shape for this tokenizer, by default the one of the course's model."""
    if kind is TransformerConfig:
        options = {"d_model": 64, "d_ff": 256, "heads": 4, "encoder_layers": 2, "decoder_layers": 2} | options
    ids = {name: getattr(tokenizer, name) for name in ("pad_id", "start_id", "end_id")}
    sizes = {"source_vocab": tokenizer.source_size, "target_vocab": tokenizer.target_size}
    return kind(**ids, **sizes, **options)


def learn(
    model: AnySeq2Seq,
    config: TrainingConfig,
    train: Text,
    valid: Text | None,
    seed: int,
    *,
    every: int = 25,
    probability: bool = False,
    watch: Callable[[int, Learner], None] = lambda step, learner: None,
) -> Table:
    """Train until max_updates, or max_minutes of processor time, and return the curves.

    `watch` is called before the first update and after each validation.
    """
    learner = Learner(model, config, World(0, 1))
    epochs = (train.batches(config.batch_tokens, seed=seed, epoch=epoch) for epoch in itertools.count())
    batches = itertools.chain.from_iterable(epochs)
    held_out = [] if valid is None else list(valid.batches(4096))
    curves: dict[str, list[float | None]] = {"steps": [], "train": [], "valid": []}
    curves |= {"probability": []} if probability else {}
    watch(0, learner)
    began, nll, tokens, step = time.process_time(), 0.0, 0, 0
    limit, spent = 60 * (config.max_minutes or math.inf), 0.0
    while step < config.max_updates and spent < limit:
        step += 1
        update = learner.update([next(batches)], step, seed=seed, seconds=spent)
        spent = time.process_time() - began
        nll, tokens = nll + update.nll, tokens + update.tokens
        if held_out and step % every == 0:
            curves["steps"].append(step)
            curves["train"].append(number(nll / tokens))
            curves["valid"].append(number(loss_of(model, held_out)))
            if probability:
                curves["probability"].append(number(probability_of(model, held_out)))
            nll, tokens = 0.0, 0
            watch(step, learner)
    return curves if held_out else {"updates": step, "seconds": number(spent)}


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


def loss_of(model: AnySeq2Seq, batches: Sequence[Batch]) -> float:
    """Return nats a token."""
    return -float(log_probabilities(model, batches).mean())


def probability_of(model: AnySeq2Seq, batches: Sequence[Batch]) -> float:
    """Return the mean probability of the right token."""
    return float(log_probabilities(model, batches).exp().mean())


def number(x: float, digits: int = 4) -> float | None:
    """Return x with 4 significant digits, None if it is not finite."""
    return float(f"{x:.{digits}g}") if math.isfinite(x) else None


# The entries


class Unmasked(AttentionSpan):
    """Self-attention of the decoder that also sees the tokens to come."""

    def causal(self, x_BTE: Tensor) -> FullView:
        """See all tokens."""
        length = x_BTE.shape[1]
        return FullView(x_BTE.new_zeros(1, 1, length, length), length)


class NoResidual(Residual):
    """LayerNorm(Sublayer(x)), without x +."""

    def forward(self, x: Tensor, sublayer: Callable[[Tensor], Tensor]) -> Tensor:
        """Return the input of the next sub-layer."""
        out: Tensor = self.norm(sublayer(x))
        return out


class Course:
    """The text and the tokenizer of the course, and the kept results of runs."""

    def __init__(self, runs: Path, seeds: int) -> None:
        self.runs, self.seeds, self.bundle = runs, range(1, seeds + 1), load(MODEL)
        self.tokenizer = self.bundle.tokenizer
        splits = toy.splits(train=PAIRS, valid=HELD_OUT, test=2000)
        self.pairs, self.held_out, self.test = splits.train, splits.valid, splits.test
        self.seconds = 0.0

    def once(self, name: str, run: Callable[[], Table]) -> Table:
        """Return the result of a run, which is made only once."""
        path = self.runs / f"{name}.json"
        if not path.exists():
            began = time.process_time()
            result = run()
            path.parent.mkdir(parents=True, exist_ok=True)
            write_whole(path, json.dumps(result | {"cost": time.process_time() - began}))
            print(f"{name}  {time.process_time() - began:.0f} s", flush=True)
        kept: Table = json.loads(path.read_text())
        self.seconds += kept.pop("cost")
        return kept

    @cached_property
    def texts(self) -> tuple[Text, Text]:
        """Training and validation text."""
        return Text(self.pairs, self.tokenizer), Text(self.held_out[:200], self.tokenizer)

    @cached_property
    def long_text(self) -> Text:
        """Training text with long sentences."""
        return Text(joined(self.pairs, 1), self.tokenizer)

    def transformer(self, seed: int, **options: Any) -> Any:
        """Return a new Transformer."""
        torch.manual_seed(seed)
        return build_model(shape(self.tokenizer, **options))

    def saved(self, model: AnySeq2Seq, name: str) -> Bundle:
        """Write the model folder of a run."""
        folder = self.runs / name
        folder.mkdir(parents=True, exist_ok=True)
        bundle = Bundle(model=model, tokenizer=self.tokenizer, source_language="en", target_language="de")
        save(bundle, folder)
        return bundle


def training(**options: Any) -> TrainingConfig:
    """Return training options of the short runs."""
    plain = {"batch_tokens": 1024, "precision": "fp32", "schedule": "cosine", "learning_rate": 0.004}
    return TrainingConfig(**(plain | {"warmup": 100, "max_updates": 400} | options))


def cheating(course: Course) -> Table:
    """Train with the look-ahead mask and without it, and translate."""
    curves = []
    for seed, mask in itertools.product(course.seeds, (True, False)):
        name = f"cheating/{'with' if mask else 'without'}-{seed}"

        def run(seed: int = seed, mask: bool = mask, name: str = name) -> Table:
            model = course.transformer(seed, dropout=0.0)
            if not mask:
                model.span = Unmasked(None)
            curve = learn(model, training(), *course.texts, seed)
            course.saved(model, name)
            return curve

        curves.append({"mask": mask, "seed": seed, **course.once(name, run)})
    pairs = course.test[:5]
    sources = [source for source, _ in pairs]
    of = {
        name: Translator.load(course.runs / f"cheating/{name}-1").translate(
            sources, beam=1, max_extra_tokens=5
        )
        for name in ("with", "without")
    }
    translations = [
        {"source": source, "reference": reference} | {name: of[name][i].text for name in of}
        for i, (source, reference) in enumerate(pairs)
    ]
    return {"curves": curves, "translations": translations}


def residual(course: Course) -> Table:
    """Train a deep stack with residual connections and without them."""
    curves, gradients = [], []
    for kept in (True, False):

        def run(kept: bool = kept) -> Table:
            model = course.transformer(1, dropout=0.0, encoder_layers=8, decoder_layers=8)
            if not kept:
                for part in model.modules():
                    if isinstance(part, Residual):
                        part.__class__ = NoResidual
            train, valid = course.texts
            (batch, *_) = train.batches(1024)
            norms: list[Table] = []

            def watch(step: int, learner: Learner) -> None:
                if step in (0, 100, 200):
                    norms.append({"residual": kept, "step": step, **gradient_norms(learner, batch)})

            curve = learn(model, training(max_updates=200), train, valid, 1, watch=watch)
            return {"curve": curve, "norms": norms}

        result = course.once(f"residual/{'with' if kept else 'without'}", run)
        curves.append({"residual": kept, "seed": 1, **result["curve"]})
        gradients += result["norms"]
    return {"curves": curves, "gradients": gradients}


def gradient_norms(learner: Learner, batch: Batch) -> dict[str, list[float | None]]:
    """Return the norm of the gradient of each layer for one batch."""
    model: nn.Module = learner.model
    model.train()
    loss, _ = learner.objective(batch)
    torch.autograd.backward(loss / batch.tokens)
    norms = {}
    for side in ("encoder", "decoder"):
        layers = getattr(model, side)
        squares = [[float(p.grad.square().sum()) for p in layer.parameters()] for layer in layers]
        norms[side] = [number(math.sqrt(sum(layer))) for layer in squares]
    model.zero_grad()
    return norms


def norm(course: Course) -> Table:
    """Train post-norm with and without warm-up, and pre-norm."""
    curves = []
    for seed, (place, warmup) in itertools.product(
        course.seeds, (("post", True), ("post", False), ("pre", False))
    ):

        def run(seed: int = seed, place: str = place, warmup: bool = warmup) -> Table:
            model = course.transformer(seed, dropout=0.0, encoder_layers=4, decoder_layers=4, norm=place)
            how = training(max_updates=200, warmup=100 if warmup else 1)
            return learn(model, how, *course.texts, seed)

        name = f"norm/{place}-{'with' if warmup else 'without'}-{seed}"
        curves.append({"norm": place, "warmup": warmup, "seed": seed, **course.once(name, run)})
    return {"curves": curves}


def smoothing(course: Course) -> Table:
    """Train with label smoothing and without it."""
    curves = []
    for seed, amount in itertools.product(course.seeds, (0.0, 0.1)):

        def run(seed: int = seed, amount: float = amount) -> Table:
            model = course.transformer(seed, dropout=0.0)
            how = training(label_smoothing=amount)
            return learn(model, how, *course.texts, seed, probability=True)

        curves.append({"smoothing": amount, "seed": seed, **course.once(f"smoothing/{amount}-{seed}", run)})
    return {"curves": curves}


def heads(course: Course, only: Sequence[str] = ()) -> Table:
    """Switch off each head of the course's model, or only some."""

    def run() -> Table:
        model, config = course.bundle.model, course.bundle.model.config
        batches = list(Text(course.held_out[:HEAD_PAIRS], course.tokenizer).batches(4096))
        depth = {
            "encoder": config.encoder_layers,
            "decoder": config.decoder_layers,
            "cross": config.decoder_layers,
        }
        all_heads = [
            f"{kind}.{layer + 1}.{head + 1}"
            for kind, layers in depth.items()
            for layer, head in itertools.product(range(layers), range(config.heads))
        ]
        without = {
            name: number(loss_of(intervened(model, Intervention(without=(Head.of(name),))), batches))
            for name in only or all_heads
        }
        return {"pairs": HEAD_PAIRS, "loss": number(loss_of(model, batches)), "without": without}

    return run() if only else course.once("heads", run)


# The ladder

SYSTEMS: dict[str, tuple[type[Architecture], Table]] = {
    "LSTM": (
        RecurrentConfig,
        {"cell": "lstm", "d_model": 100, "layers": 1, "bidirectional": False, "reverse_source": True},
    ),
    "GRU": (
        RecurrentConfig,
        {"cell": "gru", "d_model": 108, "layers": 1, "bidirectional": False, "reverse_source": True},
    ),
    "GRU with attention": (
        RecurrentConfig,
        {"cell": "gru", "d_model": 104, "layers": 1, "attention": "additive"},
    ),
    "convolutional": (ConvolutionalConfig, {"d_model": 56, "encoder_layers": 3, "decoder_layers": 3}),
    "Transformer": (TransformerConfig, {"norm": "pre"}),
}
BUCKETS = ((1, 6), (7, 10), (11, 15), (16, 25), (26, 99))
MINUTES = 0.75  # of processor time
MOST = 120  # pairs in a bucket
SHOWN = (1, 2, 3)  # buckets that show a sentence


def joined(pairs: Sequence[Pair], seed: int) -> list[Pair]:
    """Return the pairs, most statements joined by "and", so that there are long sentences.

    In German "und" does not change the order of words. "Sie" is left alone, because it may be polite.
    """
    dice, lines, pool = random.Random(seed), list[Pair](), list[Pair]()
    for pair in pairs:
        statement = all(text.endswith(".") and text.count(".") == 1 for text in pair)
        (pool if statement and not pair[1].startswith("Sie ") else lines).append(pair)
    inside = [{word for pair in pool for word in pair[side].split()[1:]} for side in (0, 1)]
    while pool:
        parts = [pool.pop() for _ in range(min(len(pool), dice.randint(1, 5)))]
        source, target = (join([part[side] for part in parts], inside[side]) for side in (0, 1))
        lines.append((source.replace(";", " and"), target.replace(";", " und")))
    dice.shuffle(lines)
    return lines


def join(sentences: Sequence[str], inside: set[str]) -> str:
    """Join sentences by semicolons. A first word stays upper-case if it only is so within sentences."""
    clauses = [sentence.removesuffix(".") for sentence in sentences]
    for i, clause in enumerate(clauses[1:], 1):
        first, space, rest = clause.partition(" ")
        small = first[0].lower() + first[1:]
        clauses[i] = (first if first.strip(",") in inside and small not in inside else small) + space + rest
    return "; ".join(clauses) + "."


def ladder(course: Course) -> Table:
    """Train five systems for the same processor time."""
    lines = joined(course.test, 0)
    held_out, places = list[Pair](), list[range]()
    for low, high in BUCKETS:
        bucket = [pair for pair in lines if low <= len(pair[0].split()) <= high][:MOST]
        places.append(range(len(held_out), len(held_out) + len(bucket)))
        held_out += bucket
    systems, attention = [], []
    for seed, (system, (kind, options)) in itertools.product(course.seeds, SYSTEMS.items()):
        name = f"ladder/{system.replace(' ', '-')}-{seed}"

        def run(
            seed: int = seed,
            system: str = system,
            kind: type[Architecture] = kind,
            options: Table = options,
            name: str = name,
        ) -> Table:
            torch.manual_seed(seed)
            model = build_model(shape(course.tokenizer, kind, **options, dropout=0.0))
            how = training(optimizer="muon", clip=1.0, max_minutes=MINUTES, max_updates=10**6)
            result = learn(model, how, course.long_text, None, seed)
            bundle = course.saved(model.eval(), name)
            scored = evaluate(Translator.load(course.runs / name), held_out, metrics=("bleu",), bootstrap=0)
            result["bleu"] = number(bleu(scored.scores))
            result["by_length"] = [number(bleu(scored.score(lines))) for lines in places]
            result["parameters"] = sum(p.numel() for p in model.parameters())
            shown = [next(held_out[i][0] for i in places[b]) for b in SHOWN]
            result["attention"] = [weights_of(bundle, source) for source in shown] if seed == 1 else []
            return result

        result = course.once(name, run)
        attention += [{"system": system, **one} for one in result.pop("attention") if one]
        systems.append({"system": system, "seed": seed, **result})
    buckets = [
        {"from": low, "to": high, "pairs": len(lines)}
        for (low, high), lines in zip(BUCKETS, places, strict=True)
    ]
    return {"buckets": buckets, "systems": systems, "attention": attention}


def bleu(scores: Any) -> float:
    """Return BLEU as a number."""
    return float(scores.bleu.value)


def weights_of(bundle: Bundle, source: str) -> Table | None:
    """Return the attention of the last decoder layer but one, the mean of its heads, if there is one."""
    trace = inspect(bundle, source)
    cross = next((one for one in trace.attention if one.kind == "cross"), None)
    if cross is None:
        return None
    weights_TS = cross.weights[max(len(cross.weights) - 2, 0)].mean(0)
    return {
        "source": [token.piece for token in trace.source.tokens],
        "target": [token.piece for token in trace.target.tokens],
        "weights": [[round(float(x), 3) for x in row] for row in weights_TS],
    }


ENTRIES = {one.__name__: one for one in (cheating, residual, norm, smoothing, heads, ladder)}


def main() -> None:
    """Make entries and put them into the file."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("entries", nargs="*", metavar="ENTRY", help=", ".join(ENTRIES))
    parser.add_argument("--runs", type=Path, default=Path("runs/course/recorded"), help="finished runs")
    parser.add_argument("--seeds", type=int, default=3, help="how many (3)")
    chosen = parser.parse_args()
    if unknown := set(chosen.entries) - set(ENTRIES):
        parser.error(f"no entry {', '.join(sorted(unknown))}; there are {', '.join(ENTRIES)}")
    loops.enable()
    send_to_onednn()
    course = Course(chosen.runs, chosen.seeds)
    recorded = json.loads(RECORDED.read_text()) if RECORDED.exists() else {}
    for name in chosen.entries or ENTRIES:
        course.seconds = 0.0
        data = ENTRIES[name](course)
        seeds = sorted(
            {one["seed"] for rows in data.values() if isinstance(rows, list) for one in rows if "seed" in one}
        )
        recorded[name] = {
            "command": f"python recipes/course/record.py {name}",
            "seeds": seeds,
            "seconds": round(course.seconds),
            "processor": processor_name(),
            **data,
        }
        ordered = {entry: recorded[entry] for entry in ENTRIES if entry in recorded}
        write_whole(RECORDED, json.dumps(ordered, ensure_ascii=False, separators=(",", ":")) + "\n")


if __name__ == "__main__":
    main()
