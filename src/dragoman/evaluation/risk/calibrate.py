"""Learn the risk of a model's translations from held-out text, and measure it.

The text must not be the training text: there a model is surer of itself than elsewhere. Every second line
fits the regressions and chooses the thresholds; the others are only measured.

A translation counts as one that needs a correction if its TER against the reference is above 50: more than
half as many edits as the reference has words (Snover et al. 2006), in lower case. This is a stand-in for the
judgement of a person. Another good translation may share few words with the reference; a small but grave
error, such as a lost "not", does not count.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from dragoman.base.errors import ConfigError, DataError, ModelError
from dragoman.base.files import write_whole
from dragoman.base.languages import closest
from dragoman.base.tables import markdown
from dragoman.evaluation.metrics import line_ter
from dragoman.evaluation.risk.planted import Planter
from dragoman.evaluation.risk.report import Detection, RiskReport, detection_rows, report_on
from dragoman.text.blank import is_blank
from dragoman.text.checks.faults import FlagKind
from dragoman.translation.folder.card import render_card, with_section
from dragoman.translation.folder.config import CARD, RISK, read_config
from dragoman.translation.folder.risk import read_risk, write_risk
from dragoman.translation.folder.summary import read_card, summary_of
from dragoman.translation.search.evidence import FIGURES, Evidence, Figures
from dragoman.translation.search.options import Decoding
from dragoman.translation.search.risk import DETECTED, Logistic, RiskModel, assess, standardised
from dragoman.translation.translator import Translator

EDITS = 50.0  # TER above which a translation needs a correction
LEAST_PAIRS = 200
MOST_PAIRS = 2000

_AT_ONCE = 256  # translations scored together: attention takes much memory
_LOW = 0.1  # share of translations that have low confidence

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
    """Data to fit or to measure: examples of both kinds, and labels of the untouched translations."""

    searched: Sequence[Example]
    given: Sequence[Example]
    wrong: dict[int, bool]  # by line: whether the model's own translation needs a correction
    languages: tuple[str, str]

    def half(self, number: int) -> Examples:
        """The examples of the even lines, or of the odd ones."""
        searched, given = (
            [one for one in side if one.line % 2 == number] for side in (self.searched, self.given)
        )
        return replace(self, searched=searched, given=given)

    def labelled(self) -> tuple[list[Example], list[bool]]:
        """The model's own translations, and whether each needs a correction."""
        clean = [one for one in self.searched if one.error is None]
        return clean, [self.wrong[one.line] for one in clean]


def examples_of(
    translator: Translator,
    pairs: Iterable[tuple[str, str]],
    decoding: Decoding | None = None,
    *,
    most: int = MOST_PAIRS,
    progress: Progress = lambda text: None,
) -> Examples:
    """Translate the sources of at most `most` pairs, plant errors, and collect the evidence."""
    chosen = _spread(pairs, most)
    sources, references = [source for source, _ in chosen], [reference for _, reference in chosen]
    progress(f"translating {len(chosen):,} lines")
    own = [one.text for one in translator.translate(sources, decoding, split=False)]
    source, to = (decoding.source, decoding.to) if decoding else (None, None)
    own_code = closest(to, translator.targets) if to else None
    languages = source or translator.source_language, own_code or translator.target_language

    def examples(targets: Sequence[str], what: str) -> list[Example]:
        rows: list[tuple[int, str, FlagKind | None]] = [
            (line, target, None) for line, target in enumerate(targets)
        ]
        rows += Planter(targets, languages[1]).errors()
        found: list[Example] = []
        while some := rows[len(found) : len(found) + _AT_ONCE]:
            progress(f"scoring {what}: {len(found):,} of {len(rows):,}")
            both = [(sources[line], text) for line, text, _ in some]
            evidence = translator.evidence(both, source=source, to=to)
            found += [
                Example(line, sources[line], text, one, error)
                for (line, text, error), one in zip(some, evidence, strict=True)
            ]
        return found

    return Examples(
        searched=examples(own, "its translations"),
        given=examples(references, "the references"),
        wrong=dict(enumerate(needs_correction(own, references, languages[1]))),
        languages=languages,
    )


def needs_correction(
    hypotheses: Sequence[str], references: Sequence[str], target_language: str | None = None
) -> list[bool]:
    """Return for each translation whether its TER against the reference is above 50."""
    return [ter > EDITS for ter in line_ter(hypotheses, references, target_language)]


def fit_risk(examples: Examples) -> RiskModel:
    """Return the risk model that fits the examples."""
    clean, labels = examples.labelled()
    figures = [one.evidence.figures for one in clean]
    correction = fit_logistic(figures, labels, ["logp mean"])
    return RiskModel(
        correction=correction,
        low_confidence=threshold([correction.probability(one) for one in figures], _LOW),
        searched=_detectors(examples.searched),
        given=_detectors(examples.given),
    )


def measure_risk(model: RiskModel, examples: Examples) -> RiskReport:
    """Return how well the model predicts the risk of the examples. Raises DataError without examples."""
    clean, labels = examples.labelled()
    if not clean:
        raise DataError("no line has text on both sides", hint="check the files")
    return report_on(
        [model.correction.probability(one.evidence.figures) for one in clean],
        labels,
        searched=_detections(model, examples.searched, examples.languages, given=False),
        given=_detections(model, examples.given, examples.languages, given=True),
    )


