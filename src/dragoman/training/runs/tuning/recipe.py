"""The recipe of a tuning run: the shape of the base, and training options by the size of the memory."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from dragoman.base.config import from_table, to_table
from dragoman.base.errors import ConfigError
from dragoman.base.tables import listing
from dragoman.models.shapes import TransformerOptions
from dragoman.training.options import TrainingConfig
from dragoman.training.runs.recipe import Recipe, merge_tables
from dragoman.training.runs.tuning.base import Base

MINUTES = 12  # of training; the whole run takes about three more
_LETTERS_OF_A_TOKEN = 3.5  # about, for subwords of European languages
_MOST_UPDATES = 4000
_PADDED = 1.1  # batches are about this much larger than their text
# Pairs below which the row holds: tokens of a batch, passes through the memory, share of general text.
_BY_SIZE = (
    (1_000, 1024, 10, 0.75),
    (10_000, 4096, 8, 0.75),
    (50_000, 4096, 4, 0.5),
    (math.inf, 4096, 3, 0.25),
)
_LEAST_DROPOUT = 0.1
_ALIGNMENT_WEIGHT = 0.05  # of Garg et al. 2019
_FASTER = 4  # times: how much faster adapters and new languages are learnt
_READ = {"terms": 0.3, "matches": 0.5, "context": 0.5, "formality": 0.3}  # shares of the pairs
_PEAK, _WIDTH = 0.0007, 256  # learning rate of a model of this width; wider ones need less


def check_own(own: Mapping[str, Any], preset: str | None) -> None:
    """Raise ConfigError for options that the base determines. Dropout does not change the model."""
    model = own.get("model")
    model = model if isinstance(model, Mapping) else {}
    names = [f"model.{name}" for name in model if not name.endswith("dropout")]
    names += [name for name in ("tokenizer", "preset") if name in own]
    names += ["--preset"] if preset is not None else []
    if "teacher" in own:
        raise ConfigError(
            "teachers and a model to tune", hint="leave out [teacher], or train a new model: dragoman distil"
        )
    training, tuning = own.get("training"), own.get("tuning")
    if isinstance(training, Mapping) and training.get("zero_start"):
        names.append("training.zero_start")
    if isinstance(tuning, Mapping) and "base" in tuning:
        names.append("tuning.base")
    if names:
        raise ConfigError(
            f"the base determines {listing(names)}",
            hint="leave these options out; the model is tuned as it is, with its vocabulary",
        )


def tuned_recipe(
    base: Base, own: Mapping[str, Any], *, pairs: int, letters: int, replayed: float = 0.0
) -> Recipe:
    """Return the recipe of a run on a memory of `pairs` pairs with `letters` characters a side.

    `replayed` is the share of general text among the pairs of an epoch. `own` are the options of the user;
    they win. Raises ConfigError if they are invalid.
    """
    config = base.config
    training = training_options(pairs, letters, d_model=config.model.d_model, replayed=replayed)
    own_training, own_tuning = own.get("training"), own.get("tuning")
    adapters = isinstance(own_tuning, Mapping) and bool(own_tuning.get("lora_rank"))
    if adapters or config.extended:
        training["learning_rate"] *= _FASTER
    if config.extended and not adapters:  # a language is more to learn than a style
        updates, batch = 2 * training["max_updates"], training["batch_tokens"] // 2
        training |= {"optimizer": "muon", "max_updates": updates, "batch_tokens": batch}
    if isinstance(own_training, Mapping) and own_training.get("schedule") == "paper":
        del training["learning_rate"]  # the schedule has its own
    if _trains_its_head(base):
        training["alignment_weight"] = _ALIGNMENT_WEIGHT
    table: dict[str, Any] = {
        # A converted model may have no dropout.
        "model": to_table(config.model) | {"dropout": max(config.model.dropout, _LEAST_DROPOUT)},
        "tokenizer": to_table(base.tokenizer.config),
        "generation": to_table(config.generation),
        "training": training,
        "tuning": {"base": base.digest},
        # A model that reads terms and matches forgets how, unless it keeps doing so.
        "data": {name: share for name, share in _READ.items() if name in config.guidance},
    }
    if "context target" in config.guidance:
        table["data"]["context_sides"] = "both"
    recipe = from_table(Recipe, merge_tables(table, own))
    if config.extended and recipe.tuning.lora_rank and recipe.training.parallel == "sharded":
        raise ConfigError(
            'an adapter for new languages needs all rows in each process, but training.parallel = "sharded"',
            hint="set training.parallel=replicated",
        )
    return recipe


def training_options(pairs: int, letters: int, *, d_model: int, replayed: float = 0.0) -> dict[str, Any]:
    """Return options for a memory of this size: a few passes, within MINUTES.

    The learning rate falls to zero. Weights that move until the end lose more of what the base knew.
    """
    _, batch, passes, _ = _row(pairs)
    tokens = (letters / _LETTERS_OF_A_TOKEN + pairs) / (1 - replayed)
    updates = max(10, min(math.ceil(_PADDED * tokens * passes / batch), _MOST_UPDATES))
    return {
        "batch_tokens": batch,
        "max_updates": updates,
        "max_minutes": float(MINUTES),
        "schedule": "cosine",
        "learning_rate": round(_PEAK * min(1.0, _WIDTH / d_model), 6),
        "warmup": max(1, updates // 20),
        "clip": 1.0,
        "validate_every": max(1, min(updates // 12, 250)),
        "patience": 4,
        "average": 3,
        "log_every": max(1, min(updates // 50, 20)),
    }


def replay_share(pairs: int) -> float:
    """The share of general text for a memory of this size. A small one repeats itself more."""
    return _row(pairs)[3]


def _row(pairs: int) -> tuple[float, int, int, float]:
    return next(row for row in _BY_SIZE if pairs < row[0])


def _trains_its_head(base: Base) -> bool:
    """Whether `training.alignment_weight` would further train the head of the base that aligns words."""
    model, head = base.config.model, base.config.alignment
    if head is None or not isinstance(model, TransformerOptions) or model.heads < 2:
        return False
    return TrainingConfig(alignment_weight=_ALIGNMENT_WEIGHT).aligning(model) == head
