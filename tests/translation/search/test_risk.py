from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from dragoman.text.checks.faults import Fault
from dragoman.translation.search.evidence import FIGURES, Evidence
from dragoman.translation.search.risk import Logistic, Risk, RiskModel, assess, in_order, risk_of_parts

LANGUAGES = ("en", "de")


def on_first(weight: float, bias: float = 0.0) -> Logistic:
    """A regression that looks at the first figure only."""
    return Logistic({FIGURES[0]: (0.0, 1.0, weight)}, bias)


def evidence(first: float) -> Evidence:
    return Evidence(
        {**dict.fromkeys(FIGURES, 0.0), FIGURES[0]: first}, least_covered="old", least_likely="Haus"
    )


MODEL = RiskModel(
    correction=on_first(1.0),
    low_confidence=0.9,
    searched={"omission": on_first(1.0, -1.0), "addition": on_first(-1.0, -1.0)},
    given={"omission": on_first(1.0, -4.0), "addition": on_first(-1.0, -4.0)},
)


def test_the_regression_by_numpy() -> None:
    random = np.random.default_rng(1)
    mean, scale, weights, x = random.normal(size=(4, len(FIGURES)))
    scale = abs(scale) + 0.1
    rows = zip(mean.tolist(), scale.tolist(), weights.tolist(), strict=True)
    logistic = Logistic(dict(zip(FIGURES, rows, strict=True)), 0.3)
    logit = (weights * ((x - mean) / scale).clip(-6, 6)).sum() + 0.3
    figures = dict(zip(FIGURES, x.tolist(), strict=True))

    assert logistic.logit(figures) == pytest.approx(logit)
    assert logistic.probability(figures) == pytest.approx(1 / (1 + np.exp(-logit)))


def test_a_figure_far_out_says_no_more_than_six_deviations() -> None:
    assert on_first(1.0).logit(evidence(1e12).figures) == 6
    assert on_first(1.0).logit(evidence(-1e12).figures) == -6
    assert 0 < Logistic({}, -1e9).probability({}) < 1e-12 < Logistic({}, 1e9).probability({}) <= 1


@pytest.mark.parametrize(
    ("first", "given", "kinds"),
    [
        (0.0, False, []),
        (1.5, False, ["omission"]),
        (-1.5, False, ["addition"]),
        (1.5, True, []),
        (5.0, True, ["omission", "low confidence"]),
        (-5.0, True, ["addition"]),
    ],
)
def test_flags_by_thresholds(first: float, given: bool, kinds: list[str]) -> None:
    risk = assess(MODEL, evidence(first), "The old dog.", "Der Hund.", LANGUAGES, given=given)

    assert [flag.kind for flag in risk.flags] == kinds
    assert risk.probability == pytest.approx(1 / (1 + math.exp(-first)))
    assert {flag.detail for flag in risk.flags} <= {"old", "Haus", ""}
    assert [flag.detail for flag in risk.flags if flag.kind == "omission"] in ([], ["old"])


def test_without_a_model_there_are_the_flags_of_the_text() -> None:
    risk = assess(None, evidence(5.0), "In 15 days.", "In 13 Tagen.", LANGUAGES)

    assert risk == Risk(None, (Fault("number differs", "15 missing"), Fault("number differs", "13 added")))


def test_what_the_texts_show_is_not_said_twice() -> None:
    risk = assess(MODEL, evidence(1.5), "The old dog sleeps.", "", LANGUAGES)

    assert risk.flags == (Fault("omission", "The old dog sleeps."),)


def test_a_blank_line_has_no_risk() -> None:
    assert assess(MODEL, evidence(5.0), " ", "", LANGUAGES) == Risk(None)


def test_the_risk_of_several_sentences() -> None:
    flags = Fault("number differs", "5 missing"), Fault("omission", "x")
    parts = [Risk(0.5, flags[:1]), Risk(None), Risk(0.2, (*flags[1:], *flags[:1]))]

    assert risk_of_parts(parts) == Risk(pytest.approx(0.6), flags[::-1])
    assert risk_of_parts([Risk(None)]) == risk_of_parts([]) == Risk(None)


def test_flags_are_in_the_order_of_their_kinds_and_different() -> None:
    low, gone = Fault("low confidence"), Fault("omission", "x")

    assert in_order([low, gone, low]) == (gone, low)


def test_as_plain_values() -> None:
    assert Risk(0.25, (Fault("omission", "x"),)).to_table() == {
        "probability": 0.25,
        "flags": ({"kind": "omission", "detail": "x"},),
    }
    assert replace(MODEL, low_confidence=0.1) != MODEL
