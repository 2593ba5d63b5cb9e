"""The risk model of a model folder: risk.json, which is optional. Imports neither torch nor numpy.

format_version   2
weights          the digest of the weights that it was learnt for, as in config.json
features         the names of the figures, in order
languages        a table for each target language that was calibrated, with:
  correction       mean, scale and weights, one for each figure, and bias
  low_confidence   a probability
  searched, given  omission and addition, each as `correction`, with a threshold
  report           how it did on the half of the text that it was not fitted on

Version 1 had no languages and fewer figures. It is refused.
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
from dragoman.decoding.evidence import FEATURES
from dragoman.decoding.risk import DETECTED, Detector, Logistic, RiskModel
from dragoman.folder.config import FolderConfig, check_optional, forget_digest, read_json, write_digests

RISK = "risk.json"
RISK_VERSION = 2
_REMAKE = "delete it, or make it again with dragoman model calibrate"


def write_risk(
    folder: Path, model: RiskModel, config: FolderConfig, report: Mapping[str, Any], to: str | None = None
) -> None:
    """Write risk.json of a model folder whose config.json holds `config`, whole or not at all.

    The model is for the target language `to`, by default that of the configuration. Those of other languages
    are kept. Raises ModelError if the file that is there cannot be read.
    """
    kept = read_json(folder, RISK)["languages"] if read_risk(folder, config) else {}
    own = {
        "correction": asdict(model.correction),
        "low_confidence": model.low_confidence,
        "searched": {kind: _detector_table(one) for kind, one in model.searched.items()},
        "given": {kind: _detector_table(one) for kind, one in model.given.items()},
        "report": dict(report),
    }
    table = {
        "format_version": RISK_VERSION,
        "weights": config.weights,
        "features": list(FEATURES),
        "languages": {**kept, to or config.target_language: own},
    }
    _write(folder, table)


def read_risk(folder: Path, config: FolderConfig) -> dict[str, RiskModel]:
    """Return the risk models of a model folder by target language; none if it has no risk.json.

    Raises ModelError if the file is damaged, of another format, or was made for other weights.
    """
    if not (folder / RISK).exists():
        return {}
    path, table = folder / RISK, read_json(folder, RISK)
    version = table.get("format_version")
    if version != RISK_VERSION:
        raise ModelError(
            f"{path}: format_version {version!r}, this dragoman reads {RISK_VERSION}",
            hint=_REMAKE if version == 1 else f"upgrade dragoman, or {_REMAKE}",
        )
    if table.get("weights") != config.weights:
        raise ModelError(f"{path}: made for other weights than config.json names", hint=_REMAKE)
    try:
        if table["features"] != list(FEATURES):
            raise ValueError("other figures than those of this dragoman")
        if not isinstance(table["languages"], dict):
            raise ValueError("languages is no table")
        check_optional(folder, RISK, hint=_REMAKE)
        return {language: _model(one) for language, one in table["languages"].items()}
    except (KeyError, TypeError, ValueError) as error:
        reason = f"{error.args[0]} is missing" if isinstance(error, KeyError) else str(error)
        raise ModelError(f"{path}: not a usable risk model: {reason}", hint=_REMAKE) from error


def copy_risk(folder: Path, output: Path, config: FolderConfig) -> None:
    """Copy the risk model of a folder, if it has one, to another that has the same weights in another type.

    `config` is that of `output`.
    """
    if (folder / RISK).exists():
        table = {**read_json(folder, RISK), "weights": config.weights}
        _write(output, table)


def _write(folder: Path, table: Mapping[str, Any]) -> None:
    forget_digest(folder, RISK)
    write_whole(folder / RISK, json.dumps(table, indent=2) + "\n")
    write_digests(folder, [RISK])


def _model(table: Mapping[str, Any]) -> RiskModel:
    return RiskModel(
        correction=_logistic(table["correction"]),
        low_confidence=_finite(table["low_confidence"]),
        searched={kind: _detector(table["searched"][kind]) for kind in DETECTED},
        given={kind: _detector(table["given"][kind]) for kind in DETECTED},
    )


def _detector_table(detector: Detector) -> dict[str, Any]:
    return {**asdict(detector.logistic), "threshold": detector.threshold}


def _detector(table: Mapping[str, Any]) -> Detector:
    return Detector(logistic=_logistic(table), threshold=_finite(table["threshold"]))


def _logistic(table: Mapping[str, Any]) -> Logistic:
    mean, scale, weights = (_numbers(table[name]) for name in ("mean", "scale", "weights"))
    if min(scale) <= 0:
        raise ValueError("a scale is not above 0")
    return Logistic(mean=mean, scale=scale, weights=weights, bias=_finite(table["bias"]))


def _numbers(values: Any) -> tuple[float, ...]:
    if not isinstance(values, list) or len(values) != len(FEATURES):
        raise ValueError(f"needs lists of {len(FEATURES)} numbers")
    return tuple(map(_finite, values))


def _finite(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise ValueError(f"{value!r} is not a finite number")
    return float(value)
