"""Rules: what a translation must and must not contain, as data that any engine can apply.

A rule sets the probability of what it forbids to 0 and leaves the rest unchanged, so a translation keeps
the score that the model gives it. If the rules forbid every token, the translation ends. Rules other
than `Prefix` hold after the prefix and never change it. Their order has no effect.
"""

from __future__ import annotations

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


Rule = Prefix | MinimumLength | NoRepeatedNgram | Banned
