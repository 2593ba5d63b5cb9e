"""The pairs of languages that are served, and the route of each."""

from __future__ import annotations

from dragoman.serving.ask import Route


class Pairs:
    """The pairs of languages that are served: those of the models, and through pivots those of several."""

    @property
    def sources(self) -> tuple[str, ...]:
        """The languages that are translated from, in the order of the models."""
        raise NotImplementedError

    def targets_of(self, source: str) -> tuple[str, ...]:
        """The languages that a source is translated to, those without a pivot first."""
        raise NotImplementedError

    def find(self, source: str, target: str, *, model: str | None = None) -> Route:
        """Return the route of a pair: the shortest.

        Languages may be written in any case, with a region or a script, which need not be served: "EN-US",
        "en_GB", "zh-Hans". Raises UnknownLanguage for a language or a pair that is not served.
        """
        raise NotImplementedError

    def name_of(self, language: str) -> str:
        """The English name of a language, such as "German"; its code if it is not known."""
        raise NotImplementedError
