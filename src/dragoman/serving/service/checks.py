"""Whether a request is within the limits, and names what is served."""

from __future__ import annotations

from collections.abc import Sequence

from dragoman.base.errors import ConfigError
from dragoman.serving.service.ask import Ask
from dragoman.serving.service.errors import TooLong
from dragoman.serving.service.languages import Pairs
from dragoman.serving.service.limits import Limits
from dragoman.serving.service.models import ServedModel


def check_ask(ask: Ask, texts: Sequence[str], limits: Limits) -> int:
    """Return how many characters a request counts for: those of its texts and its prefix, and one a text.

    Raises TooLong for more than the limits allow, ConfigError for options that they forbid.
    """
    if len(texts) > limits.texts:
        raise TooLong(f"{len(texts)} texts", hint=f"send at most {limits.texts} at once")
    characters = sum(map(len, texts)) + len(ask.prefix)
    if characters > limits.characters:
        raise TooLong(
            f"{characters} characters exceed the limit of {limits.characters}", hint="send less at once"
        )
    _within("beam", ask.beam, 1, limits.beam)
    _within("n_best", ask.n_best, 1, limits.alternatives + 1)
    if ask.prefix and (len(texts) != 1 or ask.markup != "text"):
        raise ConfigError("a prefix for several texts, or for markup", hint="send one text")
    # A prefix is forced whatever the limit of a translation: in characters, which are no fewer than tokens.
    if len(ask.prefix) > 2 * sum(map(len, texts)) + limits.output_extra:
        raise TooLong("the prefix is too long for its text", hint="shorten it")
    return characters + len(texts)


def check_names(ask: Ask, models: Sequence[ServedModel], pairs: Pairs) -> None:
    """Raise ConfigError for a model, an adapter or a list of terms that is not loaded.

    Raises UnknownLanguage for a language that is not served, and for a pair, if the source is named.
    """
    detected = ask.source is None or ask.source.strip().lower() == "auto"
    known = [one.name for one in models]
    if ask.model is not None and ask.model not in known:
        raise ConfigError(f"no model {ask.model!r}", hint=f"there are {', '.join(known)}")
    if detected:
        pairs.sources_of(ask.target)
        names = {ask.model} if ask.model else set(known)
    else:
        names = set(pairs.find(ask.source or "", ask.target, model=ask.model).models)
    own = [one for one in models if one.name in names]
    for what, name, loaded in (
        ("adapter", ask.adapter, [name for one in own for name in one.adapters]),
        ("list of terms", ask.terms, [name for one in own for name in one.terms]),
    ):
        if name is not None and name not in loaded:
            there = f"there are {', '.join(dict.fromkeys(loaded))}" if loaded else "this pair has none"
            raise ConfigError(f"no {what} {name!r}", hint=there)


def _within(what: str, value: int | None, least: int, most: int) -> None:
    if value is not None and not least <= value <= most:
        raise ConfigError(f"{what} = {value}", hint=f"use {least} to {most}")
