"""Which checkpoints stay, which are averaged, and when patience runs out."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
from tests.training.small_runs import config

from dragoman.training.checkpoints import selection
from dragoman.training.checkpoints.progress import Candidate


def history(*scores: float, every: int = 5) -> list[Candidate]:
    return [Candidate(step=every * number, score=score) for number, score in enumerate(scores, 1)]


def test_the_score_is_what_the_run_stops_on() -> None:
    one = Candidate(step=5, score=0, loss=2.5, bleu=30.0, chrf=50.0, chrf_words=47.0)
    for by, score in {"loss": -2.5, "bleu": 30, "chrf": 50, "chrf++": 47}.items():
        assert selection.validation_score(one, by) == score
    assert selection.validation_score(replace(one, loss=math.nan), "loss") == -math.inf
    assert selection.validation_score(replace(one, chrf=math.nan), "chrf") == -math.inf
    assert selection.validation_score(Candidate(step=5, score=0), "loss") == 5  # nothing to compare by


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


LOSSES = [2.0, 1.5, math.nan, 1.6, 1.5]
BLEUS = [30.0, 10.0, 40.0, 20.0, 25.0]
MEASURED = [
    Candidate(step=5 * number, loss=loss, bleu=bleu, score=bleu)
    for number, (loss, bleu) in enumerate(zip(LOSSES, BLEUS, strict=True), 1)
]


def test_a_soup_takes_those_of_the_lowest_loss_first() -> None:
    """Whatever stops the run. Of equal ones, the first."""
    options = config(stop_on="bleu", average_of="soup", average=3)

    assert selection.averaged(MEASURED, options) == [10, 25, 20]
    assert selection.kept(MEASURED, options) == {10, 15, 20, 25}  # 15 has the best BLEU
    assert selection.averaged(MEASURED, config(average_of="soup", average=9)) == [10, 25, 20, 5, 15]


@pytest.mark.parametrize(
    ("stop_on", "choose_by", "step"),
    [
        ("bleu", None, 15),
        ("bleu", "loss", 10),
        ("loss", None, 15),
        ("bleu", "bleu", 15),
        ("loss", "bleu", 15),
    ],
)
def test_what_the_average_is_compared_with(stop_on: str, choose_by: str | None, step: int) -> None:
    """Without an option of its own, it is what the run stops on: here the candidates' scores."""
    options = config(stop_on=stop_on, choose_by=choose_by, average=1)

    assert selection.best_single(MEASURED, options).step == step
    assert step in selection.kept(MEASURED, options)
    assert selection.best_candidate(MEASURED).step == 15


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
