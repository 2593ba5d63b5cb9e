"""Segments that are spans of a text, also inside the codes of other segments."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from dragoman.documents.edits import Edit, apply
from dragoman.documents.markup.inline import Item
from dragoman.documents.segment import Code, Content, Result, Segment, changed


@dataclass(frozen=True)
class Span:
    """A segment and its place text[start:end]. A span without items may lie in a code of one with items."""

    segment: Segment
    start: int
    end: int
    items: Sequence[Item] = ()


def changed_spans(spans: Sequence[Span], results: Sequence[Result | None]) -> list[tuple[Span, Content]]:
    """The spans whose results differ from the source, with their new content."""
    both = zip(spans, results, strict=True)
    return [(span, new) for span, result in both if (new := changed(span.segment, result)) is not None]


def updated(text: str, span: Span, new: Content, inner: Sequence[Edit]) -> Content:
    """The content with the edits that lie in codes of the span made there. `inner` is sorted.

    The nth of equal codes in the content is the nth in the file.
    """
    begin = bisect_left(inner, span.start, key=lambda edit: edit.start)
    inner = inner[begin : bisect_left(inner, span.end, begin, key=lambda edit: edit.start)]
    if not inner:
        return new
    starts = [edit.start for edit in inner]
    texts: dict[Code, list[str]] = {}
    for item in span.items:
        if isinstance(item.what, Code):
            edits = inner[bisect_left(starts, item.start) : bisect_left(starts, item.end)]
            moved = [Edit(edit.start - item.start, edit.end - item.start, edit.new) for edit in edits]
            made = apply(text[item.start : item.end], moved) if moved else item.what.text
            texts.setdefault(item.what, []).append(made)
    return tuple(
        replace(one, text=texts[one].pop(0)) if isinstance(one, Code) and texts.get(one) else one
        for one in new
    )


def outside(inner: Iterable[Edit], outer: Sequence[Edit]) -> list[Edit]:
    """The inner edits that lie in none of the outer ones, which are sorted."""
    ends = [edit.end for edit in outer]
    found = []
    for edit in inner:
        place = bisect_left(ends, edit.end)
        if place == len(outer) or edit.start < outer[place].start:
            found.append(edit)
    return found
