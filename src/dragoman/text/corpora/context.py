"""What stands before each pair of a text, as a model reads it with the line."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator

from dragoman.text.blank import is_blank
from dragoman.text.corpora.lines import Line
from dragoman.text.guidance import Context

SENTENCES = 3  # before a line; the tokens that are read are limited, too


def with_context(lines: Iterable[Line]) -> Iterator[tuple[Line, Context]]:
    """Yield each pair with its context: the pairs before it, then what its file says about it.

    A document ends at a pair of blank lines, and where the lines name another document.
    """
    before: deque[Line] = deque(maxlen=SENTENCES)
    for line in lines:
        blank = is_blank(line.source) and is_blank(line.target)
        if blank or (before and before[-1].document != line.document):
            before.clear()
        yield line, context_of(line.context, before)
        if not is_blank(line.source):
            before.append(line)


def context_of(about: str, before: Iterable[Line]) -> Context:
    """The context of a line: the pairs before it, and what is known about it, such as its key."""
    pairs = list(before)
    source = joined_context([*(one.source for one in pairs), about])
    return Context(source, joined_context(one.target for one in pairs))


def joined_context(texts: Iterable[str]) -> str:
    """Texts as a context has them, in training and in translation: with one space between words."""
    return " ".join(" ".join(texts).split())
