"""`dragoman evaluate --recipe` of a model of several languages: a row for each pair of languages."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Any

from dragoman.base.errors import ConfigError
from dragoman.base.tables import aligned
from dragoman.cli.outcome import to_json, waiting

if TYPE_CHECKING:
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

    Also counts the translations that are clearly in another language. Raises ConfigError for a recipe
    without test text.
    """
    from dragoman.evaluation.evaluate import evaluate
    from dragoman.training.runs.text.directions import validation_of, with_languages
    from dragoman.training.runs.text.texts import open_named

    opened = open_named(recipe.data, data, (None, None), lambda one: one.test)
    if not opened:
        raise ConfigError("the recipe names no test text", hint="name a source and a target file")
    tested = tuple(one for one in recipe.data.corpora if one.name in opened)
    recipe = with_languages(replace(recipe, data=replace(recipe.data, corpora=tested)), opened, several=True)
    texts = validation_of(recipe.data.corpora, opened)
    rows: list[dict[str, Any]] = []
    for (source, to), text in texts.items():
        pairs = [(line.source, line.target) for line in text]
        with waiting(f"{source}-{to}: {len(pairs):,} sentences", shown=not quiet):
            found = evaluate(translator, pairs, decoding, source=source, to=to, bootstrap=0)
        scores = found.scores
        rows.append(
            {
                "source": source,
                "target": to,
                "sentences": len(pairs),
                "bleu": scores.bleu.value,
                "chrf": scores.chrf.value,
                "other_language": other_language(found.hypotheses, to),
                "signature": scores.bleu.signature,
            }
        )
    means = {key: fmean(row[key] for row in rows) for key in ("bleu", "chrf")}
    if as_json:
        print(to_json({"pairs": rows, "mean": means}))
    else:
        print("\n".join(_table(rows, means)))
    return means["bleu"]


def other_language(texts: Sequence[str], expected: str) -> int:
    """How many texts are clearly in another language than expected."""
    from dragoman.text.detection import clearly_other

    return sum(clearly_other(text, expected) is not None for text in texts)


def _table(rows: Sequence[dict[str, Any]], means: dict[str, float]) -> list[str]:
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
    cells.append(["mean", "", f"{means['bleu']:.2f}", f"{means['chrf']:.2f}", ""])
    return [*aligned(cells, right=(1, 2, 3, 4)), "", *dict.fromkeys(row["signature"] for row in rows)]
