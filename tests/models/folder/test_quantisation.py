"""A quantised folder: the numbers that are stored, what reading makes of them, and damaged folders."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file
from tests.translation.folder.models import edit, saved, without_digest

from dragoman.base.errors import ConfigError, ModelError
from dragoman.models.folder.average import average_folders
from dragoman.models.folder.bundle import load
from dragoman.models.folder.check import check_folder
from dragoman.models.folder.difference import differences
from dragoman.models.folder.quantisation import quantise_folder
from dragoman.models.folder.weights import average, dequantise, quantise, read_weights, weights_of
from dragoman.translation.folder.summary import summary_of
from dragoman.translation.native.build import unavailable
from dragoman.translation.translator import Translator

WEIGHTS = "model.safetensors"
NAME = "logits.weight"
MULTIPLIER = NAME + ".input_multiplier"
SAVED = Path(__file__).parents[2] / "saved" / "0.1"


@pytest.fixture
def folders(tmp_path: Path) -> tuple[Path, Path]:
    """A model, and the same quantised."""
    folder = saved(tmp_path / "float", tie="none", norm="pre")
    quantise_folder(folder, tmp_path / "int8")
    return folder, tmp_path / "int8"


def faults(folder: Path) -> set[str]:
    return {check.name for check in check_folder(folder) if check.status == "fault"}


def change(folder: Path, edited: Callable[[dict[str, torch.Tensor]], object]) -> None:
    """Change the weights of a folder, and remove its digest."""
    weights = load_file(folder / WEIGHTS)
    edited(weights)
    save_file(weights, folder / WEIGHTS)
    without_digest(folder)


# Numbers


def test_numbers_are_those_of_float64_arithmetic() -> None:
    weight = (
        torch.randn(50, 40, generator=torch.Generator().manual_seed(1)) * torch.logspace(-6, 6, 50)[:, None]
    )

    stored = quantise({NAME: weight, "other": weight})

    exact = weight.double().numpy()
    scale = np.abs(exact).max(1) / 127
    assert stored["other"].equal(weight)
    assert stored[NAME].dtype == torch.int8
    np.testing.assert_allclose(stored[NAME + ".scale"].numpy(), scale, rtol=1e-6)
    # float32 may round the other way only where float64 is a hair from half.
    assert np.abs(stored[NAME].numpy() - exact / scale[:, None]).max() <= 0.5 + 1e-4
    assert (np.abs(stored[NAME].numpy()).max(1) == 127).all()


def test_halves_are_rounded_to_even() -> None:
    weight = torch.tensor([[127.0, 0.5, 1.5, 2.5, -0.5, -1.5, -2.5]])

    assert quantise({NAME: weight})[NAME].tolist() == [[127, 0, 2, 2, 0, -2, -2]]


def test_a_row_of_zeros_and_rows_of_the_smallest_numbers_come_back_finite() -> None:
    weight = torch.tensor([[0.0, 0.0], [1e-45, -1e-45], [1e-38, 5e-39], [3e38, -3e38]])

    back = dequantise(quantise({NAME: weight}), "here")[NAME]

    assert torch.allclose(back, weight, rtol=0.01, atol=1e-40)
    assert back[0].tolist() == [0, 0]


def test_reading_multiplies_by_the_scale(folders: tuple[Path, Path]) -> None:
    stored, read = load_file(folders[1] / WEIGHTS), read_weights(folders[1] / WEIGHTS)

    assert read.keys() == load_file(folders[0] / WEIGHTS).keys()
    expected = stored[NAME].numpy().astype(np.float64) * stored[NAME + ".scale"].numpy()[:, None].astype(
        np.float64
    )
    np.testing.assert_allclose(read[NAME].numpy(), expected, rtol=1e-7)
    assert {weight.dtype for weight in read.values()} == {torch.float32}
    model = weights_of(load(folders[1]).model)
    assert all(torch.equal(model[name], read[name]) for name in read)


def test_an_average_of_quantised_models_is_float32(folders: tuple[Path, Path]) -> None:
    path = folders[1] / WEIGHTS

    mean = average([path, path])

    assert all(torch.equal(mean[name], weight) for name, weight in read_weights(path).items())


# Folders


def test_a_quantised_folder_is_whole_and_smaller(folders: tuple[Path, Path]) -> None:
    names = [{path.name for path in folder.iterdir()} for folder in folders]
    config = json.loads((folders[1] / "config.json").read_text())

    assert faults(folders[1]) == set()
    assert names[1] == names[0] | {"README.md"}
    assert (config["format_version"], config["quantised"]) == (2, "int8")
    assert (folders[0] / "generation.json").read_text() == (folders[1] / "generation.json").read_text()


def test_a_trained_model_translates_alike_and_is_about_a_quarter(tmp_path: Path) -> None:
    sizes = quantise_folder(SAVED / "transformer", tmp_path / "int8")
    lines = (SAVED / "text" / "test.en").read_text(encoding="utf-8").splitlines()

    ours = [one.text for one in Translator.load(tmp_path / "int8", device="cpu").translate(lines)]

    theirs = [one.text for one in Translator.load(SAVED / "transformer", device="cpu").translate(lines)]
    assert sum(one == other for one, other in zip(ours, theirs, strict=True)) >= 0.8 * len(lines)
    assert sizes.after < 0.45 * sizes.before  # much of a tiny model is names of weights, norms and biases


@pytest.mark.skipif(unavailable() is not None, reason="int8 needs the native engine")
@pytest.mark.parametrize("changes", [{}, {"tie": "none", "positions": "learned", "activation": "swiglu"}])
def test_the_native_engine_quantises_alike(changes: dict[str, Any], tmp_path: Path) -> None:
    """A quantised folder, and a float32 one in int8: equal tokens and scores, to the last bit."""
    folder = saved(tmp_path / "float", **changes)
    quantise_folder(folder, tmp_path / "int8")
    lines = ["the moon is pale", "old stones", "moon stones the pale", ""]

    one = Translator.load(tmp_path / "int8", engine="native").translate(lines)

    assert one == Translator.load(folder, dtype="int8", engine="native").translate(lines)
    assert one != Translator.load(folder, dtype="float32", engine="native").translate(lines)


def test_a_risk_model_of_other_weights_is_not_made_valid(folders: tuple[Path, Path], tmp_path: Path) -> None:
    table = {"format_version": 3, "weights": "of another model", "languages": {}}
    (folders[0] / "risk.json").write_text(json.dumps(table))
    with pytest.raises(ModelError, match="other weights"):
        quantise_folder(folders[0], tmp_path / "again")
    assert not (tmp_path / "again").exists()


def test_the_card_goes_along_with_the_new_digest(folders: tuple[Path, Path], tmp_path: Path) -> None:
    old, new = (json.loads((folder / "config.json").read_text())["weights"] for folder in folders)
    (folders[0] / "README.md").write_text(f"# Mine\n\n## Model\n\n| a | b |\n| - | - |\n| w | `{old}` |\n")

    quantise_folder(folders[0], tmp_path / "again")

    card = (tmp_path / "again" / "README.md").read_text()
    assert card.startswith("# Mine\n")
    assert f"| w | `{new}` |" in card
    assert f"{folders[0]}, {old}" in card.partition("## Quantised")[2]


def test_what_cannot_be_quantised_is_refused_and_leaves_nothing(
    folders: tuple[Path, Path], tmp_path: Path
) -> None:
    output = tmp_path / "new"
    with pytest.raises(ConfigError, match="quantised already"):
        quantise_folder(folders[1], output)
    with pytest.raises(ConfigError, match="convolutional models cannot be quantised"):
        quantise_folder(SAVED / "convolutional", output)
    with pytest.raises(ConfigError, match="exists already"):
        quantise_folder(folders[0], folders[1])
    change(folders[0], lambda weights: weights[NAME].view(-1)[:1].fill_(torch.nan))
    with pytest.raises(ModelError, match=f"NaN or infinite in {NAME}"):
        quantise_folder(folders[0], output)
    assert not output.exists()


# Damage


@pytest.mark.parametrize(
    ("edited", "message"),
    [
        (lambda weights: weights.pop(NAME + ".scale"), "is int8 without"),
        (lambda weights: weights.pop(NAME), "is a scale without an int8 matrix"),
        (lambda weights: weights.update({NAME + ".scale": torch.ones(3)}), "float32 of shape (3,)"),
        (lambda weights: weights.update({NAME: weights[NAME][:, :-1].contiguous()}), "has shape"),
        (
            lambda weights: weights.update({"decoder_norm.bias": torch.ones(8, dtype=torch.int8)}),
            "not a matrix",
        ),
        (lambda weights: weights[NAME + ".scale"][1:2].fill_(torch.nan), "NaN or infinite in a row"),
        (lambda weights: weights[NAME + ".scale"][1:2].fill_(torch.inf), "NaN or infinite in a row"),
    ],
)
def test_damaged_scales_are_an_error(
    folders: tuple[Path, Path], edited: Callable[[dict[str, torch.Tensor]], Any], message: str
) -> None:
    change(folders[1], edited)

    with pytest.raises(ModelError) as caught:
        load(folders[1])

    assert message in str(caught.value)
    assert caught.value.hint
    assert faults(folders[1])


@pytest.mark.parametrize(
    "changes",
    [
        {"quantised": "int4"},
        {"quantised": None},
        {"format_version": 1},
        {"format_version": 3},
        {"quantised": 8},
    ],
    ids=str,
)
def test_a_config_that_does_not_fit_is_an_error(
    folders: tuple[Path, Path], changes: dict[str, object]
) -> None:
    edit(folders[1] / "config.json", lambda table: table.update(changes))

    with pytest.raises(ModelError) as caught:
        load(folders[1])

    assert caught.value.hint
    assert "config.json" in faults(folders[1])


def test_float_weights_beside_a_quantised_config_are_a_fault(folders: tuple[Path, Path]) -> None:
    (folders[1] / WEIGHTS).write_bytes((folders[0] / WEIGHTS).read_bytes())
    without_digest(folders[1])

    assert faults(folders[1]) == {"int8 matrices"}


# Multipliers of inputs


@pytest.fixture
def fixed(folders: tuple[Path, Path]) -> Path:
    """The quantised model with a multiplier."""
    change(folders[1], lambda weights: weights.update({MULTIPLIER: torch.tensor([20.0])}))
    return folders[1]


def test_pytorch_and_what_it_writes_have_no_multipliers(
    folders: tuple[Path, Path], fixed: Path, tmp_path: Path
) -> None:
    read = read_weights(fixed / WEIGHTS)

    average_folders([fixed, fixed], tmp_path / "mean")

    assert faults(fixed) == set()
    assert set(read) == set(weights_of(load(fixed).model)) == set(load_file(folders[0] / WEIGHTS))
    assert set(load_file(tmp_path / "mean" / WEIGHTS)) == set(read)


def test_a_difference_names_multipliers(folders: tuple[Path, Path], fixed: Path, tmp_path: Path) -> None:
    for name in ("other", "without"):
        shutil.copytree(fixed, tmp_path / name)
    change(tmp_path / "other", lambda weights: weights[MULTIPLIER].mul_(1.5))
    change(tmp_path / "without", lambda weights: weights.pop(MULTIPLIER))

    assert differences(fixed, fixed).equal
    [one] = differences(fixed, tmp_path / "other").weights
    assert (one.name, one.largest) == (MULTIPLIER, 10)
    [one] = differences(fixed, tmp_path / "without").weights
    assert (one.name, one.text) == (MULTIPLIER, "only in the first")


def test_a_summary_counts_multipliers(folders: tuple[Path, Path], fixed: Path) -> None:
    about, before = summary_of(fixed), summary_of(folders[0])

    assert about.parameters == before.parameters
    assert about.to_table()["weights"]["input_multipliers"] == 1
    assert re.search(r"input multipliers +1\n", about.to_text())
    assert "input_multipliers" not in before.to_table()["weights"]


@pytest.mark.parametrize("value", [0.0, -1.0, torch.nan, torch.inf])
def test_impossible_multipliers_are_a_fault(fixed: Path, value: float) -> None:
    change(fixed, lambda weights: weights[MULTIPLIER].fill_(value))

    [fault] = [check for check in check_folder(fixed) if check.status == "fault"]

    assert fault.name == "values of weights"
    assert MULTIPLIER in fault.text


def test_a_multiplier_without_a_matrix_is_a_fault(fixed: Path) -> None:
    change(fixed, lambda weights: weights.update({"decoder_norm.bias.input_multiplier": torch.ones(1)}))

    assert faults(fixed) == {"int8 matrices"}
    with pytest.raises(ModelError, match=r"decoder_norm.bias.input_multiplier is .* without an int8 matrix"):
        load(fixed)
