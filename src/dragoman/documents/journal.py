"""Which files of a folder are translated, so that a command that was killed does not translate them again.

While a folder is written, `.unfinished.jsonl` in it has a line about the command and one for each finished
file: digests of the document and its translation, and what came of it. It is deleted when all is done.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any, Self

from dragoman.base.files import check_same_work, write_whole

NAME = ".unfinished.jsonl"


class Journal:
    """The finished files of a command that writes into `folder`. `about` says what it translates with.

    Entering raises ConfigError if a command that was stopped here translated with something else.
    """

    def __init__(self, folder: Path, about: Mapping[str, str]) -> None:
        self._path, self._about = folder / NAME, dict(about)
        self._done: dict[str, dict[str, Any]] = {}

    def __enter__(self) -> Self:
        rows = _rows(self._path)
        if not rows:
            write_whole(self._path, _line(self._about))
            return self
        check_same_work(self._path, rows[0], self._about)
        self._done = {str(row.get("source")): row for row in rows[1:]}
        write_whole(self._path, "".join(map(_line, rows)))  # without a line that was cut short
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if error is None:
            self._path.unlink(missing_ok=True)

    def result(self, source: Path, output: Path) -> Any | None:
        """What came of a file that is finished, or None if it, or its translation, is missing or changed."""
        row = self._done.get(str(source))
        if row is None or row["digests"] != _digests(source, output):
            return None
        return row["result"]

    def add(self, source: Path, output: Path, result: object) -> None:
        """Note that a file is finished."""
        row = {"source": str(source), "digests": _digests(source, output), "result": result}
        with self._path.open("a", encoding="utf-8") as file:
            file.write(_line(row))
            file.flush()
            os.fsync(file.fileno())


def _line(row: object) -> str:
    return json.dumps(row) + "\n"


def _digests(*paths: Path) -> list[str]:
    try:
        return [_digest(path) for path in paths]
    except OSError:
        return []


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, partial(hashlib.blake2b, digest_size=16)).hexdigest()


def _rows(path: Path) -> list[dict[str, Any]]:
    """The whole lines of a journal."""
    rows: list[dict[str, Any]] = []
    try:
        for line in path.read_text(encoding="utf-8").splitlines():
            row = json.loads(line)
            if not isinstance(row, dict) or (rows and row.keys() != {"source", "digests", "result"}):
                break
            rows.append(row)
    except (OSError, ValueError):
        pass  # no journal, or its last line was cut short by a kill
    return rows
