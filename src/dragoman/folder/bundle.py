"""The model folder: all that translating needs, in open formats.

    config.json         format_version, architecture and shape, languages
    model.safetensors   weights
    tokenizer.json ...  the tokenizer's files
    generation.json     the default options of the search

Nothing is pickled. Training adds its recipe, metrics, checkpoints and a model card.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import torch

from dragoman.base.errors import ModelError
from dragoman.decoding.options import Beam
from dragoman.folder.config import FolderConfig, read_config, write_config
from dragoman.folder.weights import put_weights, read_weights, weights_of, write_weights
from dragoman.models.seq2seq import AnySeq2Seq, build_model
from dragoman.text.tokenizer import Tokenizer


@dataclass(frozen=True, kw_only=True)
class Bundle:
    """A model with its tokenizer: what a model folder holds."""

    model: AnySeq2Seq
    tokenizer: Tokenizer
    source_language: str
    target_language: str
    generation: Beam = Beam()

    @property
    def config(self) -> FolderConfig:
        """The contents of config.json and generation.json."""
        return FolderConfig(
            model=self.model.config,
            source_language=self.source_language,
            target_language=self.target_language,
            generation=self.generation,
        )


def save(bundle: Bundle, folder: Path) -> None:
    """Write the bundle's files into `folder`, the weights last."""
    bundle.tokenizer.save(folder)
    write_config(bundle.config, folder)
    write_weights(folder / "model.safetensors", weights_of(bundle.model))


def load(folder: Path) -> Bundle:
    """Return the bundle in `folder`, its model in evaluation mode.

    Raises ModelError if a file is missing, damaged or of a newer format.
    """
    folder = Path(folder)
    config = read_config(folder)
    shape, tokenizer = config.model, Tokenizer.load(folder)
    if (tokenizer.source_size, tokenizer.target_size) != (shape.source_vocab, shape.target_vocab):
        raise ModelError(
            f"{folder}: the tokenizer has {tokenizer.source_size} and {tokenizer.target_size} tokens, "
            f"the model {shape.source_vocab} and {shape.target_vocab}",
            hint="these files do not belong together",
        )
    with torch.random.fork_rng(devices=[]):  # building draws weights; keep the caller's generator as it is
        model = build_model(shape)
    weights = folder / "model.safetensors"
    put_weights(model, read_weights(weights), weights)
    return Bundle(
        model=model.eval(),
        tokenizer=tokenizer,
        source_language=config.source_language,
        target_language=config.target_language,
        generation=config.generation,
    )
