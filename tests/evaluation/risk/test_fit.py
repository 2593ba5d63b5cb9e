from __future__ import annotations

import numpy as np
import pytest

from dragoman.decoding.risk import sigmoid
from dragoman.evaluation.risk.fit import calibrated, fit_detector, fit_logistic, threshold

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
    repaired = calibrated(fitted, ROWS, labels)
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
    detector = fit_detector(clean, faulty)

    assert sum(map(detector.detects, clean)) == 8
    assert sum(map(detector.detects, faulty)) > 190
