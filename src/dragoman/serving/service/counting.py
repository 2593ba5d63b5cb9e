"""What a service counts. A server gives it whatever keeps the counts, such as a Prometheus client."""

from __future__ import annotations

from typing import Literal, Protocol

Count = Literal[
    "texts",  # accepted
    "characters",  # accepted
    "sentences",  # that a model was asked for
    "cache_hits",
    "cache_misses",
    "shared",  # texts that equal one in flight
    "remembered",  # texts that the memory had
    "overloaded",  # requests, as are all below
    "late",
    "left",  # cancelled by their clients
    "failed",
]


class Counting(Protocol):
    """Keeps counts. Methods are called in the thread of the event loop and must not wait."""

    def count(self, what: Count, amount: int = 1) -> None:
        """Something happened."""
        ...

    def took(self, pair: tuple[str, str], seconds: float) -> None:
        """A request for a pair was answered in this time."""
        ...

    def queued(self, characters: int) -> None:
        """So many characters wait or are being translated now."""
        ...


class Uncounted:
    """Keeps no counts."""

    def count(self, what: Count, amount: int = 1) -> None: ...

    def took(self, pair: tuple[str, str], seconds: float) -> None: ...

    def queued(self, characters: int) -> None: ...
