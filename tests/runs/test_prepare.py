"""What is settled before training, and what of it is written."""

from __future__ import annotations

from pathlib import Path

import pytest

from dragoman.base.errors import ConfigError, DataError
from dragoman.runs.folder import RunFolder
from dragoman.runs.prepare import Prepared, prepare
from dragoman.text import toy
from dragoman.training.distributed import World

PAIRS, VALID = toy.pairs(seed=3, count=60), toy.pairs(seed=4, count=8)
WORDS = (
    *("tokenizer.kind=words", "tokenizer.vocab_size=200", "tokenizer.shared=false"),
    *("model.tie=none", "embeddings.source=vectors.vec"),
)


def prepared(
    output: Path,
    *overrides: str,
    valid: list[tuple[str, str]] | None = None,
    root: Path | None = None,
    messages: list[str] | None = None,
) -> Prepared:
    with RunFolder(output) as folder:
        return prepare(
            PAIRS, valid, folder=folder, world=World(0, 1), preset="tiny", recipe=None,
            languages=("en", "de"), overrides=overrides or ("tokenizer.vocab_size=400",), data_root=root,
            say=[].append if messages is None else messages.append,
        )  # fmt: skip


def test_everything_that_training_needs(tmp_path: Path) -> None:
    messages: list[str] = []
    ready = prepared(tmp_path, valid=[*VALID, ("A dog.", "")], messages=messages)

    assert (ready.source_language, ready.target_language) == ("en", "de")
    assert not ready.begun
    assert (len(ready.training), ready.tokenizer.source_size) == (60, 400)
    assert ready.validation is not None
    assert len(ready.validation) == len(VALID)
    assert ready.validation_pairs == tuple(VALID)  # the pair with an empty side counts nowhere
    assert messages[:2] == ["training the tokenizer", "tokenising the text"]


def test_without_validation_text(tmp_path: Path) -> None:
    ready = prepared(tmp_path)

    assert ready.validation is None
    assert ready.validation_pairs == ()


def test_a_run_that_has_begun_keeps_its_tokens(tmp_path: Path) -> None:
    prepared(tmp_path)
    RunFolder(tmp_path).checkpoints.latest.mkdir()
    messages: list[str] = []

    again = prepared(tmp_path, messages=messages)

    assert again.begun
    assert messages == []
    with pytest.raises(DataError, match="validation text is not what this run began with"):
        prepared(tmp_path, valid=VALID)


def test_word_vectors_are_found_beside_the_text_of_the_recipe(tmp_path: Path) -> None:
    (tmp_path / "vectors.vec").write_text("dog 1 2\n")

    ready = prepared(tmp_path / "x", *WORDS, root=tmp_path)

    assert ready.vectors.source == str(tmp_path / "vectors.vec")
    assert ready.recipe.embeddings.source == "vectors.vec"  # as the recipe says, on any machine


def test_word_vectors_that_are_missing_are_reported_before_the_work(tmp_path: Path) -> None:
    messages: list[str] = []

    with pytest.raises(ConfigError, match="vectors.vec: no such file"):
        prepared(tmp_path / "x", *WORDS, messages=messages)

    assert messages == []


@pytest.mark.parametrize("option", ["lora_rank=16", "replay_from=self", "base=sha256:0"])
def test_tuning_options_need_a_model_to_tune(tmp_path: Path, option: str) -> None:
    messages: list[str] = []

    with pytest.raises(ConfigError, match="tuning options, but no model to tune") as caught:
        prepared(tmp_path / "x", f"tuning.{option}", messages=messages)

    assert (caught.value.hint, messages) == ("name one with --from, or leave them out", [])
    assert not (tmp_path / "x").exists()
