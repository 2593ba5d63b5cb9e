"""A small model folder for tests."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

from dragoman.models.folder import bundle
from dragoman.models.folder.bundle import Bundle
from dragoman.models.seq2seq import build_model
from dragoman.models.shapes import TransformerConfig
from dragoman.text.tokenizers.tokenizer import Tokenizer, TokenizerConfig
from dragoman.translation.search.options import Beam

PAIRS = [("the moon is pale", "pale the moon is"), ("old stones", "stones old")]


def small(seed: int = 0, *, generation: Beam | None = None, **changes: Any) -> Bundle:
    """A Transformer with random weights and a vocabulary of ten words."""
    tokenizer = Tokenizer.train(PAIRS, TokenizerConfig(kind="words", vocab_size=10))
    shape: dict[str, Any] = {"d_model": 8, "d_ff": 12, "heads": 2, "encoder_layers": 1, "decoder_layers": 1}
    torch.manual_seed(seed)
    config = TransformerConfig(
        source_vocab=tokenizer.source_size, target_vocab=tokenizer.target_size, **(shape | changes)
    )
    return Bundle(
        model=build_model(config),
        tokenizer=tokenizer,
        source_language="en",
        target_language="yo",
        generation=generation or Beam(size=7, length_penalty=1.5, normalization="power", n_best=2),
    )


def saved(folder: Path, seed: int = 0, **changes: Any) -> Path:
    """The folder, with a small model in it."""
    bundle.save(small(seed, **changes), folder)
    return folder


def edit(path: Path, change: Callable[[dict[str, Any]], Any]) -> None:
    """Change the JSON object in a file; `change` returns a new one, or None if it changed its argument."""
    (path.parent / "digests.json").unlink(missing_ok=True)  # changed on purpose
    table = json.loads(path.read_text(encoding="utf-8"))
    changed = change(table)
    path.write_text(json.dumps(table if changed is None else changed), encoding="utf-8")


def without_digest(folder: Path) -> None:
    """Make the folder like one of release 0.1, so that changed weights are loaded."""
    edit(folder / "config.json", lambda table: {k: v for k, v in table.items() if k != "weights"})
