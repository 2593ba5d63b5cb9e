"""A segment of several texts: each is translated on its own, and the structure around them stays."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace

from dragoman.documents.segment import Code, Content, Result, Segment, Status, full_text, merged

CODE = "\ufdd0"  # stands for a code in the text of a segment; no text has this character
_STUCK = "not translated: "


@dataclass(frozen=True)
class Leaf:
    """A text to translate. `raw` is what the segment has there, or None if it is to be written anew."""

    source: Content
    raw: Content | None
    path: str  # "count.one"
    write: Callable[[Content], Content | None] = field(compare=False)  # None: it would change the structure


class CodedText:
    """The content of a segment as one text, with a sign for each code."""

    def __init__(self, content: Content) -> None:
        self.text = ""
        self.codes: dict[int, Code] = {}  # by their places in the text
        for one in content:
            if isinstance(one, Code):
                self.codes[len(self.text)] = one
            self.text += CODE if isinstance(one, Code) else one
        self.is_clean = self.text.count(CODE) == len(self.codes)

    def raw(self, start: int, end: int) -> Content:
        """The content of text[start:end]."""
        content: list[str | Code] = []
        for place in [at for at in self.codes if start <= at < end]:
            content += [self.text[start:place], self.codes[place]]
            start = place + 1
        return merged([*content, self.text[start:end]])


class Divided:
    """A segment, whose texts stand between items that stay. Equal texts are translated once."""

    def __init__(
        self,
        segment: Segment,
        pieces: Iterable[str | Code | Leaf],
        doubts: Iterable[str] = (),
        *,
        unread: str = "",  # why not all is translated
    ) -> None:
        self._segment, self._pieces, self._doubts = segment, list(pieces), tuple(doubts)
        self._unread = unread
        leaves = [one for one in self._pieces if isinstance(one, Leaf)]
        self._numbers = {source: n for n, source in enumerate(dict.fromkeys(one.source for one in leaves))}
        self.segments = [
            segment
            if one == segment.source
            else replace(segment, source=one, target=None, state=Status.MISSING)
            for one in self._numbers
        ]

    @property
    def is_one(self) -> bool:
        """Whether it is one text, as it is."""
        return [one.source for one in self.segments] == [self._segment.source]

    def joined(self, results: Sequence[Result]) -> Result:
        """The result of the segment, of those of its `segments`."""
        content, doubts = list[str | Code](), list(self._doubts)
        is_same = all(one.content == two.source for one, two in zip(results, self.segments, strict=True))
        for piece in self._pieces:
            if not isinstance(piece, Leaf):
                content.append(piece)
                continue
            result = results[self._numbers[piece.source]]
            new = piece.raw if result.content == piece.source else piece.write(result.content)
            if new is None and result.content != piece.source:
                doubts.append(f"{piece.path}: {_STUCK}it would change the structure")
                new = piece.raw
            content += piece.write(piece.source) or () if new is None else new
            where = "" if is_same or not piece.path else f"{piece.path}: "
            doubts += [where + doubt for doubt in result.doubts]
            if full_text(piece.source).count("|") != full_text(result.content).count("|"):
                doubts.append(f"{where}sign differs: |")  # programs may read it
        matches = [one.match for one in results if one.match]
        if len(matches) < len(results):  # not all is from the memory
            matches = [one for one in matches if not one.exact]
        if self._unread:
            doubts.append(_STUCK * is_same + self._unread)
        return Result(
            self._segment.source if is_same else merged(content),
            tuple(dict.fromkeys(doubts)),
            min(matches, key=lambda one: one.score, default=None),
        )


def whole_leaf(segment: Segment) -> Leaf:
    """The only text of a segment."""
    return Leaf(segment.source, segment.source, "", lambda content: content)
