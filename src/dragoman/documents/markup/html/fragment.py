"""A fragment of XML, such as `Press <x id="1"></x> & go`, for a translator.

Any text is read, also if it is not well-formed. Tags stay as they are and none is lost. White space counts.
Where an element has elements but no text of its own, each of these is a segment. So are elements that HTML
has on lines of their own, such as <p>; no sentence goes beyond <br/>. Others are in sentences.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from html import unescape

from dragoman.documents.edits import Edit, apply
from dragoman.documents.flat import DIVIDING
from dragoman.documents.markup.html.runs import spaced_items, uncrowded
from dragoman.documents.markup.html.tokens import HtmlToken, tokens
from dragoman.documents.markup.inline import Item, has_words, matches, paired, trimmed
from dragoman.documents.markup.spans import Span, changed_spans
from dragoman.documents.segment import Code, Result, Segment, merged

_LINE_BREAKS = frozenset(("br", "hr"))
_REFERENCE = re.compile(r"&(?:#[0-9]{1,7}|#[xX][0-9A-Fa-f]{1,6}|[A-Za-z][A-Za-z0-9]{0,31});")


class XmlFragment:
    """The segments of a piece of XML. Elements with names that are `ignored`, in lower case, stay.

    With `stand_ins`, an element without text has a place in the sentence, as a word has: for models with
    reserved pieces. Otherwise it is put where its neighbours are.
    """

    def __init__(self, text: str, *, ignored: frozenset[str] = frozenset(), stand_ins: bool = False) -> None:
        self._text, self._ignored, self._stand_ins = text, ignored, stand_ins
        self._tokens = list(tokens(text, True))
        kinds = ["closed" if one.closed else one.kind for one in self._tokens]
        self._ends = matches(kinds, [one.name for one in self._tokens], "start", "end")
        self._spans: list[Span] = []
        self._items: list[Item] = []
        self._opened = 0  # elements of the run that are open
        self._read()
        self.segments = [span.segment for span in self._spans]

    def render(self, results: list[Result | None]) -> bytes:
        """Return the piece with these translations in UTF-8. See `Document.render`."""
        edits = []
        for span, new in changed_spans(self._spans, results):
            parts = (one.text if isinstance(one, Code) else _escaped(one) for one in new)
            edits.append(Edit(span.start, span.end, "".join(parts)))
        return apply(self._text, edits).encode()

    def _read(self) -> None:
        delimiters = _delimiters(self._text, self._tokens, self._ends)
        place = 0
        while place < len(self._tokens):
            token, end = self._tokens[place], self._ends.get(place)
            dividing = token.kind in ("start", "end") and token.name in DIVIDING
            # Within an open element of a sentence a segment of its own would tear that apart.
            inside = self._opened and (place not in delimiters or any(one.solid for one in self._items))
            own = not inside and (dividing or place in delimiters)
            if own:
                self._flush()
            # It is one code if it is ignored, or has nothing inside.
            is_one = end is not None and (token.name in self._ignored or end == place + 1)
            if token.kind == "start" and end is not None and is_one:
                self._add_whole(place, end)
                place = end
            else:
                self._add(token, breaks=dividing or place in delimiters)
            if own:
                self._flush()
            place += 1
        self._flush()

    def _add_whole(self, place: int, end: int) -> None:
        inside = [one for one in self._tokens[place + 1 : end] if one.kind == "text"]
        shown = "".join(_decoded(self._text[one.start : one.end]) for one in inside)
        self._add_one(self._tokens[place], self._tokens[end].end, shown)

    def _add_one(self, token: HtmlToken, end: int, shown: str = "") -> None:
        """Add an element, or a tag such as <x/>, as one code."""
        raw, solid = self._text[token.start : end], bool(shown.strip()) or self._stand_ins
        code = Code(raw, "placeholder" if solid else "empty", shown=shown if solid else "")
        if token.name in _LINE_BREAKS:
            code = Code(raw, "empty", shown=" ", breaks=True)
        self._items.append(Item(token.start, end, code, visible=True))

    def _add(self, token: HtmlToken, *, breaks: bool) -> None:
        raw = self._text[token.start : token.end]
        if token.kind == "text":
            self._items += spaced_items(raw, token.start, _decoded)
        elif token.kind in ("start", "end") and not token.closed:
            self._opened = self._opened + 1 if token.kind == "start" else max(self._opened - 1, 0)
            code = Code(raw, "open" if token.kind == "start" else "close", breaks=breaks)
            self._items.append(Item(token.start, token.end, code, token.name))
        elif token.kind == "start":
            self._add_one(token, token.end)
        elif token.kind == "other" or raw.startswith("<?"):
            self._flush()
        else:
            solid = token.kind in ("opaque", "raw") and bool(raw.strip())
            self._items.append(Item(token.start, token.end, Code(raw, "placeholder" if solid else "empty")))

    def _flush(self) -> None:
        items, self._items, self._opened = trimmed(paired(self._items)), [], 0
        for run in uncrowded(items):
            source = merged(item.what for item in run)
            if run and has_words(source):
                self._spans.append(Span(Segment(source, ""), run[0].start, run[-1].end, run))


def _decoded(raw: str) -> str:
    return _REFERENCE.sub(lambda found: unescape(found.group()), raw)


def _escaped(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace("]]>", "]]&gt;")


def _delimiters(text: str, found: Sequence[HtmlToken], ends: dict[int, int]) -> set[int]:
    """The places of tags that end a segment: tags of elements inside one without text of its own."""
    delimiters: set[int] = set()
    behind = {end: start for start, end in ends.items()}
    own: list[tuple[bool, list[int]]] = [(False, [])]  # of each open element: has text, tags in it
    for place, token in enumerate(found):
        if token.kind in ("text", "opaque") and text[token.start : token.end].strip():
            own[-1] = True, own[-1][1]
        elif place in ends:
            own[-1][1].append(place)
            own.append((False, []))
        elif place in behind:
            has_text, inside = own.pop()
            delimiters.update(() if has_text else inside)
            own[-1][1].append(place)
    return delimiters.union(*(inside for has_text, inside in own if not has_text))
