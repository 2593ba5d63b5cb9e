"""XML inside a sentence: inline elements as codes, and sentences with codes as XML again."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from dragoman.base.errors import DataError
from dragoman.documents.segment import Code, Content, Result, Segment, Status
from dragoman.documents.xml.pieces import Piece, after_element, unescape
from dragoman.text.xml import escape, forbidden

Kind = Literal["open", "close", "empty", "placeholder"]
_NAME = re.compile(r"</?([^\s/>]+)")


@dataclass(frozen=True)
class Tag:
    """The kind of an inline element.

    A `pair` encloses text: its two tags are codes. Any other is one code with all that is in it.
    """

    kind: Literal["pair", "open", "close", "empty", "placeholder"]
    key: str = ""  # the same for an `open` and its `close`
    shown: str = ""
    breaks: bool = False
    translate: bool | None = None  # whether the text in it is translated; None is as around it


BREAK = Tag("empty", shown="\n", breaks=True)


class Reader:
    """Reads the contents of one unit of translation in order.

    Text that is not to be translated becomes placeholders. A region that an `open` forbids to translate
    continues in the next content, until its `close`. `tags` finds those that a program writes as text, each
    with its key as `open` or `close`.
    """

    def __init__(
        self,
        text: str,
        pieces: list[Piece],
        describe: Callable[[Piece], Tag],
        *,
        translate: bool = True,
        tags: re.Pattern[str] | None = None,
    ) -> None:
        self._text, self._pieces, self._describe, self._outside = text, pieces, describe, translate
        self._tags = tags
        self._regions: list[tuple[str, bool]] = []
        self._left: set[str] = set()  # regions that have ended inside others

    def read(self, first: int, last: int) -> Content:
        """Return the content of pieces[first:last]. Comments and instructions are left out."""
        built = _Builder()
        elements: list[str] = []
        at = first
        while at < last:
            piece = self._pieces[at]
            raw = self._text[piece.start : piece.end]
            at += 1
            if piece.kind in ("text", "cdata"):
                done = 0
                for found in self._tags.finditer(raw) if self._tags else ():
                    built.add_text(raw[done : found.start()], translate=self._translated())
                    add = built.open if found["open"] else built.close
                    add("{" + (found["open"] or found["close"]), found[0], Tag("open"))
                    done = found.end()
                raw = raw[done:]
                built.add_text(raw, translate=self._translated())
            elif piece.kind == "end":
                key = elements.pop()
                built.close(key, raw, Tag("close"))
                self._leave(key)
            elif piece.kind == "start":
                tag = self._describe(piece)
                if tag.kind == "pair" and not piece.empty:
                    after = self._whole(at) if tag.translate is False else 0
                else:
                    after = after_element(self._pieces, at - 1)
                if not after:
                    elements.append(f"<{at}")
                    built.open(elements[-1], raw, tag)
                    self._enter(elements[-1], tag)
                    continue
                inside, at = self._pieces[at : after - 1], after
                raw = self._text[piece.start : self._pieces[after - 1].end]
                if tag.kind == "open":
                    built.open(tag.key, raw, tag)
                    self._enter(tag.key, tag)
                elif tag.kind == "close":
                    built.close(tag.key, raw, tag)
                    self._leave(tag.key)
                elif tag.kind == "pair" and inside:
                    built.add_code(raw, "placeholder", Tag("placeholder", shown=text_in(self._text, inside)))
                else:
                    built.add_code(raw, "placeholder" if tag.kind == "placeholder" else "empty", tag)
        return built.content()

    def _enter(self, key: str, tag: Tag) -> None:
        if tag.translate is not None:
            self._regions.append((key, tag.translate))

    def _translated(self) -> bool:
        return self._regions[-1][1] if self._regions else self._outside

    def _leave(self, key: str) -> None:
        self._left.add(key)
        while self._regions and self._regions[-1][0] in self._left:
            self._left.discard(self._regions.pop()[0])

    def _whole(self, at: int) -> int:
        """The first piece behind the element of pieces[at - 1], 0 if one inside begins or ends a region."""
        after = after_element(self._pieces, at - 1)
        tags = (self._describe(one) for one in self._pieces[at:after] if one.kind == "start")
        regions = any(tag.translate is not None or tag.kind in ("open", "close") for tag in tags)
        return 0 if regions else after


def text_in(text: str, pieces: list[Piece]) -> str:
    """The text among some pieces, decoded."""
    return "".join(unescape(text[one.start : one.end]) for one in pieces if one.kind in ("text", "cdata"))


class _Builder:
    def __init__(self) -> None:
        self._parts: list[str | Code] = []
        self._words: list[str] = []  # text since the last code
        self._opened: dict[str, int] = {}  # the number of an open code in `parts`, by its key
        self._pairs = 0

    def add_text(self, raw: str, *, translate: bool) -> None:
        text = unescape(raw)
        if translate or not text.strip():
            self._words.append(text)
        else:
            self.add_code(raw, "placeholder", Tag("placeholder", shown=text))

    def add_code(self, raw: str, kind: Kind, tag: Tag, pair: int = 0) -> None:
        self.finish()
        self._parts.append(Code(raw, kind, pair, tag.shown, tag.breaks))

    def open(self, key: str, raw: str, tag: Tag) -> None:
        self.add_code(raw, "open", tag)
        if key:
            self._opened[key] = len(self._parts) - 1

    def close(self, key: str, raw: str, tag: Tag) -> None:
        number = self._opened.pop(key, None)
        if number is None:
            return self.add_code(raw, "close", tag)
        self._pairs += 1
        start = self._parts[number]
        if isinstance(start, Code):
            self._parts[number] = Code(start.text, "open", self._pairs, start.shown, start.breaks)
        self.add_code(raw, "close", tag, self._pairs)

    def finish(self) -> None:
        if words := "".join(self._words):
            self._parts.append(words)
        self._words.clear()

    def content(self) -> Content:
        self.finish()
        return tuple(self._parts)


def has_text(content: Content) -> bool:
    """Whether there is text outside the codes."""
    return any(isinstance(one, str) and not one.isspace() for one in content if one)


def same_content(one: Content, other: Content) -> bool:
    """Whether two contents are written alike. The numbers of pairs do not count."""
    return _raw(one) == _raw(other)


def changes(segment: Segment, result: Result) -> bool:
    """Whether a result changes the file: its text, or the state of a draft."""
    if result.doubts or segment.target is None or segment.state is Status.DRAFT:
        return True
    return not same_content(result.content, segment.target)


def _raw(content: Content) -> str:
    return "".join(one.text if isinstance(one, Code) else escape(one) for one in content)


def write(
    content: Content, where: str, *, newline: str = "\n", represent: Callable[[str], str] | None = None
) -> str:
    """Return a content as XML, with `represent` for the characters that XML forbids.

    Raises DataError for such a character without `represent`, and ValueError if the tags of the codes do not
    nest.
    """
    _check_nesting(content)
    parts = []
    for one in content:
        if isinstance(one, Code):
            parts.append(one.text)
        elif not forbidden(one):
            parts.append(escape(one).replace("\n", newline))
        elif represent is None:
            raise DataError(
                f"{where}: XML cannot hold the character U+{ord(forbidden(one)):04X}",
                hint="remove it from the translation",
            )
        else:
            parts += [represent(char) if forbidden(char) else escape(char) for char in one]
    return "".join(parts)


def _check_nesting(content: Content) -> None:
    inside: list[str] = []
    for one in content:
        name = _NAME.match(one.text) if isinstance(one, Code) else None
        if not isinstance(one, Code) or name is None:
            continue
        if one.text.startswith("</"):
            if not inside or inside.pop() != name[1]:
                raise ValueError(f"{one.text} closes what is not open")
        elif one.kind == "open" and "</" not in one.text and not one.text.endswith("/>"):
            inside.append(name[1])
    if inside:
        raise ValueError(f"<{inside[-1]}> is not closed")
