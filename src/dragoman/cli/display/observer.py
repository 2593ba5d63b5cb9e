"""The base of every display: an observer of training that may fail without harm."""

from __future__ import annotations

import functools
import logging
from collections.abc import Callable
from typing import Concatenate, ParamSpec, Self, TypeVar, cast

from dragoman.training.events import Quiet

P = ParamSpec("P")
D = TypeVar("D", bound="Display")


class Display(Quiet):
    """An observer that shows something. A with-block closes it, so that the terminal is left tidy."""

    def __init__(self) -> None:
        self.instead: Display | None = None  # takes over when this display has failed

    def close(self) -> None:
        """Restore the terminal. Never raises, and may be called twice."""

    def fall_back(self) -> Display:
        """The display that takes over when this one fails."""
        return Silent()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def harmless(method: Callable[Concatenate[D, P], None]) -> Callable[Concatenate[D, P], None]:
    """Keep errors of a display from stopping the training: it closes and its fall-back takes over."""

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
    """Shows nothing."""
