"""How well a model stands noise: the scores of noisy lines next to those of the same lines without it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from statistics import fmean
from typing import Any

from dragoman.base.tables import aligned
from dragoman.evaluation.evaluate import Evaluation, evaluate
from dragoman.text.blank import is_blank
from dragoman.text.noise import NOISES, noised
from dragoman.training.processes.distributed import World
from dragoman.translation.lines import GivenContext
from dragoman.translation.search.options import Decoding
from dragoman.translation.translator import Translator


def measure_noise(
    translator: Translator,
    pairs: Sequence[tuple[str, str]],
    clean: Evaluation,
    decoding: Decoding,
    *,
    seed: int = 1,
    world: World | None = None,
    context: Sequence[GivenContext] | None = None,
) -> list[dict[str, Any]]:
    """Translate the lines that a kind of noise changes, for each kind, and score them.

    `clean` are the translations of the pairs. The noise is a function of seed and line. References have the
    capitals, emoji and tags of their sources. Kinds that change no line with a reference are left out.
    """
    clean, languages = replace(clean, metrics=("bleu", "chrf"), bootstrap=0), translator.pair(decoding)
    rows = []
    for kind in NOISES:
        noisy = {
            number: other
            for number, pair in enumerate(pairs)
            if (other := noised(pair, f"{seed} {number}", kinds=(kind,), languages=languages)) != pair
        }
        if all(is_blank(pairs[number][1]) for number in noisy):
            continue
        near = None if context is None else [context[number] for number in noisy]
        scoring: dict[str, Any] = {"metrics": clean.metrics, "bootstrap": 0, "line_breaks": True}
        found = evaluate(translator, noisy.values(), decoding, world=world, context=near, **scoring)
        row: dict[str, Any] = {"kind": kind, "lines": len(noisy)}
        for metric in clean.metrics:
            value, before = (getattr(one, metric).value for one in (found.scores, clean.score([*noisy])))
            row |= {metric: value, f"{metric}_clean": before, f"{metric}_lost": before - value}
        rows.append(row)
    return rows


def noise_text(rows: Sequence[dict[str, Any]]) -> str:
    """The rows as a table, with the mean of the losses."""
    names = [f"{metric}{end}" for metric in ("chrf", "bleu") for end in ("_clean", "", "_lost")]
    cells = [[row["kind"], f"{row['lines']:,}", *(f"{row[name]:.2f}" for name in names)] for row in rows]
    lost = [f"{fmean(row[name] for row in rows):.2f}" if name.endswith("_lost") else "" for name in names]
    head = ["noise", "lines", "chrF clean", "noisy", "lost", "BLEU clean", "noisy", "lost"]
    return "\n".join(aligned([head, *cells, ["mean", "", *lost]], right=tuple(range(1, 8))))
