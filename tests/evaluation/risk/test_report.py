from __future__ import annotations

import itertools
import xml.etree.ElementTree as ET

import numpy as np
import pytest

from dragoman.evaluation.risk.report import (
    Bin,
    Detection,
    RiskReport,
    area_under_curve,
    bins_of,
    calibration_error,
)

RANDOM = np.random.default_rng(3)
SCORES = RANDOM.integers(0, 12, 60).tolist()  # with ties
LABELS = (RANDOM.random(60) < 0.4).tolist()


def test_area_by_all_pairs() -> None:
    pairs = [
        (a > b) + (a == b) / 2
        for (a, x), (b, y) in itertools.product(zip(SCORES, LABELS, strict=True), repeat=2)
        if x and not y
    ]

    assert area_under_curve(SCORES, LABELS) == pytest.approx(sum(pairs) / len(pairs))
    assert area_under_curve([1.0, 2.0], [True, True]) is None
    assert area_under_curve([], []) is None


def test_bins_of_equal_size() -> None:
    probabilities = [place / 100 for place in range(95, 0, -4)]
    labels = [place % 3 == 0 for place in range(len(probabilities))]
    bins = bins_of(probabilities, labels)

    assert len(bins) == 10
    assert {one.count for one in bins} <= {2, 3}
    assert sum(one.count for one in bins) == len(labels)
    assert [one.predicted for one in bins] == sorted(one.predicted for one in bins)
    assert sum(one.count * one.observed for one in bins) == pytest.approx(sum(labels))
    assert sum(one.count * one.predicted for one in bins) == pytest.approx(sum(probabilities))
    assert bins_of([0.5], [True]) == (Bin(0.5, 1.0, 1),)


def test_calibration_error_by_hand() -> None:
    assert calibration_error([Bin(0.2, 0.5, 1), Bin(0.8, 0.7, 3)]) == pytest.approx(0.3 / 4 + 0.1 * 3 / 4)


def test_the_report_as_text_and_picture() -> None:
    report = RiskReport(
        lines=2000,
        share=0.25,
        ece=0.031,
        brier=0.2,
        auc=None,
        bins=(Bin(0.1, 0.2, 1000), Bin(0.6, 0.5, 1000)),
        searched=(Detection("omission", 1500, 0.9125, 0.04), Detection("number differs", 0, None, 0.0)),
        given=(),
    )
    text = report.to_text()
    rows = [line.split() for line in text.splitlines()]

    assert ["need", "a", "correction", "25.0%"] in rows
    assert ["AUC", "not", "known"] in rows
    assert ["0.60", "0.50", "1,000", "##########"] in rows
    assert ["omission", "1,500", "91.2%", "4.0%"] in rows
    assert ["number", "differs", "0", "0.0%"] in rows
    assert "references" not in text
    root = ET.fromstring(report.to_svg())
    assert root.tag == "{http://www.w3.org/2000/svg}svg"
    assert sum(one.get("class", "").startswith("curve") for one in root.iter()) == 2
    assert report.to_table()["bins"][0] == {"predicted": 0.1, "observed": 0.2, "count": 1000}


def test_equal_probabilities_have_no_order() -> None:
    assert calibration_error(bins_of([0.5] * 100, [number % 2 == 0 for number in range(100)])) == 0
