"""Ctrl-C, and the signals that ask a program to end."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from types import FrameType
from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    from dragoman.training.options import Observer

Handler = Callable[[int, FrameType | None], Any]


class Signalled(KeyboardInterrupt):
    """A signal that ends the command at once. Not an Exception, so that nothing on the way keeps it."""

    def __init__(self, number: int) -> None:
        super().__init__(signal.Signals(number).name)
        self.number = number


def number_of(interrupt: BaseException) -> int:
    """The signal behind a KeyboardInterrupt."""
    return interrupt.number if isinstance(interrupt, Signalled) else int(signal.SIGINT)


def _raise(number: int, frame: FrameType | None) -> None:
    raise Signalled(number)


@contextmanager
def raising() -> Iterator[None]:
    """SIGTERM and SIGHUP meanwhile end the command as Ctrl-C does: what it began to write is removed."""
    with _handling(_raise, but="SIGINT"):
        yield


class Stopper:
    """Answers a trainer that asks whether to stop (it is called, and gives the signal, or 0).

    The first signal is kept until the trainer asks, if there is one that will ask; any other ends the
    command at once. Outside the with-block all is as it was.
    """

    def __init__(self, say: Callable[[str], None]) -> None:
        self.say = say
        self.signal = 0
        self.patient = False  # whether the trainer is at work
        self._stack = ExitStack()

    def __call__(self) -> int:
        return self.signal

    def __enter__(self) -> Self:
        self._stack.enter_context(_handling(self._on_signal))
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def watching(self, observer: Observer) -> Observer:
        """`observer`, with the trainer's start and end seen on the way."""
        return _Watching(self, observer)

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        if self.signal or not self.patient:
            raise Signalled(number)
        self.signal = number
        # Writing from here can meet a write that was under way.
        with contextlib.suppress(RuntimeError, OSError):
            self.say("stopping after this update, and saving; once more to stop without saving")


class _Watching:
    """An observer that tells the stopper when someone asks it, and passes everything on."""

    def __init__(self, stopper: Stopper, observer: Observer) -> None:
        self.stopper, self.observer = stopper, observer
        self.on_step = observer.on_step
        self.on_validation = observer.on_validation
        self.on_message = observer.on_message

    def on_start(self, info: dict[str, Any]) -> None:
        self.stopper.patient = True
        self.observer.on_start(info)

    def on_end(self, metrics: dict[str, Any]) -> None:
        self.stopper.patient = False
        self.observer.on_end(metrics)


@contextmanager
def _handling(handler: Handler, *, but: str = "") -> Iterator[None]:
    """`handler` for every signal that asks to end, except those that are ignored, as under nohup."""
    before: dict[int, Any] = {}
    # Only the main thread may set handlers, and only it receives signals.
    if threading.current_thread() is threading.main_thread():
        for name in ("SIGINT", "SIGTERM", "SIGHUP"):
            number = getattr(signal, name, None)  # there is no SIGHUP on Windows
            if number is None or name == but or signal.getsignal(number) in (signal.SIG_IGN, None):
                continue
            before[number] = signal.signal(number, handler)
    try:
        yield
    finally:
        for number, old in before.items():
            signal.signal(number, old)
