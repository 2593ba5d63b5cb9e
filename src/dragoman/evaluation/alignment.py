"""The alignment error rate of word alignments, against gold alignments (Och and Ney 2003, section 5)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any

from dragoman.base.errors import DataError
from dragoman.base.tables import aligned
from dragoman.text.lexicon.pharaoh import Gold, Link


@dataclass(frozen=True, kw_only=True)
class AlignmentScores:
    """Counts of links over a whole text. All rates are between 0 and 1."""

    lines: int
    links: int  # A, that the aligner gives
    sure: int  # S, of the gold alignments
    links_possible: int  # A and P
    links_sure: int  # A and S

    @property
    def precision(self) -> float:
        """The share of the links that are possible; 1 without links."""
        return self.links_possible / self.links if self.links else 1.0

    @property
    def recall(self) -> float:
        """The share of the sure links that were given; 1 without sure links."""
        return self.links_sure / self.sure if self.sure else 1.0

    @property
    def aer(self) -> float:
        """The alignment error rate: 1 - (|A and S| + |A and P|) / (|A| + |S|); 0 is best."""
        both = self.links + self.sure
        return 1 - (self.links_sure + self.links_possible) / both if both else 0.0

    def to_table(self) -> dict[str, Any]:
        """Return the rates and counts as plain values, for JSON."""
        return {"aer": self.aer, "precision": self.precision, "recall": self.recall, **asdict(self)}

    def to_text(self) -> str:
        """Return the rates in percent, and the counts."""
        rates = {"AER": self.aer, "precision": self.precision, "recall": self.recall}
        rows = [[name, f"{100 * rate:.1f}"] for name, rate in rates.items()]
        counts = (
            f"{self.lines:,} lines, {self.links:,} links, {self.sure:,} sure links in the gold alignments"
        )
        return "\n".join([*aligned(rows, right=(1,)), "", counts])


def score_alignments(found: Iterable[Iterable[Link]], gold: Iterable[Gold]) -> AlignmentScores:
    """Score the links of each line. Raises DataError if the numbers of lines differ."""
    lines = links = sure = links_possible = links_sure = 0
    golds = iter(gold)
    for answer in found:
        if (true := next(golds, None)) is None:
            raise DataError(
                f"only {lines} gold alignments", hint="give one for each pair of lines; it may be empty"
            )
        given = set(answer)
        lines, links, sure = lines + 1, links + len(given), sure + len(true.sure)
        links_possible += len(given & true.possible)
        links_sure += len(given & true.sure)
    if next(golds, None) is not None:
        raise DataError(f"more gold alignments than the {lines} pairs of lines", hint="give one for each")
    return AlignmentScores(
        lines=lines, links=links, sure=sure, links_possible=links_possible, links_sure=links_sure
    )
