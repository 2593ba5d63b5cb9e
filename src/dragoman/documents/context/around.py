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
_BRANCHES = re.compile(r"\{\s*[\w.]+\s*,\s*(?:plural|select|selectordinal|choice)\s*,")
_NOTE = 200  # characters of a note


def contexts_of(segments: Sequence[Segment], *, labels: bool) -> list[Context | None]:
    """The context of each segment, None for one without.

    It is the heading above, the texts before, and what the file says about the segment: its key or context,
    and the note of its authors. `labels` are messages of a program: the next one is context, too, and only
    messages of the same place in the program are.
    """
    texts = [plain_text(one.source, labels=labels) for one in segments]
    texts = ["" if _BRANCHES.search(text) else text for text in texts]  # which are no text to read
    lines = [
        Line(number, text, "", f"{one.note[:_NOTE]} {one.context}", one.place)
        for number, (one, text) in enumerate(zip(segments, texts, strict=True))
    ]
    contexts: list[Context | None] = []
    heading = ""
    for number, (line, segment) in enumerate(zip(lines, segments, strict=True)):
        around = lines[max(0, number - SENTENCES) : number]
        around = [*(lines[number + 1 : number + 2] if labels else ()), *around]
        around = [one for one in around if one.document == line.document and not is_blank(one.source)]
        if heading and all(one.source != heading for one in around):
            around = [Line(0, heading, ""), *around]
        context = context_of(line.context, around)
        contexts.append(context if context.source else None)
        is_short = segment.heading is None and not labels and _HEADING.fullmatch(line.source)
        heading = line.source if segment.heading or is_short else heading
    return contexts


def plain_text(content: Content, *, labels: bool) -> str:
    """The text of a segment as a line: without tags and, for `labels`, without accelerator."""
    content = take_out(with_found(content, ()))[0] if labels else content
    return " ".join(text_of(content).split())
