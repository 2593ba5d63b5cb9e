"""The summary of a model folder: the same numbers as the model's, without loading it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.translation.folder.models import edit, saved, small

from dragoman.base.errors import ModelError
from dragoman.models.folder import bundle
from dragoman.models.seq2seq import build_model
from dragoman.models.shapes import Architecture, ConvolutionalConfig, RecurrentConfig, TransformerConfig
from dragoman.translation.folder.summary import describe_shape, summary_of

SAVED = Path(__file__).parents[2] / "saved" / "0.1"
VOCABULARY: dict[str, Any] = {"source_vocab": 10, "target_vocab": 10, "d_model": 8}


@pytest.mark.parametrize(
    "config",
    [
        TransformerConfig(**VOCABULARY, d_ff=8, heads=2, norm="pre", positions="learned"),
        TransformerConfig(**VOCABULARY, d_ff=8, heads=2, tie="decoder", output_bias=True),
        TransformerConfig(**VOCABULARY, d_ff=8, heads=2, tie="none", positions="relative"),
        RecurrentConfig(**VOCABULARY, attention="additive"),
        ConvolutionalConfig(**VOCABULARY),
    ],
    ids=["pre", "decoder tied", "nothing tied", "recurrent", "convolutional"],
)
def test_every_parameter_belongs_to_one_part(config: Architecture, tmp_path: Path) -> None:
    model = build_model(config)
    bundle.save(replace(small(), model=model), tmp_path)

    summary = summary_of(tmp_path)

    parts = {part.name: part.parameters for part in summary.parts}
    assert "other" not in parts
    assert sum(parts.values()) == summary.parameters == sum(p.numel() for p in model.parameters())
    assert parts["target embedding"] == 10 * 8
    assert parts.get("source embedding", 0) == (0 if config.tie == "all" else 10 * 8)
    assert parts.get("output", 0) == {"all": 0, "decoder": 10, "none": 10 * 8}[config.tie]
    tied = next(part for part in summary.parts if part.name == "target embedding").tied
    assert tied == {"all": ("source embedding", "output"), "decoder": ("output",), "none": ()}[config.tie]
    layers = sum(p.numel() for name, p in model.named_parameters() if name.startswith("encoder"))
    assert parts["encoder"] == layers


def test_all_facts_of_a_trained_model() -> None:
    table = summary_of(SAVED / "window").to_table()

    assert table["format_version"] == 1
    assert (table["source_language"], table["target_language"]) == ("en", "de")
    assert table["model"]["window"] == 4
    assert table["tokenizer"] == {
        "kind": "words", "shared": False, "source_size": 200, "target_size": 200, "target_languages": [],
    }  # fmt: skip
    assert table["special_ids"] == {"pad": 0, "start": 1, "end": 2, "unknown": 3}
    assert table["generation"]["size"] == 4
    size = (SAVED / "window" / "model.safetensors").stat().st_size
    assert table["weights"] == {"digest": None, "tensors": 76, "dtypes": ["float32"], "bytes": size}
    assert table["files"]["model.safetensors"] == size
    assert ["validation BLEU, greedy", "0.05"] in table["card"]["Training"]
    assert table["card"]["Text"][1][:2] == ["training", "300"]


def test_the_text_has_the_facts(tmp_path: Path) -> None:
    folder = saved(tmp_path / "model")
    (folder / "checkpoints").mkdir()
    (folder / "checkpoints" / "latest").write_bytes(bytes(1234))
    digest = summary_of(folder).config.weights

    text = summary_of(folder).to_text()

    assert digest is not None
    for fact in (
        "translates from en to yo", "transformer", "d_model 8", "words, one vocabulary of 10", "pad 0",
        "size 7, length_penalty 1.5, normalization power", "of float32", digest,
        "target embedding (tied: also source embedding and output)", "checkpoints/",  "1,234",
    ):  # fmt: skip
        assert fact in text, fact


def test_what_is_off_is_not_part_of_the_shape() -> None:
    assert describe_shape(TransformerConfig(dropout=0.1)) == [
        "d_model 512", "dropout 0.1", "tie all", "d_ff 2048", "heads 8", "encoder_layers 6",
        "decoder_layers 6", "norm post", "activation relu", "positions sinusoidal",
    ]  # fmt: skip
    assert "final_norm False" in describe_shape(TransformerConfig(norm="pre", final_norm=False))


@pytest.mark.parametrize("name", ["config.json", "generation.json", "model.safetensors", "tokenizer.json"])
def test_a_missing_file_is_an_error(name: str, tmp_path: Path) -> None:
    folder = saved(tmp_path / "model")
    (folder / name).unlink()

    with pytest.raises(ModelError, match=name):
        summary_of(folder)


def test_a_folder_still_in_training_says_so() -> None:
    with pytest.raises(ModelError) as caught:
        summary_of(SAVED / "half-done")

    assert "training has not finished here" in caught.value.hint


def test_control_characters_do_not_reach_the_terminal(tmp_path: Path) -> None:
    folder = saved(tmp_path / "model")
    edit(folder / "config.json", lambda table: table.update(source_language="\x1b[31m"))
    (folder / "README.md").write_text("# a\n| \x1b[2J | b |\n", encoding="utf-8")

    assert "\x1b" not in summary_of(folder).to_text()


def test_a_card_that_is_no_text_is_ignored(tmp_path: Path) -> None:
    folder = saved(tmp_path / "model")
    (folder / "README.md").write_bytes(b"\xff\xfe| a | b |")

    assert summary_of(folder).card == {}
