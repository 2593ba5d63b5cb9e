"""Five systems, from the LSTM to the Transformer, with the same text and the same processor time."""

from __future__ import annotations

import itertools
import random
import time
from collections import Counter
from collections.abc import Sequence
from functools import cache, partial
from typing import Any

from runs import Course, Pair, Table, Text, endless, short, training

from dragoman.evaluation.evaluate import evaluate
from dragoman.inspection.inspect import inspect
from dragoman.models.folder.bundle import Bundle
from dragoman.models.shapes import ConvolutionalConfig, RecurrentConfig, TransformerConfig
from dragoman.text.toy.grammar import words
from dragoman.training.processes.distributed import World
from dragoman.training.step.update import Learner
from dragoman.translation.translator import Translator

_GRU: Table = {"cell": "gru", "layers": 1}
SYSTEMS: dict[str, tuple[type[Any], Table]] = {
    "lstm": (RecurrentConfig, {"layers": 1, "d_model": 100, "bidirectional": False, "reverse_source": True}),
    "gru": (RecurrentConfig, _GRU | {"d_model": 108, "bidirectional": False, "reverse_source": True}),
    "gru-attention": (RecurrentConfig, _GRU | {"d_model": 104, "attention": "general"}),
    "convolutional": (ConvolutionalConfig, {"d_model": 56, "encoder_layers": 3, "decoder_layers": 3}),
    "transformer": (TransformerConfig, {"norm": "pre"}),
}
WORDS = 300  # of English, the most common
SECONDS = 60  # of processor time
BUCKETS = ((1, 6), (7, 10), (11, 15), (16, 25), (26, 99))
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
        kept = first.strip(",") in inside and small not in inside
        clauses[i] = (first if kept else small) + space + rest
    return "; ".join(clauses) + "."


@cache
def texts(course: Course) -> tuple[Text, list[Pair]]:
    """Return training text and test pairs: simple words, and sentences of all lengths."""
    counts = Counter(word.lower() for source, _ in course.pairs for word in words(source))
    common = {word for word, _ in counts.most_common(WORDS)}
    train, test = (
        [pair for pair in pairs if all(word.lower() in common for word in words(pair[0]))]
        for pairs in (course.pairs, course.test)
    )
    return Text(joined(train, 1), course.tokenizer), joined(test, 0)


def ladder(course: Course) -> Table:
    """Train five systems for the same processor time."""
    (_, lines), buckets = texts(course), list[list[Pair]]()
    for low, high in BUCKETS:
        buckets.append([pair for pair in lines if low <= len(pair[0].split()) <= high][:MOST])
    systems, attention = [], []
    for seed, system in itertools.product(course.seeds, SYSTEMS):
        name = f"ladder/{system}-{seed}"
        result = course.once(name, partial(climb, course, system, seed, name, buckets))
        shown = result.pop("attention")
        attention += [{"system": system, **one} for one in shown if seed == 1]
        systems.append({"system": system, "seed": seed, **result})
    sizes = [
        {"from": low, "to": high, "pairs": len(bucket)}
        for (low, high), bucket in zip(BUCKETS, buckets, strict=True)
    ]
    return {"buckets": sizes, "systems": systems, "attention": attention}


def climb(course: Course, system: str, seed: int, name: str, buckets: Sequence[Sequence[Pair]]) -> Table:
    """Train one system and score it."""
    kind, options = SYSTEMS[system]
    model = course.new(seed, kind, **options)
    how = training(batch_tokens=2048, optimizer="muon", clip=1.0, max_minutes=SECONDS / 60, max_updates=10**6)
    learner = Learner(model, how, World(0, 1))
    batches = endless(texts(course)[0], how.batch_tokens, seed)
    began, spent, step = time.process_time(), 0.0, 0
    while spent < SECONDS:
        step += 1
        learner.update([next(batches)], step, seed=seed, seconds=spent)
        spent = time.process_time() - began
    bundle = course.saved(model.eval(), name)
    everything = [pair for bucket in buckets for pair in bucket]
    scored = evaluate(Translator.load(course.runs / name), everything, metrics=("bleu",), bootstrap=0)
    ends = list(itertools.accumulate(map(len, buckets), initial=0))
    return {
        "updates": step,
        "seconds": short(spent),
        "bleu": short(scored.scores.bleu.value),
        "by_length": [short(scored.score(range(*ends[i : i + 2])).bleu.value) for i in range(len(buckets))],
        "parameters": sum(p.numel() for p in model.parameters()),
        "attention": [one for b in SHOWN if (one := weights_of(bundle, buckets[b][0][0]))],
    }


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
