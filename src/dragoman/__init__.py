"""Train the Transformer on your own parallel text, translate with it, and see how it works."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from dragoman.version import __version__

__all__ = [
    "Alignment",
    "Decoding",
    "Evaluation",
    "Sample",
    "Translation",
    "Translator",
    "__version__",
    "evaluate",
    "train",
]

if TYPE_CHECKING:
    from dragoman.decoding.alignment import Alignment
    from dragoman.decoding.options import Decoding, Sample
    from dragoman.evaluation.evaluate import Evaluation, evaluate
    from dragoman.runs.run import train
    from dragoman.translator import Translation, Translator


_HOME = {
    "Alignment": "dragoman.decoding.alignment",
    "Decoding": "dragoman.decoding.options",
    "Evaluation": "dragoman.evaluation.evaluate",
    "Sample": "dragoman.decoding.options",
    "Translation": "dragoman.translator",
    "Translator": "dragoman.translator",
    "evaluate": "dragoman.evaluation.evaluate",
    "train": "dragoman.runs.run",
}


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used (PEP 562): some take long to import."""
    if name in _HOME:
        return getattr(import_module(_HOME[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
