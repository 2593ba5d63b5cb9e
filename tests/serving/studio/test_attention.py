"""Attention by checkpoint, compared with `inspect` on the model folder itself."""

from __future__ import annotations

import shutil
from functools import lru_cache
from pathlib import Path

import httpx
import numpy as np
import pytest
from tests.serving.studio.lines import train
from tests.serving.studio.server import serving
from tests.translation.bundles import several_bundle

from dragoman.base.errors import DragomanError, ModelError
from dragoman.inspection import inspect
from dragoman.models.folder import bundle as model_folder
from dragoman.models.folder.weights import read_weights, write_weights
from dragoman.serving.studio import attention
from dragoman.serving.studio.attention import available, matrix

SAVED = Path(__file__).parents[2] / "saved/0.1"
SOURCE, TARGET = "Tom sleeps.", "Tom schläft."


@pytest.fixture(params=["transformer", "window", "convolutional", "recurrent"])
def folder(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """A training folder whose run is not over: model.safetensors comes at its end."""
    saved = SAVED / request.param
    shutil.copytree(
        saved, tmp_path / "run", ignore=shutil.ignore_patterns("config.json", "model.safetensors")
    )
    checkpoints = tmp_path / "run" / "checkpoints"
    checkpoints.mkdir(exist_ok=True)
    weights = read_weights(saved / "model.safetensors")
    write_weights(checkpoints / "step-0000008.safetensors", weights)
    write_weights(checkpoints / "step-0000016.safetensors", {name: 0.5 * w for name, w in weights.items()})
    write_weights(checkpoints / "final.safetensors", weights)
    for name in ("config.json", "generation.json"):  # as training writes them when it begins
        shutil.copy(saved / name, checkpoints)
    (tmp_path / "run" / "metrics.jsonl").write_text(train(16))
    (tmp_path / "saved").symlink_to(saved)
    return tmp_path / "run"


def test_the_weights_are_those_of_inspect(folder: Path) -> None:
    trace = inspect(model_folder.load(folder.parent / "saved"), SOURCE, target=TARGET)
    (cross,) = [one for one in trace.attention if one.kind == "cross"]
    names, reason = available(folder)
    assert (names, reason) == (["8", "16", "final"], "")

    for name in ("8", "final"):
        for layer in range(len(cross.weights)):
            for head in (None, *range(cross.weights.shape[1])):
                found = matrix(folder, name, SOURCE, TARGET, layer=layer, head=head)
                weights = cross.weights[layer]
                expected = weights.mean(0) if head is None else weights[head]
                np.testing.assert_allclose(found["weights"], expected, atol=1e-4)
    assert found["layers"], found["heads"] == cross.weights.shape[:2]
    assert found["translation"] == trace.target.text
    assert (len(found["target"]), len(found["source"])) == expected.shape
    halved = matrix(folder, "16", SOURCE, TARGET)
    assert np.abs(np.array(halved["weights"]) - cross.weights[halved["layer"]].mean(0)).max() > 1e-3


@pytest.mark.parametrize("folder", ["transformer"], indirect=True)
def test_its_own_translation_and_what_is_wrong(folder: Path) -> None:
    own = matrix(folder, "8", SOURCE, None)
    assert own["translation"] == inspect(model_folder.load(folder.parent / "saved"), SOURCE).target.text
    with pytest.raises(ModelError, match="layers and"):
        matrix(folder, "8", SOURCE, None, layer=99)
    with pytest.raises(ModelError, match="layers and"):
        matrix(folder, "8", SOURCE, None, head=-1)
    with pytest.raises(ModelError, match="not found"):
        matrix(folder, "24", SOURCE, None)
    with pytest.raises(DragomanError, match="empty"):
        matrix(folder, "8", "  ", None)
    (folder / "checkpoints" / "step-0000016.safetensors").write_bytes(b"damaged")
    with pytest.raises(ModelError, match="step-0000016"):
        matrix(folder, "16", SOURCE, None)
    (folder / "checkpoints" / "config.json").unlink()
    (folder / "checkpoints" / "final.safetensors").rename(folder / "checkpoints" / "step-0000032.safetensors")
    with pytest.raises(ModelError, match="config.json"):
        matrix(folder, "32", SOURCE, None)


def test_a_model_of_several_languages_says_why_there_is_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The pair of the sentence is not known, and so not what the model reads before it."""
    monkeypatch.setattr(model_folder, "load", lambda _: several_bundle())
    monkeypatch.setattr(attention, "model_folder", lambda path: path)
    (tmp_path / "checkpoints").mkdir()
    (tmp_path / "checkpoints" / "final.safetensors").touch()
    with pytest.raises(ModelError, match="several languages"):
        matrix(tmp_path, "final", SOURCE, TARGET)


@pytest.mark.parametrize("folder", ["transformer"], indirect=True)
def test_traces_are_kept_but_only_some(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(attention, "_trace", lru_cache(maxsize=2)(attention._trace.__wrapped__))
    loads = []
    real = attention.model_folder
    monkeypatch.setattr(attention, "model_folder", lambda path: loads.append(path) or real(path))  # type: ignore[func-returns-value]
    for name in ("8", "8", "16", "8", "final", "8", "16"):
        matrix(folder, name, SOURCE, TARGET)

    assert [path.stem for path in loads] == ["step-0000008", "step-0000016", "final", "step-0000016"]


def test_why_there_is_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert available(None) == ([], "The checkpoints are not on this machine.")
    assert available(tmp_path) == ([], "The checkpoints are not on this machine.")
    (tmp_path / "checkpoints").mkdir()
    assert "No checkpoint yet" in available(tmp_path)[1]
    (tmp_path / "checkpoints" / "step-odd.safetensors").touch()
    assert "No checkpoint yet" in available(tmp_path)[1]
    (tmp_path / "checkpoints" / "step-0000100.safetensors").touch()
    (tmp_path / "checkpoints" / "step-0000020.safetensors").touch()
    assert available(tmp_path) == (["20", "100"], "")
    monkeypatch.setattr(attention, "has_pytorch", lambda: False)
    assert available(tmp_path) == ([], "PyTorch is not installed here: pip install 'dragoman[train]'")


@pytest.mark.parametrize("folder", ["transformer"], indirect=True)
def test_by_the_route(folder: Path) -> None:
    body = {"run": 0, "source": SOURCE, "target": TARGET, "layer": None, "head": 0}
    with serving(folder) as url:
        assert httpx.get(f"{url}/api/checkpoints?run=0").json()["checkpoints"] == ["8", "16", "final"]
        answer = httpx.post(f"{url}/api/attention", json=body | {"checkpoint": "16"}, timeout=120)
        expected = matrix(folder, "16", SOURCE, TARGET, head=0)
        assert (answer.status_code, answer.json()) == (200, expected)
        (folder / "checkpoints" / "step-0000016.safetensors").unlink()
        gone = httpx.post(f"{url}/api/attention", json=body | {"checkpoint": "16"}, timeout=120)
        assert (gone.status_code, gone.json()) == (404, {"error": "this checkpoint no longer exists"})
        wrong = httpx.post(f"{url}/api/attention", json=body | {"checkpoint": "8", "head": 99}, timeout=120)
        assert wrong.status_code == 400
