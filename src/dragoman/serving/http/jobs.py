"""Documents that are translated while their clients ask how it goes."""

from __future__ import annotations

import asyncio
import hmac
import os
import secrets
import shutil
import tempfile
import time
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from dragoman.serving.http.errors import Refusal, refusal_of
from dragoman.serving.service.admission import Counting
from dragoman.serving.service.ask import TranslatedDocument

_SECONDS = 30 * 60.0  # that a file is kept, and a document known after its upload
_FILES = 200
_BYTES = 512 * 2**20


@dataclass(frozen=True)
class Kept:
    """A file that is kept."""

    path: Path
    suffix: str
    size: int
    until: float  # a time of `time.monotonic`


class FileStore:
    """Keeps files for half an hour. The folder is made with the first file and removed at the end.

    A name from a client is only looked up among the issued ones: it never becomes a path.
    """

    def __init__(self) -> None:
        self._folder: Path | None = None
        self._kept: dict[str, Kept] = {}

    def put(self, data: bytes, suffix: str) -> str:
        """Keep a file and return its name. The oldest files make room for it."""
        self.sweep()
        kept = self._kept.values()
        while kept and (len(kept) >= _FILES or sum(one.size for one in kept) + len(data) > _BYTES):
            self.drop(next(iter(self._kept)))
        if self._folder is None or not self._folder.is_dir():  # the system cleans up, too
            self._folder = Path(tempfile.mkdtemp(prefix="dragoman-serve-"))  # of mode 0700
        name = secrets.token_urlsafe(24) + suffix
        path = self._folder / secrets.token_hex(16)
        self._kept[name] = Kept(path, suffix, len(data), time.monotonic() + _SECONDS)
        try:
            with open(path, "xb", opener=lambda file, flags: os.open(file, flags, 0o600)) as file:
                file.write(data)
        except OSError:
            self.drop(name)
            raise
        return name

    def read(self, name: str) -> tuple[bytes, str]:
        """Return a file and its suffix. Raises Refusal if the name is unknown or has expired."""
        self.sweep()
        try:
            return self._kept[name].path.read_bytes(), self._kept[name].suffix
        except (KeyError, FileNotFoundError):
            self.drop(name)
            raise Refusal(404, "no such file: each is kept for half an hour, unless there are many") from None

    def __contains__(self, name: str) -> bool:
        return name in self._kept and self._kept[name].until > time.monotonic()

    def drop(self, name: str) -> None:
        """Delete a file, if it is still kept."""
        if (kept := self._kept.pop(name, None)) is not None:
            kept.path.unlink(missing_ok=True)

    def sweep(self) -> None:
        """Delete expired files."""
        now = time.monotonic()
        for name in [name for name, kept in self._kept.items() if kept.until <= now]:
            self.drop(name)

    def close(self) -> None:
        """Delete everything."""
        self._kept.clear()
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)
            self._folder = None


_MOST_FINISHED, _MOST_UNFINISHED = 200, 16

State = Literal["translating", "done", "error"]
Work = Coroutine[Any, Any, tuple[TranslatedDocument, str]]  # the document, and the suffix of its name


@dataclass(eq=False)
class FileJob:
    """A document of a client: being translated, or waiting to be fetched."""

    number: str
    key: str  # both cannot be guessed
    until: float  # a time of `time.monotonic`
    state: State = "translating"
    name: str = ""  # in the store
    characters: int = 0
    error: str = ""
    task: asyncio.Task[None] | None = field(default=None, repr=False)


class Jobs:
    """The documents that were uploaded."""

    def __init__(self, files: FileStore, counting: Counting) -> None:
        self._files, self._counting = files, counting
        self._jobs: dict[str, FileJob] = {}
        self._awaited = 0

    @property
    def unfinished(self) -> int:
        return self._awaited + sum(job.state == "translating" for job in self._jobs.values())

    @property
    def fetched(self) -> bool:
        """Whether no client may still come for a document that is translated."""
        return not any(job.state == "done" and job.name in self._files for job in self._jobs.values())

    @contextmanager
    def awaited(self) -> Iterator[None]:
        """Count a document whose client waits for it. Raises Refusal if there are too many."""
        self._check()
        self._awaited += 1
        try:
            yield
        finally:
            self._awaited -= 1

    def add(self, work: Work) -> FileJob:
        """Start to translate a document. Raises Refusal if too many are being translated."""
        now = time.monotonic()
        finished = [job for job in self._jobs.values() if job.state != "translating"]
        for job in {*finished[:-_MOST_FINISHED], *(job for job in finished if job.until <= now)}:
            self.drop(job)
        try:
            self._check()
        except Refusal:
            work.close()
            raise
        job = FileJob(secrets.token_hex(16).upper(), secrets.token_hex(32).upper(), now + _SECONDS)
        job.task = asyncio.create_task(self._run(job, work))
        self._jobs[job.number] = job
        return job

    def _check(self) -> None:
        if self.unfinished >= _MOST_UNFINISHED:
            raise Refusal(429, "too many documents are waiting: try again later", retry_after=10)

    def find(self, number: str, key: str) -> FileJob:
        """The document of this number, if the key is its own. Raises Refusal."""
        job = self._jobs.get(number)
        if job is None or not hmac.compare_digest(job.key.encode(), key.encode()):
            raise Refusal(404, "Document not found")
        return job

    def fetch(self, job: FileJob) -> tuple[bytes, str]:
        """The translated file and the suffix of its name. After that it is gone. Raises Refusal."""
        if job.state == "error":
            raise Refusal(400, job.error)
        if job.state != "done":
            raise Refusal(503, "Document is not ready", retry_after=1)
        found = self._files.read(job.name)
        self.drop(job)
        return found

    def drop(self, job: FileJob) -> None:
        """Forget a document and its file, and stop its translation."""
        del self._jobs[job.number]
        self._files.drop(job.name)
        if job.task is not None:
            job.task.cancel()

    async def close(self) -> None:
        """Stop all translations."""
        tasks = [job.task for job in self._jobs.values() if job.task is not None]
        for job in list(self._jobs.values()):
            self.drop(job)
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _run(self, job: FileJob, work: Work) -> None:
        try:
            document, suffix = await work
            job.name, job.characters = self._files.put(document.data, suffix), document.characters
            job.state = "done"
        except Exception as error:
            refusal = refusal_of(error, "/v2/document")
            job.state, job.error = "error", refusal.text
            self._counting.count("failed", int(refusal.status == 500))
