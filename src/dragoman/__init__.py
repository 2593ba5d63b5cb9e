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
    from dragoman.documents.files import translate_file
    from dragoman.evaluation.evaluate import Evaluation, evaluate
    from dragoman.interop.exports import export_model
    from dragoman.interop.imports import import_model
    from dragoman.training.runs.run import train
    from dragoman.translation.memory.exchange import export_memory, import_memory
    from dragoman.translation.memory.store import TranslationMemory
    from dragoman.translation.search.alignment import Alignment
    from dragoman.translation.search.options import Decoding, Sample
    from dragoman.translation.terms.terms import Term, TermList
    from dragoman.translation.translation import Translation
    from dragoman.translation.translator import Translator


_HOMES = {
    "dragoman.base.errors": "ConfigError DataError DragomanError ModelError TrainingError",
    "dragoman.translation.search.alignment": "Alignment",
    "dragoman.translation.search.options": "Decoding Sample",
    "dragoman.documents.files": "translate_file",
    "dragoman.evaluation.evaluate": "Evaluation evaluate",
    "dragoman.interop.exports": "export_model",
    "dragoman.interop.imports": "import_model",
    "dragoman.translation.memory.exchange": "export_memory import_memory",
    "dragoman.translation.memory.store": "TranslationMemory",
    "dragoman.translation.terms.terms": "Term TermList",
    "dragoman.training.runs.run": "train",
    "dragoman.translation.translator": "Translation Translator",
}


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used (PEP 562): some take long to import."""
    for home, names in _HOMES.items():
        if name in names.split():
            return getattr(import_module(home), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
