"""The risk model of a model folder: risk.json, which is optional. Imports neither torch nor numpy.

format_version   3
weights          the digest of the weights that it was learnt for, as in config.json
languages        a table for each target language that was calibrated, with:
  correction       the names of its figures, with mean, scale and weight each, and bias
  low_confidence   a probability
  searched, given  omission and addition, each as `correction`
  report           how it did on the half of the text that it was not fitted on

Version 2 has lists of more figures, and thresholds. A figure that is no longer computed counts as its mean.
Version 1 had no languages and is refused.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from dragoman.base.errors import ModelError
from dragoman.base.files import write_whole
from dragoman.translation.folder.config import (
    RISK,
    FolderConfig,
    check_optional,
    forget_digest,
    read_config,
    read_json,
    unusable,
    write_digests,
)
from dragoman.translation.search.evidence import FIGURES
from dragoman.translation.search.risk import DETECTED, Logistic, RiskModel, standardised

RISK_VERSION = 3
_REMAKE = "delete it, or make it again with dragoman model calibrate"


def write_risk(
    folder: Path, model: RiskModel, config: FolderConfig, report: Mapping[str, Any], to: str | None = None
) -> None:
    """Write risk.json of a model folder whose config.json holds `config`, whole or not at all.

    The model is for the target language `to`, by default the one in the configuration. Models of other
    languages are kept. Raises ModelError if an existing file cannot be read.
    """
    before = read_risk(folder, config)
    kept = read_json(folder, RISK)["languages"] if before else {}
    languages = {
        code: {**asdict(one), "report": kept[code].get("report", {})} for code, one in before.items()
    }
    languages[to or config.target_language] = {**asdict(model), "report": dict(report)}
    _write(folder, {"format_version": RISK_VERSION, "weights": config.weights, "languages": languages})


def read_risk(folder: Path, config: FolderConfig) -> dict[str, RiskModel]:
    """Return the risk models of a model folder by target language; none if it has no risk.json.

    Raises ModelError if the file is damaged, of another format, or was made for other weights.
    """
    if not (folder / RISK).exists():
        return {}
    path, table = folder / RISK, read_json(folder, RISK)
    version = table.get("format_version")
    if version not in (2, RISK_VERSION):
        raise ModelError(
            f"{path}: format_version {version!r}, this dragoman reads 2 and {RISK_VERSION}",
            hint=_REMAKE if version == 1 else f"upgrade dragoman, or {_REMAKE}",
        )
    if table.get("weights") != config.weights:
        raise ModelError(f"{path}: made for other weights than config.json names", hint=_REMAKE)
    try:
        names = table["features"] if version == 2 else None
        if not isinstance(table["languages"], dict):
            raise ValueError("languages is not a table")
        check_optional(folder, RISK, hint=_REMAKE)
        return {language: _model(one, names) for language, one in table["languages"].items()}
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise unusable(path, error, "risk model", _REMAKE) from error


def copy_risk(folder: Path, output: Path, config: FolderConfig) -> None:
    """Copy the risk model of a folder, if it has one, to another that has the same weights in another type.

    `config` belongs to `output`.
    """
    if read_risk(folder, read_config(folder)):
        _write(output, {**read_json(folder, RISK), "weights": config.weights})


def _write(folder: Path, table: Mapping[str, Any]) -> None:
    forget_digest(folder, RISK)
    write_whole(folder / RISK, json.dumps(table, indent=2) + "\n")
    write_digests(folder, [RISK])


def _model(table: Mapping[str, Any], names: list[str] | None) -> RiskModel:
    if names is not None:
        table = _of_version_2(table, names)
    return RiskModel(
        correction=_logistic(table["correction"]),
        low_confidence=_finite(table["low_confidence"]),
        searched={kind: _logistic(table["searched"][kind]) for kind in DETECTED},
        given={kind: _logistic(table["given"][kind]) for kind in DETECTED},
    )


def _logistic(table: Mapping[str, Any]) -> Logistic:
    terms = {
        name: (_finite(mean), _finite(scale), _finite(weight))
        for name, (mean, scale, weight) in table["terms"].items()
    }
    if any(scale <= 0 for _, scale, _ in terms.values()):
        raise ValueError("a scale is not above 0")
    if not terms.keys() <= set(FIGURES):
        raise ValueError("other figures than this dragoman has")
    return Logistic(terms, _finite(table["bias"]))


def _of_version_2(table: Mapping[str, Any], names: list[str]) -> dict[str, Any]:
    """The table of a language in version 2 as one of version 3 that has a probability, and detects nothing.

    Its detectors read figures that are no longer computed. Without these they would flag every translation.
    """
    omission, addition = (table["searched"][kind]["mean"] for kind in DETECTED)
    lists = table["correction"]
    # Each detector saw as many faulty translations as untouched ones, and the correction all three kinds.
    means = zip(omission, addition, lists["mean"], strict=True)
    usual = [2 * a + 2 * b - 3 * everything for a, b, everything in means]
    terms, bias = {}, lists["bias"]
    for name, mean, scale, weight, average in zip(
        names, lists["mean"], lists["scale"], lists["weights"], usual, strict=True
    ):
        if name in FIGURES:
            terms[name] = mean, scale, weight
        elif scale:
            bias += weight * standardised(average, mean, scale)
    silent = {kind: {"terms": {}, "bias": -1.0} for kind in DETECTED}
    return {
        "correction": {"terms": terms, "bias": bias},
        "low_confidence": 2.0,  # above any probability
        "searched": silent,
        "given": silent,
    }


def _finite(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise ValueError(f"{value!r} is not a finite number")
    return float(value)
