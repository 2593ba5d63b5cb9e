"""From held-out text to a risk model: with a saved model, and by hand."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from dragoman.base.errors import DataError
from dragoman.evaluation.risk.calibrate import (
    Example,
    Examples,
    calibrate_folder,
    examples_of,
    fit_risk,
    measure_risk,
    needs_correction,
)
from dragoman.evaluation.risk.report import RiskReport
from dragoman.text import toy
from dragoman.text.checks.faults import FlagKind
from dragoman.translation.search.evidence import FIGURES, Evidence
from dragoman.translation.translator import Translator

SAVED = Path(__file__).parents[2] / "saved" / "0.1" / "transformer"
PAIRS = toy.pairs(seed=9, count=230)


def made(number: int) -> Examples:
    """Examples whose figures say what is wrong: the first of corrections, the second and third of errors."""
    random = np.random.default_rng(4)
    found: dict[str, list[Example]] = {"searched": [], "given": []}
    wrong = {line: bool(random.random() < 0.3) for line in range(number)}
    kinds: tuple[FlagKind | None, ...] = (None, "omission", "addition")
    for line in range(number):
        for given in (False, True):
            for kind in kinds:
                figures = random.normal(size=len(FIGURES))
                figures[0] -= 2.5 * wrong[line]
                figures[1] += (5 + given) * (kind == "omission")
                figures[2] -= (5 + given) * (kind == "addition")
                evidence = Evidence(dict(zip(FIGURES, figures.tolist(), strict=True)), "", "")
                found["given" if given else "searched"].append(
                    Example(line, "A dog.", "Ein Hund.", evidence, kind)
                )
    return Examples(**found, wrong=wrong, languages=("en", "de"))


@pytest.fixture(scope="module")
def report() -> RiskReport:
    examples = made(800)
    return measure_risk(fit_risk(examples.half(0)), examples.half(1))


def test_what_can_be_told_is_told(report: RiskReport) -> None:
    assert report.lines == 400
    assert report.share == pytest.approx(0.3, abs=0.06)
    assert report.auc is not None
    assert report.auc > 0.8
    assert report.ece < 0.1
    assert report.brier < 0.15
    for detection in (*report.searched, *report.given):
        assert detection.false_alarms < 0.08
        if detection.kind != "number differs":
            assert detection.planted == 400
            assert detection.recall is not None
            assert detection.recall > 0.9


def test_the_lowest_tenth_has_low_confidence() -> None:
    examples = made(400)
    model = fit_risk(examples)
    clean = [one for one in examples.searched if one.error is None]
    low = sum(model.correction.probability(one.evidence.figures) >= model.low_confidence for one in clean)

    assert 35 <= low <= 45


def test_flags_of_others_have_thresholds_of_their_own() -> None:
    examples = made(400)
    shifted = replace(
        examples,
        given=[
            replace(
                one,
                evidence=replace(one.evidence, figures={n: x + 9 for n, x in one.evidence.figures.items()}),
            )
            for one in examples.given
        ],
    )
    plain, moved = fit_risk(examples), fit_risk(shifted)

    assert moved.searched == plain.searched
    before, after = plain.given["omission"].terms, moved.given["omission"].terms
    assert [after[name][0] - before[name][0] for name in FIGURES] == pytest.approx([9] * len(FIGURES))


def test_measuring_nothing_is_an_error() -> None:
    examples = made(20)

    with pytest.raises(DataError, match="both sides"):
        measure_risk(fit_risk(examples), replace(examples, searched=[], wrong={}))


@pytest.fixture(scope="module")
def translator() -> Translator:
    return Translator.load(SAVED)


def test_examples_are_the_translations_and_planted_errors(translator: Translator) -> None:
    pairs = [*PAIRS[:12], PAIRS[0], ("", "x"), ("x", " ")]
    said: list[str] = []
    examples = examples_of(translator, pairs, progress=said.append)
    sources = list(dict.fromkeys(source for source, _ in pairs[:12]))
    clean = [one for one in examples.searched if one.error is None]

    assert [one.source for one in clean] == sources
    assert [one.target for one in clean] == [one.text for one in translator.translate(sources, split=False)]
    references = [dict(reversed(pairs[:12]))[source] for source in sources]
    assert [one.target for one in examples.given if one.error is None] == references
    assert list(examples.wrong.values()) == needs_correction([one.target for one in clean], references, "de")
    for one in [*examples.searched, *examples.given]:
        (alone,) = translator.evidence([one.source], [one.target])
        assert one.evidence.figures == pytest.approx(alone.figures, abs=1e-4)
        assert one.error is None or one.target not in references
    assert {one.error for one in examples.given} >= {None, "omission", "addition"}
    assert said
    halves = examples.half(0), examples.half(1)
    assert {one.line for one in halves[0].searched}.isdisjoint(one.line for one in halves[1].searched)
    assert len(halves[0].given) + len(halves[1].given) == len(examples.given)


def test_pairs_are_spread_evenly(translator: Translator) -> None:
    distinct = list(dict(reversed(PAIRS[:40])).items())[::-1]
    examples = examples_of(translator, distinct, most=5)

    expected = [distinct[number * len(distinct) // 5][0] for number in range(5)]
    assert [one.source for one in examples.searched if one.error is None] == expected


def test_too_little_text_is_said_before_the_model_is_loaded() -> None:
    with pytest.raises(DataError, match="12 different lines"):
        calibrate_folder(Path("none"), PAIRS[:12])
    with pytest.raises(DataError, match="1 different lines"):
        calibrate_folder(Path("none"), [("A dog.", "Ein Hund.")] * 300)


def test_more_than_half_of_the_words_have_to_change() -> None:
    reference = "der alte Hund schläft"
    hypotheses = [
        "DER ALTE HUND SCHLÄFT",
        "der alte Hund läuft",
        "der alte Esel läuft",
        "ein alter Esel läuft",
        "",
    ]

    assert needs_correction(hypotheses, [reference] * 5, "de") == [False, False, False, True, True]


def test_chinese_is_counted_by_characters() -> None:
    assert needs_correction(["老狗在睡"], ["老狗不睡"], "zh") == [False]
    assert needs_correction(["老狗在睡"], ["老狗不睡"], "de") == [True]
