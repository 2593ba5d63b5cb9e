"""`--terms`: a list of terms for a translator."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, cast, get_args

from dragoman.base.errors import ConfigError, DataError

if TYPE_CHECKING:
    from dragoman.memory.terms import TermsMode
    from dragoman.translator import Translator


def check_terms(terms: Path | None, mode: str | None) -> None:
    """Raise ConfigError or DataError for what can be seen before the model is loaded, which takes seconds."""
    from dragoman.memory.terms import TermsMode

    if mode is not None and mode not in get_args(TermsMode):
        raise ConfigError(f"--terms-mode {mode}", hint=f"use {' or '.join(get_args(TermsMode))}")
    if mode is not None and terms is None:
        raise ConfigError("--terms-mode without --terms", hint="name a list of terms with --terms")
    if terms is not None and not terms.exists():
        raise DataError(f"{terms}: no such file", hint="check the path")


def with_terms(translator: Translator, terms: Path | None, mode: str | None, to: str | None) -> Translator:
    """The translator with a list of terms into the language `to`, or into its only one; or as it is."""
    from dragoman.memory.terms import TermList

    if terms is None:
        return translator
    table = TermList.read(terms, translator.source_language, to or translator.target_language)
    return translator.using(terms=table, terms_mode=cast("TermsMode | None", mode))
