"""What tuning changed: the scores of a text, translated by the base and by the tuned model."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from dragoman.base.tables import count, markdown
from dragoman.evaluation.measures import compare
from dragoman.evaluation.scores import Comparison, Difference, Score
from dragoman.folder.bundle import Bundle
from dragoman.runs.held_out import Pair
from dragoman.translator import Translator

BEFORE, AFTER = "before", "after"
IN_DOMAIN, GENERAL = "in domain", "general"
UNKNOWN = "general: not measured, because no general text was given; what the model forgot is unknown"
_NO_TEXT = "in domain: not measured, because no text was held out"


@dataclass(frozen=True, kw_only=True)
class Effect:
    """Scores of each text before and after tuning, by its name."""

    comparisons: dict[str, Comparison]

    def lines(self) -> Iterator[str]:
        """Yield the scores as lines of at most 100 columns."""
        for name, comparison in self.comparisons.items():
            yield f"{name}, {count(_lines(comparison), 'line')}:"
            for before, after, difference in _rows(comparison):
                yield (
                    f"  {before.name:<6} {before.value:.2f} {before.interval} -> {after.value:.2f} "
                    f"{after.interval}, {difference.difference:+.2f}, {_verdict(difference)}"
                )
        yield from self.unknown()

    def unknown(self) -> Iterator[str]:
        """Yield what was not measured."""
        if IN_DOMAIN not in self.comparisons:
            yield _NO_TEXT
        if GENERAL not in self.comparisons:
            yield UNKNOWN

    def to_markdown(self) -> list[str]:
        """Return the section of the model card."""
        head = ["text", "lines", "score", BEFORE, AFTER, "difference", "p", "signature"]
        rows = [
            [
                name,
                f"{_lines(comparison):,}",
                before.name,
                f"{before.value:.2f} {before.interval}",
                f"{after.value:.2f} {after.interval}",
                f"{difference.difference:+.2f}",
                _p(difference),
                f"`{before.signature}`",
            ]
            for name, comparison in self.comparisons.items()
            for before, after, difference in _rows(comparison)
        ]
        table = [*markdown(head, rows), ""] if rows else []
        notes = [f"- {note[0].upper()}{note[1:]}." for note in (*self.unknown(), *(_NOTES if rows else ()))]
        return [*table, *notes, ""]

    def to_table(self) -> list[dict[str, Any]]:
        """Return a row of metrics.jsonl for each text."""
        return [
            {"kind": "comparison", "text": name, **comparison.to_table()}
            for name, comparison in self.comparisons.items()
        ]


_NOTES = (
    "in brackets the 95 % interval of a bootstrap; p is that of paired bootstrap resampling",
    "the text in domain also chose the weights, so its score is slightly too high",
)


def effect_of(base: Bundle, tuned: Bundle, texts: dict[str, Sequence[Pair]]) -> Effect:
    """Translate and score each text that has pairs with both models, with the default search."""
    translators = {
        name: Translator.of(bundle, engine=None) for name, bundle in ((BEFORE, base), (AFTER, tuned))
    }
    comparisons = {}
    for text, pairs in texts.items():
        if pairs:
            sources = [source for source, _ in pairs]
            comparisons[text] = compare(
                {
                    name: [one.text for one in translator.translate(sources)]
                    for name, translator in translators.items()
                },
                [reference for _, reference in pairs],
                baseline=BEFORE,
                metrics=("bleu", "chrf"),
                target_language=tuned.target_language,
            )
    return Effect(comparisons=comparisons)


def _rows(comparison: Comparison) -> Iterator[tuple[Score, Score, Difference]]:
    """Each score before and after, and their difference."""
    before, after = (comparison.scores[name].by_metric for name in (BEFORE, AFTER))
    for difference in comparison.differences:
        yield before[difference.metric], after[difference.metric], difference


def _lines(comparison: Comparison) -> int:
    return comparison.scores[BEFORE].lines


def _verdict(difference: Difference) -> str:
    if not difference.significant:
        return f"not significant (p = {_p(difference)})"
    return f"{'better' if difference.better else 'worse'} (p = {_p(difference)})"


def _p(difference: Difference) -> str:
    return f"{difference.p_value:.3f}"
