"""The engine of several translators together, and whether they fit each other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Protocol, cast, get_args

from dragoman.base.errors import ConfigError
from dragoman.text.tokenizers.tokenizer import Tokenizer
from dragoman.translation.search.engine import Engine
from dragoman.translation.search.options import Average

if TYPE_CHECKING:
    from dragoman.models.folder.bundle import Bundle
    from dragoman.translation.native.native import NativeEngine


class Member(Protocol):
    """The part of a `Translator` that an ensemble uses."""

    tokenizer: Tokenizer
    engine: Engine
    source_language: str
    target_language: str
    models: int

    @property
    def bundle(self) -> Bundle: ...


def check_members(members: Sequence[Member], average: str) -> None:
    """Raise ConfigError unless the translators can translate together."""
    if not members:
        raise ConfigError("an ensemble needs at least one model", hint="name one or more")
    if average not in get_args(Average):
        raise ConfigError(
            f"average = {average!r} cannot be used", hint=f"use {' or '.join(get_args(Average))}"
        )
    first = members[0]
    own = first.source_language, first.target_language
    for number, other in enumerate(members if len(members) > 1 else (), 1):
        if other.models > 1:
            raise ConfigError(
                f"model {number} is an ensemble of {other.models} models",
                hint="name all models in one ensemble",
            )
        if own != (other.source_language, other.target_language):
            raise ConfigError(
                f"model 1 translates from {own[0]} to {own[1]}, model {number} from "
                f"{other.source_language} to {other.target_language}",
                hint="the models of an ensemble need the same languages",
            )
        if other is not first and not same_tokens(first.tokenizer, other.tokenizer):
            raise ConfigError(
                f"model {number} has another vocabulary than model 1",
                hint="the models of an ensemble need the same tokenizer: train them with other seeds on the "
                "same text",
            )


def engine_of_members(members: Sequence[Member], average: Average) -> Engine:
    """Return an engine that translates with the models of all: native if all are, else PyTorch's."""
    engines = [member.engine for member in members]
    if all(type(engine).__name__ == "NativeEngine" for engine in engines):  # no import needed
        from dragoman.translation.native.native import NativeEngine

        return NativeEngine.ensemble(cast("list[NativeEngine]", engines), average)
    from dragoman.models.ensemble import Ensemble
    from dragoman.models.search.engine import PyTorchEngine

    models = [one.bundle.model for one in members]
    return PyTorchEngine(Ensemble([model.to(models[0].device) for model in models], average))


def same_tokens(one: Tokenizer, other: Tokenizer) -> bool:
    """Whether the tokenizers give the same ids."""
    files = [[side.to_files() for side in each.vocabularies] for each in (one, other)]
    # Sampling is for training alone.
    configs = [replace(each.config, sampling=0.0) for each in (one, other)]
    return one.specials == other.specials and files[0] == files[1] and configs[0] == configs[1]
