"""Training options: what they default to, what they refuse, which schedule they follow."""

from __future__ import annotations

import math
from typing import Any, cast

import pytest

from dragoman.base.config import from_table, to_table
from dragoman.base.errors import ConfigError
from dragoman.training.options import TrainingConfig
from dragoman.training.step import schedule


def test_the_defaults_are_the_paper_s() -> None:
    """Sections 5.3 and 5.4."""
    config = TrainingConfig()

    assert (config.betas, config.epsilon) == ((0.9, 0.98), 1e-9)
    assert (config.schedule, config.warmup) == ("paper", 4000)
    assert config.label_smoothing == 0.1
    assert (config.max_updates, config.average) == (100_000, 5)
    assert (config.weight_decay, config.clip) == (0, 0)


@pytest.mark.parametrize(
    "options",
    [
        {"batch_tokens": 0},
        {"accumulate": 0},
        {"max_updates": 0},
        {"max_epochs": 0},
        {"max_minutes": 0.0},
        {"max_minutes": math.inf},
        {"schedule": "inverse-sqrt", "learning_rate": 0.0},
        {"schedule": "inverse-sqrt", "learning_rate": -1e-3},
        {"schedule": "cosine"},
        {"schedule": "inverse-sqrt"},
        {"schedule": "linear", "learning_rate": 1e-3},
        {"learning_rate": 1e-3},
        {"warmup": 0},
        {"betas": (0.9,)},
        {"betas": (0.9, 1.0)},
        {"betas": (-0.1, 0.9)},
        {"epsilon": 0.0},
        {"epsilon": -1e-9},
        {"weight_decay": -0.1},
        {"clip": -1.0},
        {"clip": math.nan},
        {"label_smoothing": 1.0},
        {"label_smoothing": -0.1},
        {"consistency": -1.0},
        {"precision": "fp16"},
        {"stop_on": "ter"},
        {"average_of": "first"},
        {"validate_every": 0},
        {"patience": -1},
        {"average": 0},
        {"log_every": 0},
    ],
    ids=str,
)
def test_what_makes_no_sense_is_an_error(options: dict[str, Any]) -> None:
    with pytest.raises(ConfigError) as caught:
        TrainingConfig(**options)

    assert any(f"training.{name} = " in str(caught.value) for name in (*options, "schedule"))
    assert caught.value.hint


def test_it_goes_to_a_table_and_back() -> None:
    config = TrainingConfig(schedule="cosine", learning_rate=0.001, betas=(0.8, 0.95), max_minutes=2.5)

    assert from_table(TrainingConfig, to_table(config)) == config


@pytest.mark.parametrize("step", [1, 7, 50, 1000])
def test_the_rate_follows_the_schedule(step: int) -> None:
    peak = cast(Any, {"learning_rate": 0.01, "warmup": 50, "max_updates": 500})

    assert TrainingConfig(warmup=50).rate(step, 64) == schedule.paper(step, d_model=64, warmup=50)
    assert TrainingConfig(schedule="inverse-sqrt", **peak).rate(step, 64) == schedule.inverse_sqrt(
        step, peak=0.01, warmup=50
    )
    assert TrainingConfig(schedule="cosine", **peak).rate(step, 64) == schedule.cosine(
        step, peak=0.01, warmup=50, last=500
    )


def test_the_cosine_ends_with_the_time_if_that_is_up_before_the_updates() -> None:
    config = TrainingConfig(
        schedule="cosine", learning_rate=0.01, warmup=1, max_updates=1000, max_minutes=2.0
    )

    assert config.rate(10, 64, seconds=60) == pytest.approx(0.005)
    assert config.rate(10, 64, seconds=120) == 0
    assert config.rate(1000, 64, seconds=1) == 0
