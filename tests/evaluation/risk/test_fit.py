from __future__ import annotations

import numpy as np
import pytest

from dragoman.evaluation.risk.calibrate import FALSE_ALARMS, fit_detector, fit_logistic, threshold

RANDOM = np.random.default_rng(5)
NAMES = ["a", "b", "c"]
COUNT = 8  # figures, about as many as there are
X = RANDOM.normal(size=(400, 3)) * [1.0, 5.0, 0.1] + [0.0, 2.0, 1.0]
LOGIT = 1.5 * X[:, 0] - 0.4 * (X[:, 1] - 2) + 0.3
Y = (RANDOM.random(400) < 1 / (1 + np.exp(-LOGIT))).tolist()
ROWS = [dict(zip(NAMES, row, strict=True)) for row in X.tolist()]


def loss(weights: np.ndarray, z: np.ndarray, y: np.ndarray) -> float:
    """The penalised negative log-likelihood, written out."""
    p = 1 / (1 + np.exp(-(z @ weights[:-1] + weights[-1])))
    likelihood = y * np.log(p) + (1 - y) * np.log(1 - p)
    return float(-likelihood.sum() + 0.5 * (weights[:-1] ** 2).sum())


def test_no_other_weights_are_better() -> None:
    fitted = fit_logistic(ROWS, Y, NAMES)
    z = ((X - X.mean(0)) / X.std(0)).clip(-6, 6)
    mean, scale, weights = zip(*fitted.terms.values(), strict=True)
    best = np.array([*weights, fitted.bias])
    least = loss(best, z, np.array(Y, float))

    assert mean == pytest.approx(X.mean(0).tolist())
    assert scale == pytest.approx(X.std(0).tolist())
    for step in np.vstack([np.eye(4), -np.eye(4)]) * 1e-3:
        assert loss(best + step, z, np.array(Y, float)) > least


def test_the_weights_are_near_the_true_ones() -> None:
    terms = fit_logistic(ROWS, Y, NAMES).terms

    assert terms["a"][2] / terms["a"][1] == pytest.approx(1.5, abs=0.4)
    assert terms["b"][2] / terms["b"][1] == pytest.approx(-0.4, abs=0.1)


def test_the_probabilities_are_calibrated() -> None:
    fitted = fit_logistic(ROWS, Y, ["a"])
    probabilities = [fitted.probability(row) for row in ROWS]

    assert sum(probabilities) == pytest.approx(sum(Y), abs=0.01)
    assert [row["a"] for row in sorted(ROWS, key=fitted.probability)] == sorted(row["a"] for row in ROWS)


def test_a_figure_that_never_varies_and_classes_that_part_cleanly() -> None:
    rows = [{"a": 1.0, "b": float(number)} for number in range(20)]
    fitted = fit_logistic(rows, [number >= 10 for number in range(20)], ["a", "b"])

    assert fitted.terms["a"][2] == pytest.approx(0, abs=1e-9)
    assert fitted.probability({"a": 1.0, "b": 19.0}) > 0.95 > 0.05 > fitted.probability({"a": 1.0, "b": 0.0})
    assert fit_logistic(rows, [True] * 20, ["a", "b"]).probability({"a": 1.0, "b": 3.0}) > 0.99


@pytest.mark.parametrize(
    ("count", "share", "above"), [(100, 0.04, 4), (99, 0.04, 3), (10, 0.04, 0), (10, 0.1, 1)]
)
def test_a_threshold_leaves_a_share_above(count: int, share: float, above: int) -> None:
    scores = RANDOM.permutation(count).astype(float).tolist()

    assert sum(score > threshold(scores, share) for score in scores) == above


def test_a_detector_finds_what_is_far_from_clean() -> None:
    clean, faulty = ROWS[:200], [row | {"a": row["a"] + 6} for row in ROWS[200:]]
    detector = fit_detector([*clean, *faulty], [False] * 200 + [True] * 200, NAMES)

    assert sum(detector.logit(row) > 0 for row in clean) == int(FALSE_ALARMS * 200)
    assert sum(detector.logit(row) > 0 for row in faulty) > 190


def test_with_few_examples_the_false_alarms_stay_few() -> None:
    random, alarms, names = np.random.default_rng(2), [], [str(n) for n in range(COUNT)]

    def drawn(count: int) -> list[dict[str, float]]:
        return [dict(zip(names, row, strict=True)) for row in random.normal(size=(count, COUNT)).tolist()]

    for _ in range(10):
        detector = fit_detector(drawn(200), [False] * 100 + [True] * 100, names)
        alarms += [detector.logit(row) > 0 for row in drawn(1000)]

    assert np.mean(alarms) < 0.08
