from __future__ import annotations

import pytest

from dragoman.base.errors import DataError
from dragoman.evaluation.alignment import score_alignments
from dragoman.text.lexicon.pharaoh import Gold


def test_by_hand() -> None:
    """4 links: 2 of 3 sure ones, and one of 2 that are only possible."""
    gold = [Gold.of("0-0 1-1 1p2"), Gold.of("0-0 1p1")]
    scores = score_alignments([[(0, 0), (1, 2), (1, 2)], [(0, 0), (3, 3)]], gold)
    assert (scores.lines, scores.links, scores.sure) == (2, 4, 3)
    assert scores.precision == pytest.approx(3 / 4)
    assert scores.recall == pytest.approx(2 / 3)
    assert scores.aer == pytest.approx(1 - (2 + 3) / (4 + 3))
    assert scores.to_text().split()[:6] == ["AER", "28.6", "precision", "75.0", "recall", "66.7"]
    assert scores.to_table()["aer"] == scores.aer


def test_a_perfect_alignment_has_no_errors() -> None:
    gold = [Gold.of("0-0 1-1 2p2"), Gold.of("")]
    assert score_alignments([gold[0].sure, []], gold).aer == 0
    assert score_alignments([gold[0].possible, []], gold).aer == 0


def test_nothing_against_nothing() -> None:
    scores = score_alignments([[]], [Gold.of("")])
    assert (scores.aer, scores.precision, scores.recall) == (0, 1, 1)


@pytest.mark.parametrize("count", [1, 3])
def test_other_numbers_of_lines_are_refused(count: int) -> None:
    with pytest.raises(DataError, match="gold alignments"):
        score_alignments([[], []], [Gold.of("")] * count)
