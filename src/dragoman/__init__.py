"""Train the Transformer on your own parallel text, translate with it, and see how it works."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

__all__ = ["Translation", "Translator", "__version__", "train"]

if TYPE_CHECKING:
    from dragoman.run import train
    from dragoman.translator import Translation, Translator


def __getattr__(name: str) -> Any:
    """Imports what is asked for when it is asked for (PEP 562): torch takes seconds to import."""
    if name in ("Translation", "Translator"):
        from dragoman import translator

        return getattr(translator, name)
    if name == "train":
        from dragoman import run

        return run.train
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
