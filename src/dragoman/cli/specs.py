"""The models of `dragoman serve` with their adapters and lists of terms, as a command line names them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from dragoman.base.errors import ConfigError, DataError

if TYPE_CHECKING:
    from dragoman.serving.service.service import ModelSpec


def model_specs(models: Sequence[str], terms: Sequence[str], adapters: Sequence[str]) -> list[ModelSpec]:
    """What is to be served. Raises ConfigError or DataError for what can be seen before a model is loaded."""
    from dragoman.serving.service.service import ModelSpec

    found = [name_and_path(model, suffix=True) for model in models]
    names = [name for name, _ in found]
    twice = {name for name in names if names.count(name) > 1}
    if twice:
        raise ConfigError(
            f"two models with the name {min(twice)}", hint="give each its own: NAME=FOLDER NAME=FOLDER"
        )
    lists, folders = _by_model("--terms", terms, names), _by_model("--adapter", adapters, names)
    return [
        ModelSpec(folder=path, name=name, terms=lists.get(name, {}), adapters=folders.get(name, {}))
        for name, path in found
    ]


def name_and_path(text: str, *, suffix: bool = False) -> tuple[str, Path]:
    """NAME=PATH, or a path, whose last part is the name, with or without its suffix."""
    name, equals, path = text.partition("=")
    if equals and name and path and "/" not in name:
        return name, Path(path)
    place = Path(text).absolute()
    return (place.name if suffix else place.stem) or text, Path(text)


def _by_model(option: str, texts: Sequence[str], models: Sequence[str]) -> dict[str, dict[str, Path]]:
    """The files of an option by their names, by the names of their models."""
    found: dict[str, dict[str, Path]] = {}
    for text in texts:
        model, colon, rest = text.partition(":")
        if not colon or model not in models:
            model, rest = models[0], text
            if len(models) > 1:
                raise ConfigError(
                    f"{option} {text}: for which model?", hint=f"write {option} {models[0]}:{text}"
                )
        name, path = name_and_path(rest)
        if not path.exists():
            raise DataError(f"{path}: no such file", hint="check the path")
        if name in found.setdefault(model, {}):
            raise ConfigError(f"{option}: the name {name} twice", hint=f"write {option} NAME={path}")
        found[model][name] = path
    return found
