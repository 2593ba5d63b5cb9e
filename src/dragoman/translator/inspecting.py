"""Looking into the model of a translator: its PyTorch model, and which options a trace uses."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING

from dragoman.base.errors import ConfigError
from dragoman.decoding.engine import Engine
from dragoman.decoding.options import Decoding
from dragoman.text.tokenizer import Tokenizer

if TYPE_CHECKING:
    from dragoman.folder.bundle import Bundle

# The decoding options that `Translator.inspect` uses.
_INSPECTED = (
    "beam", "length_penalty", "normalization", "stop", "to", "minimum_length", "no_repeat_ngram",
    "max_extra_tokens",
)  # fmt: skip


def bundle_of_engine(engine: Engine, tokenizer: Tokenizer, languages: tuple[str, str]) -> Bundle:
    """The bundle of a PyTorch engine's model. Raises ConfigError for another engine."""
    from dragoman.decoding.pytorch import PyTorchEngine
    from dragoman.folder.bundle import Bundle

    if not isinstance(engine, PyTorchEngine):
        raise ConfigError(
            f"{type(engine).__name__}: has no PyTorch model to look into",
            hint="load the model folder with Translator.load",
        )
    return Bundle(
        model=engine.model, tokenizer=tokenizer, source_language=languages[0], target_language=languages[1]
    )


def check_inspection(decoding: Decoding, target: str | None, prefix: str) -> None:
    """Raise ConfigError for options that a trace does not use, or not of a given `target`."""
    changed = [one.name for one in fields(decoding) if getattr(decoding, one.name) != one.default]
    if unused := [name for name in changed if name not in _INSPECTED]:
        raise ConfigError(
            f"inspection does not use {', '.join(unused)}", hint=f"it uses {', '.join(_INSPECTED)}"
        )
    searched = decoding != Decoding(
        length_penalty=decoding.length_penalty, normalization=decoding.normalization, to=decoding.to
    )
    if target is not None and (searched or prefix.strip()):
        raise ConfigError("a given translation and options of a search", hint="leave out one or the other")
