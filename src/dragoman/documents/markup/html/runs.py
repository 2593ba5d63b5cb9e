"""The segments of an HTML file: runs of inline content, and attributes that people read."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from html import unescape
from html.entities import html5
from itertools import accumulate
from typing import cast

from dragoman.base.languages import language_name, related
from dragoman.documents.markup.html.elements import BLOCK, VOID, extents
from dragoman.documents.markup.html.tokens import Attribute, HtmlToken
from dragoman.documents.markup.inline import Item, content, has_words, paired, trimmed
from dragoman.documents.markup.spans import Span
from dragoman.documents.segment import Code, Segment

_TEXT = re.compile(r"([ \t\n\f\r]*+)((?:[ \t\n\f\r]*+[^ \t\n\f\r]++)*+)([ \t\n\f\r]*+)")
_WORDS = frozenset("code kbd samp var math".split())  # copied as they are, with a place in the sentence
_OPAQUE = _WORDS | frozenset(
    "script style pre listing textarea svg iframe noembed noframes xmp plaintext rt rp".split()
)
# In a run of more tags each piece of text is a segment: such a run has unclosed tags.
MOST_TAGS = 200
_FOREIGN = ("svg", "math")  # <title> is no block there
_CONTROLS = frozenset("a button label".split())
_VISIBLE = frozenset("img input embed".split())
VISIBLE_ATTRIBUTES = frozenset(
    "alt title placeholder aria-label aria-description aria-placeholder aria-roledescription"
    " aria-valuetext".split()
)
_PAGES = frozenset(("page-list", "doc-pagelist", "pagebreak", "doc-pagebreak"))  # numbers of printed pages
_META_NAMES = frozenset(
    "description keywords og:title og:description og:image:alt twitter:title twitter:description"
    " twitter:image:alt".split()
)
_HEADINGS = frozenset("h1 h2 h3 h4 h5 h6".split())
_NOTE = re.compile(r"[\[(]?(?:\d{1,3}|[*†‡§])[\])]?")
_REFERENCE = re.compile(r"&(?:#\d+;?|#[xX][0-9A-Fa-f]+;?|([A-Za-z][A-Za-z0-9]*);?)(?=(=?))")


def read_segments(
    text: str, found: Sequence[HtmlToken], xml: bool, ignored: frozenset[str], language: str
) -> tuple[list[Span], list[HtmlToken]]:
    """Return the segments of a file and the tags of translated elements, in order.

    An attribute may lie in a code of a run. Elements that are `ignored`, and those in another language, stay.
    """
    reader = _Reader(text, found, xml, ignored, language)
    reader.read()
    return sorted(reader.spans, key=lambda span: (span.start, -span.end)), reader.tags


class _Reader:
    """Walks over the tokens of a file once."""

    def __init__(
        self, text: str, found: Sequence[HtmlToken], xml: bool, ignored: frozenset[str], language: str
    ) -> None:
        self.spans: list[Span] = []
        self.tags: list[HtmlToken] = []  # of elements whose text is translated
        self._text, self._xml, self._ignored, self._language = text, xml, ignored, language
        self._tokens = found
        self._ends = extents(found, xml)
        self._items: list[Item] = []
        self._heading = False  # whether they stand in one
        self._line_ends = [match.start() for match in re.finditer("\n", text)]
        # For each token, how many before it delimit text, and how many are to be translated in any case.
        self._blocks = [0, *accumulate(_is_block(one) for one in found)]
        self._yes = [0, *accumulate(self._translate(one) is True for one in found)]

    def read(self) -> None:
        states: list[tuple[int, bool]] = []  # the end of an element, and whether its text is translated
        place = 0
        while place < len(self._tokens):
            token = self._tokens[place]
            while states and states[-1][0] <= place:
                states.pop()
            wanted = states[-1][1] if states else True
            if token.kind == "start":
                own = self._translate(token)
                end = self._ends[place]
                if own is not None and own != wanted:
                    wanted = own
                    states.append((end, own))
                if wanted:
                    self.spans += self._values(token)
                note = self._is_note(place, end)
                if note or self._stays(token, wanted, own, self._yes[end] - self._yes[place]):
                    self._keep(place, end, note)
                    place = end
                    continue
                self.tags += [token] * wanted
            self._add(token, wanted)
            place += 1
        self._flush()

    def _translate(self, token: HtmlToken) -> bool | None:
        """Whether a tag says to translate its element or not; None if it does not say."""
        if token.kind != "start":
            return None
        if token.name in self._ignored:
            return False
        values = {one.name: self._text[one.start : one.end].strip().lower() for one in token.attributes}
        if "translate" in values and values["translate"] in ("yes", "no", ""):
            return values["translate"] != "no"
        if not _PAGES.isdisjoint(f"{values.get('epub:type', '')} {values.get('role', '')}".split()):
            return False
        named = "" if token.name in ("html", "body") else values.get("lang", values.get("xml:lang", ""))
        other = not related(named, self._language) and language_name(named) != named
        return False if other or "notranslate" in values.get("class", "").split() else None

    def _stays(self, token: HtmlToken, wanted: bool, own: bool | None, inside: int) -> bool:
        """Whether an element stays as a whole."""
        if token.name in VOID:
            return False
        if token.name in _OPAQUE:
            return own is not True or token.name not in _WORDS
        return not wanted and not inside

    def _is_note(self, place: int, end: int) -> bool:
        """Whether an element is the mark of a footnote or an exponent, right behind a word."""
        first, before = self._tokens[place], self._tokens[place - 1]
        if first.name not in ("a", "sup") or end - place > 7 or before.kind == "start" or _is_block(before):
            return False
        inside = [self._text[one.start : one.end] for one in self._tokens[place:end] if one.kind == "text"]
        glued = re.fullmatch(r"[\w.,;:!?)»”\"'>]", self._text[first.start - 1 : first.start])
        return bool(glued and _NOTE.fullmatch("".join(inside)))

    def _keep(self, place: int, end: int, note: bool) -> None:
        """Take the tokens of an element as one code, or as a delimiter of text if it has blocks."""
        first = self._tokens[place]
        if first.name not in _FOREIGN and self._blocks[end] > self._blocks[place]:
            self._flush()
            return
        until = self._tokens[end - 1].end
        seen = not note and (first.name in _WORDS or first.name not in _OPAQUE)
        code = Code(self._text[first.start : until], "placeholder" if seen else "empty")
        self._items.append(Item(first.start, until, code, visible=first.name not in ("script", "style")))

    def _add(self, token: HtmlToken, wanted: bool) -> None:
        raw = self._text[token.start : token.end]
        match token.kind:
            case "text" if wanted:
                self._items += spaced_items(raw, token.start, unescape)
            case "text" | "opaque" if raw.strip():
                self._items.append(Item(token.start, token.end, Code(raw, "placeholder")))
            case "text" | "opaque":
                self._items.append(Item(token.start, token.end, raw))
            case "comment":
                self._items.append(Item(token.start, token.end, Code(raw, "empty")))
            case "start" | "end" if not _is_block(token):
                code = _code(token, raw, self._xml)
                self._items.append(Item(token.start, token.end, code, token.name, token.name in _VISIBLE))
            case _:
                self._flush()
                self._heading = token.kind == "start" and token.name in _HEADINGS

    def _flush(self) -> None:
        """End a run, and add its segment if it has words."""
        items = trimmed(paired(self._items))
        self._items = []
        for run in (run for part in _controls(items) for run in uncrowded(part)):
            if run and has_words(source := content(run)):
                start, end = run[0].start, run[-1].end
                segment = Segment(source, self._where(start), heading=self._heading)
                self.spans.append(Span(segment, start, end, run))

    def _values(self, token: HtmlToken) -> Iterator[Span]:
        """The segments of the attributes of a tag."""
        values = {one.name: self._text[one.start : one.end].strip().lower() for one in token.attributes}
        for one in token.attributes:
            if not _is_read(token, one, values):
                continue
            plain = _unescaped(self._text[one.start : one.end]).strip(" \t\n\f\r")
            source = content([Item(one.start, one.end, plain)])
            if has_words(source):
                yield Span(Segment(source, self._where(one.start), heading=False), one.start, one.end)

    def _where(self, place: int) -> str:
        return f"line {bisect_left(self._line_ends, place) + 1}"


def _controls(items: list[Item]) -> list[list[Item]]:
    """The links, buttons and labels of a run that has no text outside of them: a menu, not a sentence.

    A label next to a link may be a sentence, as in "I agree to the terms", or continue one in lower case.
    """
    found: list[list[Item]] = []
    names: set[str] = set()
    pair = 0  # of the control around an item
    for item in items:
        if not pair and isinstance(item.what, Code) and item.what.pair and item.name in _CONTROLS:
            pair = item.what.pair
            found.append([])
            names.add(item.name)
        if pair:
            found[-1].append(item)
        elif item.solid:
            return [items]
        if isinstance(item.what, Code) and item.what.kind == "close" and item.what.pair == pair:
            pair = 0
    texts = [[item.what for item in one if item.solid and isinstance(item.what, str)] for one in found]
    first = [next(filter(str.isalpha, "".join(one)), "") for one in texts]
    if len(found) < 2 or (len(names) > 1 and "label" in names) or any(map(str.islower, first[1:])):
        return [items]
    return [trimmed(paired(one)) for one in found]


def uncrowded(items: list[Item]) -> list[list[Item]]:
    """The run, or its pieces of text if it has too many tags."""
    if sum(isinstance(item.what, Code) for item in items) <= MOST_TAGS:
        return [items]
    return [[item] for item in items if isinstance(item.what, str)]


def _is_block(token: HtmlToken) -> bool:
    return token.kind == "other" or (token.kind in ("start", "end") and token.name in BLOCK)


def _code(token: HtmlToken, raw: str, xml: bool) -> Code:
    if token.name in VOID or (xml and token.closed):
        is_break = token.name == "br"
        return Code(raw, "empty", shown=" " if is_break else "", breaks=is_break)
    return Code(raw, "close" if token.kind == "end" else "open")


def spaced_items(raw: str, start: int, decode: Callable[[str], str]) -> Iterator[Item]:
    """A piece of text: the space before it, the text, the space behind it."""
    parts = cast("re.Match[str]", _TEXT.fullmatch(raw))  # any text is space, words, space
    for number in (1, 2, 3):
        if parts[number]:
            yield Item(start + parts.start(number), start + parts.end(number), decode(parts[number]))


def _is_read(token: HtmlToken, one: Attribute, values: dict[str, str]) -> bool:
    """Whether people read the value of an attribute."""
    if one.name == "content":
        return token.name == "meta" and (values.get("name") or values.get("property")) in _META_NAMES
    if one.name == "value":
        return token.name == "input" and values.get("type") in ("submit", "button", "reset")
    if one.name == "label":
        return token.name in ("option", "optgroup", "track")
    return one.name in VISIBLE_ATTRIBUTES


def _unescaped(raw: str) -> str:
    """Decode the references in an attribute. "&copy=1" and "&copyx" are not references there (13.2.5.73)."""

    def decode(found: re.Match[str]) -> str:
        reference = found.group()
        if found[1] is not None and not reference.endswith(";") and (found[2] or found[1] not in html5):
            return reference
        return unescape(reference)

    return _REFERENCE.sub(decode, raw)
