"""Why a service does not answer. A server turns each into the status code of its protocol."""

from __future__ import annotations

from dragoman.base.errors import ConfigError, DataError, DragomanError


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

    def __init__(self, what: str, *, retry_after: float, hint: str = "") -> None:
        """`retry_after`: seconds after which it may work."""
        super().__init__(what, hint=hint or f"try again in {max(1, round(retry_after))} s")
        self.retry_after = retry_after


class Late(DragomanError):
    """The deadline passed before the translation was ready. Its work was dropped."""


class NoPyTorch(DragomanError):
    """PyTorch is not installed, and a model can only be inspected with it."""


class NotReady(DragomanError):
    """The service is still loading, or is draining and takes no new work."""
