"""Marks of languages: pieces such as `>>de<<` that say which language a text is in, or is to be in.

They are written before a source, one after the other, and each is one token. No other text is cut into them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

_MARK = re.compile(r">>(.+?)<<")


def mark(language: str) -> str:
    """The piece of a language."""
    return f">>{language}<<"


def marks_among(pieces: Iterable[tuple[int, str]]) -> dict[str, int]:
    """The languages that have marks among numbered pieces, and their ids."""
    return {found[1]: i for i, piece in pieces if (found := _MARK.fullmatch(piece)) is not None}


def split_marks(line: str, marks: Mapping[str, int]) -> tuple[list[int], list[str], str]:
    """The ids of the marks that begin a line, the text of each, and the rest of the line.

    A space after a mark belongs to it.
    """
    ids: list[int] = []
    texts: list[str] = []
    while marks and (found := _MARK.match(line)) is not None and found[1] in marks:
        end = found.end() + line.startswith(" ", found.end())
        ids.append(marks[found[1]])
        texts.append(line[:end])
        line = line[end:]
    return ids, texts, line
