"""Adapter folders: writing, reading and merging them, and what is refused."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file
from tests.translation.folder.models import edit, saved, without_digest

from dragoman.base.errors import ConfigError, ModelError
from dragoman.models.adapter import AdapterShape
from dragoman.models.folder import bundle
from dragoman.models.folder.average import average_folders
from dragoman.models.folder.check import check_adapter_folder
from dragoman.models.folder.merge import adapted, merge_adapter, write_adapter
from dragoman.models.folder.quantisation import quantise_folder
from dragoman.models.folder.weights import read_weights, weights_of
from dragoman.models.lora import add_lora, lora_shape, lora_weights
from dragoman.translation.folder.adapter import read_adapter, read_adapter_config
from dragoman.translation.folder.config import read_config
from dragoman.translation.folder.summary import adapter_summary_of

WEIGHTS = "adapter.safetensors"
LAYER = "decoder.0.cross_attention.project"


def adapter_of(base: Path, folder: Path, **options: Any) -> Path:
    """The folder, with an adapter for the model in `base` that has learnt."""
    model = bundle.load(base).model
    add_lora(model, **({"rank": 2, "alpha": 3.0} | options))
    generator = torch.Generator().manual_seed(1)
    with torch.no_grad():
        for parameter in lora_weights(model).values():
            parameter.copy_(torch.randn(parameter.shape, generator=generator))
    write_adapter(lora_weights(model), lora_shape(model), folder, base=base, name="Help pages")
    return folder


@pytest.fixture
def base(tmp_path: Path) -> Path:
    return saved(tmp_path / "base", 1)


@pytest.fixture
def adapter(base: Path, tmp_path: Path) -> Path:
    return adapter_of(base, tmp_path / "adapter")


def read(adapter: Path, base: Path) -> Any:
    return read_adapter(adapter, base, read_config(base))


def by_hand(base: Path, adapter: Path) -> dict[str, Any]:
    """The merged weights with numpy, in float64."""
    merged = {name: one.numpy() for name, one in read_weights(base / "model.safetensors").items()}
    parts = {name: one.double().numpy() for name, one in load_file(adapter / WEIGHTS).items()}
    for name in list(parts):
        if name.endswith(".lora.up"):
            layer, up = name.removesuffix(".lora.up"), parts[name]
            down = parts[f"{layer}.lora.down"]
            thirds = 3 if layer.endswith("project") else 1
            change = np.concatenate(
                [b @ a for b, a in zip(np.split(up, thirds), np.split(down, thirds), strict=True)]
            )
            merged[f"{layer}.weight"] = (merged[f"{layer}.weight"] + 1.5 * change).astype(np.float32)
    return merged


def test_an_adapter_comes_back(base: Path, adapter: Path) -> None:
    config = read(adapter, base)

    assert config == read_adapter_config(adapter)
    assert config.name == "Help pages"
    assert config.shape == AdapterShape(rank=2, alpha=3.0, on=("attention", "feed_forward"))
    assert (config.source_language, config.target_language) == ("en", "yo")
    assert (config.base, config.base_name) == (read_config(base).weights, "base")
    assert {path.name for path in adapter.iterdir()} == {"adapter.json", WEIGHTS, "README.md"}
    card = (adapter / "README.md").read_text(encoding="utf-8")
    assert card.startswith("# Help pages\n\nAdapts base, which translates from en to yo.\n")
    assert (
        f"| rank, alpha | 2, 3 |\n| on | attention, feed_forward |\n| weights | `{config.weights}` |" in card
    )


def test_a_title_is_one_line_of_the_card(base: Path, tmp_path: Path) -> None:
    model = bundle.load(base).model
    add_lora(model, rank=1, alpha=1.0)

    write_adapter(lora_weights(model), lora_shape(model), tmp_path / "a", base=base, name="a\nb")

    assert (tmp_path / "a" / "README.md").read_text(encoding="utf-8").startswith("# a b\n")


def test_a_model_with_an_adapter_is_no_model_folder(base: Path, tmp_path: Path) -> None:
    loaded = bundle.load(base)
    add_lora(loaded.model, rank=1, alpha=1.0)

    with pytest.raises(ConfigError, match="has an adapter"):
        bundle.save(loaded, tmp_path / "x")

    assert not (tmp_path / "x").exists()


def test_merging_is_the_formula(base: Path, adapter: Path, tmp_path: Path) -> None:
    expected = by_hand(base, adapter)

    merge_adapter(base, adapter, tmp_path / "merged")

    found = weights_of(bundle.load(tmp_path / "merged").model)
    assert found.keys() == expected.keys()
    for name, weight in found.items():
        np.testing.assert_array_equal(weight.numpy(), expected[name], err_msg=name)
    assert any((expected[n] != w.numpy()).any() for n, w in weights_of(bundle.load(base).model).items())
    config = read_config(tmp_path / "merged")
    assert config.generation == read_config(base).generation
    card = (tmp_path / "merged" / "README.md").read_text(encoding="utf-8")
    assert "## Merged" in card
    assert "Help pages" in card


def test_an_adapted_model_shares_what_did_not_change(base: Path, adapter: Path) -> None:
    own_bundle, expected = bundle.load(base), by_hand(base, adapter)
    model, other = own_bundle.model, adapted(own_bundle, adapter, read(adapter, base)).model

    own = dict(model.named_parameters())
    for name, weight in other.named_parameters():
        np.testing.assert_array_equal(weight.detach().numpy(), expected[name], err_msg=name)
        changed = f"{name.removesuffix('weight')}lora.up" in load_file(adapter / WEIGHTS)
        assert (weight is own[name]) != changed
    assert other.logits.weight is other.target_embedding.weight  # tied as before


def test_a_quantised_base_takes_the_adapter_of_its_floats(base: Path, adapter: Path, tmp_path: Path) -> None:
    quantise_folder(base, tmp_path / "int8")

    assert read_config(tmp_path / "int8").original == read_config(base).weights
    assert read(adapter, tmp_path / "int8") == read_adapter_config(adapter)
    merge_adapter(tmp_path / "int8", adapter, tmp_path / "merged")
    assert read_config(tmp_path / "merged").quantised is None
    assert read_config(tmp_path / "merged").original is None
    expected = by_hand(tmp_path / "int8", adapter)
    for name, weight in read_weights(tmp_path / "merged" / "model.safetensors").items():
        np.testing.assert_array_equal(weight.numpy(), expected[name], err_msg=name)


def test_an_average_of_quantised_models_is_quantised_from_nothing(base: Path, tmp_path: Path) -> None:
    quantise_folder(base, tmp_path / "int8")

    average_folders([tmp_path / "int8", tmp_path / "int8"], tmp_path / "mean")

    assert read_config(tmp_path / "mean").original is None


def test_a_quantised_base_of_unknown_origin_is_refused(base: Path, adapter: Path, tmp_path: Path) -> None:
    quantise_folder(base, tmp_path / "int8")
    edit(tmp_path / "int8" / "config.json", lambda table: {k: v for k, v in table.items() if k != "original"})

    with pytest.raises(ModelError, match="not an adapter for") as caught:
        read(adapter, tmp_path / "int8")

    assert caught.value.hint is not None
    assert "quantise that model again" in caught.value.hint


def test_a_base_without_a_digest_is_known_by_its_file(base: Path, adapter: Path, tmp_path: Path) -> None:
    without_digest(base)

    assert read(adapter, base) == read_adapter_config(adapter)
    quantise_folder(base, tmp_path / "int8")
    assert read(adapter, tmp_path / "int8") == read_adapter_config(adapter)


def test_another_base_is_refused_with_the_name_of_the_right_one(adapter: Path, tmp_path: Path) -> None:
    other = saved(tmp_path / "other", 2)

    with pytest.raises(ModelError, match=f"{adapter}: not an adapter for {other}") as caught:
        merge_adapter(other, adapter, tmp_path / "merged")

    assert f"base: its weights have the digest {read_adapter_config(adapter).base}" in str(caught.value.hint)
    assert not (tmp_path / "merged").exists()


def test_the_copy_of_a_base_is_the_base(base: Path, adapter: Path, tmp_path: Path) -> None:
    shutil.copytree(base, tmp_path / "copy")

    assert read(adapter, tmp_path / "copy") == read_adapter_config(adapter)


def test_a_model_folder_is_not_an_adapter_and_an_adapter_not_a_model(base: Path, adapter: Path) -> None:
    with pytest.raises(ModelError, match="not an adapter folder") as caught:
        read_adapter_config(base)
    assert caught.value.hint == "this is a model folder; name the one that has adapter.json"
    with pytest.raises(ModelError, match="config.json: missing") as caught:
        read_config(adapter)
    assert "merge it first (dragoman model merge)" in str(caught.value.hint)
    with pytest.raises(ModelError, match="not an adapter folder"):
        read_adapter_config(base / "nowhere")


def change(adapter: Path, edited: Any) -> None:
    """Change the weights of an adapter and give adapter.json their digest."""
    from dragoman.translation.folder.digest import digest_of

    weights = load_file(adapter / WEIGHTS)
    edited(weights)
    save_file(weights, adapter / WEIGHTS)
    edit(adapter / "adapter.json", lambda table: table.update(weights=digest_of(adapter / WEIGHTS)))


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ({"format_version": 2}, "format_version 2, this dragoman reads 1"),
        ({"format_version": True}, "format_version True"),
        ({"base": "sha256:0"}, "base = 'sha256:0' is not a digest"),
        ({"weights": None}, "weights = None is not a digest"),
        ({"name": 7}, r"name = 7 cannot be used \(it must be"),
        ({"target_language": None}, r"target_language = \(not set\) cannot be used \(it must be"),
        ({"shape": {"rank": 0, "alpha": 1.0, "on": ["attention"]}}, "shape.rank = 0"),
        ({"shape": {"rank": 2, "alpha": 1e999, "on": ["attention"]}}, "alpha"),
        ({"shape": {"rank": 2, "alpha": 3.0, "on": ["all"]}}, "on"),
        ({"shape": {"rank": 2, "alpha": 3.0, "of": []}}, "of"),
        ({"shape": {"alpha": 3.0}}, "rank"),
        ({"shape": [1]}, "shape"),
        ({"shape": {"rank": 10**9, "alpha": 3.0}}, "has shape .*, the model needs"),
        ({"shape": {"rank": 2, "alpha": 3.0, "on": ["attention"]}}, "unknown"),
    ],
)
def test_a_damaged_adapter_json_is_refused(base: Path, adapter: Path, table: Any, message: str) -> None:
    edit(adapter / "adapter.json", lambda whole: whole.update(table))

    with pytest.raises(ModelError, match=message):
        read(adapter, base)


@pytest.mark.parametrize("text", ["", "[]", "{", "[" * 100_000, '{"format_version": 1}', "\x00"])
def test_what_is_no_json_object_is_refused(base: Path, adapter: Path, text: str) -> None:
    (adapter / "adapter.json").write_text(text, encoding="utf-8")

    with pytest.raises(ModelError):
        read(adapter, base)


@pytest.mark.parametrize(
    ("edited", "message"),
    [
        (lambda weights: weights.pop(f"{LAYER}.lora.up"), f"missing {LAYER}.lora.up"),
        (lambda weights: weights.update({"x.lora.up": torch.ones(2, 2)}), "unknown x.lora.up"),
        (lambda weights: weights.update({f"{LAYER}.lora.up": torch.ones(24, 3)}), r"has shape \(24, 3\)"),
        (
            lambda weights: weights.update({f"{LAYER}.lora.up": torch.ones(24, 2, dtype=torch.int8)}),
            "holds int8, not floating-point numbers",
        ),
    ],
)
def test_weights_that_do_not_fit_are_refused(base: Path, adapter: Path, edited: Any, message: str) -> None:
    change(adapter, edited)

    with pytest.raises(ModelError, match=message):
        read(adapter, base)
    assert [check.name for check in check_adapter_folder(adapter) if check.status == "fault"] == [
        "names and shapes of weights"
    ]


@pytest.mark.parametrize("damage", ["flip", "cut", "gone", "empty"])
def test_a_damaged_file_of_weights_is_refused(base: Path, adapter: Path, damage: str, tmp_path: Path) -> None:
    path = adapter / WEIGHTS
    data = bytearray(path.read_bytes())
    data[-3] ^= 1
    path.unlink()
    if damage != "gone":
        path.write_bytes({"flip": data, "cut": data[:-100], "empty": b""}[damage])

    with pytest.raises(ModelError, match=WEIGHTS):
        read(adapter, base)
    with pytest.raises(ModelError, match=WEIGHTS):
        merge_adapter(base, adapter, tmp_path / "merged")
    assert not (tmp_path / "merged").exists()
    faults = [check.name for check in check_adapter_folder(adapter) if check.status == "fault"]
    assert "digest of weights" in faults


def test_weights_that_are_not_finite_are_reported_and_not_merged(
    base: Path, adapter: Path, tmp_path: Path
) -> None:
    change(adapter, lambda weights: weights[f"{LAYER}.lora.up"].fill_(torch.inf))

    assert [check.name for check in check_adapter_folder(adapter) if check.status == "fault"] == [
        "values of weights"
    ]
    with pytest.raises(ModelError, match=f"NaN or infinite in {LAYER}.weight"):
        merge_adapter(base, adapter, tmp_path / "merged")
    assert not (tmp_path / "merged").exists()


def test_half_precision_weights_are_adapted_too(base: Path, adapter: Path) -> None:
    change(adapter, lambda weights: weights.update({k: v.bfloat16() for k, v in weights.items()}))
    expected = by_hand(base, adapter)

    other = adapted(bundle.load(base), adapter, read(adapter, base)).model

    for name, weight in other.named_parameters():
        np.testing.assert_array_equal(weight.detach().numpy(), expected[name], err_msg=name)


def test_checks_and_summary(adapter: Path) -> None:
    checks, summary = list(check_adapter_folder(adapter)), adapter_summary_of(adapter)

    assert {check.status for check in checks} == {"ok"}
    assert [check.name for check in checks] == [
        "adapter.json", WEIGHTS, "digest of weights", "names and shapes of weights", "values of weights",
    ]  # fmt: skip
    weights = load_file(adapter / WEIGHTS)
    # One layer each: self-attention, attention to the source, feed-forward networks, two matrices each.
    assert summary.layers == 2 + 2 + 2 + 2 + 2 == len(weights) / 2
    assert summary.parameters == sum(weight.numel() for weight in weights.values())
    assert json.loads(json.dumps(summary.to_table()))["adapter"]["shape"]["rank"] == 2
    assert summary.to_text().startswith(f"{adapter}: Help pages, an adapter for a model")


def test_control_characters_of_a_name_do_not_reach_the_terminal(adapter: Path) -> None:
    edit(adapter / "adapter.json", lambda table: table.update(name="\x1b[31mred", base_name="a\x07b"))

    assert "\x1b" not in adapter_summary_of(adapter).to_text()
    assert "\x07" not in adapter_summary_of(adapter).to_text()
