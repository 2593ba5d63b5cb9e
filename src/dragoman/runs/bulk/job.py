"""What workers translate with, what one part is, and what comes of it. Plain values: they travel."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from dragoman.base import errors
from dragoman.base.errors import ConfigError, DragomanError, ModelError
from dragoman.decoding.options import Average, Decoding
from dragoman.version import __version__

if TYPE_CHECKING:
    from dragoman.engine.choice import DType
    from dragoman.memory.terms import TermsMode
    from dragoman.translator import Translator

Kind = Literal["lines", "jsonl", "parquet"]
_SMALL = 2**20  # bytes of a file of a model folder up to which its content is compared


@dataclass(frozen=True, kw_only=True)
class BulkJob:
    """The models and the options of a bulk translation. Every machine must have the files at these paths."""

    models: tuple[str, ...]
    decoding: Decoding
    average: Average = "log-probabilities"  # of several models
    dtype: DType | None = None
    adapter: str | None = None
    terms: str | None = None
    terms_mode: TermsMode | None = None
    reverse: str | None = None
    prefix: str | None = None
    digests: tuple[str, ...] = ()  # of the models, as the command sees them
    version: str = __version__

    def load(self) -> Translator:
        """Load the models. Raises ModelError if they are not those of the command, or ConfigError."""
        from dragoman.translator import Translator

        if self.version != __version__:
            raise ConfigError(
                f"a worker has dragoman {__version__}, the command {self.version}",
                hint="install the same version on every machine",
            )
        for model, digest in zip(self.models, self.digests, strict=False):
            if digest_of_model(model) != digest:
                raise ModelError(
                    f"{model}: a worker sees another model there than the command",
                    hint="put the model where every machine sees the same files",
                )
        each = [Translator.load(Path(one), dtype=self.dtype, adapter=self.adapter) for one in self.models]
        translator = Translator.ensemble(each, average=self.average)
        if self.terms is not None:
            from dragoman.memory.terms import TermList

            target = self.decoding.to or translator.target_language
            terms = TermList.read(Path(self.terms), translator.source_language, target)
            translator = translator.using(terms=terms, terms_mode=self.terms_mode)
        if self.reverse is not None:
            translator = translator.using(reverse=Translator.load(Path(self.reverse)))
        return translator


@dataclass(frozen=True)
class TextPart:
    """Some lines of a file, or some rows of a row group of a Parquet file."""

    name: str  # the file, for messages
    path: str  # where its text is: a gzipped file is unpacked first
    kind: Kind
    column: str  # of JSON Lines and Parquet
    group: int  # Parquet: the row group
    start: int  # the first byte, or the first row of the group
    end: int  # the byte, or the row, after the last
    first: int  # the number of the first line or row in the file, from 1
    lines: int
    salt: str  # digest of what the text is translated with
    digest: str  # of salt and text
    place: str  # where the translation is written


@dataclass(frozen=True)
class PartResult:
    """What came of a part. `what` is empty if it was translated."""

    tries: int = 1  # more than one if a worker was lost
    error: str = ""  # the class of the error
    what: str = ""
    hint: str = ""

    @staticmethod
    def of_error(error: DragomanError, tries: int = 1) -> PartResult:
        """Return the result of a part that failed."""
        return PartResult(tries, type(error).__name__, str(error), error.hint)

    def to_error(self) -> DragomanError | None:
        """Return the error, or None."""
        if not self.what:
            return None
        kind: type[DragomanError] = getattr(errors, self.error, DragomanError)
        return kind(self.what, hint=self.hint)


def digest_of_model(place: str) -> str:
    """A digest of names, sizes and small files of a model folder; weights have theirs in config.json."""
    path = Path(place)
    files = sorted(one for one in path.iterdir() if one.is_file()) if path.is_dir() else [path]
    digest = hashlib.blake2b(digest_size=16)
    for file in files:
        try:
            size = file.stat().st_size
            digest.update(f"{file.name} {size}\n".encode("utf-8", "surrogateescape"))
            digest.update(file.read_bytes() if size <= _SMALL else b"")
        except OSError as error:
            raise ModelError(
                f"{file}: cannot be read ({error.strerror or error})", hint="check the path of the model"
            ) from error
    return digest.hexdigest()
