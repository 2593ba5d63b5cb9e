"""The model folder: everything comes back, and what is missing or damaged is named."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file
from tests.models.folder.test_weights import disk_full_after
from tests.translation.folder import models
from tests.translation.folder.models import PAIRS, small, without_digest

from dragoman.base.errors import DragomanError, ModelError
from dragoman.models.folder import bundle
from dragoman.models.folder.weights import write_weights
from dragoman.models.seq2seq import build_model
from dragoman.models.shapes import (
    Architecture,
    ConvolutionalConfig,
    RecurrentConfig,
    SSRUConfig,
    TransformerConfig,
)
from dragoman.text.tokenizers.tokenizer import Tokenizer, TokenizerConfig
from dragoman.translation.folder.config import FORMAT_VERSION
from dragoman.translation.search.options import Beam


@pytest.mark.parametrize(
    "config",
    [
        RecurrentConfig(source_vocab=10, target_vocab=10, d_model=8, cell="gru", attention="additive"),
        ConvolutionalConfig(source_vocab=10, target_vocab=10, d_model=8, dilated=True),
        SSRUConfig(source_vocab=10, target_vocab=10, d_model=8, d_ff=8, heads=2, norm_epsilon=1e-6),
        TransformerConfig(
            source_vocab=10, target_vocab=10, d_model=8, d_ff=8, heads=2, positions="t5", window=4
        ),
    ],
    ids=["recurrent", "convolutional", "ssru", "t5"],
)
def test_every_architecture_comes_back(config: Architecture, tmp_path: Path) -> None:
    torch.manual_seed(1)
    wanted = replace(small(), model=build_model(config).eval())
    bundle.save(wanted, tmp_path)

    found = bundle.load(tmp_path)

    assert found.model.config == config
    inputs = torch.tensor([[4, 5, 2]]), torch.tensor([3]), torch.tensor([[1, 6]])
    with torch.no_grad():
        logits = [one.model.decode(inputs[2], one.model.encode(*inputs[:2])) for one in (found, wanted)]
    assert torch.equal(*logits)
    assert json.loads((tmp_path / "config.json").read_text())["architecture"] == config.architecture


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    bundle.save(small(), tmp_path / "model")
    return tmp_path / "model"


def edit(folder: Path, name: str, change: Callable[[dict[str, Any]], Any]) -> None:
    models.edit(folder / name, change)


def refused(folder: Path) -> ModelError:
    with pytest.raises(ModelError) as caught:
        bundle.load(folder)
    assert str(folder) in str(caught.value)
    assert caught.value.hint
    return caught.value


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"norm": "pre", "activation": "swiglu", "tie": "none", "output_bias": True},
        {"tie": "decoder", "attention_bias": True, "positions": "sinusoidal-halves", "dropout": 0.3},
        {"norm": "pre", "final_norm": False, "norm_epsilon": 1e-6, "positions": "sinusoidal-t2t"},
        {"embedding_scale": False, "activation": "quick-gelu"},
    ],
    ids=str,
)
def test_everything_comes_back(changes: dict[str, Any], tmp_path: Path) -> None:
    before = small(**changes)
    bundle.save(before, tmp_path)

    after = bundle.load(tmp_path)

    assert after.model.config == before.model.config
    assert (after.source_language, after.target_language) == ("en", "yo")
    assert after.generation == before.generation
    lines = ["pale stones", "the unknown"]
    assert after.tokenizer.encode_source(lines) == before.tokenizer.encode_source(lines)
    inputs = torch.tensor([[4, 5, 2]]), torch.tensor([3])
    target_BT = torch.tensor([[1, 6, 7]])
    before.model.eval()  # type: ignore[attr-defined]
    with torch.no_grad():
        wanted = before.model.decode(target_BT, before.model.encode(*inputs))
        assert torch.equal(after.model.decode(target_BT, after.model.encode(*inputs)), wanted)


def test_the_model_comes_back_resting(folder: Path) -> None:
    assert not bundle.load(folder).model.training  # type: ignore[attr-defined]


def test_loading_leaves_the_random_state_alone(folder: Path) -> None:
    torch.manual_seed(3)
    wanted = torch.randn(3)
    torch.manual_seed(3)

    bundle.load(folder)

    assert torch.equal(torch.randn(3), wanted)


def test_the_files_are_those_documented_and_can_be_read_by_anyone(folder: Path) -> None:
    names = {path.name for path in folder.iterdir()}

    assert names == {
        *("config.json", "digests.json", "generation.json", "model.safetensors"),
        *("tokenizer.json", "tokenizer.words.json"),
    }  # fmt: skip
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    assert config["format_version"] == FORMAT_VERSION
    assert config["architecture"] == "transformer"
    assert config["model"]["d_model"] == 8


NEWER = {"norm_epsilon": 1e-6, "final_norm": False, "embedding_scale": False}


def test_an_option_that_older_releases_do_not_know_is_written_only_if_it_changes_the_model(
    tmp_path: Path,
) -> None:
    def written(model: dict[str, Any]) -> dict[str, Any]:
        bundle.save(small(**model), tmp_path)
        table: dict[str, Any] = json.loads((tmp_path / "config.json").read_text(encoding="utf-8"))["model"]
        return table

    assert not written({}).keys() & NEWER.keys()
    assert {name: written({"norm": "pre"} | NEWER)[name] for name in NEWER} == NEWER
    assert written({"norm_epsilon": 1e-6}).keys() & NEWER.keys() == {"norm_epsilon"}


def test_saving_again_replaces_the_model(folder: Path) -> None:
    other = small(d_model=4, heads=1)

    bundle.save(other, folder)

    assert bundle.load(folder).model.config == other.model.config


def test_a_model_of_the_first_version_is_read(folder: Path) -> None:
    """Later options get their defaults: a folder keeps loading."""
    edit(folder, "config.json", lambda table: table["model"].pop("output_bias") or None)
    edit(folder, "config.json", lambda table: table.update(format_version=1))

    assert bundle.load(folder).model.config.output_bias is False  # type: ignore[attr-defined]


# What goes wrong


def test_no_folder(tmp_path: Path) -> None:
    assert "no such model folder" in str(refused(tmp_path / "nowhere"))


@pytest.mark.parametrize(
    "name", ["config.json", "generation.json", "model.safetensors", "tokenizer.json", "tokenizer.words.json"]
)
def test_a_missing_file_is_named(name: str, folder: Path) -> None:
    (folder / name).unlink()

    assert name in str(refused(folder))


def test_a_folder_still_in_training_says_so(folder: Path) -> None:
    (folder / "config.json").unlink()
    (folder / "checkpoints").mkdir()

    assert "repeat" in refused(folder).hint


@pytest.mark.parametrize("name", ["config.json", "generation.json", "model.safetensors", "tokenizer.json"])
@pytest.mark.parametrize(
    "content", [b"", b"{", b"[1]", b"\xff\xfe", b'"text"', b"7", b"null", b"[" * 100_000]
)
def test_a_damaged_file_is_named(name: str, content: bytes, folder: Path) -> None:
    (folder / name).write_bytes(content)

    assert name in str(refused(folder))


@pytest.mark.parametrize("version", [0, FORMAT_VERSION + 1, "1", None, True, 1.0])
def test_another_format_is_an_error(version: object, folder: Path) -> None:
    edit(folder, "config.json", lambda table: table.update(format_version=version))

    assert "format_version" in str(refused(folder))


@pytest.mark.parametrize("architecture", ["rnn", None, ["transformer"], {"a": 1}, 3])
def test_an_unknown_architecture_is_an_error(architecture: object, folder: Path) -> None:
    edit(folder, "config.json", lambda table: table.update(architecture=architecture))

    error = refused(folder)
    assert "architecture" in str(error)
    assert "transformer" in error.hint


@pytest.mark.parametrize("model", [None, [], 3, "text", {"d_model": 8, "wings": 2}, {"d_model": "wide"}])
def test_a_shape_that_is_none_is_an_error(model: object, folder: Path) -> None:
    edit(folder, "config.json", lambda table: table.update(model=model))

    refused(folder)


@pytest.mark.parametrize(
    "key", ["format_version", "architecture", "model", "source_language", "target_language"]
)
def test_a_missing_key_is_an_error(key: str, folder: Path) -> None:
    edit(folder, "config.json", lambda table: {name: value for name, value in table.items() if name != key})

    refused(folder)


@pytest.mark.parametrize("table", [{"size": 0}, {"size": "many"}, {"width": 4}, {"normalization": "none"}])
def test_an_impossible_search_is_an_error(table: dict[str, Any], folder: Path) -> None:
    (folder / "generation.json").write_text(json.dumps(table), encoding="utf-8")

    refused(folder)


def test_a_tokenizer_of_another_model_is_an_error(folder: Path, tmp_path: Path) -> None:
    more = Tokenizer.train(
        [*PAIRS, ("and more words", "words")], TokenizerConfig(kind="words", vocab_size=20)
    )
    more.save(folder)

    assert "tokens" in str(refused(folder))


def test_weights_of_another_model_are_an_error(folder: Path, tmp_path: Path) -> None:
    bundle.save(small(d_model=4, heads=1), tmp_path / "other")
    shutil.copy(tmp_path / "other" / "model.safetensors", folder)

    assert "shape" in str(refused(folder))
    write_weights(folder / "model.safetensors", {"a": torch.ones(2)})
    assert "do not fit" in str(refused(folder))


def test_a_folder_that_cannot_be_written_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")

    with pytest.raises(DragomanError, match="file"):
        bundle.save(small(), tmp_path / "file" / "model")


# The digest of the weights


def test_the_digest_of_the_weights_is_in_the_configuration(folder: Path) -> None:
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))

    content = (folder / "model.safetensors").read_bytes()
    assert config["weights"] == "sha256:" + hashlib.sha256(content).hexdigest()


def test_a_folder_without_a_digest_is_read(folder: Path) -> None:
    without_digest(folder)

    bundle.load(folder)


def flip(path: Path, place: int, mask: int) -> None:
    content = bytearray(path.read_bytes())
    content[place] ^= mask
    path.write_bytes(content)


@pytest.mark.parametrize("place", [-1, -1000, -3001], ids="last middle first".split())
def test_one_flipped_bit_is_an_error(place: int, folder: Path) -> None:
    path = folder / "model.safetensors"
    assert path.stat().st_size > 3500
    flip(path, place, 0x80)

    error = refused(folder)

    assert "model.safetensors: damaged" in str(error)
    assert "repeat" in error.hint
    flip(path, place, 0x80)
    bundle.load(folder)


def test_weights_that_are_not_floating_point_are_an_error(folder: Path) -> None:
    """They would be read as other numbers: the bits of 1.0 are the integer 1065353216."""
    path = folder / "model.safetensors"
    weights = load_file(path)
    last, first, *_ = reversed(weights)
    save_file(weights | {name: weights[name].view(torch.int32) for name in (first, last)}, path)
    without_digest(folder)

    error = refused(folder)

    assert f"{first} holds int32" in str(error)
    assert f"{last} holds int32" in str(error)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float64])
def test_weights_of_another_precision_are_converted(dtype: torch.dtype, folder: Path) -> None:
    path = folder / "model.safetensors"
    weights = {name: weight.to(dtype) for name, weight in load_file(path).items()}
    save_file(weights, path)
    without_digest(folder)

    loaded = dict(bundle.load(folder).model.named_parameters())

    assert all(torch.equal(loaded[name], weights[name].float()) for name in weights)


@pytest.mark.parametrize(
    "sizes",
    [{"encoder_layers": 10**9}, {"decoder_layers": 10**9}, {"d_model": 2 * 10**9}, {"d_ff": 10**12}],
    ids=str,
)
def test_a_shape_far_larger_than_the_weights_is_refused_before_it_is_built(
    sizes: dict[str, int], folder: Path
) -> None:
    edit(folder, "config.json", lambda table: table["model"].update(sizes))

    assert "do not fit" in str(refused(folder))


def test_a_banned_id_outside_the_vocabulary_is_an_error(folder: Path) -> None:
    edit(folder, "generation.json", lambda table: table.update(banned=[10]))

    assert "bans id 10 in a vocabulary of 10" in str(refused(folder))


# Interrupted between two files


class Killed(BaseException):
    """What no code expects, as if the process had been killed."""


@pytest.mark.parametrize("place", range(7))
@pytest.mark.parametrize("before", ["nothing", "another model", "a model without a digest"])
def test_a_folder_whose_writing_was_interrupted_is_refused_until_it_is_repeated(
    before: str, place: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between any two files. A folder that loads has all files of one model."""
    folder = tmp_path / "model"
    old, new = small(seed=1), small(seed=2, norm_epsilon=1e-6, generation=Beam(size=2))
    if before != "nothing":
        bundle.save(old, folder)
    if before == "a model without a digest":
        without_digest(folder)
    replaced: list[str] = []
    replace_file = os.replace

    def interrupted(part: str, target: str) -> None:
        if len(replaced) == place:
            raise Killed
        replaced.append(Path(target).name)
        replace_file(part, target)

    with monkeypatch.context() as patch:
        patch.setattr("dragoman.base.files.os.replace", interrupted)
        if place < 6:
            with pytest.raises(Killed):
                bundle.save(new, folder)
        else:
            bundle.save(new, folder)

    if place == 6:
        assert replaced[0] == "config.json"
        assert replaced[-1] == "model.safetensors"
        assert bundle.load(folder).config == replace(new.config, weights=None)
    elif place == 0 and before != "nothing":
        assert bundle.load(folder).config == old.config
    else:
        refused(folder)
    bundle.save(new, folder)
    assert bundle.load(folder).generation == Beam(size=2)


def test_a_full_disk_leaves_the_old_model(folder: Path) -> None:
    before = {path.name: path.read_bytes() for path in folder.iterdir()}

    with disk_full_after(1000), pytest.raises(DragomanError, match=r"model\.safetensors: cannot be written"):
        bundle.save(small(seed=3), folder)

    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before
