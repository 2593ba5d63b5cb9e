"""Which language a text is in, by py3langid, an optional library."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from threading import Lock
from typing import Any

from dragoman.base.errors import ConfigError
from dragoman.base.languages import canonical, same

_LOADING = Lock()
_LONGEST = 1000  # characters; more say no more
_CLEAR = 0.95  # the probability from which on a text is said to be in another language
_ENOUGH = 20  # letters of such a text
_SPOKEN = {"yue": "zh", "wuu": "zh"}  # what the detector takes short Chinese texts for


def language_probabilities(text: str) -> dict[str, float]:
    """The probability of each language that the detector knows, for the first 1,000 characters.

    Raises ConfigError if py3langid is not installed.
    """
    found: dict[str, float] = {}
    for code, value in _identifier().rank(text[:_LONGEST]):
        found[_ours(code)] = found.get(_ours(code), 0.0) + value
    return found


def probable_language(text: str) -> tuple[str, float]:
    """The likeliest of `language_probabilities`, if one is likely, and its share. Raises ConfigError."""
    code, probability = _identifier().classify(text[:_LONGEST])
    if code not in _SPOKEN and code not in _SPOKEN.values():
        return _ours(code), probability
    found = language_probabilities(text)  # the sum of several
    return max(found.items(), key=lambda one: one[1])


def likeliest(text: str, among: Iterable[str]) -> str:
    """The likeliest of some languages; the first for a text without letters. Raises ConfigError as above."""
    several = list(among)
    if not any(character.isalpha() for character in text):
        return several[0]
    found = language_probabilities(text)
    return max(several, key=lambda one: max((p for code, p in found.items() if same(code, one)), default=-1))


def clearly_other(text: str, expected: str) -> str | None:
    """The language that a text is clearly in, if it is not the expected one.

    None for a short text, for an expected language that the detector does not know, and without py3langid.
    """
    if sum(character.isalpha() for character in text) < _ENOUGH:
        return None
    try:
        best, probability = probable_language(text)
    except ConfigError:
        return None
    return best if probability >= _CLEAR and not same(best, expected) and is_known(expected) else None


@cache
def is_known(language: str) -> bool:
    """Whether the detector knows a language. Raises ConfigError as above."""
    return any(same(code, language) for code in language_probabilities(""))


@cache
def _ours(code: str) -> str:
    """The code that we write for one of the detector's."""
    return _SPOKEN.get(code, canonical(code))


def _identifier() -> Any:
    """The detector. Threads share it. It is slow to load: once is enough."""
    with _LOADING:
        return _loaded_identifier()


@cache
def _loaded_identifier() -> Any:
    try:
        from py3langid.langid import MODEL_FILE, LanguageIdentifier
    except ImportError:
        raise ConfigError(
            "detecting a language needs py3langid",
            hint='install it: pip install "dragoman[serve]"; or name the source language',
        ) from None
    return LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)
