"""From the inside of a paragraph to the content of a segment, for Word and OpenDocument alike."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, TypeVar

from dragoman.documents.edits import unsafe
from dragoman.documents.segment import Code, Content, merged
from dragoman.documents.xml.pieces import Element

_DEEPEST = 50  # links, insertions and others inside each other


@dataclass(slots=True)
class Atom:
    """A step through a paragraph: some text, or a code."""

    kind: Literal["text", "open", "close", "empty", "placeholder"]
    raw: str  # as the file has it
    text: str = ""  # decoded; of a code, what a reader sees there
    breaks: bool = False
    pair: int = 0
    limit: Literal["", "start", "end"] = ""  # the start or end of a range, such as a bookmark
    range: str = ""  # which range
    nested: tuple[tuple[int, int], ...] = ()  # spans of the file inside `raw` with paragraphs of their own

    def code(self) -> Code:
        """The atom as a code. A text is not one."""
        kind = "empty" if self.kind == "text" else self.kind
        return Code(self.raw, kind, self.pair, "" if self.pair else self.text, self.breaks)


RangedAtom = TypeVar("RangedAtom", bound=Atom)


class ParagraphReader:
    """Collects the atoms of one paragraph."""

    def __init__(self, text: str, starts: Sequence[int]) -> None:
        self.text, self.starts = text, starts
        self.pair = 0

    def raw(self, element: Element) -> str:
        return self.text[element.start : element.end]

    def element(self, element: Element, atom: RangedAtom, start: str, end: str, id: str) -> RangedAtom:
        """Note whether a code begins or ends a range, and whether other paragraphs lie in it."""
        if element.name.endswith((start, end)):
            atom.limit = "start" if element.name.endswith(start) else "end"
            atom.range = element.name.removesuffix(start).removesuffix(end) + id
        first = bisect_right(self.starts, element.start)
        if first < len(self.starts) and self.starts[first] < element.end:
            atom.nested = ((element.start, element.end),)
        return atom


def check_depth_of_inline(depth: int) -> None:
    """Raise DataError if links, insertions and others lie too deep inside each other."""
    if depth > _DEEPEST:
        raise unsafe(f"more than {_DEEPEST} elements inside each other in a paragraph")


def pair_ranges(atoms: Sequence[Atom], pair: int) -> int:
    """Make pairs of bookmarks and other ranges that enclose text and cross no other pair.

    `pair` is the last number in use; the new last one is returned.
    """
    if not any(one.limit for one in atoms):
        return pair
    open_: list[Atom] = []
    crossed: set[int] = set()  # ids of starts that lie open in `open_` but can no longer be paired
    starts: dict[str, tuple[Atom, int]] = {}  # and how many texts came before
    texts = 0
    for atom in atoms:
        if atom.kind == "text":
            texts += bool(atom.text.strip())
        elif atom.kind == "open":
            open_.append(atom)
        elif atom.kind == "close":
            while open_.pop().pair != atom.pair:
                pass
        elif atom.limit == "start":
            open_.append(atom)
            starts[atom.range] = atom, texts
        elif atom.limit == "end" and atom.range in starts:
            start, before = starts.pop(atom.range)
            while open_ and id(open_[-1]) in crossed:
                open_.pop()
            if not open_ or open_[-1] is not start or texts == before:
                crossed.add(id(start))
                continue
            open_.pop()
            pair += 1
            start.kind, atom.kind = "open", "close"
            start.pair = atom.pair = pair
    return pair


def trim(items: Iterable[str | Code]) -> tuple[Content, Content, Content]:
    """Split a paragraph into the part that stays before the sentence, the sentence, and the part after it.

    Spaces and empty codes at the ends stay in place, and so do pairs around all of it.
    """
    content = merged(items)
    start, end = 0, len(content)
    while start < end:
        first, last = content[start], content[end - 1]
        if _stays(first):
            start += 1
        elif _stays(last):
            end -= 1
        elif isinstance(last, str):
            break
        elif isinstance(first, Code) and (first.kind, last.kind, first.pair) == ("open", "close", last.pair):
            start, end = start + 1, end - 1
        elif end - 2 > start and last.kind == "placeholder" and getattr(content[end - 2], "shown", "") == " ":
            end -= 2  # the page number in a table of contents
        else:
            break
    before, middle, after = content[:start], content[start:end], content[end:]
    if middle and isinstance(one := middle[0], str) and (bare := one.lstrip()) != one:
        before, middle = (*before, one[: len(one) - len(bare)]), (bare, *middle[1:])
    if middle and isinstance(one := middle[-1], str) and (bare := one.rstrip()) != one:
        middle, after = (*middle[:-1], bare), (one[len(bare) :], *after)
    return before, middle, after


def _stays(one: str | Code) -> bool:
    return one.kind == "empty" if isinstance(one, Code) else not one.strip()


def mend(content: Content, source: Content) -> Content:
    """Return a content that can be written: its pairs nest, and no code of the source is lost or strange.

    A pair that crosses another one ends early. Missing codes without a pair, such as images, go to the end.
    """
    old = [one for one in source if isinstance(one, Code)]
    if [one for one in content if isinstance(one, Code)] == old:
        return merged(content)
    codes = Counter(old)
    closing = {one.pair: one for one in old if one.kind == "close"}
    done: list[str | Code] = []
    open_: dict[int, Code] = {}  # pair -> its closing code
    for one in content:
        if isinstance(one, str):
            done.append(one)
        elif one.kind == "open" and one in codes and one.pair not in open_:
            done.append(one)
            open_[one.pair] = closing[one.pair]
        elif one.kind == "close" and one.pair in open_:
            while one.pair in open_:
                done.append(open_.popitem()[1])
        elif one.kind in ("empty", "placeholder") and codes[one] > 0:
            done.append(one)
            codes[one] -= 1
    done += reversed(open_.values())
    for code, count in codes.items():
        if code.kind in ("empty", "placeholder"):
            done += [code] * count
    return merged(done)
