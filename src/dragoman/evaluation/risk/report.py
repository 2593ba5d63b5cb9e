"""The quality of risk estimates: calibration, ranking and the detection of planted errors."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import pairwise
from operator import itemgetter
from typing import Any

from dragoman.base.html import charts
from dragoman.base.tables import aligned
from dragoman.text.checks.faults import FlagKind

_BINS = 10


@dataclass(frozen=True)
class Bin:
    """Some translations with similar probabilities of needing a correction."""

    predicted: float  # mean probability
    observed: float  # share that does need one
    count: int


@dataclass(frozen=True)
class Detection:
    """How often a flag is raised."""

    kind: FlagKind
    planted: int  # translations with such an error
    recall: float | None  # share of them that are flagged; None without errors to find
    false_alarms: float  # share of untouched translations that are flagged


@dataclass(frozen=True, kw_only=True)
class RiskReport:
    """Figures about translations that the risk model was not fitted on."""

    lines: int
    share: float  # of translations that need a correction
    ece: float
    """Expected calibration error: the mean distance of predicted and observed in bins of equal size."""
    brier: float  # mean squared distance of probability and outcome
    auc: float | None  # chance that a translation that needs a correction is ranked above one that does not
    bins: tuple[Bin, ...]
    searched: tuple[Detection, ...]  # in the model's own translations
    given: tuple[Detection, ...]  # in the references

    def to_table(self) -> dict[str, Any]:
        """The report as plain values, for JSON."""
        return asdict(self)

    def facts(self) -> list[list[str]]:
        """The figures as rows of name and value."""
        return [
            ["translations measured", f"{self.lines:,}"],
            ["need a correction", f"{self.share:.1%}"],
            ["expected calibration error", f"{self.ece:.3f}"],
            ["Brier score", f"{self.brier:.3f}"],
            ["AUC", "not known" if self.auc is None else f"{self.auc:.3f}"],
        ]

    def to_text(self) -> str:
        """The report as tables of text."""
        blocks = [aligned(self.facts(), right=(1,)), reliability(self.bins)]
        blocks += [
            aligned([[f"planted in {where}", "errors", "found", "false alarms"], *rows], right=(1, 2, 3))
            for where, found in (("translations", self.searched), ("references", self.given))
            if (rows := detection_rows(found))
        ]
        return "\n\n".join("\n".join(block) for block in blocks)

    def to_svg(self) -> str:
        """The reliability curve as an SVG file."""
        points = [(one.predicted, one.observed) for one in self.bins]
        curves = [
            charts.Curve(name="observed", points=points),
            charts.Curve(name="perfect", points=[(0.0, 0.0), (1.0, 1.0)], predicted=True),
        ]
        return charts.svg_file(
            curves, title="Reliability", x="predicted probability of a correction", y="share that needs one"
        )


def report_on(
    probabilities: Sequence[float],
    labels: Sequence[bool],
    *,
    searched: tuple[Detection, ...],
    given: tuple[Detection, ...],
) -> RiskReport:
    """Return the report on translations with these probabilities and labels, at least one."""
    bins = bins_of(probabilities, labels)
    return RiskReport(
        lines=len(labels),
        share=sum(labels) / len(labels),
        ece=calibration_error(bins),
        brier=sum((p - y) ** 2 for p, y in zip(probabilities, labels, strict=True)) / len(labels),
        auc=area_under_curve(probabilities, labels),
        bins=bins,
        searched=searched,
        given=given,
    )


def bins_of(probabilities: Sequence[float], labels: Sequence[bool]) -> tuple[Bin, ...]:
    """Return ten bins of equal size, by increasing probability; fewer for fewer than ten translations."""
    pairs = sorted(zip(probabilities, labels, strict=True), key=itemgetter(0))
    number = min(_BINS, len(pairs))
    edges = [len(pairs) * place // number for place in range(number + 1)]
    groups = [pairs[start:end] for start, end in pairwise(edges)]
    return tuple(
        Bin(sum(p for p, _ in group) / len(group), sum(y for _, y in group) / len(group), len(group))
        for group in groups
    )


def calibration_error(bins: Sequence[Bin]) -> float:
    """Return the expected calibration error of the bins (Naeini et al. 2015, with bins of equal size)."""
    total = sum(one.count for one in bins)
    return sum(one.count * abs(one.predicted - one.observed) for one in bins) / total


def area_under_curve(scores: Sequence[float], labels: Sequence[bool]) -> float | None:
    """Return the chance that a positive example has a higher score than a negative one; ties are half.

    None if all labels are alike.
    """
    low = sorted(score for score, label in zip(scores, labels, strict=True) if not label)
    high = [score for score, label in zip(scores, labels, strict=True) if label]
    if not low or not high:
        return None
    wins = sum((bisect_left(low, one) + bisect_right(low, one)) / 2 for one in high)
    return wins / (len(low) * len(high))


def reliability(bins: Sequence[Bin]) -> list[str]:
    """The reliability curve as lines of a table, with a bar for the observed share."""
    rows = [
        [f"{one.predicted:.2f}", f"{one.observed:.2f}", f"{one.count:,}", "#" * round(20 * one.observed)]
        for one in bins
    ]
    return aligned([["predicted", "observed", "translations", ""], *rows], right=(0, 1, 2))


def detection_rows(found: Sequence[Detection]) -> list[list[str]]:
    """Rows of a table: kind, errors, found, false alarms."""
    return [
        [
            one.kind,
            f"{one.planted:,}",
            "" if one.recall is None else f"{one.recall:.1%}",
            f"{one.false_alarms:.1%}",
        ]
        for one in found
    ]
