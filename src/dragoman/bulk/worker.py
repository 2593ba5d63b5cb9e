"""One worker: it loads the models once, and translates parts, each whole or not at all."""

from __future__ import annotations

import contextlib
import platform
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from dragoman.base import errors
from dragoman.base.errors import ConfigError, DataError, DragomanError, ModelError
from dragoman.base.jobs import digest_of_place, read_part, write_part
from dragoman.bulk.source import PartText, TextPart
from dragoman.translation.folder.checkpoint import model_folder
from dragoman.translation.search.options import Average, Decoding
from dragoman.translation.translator import Translator
from dragoman.version import __version__

if TYPE_CHECKING:
    from dragoman.translation.native.choice import DType
    from dragoman.translation.terms.terms import TermsMode

MOST_TRIES = 3  # times that a part may take its worker with it


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
        """Load the models. Raises ModelError if they differ from the command's, or ConfigError."""
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
            from dragoman.translation.terms.terms import TermList

            terms = TermList.read(Path(self.terms), *translator.pair(self.decoding))
            translator = translator.using(terms=terms, terms_mode=self.terms_mode)
        if self.reverse is not None:
            translator = translator.using(reverse=Translator.load(Path(self.reverse)))
        return translator


@dataclass(frozen=True)
class PartResult:
    """The result of a part. `what` is empty if it was translated."""

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
    """A digest of a model folder that is the same on every machine. Raises ModelError."""
    try:
        return digest_of_place(model_folder(Path(place)), times=False)
    except OSError as error:
        raise ModelError(
            f"{error.filename}: cannot be read ({error.strerror or error})",
            hint="check the path of the model",
        ) from error


class PartWorker:
    """Translates parts. An error in loading the model is the result of every part."""

    def __init__(self, job: BulkJob) -> None:
        self._job = job
        self._loaded: Translator | DragomanError
        try:
            self._loaded = job.load()
        except DragomanError as error:
            self._loaded = error

    def translate(self, part: TextPart) -> PartResult:
        """Translate a part and write it, unless an earlier try has. Errors are in the result."""
        tries = 1
        try:
            if read_part(Path(part.place)) is None:
                if isinstance(self._loaded, DragomanError):
                    raise self._loaded
                with counted_tries(Path(part.place)) as tries:
                    if tries > MOST_TRIES:
                        raise DataError(
                            f"{part.name}:{part.first}: the worker died {MOST_TRIES} times in the lines up "
                            f"to {part.first + part.lines - 1:,}",
                            hint="is the memory too small? Lower --batch-tokens, or look for a huge line",
                        )
                    self._write(self._loaded, part)
            return PartResult(tries)
        except DragomanError as error:
            return PartResult.of_error(error, tries)
        except OSError as error:
            where = f"{error.filename or part.place}: {error.strerror or error}, for the worker on"
            hint = "every machine must see the folders of the text and of its translation"
            return PartResult.of_error(DragomanError(f"{where} {platform.node()}", hint=hint), tries)

    def _write(self, translator: Translator, part: TextPart) -> None:
        """Write a line about the part, then its translations."""
        text = PartText(part)
        cut: list[int] = []
        rows: list[str] = []
        # The whole part is one search, so that its threads wait for each other once.
        found = translator.stream(text.texts(), self._job.decoding, prefix=self._job.prefix)
        for number, one in enumerate(found):
            cut += [part.first + number] if one.truncated else []
            rows.append(text.written(number, one.text))
        about = {"lines": len(rows), "truncated": len(cut), "first": cut[:5]}
        write_part(Path(part.place), about, "".join(rows))


def in_this_process(job: BulkJob, parts: Sequence[TextPart]) -> Iterator[tuple[int, PartResult]]:
    """Translate the parts one after the other. Yields the number and the result of each."""
    worker = PartWorker(job)
    for number, part in enumerate(parts):
        yield number, worker.translate(part)


@contextlib.contextmanager
def counted_tries(place: Path) -> Iterator[int]:
    """Count, in a file next to `place`, how often the part was begun: a worker that dies leaves it there."""
    path = place.with_name(f"{place.name}.tries")
    try:
        tries = path.stat().st_size + 1
    except OSError:
        tries = 1
    with path.open("ab") as file:
        file.write(b".")
    try:
        yield tries
    except Exception:  # the worker survives it
        path.unlink(missing_ok=True)
        raise
    path.unlink(missing_ok=True)
