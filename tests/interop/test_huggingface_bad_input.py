"""Folders of Hugging Face's Marian that cannot be read: one clear error, and nothing executed."""

from __future__ import annotations

import json
import math
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file
from tests.interop import opus
from torch import Tensor

from dragoman.base.errors import ModelError
from dragoman.interop import huggingface

pytest.importorskip("transformers", reason="transformers, which writes the models, is not installed")


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An OPUS-MT model. Tests that change it copy it."""
    return opus.save(tmp_path_factory.mktemp("plain"))


@pytest.fixture
def copy(plain: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(plain, tmp_path / "copy"))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"model_type": "bart"}, "model_type 'bart'"),
        ({"model_type": None}, "model_type None"),
        ({"model_type": ["marian"]}, "model_type ['marian']"),
        ({"activation_function": "gelu_new"}, "unknown activation_function 'gelu_new'"),
        ({"decoder_ffn_dim": 64}, "encoder_ffn_dim = 48 and decoder_ffn_dim = 64"),
        ({"decoder_attention_heads": 8}, "encoder_attention_heads = 4"),
        ({"normalize_before": True}, "normalize_before = True"),
        ({"static_position_embeddings": False}, "static_position_embeddings = False"),
        ({"d_model": "32"}, "d_model = '32'"),
        ({"d_model": 30}, "not a multiple"),
        ({"d_model": 64}, "weights do not fit"),
        ({"encoder_layers": 10**9}, "1000000003 layers"),
        ({"encoder_layers": 3}, "missing: model.encoder.layers.2.fc1.weight 48 x 32"),
        ({"encoder_layers": 1}, "unknown: model.encoder.layers.1.fc1.weight"),
        ({"encoder_layers": 0}, "encoder_layers = 0"),
        ({"encoder_ffn_dim": 10**15, "decoder_ffn_dim": 10**15}, "fc1"),
        ({"encoder_ffn_dim": 2**62, "decoder_ffn_dim": 2**62}, "impossible size"),
        ({"dropout": 1e999}, "dropout = inf"),
        ({"vocab_size": 20}, "but the model has 20 embeddings"),
        ({"tie_word_embeddings": "yes"}, "tie_word_embeddings = 'yes'"),
    ],
    ids=str,
)
def test_a_configuration_that_does_not_fit_is_an_error(
    changes: dict[str, Any], message: str, copy: Path
) -> None:
    opus.edit(copy / "config.json", **changes)

    with pytest.raises(ModelError) as error:
        huggingface.read(copy)
    assert message in str(error.value)
    assert error.value.hint


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"bad_words_ids": [[10**6]]}, "bans token 1000000"),
        ({"bad_words_ids": ["no"]}, "bad_words_ids"),
        ({"suppress_tokens": 3}, "suppress_tokens = 3"),
        ({"num_beams": 0}, "size = 0"),
        ({"length_penalty": "long"}, "length_penalty = 'long'"),
        ({"eos_token_id": [0, 2]}, "eos_token_id = [0, 2]"),
        ({"pad_token_id": -1}, "pad_token_id = -1"),
        ({"pad_token_id": 10**6, "decoder_start_token_id": 10**6}, "special id is not in the vocabulary"),
    ],
    ids=str,
)
def test_settings_of_a_search_that_do_not_fit_are_an_error(
    changes: dict[str, Any], message: str, copy: Path
) -> None:
    opus.edit(copy / "generation_config.json", **changes)

    with pytest.raises(ModelError) as error:
        huggingface.read(copy)
    assert message in str(error.value)
    assert error.value.hint


def with_vocabulary(change: Callable[[dict[str, Any]], object], folder: Path) -> None:
    path = folder / "vocab.json"
    table = json.loads(path.read_text())
    changed = change(table)
    path.write_text(json.dumps(table if changed is None else changed))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda table: list(table), "not a JSON object"),
        (lambda table: {piece: str(i) for piece, i in table.items()}, "the id of '</s>' is '0'"),
        (lambda table: {**table, "▁new": 5}, "have the same id 5"),
        (lambda table: {**table, "▁new": len(table)}, "embeddings"),
        (lambda table: {**table, "▁new": -1}, "has id -1"),
        (lambda table: table.pop("▁a") and None, "1 ids have no piece, the first is"),
        (lambda table: table.pop("<unk>") and None, "unk_token '<unk>' is not in it"),
        (lambda table: {}, "is not in it"),
    ],
)
def test_a_vocabulary_that_does_not_fit_is_an_error(
    change: Callable[[dict[str, Any]], object], message: str, copy: Path
) -> None:
    with_vocabulary(change, copy)

    with pytest.raises(ModelError) as error:
        huggingface.read(copy)
    assert message in str(error.value)


@pytest.mark.parametrize(
    "name", ["config.json", "vocab.json", "source.spm", "target.spm", "model.safetensors"]
)
@pytest.mark.parametrize("damage", ["missing", "truncated", "empty"])
def test_a_missing_or_damaged_file_is_named(name: str, damage: str, copy: Path) -> None:
    path = copy / name
    content = path.read_bytes()
    path.unlink()
    if damage != "missing":
        path.write_bytes(content[: len(content) // 2] if damage == "truncated" else b"")

    with pytest.raises(ModelError) as error:
        huggingface.read(copy)
    assert name in str(error.value)
    assert error.value.hint


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda t: t.update({"model.encoder.layers.0.fc1.bias": torch.zeros(47)}), "has shape 47"),
        (lambda t: t.update({"extra": torch.zeros(2, 3)}), "unknown: extra 2 x 3"),
        (lambda t: t["final_logits_bias"][0].fill_(math.nan), "NaN or infinite"),
        (lambda t: t["model.decoder.layers.0.fc2.weight"][0].fill_(math.inf), "NaN or infinite"),
        (lambda t: t.update({"model.shared.weight": t["model.shared.weight"].long()}), "holds int64"),
        (
            lambda t: t.update({"model.encoder.embed_positions.weight": torch.rand(16, 32)}),
            "not the sinusoidal table",
        ),
        (lambda t: t.clear(), "layers, but the weights are 0 tensors"),
    ],
)
def test_weights_that_do_not_fit_are_an_error(
    change: Callable[[dict[str, Tensor]], object], message: str, copy: Path
) -> None:
    tensors = load_file(copy / "model.safetensors")
    change(tensors)
    save_file(tensors, copy / "model.safetensors")

    with pytest.raises(ModelError) as error:
        huggingface.read(copy)
    assert message in str(error.value)


class Code:
    """A pickle that runs a command when it is loaded."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Any, tuple[str]]:
        return os.system, (f"touch {self.path}",)


