"""What the size of a memory decides."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from dragoman.models.shapes import TransformerConfig
from dragoman.text.tokenizers.tokenizer import TokenizerConfig
from dragoman.training.runs.tuning.recipe import replay_share, training_options, tuned_recipe
from dragoman.translation.folder.config import FolderConfig


def test_more_text_is_more_updates_and_larger_batches() -> None:
    small, large = (training_options(n, n * 60, d_model=256) for n in (500, 20_000))

    assert small["max_updates"] < large["max_updates"]
    assert small["batch_tokens"] < large["batch_tokens"]


def test_replayed_text_does_not_take_the_place_of_the_memory() -> None:
    """The passes through the memory stay, so half as much again is twice the updates."""
    alone = training_options(2000, 120_000, d_model=256)
    both = training_options(2000, 120_000, d_model=256, replayed=0.5)

    assert both["max_updates"] == pytest.approx(2 * alone["max_updates"], abs=1)


def test_ten_pairs_and_ten_million_have_limits() -> None:
    assert training_options(10, 400, d_model=256)["max_updates"] >= 10
    assert training_options(10_000_000, 600_000_000, d_model=256)["max_updates"] <= 4000


def test_wider_models_learn_slower() -> None:
    rates = [training_options(2000, 1000, d_model=width)["learning_rate"] for width in (128, 256, 1024)]

    assert rates[0] == rates[1] == pytest.approx(4 * rates[2])


@pytest.mark.parametrize(
    ("extended", "own", "optimizer", "rate", "batch"),
    [
        (None, {}, "adam", 0.0007, 4096),
        ((20, 20), {}, "muon", 0.0028, 2048),
        ((20, 20), {"training": {"optimizer": "adam"}}, "adam", 0.0028, 2048),
        ((20, 20), {"tuning": {"lora_rank": 4}}, "adam", 0.0028, 4096),
        (None, {"tuning": {"lora_rank": 4}}, "adam", 0.0028, 4096),
    ],
)
def test_a_new_language_is_learnt_faster(
    extended: tuple[int, int] | None, own: dict[str, Any], optimizer: str, rate: float, batch: int
) -> None:
    shape = TransformerConfig(source_vocab=30, target_vocab=30, d_model=16, d_ff=16, heads=2)
    config = FolderConfig(model=shape, source_language="en", target_language="de", extended=extended)
    base = SimpleNamespace(config=config, digest="", tokenizer=SimpleNamespace(config=TokenizerConfig()))
    recipe = tuned_recipe(base, own, pairs=5000, letters=200_000)  # type: ignore[arg-type]
    found = recipe.training
    assert (found.optimizer, found.learning_rate, found.batch_tokens) == (optimizer, rate, batch)
    updates = training_options(5000, 200_000, d_model=16)["max_updates"]
    assert found.max_updates * found.batch_tokens == updates * 4096


def test_small_memories_need_more_general_text() -> None:
    shares = [replay_share(pairs) for pairs in (100, 2_000, 20_000, 500_000)]

    assert shares == sorted(shares, reverse=True)
    assert all(0 < share < 1 for share in shares)
