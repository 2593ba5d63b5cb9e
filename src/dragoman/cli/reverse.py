"""`--reverse`: a model of the other direction, which has a say in which of several translations is best."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from dragoman.base.errors import ModelError

if TYPE_CHECKING:
    from dragoman.translator import Translator


def check_reverse_folder(reverse: Path | None) -> None:
    """Raise ModelError for a folder that is not there, before models are loaded, which takes seconds."""
    if reverse is not None and not reverse.exists():
        raise ModelError(f"{reverse}: no such model folder", hint="check the path after --reverse")


def with_reverse(translator: Translator, reverse: Path | None) -> Translator:
    """The translator with a reverse model, or as it is. Raises ConfigError for other languages."""
    from dragoman.translator import Translator

    return translator if reverse is None else translator.using(reverse=Translator.load(reverse))
