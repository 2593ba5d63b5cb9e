"""`dragoman evaluate --recipe` of a model of several languages: a row for each pair of languages."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dragoman.base.tables import aligned
from dragoman.cli.outcome import to_json, waiting

if TYPE_CHECKING:
    from dragoman.training.runs.comparison.seeds import Tested
    from dragoman.training.runs.recipe import Recipe
    from dragoman.translation.search.options import Decoding
    from dragoman.translation.translator import Translator


def evaluate_directions(
    translator: Translator,
    recipe: Recipe,
    data: Path | None,
    decoding: Decoding,
    *,
    as_json: bool,
    quiet: bool,
) -> float:
    """Translate and score the test text of each pair in the recipe. Print a table, and return the mean BLEU.

    Also counts the translations that are clearly in another language.
    """
    from dragoman.training.runs.comparison.seeds import score_test

    with waiting("translating", shown=not quiet) as say:
        tested = score_test(translator, recipe, data, decoding, say)
    rows = [
        {
            "source": source,
            "target": to,
            "sentences": len(found.references),
            "bleu": found.scores.bleu.value,
            "chrf": found.scores.chrf.value,
            "other_language": other_language(found.hypotheses, to),
            "signature": found.scores.bleu.signature,
        }
        for (source, to), found in tested.evaluations.items()
    ]
    if as_json:
        print(to_json({"pairs": rows, "mean": {"bleu": tested.bleu, "chrf": tested.chrf}}))
    else:
        print("\n".join(_table(rows, tested)))
    return tested.bleu


def other_language(texts: Sequence[str], expected: str) -> int:
    """How many texts are clearly in another language than expected."""
    from dragoman.text.detection import clearly_other

    return sum(clearly_other(text, expected) is not None for text in texts)


def _table(rows: Sequence[dict[str, Any]], tested: Tested) -> list[str]:
    cells = [["pair", "sentences", "BLEU", "chrF", "in another language"]]
    cells += [
        [
            f"{row['source']}-{row['target']}",
            f"{row['sentences']:,}",
            f"{row['bleu']:.2f}",
            f"{row['chrf']:.2f}",
            f"{row['other_language']:,}",
        ]
        for row in rows
    ]
    cells.append(["mean", "", f"{tested.bleu:.2f}", f"{tested.chrf:.2f}", ""])
    return [*aligned(cells, right=(1, 2, 3, 4)), "", tested.signatures("bleu")]
