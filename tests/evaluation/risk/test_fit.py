from __future__ import annotations

import numpy as np
import pytest

from dragoman.decoding.risk import sigmoid
from dragoman.evaluation.risk.fit import calibrated, fit_detector, fit_logistic, held_out_logits, threshold

RANDOM = np.random.default_rng(5)
X = RANDOM.normal(size=(400, 3)) * [1.0, 5.0, 0.1] + [0.0, 2.0, 1.0]
LOGIT = 1.5 * X[:, 0] - 0.4 * (X[:, 1] - 2) + 0.3
Y = (RANDOM.random(400) < 1 / (1 + np.exp(-LOGIT))).tolist()
ROWS = [tuple(row) for row in X.tolist()]


def loss(weights: np.ndarray, z: np.ndarray, y: np.ndarray, counts: np.ndarray) -> float:
    """The penalised negative log-likelihood, written out."""
    p = 1 / (1 + np.exp(-(z @ weights[:-1] + weights[-1])))
    likelihood = counts * (y * np.log(p) + (1 - y) * np.log(1 - p))
    return float(-likelihood.sum() + 0.5 * (weights[:-1] ** 2).sum())


@pytest.mark.parametrize("weighted", [False, True])
def test_no_other_weights_are_better(weighted: bool) -> None:
    counts = RANDOM.random(400) if weighted else np.ones(400)
    fitted = fit_logistic(ROWS, Y, counts.tolist() if weighted else None)
    z = ((X - X.mean(0)) / X.std(0)).clip(-6, 6)
    best = np.array([*fitted.weights, fitted.bias])
    least = loss(best, z, np.array(Y, float), counts)

    assert fitted.mean == pytest.approx(X.mean(0).tolist())
    assert fitted.scale == pytest.approx(X.std(0).tolist())
    for step in np.vstack([np.eye(4), -np.eye(4)]) * 1e-3:
        assert loss(best + step, z, np.array(Y, float), counts) > least


def test_the_weights_are_near_the_true_ones() -> None:
    fitted = fit_logistic(ROWS, Y)

    assert fitted.weights[0] / fitted.scale[0] == pytest.approx(1.5, abs=0.4)
    assert fitted.weights[1] / fitted.scale[1] == pytest.approx(-0.4, abs=0.1)


def test_a_figure_that_never_varies_and_classes_that_part_cleanly() -> None:
    rows = [(1.0, float(number)) for number in range(20)]
    fitted = fit_logistic(rows, [number >= 10 for number in range(20)])

    assert fitted.weights[0] == pytest.approx(0, abs=1e-9)
    assert fitted.probability((1.0, 19.0)) > 0.95 > 0.05 > fitted.probability((1.0, 0.0))
    assert fit_logistic(rows, [True] * 20).probability((1.0, 3.0)) > 0.99


def test_calibration_repairs_a_slope_and_a_shift() -> None:
    fitted = fit_logistic(ROWS, Y)
    labels = (RANDOM.random(400) < [sigmoid(0.5 * fitted.logit(row) - 1) for row in ROWS]).tolist()
    repaired = calibrated(fitted, [fitted.logit(row) for row in ROWS], labels)
    probabilities = [repaired.probability(row) for row in ROWS]

    assert sum(probabilities) == pytest.approx(sum(labels), abs=2)
    slope = repaired.weights[0] / fitted.weights[0]
    assert slope == pytest.approx(0.5, abs=0.25)
    assert repaired.weights[1] / fitted.weights[1] == pytest.approx(slope)
    assert repaired.bias - slope * fitted.bias == pytest.approx(-1, abs=0.4)


@pytest.mark.parametrize(
    ("count", "share", "above"), [(100, 0.04, 4), (99, 0.04, 3), (10, 0.04, 0), (10, 0.1, 1)]
)
def test_a_threshold_leaves_a_share_above(count: int, share: float, above: int) -> None:
    scores = RANDOM.permutation(count).astype(float).tolist()

    assert sum(score > threshold(scores, share) for score in scores) == above


def test_a_detector_finds_what_is_far_from_clean() -> None:
    clean, faulty = ROWS[:200], [(row[0] + 6, *row[1:]) for row in ROWS[200:]]
    labels, lines = [False] * 200 + [True] * 200, [*range(200)] * 2
    detector = fit_detector([*clean, *faulty], labels, lines)
    held_out = held_out_logits([*clean, *faulty], labels, lines)[:200]

    assert sum(logit > detector.threshold for logit in held_out) == 7
    assert sum(map(detector.detects, faulty)) > 190


def test_held_out_logits_are_of_a_regression_without_the_line() -> None:
    lines = [2 * (n // 2) for n in range(400)]  # two examples of each even line
    found = held_out_logits(ROWS, Y, lines, [1.0, 2.0] * 200)

    for fold in range(5):
        others = [n for n in range(400) if n // 2 % 5 != fold]
        fitted = fit_logistic(
            [ROWS[n] for n in others], [Y[n] for n in others], [1.0 + n % 2 for n in others]
        )
        for n in set(range(400)) - set(others):
            assert found[n] == pytest.approx(fitted.logit(ROWS[n]))


def test_with_many_figures_and_few_examples_the_false_alarms_stay_few() -> None:
    random, alarms, naive = np.random.default_rng(2), [], []
    for _ in range(10):
        rows = [tuple(row) for row in random.normal(size=(300, 30)).tolist()]
        labels, lines = [False] * 150 + [True] * 150, [*range(150)] * 2
        detector = fit_detector(rows, labels, lines)
        others = [tuple(row) for row in random.normal(size=(1000, 30)).tolist()]
        alarms += [detector.detects(row) for row in others]
        limit = threshold([detector.logistic.logit(row) for row in rows[:150]])
        naive += [detector.logistic.logit(row) > limit for row in others]

    assert np.mean(alarms) < 0.06 < np.mean(naive)
