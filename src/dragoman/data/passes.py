"""Passes over parallel text: chunks of lines, on all processors, with results in the order of the text."""

from __future__ import annotations

import multiprocessing
import signal
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from itertools import islice
from typing import TypeVar

from dragoman.base.errors import DragomanError
from dragoman.text.corpora.lines import Line

CHUNK = 2000  # lines: long enough that sending them costs little
ALONE = 10  # chunks before other processes are started, which takes longer than these
_AHEAD = 2  # chunks in flight for each process
Given = TypeVar("Given")
Result = TypeVar("Result")


def line_chunks(lines: Iterable[Line]) -> Iterator[list[Line]]:
    """Yield the lines in chunks, which do not depend on the shards."""
    lines = iter(lines)
    while chunk := [*islice(lines, CHUNK)]:
        yield chunk


def mapped(
    function: Callable[[Given], Result], chunks: Iterable[Given], workers: int
) -> Iterator[tuple[Given, Result]]:
    """Yield each chunk with its result, in order. `workers` processes call the function, a module's own.

    Few chunks are in flight, so memory does not grow with the text. Short text starts no processes.
    Raises what the function raises, and DragomanError if a process ends.
    """
    waiting = iter(chunks)
    for chunk in islice(waiting, ALONE if workers > 1 else None):
        yield chunk, function(chunk)
    first = next(waiting, None)
    if first is None:
        return
    # Not forked: threads of NumPy or of the engine may hold locks.
    methods = multiprocessing.get_context("spawn")
    interrupts = signal.SIGINT, signal.SIG_IGN  # which this process handles
    pool = ProcessPoolExecutor(workers, methods, initializer=signal.signal, initargs=interrupts)
    try:
        running: deque[tuple[Given, Future[Result]]] = deque([(first, pool.submit(function, first))])
        while running:
            for chunk in islice(waiting, max(0, workers * _AHEAD - len(running))):
                running.append((chunk, pool.submit(function, chunk)))
            chunk, future = running.popleft()
            yield chunk, future.result()
    except BrokenProcessPool as error:
        raise DragomanError(
            "a process that reads the text was ended", hint="if memory is short, use --workers 1"
        ) from error
    finally:
        pool.shutdown(wait=False, cancel_futures=True)


def pairs_of(chunk: Sequence[Line]) -> list[tuple[str, str]]:
    """The source and the target of each line."""
    return [(line.source, line.target) for line in chunk]
