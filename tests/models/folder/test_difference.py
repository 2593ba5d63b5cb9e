"""The differences of two folders: each kind, in numbers that were changed by hand."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file
from tests.translation.folder.models import PAIRS, edit, saved

from dragoman.base.errors import ModelError
from dragoman.models.folder.difference import FolderDifference, differences
from dragoman.text.tokenizers.tokenizer import Tokenizer, TokenizerConfig

NAME = "decoder.0.feed_forward.inner.weight"


@pytest.fixture
def pair(tmp_path: Path) -> tuple[Path, Path]:
    one = saved(tmp_path / "one")
    return one, shutil.copytree(one, tmp_path / "other")


def with_weights(
    pair: tuple[Path, Path], change: Callable[[dict[str, torch.Tensor]], object]
) -> FolderDifference:
    path = pair[1] / "model.safetensors"
    weights = load_file(path)
    change(weights)
    save_file(weights, path)
    return differences(*pair)


def test_a_copy_is_equal(pair: tuple[Path, Path]) -> None:
    found = differences(*pair)

    assert found.equal
    assert found.total == len(load_file(pair[0] / "model.safetensors"))
    assert found.to_table()["equal"] is True


def test_the_size_of_a_difference(pair: tuple[Path, Path]) -> None:
    def change(weights: dict[str, torch.Tensor]) -> None:
        weights[NAME].view(-1)[:2] += torch.tensor([0.5, -0.25])

    found = with_weights(pair, change)

    (one,) = found.weights
    count = load_file(pair[0] / "model.safetensors")[NAME].numel()
    assert one.name == NAME
    assert one.largest == pytest.approx(0.5)
    assert one.mean == pytest.approx(0.75 / count)
    assert not found.equal
    assert (found.config, found.tokenizer, found.generation) == ([], [], [])


def test_one_flipped_sign_is_seen(pair: tuple[Path, Path]) -> None:
    def change(weights: dict[str, torch.Tensor]) -> None:
        weights["decoder.0.attention_residual.norm.weight"][3] *= -1

    (one,) = with_weights(pair, change).weights

    assert one.largest == 2.0  # from 1 to -1


def test_weights_of_one_model_and_of_another_shape_or_type(pair: tuple[Path, Path]) -> None:
    def change(weights: dict[str, torch.Tensor]) -> None:
        first, second, third, *_ = sorted(weights)
        weights["strange"] = weights.pop(first)
        weights[second] = torch.zeros(3)
        weights[third] = weights[third].double()
        names.extend([first, second, third])

    names: list[str] = []
    found = with_weights(pair, change)

    texts = {one.name: one.text for one in found.weights}
    assert texts[names[0]] == "only in the first"
    assert texts["strange"] == "only in the second"
    assert texts[names[1]].endswith("-> (3,)")
    assert texts[names[2]] == "float32 -> float64"
    assert len(found.weights) == 4


def test_nan_equals_nan_and_nothing_else(pair: tuple[Path, Path]) -> None:
    def change(weights: dict[str, torch.Tensor]) -> None:
        weights[NAME].view(-1)[:3] = torch.tensor([torch.nan, torch.inf, 0])

    (one,) = with_weights(pair, change).weights
    assert one.text == "2 numbers are NaN or infinite in one of them"
    assert one.largest is not None

    shutil.copy(pair[1] / "model.safetensors", pair[0])
    assert differences(*pair).equal


def test_a_weight_that_is_nowhere_finite_has_no_size(pair: tuple[Path, Path]) -> None:
    (one,) = with_weights(pair, lambda weights: weights[NAME].fill_(torch.nan)).weights

    assert (one.largest, one.mean) == (None, None)


def test_configuration_and_search(pair: tuple[Path, Path]) -> None:
    edit(pair[1] / "config.json", lambda table: table.update(source_language="fr"))
    edit(pair[1] / "config.json", lambda table: table["model"].update(activation="gelu"))
    edit(pair[1] / "config.json", lambda table: table.update(guidance=["terms"], alignment="1.1"))
    edit(pair[1] / "generation.json", lambda table: table.update(size=5, banned=[4]))

    found = differences(*pair)

    assert found.config == [
        'alignment: (not set) -> "1.1"',
        'guidance: [] -> ["terms"]',
        'model.activation: "relu" -> "gelu"',
        'source_language: "en" -> "fr"',
    ]
    assert found.generation == ["banned: [] -> [4]", "size: 7 -> 5"]
    assert found.weights == []


def test_the_first_piece_that_differs(pair: tuple[Path, Path]) -> None:
    pairs = [(source.replace("moon", "sun"), target.replace("moon", "sun")) for source, target in PAIRS]
    other = Tokenizer.train(pairs, TokenizerConfig(kind="words", vocab_size=10))
    before = Tokenizer.load(pair[0]).source_pieces(range(10))
    after = other.source_pieces(range(10))
    number = next(i for i in range(10) if before[i] != after[i])
    other.save(pair[1])

    lines = differences(*pair).tokenizer

    assert f"source piece {number}, the first that differs: {before[number]!r} -> {after[number]!r}" in lines
    assert any(line.startswith("files.tokenizer.words.json: ") for line in lines)


def test_a_longer_vocabulary(pair: tuple[Path, Path]) -> None:
    more = [*PAIRS, ("a a a a", "a")]
    Tokenizer.train(more, TokenizerConfig(kind="words", vocab_size=11)).save(pair[1])

    assert "sizes.source: 10 -> 11" in differences(*pair).tokenizer


@pytest.mark.parametrize("name", ["config.json", "model.safetensors", "tokenizer.words.json"])
def test_a_damaged_folder_is_an_error(name: str, pair: tuple[Path, Path]) -> None:
    (pair[1] / name).write_bytes(b"damaged")

    with pytest.raises(ModelError, match=name):
        differences(*pair)


def test_the_pairs_of_languages(pair: tuple[Path, Path]) -> None:
    for folder, directions in zip(pair, ([["en", "yo"]], [["en", "yo"], ["yo", "en"]]), strict=True):
        edit(folder / "config.json", lambda table, own=directions: table.update(directions=own))
    assert "directions" in "\n".join(differences(*pair).config)
