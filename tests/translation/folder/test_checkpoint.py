"""Checkpoints of a run as models: which weights they have, and what is refused."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from tests.translation.folder.models import saved

from dragoman.base.errors import ConfigError, ModelError
from dragoman.models.folder.average import average_folders
from dragoman.models.folder.bundle import load
from dragoman.translation.folder.checkpoint import model_folder, run_of, saved_steps
from dragoman.translation.translator import Translator


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """A run with checkpoints of updates 5, 10 and 20, the weights of seeds 5, 10 and 20."""
    folder = saved(tmp_path / "run", 1)
    (folder / "checkpoints").mkdir()
    for step in (10, 5, 20):
        weights = saved(tmp_path / f"seed {step}", step) / "model.safetensors"
        shutil.copy(weights, folder / "checkpoints" / f"step-{step:07}.safetensors")
    return folder


def test_a_checkpoint_translates_with_its_own_weights(run: Path, tmp_path: Path) -> None:
    for name in (run.with_name("run@10"), run / "checkpoints" / "step-0000010.safetensors"):
        assert load(model_folder(name)).config.weights is None
        for engine in ("native", "pytorch"):
            found = Translator.load(name, engine=engine).translate("a b a", max_extra_tokens=5)  # type: ignore[arg-type]
            assert found == Translator.load(tmp_path / "seed 10", engine=engine).translate(
                "a b a", max_extra_tokens=5
            )  # type: ignore[arg-type]
    assert Translator.load(str(run) + "@5").translate("a").score != Translator.load(run).translate("a").score


def test_a_checkpoint_translates_where_links_are_not_allowed(
    run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As for most users of Windows."""

    def refuse(*_: object) -> None:
        raise OSError(22, "A required privilege is not held by the client")

    monkeypatch.setattr(Path, "symlink_to", refuse)
    folder = model_folder(run.with_name("run@5"))

    assert not any(path.is_symlink() for path in folder.iterdir())
    assert (folder / "model.safetensors").read_bytes() == (
        run / "checkpoints/step-0000005.safetensors"
    ).read_bytes()


def test_a_run_that_has_not_ended(run: Path) -> None:
    """It has its tokenizer, and the configuration among its checkpoints."""
    for name in ("config.json", "generation.json"):
        (run / name).rename(run / "checkpoints" / name)
    for name in ("model.safetensors", "digests.json"):
        (run / name).unlink()
    with pytest.raises(ModelError, match="missing"):
        Translator.load(run)
    assert Translator.load(run.with_name("run@20")).translate("a").tokens


def test_names(run: Path, tmp_path: Path) -> None:
    assert saved_steps(run / "checkpoints") == [5, 10, 20]
    assert run_of(run.with_name("run@7")) == run
    for path in (run, run.with_name("run@x"), run.with_name("run@"), tmp_path / "none@5", Path("@5")):
        assert model_folder(path) == run_of(path) == path
    own = saved(tmp_path / "run@10", 3)  # a folder of this name is what it says
    assert model_folder(own) == own
    with pytest.raises(ModelError, match=r"run@7: .*run has no such checkpoint") as caught:
        model_folder(run.with_name("run@7"))
    assert caught.value.hint == "it has those of updates 5, 10, 20"


def test_checkpoints_are_averaged(run: Path, tmp_path: Path) -> None:
    steps = [run.with_name(f"run@{step}") for step in (5, 20)]
    average_folders([*steps, run / "checkpoints" / "step-0000010.safetensors"], tmp_path / "mean")
    average_folders([tmp_path / f"seed {step}" for step in (5, 20, 10)], tmp_path / "same")

    one, other = (tmp_path / name / "model.safetensors" for name in ("mean", "same"))
    assert one.read_bytes() == other.read_bytes()
    assert "run@20" in (tmp_path / "mean" / "README.md").read_text(encoding="utf-8")


def test_checkpoints_that_differ_are_not_averaged(run: Path, tmp_path: Path) -> None:
    other = saved(tmp_path / "other", 1, d_ff=16)
    with pytest.raises(ConfigError, match="model.d_ff"):
        average_folders([run.with_name("run@5"), other], tmp_path / "mean")
    shutil.copy(other / "model.safetensors", run / "checkpoints" / "step-0000030.safetensors")
    for paths in ([5, 30], [30, 30]):
        with pytest.raises(ModelError, match="step-0000030.safetensors: .*inner.weight has shape"):
            average_folders([run.with_name(f"run@{step}") for step in paths], tmp_path / "mean")
    assert not (tmp_path / "mean").exists()


def test_a_damaged_checkpoint_is_refused(run: Path, tmp_path: Path) -> None:
    path = run / "checkpoints" / "step-0000010.safetensors"
    data = bytearray(path.read_bytes())
    data[-3] ^= 1
    path.write_bytes(data)
    with pytest.raises(ModelError, match="damaged"):
        average_folders([run.with_name("run@5"), run.with_name("run@10")], tmp_path / "mean")
