"""Train the Transformer on your own parallel text, translate with it, and see how it works."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from dragoman.version import __version__

__all__ = [
    "Alignment",
    "ConfigError",
    "DataError",
    "Decoding",
    "DragomanError",
    "Evaluation",
    "ModelError",
    "Sample",
    "Term",
    "TermList",
    "TrainingError",
    "Translation",
    "TranslationMemory",
    "Translator",
    "__version__",
    "evaluate",
    "export_memory",
    "export_model",
    "import_memory",
    "import_model",
    "train",
    "translate_file",
]

if TYPE_CHECKING:
    from dragoman.base.errors import ConfigError, DataError, DragomanError, ModelError, TrainingError
    from dragoman.decoding.alignment import Alignment
    from dragoman.decoding.options import Decoding, Sample
    from dragoman.documents.files import translate_file
    from dragoman.evaluation.evaluate import Evaluation, evaluate
    from dragoman.interop.exports import export_model
    from dragoman.interop.imports import import_model
    from dragoman.memory.exchange import export_memory, import_memory
    from dragoman.memory.store import TranslationMemory
    from dragoman.memory.terms import Term, TermList
    from dragoman.runs.run import train
    from dragoman.translator import Translation, Translator


_HOME = {
    "Alignment": "dragoman.decoding.alignment",
    "ConfigError": "dragoman.base.errors",
    "DataError": "dragoman.base.errors",
    "Decoding": "dragoman.decoding.options",
    "DragomanError": "dragoman.base.errors",
    "Evaluation": "dragoman.evaluation.evaluate",
    "ModelError": "dragoman.base.errors",
    "Sample": "dragoman.decoding.options",
    "Term": "dragoman.memory.terms",
    "TermList": "dragoman.memory.terms",
    "TrainingError": "dragoman.base.errors",
    "Translation": "dragoman.translator",
    "TranslationMemory": "dragoman.memory.store",
    "Translator": "dragoman.translator",
    "evaluate": "dragoman.evaluation.evaluate",
    "export_memory": "dragoman.memory.exchange",
    "export_model": "dragoman.interop.exports",
    "import_memory": "dragoman.memory.exchange",
    "import_model": "dragoman.interop.imports",
    "train": "dragoman.runs.run",
    "translate_file": "dragoman.documents.files",
}


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used (PEP 562): some take long to import."""
    if name in _HOME:
        return getattr(import_module(_HOME[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
