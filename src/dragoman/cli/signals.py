"""Signals: Ctrl-C, SIGTERM and SIGHUP end a command, or stop a training run after an update."""

from __future__ import annotations

import contextlib
import signal
from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack
from types import FrameType
from typing import TYPE_CHECKING, Self

from dragoman.base.ctrl_c_at_start import handling, heeded

if TYPE_CHECKING:
    from dragoman.training.events import Finished, Observer, Started


class Signalled(KeyboardInterrupt):
    """A signal that ends the command at once. Not an Exception, so that no `except Exception` catches it."""

    def __init__(self, number: int) -> None:
        super().__init__(signal.Signals(number).name)
        self.number = number


def number_of(interrupt: BaseException) -> int:
    """The number of the signal behind a KeyboardInterrupt."""
    return interrupt.number if isinstance(interrupt, Signalled) else int(signal.SIGINT)


def _raise(number: int, frame: FrameType | None) -> None:
    raise Signalled(number)


def raising() -> AbstractContextManager[None]:
    """Let SIGTERM and SIGHUP end the command as Ctrl-C does, so that half-written files are removed."""
    return handling(heeded("SIGTERM", "SIGHUP"), _raise)


class Stopper:
    """Stores the first signal. The trainer calls the object and gets the number of the signal, or 0.

    A second signal, or one outside training, ends the command at once. The with-block installs the signal
    handlers and restores the old ones.
    """

    def __init__(self, say: Callable[[str], None]) -> None:
        self.say = say
        self.signal = 0
        self.patient = False  # whether the trainer runs and checks for signals
        self._stack = ExitStack()

    def __call__(self) -> int:
        return self.signal

    def __enter__(self) -> Self:
        self._stack.enter_context(handling(heeded("SIGINT", "SIGTERM", "SIGHUP"), self._on_signal))
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def watching(self, observer: Observer) -> Observer:
        """An observer that notes when the trainer starts and finishes, and passes every event on."""
        return _Watching(self, observer)

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        if self.signal or not self.patient:
            raise Signalled(number)
        self.signal = number
        # The handler may interrupt a write to the same stream.
        with contextlib.suppress(RuntimeError, OSError):
            self.say("saving and stopping after this update; repeat the signal to stop without saving")


class _Watching:
    """Marks the time in which the trainer checks for signals, and passes every event on."""

    def __init__(self, stopper: Stopper, observer: Observer) -> None:
        self.stopper, self.observer = stopper, observer
        self.on_report = observer.on_report
        self.on_validation = observer.on_validation
        self.on_message = observer.on_message

    def on_start(self, event: Started) -> None:
        self.stopper.patient = True
        self.observer.on_start(event)

    def on_finish(self, event: Finished) -> None:
        self.stopper.patient = False
        self.observer.on_finish(event)
