"""Translations of the validation text and their scores, for display and early stopping."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import fmean

import numpy as np

from dragoman.evaluation.evaluate import evaluate
from dragoman.models.folder.bundle import Bundle
from dragoman.text.corpora.languages import Direction, direction_name
from dragoman.training.events import SampleTranslation
from dragoman.training.processes.distributed import World
from dragoman.training.validation import Scored
from dragoman.translation.search.options import Beam
from dragoman.translation.translator import Translator

_SAMPLES = 3  # shown at each validation
GREEDY = "greedy"


def translate_and_score(
    bundle: Bundle,
    texts: Mapping[Direction, Sequence[tuple[str, str]]],
    *,
    seed: int,
    world: World | None = None,
    greedy: bool = True,
    worst: bool = False,
    words: bool = False,
) -> Scored:
    """Return BLEU and chrF of translations, and a few samples, which depend on `seed` only.

    `words` adds chrF++.

    Of several directions they are the mean of their scores, or the `worst` of them. The search is greedy, or
    the bundle's own. The processes of `world` translate a share of the lines each, and all of them return the
    same.
    """
    translator = Translator.of(bundle)
    found = {
        direction_name(direction): evaluate(
            translator,
            pairs,
            metrics=("bleu", "chrf", "chrf++") if words else ("bleu", "chrf"),
            bootstrap=0,
            world=world,
            beam=1 if greedy else None,
            source=direction[0] if bundle.several else None,
            to=direction[1] if bundle.several else None,
        )
        for direction, pairs in texts.items()
    }
    scores = {name: one.scores for name, one in found.items()}
    together = min if worst else fmean
    shown = [
        SampleTranslation(source=one.source, hypothesis=one.text, reference=reference)
        for each in found.values()
        for one, reference in zip(each.translations, each.references, strict=True)
    ]
    rows = np.random.default_rng(seed).permutation(len(shown))[:_SAMPLES].tolist()
    return Scored(
        bleu=together(one.bleu.value for one in scores.values()),
        chrf=together(one.chrf.value for one in scores.values()),
        chrf_words=together(one.by_metric["chrf++"].value for one in scores.values()) if words else None,
        signature=" ".join(dict.fromkeys(one.bleu.signature for one in scores.values())),
        search=GREEDY if greedy else search_name(bundle.generation),
        samples=tuple(shown[row] for row in rows),
        directions={name: {"bleu": one.bleu.value, "chrf": one.chrf.value} for name, one in scores.items()}
        if len(scores) > 1
        else {},
    )


def search_name(how: Beam) -> str:
    """`greedy`, or `beam 5, length penalty 1`."""
    return GREEDY if how.size == 1 else f"beam {how.size}, length penalty {how.length_penalty:g}"
