"""The average of models: the float64 mean, in a new folder, or an error that names every difference."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file
from tests.translation.folder.models import PAIRS, edit, saved, small

from dragoman.base.errors import ConfigError, DragomanError, ModelError
from dragoman.models.folder import bundle
from dragoman.models.folder.average import average_folders
from dragoman.models.folder.check import check_folder
from dragoman.text.tokenizers.tokenizer import Tokenizer, TokenizerConfig


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


@pytest.mark.parametrize("seeds", [(1, 2), (1, 2, 3), (1, 1, 2)], ids=str)
def test_the_weights_are_the_mean_in_float64(seeds: tuple[int, ...], tmp_path: Path) -> None:
    folders = [saved(tmp_path / str(seed), seed) for seed in seeds]

    average_folders(folders, tmp_path / "mean")

    files = [load_file(folder / "model.safetensors") for folder in folders]
    mean = load_file(tmp_path / "mean" / "model.safetensors")
    for name in files[0]:
        wanted = np.mean([weights[name].double().numpy() for weights in files], axis=0)
        assert np.array_equal(mean[name].numpy(), wanted.astype(np.float32))
    assert {check.status for check in check_folder(tmp_path / "mean")} == {"ok"}
    assert bundle.load(tmp_path / "mean").config == small().config


def test_its_card_names_the_models(tmp_path: Path) -> None:
    folders = [saved(tmp_path / str(seed), seed) for seed in (1, 2)]

    average_folders(folders, tmp_path / "mean")

    card = (tmp_path / "mean" / "README.md").read_text(encoding="utf-8")
    digests = [bundle.read_config(folder).weights for folder in folders]
    assert all(f"{folder}, {digest}" in card for folder, digest in zip(folders, digests, strict=True))


def test_options_of_training_may_differ(tmp_path: Path) -> None:
    folders = [saved(tmp_path / "a", 1, dropout=0.1), saved(tmp_path / "b", 2, attention_dropout=0.3)]

    average_folders(folders, tmp_path / "mean")

    assert bundle.load(tmp_path / "mean").model.config.dropout == 0.1


@pytest.mark.parametrize(
    ("changes", "differences"),
    [
        ({"d_ff": 16}, ["model.d_ff: 12 -> 16"]),
        ({"norm": "pre", "activation": "gelu"}, ['model.norm: "post" -> "pre"', "model.activation"]),
        ({"norm_epsilon": 1e-6}, ["model.norm_epsilon"]),  # the same weights, but not the same function
    ],
    ids=str,
)
def test_models_of_another_shape_are_refused(
    changes: dict[str, Any], differences: list[str], tmp_path: Path
) -> None:
    folders = [saved(tmp_path / "a", 1), saved(tmp_path / "b", 2, **changes)]

    with pytest.raises(ConfigError) as caught:
        average_folders(folders, tmp_path / "mean")

    assert all(difference in str(caught.value) for difference in differences)
    assert names(tmp_path) == ["a", "b"]


def test_another_tokenizer_or_language_is_refused(tmp_path: Path) -> None:
    folders = [saved(tmp_path / "a", 1), saved(tmp_path / "b", 2)]
    pairs = [(source.replace("moon", "sun"), target) for source, target in PAIRS]
    Tokenizer.train(pairs, TokenizerConfig(kind="words", vocab_size=10)).save(folders[1])
    edit(folders[1] / "config.json", lambda table: table.update(target_language="ig"))

    with pytest.raises(ConfigError, match=r"(?s)languages\.target: .*tokenizer\.files\.tokenizer\.words"):
        average_folders(folders, tmp_path / "mean")


@pytest.mark.parametrize("learnt", [{"guidance": ["terms"]}, {"alignment": "1.1"}])
def test_models_that_learnt_to_read_or_align_otherwise_are_refused(
    tmp_path: Path, learnt: dict[str, object]
) -> None:
    folders = [saved(tmp_path / "a", 1), saved(tmp_path / "b", 2)]
    edit(folders[1] / "config.json", lambda table: table.update(learnt))

    with pytest.raises(ConfigError, match=next(iter(learnt))):
        average_folders(folders, tmp_path / "mean")


def test_damaged_weights_are_refused(tmp_path: Path) -> None:
    folders = [saved(tmp_path / "a", 1), saved(tmp_path / "b", 2)]
    shutil.copy(saved(tmp_path / "c", 3) / "model.safetensors", folders[1])

    with pytest.raises(ModelError, match="b/model.safetensors: damaged"):
        average_folders(folders, tmp_path / "mean")

    assert names(tmp_path) == ["a", "b", "c"]


def test_an_average_that_is_not_finite_is_refused(tmp_path: Path) -> None:
    folders = [saved(tmp_path / "a", 1), saved(tmp_path / "b", 2)]
    path = folders[0] / "model.safetensors"
    weights = load_file(path)
    name = sorted(weights)[0]
    weights[name].view(-1)[0] = torch.nan
    save_file(weights, path)
    edit(folders[0] / "config.json", lambda table: table.pop("weights") and None)

    with pytest.raises(ModelError, match=f"NaN or infinite in {name}"):
        average_folders(folders, tmp_path / "mean")

    assert names(tmp_path) == ["a", "b"]


def test_an_existing_folder_is_not_overwritten(tmp_path: Path) -> None:
    folders = [saved(tmp_path / "a", 1), saved(tmp_path / "b", 2)]
    before = (folders[0] / "model.safetensors").read_bytes()

    with pytest.raises(ConfigError, match="exists already"):
        average_folders(folders, folders[0])

    assert (folders[0] / "model.safetensors").read_bytes() == before


def test_averaging_needs_two_models(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="at least two models"):
        average_folders([saved(tmp_path / "a")], tmp_path / "mean")


def test_a_failure_while_writing_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folders = [saved(tmp_path / "a", 1), saved(tmp_path / "b", 2)]

    def fail(*_: object) -> None:
        raise DragomanError("the disk is full")

    monkeypatch.setattr("dragoman.models.folder.average.write_card", fail)  # the last file
    with pytest.raises(DragomanError, match="disk is full"):
        average_folders(folders, tmp_path / "new" / "mean")

    assert names(tmp_path) == ["a", "b"]
