"""Word alignments as text, in the format of the Pharaoh decoder: "0-0 1-2", source and target from 0.

A gold alignment may also have links that are only possible, written "1p2" (Och and Ney 2003, section 5).
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from dragoman.base.errors import DataError

Link = tuple[int, int]  # word of the source, word of the target

_LINK = re.compile(r"([0-9]{1,9})([-p])([0-9]{1,9})")


@dataclass(frozen=True)
class Gold:
    """A gold alignment: links that are certain, and all links that an aligner may give."""

    sure: frozenset[Link]
    possible: frozenset[Link]

    @classmethod
    def of(cls, text: str) -> Gold:
        """Return the alignment that `str` wrote. Raises DataError for anything else."""
        sure: set[Link] = set()
        possible: set[Link] = set()
        for word in text.split():
            match = _LINK.fullmatch(word)
            if match is None:
                raise DataError(
                    f"{word!r} is not a link", hint="write 0-0 for a sure link and 0p0 for a possible one"
                )
            (sure if match[2] == "-" else possible).add((int(match[1]), int(match[3])))
        return cls(frozenset(sure), frozenset(sure | possible))

    def __str__(self) -> str:
        marks = ((link, "-" if link in self.sure else "p") for link in sorted(self.possible))
        return " ".join(f"{source}{mark}{target}" for (source, target), mark in marks)
