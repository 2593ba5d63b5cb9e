"""What every display is: an observer of training that may fail without harm."""

from __future__ import annotations

import functools
import logging
from collections.abc import Callable
from typing import Any, Concatenate, ParamSpec, Self, TypeVar, cast

P = ParamSpec("P")
D = TypeVar("D", bound="Display")


class Display:
    """A with-block closes the display however the block ends, so that the terminal is left tidy."""

    def __init__(self) -> None:
        self.instead: Display | None = None

    def on_start(self, info: dict[str, Any]) -> None: ...
    def on_step(self, metrics: dict[str, Any]) -> None: ...
    def on_validation(self, metrics: dict[str, Any]) -> None: ...
    def on_message(self, text: str) -> None: ...
    def on_end(self, metrics: dict[str, Any]) -> None: ...

    def close(self) -> None:
        """Gives the terminal back. Raises nothing, does nothing the second time."""

    def fall_back(self) -> Display:
        """Who goes on when this display has failed."""
        return Silent()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def harmless(method: Callable[Concatenate[D, P], None]) -> Callable[Concatenate[D, P], None]:
    """No error of a display stops a training: the display closes and its fall-back takes over."""

    @functools.wraps(method)
    def guarded(self: D, *args: P.args, **kwargs: P.kwargs) -> None:
        if self.instead is None:
            try:
                return method(self, *args, **kwargs)
            except (Exception, SystemExit):  # rich exits the program when a pipe is closed
                logging.getLogger(__name__).debug("a display failed", exc_info=True)
                self.instead = self.fall_back()
                self.close()
        getattr(self.instead, method.__name__)(*args, **kwargs)
        return None

    return cast(Callable[Concatenate[D, P], None], guarded)


class Silent(Display):
    """Says nothing."""
