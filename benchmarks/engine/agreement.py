"""Compare the native engine with the PyTorch search: every search option, then every positional encoding.

    python benchmarks/engine/agreement.py --model runs/multi30k --text test.en

Prints a table: translations whose tokens differ, how many of these are ties (scores within 1e-4), and the
largest difference of the scores of equal tokens. Positional encodings are tested on models with random
weights and the sizes of MODEL, because a model has only one.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import torch

from dragoman.models.folder.bundle import load
from dragoman.models.search.engine import PyTorchEngine
from dragoman.models.seq2seq import build_model
from dragoman.models.shapes import TransformerConfig
from dragoman.translation.native.native import NativeEngine
from dragoman.translation.native.weights import place_weights
from dragoman.translation.search.engine import Engine, Hypothesis, Request
from dragoman.translation.search.options import Beam, Sample
from dragoman.translation.search.rules import MinimumLength, NoRepeatedNgram, Prefix, Rule

TIE = 1e-4
SEARCHES: dict[str, tuple[Beam | Sample, tuple[Rule, ...]]] = {
    "greedy": (Beam(size=1), ()),
    "beam 4": (Beam(size=4), ()),
    "beam 4, power": (Beam(size=4, length_penalty=1.0, normalization="power"), ()),
    "beam 5, 5 best": (Beam(size=5, n_best=5), ()),
    "patient": (Beam(size=4, stop="patient"), ()),
    "shrinking": (Beam(size=4, stop="shrinking"), ()),
    "exact": (Beam(size=4, stop="exact"), ()),
    "at least 15 tokens": (Beam(size=4), (MinimumLength(15),)),
    "no 3-gram twice": (Beam(size=4), (NoRepeatedNgram(3),)),
    "prefix": (Beam(size=4), (Prefix((20, 30)),)),
    "banned, renormalized": (Beam(size=4, banned=(20, 30), renormalize=True), ()),
    "sample": (Sample(seed=3), ()),
    "sample, top p": (Sample(seed=3, top_p=0.8, temperature=0.7), ()),
}
POSITIONS = (
    "sinusoidal", "sinusoidal-halves", "sinusoidal-t2t", "learned", "index", "fraction", "none", "relative",
    "t5", "alibi", "rotary",
)  # fmt: skip


@dataclass
class Agreement:
    """How far two engines agree on the same requests."""

    count: int = 0
    differ: int = 0
    ties: int = 0
    apart: float = 0.0  # of the scores of equal tokens

    def add(self, ours: Sequence[Hypothesis], theirs: Sequence[Hypothesis]) -> None:
        self.count += 1
        if [one.tokens for one in ours] != [one.tokens for one in theirs]:
            self.differ += 1
            pairs = zip(ours, theirs, strict=False)
            self.ties += len(ours) == len(theirs) and all(abs(a.score - b.score) < TIE for a, b in pairs)
            return
        for one, other in zip(ours, theirs, strict=True):
            self.apart = max(self.apart, abs(one.score - other.score))


def compare(ours: Engine, theirs: Engine, requests: Sequence[Request]) -> Agreement:
    agreement = Agreement()
    answers = [dict(engine.search(requests)) for engine in (ours, theirs)]
    for number in range(len(requests)):
        agreement.add(answers[0][number], answers[1][number])
    return agreement


def compare_scores(
    ours: Engine, theirs: Engine, sources: Sequence[Sequence[int]], targets: Sequence[Sequence[int]]
) -> Agreement:
    agreement = Agreement()
    scores = [dict(engine.score(zip(sources, targets, strict=True), Beam())) for engine in (ours, theirs)]
    for number in range(len(sources)):
        agreement.add([scores[0][number]], [scores[1][number]])
    return agreement


def show(name: str, agreement: Agreement) -> None:
    row = f"| {name} | {agreement.count:,} | {agreement.differ} | {agreement.ties} | {agreement.apart:.1e} |"
    print(row, flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--model", type=Path, required=True)
    parser.add_argument("--text", type=Path, required=True)
    parser.add_argument("--lines", type=int, default=1000)
    options = parser.parse_args()

    bundle = load(options.model)
    config, lines = bundle.model.config, options.text.read_text(encoding="utf-8").splitlines()
    sources = [source for source in bundle.tokenizer.encode_source(lines[: options.lines]) if source]
    requests = [Request(source=s, how=Beam(), max_tokens=len(s) + 50) for s in sources]
    native = NativeEngine(config, place_weights(bundle.model))
    pytorch = PyTorchEngine(bundle.model)

    print("| search | lines | differ | of these ties | scores apart |\n| --- | --- | --- | --- | --- |")
    for name, (how, rules) in SEARCHES.items():
        asked = [replace(request, how=how, rules=rules) for request in requests]
        show(name, compare(native, pytorch, asked))
    show("scores of given translations", compare_scores(native, pytorch, sources, sources[::-1]))

    print("\n| positions | lines | differ | of these ties | scores apart |\n| --- | --- | --- | --- | --- |")
    if not isinstance(config, TransformerConfig):
        return
    short = [replace(r, max_tokens=20, rules=(NoRepeatedNgram(1),)) for r in requests]
    for positions in POSITIONS:
        torch.manual_seed(1)
        model = build_model(replace(config, positions=positions)).eval()
        show(
            positions, compare(NativeEngine(model.config, place_weights(model)), PyTorchEngine(model), short)
        )


if __name__ == "__main__":
    with torch.no_grad():
        main()
