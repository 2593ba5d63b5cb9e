"""Translations of the validation text and their scores, for display and early stopping."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dragoman.evaluation.evaluate import evaluate
from dragoman.models.folder.bundle import Bundle
from dragoman.training.events import SampleTranslation
from dragoman.training.processes.distributed import World
from dragoman.training.validation import Scored
from dragoman.translation.search.options import Beam
from dragoman.translation.translator import Translator

_SAMPLES = 3  # shown at each validation
GREEDY = "greedy"


def translate_and_score(
    bundle: Bundle,
    pairs: Sequence[tuple[str, str]],
    *,
    seed: int,
    world: World | None = None,
    greedy: bool = True,
) -> Scored:
    """Return BLEU and chrF of translations, and a few samples, which depend on `seed` only.

    The search is greedy, or the bundle's own. The processes of `world` translate a share of the lines each,
    and all of them return the same.
    """
    evaluation = evaluate(
        Translator.of(bundle),
        pairs,
        metrics=("bleu", "chrf"),
        bootstrap=0,
        world=world,
        beam=1 if greedy else None,
    )
    scores = evaluation.scores
    rows = np.random.default_rng(seed).permutation(len(pairs))[:_SAMPLES].tolist()
    return Scored(
        bleu=scores.bleu.value,
        chrf=scores.chrf.value,
        signature=scores.bleu.signature,
        search=GREEDY if greedy else search_name(bundle.generation),
        samples=tuple(
            SampleTranslation(
                source=evaluation.translations[row].source,
                hypothesis=evaluation.translations[row].text,
                reference=evaluation.references[row],
            )
            for row in rows
        ),
    )


def search_name(how: Beam) -> str:
    """`greedy`, or `beam 5, length penalty 1`."""
    return GREEDY if how.size == 1 else f"beam {how.size}, length penalty {how.length_penalty:g}"
