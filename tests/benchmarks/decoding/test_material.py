"""The material of a contest: lines that differ, models that every program reads, lengths and operations."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from decoding import material
from decoding.contenders import choose_translators, prepared
from tests.interop.memorised import SOURCES, random_bundle, tokenizer

from dragoman.base.errors import ConfigError, DataError
from dragoman.models.operations import translation
from dragoman.models.shapes import ConvolutionalConfig


def test_lines_are_varied_until_there_are_enough() -> None:
    lines = material.varied([*SOURCES, "", SOURCES[0]], 500)

    assert lines[: len(SOURCES)] == SOURCES
    assert len(set(lines)) == len(lines) == 500
    assert lines == material.varied(SOURCES, 500)
    words = {word for line in SOURCES for word in line.split()}
    lengths = {len(line.split()) for line in SOURCES}
    assert all(set(line.split()) <= words and len(line.split()) in lengths for line in lines)
    assert material.varied(SOURCES, 3) == SOURCES[:3]


@pytest.mark.parametrize(("lines", "message"), [([""], "without lines"), (["a b"], "too few words for 50")])
def test_a_text_that_is_too_small(lines: list[str], message: str) -> None:
    with pytest.raises(DataError, match=message):
        material.varied(lines, 50)


def test_what_is_written(tmp_path: Path) -> None:
    """The sentences are the tokenizer's ids. A format that cannot hold the model is missing."""
    bundle = random_bundle(tokenizer(), positions="alibi")
    made = material.make_material(
        tmp_path, bundle, SOURCES, {"dragoman", "int8", "ctranslate2"}, title="toy", forced=False
    )
    sources = bundle.tokenizer.encode_source(SOURCES)

    assert json.loads((tmp_path / "sentences.json").read_text()) == sources
    assert (tmp_path / "lines.txt").read_text(encoding="utf-8").splitlines() == SOURCES
    assert made.lengths == tuple(map(len, sources))
    assert (made.limit, made.extra) == (max(made.lengths) + 50, 50)
    assert set(made.missing) == {"ctranslate2"}
    assert "ALiBi" in made.missing["ctranslate2"]
    assert (tmp_path / "int8" / "model.safetensors").stat().st_size < (
        tmp_path / "dragoman" / "model.safetensors"
    ).stat().st_size


def test_operations_are_those_of_the_lengths() -> None:
    bundle = random_bundle(tokenizer())
    one = material.Material(
        folder=Path(), title="", shape=bundle.model.config, lengths=(3, 5), limit=16, forced=False
    )
    shape = bundle.model.config
    other = material.Material(
        folder=Path(), title="", shape=ConvolutionalConfig(), lengths=(3,), limit=16, forced=True
    )

    # Both sides have an end token, which takes a step.
    assert one.operations([4, 6], 2) == (translation(shape, 4, 5, 2) + translation(shape, 6, 7, 2)) / 2  # type: ignore[arg-type]
    assert one.operations([], 2) is None
    assert other.operations([4], 1) is None


def test_a_random_model_has_the_preset_s_sizes_and_a_full_vocabulary() -> None:
    one, other = (material.random_bundle("tiny", ["A line of its own."]) for _ in range(2))
    config = one.model.config

    assert (config.d_model, config.decoder_layers, config.norm) == (128, 4, "post")
    assert config.target_vocab == one.tokenizer.target_size == material.VOCABULARY
    assert all(
        bool((a == b).all()) for a, b in zip(one.model.parameters(), other.model.parameters(), strict=True)
    )


def test_a_model_and_a_preset_exclude_each_other() -> None:
    with (
        pytest.raises(ConfigError, match="--model together with --preset"),
        prepared(choose_translators(["dragoman"]), model="x", preset="tiny", text=None, lines=1, threads=1),
    ):
        pass
