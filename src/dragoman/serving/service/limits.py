"""The limits of a server: sizes, times and rates."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil
from typing import Annotated

from dragoman.base.errors import ConfigError, DataError, DragomanError
from dragoman.base.options import Option, Options

MARKS = 500_000  # tags, lines and the like of a document: each takes up to 600 bytes to read, and 150 us


@dataclass(frozen=True, kw_only=True)
class Limits(Options, section="limits"):
    """The limits of a server. Raises ConfigError for a value out of range.

    Work is counted in characters, not in tokens: characters are known before any model runs, so that
    refusing costs nothing, and means the same for every model of a route.
    """

    body_bytes: Annotated[int, Option("Bytes of a request.", at_least=1)] = 2**20
    file_bytes: Annotated[int, Option("Bytes of a file to translate.", at_least=1)] = 10 * 2**20
    characters: Annotated[int, Option("Characters of all texts of a request.", at_least=1)] = 50_000
    texts: Annotated[int, Option("Texts of a request.", at_least=1)] = 128
    alternatives: Annotated[int, Option("Alternatives of a translation.", at_least=0)] = 10
    beam: Annotated[int, Option("Width of a beam.", at_least=1)] = 16
    output_extra: Annotated[
        int,
        Option(
            "Tokens that a translation may have more than its source. With 50, none is longer than twice its "
            "source and 50.",
            at_least=0,
        ),
    ] = 50
    seconds: Annotated[float, Option("Seconds after which a request is given up.", above=0)] = 30.0
    file_seconds: Annotated[float, Option("Seconds after which a file is given up.", above=0)] = 600.0
    drain_seconds: Annotated[float, Option("Seconds to finish accepted work, at the end.", at_least=0)] = 30.0
    queue_characters: Annotated[
        int, Option("Characters that wait or are translated at one time, of all clients.", at_least=1)
    ] = 500_000
    client_rate: Annotated[
        float, Option("Characters a second that a client may send for long; 0 sets no bound.", at_least=0)
    ] = 20_000.0
    client_burst: Annotated[
        int, Option("Characters that a client may send before it has to wait.", at_least=1)
    ] = 500_000
    clients: Annotated[int, Option("Clients whose use is remembered.", at_least=1)] = 10_000
    cache_bytes: Annotated[int, Option("Bytes of translations that are kept; 0 keeps none.", at_least=0)] = (
        64 * 2**20
    )
    threads: Annotated[int, Option("Requests that are translated at one time; others wait.", at_least=1)] = 32


class UnknownLanguage(ConfigError):
    """A language, a pair, or a language for a text that the service does not translate.

    `language` is as the client wrote it.
    """

    def __init__(self, what: str, *, language: str, hint: str = "") -> None:
        super().__init__(what, hint=hint)
        self.language = language


class TooLong(DataError):
    """More text, or more texts, than the limits allow."""


class Overloaded(DragomanError):
    """The queue is full, or a client asks for more than its share."""

    def __init__(self, what: str, *, retry_after: float) -> None:
        """`retry_after`: seconds after which it may work."""
        super().__init__(what, hint=f"try again in {max(1, ceil(retry_after))} s")
        self.retry_after = retry_after


class Late(DragomanError):
    """The deadline passed before the translation was ready. Its work was dropped."""

    def __init__(self, what: str, *, retry_after: float = 1.0, hint: str = "") -> None:
        """`retry_after`: seconds after which it may work."""
        super().__init__(what, hint=hint)
        self.retry_after = retry_after


class NoPyTorch(DragomanError):
    """PyTorch is not installed, and a model can only be inspected with it."""


class NotReady(DragomanError):
    """The service is still loading, or is draining and takes no new work."""
