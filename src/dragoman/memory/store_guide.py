"""A translation memory as a guide: what it has for each line that is translated."""

from __future__ import annotations

import re
from collections.abc import Sequence

from dragoman.memory.store import TranslationMemory
from dragoman.text.guidance import LEAST, Guidance, Match

_BREAKS = re.compile(r"\s*[\r\n]+\s*")


class MemoryGuide:
    """Gives each line the most similar line of a memory that is at least this alike, in percent.

    With `reads`, the model reads the translation of a line that is not equal.
    """

    def __init__(self, memory: TranslationMemory, *, least: float = LEAST, reads: bool = False) -> None:
        self.memory, self.least, self.reads = memory, least, reads

    def guide(self, lines: Sequence[str]) -> list[Guidance | None]:
        """See `Guide.guide`. A translation of several lines becomes one."""
        return [self._guidance(line) for line in lines]

    def _guidance(self, line: str) -> Guidance | None:
        match = self.memory.match(line, least=self.least)
        if match is None:
            return None
        if match.score >= 100:
            self.memory.count_use(match)
        joined = Match(_BREAKS.sub(" ", match.source), _BREAKS.sub(" ", match.target), match.score)
        return Guidance(match=joined, reads_match=self.reads and match.score < 100)
