"""Runs of text with codes: from places in a file to the content of a segment."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Container, Iterable, Sequence
from dataclasses import dataclass, replace

from dragoman.documents.segment import Code, Content, merged

_SPACE = re.compile(r"[ \t\n\f\r]+")


@dataclass(frozen=True)
class Item:
    """A part text[start:end] of a file: decoded text, or a code."""

    start: int
    end: int
    what: str | Code
    name: str = ""  # by which codes are paired, such as "b"
    visible: bool = False  # a code between spaces that both count, such as an image

    @property
    def solid(self) -> bool:
        """Whether it has a place in the sentence: text that is not space, or a placeholder."""
        if isinstance(self.what, Code):
            return self.what.kind == "placeholder"
        return not blank(self.what)


def blank(text: str) -> bool:
    """Whether a text is nothing but the white space that HTML and Markdown collapse."""
    return not text.strip(" \t\n\f\r")


def paired(items: Iterable[Item]) -> list[Item]:
    """Number the opening and closing codes that belong together. Others become empty codes.

    Pairs nest: of two that cross, the inner opening code stays without a partner.
    """
    found = list(items)
    kinds = [item.what.kind if isinstance(item.what, Code) else "" for item in found]
    ends = matches(kinds, [item.name for item in found], "open", "close")
    numbers = {place: n for n, start in enumerate(sorted(ends), 1) for place in (start, ends[start])}
    for place, item in enumerate(found):
        if isinstance(item.what, Code) and item.what.kind in ("open", "close"):
            kind = item.what.kind if place in numbers else "empty"
            found[place] = replace(item, what=replace(item.what, kind=kind, pair=numbers.get(place, 0)))
    return found


def matches(kinds: Sequence[str], names: Sequence[str], start: str, end: str) -> dict[int, int]:
    """The places of the ends that belong to starts of the same name. Pairs nest; crossing ones have none."""
    ends: dict[int, int] = {}
    opened: list[int] = []
    waiting: Counter[str] = Counter()
    for place, (kind, name) in enumerate(zip(kinds, names, strict=True)):
        if kind == start:
            opened.append(place)
            waiting[name] += 1
        elif kind == end and waiting[name]:
            last = -1
            while last < 0 or names[last] != name:
                last = opened.pop()
                waiting[names[last]] -= 1
            ends[last] = place
    return ends


def trimmed(items: Sequence[Item]) -> list[Item]:
    """Leave out unneeded items at the ends of a segment: space, empty codes, and pairs around all of it.

    Takes and returns items of `paired`, with new numbers. Text has its outer space in items of their own.
    """
    solid = [place for place, item in enumerate(items) if item.solid]
    if not solid:
        return []
    first, last = solid[0], solid[-1]
    places: dict[int, list[int]] = {}
    for place, item in enumerate(items):
        if isinstance(item.what, Code) and item.what.pair:
            places.setdefault(item.what.pair, []).append(place)
    start, end = first, last
    for one, other in places.values():
        if first <= other <= last:
            start = min(start, one)
        if first <= one <= last:
            end = max(end, other)
    return paired(items[start : end + 1])


def core_of(items: Sequence[Item], text: str) -> Sequence[Item]:
    """The items of a segment: not those at the ends, unless a link has to get the label that its text was."""
    core = trimmed(items)
    for place, item in enumerate(items):
        if isinstance(item.what, Code) and item.what.kind == "close" and core and item.start >= core[-1].end:
            if item.what.text == text[item.start : item.end]:
                continue
            pair = item.what.pair
            codes = (n for n, one in enumerate(items) if isinstance(one.what, Code) and one.what.pair == pair)
            start = next(codes)
            if items[start].start < core[0].start:
                core = paired(items[start : place + 1])
    return core


def content(items: Iterable[Item]) -> Content:
    """The content of a run, white space collapsed as a browser does, also across codes."""
    parts: list[str | Code] = []
    spaced = True
    for item in items:
        if isinstance(item.what, Code):
            parts.append(item.what)
            if item.what.breaks:
                spaced = True
            elif item.visible or item.what.kind == "placeholder":
                spaced = False
            continue
        text = _SPACE.sub(" ", item.what)
        if spaced and text.startswith(" "):
            text = text[1:]
        if text:
            spaced = text.endswith(" ")
            parts.append(text)
    return merged(parts)


def has_words(parts: Content) -> bool:
    """Whether there is a letter outside of codes, so that a translator has something to do."""
    return any(isinstance(part, str) and any(map(str.isalpha, part)) for part in parts)


def essence(parts: Content) -> list[tuple[str, str]]:
    """What has to come back when a content is read again: all but space, and the numbers of pairs."""
    bare = merged("".join(one.split()) if isinstance(one, str) else one for one in parts)
    return [(one.kind, "".join(one.text.split())) if isinstance(one, Code) else ("text", one) for one in bare]


def hugged(new: Content, moves: Container[str] | None, drops: Container[str]) -> Content:
    """Move space out of pairs, where it would end them, and leave out pairs around nothing.

    This holds for pairs with the texts `moves` (all, if None) and `drops`.
    """

    def is_mark(one: str | Code, kind: str, texts: Container[str] | None) -> bool:
        return isinstance(one, Code) and one.kind == kind and (texts is None or one.text in texts)

    parts = list(new)
    for place in range(len(parts) - 2, -1, -1):
        one, after = parts[place], parts[place + 1]
        if is_mark(one, "open", moves) and isinstance(after, str) and after[:1].isspace():
            parts[place : place + 2] = [" ", one, after.lstrip()]
    place = 1
    while place < len(parts):
        before, one = parts[place - 1], parts[place]
        if is_mark(one, "close", moves) and isinstance(before, str) and before[-1:].isspace():
            parts[place - 1 : place + 1] = [*filter(None, [before.rstrip()]), one, " "]
            place -= not before.strip()
            if place and not before.strip():
                continue
        elif is_mark(one, "close", drops) and is_mark(before, "open", drops):
            del parts[place - 1 : place + 1]
            place = max(place - 2, 0)
        place += 1
    return merged(parts)
