"""Put the tags of a sentence into its translation, by word alignment.

A pair of tags goes around the words that are aligned with the text it encloses. Pairs that enclose each other
do so afterwards; adjacent pairs stay adjacent. No tag is ever lost or doubled.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from dragoman.documents.segment import Code
from dragoman.text.spans import Link

_MARKS = ".,;:!?…。，；：！？、"

Tags = Sequence[tuple[int, Code]]


@dataclass
class _Node:
    """A tag with its place: a pair that encloses text and other tags, or a single tag."""

    start: int
    end: int
    open: Code | None
    close: Code | None = None
    inside: list[_Node] = field(default_factory=list)


def place(
    tags: Tags, links: Sequence[Link], source: str, target: str, kept: Sequence[tuple[int, int]] = ()
) -> list[tuple[int, Code]]:
    """Return the tags with their places in `target`, in order. None is inside a span of `kept`."""
    return list(_put(_tree(tags, len(source)), 0, len(target), _Range(links, source, target, kept)))


@dataclass
class _Range:
    """Where spans of the source are in the target."""

    links: Sequence[Link]
    source: str
    target: str
    kept: Sequence[tuple[int, int]]

    def span(self, start: int, end: int, low: int, high: int) -> tuple[int, int] | None:
        """The span aligned with source[start:end], within target[low:high]; None if nothing is."""
        if not self.source[:start].strip() and not self.source[end:].strip():
            words = self.target[low:high]
            first = high - len(words.lstrip()) if words.strip() else low
            last = low + len(words.rstrip()) if words.strip() else high
        else:
            linked = [(t, u) for s, e, t, u in self.links if s < end and e > start and u > low and t < high]
            if not linked:
                return None
            first = max(self._outside(min(t for t, _ in linked), before=True), low)
            last = min(self._outside(max(u for _, u in linked), before=False), high)
            if self.source[:end].rstrip()[-1:] not in _MARKS:  # the mark after a bold word is not bold
                last = first + len(self.target[first:last].rstrip(_MARKS))
        return self._spaced(start, first, low, before=True), self._spaced(end, last, high, before=False)

    def point(self, at: int, low: int, high: int) -> int:
        """The place of source[at:at] in target[low:high]."""
        following = [(s, t) for s, e, t, u in self.links if s >= at and low <= t <= high]
        preceding = [
            (e, u) if e <= at else (at, t + len(self.target[t:u].rstrip(_MARKS)))
            for s, e, t, u in self.links
            if s < at and not self.source[at:e].strip(_MARKS) and low <= u <= high
        ]
        # A tag sticks to the word that it touches, and otherwise stands before the next one.
        if preceding and (not following or not self.source[at - 1 : at].isspace()):
            nearest = max(e for e, _ in preceding)
            place = self._outside(max(u for e, u in preceding if e == nearest), before=False)
            return self._spaced(at, place, high, before=False)
        if following:
            nearest = min(s for s, _ in following)
            place = self._outside(min(t for s, t in following if s == nearest), before=True)
            return self._spaced(at, place, low, before=True)
        return high if self.source[:at].strip() else low

    def _spaced(self, at: int, place: int, limit: int, *, before: bool) -> int:
        """Move over as much space as is between source[at] and the nearest word."""
        step, behind = (1, 0) if before else (-1, 1)
        while (
            step * (place - limit) > 0
            and self.source[at - behind : at - behind + 1].isspace()
            and self.target[place + behind - 1].isspace()
        ):
            at, place = at + step, place - step
        return place

    def _outside(self, at: int, *, before: bool) -> int:
        """The place itself, or the nearest one that is not inside a placeholder or a word."""
        for start, end in self.kept:
            if start < at < end:
                return start if before else end
        text = self.target
        while 0 < at < len(text) and _joins(text[at - 1], text[at]):
            at += -1 if before else 1
        return at


def _put(nodes: list[_Node], low: int, high: int, where: _Range) -> Iterator[tuple[int, Code]]:
    """Place the nodes within target[low:high]: first where each would go, then in that order, apart."""
    spans = []
    for node in nodes:
        span = where.span(node.start, node.end, low, high) if node.end > node.start else None
        at = where.point(node.start, low, high)
        spans.append((*(span or (at, at)), node))
    done = low
    for start, end, node in sorted(spans, key=lambda one: one[:2]):
        start = max(start, done)
        end = max(end, start)
        if node.open:
            yield start, node.open
        yield from _put(node.inside, start, end, where)
        if node.close:
            yield end, node.close
        done = end


def _tree(tags: Tags, length: int) -> list[_Node]:
    """The tags as pairs inside each other. An opening tag without a partner encloses all after it, a closing
    one all before it: their partners are in another part of the segment. Crossing pairs count as without.
    """
    nodes: list[_Node] = []
    opened: list[tuple[_Node, list[_Node]]] = []  # with the nodes around each
    for at, code in tags:
        opening = opened[-1][0].open if opened else None
        if code.kind == "open":
            opened.append((_Node(at, length, code), nodes))
            nodes = []
        elif code.kind == "close" and opening and code.pair and opening.pair == code.pair:
            node, around = opened.pop()
            node.end, node.close, node.inside = at, code, nodes
            nodes = [*around, node]
        elif code.kind == "close":
            nodes = [_Node(0, at, None, code, nodes)]
        else:
            nodes.append(_Node(at, at, code))
    while opened:
        node, around = opened.pop()
        node.inside = nodes
        nodes = [*around, node]
    return nodes


def _joins(before: str, after: str) -> bool:
    """Whether a word continues between two characters. Scripts without spaces have no words here."""
    return before.isalnum() and after.isalnum() and ord(before) < 0x2E80 and ord(after) < 0x2E80
