"""Fit logistic regressions and choose thresholds, with a few lines of numpy.

N examples; F features.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dragoman.decoding.risk import Detector, Logistic, standardised

Numbers = NDArray[Any]
Features = Sequence[tuple[float, ...]]

_RIDGE = 1.0  # penalty on the squared weights, in examples
_STEPS = 100
_NEAR = 1e-8
_FOLDS = 5
FALSE_ALARMS = 0.035  # share of untouched translations above a threshold; elsewhere it varies by about 1%


def fit_logistic(
    features: Features, labels: Sequence[bool], weights: Sequence[float] | None = None
) -> Logistic:
    """Return the logistic regression with the largest likelihood and a small ridge, by Newton's method.

    `weights` say how much each of the N examples counts, by default 1.
    """
    x_NF = np.array(features, dtype=float)
    mean_F, scale_F = x_NF.mean(0), x_NF.std(0)
    scale_F[scale_F < _NEAR] = 1.0  # a feature that never varies says nothing
    z_NF = np.array([list(map(standardised, row, mean_F, scale_F)) for row in x_NF])
    w_N = np.ones(len(z_NF)) if weights is None else np.array(weights, dtype=float)
    solution = _newton(z_NF, np.array(labels, dtype=float), w_N, _RIDGE)
    return Logistic(
        mean=tuple(mean_F.tolist()),
        scale=tuple(scale_F.tolist()),
        weights=tuple(solution[:-1].tolist()),
        bias=float(solution[-1]),
    )


def held_out_logits(
    features: Features,
    labels: Sequence[bool],
    lines: Sequence[int],
    weights: Sequence[float] | None = None,
) -> list[float]:
    """Return the log-odds of each example by a regression that was fitted without it (cross-fitting).

    `lines` says which line each example is of. All examples of a line are in the same of five folds. The
    regression of all examples is surer of them than of others; these log-odds are as for others.
    """
    rank_N = np.unique(lines, return_inverse=True)[1]
    counts = [1.0] * len(features) if weights is None else weights
    logits = [0.0] * len(features)
    for fold in range(_FOLDS):
        inside = np.flatnonzero(rank_N % _FOLDS != fold).tolist()
        outside = np.flatnonzero(rank_N % _FOLDS == fold).tolist()
        if inside and outside:
            logistic = fit_logistic(
                [features[n] for n in inside], [labels[n] for n in inside], [counts[n] for n in inside]
            )
            for number in outside:
                logits[number] = logistic.logit(features[number])
    return logits


def calibrated(logistic: Logistic, logits: Sequence[float], labels: Sequence[bool]) -> Logistic:
    """Return the regression with its log-odds scaled and shifted as `logits` need it to fit the labels.

    This is Platt scaling (1999). Its targets are a little inside 0 and 1, so that few examples give no
    certainty.
    """
    logit_N = np.array(logits)
    y_N = np.array(labels, dtype=float)
    positive = y_N.sum()
    negative = len(y_N) - positive
    targets_N = np.where(y_N > 0, (positive + 1) / (positive + 2), 1 / (negative + 2))
    slope, shift = _newton(logit_N[:, None], targets_N, np.ones(len(y_N)), 1e-6)
    return replace(
        logistic,
        weights=tuple(float(slope) * weight for weight in logistic.weights),
        bias=float(slope) * logistic.bias + float(shift),
    )


def fit_detector(features: Features, labels: Sequence[bool], lines: Sequence[int]) -> Detector:
    """Return a detector that tells faulty examples, whose label is true, from clean ones.

    The threshold leaves 3.5% false alarms among the clean examples, by their held-out log-odds.
    """
    logits = held_out_logits(features, labels, lines)
    clean = [logit for logit, faulty in zip(logits, labels, strict=True) if not faulty]
    return Detector(logistic=fit_logistic(features, labels), threshold=threshold(clean))


def threshold(scores: Sequence[float], share: float = FALSE_ALARMS) -> float:
    """Return the least of the scores that at most this share of them exceed."""
    ordered = sorted(scores)
    return ordered[len(ordered) - 1 - int(share * len(ordered))]


def _newton(x_NF: Numbers, y_N: Numbers, w_N: Numbers, ridge: float) -> Numbers:
    """Return the weights and, last, the bias, which has no ridge.

    Raises numpy's LinAlgError only for numbers that are not finite: the ridge keeps the matrix regular.
    """
    x_NG = np.hstack([x_NF, np.ones((len(x_NF), 1))])
    ridge_G = np.append(np.full(x_NF.shape[1], ridge), 1e-6)
    solution_G = np.zeros(len(ridge_G))
    loss = np.inf
    for _ in range(_STEPS):
        logit_N = x_NG @ solution_G
        p_N = 1 / (1 + np.exp(-logit_N.clip(-35, 35)))
        gradient_G = x_NG.T @ (w_N * (p_N - y_N)) + ridge_G * solution_G
        curvature_GG = (x_NG * (w_N * p_N * (1 - p_N))[:, None]).T @ x_NG + np.diag(ridge_G)
        step_G = np.linalg.solve(curvature_GG, gradient_G)
        # Halve a step that overshoots: the likelihood is concave, so a shorter one improves it.
        loss = _loss(x_NG, y_N, w_N, ridge_G, solution_G)
        while _loss(x_NG, y_N, w_N, ridge_G, solution_G - step_G) > loss + _NEAR:
            step_G = step_G / 2
        solution_G = solution_G - step_G
        if np.abs(step_G).max() < _NEAR:
            break
    return solution_G


def _loss(x_NG: Numbers, y_N: Numbers, w_N: Numbers, ridge_G: Numbers, solution_G: Numbers) -> float:
    logit_N = x_NG @ solution_G
    loss_N = np.logaddexp(0, logit_N) - y_N * logit_N
    return float((w_N * loss_N).sum() + (ridge_G * solution_G**2).sum() / 2)
