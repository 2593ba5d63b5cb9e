"""Fit a logistic regression, and a detector with a threshold. N examples; G figures and the bias."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from dragoman.translation.search.evidence import FIGURES, Figures
from dragoman.translation.search.risk import Logistic, standardised

FALSE_ALARMS = 0.035  # share of untouched translations above a threshold; elsewhere it varies by about 1%
_RIDGE = 1.0  # penalty on the squared weights, in examples
_STEPS = 2000
_NEAR = 1e-8


def fit_logistic(
    examples: Sequence[Figures], labels: Sequence[bool], names: Sequence[str] = FIGURES
) -> Logistic:
    """Return the regression over these figures that has the largest likelihood, with a small ridge.

    Each step minimises an upper bound with the curvature X'X/4 (Böhning and Lindsay 1988), so none
    overshoots.
    """
    x_NF = np.array([[one[name] for name in names] for one in examples])
    mean_F, scale_F = x_NF.mean(0), x_NF.std(0)
    scale_F[scale_F < _NEAR] = 1.0  # a figure that never varies says nothing
    x_NG = np.ones((len(x_NF), len(names) + 1))
    x_NG[:, :-1] = [list(map(standardised, row, mean_F, scale_F)) for row in x_NF]
    ridge_G = np.array([_RIDGE] * len(names) + [1e-6])
    inverse_GG = np.linalg.inv(x_NG.T @ x_NG / 4 + np.diag(ridge_G))
    weight_G = np.zeros(len(ridge_G))
    for _ in range(_STEPS):
        p_N = 1 / (1 + np.exp(-x_NG @ weight_G))
        step_G = inverse_GG @ (x_NG.T @ (p_N - labels) + ridge_G * weight_G)
        weight_G -= step_G
        if np.abs(step_G).max() < _NEAR:
            break
    *weights, bias = weight_G.tolist()
    terms = zip(names, zip(mean_F.tolist(), scale_F.tolist(), weights, strict=True), strict=True)
    return Logistic(dict(terms), bias)


def fit_detector(
    examples: Sequence[Figures], labels: Sequence[bool], names: Sequence[str] = FIGURES
) -> Logistic:
    """Return a regression that is above 0 for faulty examples, whose label is true.

    It is so for 3.5% of the clean examples too.
    """
    fitted = fit_logistic(examples, labels, names)
    clean = [fitted.logit(one) for one, faulty in zip(examples, labels, strict=True) if not faulty]
    return replace(fitted, bias=fitted.bias - threshold(clean))


def threshold(scores: Sequence[float], share: float = FALSE_ALARMS) -> float:
    """Return the least of the scores that at most this share of them exceed."""
    ordered = sorted(scores)
    return ordered[len(ordered) - 1 - int(share * len(ordered))]
