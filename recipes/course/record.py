"""Make the recorded runs of the course: src/dragoman/course/recorded.json.

    OMP_NUM_THREADS=1 python recipes/course/record.py [ENTRY ...]

Without names it makes all entries. A finished run is kept in the folder --runs, so the same command resumes;
no run takes ten minutes on one core. All runs are small models that learn the text of the course's model,
with its tokenizer. Needs src/dragoman/course/model, see make_model.py.

The file is one object. Each entry has `command`, `seeds`, `seconds` (of processor time, all runs together),
`processor`, and these, where losses are nats a token without smoothing and numbers have 4 digits:

    cheating   curves of {mask, seed}: steps, train, valid; and translations by the models of seed 1, which
               have the look-ahead mask or not: {source, reference, with, without}
    residual   curves of {residual, seed}: steps, train, valid, of 8 + 8 layers with pre-norm; and gradients:
               {residual, step, encoder, decoder}, the norm of the gradient of each layer, from the first
    norm       curves of {norm, warmup, seed}: steps, train, valid
    smoothing  curves of {smoothing, seed}: steps, train, valid, and probability, the mean of the right token
    heads      pairs, loss, and without: {head: loss with this head switched off}, heads as "cross.2.1"
    ladder     of lstm, gru, gru-attention, convolutional and transformer:
               buckets: [{from, to, pairs}], words of the source;
               systems: [{system, seed, parameters, updates, seconds, bleu, by_length}], BLEU by bucket;
               attention: [{system, source, target, weights}], tokens, and rows of weights of target tokens

`train` is the mean since the step before, `valid` belongs to the step itself, and null is not finite.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from ladder import ladder
from runs import Case, Course, Table, Text, curves, log_probabilities, short, without
from torch import Tensor

from dragoman.base.files import write_whole
from dragoman.base.machine import processor_name
from dragoman.course import RECORDED
from dragoman.inspection.intervening import intervened
from dragoman.inspection.intervention import Head, Intervention
from dragoman.models import loops
from dragoman.models.layers.window import AttentionSpan, FullView
from dragoman.models.transformer import Residual
from dragoman.training.step.precision import send_to_onednn
from dragoman.translation.translator import Translator

HEAD_PAIRS = 300  # for the loss without a head


class Unmasked(AttentionSpan):
    """Self-attention of the decoder that also sees the tokens to come."""

    def causal(self, x_BTE: Tensor) -> FullView:
        """See all tokens."""
        length = x_BTE.shape[1]
        return FullView(x_BTE.new_zeros(1, 1, length, length), length)


class NoResidual(Residual):
    """Sublayer(LayerNorm(x)), without x +."""

    def forward(self, x: Tensor, sublayer: Callable[[Tensor], Tensor]) -> Tensor:
        """Return the input of the next sub-layer."""
        out: Tensor = sublayer(self.norm(x))
        return out


def unmask(model: Any) -> None:
    """Leave out the look-ahead mask."""
    model.span = Unmasked(None)


def cut(model: Any) -> None:
    """Leave out the residual connections."""
    for part in model.modules():
        if isinstance(part, Residual):
            part.__class__ = NoResidual


def cheating(course: Course) -> Table:
    """Train with the look-ahead mask and without it, and translate."""
    cases = [Case({"mask": True}), Case({"mask": False}, change=unmask)]
    rows = curves(course, "cheating", cases)
    sources = [source for source, _ in course.test[:5]]
    with_mask, without_mask = (
        Translator.load(course.runs / f"cheating/{mask}-1").translate(sources, beam=1, max_extra_tokens=5)
        for mask in (True, False)
    )
    translations = [
        {"source": source, "reference": reference, "with": one.text, "without": other.text}
        for (source, reference), one, other in zip(course.test, with_mask, without_mask, strict=False)
    ]
    return {"curves": without(rows, "probability", "gradients"), "translations": translations}


def residual(course: Course) -> Table:
    """Train a deep stack, pre-norm, with residual connections and without them."""
    deep = {"encoder_layers": 8, "decoder_layers": 8, "norm": "pre"}
    how: Table = {"model": deep, "training": {"max_updates": 100, "warmup": 50}}
    how["gradients_at"] = (0, 100)
    cases = [Case({"residual": True}, **how), Case({"residual": False}, change=cut, **how)]
    rows = curves(course, "residual", cases, seeds=(1,))
    gradients = [{"residual": row["residual"], **one} for row in rows for one in row["gradients"]]
    return {"curves": without(rows, "probability", "gradients"), "gradients": gradients}


def norm(course: Course) -> Table:
    """Train post-norm with and without warm-up, and pre-norm without."""
    cases = [
        Case(
            {"norm": place, "warmup": warmup},
            {"norm": place, "encoder_layers": 4, "decoder_layers": 4},
            {"learning_rate": 0.003, "warmup": 200 if warmup else 1},
        )
        for place, warmup in (("post", True), ("post", False), ("pre", False))
    ]
    return {"curves": without(curves(course, "norm", cases), "probability", "gradients")}


def smoothing(course: Course) -> Table:
    """Train with label smoothing and without it."""
    cases = [Case({"smoothing": amount}, training={"label_smoothing": amount}) for amount in (0.0, 0.1)]
    return {"curves": without(curves(course, "smoothing", cases), "gradients")}


def heads(course: Course, only: Sequence[str] = ()) -> Table:
    """Switch off each head of the course's model, or only some."""
    model: Any = course.bundle.model
    batches = list(Text(course.held_out[:HEAD_PAIRS], course.tokenizer).batches(4096))

    def loss(*switched_off: Head) -> float | None:
        changed = intervened(model, Intervention(without=switched_off))
        return short(-float(log_probabilities(changed, batches).mean()))

    names = only or [
        f"{kind}.{layer}.{head}"
        for kind, layers in (("encoder", model.encoder), ("decoder", model.decoder), ("cross", model.decoder))
        for layer in range(1, len(layers) + 1)
        for head in range(1, model.config.heads + 1)
    ]
    began = time.process_time()
    result = {"pairs": HEAD_PAIRS, "loss": loss(), "without": {name: loss(Head.of(name)) for name in names}}
    course.seconds += time.process_time() - began
    return result


ENTRIES = {one.__name__: one for one in (cheating, residual, norm, smoothing, heads, ladder)}


def main() -> None:
    """Make entries and put them into the file."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument(
        "entries", nargs="*", metavar="ENTRY", choices=[[], *ENTRIES], help=", ".join(ENTRIES)
    )
    parser.add_argument("--runs", type=Path, default=Path("runs/course/recorded"), help="finished runs")
    parser.add_argument("--seeds", type=int, default=3, help="how many (3)")
    chosen = parser.parse_args()
    loops.enable()
    send_to_onednn()
    course = Course(chosen.runs, chosen.seeds)
    recorded = json.loads(RECORDED.read_text(encoding="utf-8")) if RECORDED.exists() else {}
    for name in chosen.entries or ENTRIES:
        course.seconds = 0.0
        data = ENTRIES[name](course)
        rows = [row for value in data.values() if isinstance(value, list) for row in value]
        recorded[name] = {
            "command": f"python recipes/course/record.py {name}",
            "seeds": sorted({row["seed"] for row in rows if "seed" in row}),
            "seconds": round(course.seconds),
            "processor": processor_name(),
            **data,
        }
        ordered = {entry: recorded[entry] for entry in ENTRIES if entry in recorded}
        write_whole(RECORDED, json.dumps(ordered, ensure_ascii=False, separators=(",", ":")) + "\n")


if __name__ == "__main__":
    main()
