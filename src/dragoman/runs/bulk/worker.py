"""One worker: it loads the model once, and translates parts, each whole or not at all."""

from __future__ import annotations

import contextlib
import json
import platform
from collections import deque
from collections.abc import Iterator, Sequence
from pathlib import Path

from dragoman.base.errors import DataError, DragomanError
from dragoman.base.files import write_whole
from dragoman.runs.bulk.job import BulkJob, PartResult, TextPart
from dragoman.runs.bulk.source import PartText
from dragoman.translator import Translator

MOST_TRIES = 3  # times that a part may take its worker with it


class PartWorker:
    """Translates parts. An error in loading the model is the result of every part."""

    def __init__(self, job: BulkJob) -> None:
        self._job = job
        self._translator: Translator | None = None
        self._error: DragomanError | None = None
        try:
            self._translator = job.load()
        except DragomanError as error:
            self._error = error

    def translate(self, part: TextPart) -> PartResult:
        """Translate a part and write it, unless an earlier try has. Errors are in the result."""
        place = Path(part.place)
        if place.exists():
            return PartResult()
        if self._translator is None:
            return PartResult.of_error(self._error or DragomanError("no model"))
        try:
            return self._try(self._translator, part)
        except OSError as error:
            return PartResult.of_error(
                DragomanError(
                    f"{error.filename or part.place}: {error.strerror or error}, for the worker on "
                    f"{platform.node()}",
                    hint="every machine must see the folders of the text and of its translation",
                )
            )

    def _try(self, translator: Translator, part: TextPart) -> PartResult:
        place = Path(part.place)
        with counted_tries(place) as tries:
            if tries > MOST_TRIES:
                last = part.first + part.lines - 1
                return PartResult.of_error(
                    DataError(
                        f"{part.name}:{part.first}: the worker died {MOST_TRIES} times in the lines up to "
                        f"{last:,}",
                        hint="is the memory too small? Lower --batch-tokens, or look for a huge line",
                    ),
                    tries,
                )
            try:
                write_whole(place, self._content(translator, part))
            except DragomanError as error:
                return PartResult.of_error(error, tries)
        return PartResult(tries)

    def _content(self, translator: Translator, part: TextPart) -> str:
        """A line about the part, then its translations."""
        text = PartText(part)
        null: deque[bool] = deque()
        cut: list[int] = []
        rows: list[str] = []
        lines = _noting(text.texts(), null)
        # The whole part is one search, so that its threads wait for each other once.
        for number, one in enumerate(translator.stream(lines, self._job.decoding, prefix=self._job.prefix)):
            cut += [part.first + number] if one.truncated else []
            rows.append(text.written(number, None if null.popleft() else one.text))
        about = {"lines": len(rows), "truncated": len(cut), "first": cut[:5]}
        return json.dumps(about) + "\n" + "".join(rows)


def in_this_process(job: BulkJob, parts: Sequence[TextPart]) -> Iterator[tuple[int, PartResult]]:
    """Translate the parts one after the other. Yields the number of each and what came of it."""
    worker = PartWorker(job)
    for number, part in enumerate(parts):
        yield number, worker.translate(part)


@contextlib.contextmanager
def counted_tries(place: Path) -> Iterator[int]:
    """Count, in a file beside `place`, how often the part was begun: a worker that dies leaves it there."""
    path = place.with_name(f"{place.name}.tries")
    try:
        tries = path.stat().st_size + 1
    except OSError:
        tries = 1
    with path.open("ab") as file:
        file.write(b".")
    yield tries
    path.unlink(missing_ok=True)


def _noting(texts: Iterator[str | None], null: deque[bool]) -> Iterator[str]:
    for text in texts:
        null.append(text is None)
        yield text or ""
