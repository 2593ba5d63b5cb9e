"""Train the Transformer on your own parallel text, translate with it, and see how it works."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dragoman.version import __version__

__all__ = ["Translation", "Translator", "__version__", "train"]

if TYPE_CHECKING:
    from dragoman.runs.run import train
    from dragoman.translator import Translation, Translator


def __getattr__(name: str) -> Any:
    """Import what is asked for when it is asked for (PEP 562): torch takes seconds to import."""
    if name in ("Translation", "Translator"):
        from dragoman import translator

        return getattr(translator, name)
    if name == "train":
        from dragoman.runs import run

        return run.train
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
