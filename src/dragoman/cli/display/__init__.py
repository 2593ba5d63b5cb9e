"""Displays of a training run: a live panel on a terminal, occasional lines elsewhere, or nothing.

Everything goes to standard error. The displays are observers (`training/events.py`). If one fails, a simpler
one takes over and the training continues. The user's text is shown literally: markup has no effect, and
control characters are replaced.
"""

from __future__ import annotations

from rich.console import Console

from dragoman.cli.display.live import Live
from dragoman.cli.display.plain import Plain, Silent

__all__ = ["Live", "Plain", "Silent", "observer_for"]


def observer_for(console: Console | None = None, *, verbosity: int = 0) -> Live | Plain | Silent:
    """Return the display for `console`, by default standard error.

    `verbosity` counts -v; below 0 means -q. Live needs a terminal that can move its cursor and show block
    characters. NO_COLOR removes the colours, not the movement.
    """
    if verbosity < 0:
        return Silent()
    console = console or Console(stderr=True)
    if console.is_terminal and console.is_interactive and not console.options.ascii_only and _is_tty(console):
        return Live(console, samples=2 if verbosity == 0 else 10, wrap=verbosity > 0)
    return Plain(console.file, every=10.0 if verbosity == 0 else 1.0, samples=1 if verbosity == 0 else 10)


def _is_tty(console: Console) -> bool:
    """Whether it is a real terminal. With FORCE_COLOR, rich treats a file as one, too."""
    try:
        return console.file.isatty()
    except (AttributeError, ValueError):
        return False
