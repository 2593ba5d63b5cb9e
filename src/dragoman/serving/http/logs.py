"""The log of a server: a line for each request, plain or JSON. No text of a client, no key, no query."""

from __future__ import annotations

import json
import logging
import time
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Literal, TextIO

LogFormat = Literal["plain", "json"]

_SPEAKERS = ("dragoman", "uvicorn", "asyncio")  # messages of other libraries may have text of clients

logger = logging.getLogger("dragoman.serving")


def log(level: int, event: str, **facts: Any) -> None:
    """Write an event with its facts, which are plain values."""
    logger.log(level, event, extra={"facts": facts})


@contextmanager
def logging_to(stream: TextIO, form: LogFormat, *, quiet: bool = False) -> Iterator[None]:
    """Write the log to a stream during the block: ours, and the warnings of the web server.

    `quiet`: only errors.
    """
    handler = logging.StreamHandler(stream)
    handler.setFormatter(_Lines(form))
    handler.addFilter(lambda record: record.name.partition(".")[0] in _SPEAKERS)
    if quiet:
        handler.setLevel(logging.ERROR)
    root = logging.getLogger()
    level = logger.level
    root.addHandler(handler)
    logger.setLevel(logging.INFO)
    try:
        yield
    finally:
        root.removeHandler(handler)
        logger.setLevel(level)


class _Lines(logging.Formatter):
    """One line for each record. Of an exception it says the type and the place: its message may have text."""

    def __init__(self, form: LogFormat) -> None:
        super().__init__()
        self._json = form == "json"

    def format(self, record: logging.LogRecord) -> str:
        facts: dict[str, Any] = getattr(record, "facts", {})
        if record.exc_info and record.exc_info[1] is not None:
            facts = {**facts, "error": place_of(record.exc_info[1])}
        when = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created)) + f".{record.msecs:03.0f}Z"
        level, event = record.levelname.lower(), record.getMessage().strip()
        if self._json:
            return json.dumps({"time": when, "level": level, "event": event, **facts})
        told = " ".join(f"{name}={value}" for name, value in facts.items())
        return " ".join(filter(None, [when, level, event.replace("\n", " "), told]))


def place_of(error: BaseException) -> str:
    """The type of an exception and where it was raised, without its message."""
    frames = traceback.extract_tb(error.__traceback__)
    where = f" at {frames[-1].filename}:{frames[-1].lineno}" if frames else ""
    return f"{type(error).__name__}{where}"
