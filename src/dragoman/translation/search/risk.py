"""The risk of a translation: a calibrated probability that it needs a correction, and flags.

The probability is a function of the mean log-probability of the tokens alone, and falls as that rises (Platt
1999). Omissions and additions have a detector each: a logistic regression over the figures of
`evidence.py`. All are fitted on held-out text (`evaluation/risk/`) and stored in the model folder
(`translation/folder/risk.py`). Imports neither torch nor numpy.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from dragoman.text.blank import is_blank
from dragoman.text.checks.faults import FLAGS, Fault, FlagKind, faults
from dragoman.text.detection import clearly_other
from dragoman.translation.search.evidence import Evidence, Figures

DETECTED: tuple[FlagKind, ...] = ("omission", "addition")  # the kinds that have detectors

_FARTHEST = 6.0  # deviations from the mean beyond which a figure says no more
_STEEPEST = 35.0  # logit from which on a probability is 0 or 1


@dataclass(frozen=True)
class Risk:
    """A doubt about a translation."""

    probability: float | None
    """That it needs a correction, as `evaluation/risk/calibrate.py` defines it; None without calibration."""
    flags: tuple[Fault, ...] = ()

    def to_table(self) -> dict[str, Any]:
        """The risk as plain values, for JSON."""
        return asdict(self)


@dataclass(frozen=True)
class Logistic:
    """A logistic regression over some of the figures."""

    terms: Mapping[str, tuple[float, float, float]]  # of each figure: mean, scale above 0, weight
    bias: float

    def logit(self, figures: Figures) -> float:
        """Return the log-odds."""
        return self.bias + math.fsum(
            weight * standardised(figures[name], mean, scale)
            for name, (mean, scale, weight) in self.terms.items()
        )

    def probability(self, figures: Figures) -> float:
        """Return the probability."""
        return 1 / (1 + math.exp(-min(max(self.logit(figures), -_STEEPEST), _STEEPEST)))


@dataclass(frozen=True, kw_only=True)
class RiskModel:
    """Fitted knowledge about the translations of one model.

    The detectors `searched` are for translations that the model found itself, `given` for translations by
    others, which surprise it more. They flag log-odds above 0. A probability from `low_confidence` on is
    among the highest tenth.
    """

    correction: Logistic
    low_confidence: float
    searched: Mapping[FlagKind, Logistic]
    given: Mapping[FlagKind, Logistic]

    @property
    def detects(self) -> bool:
        """Whether it can flag a translation. One of an earlier version has only a probability."""
        return self.low_confidence <= 1


def standardised(value: float, mean: float, scale: float) -> float:
    """Return a figure as deviations from its mean, at most 6."""
    return min(max((value - mean) / scale, -_FARTHEST), _FARTHEST)


def assess(
    model: RiskModel | None,
    evidence: Evidence,
    source: str,
    target: str,
    languages: tuple[str, str],
    *,
    given: bool = False,
    several: bool = False,
) -> Risk:
    """Return the risk of a translation, `given` if the model did not find it itself.

    Without a model there are only the flags of `text/checks/faults.py`, and no probability. A translation of
    a model that has `several` target languages is flagged if it is in another one.
    """
    flags = faults(source, target, *languages)
    if several and (other := clearly_other(target, languages[1])) is not None:
        flags.append(Fault("language", other))
    if model is None or is_blank(source):
        return Risk(None, tuple(flags))
    found = {flag.kind for flag in flags}
    detectors = model.given if given else model.searched
    for kind, place in zip(DETECTED, (evidence.least_covered, evidence.least_likely), strict=True):
        if kind not in found and detectors[kind].logit(evidence.figures) > 0:
            flags.append(Fault(kind, place))
    probability = model.correction.probability(evidence.figures)
    if probability >= model.low_confidence:
        flags.append(Fault("low confidence"))
    return Risk(probability, in_order(flags))


def risk_of_parts(risks: Iterable[Risk]) -> Risk:
    """Return the risk of a text from the risks of its sentences, taken as independent of each other."""
    risks = list(risks)
    known = [risk.probability for risk in risks if risk.probability is not None]
    probability = 1 - math.prod(1 - one for one in known) if known else None
    return Risk(probability, in_order(flag for risk in risks for flag in risk.flags))


def in_order(flags: Iterable[Fault]) -> tuple[Fault, ...]:
    """Return the flags by kind, each once."""
    return tuple(sorted(dict.fromkeys(flags), key=lambda flag: FLAGS.index(flag.kind)))
