"""The models that a command names: one, or several that translate together."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, cast

import typer

from dragoman.base.errors import ConfigError

if TYPE_CHECKING:
    from dragoman.decoding.options import Average
    from dragoman.engine.choice import DType
    from dragoman.translator import Translator

AverageOfModels = Annotated[
    str | None,
    typer.Option(
        "--average",
        metavar="log-probabilities|probabilities",
        help="With several models: what is averaged at each step. [default: log-probabilities]",
        show_default=False,
    ),
]


def models_and_text(model: Path, names: Sequence[str] | None) -> tuple[list[Path], list[str]]:
    """MODEL with the model folders right after it, which translate together, and the other names."""
    rest = list(names or ())
    models = [model]
    while rest and all(os.path.isfile(f"{rest[0]}/{name}") for name in ("config.json", "tokenizer.json")):
        models.append(Path(rest.pop(0)))
    return models, rest


def files_of_models(folders: Iterable[Path | None]) -> list[str]:
    """The files of model folders, which no output may replace."""
    return [
        str(file) for folder in folders if folder is not None and folder.is_dir() for file in folder.iterdir()
    ]


def check_models(models: Sequence[Path], average: str | None, adapter: Path | None) -> None:
    """Raise ConfigError for options that do not fit the number of models."""
    if len(models) == 1 and average is not None:
        raise ConfigError(
            "--average with one model", hint="name the other models after it, or leave out --average"
        )
    if len(models) > 1 and adapter is not None:
        raise ConfigError(
            "--adapter with several models",
            hint="merge the adapter first: dragoman model merge",
        )


def load_models(
    models: Sequence[Path], average: str | None, *, dtype: str | None = None, adapter: Path | None = None
) -> Translator:
    """Load a model, or several as an ensemble. Raises ConfigError for models that do not fit each other."""
    from dragoman.translator import Translator

    chosen = cast("DType | None", dtype)
    loaded = [Translator.load(model, dtype=chosen, adapter=adapter) for model in models]
    try:
        return Translator.ensemble(loaded, average=cast("Average", average or "log-probabilities"))
    except ConfigError as error:
        raise ConfigError(f"{', '.join(map(str, models))}: {error}", hint=error.hint) from error
