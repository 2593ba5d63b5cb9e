"""Processes that tokenise chunks of text, and the chunks in the order of the text.

A worker is a Python of its own, connected by two pipes; it is not forked and imports no script of the user's.
It ends when its input ends, so it also ends with a process that is killed. In flight are at most two chunks
for each worker, so memory does not grow with the text.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
from collections import deque
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from queue import SimpleQueue
from typing import BinaryIO, Self, TypeVar, cast

from dragoman.base.config import from_table, to_table
from dragoman.base.errors import DragomanError
from dragoman.text.corpora.filter import FilterConfig
from dragoman.text.tokenizers.tokenizer import Tokenizer
from dragoman.training.data.chunk import Chunk, Chunker, put, take

T = TypeVar("T")
Texts = tuple[list[str], list[str]]  # sources and targets

_START = """
import json, sys
sys.path[:] = json.loads(sys.argv[1])
from dragoman.training.data.workers import main
main()
"""
_LINES = 500  # in a call of the tokenizer, so few that it starts no threads


class Worker:
    """One process that tokenises."""

    def __init__(self, settings: bytes, dtype: str) -> None:
        self._dtype = dtype
        command = [sys.executable, "-c", _START, json.dumps(sys.path)]
        try:
            self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        except OSError as error:
            raise DragomanError(
                f"cannot start a process to tokenise the text ({error.strerror or error})",
                hint="set data.workers=1",
            ) from error
        self._in = cast(BinaryIO, self.process.stdin)
        self._out = cast(BinaryIO, self.process.stdout)
        self._settings = settings

    def chunk(self, texts: Texts) -> Chunk:
        """Tokenise a chunk. Raises DragomanError if the process fails."""
        try:
            if self._settings:
                put(self._in, [self._settings])
                self._settings = b""
            put(self._in, ["\n".join(side).encode() for side in texts])
            blobs = take(self._out)
        except (OSError, EOFError, ValueError) as error:  # ValueError: closed, because the run was stopped
            raise DragomanError(
                f"a process that tokenises the text {_ended(self.process)}",
                hint="repeat the command, which resumes from there; if memory is short, set data.workers=1",
            ) from error
        if len(blobs) == 2:
            raise DragomanError(blobs[0].decode(), hint=blobs[1].decode())
        return Chunk.of_blobs(blobs, self._dtype)

    def end(self) -> None:
        """Kill the process."""
        self.process.kill()
        self.process.wait()
        for stream in (self._in, self._out):
            with contextlib.suppress(OSError):
                stream.close()


class Workers:
    """Processes that tokenise. The end of a with-block ends them."""

    def __init__(self, chunker: Chunker, count: int) -> None:
        self._chunker, self._count = chunker, count
        self._stack = contextlib.ExitStack()
        self._idle: SimpleQueue[Worker] = SimpleQueue()
        self.processes: list[int] = []  # their ids

    def __enter__(self) -> Self:
        with self._stack:
            folder = self._stack.enter_context(tempfile.TemporaryDirectory(prefix="dragoman-"))
            self._chunker.tokenizer.save(Path(folder))
            settings = {"folder": folder, "keep": to_table(self._chunker.keep), "dtype": self._chunker.dtype}
            # The threads are waited for last: they end when their process has ended.
            self._threads = ThreadPoolExecutor(self._count)
            self._stack.callback(self._threads.shutdown, cancel_futures=True)
            for _ in range(self._count):
                worker = Worker(json.dumps(settings).encode(), self._chunker.dtype)
                self._stack.callback(worker.end)
                self._idle.put(worker)
                self.processes.append(worker.process.pid)
            self._stack = self._stack.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def chunks(self, texts: Iterable[tuple[T, Texts]]) -> Iterator[tuple[T, Chunk]]:
        """Yield the label of each text and its chunk, in order. Raises DragomanError."""
        waiting: deque[tuple[T, Future[Chunk]]] = deque()
        for label, text in texts:
            waiting.append((label, self._threads.submit(self._chunk, text)))
            if len(waiting) >= 2 * self._count:
                first, chunk = waiting.popleft()
                yield first, chunk.result()
        for first, chunk in waiting:
            yield first, chunk.result()

    def _chunk(self, texts: Texts) -> Chunk:
        worker = self._idle.get()
        try:
            return worker.chunk(texts)
        finally:
            self._idle.put(worker)


def _ended(process: subprocess.Popen[bytes]) -> str:
    """How a process ended, in words."""
    try:
        code = process.wait(10)
    except subprocess.TimeoutExpired:
        return "does not answer"
    if code >= 0:
        return f"ended with exit code {code}"
    with contextlib.suppress(ValueError):
        return f"was killed by {signal.Signals(-code).name}"
    return f"was killed by signal {-code}"


def main() -> None:
    """Tokenise the chunks from standard input, until it ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # left to the process that started this one
    input_, output = sys.stdin.buffer, os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # so that nothing else that is printed enters the pipe
    with contextlib.suppress(EOFError, BrokenPipeError):
        settings = json.loads(take(input_)[0])
        chunker = None
        while True:
            texts = [side.decode().split("\n") for side in take(input_)]
            try:
                chunker = chunker or Chunker(
                    tokenizer=Tokenizer.load(Path(settings["folder"])),
                    keep=from_table(FilterConfig, settings["keep"]),
                    dtype=settings["dtype"],
                    at_once=_LINES,
                )
                blobs = chunker.chunk(*texts).blobs()
            except Exception as error:
                kind = "" if isinstance(error, DragomanError) else f"{type(error).__name__}: "
                blobs = [f"{kind}{error}".encode(), (getattr(error, "hint", None) or "").encode()]
            put(output, blobs)