def _detections(
    model: RiskModel, examples: Sequence[Example], languages: tuple[str, str], *, given: bool
) -> tuple[Detection, ...]:
    """How often each kind of planted error is flagged, and how often untouched translations are."""
    flagged: dict[FlagKind | None, list[set[FlagKind]]] = {}
    for one in examples:
        risk = assess(model, one.evidence, one.source, one.target, languages, given=given)
        flagged.setdefault(one.error, []).append({flag.kind for flag in risk.flags})
    found, clean = [], flagged.get(None, [])
    for kind in (*DETECTED, "number differs"):
        errors = flagged.get(kind, [])
        recall = sum(kind in own for own in errors) / len(errors) if errors else None
        false_alarms = sum(kind in own for own in clean) / max(len(clean), 1)
        found.append(Detection(kind, len(errors), recall, false_alarms))
    return tuple(found)


def _detectors(examples: Sequence[Example]) -> dict[FlagKind, Logistic]:
    known = {kind: [one for one in examples if one.error in (None, kind)] for kind in DETECTED}
    return {
        kind: fit_detector([one.evidence.figures for one in some], [one.error == kind for one in some])
        for kind, some in known.items()
    }


def _spread(pairs: Iterable[tuple[str, str]], most: int) -> list[tuple[str, str]]:
    """At most `most` of the pairs with text on both sides, each source once, spread evenly."""
    kept: dict[str, str] = {}
    for source, reference in pairs:
        if not is_blank(source) and not is_blank(reference):
            kept.setdefault(source.strip(), reference.strip())
    all_pairs = list(kept.items())
    count = min(most, len(all_pairs))
    return [all_pairs[number * len(all_pairs) // count] for number in range(count)]


FALSE_ALARMS = 0.035  # share of untouched translations above a threshold; elsewhere it varies by about 1%
_RIDGE = 1.0  # penalty on the squared weights, in examples
_STEPS = 2000
_NEAR = 1e-8


def fit_logistic(
    examples: Sequence[Figures], labels: Sequence[bool], names: Sequence[str] = FIGURES
) -> Logistic:
    """Return the regression over these figures that has the largest likelihood, with a small ridge.

    Each step minimises an upper bound with the curvature X'X/4 (Böhning and Lindsay 1988), so none
    overshoots. N examples; G figures and the bias.
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


def calibrate_folder(
    folder: Path,
    pairs: Iterable[tuple[str, str]],
    *,
    source: str | None = None,
    to: str | None = None,
    most: int = MOST_PAIRS,
    progress: Progress = lambda text: None,
) -> RiskReport:
    """Learn the risk of the model in `folder` from held-out pairs, and write risk.json and the card.

    Half of the pairs (source, reference) are learnt from, the others measured. At most `most` are used,
    spread evenly over the text, each source once. `source` and `to` are their languages, for a model that
    has several. Results for other target languages stay. A risk.json that cannot be used is deleted first:
    with it the model would not be loaded.

    Raises DataError for fewer than 200 pairs with different sources, ConfigError for a language that the
    model does not have, or a missing one if it has several, ModelError for a damaged folder.
    """
    pairs = _spread(pairs, most)
    if len(pairs) < LEAST_PAIRS:
        raise DataError(
            f"{len(pairs):,} different lines to learn the risk from, of at least {LEAST_PAIRS}",
            hint="give more text that the model was not trained on",
        )
    config = read_config(folder)
    try:
        read_risk(folder, config)
    except ModelError:
        (folder / RISK).unlink()
    translator = Translator.load(folder)
    several = translator.targets
    if len(several) > 1 and to is None:
        raise ConfigError(
            "no target language", hint=f"choose one with --to: the model has {', '.join(several)}"
        )
    to = to and translator.pair(Decoding(to=to))[1]  # as the model writes it
    examples = examples_of(translator, pairs, Decoding(source=source, to=to), most=most, progress=progress)
    model = fit_risk(examples.half(0))
    report = measure_risk(model, examples.half(1))
    card = read_card(folder)
    if card is None:
        card = render_card(summary_of(folder))
    write_risk(folder, model, config, report.to_table(), to)
    write_whole(folder / CARD, card_with_risk(card, report, to))
    return report


def card_with_risk(card: str, report: RiskReport, to: str | None = None) -> str:
    """Return a model card with a section about the risk of translations, into `to` if it has several."""
    into = f" into {to}" if to else ""
    card = with_section(
        card,
        f"Risk{into}",
        [
            f"A translation needs a correction if its TER against the reference is above {EDITS:.0f}. The "
            "figures are of held-out text that the probabilities were not fitted on.",
            "",
            *markdown(["", ""], report.facts()),
        ],
    )
    bins = [[f"{one.predicted:.2f}", f"{one.observed:.2f}", f"{one.count:,}"] for one in report.bins]
    card = with_section(card, f"Reliability{into}", markdown(["predicted", "observed", "translations"], bins))
    rows = [
        [f"{row[0]}, {where}", *row[1:]]
        for where, found in (("own translations", report.searched), ("references", report.given))
        for row in detection_rows(found)
    ]
    head = ["", "errors", "found", "false alarms"]
    return with_section(card, f"Planted errors{into}", markdown(head, rows))
