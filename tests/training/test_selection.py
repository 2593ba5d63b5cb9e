"""Which checkpoints stay, which are averaged, and when patience runs out."""

from __future__ import annotations

import math

import pytest
from tests.training.runs import config

from dragoman.training import selection
from dragoman.training.progress import Candidate


def history(*scores: float, every: int = 5) -> list[Candidate]:
    return [Candidate(step=every * number, score=score) for number, score in enumerate(scores, 1)]


def test_the_score_is_what_the_run_stops_on() -> None:
    by_loss, by_bleu = config(), config(stop_on="bleu")

    assert selection.validation_score(5, 2.5, 30.0, by_loss) == -2.5
    assert selection.validation_score(5, 2.5, 30.0, by_bleu) == 30.0
    assert selection.validation_score(5, math.nan, None, by_loss) == -math.inf
    assert selection.validation_score(5, 2.5, math.nan, by_bleu) == -math.inf
    assert selection.validation_score(5, None, None, by_loss) == 5  # nothing to compare by: the last is best


def test_of_equal_candidates_the_first_is_the_best() -> None:
    assert selection.best_candidate(history(1, 3, 3, 2)).step == 10


@pytest.mark.parametrize(
    ("average_of", "average", "steps"),
    [
        ("last", 1, [20]),
        ("last", 3, [10, 15, 20]),
        ("last", 9, [5, 10, 15, 20]),
        ("best", 1, [15]),
        ("best", 3, [20, 5, 15]),
    ],
)
def test_the_average_takes_the_last_or_the_best(average_of: str, average: int, steps: list[int]) -> None:
    options = config(average_of=average_of, average=average)

    assert selection.averaged(history(30, 10, 40, 20), options) == steps


def test_the_average_and_the_best_are_kept() -> None:
    assert selection.kept(history(9, 1, 2, 3), config(average=2)) == {5, 15, 20}


def test_what_a_longer_run_may_average_is_kept_too() -> None:
    """It does not count the extra validation at the end of the shorter run, here after update 17."""
    candidates = [*history(1, 2, 3), Candidate(step=17, score=4)]

    assert selection.kept(candidates, config(average=1)) == {15, 17}
    assert [candidate.step for candidate in selection.regular(candidates, config())] == [5, 10, 15]


@pytest.mark.parametrize(
    ("patience", "scores", "over"),
    [
        (2, [1, 5, 4], False),
        (2, [1, 5, 4, 3], True),
        (1, [3, 3], True),  # as good is not better
        (0, [3, 2, 1], False),
        (2, [], False),
    ],
)
def test_patience(patience: int, scores: list[float], over: bool) -> None:
    assert selection.out_of_patience(history(*scores), config(patience=patience)) == over


def test_the_extra_validation_at_the_end_does_not_count_for_patience() -> None:
    candidates = [*history(5, 4), Candidate(step=12, score=3)]

    assert not selection.out_of_patience(candidates, config(patience=2))
