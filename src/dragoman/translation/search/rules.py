"""Rules about what a translation must and must not contain, as data that any engine can apply.

A rule sets the probability of forbidden tokens to 0 and leaves the rest unchanged, so a translation keeps
the score that the model gives it. If the rules forbid every token, the translation ends. Rules other
than `Prefix` hold after the prefix and never change it. Their order has no effect.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from dragoman.base.errors import ConfigError


@dataclass(frozen=True)
class Prefix:
    """The translation begins with these tokens. A sentence has at most one prefix."""

    tokens: tuple[int, ...]


@dataclass(frozen=True)
class MinimumLength:
    """No end before this many tokens. The end itself does not count."""

    tokens: int

    def __post_init__(self) -> None:
        if self.tokens < 0:
            raise ConfigError(f"a minimum length of {self.tokens} tokens", hint="use at least 0")


@dataclass(frozen=True)
class NoRepeatedNgram:
    """No sequence of `n` tokens twice (Paulus et al. 2017, section 2.5). The end is not part of an n-gram."""

    n: int

    def __post_init__(self) -> None:
        if self.n < 1:
            raise ConfigError(f"no repeated n-grams of {self.n} tokens", hint="use at least 1")


@dataclass(frozen=True)
class Banned:
    """None of these tokens, anywhere."""

    tokens: tuple[int, ...]


@dataclass(frozen=True)
class Once:
    """Each of these tokens exactly once, in any order. A prefix may have some of them.

    None follows a second time, and the end waits for the last of them. When the length limit leaves only
    as many tokens as are missing, nothing else may follow; the search then chooses their order by
    probability, as always. The limit is raised to hold the prefix and the missing tokens.
    A shortlist always allows them, and no repeated n-gram can have them.
    """

    tokens: tuple[int, ...]


@dataclass(frozen=True)
class Phrases:
    """Each of these phrases appears in the translation, in any order. A prefix may have some of them.

    A phrase is a set of forms, such as the inflections of a noun: sequences of target tokens, of which any
    one is enough. A phrase that is listed twice appears twice, at places that do not overlap. Different
    phrases may overlap: "a b c" has "a b" and "b c". Phrases are equal if they have the same set of forms.

    `joining` are tokens that continue a word. A form does not count where one of them follows it, so
    "Tabelle" is not met by "Tabellenblatt"; it is met by a longer form of the same phrase. That a form
    begins a word is up to its first token.

    The end waits for the last phrase. The limit is raised to hold the shortest forms one after the other, and
    when it leaves only as many tokens as they need, nothing else may follow. A shortlist always allows the
    tokens of phrases, and a phrase may repeat an n-gram. Only a beam search can have phrases, and a sentence
    has at most one such rule.

    The limit always leaves room for all phrases, unless they begin with tokens of `joining`. Translations
    that lack some come last; `missing` in phrases.py returns which.

    All phrases, and the tokens of `Once`, are among the first `within` tokens of the translation, or come as
    soon as possible if these are too few. Without it, they may be anywhere.

    Raises ConfigError for a phrase without forms and for an empty form.
    """

    phrases: tuple[tuple[tuple[int, ...], ...], ...]
    joining: frozenset[int] = frozenset()
    within: int | None = None

    def __post_init__(self) -> None:
        for number, forms in enumerate(self.phrases, 1):
            if not forms or not all(forms):
                raise ConfigError(
                    f"phrase {number}: {'an empty form' if forms else 'no forms'}",
                    hint="give each phrase at least one form, and each form at least one token",
                )


Rule = Prefix | MinimumLength | NoRepeatedNgram | Banned | Once | Phrases


def keeping(
    source: Sequence[int], placeholders: tuple[Sequence[int], Sequence[int]] | tuple[()]
) -> tuple[Rule, ...]:
    """Return the rules by which a translation has the placeholders of its source, each once, and no others.

    `placeholders` are their ids in source and target, as `Tokenizer.placeholders` gives them.
    """
    if not placeholders:
        return ()
    present, pairs = set(source), list(zip(*placeholders, strict=True))
    kept = tuple(target for token, target in pairs if token in present)
    others = tuple(target for token, target in pairs if token not in present)
    return (Once(kept), Banned(others)) if kept else (Banned(others),)
