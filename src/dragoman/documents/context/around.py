"""What stands around a segment of a document, for models that read context."""

from __future__ import annotations

import re
from collections.abc import Sequence

from dragoman.documents.accelerators import take_out
from dragoman.documents.flat import with_found
from dragoman.documents.segment import Content, Segment, text_of
from dragoman.text.blank import is_blank
from dragoman.text.corpora.context import SENTENCES, context_of
from dragoman.text.corpora.lines import Line
from dragoman.text.guidance import Context

_HEADING = re.compile(r"(?s).{1,80}(?<![.!?:;,。！？])")
_NOTE = 200  # characters of a note


def contexts_of(segments: Sequence[Segment], *, labels: bool) -> list[Context | None]:
    """The context of each segment, None for one without.

    It is the heading above, the texts before, and what the file says about the segment: its key or context,
    and the note of its authors. `labels` are messages of a program: the next one is context, too, and only
    messages of the same place in the program are.
    """
    lines = [
        Line(
            number, plain_text(one.source, labels=labels), "", f"{one.note[:_NOTE]} {one.context}", one.place
        )
        for number, one in enumerate(segments)
    ]
    contexts: list[Context | None] = []
    heading = ""
    for number, line in enumerate(lines):
        around = lines[max(0, number - SENTENCES) : number]
        around = [*(lines[number + 1 : number + 2] if labels else ()), *around]
        around = [one for one in around if one.document == line.document and not is_blank(one.source)]
        if heading and all(one.source != heading for one in around):
            around = [Line(0, heading, ""), *around]
        context = context_of(line.context, around)
        contexts.append(context if context.source else None)
        if not labels and _HEADING.fullmatch(line.source):
            heading = line.source
    return contexts


def plain_text(content: Content, *, labels: bool) -> str:
    """The text of a segment as a line: without tags and, for `labels`, without accelerator."""
    content = take_out(with_found(content, ()))[0] if labels else content
    return " ".join(text_of(content).split())
