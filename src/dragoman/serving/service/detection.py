"""Which language a text is in, of those that are served."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Protocol, cast

from dragoman.base.errors import ConfigError
from dragoman.base.languages import canonical
from dragoman.serving.service.ask import Guess

_READ = 1000  # characters; more say no more


class _Identifier(Protocol):
    def rank(self, text: str) -> list[tuple[str, float]]: ...


def detect_language(text: str, among: Sequence[str], default: str) -> list[Guess]:
    """Return the languages that a text may be in, the likeliest first.

    Confidences are from 0 to 1, and sum to 1 over the languages `among` that the detector knows. A text
    without letters is `default` with confidence 0. Raises ConfigError if py3langid is needed and not
    installed.
    """
    if not any(char.isalpha() for char in text):
        return [Guess(default, 0.0)]
    if len(among) == 1:
        return [Guess(among[0], 1.0)]
    found = {canonical(code): value for code, value in _identifier().rank(text[:_READ])}
    # Variants of one language cannot be told apart: the first stands for all.
    values: dict[str, tuple[str, float]] = {}
    for one in among:
        language = one.partition("-")[0]
        if language in found:
            values.setdefault(language, (one, found[language]))
    total = sum(value for _, value in values.values())
    if not total:
        return [Guess(default, 0.0)]
    guesses = [Guess(one, value / total) for one, value in values.values()]
    return sorted(guesses, key=lambda guess: -guess.confidence)


@cache
def _identifier() -> _Identifier:
    """The detector, for all languages that it knows. Threads may share it."""
    try:
        from py3langid.langid import MODEL_FILE, LanguageIdentifier
    except ImportError:
        raise ConfigError(
            "detecting a language needs py3langid",
            hint='install it: pip install "dragoman[serve]"; or name the source language',
        ) from None
    return cast("_Identifier", LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True))