def test_code_in_a_pickle_is_not_run(copy: Path, tmp_path: Path) -> None:
    (copy / "model.safetensors").unlink()
    proof = tmp_path / "proof"
    torch.save({"model.shared.weight": Code(proof)}, copy / "pytorch_model.bin")

    with pytest.raises(ModelError, match="holds more than tensors") as error:
        huggingface.read(copy)
    assert "never run" in error.value.hint
    assert not proof.exists()
    torch.load(copy / "pytorch_model.bin", weights_only=False)  # the code is real
    assert proof.exists()


@pytest.mark.parametrize("content", [[1, 2], {"a": 1}, {1: torch.zeros(1)}], ids=str)
def test_a_pickle_of_something_else_is_an_error(content: object, copy: Path) -> None:
    (copy / "model.safetensors").unlink()
    torch.save(content, copy / "pytorch_model.bin")

    with pytest.raises(ModelError, match="not a table of tensors"):
        huggingface.read(copy)


def test_an_image_of_a_model_is_an_error(copy: Path) -> None:
    (copy / "model.safetensors").unlink()
    (copy / "pytorch_model.bin").write_bytes(b"\x89PNG\r\n" * 100)

    with pytest.raises(ModelError, match="pytorch_model.bin"):
        huggingface.read(copy)
