"""The model folder: everything that translating needs, in open formats.

    config.json         format_version, architecture and shape, languages, digest of the weights
    model.safetensors   weights
    tokenizer.json ...  the tokenizer's files
    generation.json     the default options of the search
    digests.json        digests of the small files

Nothing is pickled. Training adds its recipe, metrics, checkpoints and a model card.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import torch
from torch import Tensor

from dragoman.base.errors import ConfigError, ModelError
from dragoman.models.folder.weights import put_weights, read_weights, weights_of, writing_weights
from dragoman.models.lora import lora_weights
from dragoman.models.seq2seq import AnySeq2Seq, build_model
from dragoman.models.shapes import Architecture
from dragoman.text.tokenizers.tokenizer import Tokenizer
from dragoman.translation.folder.config import (
    DIGESTS,
    RISK,
    WEIGHTS,
    FolderConfig,
    check_digests,
    read_config,
    write_config,
    write_digests,
)
from dragoman.translation.folder.digest import check_digest, digest_of
from dragoman.translation.folder.header import Outline, read_header
from dragoman.translation.folder.quantised import dequantised
from dragoman.translation.folder.vocabulary import tokenizer_of_folder
from dragoman.translation.search.options import AttentionOf, Beam

_SHARED = ("source_language", "target_language", "directions", "generation", "alignment", "guidance")


@dataclass(frozen=True, kw_only=True)
class Bundle:
    """A model with its tokenizer: the content of a model folder."""

    model: AnySeq2Seq
    tokenizer: Tokenizer
    source_language: str
    target_language: str
    directions: tuple[tuple[str, str], ...] = ()  # the pairs that a model of several was trained on
    generation: Beam = Beam()
    alignment: AttentionOf | None = None  # the head of the decoder that was trained to align
    guidance: tuple[str, ...] = ()  # what it was trained to read with a line: "terms", "matches"

    @property
    def several(self) -> bool:
        """Whether texts have to say their languages, because it has several."""
        return self.config.several or bool(self.tokenizer.languages)

    @classmethod
    def of(cls, model: AnySeq2Seq, tokenizer: Tokenizer, config: FolderConfig) -> Bundle:
        """The bundle of a model with the languages and the search of this configuration."""
        return cls(
            model=model.eval(), tokenizer=tokenizer, **{name: getattr(config, name) for name in _SHARED}
        )

    @property
    def config(self) -> FolderConfig:
        """The contents of config.json and generation.json."""
        return FolderConfig(model=self.model.config, **{name: getattr(self, name) for name in _SHARED})


def save(bundle: Bundle, folder: Path) -> None:
    """Write the bundle's files into `folder`, the weights last.

    Raises ConfigError if the model has an adapter, which a model folder cannot hold.
    """
    if lora_weights(bundle.model):
        raise ConfigError(
            f"{folder}: the model has an adapter", hint="merge_lora or write_adapter comes first"
        )
    write_folder(bundle.config, bundle.tokenizer, weights_of(bundle.model), folder)


def write_folder(
    config: FolderConfig, tokenizer: Tokenizer, weights: Mapping[str, Tensor], folder: Path
) -> None:
    """Write the files of a model into `folder`, with the digest of the weights in config.json.

    config.json comes first and the weights come last. Until they are in place, config.json has the digest of
    a missing file, so a folder whose writing was interrupted is refused. A risk model for other
    weights is removed.
    """
    with writing_weights(folder / WEIGHTS, weights) as part:
        for name in (RISK, DIGESTS):
            (folder / name).unlink(missing_ok=True)
        write_config(replace(config, weights=digest_of(part)), folder)
        tokenizer.save(folder)
        write_digests(folder, ("config.json", "generation.json", "tokenizer.json"))


def load(folder: Path) -> Bundle:
    """Return the bundle in `folder`, its model in evaluation mode. A quantised model becomes float32.

    Raises ModelError if a file is missing, damaged or of a newer format.
    """
    folder = Path(folder)
    config = read_config(folder)
    shape, tokenizer = config.model, tokenizer_of_folder(folder, config)
    path = folder / WEIGHTS
    model = new_model(shape, dequantised(read_header(path), path), path)
    try:
        weights = read_weights(path)
    except ModelError:
        check_digest(path, config.weights)  # the same error with every engine
        raise
    put_weights(model, weights, path)
    check_digest(path, config.weights)
    check_digests(folder)
    return Bundle.of(model, tokenizer, config)


def new_model(shape: Architecture, header: Mapping[str, Outline], path: Path) -> AnySeq2Seq:
    """Return a model for the weights in the file at `path` with this header. Keeps the random state.

    Raises ModelError if the file has fewer numbers than such a model needs at least, before memory is taken
    for it: config.json may say anything.
    """
    layers = sum(getattr(shape, name, 0) for name in ("layers", "encoder_layers", "decoder_layers"))
    widest = max(shape.d_model, getattr(shape, "d_ff", 0), shape.d_model * getattr(shape, "kernel", 0))
    least = shape.d_model * (shape.target_vocab + layers * widest)
    numbers = sum(outline.count for outline in header.values())
    if least > numbers:
        raise ModelError(
            f"{path}: weights do not fit: {numbers:,} numbers, and a model of the shape in config.json has "
            f"{least:,} or more",
            hint="these files do not belong together",
        )
    with torch.random.fork_rng(devices=[]):  # building draws weights
        return build_model(shape)
