"""The service: texts of many clients in, translations out. It knows nothing of HTTP."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from dragoman.serving.ask import Answer, Ask, Guess, TranslatedDocument
from dragoman.serving.limits import Limits
from dragoman.serving.pairs import Pairs

if TYPE_CHECKING:
    from dragoman.documents.formats import Format
    from dragoman.engine.choice import DType, EngineName
    from dragoman.memory.store import FuzzyMatch
    from dragoman.serving.counting import Counting


@dataclass(frozen=True, kw_only=True)
class ModelSpec:
    """A model to serve."""

    folder: str | Path
    name: str | None = None  # by default the name of the folder
    adapters: Mapping[str, Path] = field(default_factory=dict)  # folders by name
    terms: Mapping[str, Path] = field(default_factory=dict)  # lists of terms by name


@dataclass(frozen=True)
class ServedModel:
    """What is known of a model that is served."""

    name: str
    digest: str  # of its weights: "sha256:..."
    source: str
    targets: tuple[str, ...]
    adapters: tuple[str, ...]
    terms: tuple[str, ...]
    engine: str  # "native" or "pytorch"


class Service:
    """Translates for many clients at once."""

    pairs: Pairs
    limits: Limits
    models: tuple[ServedModel, ...]
    ready: bool  # has translated a sentence with each model, and is not draining

    @classmethod
    def open(
        cls,
        models: Sequence[ModelSpec],
        limits: Limits | None = None,
        *,
        memories: Sequence[Path] = (),
        engine: EngineName | None = None,
        device: str | None = None,
        dtype: DType | None = None,
        default_source: str | None = None,
        counting: Counting | None = None,
    ) -> Service:
        """Load all models. It takes as long as that takes: seconds.

        `memories` are translation memories, at most one for each pair. A file that does not exist is made,
        for the first pair that has none. `default_source` is the language of texts without letters.

        Raises ModelError for a model that cannot be loaded, ConfigError for options that contradict each
        other, such as two models with one name.
        """
        raise NotImplementedError

    async def start(self) -> None:
        """Translate a sentence with each model. From then on the service is ready."""
        raise NotImplementedError

    async def translate(
        self, texts: Sequence[str], ask: Ask, *, client: str, deadline: float
    ) -> list[Answer]:
        """Return an answer for each text, in order. Cancel it to give up: its place becomes free.

        `client` is whose share is used: a key or an address. `deadline` is a time of `time.monotonic`.

        Raises UnknownLanguage, TooLong, Overloaded, Late, NotReady (`serving/errors.py`), and ConfigError
        for options that the limits forbid, or for a model, an adapter or a list of terms that is not loaded.
        """
        raise NotImplementedError

    async def translate_document(
        self, data: bytes, format: Format, ask: Ask, *, client: str, deadline: float
    ) -> TranslatedDocument:
        """Translate a file. Raises the errors of `translate`, and DataError if it cannot be read."""
        raise NotImplementedError

    async def detect(self, text: str) -> list[Guess]:
        """Return the languages that a text may be in, of those that are served, the likeliest first."""
        raise NotImplementedError

    async def matches(self, text: str, pair: tuple[str, str], limit: int = 5) -> list[FuzzyMatch]:
        """Return what the memory of a pair has that is like a text, best first; nothing without a memory."""
        raise NotImplementedError

    async def correct(
        self, source: str, text: str, translation: str, pair: tuple[str, str], *, author: str = ""
    ) -> bool:
        """Store a translation in the memory of the pair. Return whether it is new.

        `source` is the text that was translated, `text` what the service made of it, `translation` what a
        person made of that. Raises ConfigError if the pair has no memory.
        """
        raise NotImplementedError

    async def drain(self, seconds: float) -> None:
        """Take no new work, and wait at most that long until what was accepted is finished."""
        raise NotImplementedError
