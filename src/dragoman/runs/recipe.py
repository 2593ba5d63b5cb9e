"""A recipe: everything a training run is made of, as one file or one preset can say it.

Later layers win: the defaults (the paper's base model), a preset, the recipe file, `section.key=value`.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, get_args

from dragoman.base.config import build, override, read_toml
from dragoman.base.errors import ConfigError
from dragoman.decoding.options import Beam
from dragoman.models.shapes import Architecture, TransformerConfig
from dragoman.runs.word_vectors import EmbeddingsConfig
from dragoman.text.corpus import FilterConfig
from dragoman.text.tokenizer import TokenizerConfig
from dragoman.training.options import TrainingConfig

DATA_VARIABLE = "DRAGOMAN_DATA"


@dataclass(frozen=True, kw_only=True)
class DataConfig:
    """Which text. File names are relative to `folder` in the place given by --data or DRAGOMAN_DATA."""

    folder: str = ""
    train: tuple[str, ...] = ()
    valid: tuple[str, ...] = ()
    test: tuple[str, ...] = ()  # for `dragoman evaluate`; training never reads it
    origin: str = ""  # where the public corpus is to be had
    source_language: str | None = None
    target_language: str | None = None
    filter: FilterConfig = FilterConfig()


@dataclass(frozen=True, kw_only=True)
class Expected:
    """What the recipe should reach, and what it costs: prose, with the signature of each score."""

    score: str = ""
    cost: str = ""
    measured: bool = False  # by us; otherwise the score is from the paper it names


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """A training run."""

    title: str = ""
    preset: str | None = None
    seed: int = 1
    data: DataConfig = DataConfig()
    tokenizer: TokenizerConfig = TokenizerConfig()
    model: Architecture = TransformerConfig()
    embeddings: EmbeddingsConfig = EmbeddingsConfig()
    training: TrainingConfig = TrainingConfig()
    generation: Beam = Beam()
    expected: Expected = Expected()

    def __post_init__(self) -> None:
        if not 0 <= self.seed < 2**63:
            raise ConfigError(f"seed = {self.seed}", hint="a whole number from 0, of at most 18 digits")
        self._check_embeddings()
        # Two vocabularies of one size would fit, and mean nothing to each other.
        if self.model.tie == "all" and not self.tokenizer.shared:
            raise ConfigError(
                'model.tie = "all" needs one vocabulary for both sides',
                hint='set tokenizer.shared=true, or model.tie="decoder"',
            )

    def _check_embeddings(self) -> None:
        """Vectors of words need words, and a matrix that is shared cannot be two things."""
        given, tie = self.embeddings, self.model.tie
        if (given.source or given.target) and self.tokenizer.kind != "words":
            raise ConfigError(
                f'embeddings of words, and tokenizer.kind = "{self.tokenizer.kind}"',
                hint='set tokenizer.kind="words", or leave the embeddings out',
            )
        if given.source and given.target and tie == "all":
            raise ConfigError(
                'embeddings for both sides, and model.tie = "all" has one matrix for both',
                hint='set model.tie="decoder", or name one file',
            )
        if given.frozen and not (given.source or given.target):
            raise ConfigError("embeddings.frozen = true without a file", hint="set embeddings.source")
        if given.frozen and (tie == "all" or (given.target and tie == "decoder")):
            raise ConfigError(
                f'embeddings.frozen = true, and model.tie = "{tie}" has the same matrix elsewhere',
                hint='set model.tie="none"',
            )


# What a preset says beyond the defaults. `base` and `big` are table 3 of the paper. `tiny` and `small`
# are for small corpora and small machines: they drop more because they see less, and are pre-norm
# because at a high learning rate they learn many times sooner so: on Multi30k, validation BLEU after 600
# updates of 2,500 tokens was 17.1 with pre-norm (peak 0.004) and 5.4 with post-norm (peak 0.0015).
PRESETS: dict[str, dict[str, Any]] = {
    "tiny": {
        "tokenizer": {"vocab_size": 8000},
        "model": {
            "d_model": 128,
            "d_ff": 256,
            "heads": 4,
            "encoder_layers": 4,
            "decoder_layers": 4,
            "dropout": 0.3,
            "norm": "pre",
        },
        "training": {
            "batch_tokens": 4096,
            "schedule": "inverse-sqrt",
            "learning_rate": 0.005,
            "warmup": 1000,
            "clip": 1.0,
            "max_updates": 10_000,
            "validate_every": 250,
            "patience": 12,
            "average": 8,
        },
    },
    "small": {
        "tokenizer": {"vocab_size": 8000},
        "model": {
            "d_model": 256,
            "d_ff": 1024,
            "heads": 4,
            "encoder_layers": 3,
            "decoder_layers": 3,
            "dropout": 0.2,
            "norm": "pre",
        },
        "training": {
            "batch_tokens": 4096,
            "schedule": "inverse-sqrt",
            "learning_rate": 0.002,
            "warmup": 2000,
            "clip": 1.0,
            "max_updates": 50_000,
            "validate_every": 500,
            "patience": 10,
        },
    },
    "base": {
        "tokenizer": {"vocab_size": 37_000},
        "training": {"batch_tokens": 25_000, "max_updates": 100_000, "validate_every": 1000},
    },
    "big": {
        "tokenizer": {"vocab_size": 37_000},
        "model": {"d_model": 1024, "d_ff": 4096, "heads": 16, "dropout": 0.3},
        "training": {
            "batch_tokens": 25_000,
            "max_updates": 300_000,
            "validate_every": 1000,
            "average": 20,
        },
    },
}


def preset_for(pairs: int) -> str:
    """The preset that suits a corpus of so many pairs: a large model only learns a small corpus by heart."""
    if pairs < 100_000:
        return "tiny"
    return "small" if pairs < 1_000_000 else "base"


def resolve(
    *, preset: str | None = None, recipe: Path | None = None, overrides: Iterable[str] = (), pairs: int = 0
) -> Recipe:
    """The recipe that all layers add up to. With neither preset nor file, `pairs` picks a preset.

    Raises ConfigError.
    """
    said = override(read_toml(recipe) if recipe is not None else {}, overrides)
    name = preset or said.get("preset")
    if name is None and recipe is None:
        name = preset_for(pairs)
    if name is not None and (not isinstance(name, str) or name not in PRESETS):
        raise ConfigError(f"no preset {name!r}", hint=f"choose one of: {', '.join(PRESETS)}")
    table = _merge(_fitting(PRESETS.get(name or "", {}), said), said)
    if name is not None:
        table["preset"] = name
    return build(Recipe, table)


def _fitting(preset: Mapping[str, Any], said: Mapping[str, Any]) -> dict[str, Any]:
    """The preset, without what another architecture than the Transformer has no use for."""
    model = said.get("model")
    architecture = model.get("architecture") if isinstance(model, Mapping) else None
    for kind in get_args(Architecture):
        if kind.architecture == architecture:
            known = {field.name for field in fields(kind)}
            return {**preset, "model": {k: v for k, v in preset.get("model", {}).items() if k in known}}
    return dict(preset)


def find_data(data: DataConfig, root: Path | None, names: Sequence[str]) -> list[Path]:
    """Where the recipe's files are: below `root`, or below $DRAGOMAN_DATA. Raises ConfigError."""
    given = root or (Path(os.environ[DATA_VARIABLE]) if os.environ.get(DATA_VARIABLE) else None)
    origin = f"; the corpus is to be had from {data.origin}" if data.origin else ""
    if given is None:
        raise ConfigError(
            "the recipe names its text, but not where it is on this machine",
            hint=f"pass --data FOLDER or set {DATA_VARIABLE}{origin}",
        )
    for folder in (given / data.folder, given):
        paths = [folder / name for name in names]
        if all(path.exists() for path in paths):
            return paths
    raise ConfigError(
        f"{given}: no {' and '.join(names)} there, nor in {data.folder or 'it'}",
        hint=f"point --data or {DATA_VARIABLE} at the folder that holds them{origin}",
    )


def _merge(under: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    result = {key: _merge(value, {}) if isinstance(value, Mapping) else value for key, value in under.items()}
    for key, value in over.items():
        below = result.get(key)
        result[key] = (
            _merge(below, value) if isinstance(below, Mapping) and isinstance(value, Mapping) else value
        )
    return result
