"""Scores and comparisons of translations, as values, JSON and text."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Literal

from dragoman.base.tables import aligned, count

MetricName = Literal["bleu", "chrf", "chrf++", "ter", "comet"]
Test = Literal["bs", "ar"]  # sacreBLEU's names
TESTS = {"bs": "paired bootstrap resampling", "ar": "paired approximate randomisation"}


@dataclass(frozen=True, kw_only=True)
class Score:
    """The score of one set of translations by one metric, from 0 to 100; TER and COMET may be beyond.

    `mean` and `half_width` describe the bootstrap: 95% of the resamples lie within mean ± half_width.
    Both are None without a bootstrap. `detail` holds the parts of BLEU.
    """

    name: str  # as sacreBLEU writes it: BLEU, chrF2, chrF2++, TER
    value: float
    signature: str
    mean: float | None = None
    half_width: float | None = None
    higher_is_better: bool = True
    detail: str = ""

    def __str__(self) -> str:
        return f"{self.name} {self.value:.2f} {self.interval}".rstrip()

    @property
    def interval(self) -> str:
        """The 95% interval as `(41.05 ± 1.84)`; empty without a bootstrap."""
        return "" if self.mean is None else f"({self.mean:.2f} ± {self.half_width:.2f})"

    @property
    def cells(self) -> tuple[str, str]:
        """The value and its interval, for a table."""
        return f"{self.value:6.2f}", self.interval

    @property
    def direction(self) -> str:
        """A word for the reader if lower is better."""
        return "" if self.higher_is_better else "lower is better"


@dataclass(frozen=True, kw_only=True, repr=False)
class Scores:
    """The scores of one set of translations, by metric ("bleu", "chrf", ...). `print` shows a table."""

    by_metric: dict[MetricName, Score]
    lines: int
    references: int  # for each line, at most
    resamples: int = 0
    notes: tuple[str, ...] = ()  # warnings for the reader of the scores

    @property
    def bleu(self) -> Score:
        return self.by_metric["bleu"]

    @property
    def chrf(self) -> Score:
        return self.by_metric["chrf"]

    @property
    def ter(self) -> Score:
        return self.by_metric["ter"]

    def __repr__(self) -> str:
        return f"<Scores {', '.join(map(str, self.by_metric.values()))}, {count(self.lines, 'line')}>"

    def __str__(self) -> str:
        return self.to_text()

    def to_table(self) -> dict[str, Any]:
        """Return plain values, for JSON."""
        return {
            **{metric: asdict(score) for metric, score in self.by_metric.items()},
            "lines": self.lines,
            "references": self.references,
            "resamples": self.resamples,
            "notes": list(self.notes),
        }

    def to_text(self) -> str:
        """Return the scores, the number of lines and the signatures, without a final newline."""
        rows = [[s.name, *s.cells, s.detail or s.direction] for s in self.by_metric.values()]
        basis = f"{count(self.lines, 'line')}, {count(self.references, 'reference')} each"
        if self.resamples:
            basis += f"; in brackets the 95% interval of {self.resamples:,} bootstrap resamples"
        return "\n".join([*aligned(rows), "", basis, *_footer(self)])


@dataclass(frozen=True, kw_only=True)
class Difference:
    """How a system differs from the baseline by one metric.

    `p_value` is the probability of a difference at least this large if both systems were equally good.
    """

    system: str
    metric: MetricName
    difference: float  # system minus baseline, in points
    p_value: float
    better: bool  # higher BLEU and chrF, lower TER

    @property
    def significant(self) -> bool:
        return self.p_value < 0.05

    @property
    def p_text(self) -> str:
        """`p = 0.0123`, or `p < 0.001` for all smaller values."""
        return "p < 0.001" if self.p_value < 0.001 else f"p = {self.p_value:.4f}"


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """A comparison of systems with a baseline on the same lines. `scores` has the baseline first."""

    baseline: str
    test: Test
    scores: dict[str, Scores]
    differences: tuple[Difference, ...]

    def to_table(self) -> dict[str, Any]:
        """Return plain values, for JSON."""
        return {
            "baseline": self.baseline,
            "test": TESTS[self.test],
            "systems": {name: scores.to_table() for name, scores in self.scores.items()},
            "differences": [{**asdict(d), "significant": d.significant} for d in self.differences],
        }

    def to_text(self) -> str:
        """Return the scores and differences of the systems and the signatures, without a final newline."""
        first = self.scores[self.baseline]
        rows = []
        for metric, score in first.by_metric.items():
            rows.append([score.name, self.baseline, *score.cells, "baseline", score.direction])
            for difference in self.differences:
                if difference.metric == metric:
                    score = self.scores[difference.system].by_metric[metric]
                    verdict = ("better" if difference.better else "worse") if difference.significant else ""
                    change = f"{difference.difference:+.2f}, {difference.p_text}"
                    rows.append(["", difference.system, *score.cells, change, verdict])
        basis = f"{count(first.lines, 'line')}, {count(first.references, 'reference')} each; "
        basis += f"{TESTS[self.test]}; better or worse if p < 0.05"
        return "\n".join([*aligned(rows), "", basis, *_footer(first)])


def _footer(scores: Scores) -> list[str]:
    signatures = [[score.name, score.signature] for score in scores.by_metric.values()]
    return [*aligned(signatures), *(f"note: {note}" for note in scores.notes)]
