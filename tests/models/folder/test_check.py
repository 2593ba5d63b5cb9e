"""The checks of a folder: every fault is found, and one does not hide another."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file
from tests.translation.folder.models import edit, saved, without_digest

from dragoman.models.folder.check import check_folder

SAVED = Path(__file__).parents[2] / "saved" / "0.1"
WEIGHTS = "model.safetensors"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return saved(tmp_path / "model")


def faults(folder: Path) -> dict[str, str]:
    return {check.name: check.text for check in check_folder(folder) if check.status == "fault"}


def change_weights(folder: Path, change: Callable[[dict[str, torch.Tensor]], object]) -> None:
    weights = load_file(folder / WEIGHTS)
    change(weights)
    save_file(weights, folder / WEIGHTS)


def test_a_whole_folder_passes_every_check(folder: Path) -> None:
    assert {check.status for check in check_folder(folder)} == {"ok"}


@pytest.mark.parametrize("name", ["transformer", "window", "recurrent", "convolutional"])
def test_a_folder_of_release_0_1_has_no_digest_of_its_weights(name: str) -> None:
    checks = list(check_folder(SAVED / name))

    assert [check.name for check in checks if check.status == "skipped"] == ["digest of weights"]
    assert faults(SAVED / name) == {}


def test_a_flipped_sign_is_found(folder: Path) -> None:
    def flip(weights: dict[str, torch.Tensor]) -> None:
        next(iter(weights.values())).view(-1)[0] *= -1

    change_weights(folder, flip)

    assert faults(folder).keys() == {"digest of weights"}


def test_every_kind_of_fault_in_the_weights_is_found_at_once(folder: Path) -> None:
    def change(weights: dict[str, torch.Tensor]) -> None:
        first, second, third, fourth, fifth, *_ = sorted(weights)
        weights["strange"] = weights.pop(first)
        weights[second] = torch.zeros(3)
        weights[third] = weights[third].int()
        weights[fourth].view(-1)[0] = torch.nan
        weights[fifth].view(-1)[0] = -torch.inf
        names.extend([first, second, third, fourth, fifth])

    names: list[str] = []
    change_weights(folder, change)

    found = faults(folder)

    assert found.keys() == {
        "digest of weights", "names of weights", "shapes of weights", "types of weights", "values of weights",
    }  # fmt: skip
    assert found["names of weights"] == f"missing {names[0]}; unknown strange"
    assert names[1] in found["shapes of weights"]
    assert names[2] in found["types of weights"]
    assert found["values of weights"] == f"NaN or infinite in {names[3]}, {names[4]}"


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float64])
def test_values_of_other_precisions_are_checked(dtype: torch.dtype, folder: Path) -> None:
    def change(weights: dict[str, torch.Tensor]) -> None:
        for name in weights:
            weights[name] = weights[name].to(dtype)
        weights[sorted(weights)[0]].view(-1)[-1] = torch.nan

    change_weights(folder, change)
    without_digest(folder)

    assert faults(folder).keys() == {"values of weights"}


def test_faults_in_several_files_are_found_at_once(folder: Path) -> None:
    (folder / "config.json").write_text("{")
    (folder / "generation.json").unlink()
    (folder / "tokenizer.words.json").write_text("[]")
    (folder / WEIGHTS).write_bytes(b"damaged")

    found = faults(folder)

    assert found.keys() == {
        "config.json", "generation.json", "digests.json", "digest of tokenizer.words.json", "tokenizer",
        WEIGHTS,
    }  # fmt: skip
    skipped = {check.name for check in check_folder(folder) if check.status == "skipped"}
    assert skipped == {"vocabulary", "digest of weights", "names and shapes", "values of weights"}


def test_files_that_are_not_what_was_written_are_found(folder: Path) -> None:
    """As every engine finds them."""
    (folder / "config.json").write_text((folder / "config.json").read_text() + " ")

    assert "config.json" in faults(folder)["digests.json"]


def test_the_vocabulary_must_fit(folder: Path) -> None:
    edit(
        folder / "config.json",
        lambda table: table["model"].update(source_vocab=11, target_vocab=11, end_id=3),
    )
    edit(folder / "generation.json", lambda table: table.update(banned=[3, 11, 12]))

    found = faults(folder)

    assert found["vocabulary"] == (
        "source ids: 10 in the tokenizer, 11 in config.json; target ids: 10 in the tokenizer, 11 in "
        "config.json; end: 2 in the tokenizer, 3 in config.json; generation.json bans ids that do not exist: "
        "11, 12"
    )
    assert "shapes of weights" in found


def test_a_file_outside_the_folder_is_not_opened(folder: Path) -> None:
    (folder.parent / "secret").write_text("x")
    edit(folder / "tokenizer.json", lambda table: table["files"].update({"../secret": "0"}))

    assert faults(folder)["digest of a file"] == "'../secret' is not the name of a file"


def test_a_shape_far_larger_than_the_weights_is_a_fault(folder: Path) -> None:
    edit(folder / "config.json", lambda table: table["model"].update(encoder_layers=10**9))

    assert "a model of the shape in config.json has" in faults(folder)["names and shapes"]


def test_an_empty_folder_has_only_faults(tmp_path: Path) -> None:
    assert faults(tmp_path).keys() == {"config.json", "generation.json", "tokenizer", WEIGHTS}
