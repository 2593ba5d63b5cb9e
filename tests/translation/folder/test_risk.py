from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.translation.folder.models import edit, saved, small, without_digest
from tests.translation.search.test_risk import MODEL

from dragoman import Translator
from dragoman.base.errors import ModelError
from dragoman.models.folder import bundle
from dragoman.models.folder.average import average_folders
from dragoman.models.folder.check import check_folder
from dragoman.models.folder.quantisation import quantise_folder
from dragoman.translation.folder.config import RISK, forget_digest, read_config, write_digests
from dragoman.translation.folder.risk import read_risk, write_risk
from dragoman.translation.folder.summary import summary_of
from dragoman.translation.search.evidence import FIGURES
from dragoman.translation.search.risk import Logistic


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = saved(tmp_path / "model")
    write_risk(folder, MODEL, read_config(folder), {"lines": 100})
    return folder


def test_what_is_written_is_read(folder: Path) -> None:
    language = read_config(folder).target_language
    assert read_risk(folder, read_config(folder)) == {language: MODEL}
    assert Translator.load(folder).risk_models == {language: MODEL}
    assert json.loads((folder / RISK).read_text())["languages"][language]["report"] == {"lines": 100}
    assert {check.name: check.status for check in check_folder(folder)}[RISK] == "ok"
    assert RISK in summary_of(folder).sizes


def test_a_folder_needs_none(tmp_path: Path) -> None:
    folder = saved(tmp_path / "model")

    assert read_risk(folder, read_config(folder)) == {}
    assert Translator.load(folder).risk_models == {}
    assert RISK not in {check.name for check in check_folder(folder)}


def test_a_folder_without_digests_may_have_one(tmp_path: Path) -> None:
    folder = saved(tmp_path / "model")
    without_digest(folder)
    write_risk(folder, MODEL, read_config(folder), {})

    assert [*read_risk(folder, read_config(folder)).values()] == [MODEL]


def test_each_target_language_has_its_own(folder: Path) -> None:
    config = read_config(folder)
    other = replace(MODEL, low_confidence=0.5)
    write_risk(folder, other, config, {"lines": 200}, "fra")
    own = config.target_language
    assert read_risk(folder, config) == {own: MODEL, "fra": other}
    write_risk(folder, other, config, {})
    assert read_risk(folder, config) == {own: other, "fra": other}


def test_it_goes_with_the_weights(folder: Path, tmp_path: Path) -> None:
    quantise_folder(folder, tmp_path / "int8")
    average_folders([folder, folder], tmp_path / "mean")

    assert read_risk(tmp_path / "int8", read_config(tmp_path / "int8")) == read_risk(
        folder, read_config(folder)
    )
    assert not (tmp_path / "mean" / RISK).exists()
    bundle.save(small(1), folder)
    assert not (folder / RISK).exists()


def in_version_2(model: Logistic, threshold: float = 0.0) -> dict[str, Any]:
    """The lists of version 2, with a figure that is no longer known, and log-odds above the threshold."""
    rows = [*model.terms.values(), (5.0, 2.0, 3.0)]
    mean, scale, weights = ([row[column] for row in rows] for column in range(3))
    return {"mean": mean, "scale": scale, "weights": weights, "bias": model.bias + threshold}


def test_version_2_is_read_and_kept(folder: Path) -> None:
    """With its probability. Its detectors read figures that are no longer computed: they detect nothing."""
    config = read_config(folder)
    detectors = {
        side: {
            kind: {**in_version_2(one, 0.25), "threshold": 0.25} for kind, one in getattr(MODEL, side).items()
        }
        for side in ("searched", "given")
    }
    language = {"correction": in_version_2(MODEL.correction), "low_confidence": 0.9, **detectors}
    table = {
        "format_version": 2,
        "weights": config.weights,
        "features": [FIGURES[0], "entropy mean"],
        "languages": {"fra": {**language, "report": {"lines": 7}}},
    }
    forget_digest(folder, RISK)
    (folder / RISK).write_text(json.dumps(table))
    write_digests(folder, [RISK])

    french = read_risk(folder, config)["fra"]
    assert not french.detects
    assert french.correction == MODEL.correction
    for figures in (dict.fromkeys(FIGURES, value) for value in (-50.0, 0.0, 50.0)):
        assert french.correction.probability(figures) < french.low_confidence
        for detectors in (french.searched, french.given):
            assert all(one.logit(figures) < 0 for one in detectors.values())
    write_risk(folder, MODEL, config, {"lines": 100})
    assert read_risk(folder, config) == {"fra": french, config.target_language: MODEL}
    new = json.loads((folder / RISK).read_text())
    assert (new["format_version"], new["languages"]["fra"]["report"]) == (3, {"lines": 7})


def own(table: dict[str, Any]) -> dict[str, Any]:
    (found,) = table["languages"].values()
    return found  # type: ignore[no-any-return]


def first(table: dict[str, Any], value: Any) -> None:
    own(table)["searched"]["omission"]["terms"][FIGURES[0]][1] = value


DAMAGE: dict[str, tuple[Callable[[dict[str, Any]], Any], str]] = {
    "a newer format": (lambda table: table | {"format_version": 4}, "format_version 4"),
    "an older format": (lambda table: table | {"format_version": 1}, "format_version 1"),
    "no languages": (lambda table: table.pop("languages") and table, "languages is missing"),
    "a list of languages": (lambda table: table | {"languages": []}, "is not a table"),
    "other weights": (lambda table: table | {"weights": "sha256:" + "0" * 64}, "other weights"),
    "other figures": (lambda table: own(table)["correction"]["terms"].update(x=[0, 1, 1]), "other figures"),
    "no detector": (lambda table: own(table)["given"].pop("addition"), "addition"),
    "a scale of zero": (lambda table: first(table, 0.0), "scale"),
    "text": (lambda table: first(table, "1"), "finite"),
    "NaN": (lambda table: first(table, float("nan")), "finite"),
    "too few": (lambda table: own(table)["correction"]["terms"][FIGURES[0]].pop(), "usable"),
    "no list": (lambda table: own(table)["correction"].update(terms=3), "usable"),
    "no table": (lambda table: own(table).update(correction=5), "usable"),
    "no bias": (lambda table: own(table)["given"]["omission"].pop("bias"), "bias is missing"),
    "no probability": (lambda table: own(table).update(low_confidence=None), "finite"),
}


@pytest.mark.parametrize("name", DAMAGE)
def test_a_damaged_file_is_refused(folder: Path, name: str) -> None:
    change, message = DAMAGE[name]

    def changed(table: dict[str, Any]) -> dict[str, Any]:
        new = change(table)
        return new if isinstance(new, dict) and "format_version" in new else table

    edit(folder / RISK, changed)

    with pytest.raises(ModelError, match=message) as caught:
        Translator.load(folder)
    assert "calibrate" in caught.value.hint
    assert {check.name: check.status for check in check_folder(folder)}[RISK] == "fault"


@pytest.mark.parametrize("text", ["", "[]", "{"])
def test_a_file_that_is_no_table_is_refused(folder: Path, text: str) -> None:
    (folder / RISK).write_text(text)

    with pytest.raises(ModelError, match=RISK):
        Translator.load(folder)
