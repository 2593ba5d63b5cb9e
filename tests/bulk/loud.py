"""A translator for tests of bulk translation: it writes capitals, and cuts short what ends in `!`."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from dragoman.bulk.worker import BulkJob
from dragoman.translation.search.options import Decoding
from dragoman.translation.translation import Translation

JOB = BulkJob(models=("m",), decoding=Decoding())


class Loud:
    """Counts the lines that it translates."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def stream(
        self, lines: Iterator[str], decoding: Decoding, *, prefix: str | None
    ) -> Iterator[Translation]:
        for line in lines:
            self.lines.append(line)
            yield Translation(
                source=line,
                text=line.upper(),
                score=0.0,
                tokens=(),
                token_logp=(),
                truncated=line.endswith("!"),
            )


def use_loud(monkeypatch: pytest.MonkeyPatch) -> Loud:
    """Let every worker have the same translator, which is returned."""
    loud = Loud()
    monkeypatch.setattr(BulkJob, "load", lambda job: loud)
    return loud
