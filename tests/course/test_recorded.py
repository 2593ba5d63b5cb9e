"""The recorded runs have the shape that their script describes, and belong to the model."""

from __future__ import annotations

import importlib
import math
from pathlib import Path
from typing import Any

import pytest

from dragoman.course import RECORDED, recorded_runs

SCRIPTS = Path(__file__).parents[2] / "recipes/course"
ALWAYS = {"command", "seeds", "seconds", "processor"}
# Entry -> its fields; a list of fields for each item of a list.
SHAPE: dict[str, dict[str, set[str]]] = {
    "cheating": {
        "curves": {"mask", "seed", "steps", "train", "valid"},
        "translations": {"source", "reference", "with", "without"},
    },
    "residual": {
        "curves": {"residual", "seed", "steps", "train", "valid"},
        "gradients": {"residual", "step", "encoder", "decoder"},
    },
    "norm": {"curves": {"norm", "warmup", "seed", "steps", "train", "valid"}},
    "smoothing": {"curves": {"smoothing", "seed", "steps", "train", "valid", "probability"}},
    "heads": {"pairs": set(), "loss": set(), "without": set()},
    "ladder": {
        "buckets": {"from", "to", "pairs"},
        "systems": {"system", "seed", "parameters", "updates", "seconds", "bleu", "by_length"},
        "attention": {"system", "source", "target", "weights"},
    },
}


def test_the_file_is_small_and_has_its_shape() -> None:
    runs = recorded_runs()

    assert RECORDED.stat().st_size <= 200_000
    assert runs.keys() == SHAPE.keys()
    for name, fields in SHAPE.items():
        entry = runs[name]
        assert entry.keys() == ALWAYS | fields.keys(), name
        for field, keys in fields.items():
            rows: list[dict[str, Any]] = entry[field] if keys else []
            assert all(row.keys() == keys for row in rows), (name, field)
            assert bool(rows) == bool(keys), (name, field)


def test_curves_have_a_number_for_each_step() -> None:
    curves = [curve for entry in recorded_runs().values() for curve in entry.get("curves", [])]

    assert len(curves) > 8
    for curve in curves:
        lengths = {len(curve[key]) for key in ("steps", "train", "valid", "probability") if key in curve}
        assert len(lengths) == 1
        assert curve["steps"] == sorted(set(curve["steps"]))


def test_attention_has_a_row_of_weights_for_each_target_token() -> None:
    for one in recorded_runs()["ladder"]["attention"]:
        assert len(one["weights"]) == len(one["target"])
        for row in one["weights"]:
            assert len(row) == len(one["source"])
            assert math.isclose(sum(row), 1, abs_tol=0.0006 * len(row))


@pytest.mark.thorough
def test_switching_off_a_head_costs_what_is_recorded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(SCRIPTS)
    record = importlib.import_module("record")
    recorded = recorded_runs()["heads"]
    names = ["cross.2.1", "encoder.1.3"]

    heads = record.heads(record.Course(tmp_path, 1), only=names)

    assert heads["loss"] == pytest.approx(recorded["loss"], rel=5e-4)
    for name in names:
        assert heads["without"][name] == pytest.approx(recorded["without"][name], rel=5e-4)
        assert heads["without"][name] != pytest.approx(recorded["loss"], rel=5e-4)
