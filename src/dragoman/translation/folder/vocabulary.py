"""The tokenizer in a model folder. Imports no torch."""

from __future__ import annotations

from pathlib import Path

from dragoman.base.errors import ModelError
from dragoman.text.tokenizers.tokenizer import Tokenizer
from dragoman.translation.folder.config import FolderConfig, banned_outside


def tokenizer_of_folder(folder: Path, config: FolderConfig) -> Tokenizer:
    """Return the tokenizer of a model folder.

    Raises ModelError if a file is missing or damaged, or if its vocabularies do not fit the model.
    """
    shape, tokenizer = config.model, Tokenizer.load(folder)
    if (tokenizer.source_size, tokenizer.target_size) != (shape.source_vocab, shape.target_vocab):
        raise ModelError(
            f"{folder}: the tokenizer has {tokenizer.source_size} and {tokenizer.target_size} tokens, "
            f"the model {shape.source_vocab} and {shape.target_vocab}",
            hint="these files do not belong together",
        )
    if outside := banned_outside(config):
        raise ModelError(
            f"{folder}/generation.json: bans id {outside[0]} in a vocabulary of {shape.target_vocab}",
            hint="these files do not belong together",
        )
    return tokenizer
