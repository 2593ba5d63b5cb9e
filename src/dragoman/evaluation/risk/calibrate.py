"""Learn the risk of a model's translations from held-out text, and measure it.

The text must not be the training text: there a model is surer of itself than elsewhere. Every second line
fits the regressions and chooses the thresholds; the others are only measured.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from dragoman.base.errors import DataError
from dragoman.decoding.evidence import Evidence
from dragoman.decoding.options import Decoding
from dragoman.decoding.risk import DETECTED, Detector, RiskModel, assess
from dragoman.evaluation.risk.fit import calibrated, fit_detector, fit_logistic, held_out_logits, threshold
from dragoman.evaluation.risk.labels import needs_correction
from dragoman.evaluation.risk.planted import Planter, planted
from dragoman.evaluation.risk.report import (
    Detection,
    RiskReport,
    area_under_curve,
    bins_of,
    calibration_error,
)
from dragoman.text.checks.faults import FlagKind
from dragoman.translator import Translator

LEAST_PAIRS = 200
MOST_PAIRS = 2000

_AT_ONCE = 256  # translations scored together: attention takes much memory
_LOW = 0.1  # share of translations that have low confidence
_PLANTED_WEIGHT = 0.25  # of a planted error, beside a translation, when what needs a correction is learnt

Progress = Callable[[str], None]


@dataclass(frozen=True)
class Example:
    """A translation, untouched or with a planted error."""

    line: int
    source: str
    target: str
    evidence: Evidence
    error: FlagKind | None = None


@dataclass(frozen=True, kw_only=True)
class Examples:
    """What is learnt from or measured: examples of both kinds, and labels of the untouched translations."""

    searched: Sequence[Example]
    given: Sequence[Example]
    wrong: dict[int, bool]  # by line: whether the model's own translation needs a correction
    languages: tuple[str, str]

    def half(self, number: int) -> Examples:
        """The examples of the even lines, or of the odd ones."""
        return Examples(
            searched=[one for one in self.searched if one.line % 2 == number],
            given=[one for one in self.given if one.line % 2 == number],
            wrong={line: label for line, label in self.wrong.items() if line % 2 == number},
            languages=self.languages,
        )


def calibrate(
    translator: Translator,
    pairs: Iterable[tuple[str, str]],
    *,
    to: str | None = None,
    most: int = MOST_PAIRS,
    progress: Progress = lambda text: None,
) -> tuple[RiskModel, RiskReport]:
    """Learn from half of the pairs (source, reference) and report on the other half.

    `to` is the target language of a model that has several. At most `most` pairs are used, spread evenly over
    the text, each source once. Raises DataError for fewer than 200.
    """
    held_out = held_out_pairs(pairs, most)
    examples = examples_of(translator, held_out, Decoding(to=to), most=most, progress=progress)
    model = fit_risk(examples.half(0))
    return model, measure_risk(model, examples.half(1))


def held_out_pairs(pairs: Iterable[tuple[str, str]], most: int = MOST_PAIRS) -> list[tuple[str, str]]:
    """Return the pairs that `calibrate` uses. Raises DataError for fewer than 200."""
    chosen = _spread(_distinct(pairs), most)
    if len(chosen) < LEAST_PAIRS:
        raise DataError(
            f"{len(chosen):,} different lines to learn the risk from, of at least {LEAST_PAIRS}",
            hint="give more text that the model was not trained on",
        )
    return chosen


def examples_of(
    translator: Translator,
    pairs: Iterable[tuple[str, str]],
    decoding: Decoding | None = None,
    *,
    most: int = MOST_PAIRS,
    progress: Progress = lambda text: None,
) -> Examples:
    """Translate the sources of at most `most` pairs, plant errors, and collect the evidence."""
    chosen = _spread(_distinct(pairs), most)
    sources, references = [source for source, _ in chosen], [reference for _, reference in chosen]
    progress(f"translating {len(chosen):,} lines")
    own = [one.text for one in translator.translate(sources, decoding)]
    to = decoding.to if decoding else None
    languages = translator.source_language, to or translator.target_language
    return Examples(
        searched=_examples(translator, sources, own, to, "its translations", progress),
        given=_examples(translator, sources, references, to, "the references", progress),
        wrong=dict(enumerate(needs_correction(own, references, languages[1]))),
        languages=languages,
    )


def fit_risk(examples: Examples) -> RiskModel:
    """Return the risk model that fits the examples."""
    clean = [one for one in examples.searched if one.error is None]
    faulty = [one for one in examples.searched if one.error in DETECTED]
    labels = [examples.wrong[one.line] for one in clean]
    # A planted error is one for sure, but not as frequent as here: Platt's step sees untouched ones only.
    known = _features([*clean, *faulty]), [*labels, *[True] * len(faulty)]
    weights = [1.0] * len(clean) + [_PLANTED_WEIGHT] * len(faulty)
    lines = [one.line for one in [*clean, *faulty]]
    logits = held_out_logits(*known, lines, weights)[: len(clean)]
    correction = calibrated(fit_logistic(*known, weights), logits, labels)
    probabilities = [correction.probability(one.evidence.features) for one in clean]
    return RiskModel(
        correction=correction,
        low_confidence=threshold(probabilities, _LOW),
        searched=_detectors(examples.searched),
        given=_detectors(examples.given),
    )


def measure_risk(model: RiskModel, examples: Examples) -> RiskReport:
    """Return how well the model knows the risk of the examples. Raises DataError without examples."""
    clean = [one for one in examples.searched if one.error is None]
    if not clean:
        raise DataError("no line has text on both sides", hint="check the files")
    labels = [examples.wrong[one.line] for one in clean]
    probabilities = [model.correction.probability(one.evidence.features) for one in clean]
    bins = bins_of(probabilities, labels)
    return RiskReport(
        lines=len(clean),
        share=sum(labels) / len(labels),
        ece=calibration_error(bins),
        brier=sum((p - y) ** 2 for p, y in zip(probabilities, labels, strict=True)) / len(labels),
        auc=area_under_curve(probabilities, labels),
        auc_of_score=area_under_curve([-one.evidence.features[0] for one in clean], labels),
        bins=bins,
        searched=detections(model, examples.searched, examples.languages, given=False),
        given=detections(model, examples.given, examples.languages, given=True),
    )


def detections(
    model: RiskModel, examples: Sequence[Example], languages: tuple[str, str], *, given: bool
) -> tuple[Detection, ...]:
    """Return how often each kind of planted error is flagged, and how often untouched translations are."""
    flags = [
        {
            flag.kind
            for flag in assess(model, one.evidence, one.source, one.target, languages, given=given).flags
        }
        for one in examples
    ]
    kinds: tuple[FlagKind, ...] = (*DETECTED, "number differs")
    found = []
    for kind in kinds:
        errors = [kind in own for one, own in zip(examples, flags, strict=True) if one.error == kind]
        clean = [kind in own for one, own in zip(examples, flags, strict=True) if one.error is None]
        recall = sum(errors) / len(errors) if errors else None
        found.append(Detection(kind, len(errors), recall, sum(clean) / max(len(clean), 1)))
    return tuple(found)


def _detectors(examples: Sequence[Example]) -> dict[FlagKind, Detector]:
    found = {}
    for kind in DETECTED:
        known = [one for one in examples if one.error in (None, kind)]
        labels, lines = [one.error == kind for one in known], [one.line for one in known]
        found[kind] = fit_detector(_features(known), labels, lines)
    return found


def _examples(
    translator: Translator,
    sources: Sequence[str],
    targets: Sequence[str],
    to: str | None,
    what: str,
    progress: Progress,
) -> list[Example]:
    planter, numbers = Planter(targets, to or translator.target_language), range(len(targets))
    rows: list[tuple[int, str, FlagKind | None]] = [(n, target, None) for n, target in enumerate(targets)]
    rows += [(*one, "omission") for one in planted(map(planter.omission, numbers), targets)]
    rows += [(*one, "addition") for one in planted(map(planter.addition, numbers), targets)]
    rows += [(*one, "number differs") for one in planted(map(planter.wrong_number, numbers), targets)]
    examples: list[Example] = []
    for first in range(0, len(rows), _AT_ONCE):
        progress(f"scoring {what}: {first:,} of {len(rows):,}")
        some = rows[first : first + _AT_ONCE]
        lines = [sources[n] for n, _, _ in some]
        evidence = translator.evidence(lines, [text for _, text, _ in some], to=to)
        examples += [
            Example(n, sources[n], text, one, error)
            for (n, text, error), one in zip(some, evidence, strict=True)
        ]
    return examples


def _features(examples: Sequence[Example]) -> list[tuple[float, ...]]:
    return [one.evidence.features for one in examples]


def _distinct(pairs: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
    """The pairs with text on both sides, each source once."""
    kept: dict[str, str] = {}
    for source, reference in pairs:
        if source.strip() and reference.strip():
            kept.setdefault(source.strip(), reference.strip())
    return list(kept.items())


def _spread(pairs: list[tuple[str, str]], most: int) -> list[tuple[str, str]]:
    """At most `most` of the pairs, spread evenly."""
    if len(pairs) <= most:
        return pairs
    return [pairs[number * len(pairs) // most] for number in range(most)]
