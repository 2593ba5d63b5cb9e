"""COMET in another process: a stand-in for its package says what it was asked."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from dragoman.base.errors import ConfigError
from dragoman.evaluation.comet import comet_scores, with_comet
from dragoman.evaluation.metrics import compare, score_corpus
from dragoman.evaluation.results import Comparison, Scores

COMET = """
import os
from types import SimpleNamespace

def load_from_checkpoint(path):
    assert os.environ["HF_HUB_OFFLINE"] == "1"
    print("loading", path)
    return Model(open(path).read())

class Model:
    def __init__(self, text):
        self.text = text

    def predict(self, rows, batch_size, gpus, progress_bar):
        print("predicting")
        if self.text == "broken":
            raise RuntimeError("out of tune")
        return SimpleNamespace(scores=[len(row["mt"]) / 100 + (row["mt"] == row["ref"]) for row in rows])
"""
HUB = """
def snapshot_download(name, local_files_only):
    assert local_files_only
    if name != "Some/model":
        raise OSError("not in the cache")
    return FOLDER
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A model of COMET; its package is on the path of other processes."""
    (tmp_path / "model/checkpoints").mkdir(parents=True)
    (tmp_path / "model/checkpoints/model.ckpt").write_text("weights")
    for name, code in {"comet": COMET, "huggingface_hub": HUB}.items():
        code = code.replace("FOLDER", repr(str(tmp_path / "model")))
        (tmp_path / f"{name}.py").write_text(code)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    return tmp_path


def asked(model: Path | str, python: str | None = None) -> dict[str, list[float]]:
    systems = {"one": ["ab", "abcd ä"], "two": ["x", "y"]}
    return comet_scores(str(model), ["s", "t"], systems, ["ab", "z"], python=python)


def test_scores_by_system(folder: Path) -> None:
    wanted = {"one": pytest.approx([102, 6]), "two": pytest.approx([1, 1])}
    assert asked(folder / "model") == wanted
    assert asked(folder / "model/checkpoints/model.ckpt") == wanted
    assert asked("Some/model") == wanted


def test_what_is_missing_is_said(folder: Path) -> None:
    assert comet_scores("Some/model", [], {}, []) == {}
    with pytest.raises(ConfigError, match="Other/model: no such model of COMET"):
        comet_scores("Other/model", [], {}, [])
    with pytest.raises(ConfigError, match="no such model of COMET on this machine") as caught:
        asked("Other/model")
    assert "hf download" in str(caught.value.hint)
    with pytest.raises(ConfigError, match="no/python: "):
        asked(folder / "model", python="no/python")
    (folder / "model/checkpoints/model.ckpt").write_text("broken")
    with pytest.raises(ConfigError, match="COMET failed: RuntimeError: out of tune"):
        asked(folder / "model")
    (folder / "comet.py").write_text("raise ImportError")
    with pytest.raises(ConfigError, match="COMET is not installed"):
        asked(folder / "model")


def test_it_is_a_score_like_others() -> None:
    references = ["a b c"] * 40
    scores = {"old": [80.0, 60.0] * 20, "new": [85.0, 66.0] * 20}
    one = with_comet(score_corpus(references, references, bootstrap=0), {"x": scores["old"]}, "m", 500)
    assert isinstance(one, Scores)
    comet = one.by_metric["comet"]
    assert (comet.value, comet.signature) == (70, "model:m|bs:500|seed:12345")
    assert comet.half_width == pytest.approx(1.96 * np.std(scores["old"]) / 40**0.5, rel=0.15)
    texts = {"old": references, "new": ["a b d"] * 40}
    both = with_comet(compare(texts, references, samples=100), scores, "m", 500)
    assert isinstance(both, Comparison)
    found = both.differences[-1]
    assert (found.system, found.metric, found.difference) == ("new", "comet", 5.5)
    assert found.better
    assert found.p_value == pytest.approx(1 / 501)
    assert "COMET" in both.to_text()
    equal = with_comet(both, {"old": [1.0] * 40, "new": [1.0] * 40}, "m", 0)
    assert isinstance(equal, Comparison)
    assert equal.differences[-1].p_value == 1


def test_few_different_lines_prove_nothing() -> None:
    few = compare({"a": ["x"], "b": ["y"]}, ["x"])
    found = with_comet(few, {"a": [50.0], "b": [51.0]}, "m", 1000)
    assert isinstance(found, Comparison)
    assert found.differences[-1].p_value == 1
    assert found.scores["a"].by_metric["comet"].half_width is None
    many = compare({"a": ["x"] * 100, "b": ["x"] * 98 + ["y"] * 2}, ["x"] * 100)
    found = with_comet(many, {"a": [50.0] * 100, "b": [50.0] * 98 + [90.0] * 2}, "m", 1000)
    assert isinstance(found, Comparison)
    assert found.differences[-1].p_value >= 0.5
