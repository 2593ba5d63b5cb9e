"""How a training run looks while it runs: live on a terminal, now and then a line elsewhere, or nothing.

Everything goes to standard error. The displays are observers as `training.options` has them; one that
fails steps aside, and the training goes on. Text of the user's is shown as text: markup in it means
nothing, and control characters are replaced.
"""

from __future__ import annotations

from rich.console import Console

from dragoman.display.live import Live
from dragoman.display.observer import Silent
from dragoman.display.plain import Plain

__all__ = ["Live", "Plain", "Silent", "observer_for"]


def observer_for(console: Console | None = None, *, verbosity: int = 0) -> Live | Plain | Silent:
    """The display for `console` (standard error by default).

    `verbosity` is how often -v was given, or below 0 with -q. Live needs a terminal that can move its
    cursor and show blocks; NO_COLOR takes the colours, not the movement.
    """
    if verbosity < 0:
        return Silent()
    console = console or Console(stderr=True)
    if console.is_terminal and console.is_interactive and not console.options.ascii_only and _is_tty(console):
        return Live(console, samples=2 if verbosity == 0 else 10, wrap=verbosity > 0)
    return Plain(console.file, every=10.0 if verbosity == 0 else 1.0, samples=1 if verbosity == 0 else 10)


def _is_tty(console: Console) -> bool:
    """Rich also counts a file as a terminal when FORCE_COLOR is set; a log wants no moving panel."""
    try:
        return console.file.isatty()
    except (AttributeError, ValueError):
        return False
