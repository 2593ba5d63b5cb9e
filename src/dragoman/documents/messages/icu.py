"""ICU messages: {count, plural, one {# file} other {# files}}. Branches are translated, the skeleton stays.

A branch within a sentence becomes a branch around the sentence. A plural gets the categories of the target
language. Also those of java.text.MessageFormat, with {0,choice,0#none|1#one|1<many}, and of Angular, which
knows no apostrophes. By default apostrophes quote as in ICU: only before a brace, and before # in a plural.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import count

from dragoman.documents.messages.divided import CODE, CodedText, Divided, Leaf, whole_leaf
from dragoman.documents.plural_rules import CATEGORIES, another_one, categories_of
from dragoman.documents.segment import Code, Content, Segment, full_text, merged
from dragoman.text.checks.placeholders import find_placeholders, has_language

_DEEPEST, _MOST_ARGUMENTS, _MOST_TEXTS = 20, 8, 60
_HEAD = re.compile(r"\{\s*(?P<name>[\w$][\w.\-$]*)\s*(?:\}|,\s*(?P<kind>\w+)\s*(?P<end>[,}]))")
_DOUBLE = re.compile(r"\{\{[^{}]*\}\}")  # of a template; no message has it
_OFFSET = re.compile(r"\s*offset:\s*-?\d+")
_SELECTOR = re.compile(r"\s*(?P<selector>=\d+|[\w-]+)\s*\{")
_LIMIT = re.compile(r"(?P<selector>\s*(?:-?\d+(?:\.\d*)?|-?∞)\s*)[#<\u2264]")
_PLURALS = ("plural", "selectordinal")
_LITERAL = re.compile(rf"[^'{{}}#|<\u2264{CODE}]+")
_APOSTROPHE = re.compile(
    r"\A'+|'{2,}|'+(?=[{}#|<>]|\Z)"
)  # would end a quote, begin one, or be one apostrophe
_CLOSE = re.compile(r"\s*\}")
_QUOTED = re.compile(r"'((?:[^']|'')*+)(?:'|\Z)")
_BRACE = re.compile(r"'[^']*'|[{}]")
_ANGULAR = re.compile(r"\s*\{\s*VAR_(?:PLURAL|SELECT)")
# Branches of MediaWiki, of SmartFormat, of Fluent and of MessageFormat 2, which are not read here.
_FOREIGN = (
    r"\{\{#?(?i:plural|gender|grammar):|\{\w*:(?:plural|choose|cond|p)[:(]|\{\s*\$[\w-]+\s*->"
    r"|\A\s*\.(?:input|local|match)\s"
)
_BRANCHES = re.compile(r"\{\s*[\w.$-]+\s*,\s*(?i:plural|select|selectordinal|choice)\s*,|" + _FOREIGN)
_FIXED = re.compile(r"\bcan(?:Copy|Delete)=[\"']no")  # of XLIFF 2
_UNREAD = "a message with branches that cannot be read"


class _Malformed(ValueError):
    """Not a message."""


class _Unwritable(ValueError):
    """A message whose branches cannot be translated on their own."""


class KeptArgument(Code):
    """An argument of a message. It goes back as text."""


@dataclass(frozen=True)
class _Branch:
    selector: str
    at: int  # where the selector begins
    start: int  # of the text within the braces
    end: int
    parts: list[_Part]


@dataclass(frozen=True)
class _Part:
    """text[start:end]: a literal `text`, an argument with its kind, # in a plural, or a code of the file."""

    start: int
    end: int
    kind: str
    name: str = ""  # of the argument; of the plural for #
    text: str = ""
    branches: list[_Branch] = field(default_factory=list)


def branches_of(segment: Segment, language: str) -> Divided | None:
    """Return a segment as a message, or None if it is other text. One that cannot be read has a doubt."""
    flagged = not {"icu-format", "java-format"}.isdisjoint(segment.flags)
    if not flagged and not any(_BRANCHES.search(one) for one in segment.source if isinstance(one, str)):
        return None
    marked = CodedText(segment.source)
    message = _Message(marked, language, segment.flags)
    parts: list[_Part] | None = None
    with contextlib.suppress(_Malformed):
        parts, _ = message.parse(0, 0) if marked.is_clean else (None, 0)
    branched = [one for one in parts or () if one.branches]
    if parts is None or not (branched or flagged):
        if not _BRANCHES.search(marked.text):
            return None
        whole = parts or any(one.kind == "icu" for one in find_placeholders(marked.text))
        return Divided(segment, [whole_leaf(segment)] if whole else segment.source, unread=_UNREAD)
    try:
        return Divided(segment, list(message.pieces(parts)), message.doubts)
    except _Unwritable:
        if any(CODE in marked.text[one.start : one.end] for one in branched):
            return Divided(segment, segment.source, unread=_UNREAD)
        parts = [replace(one, branches=[]) for one in parts]
        return Divided(segment, list(message.pieces(parts)), unread="branches within a sentence")


def arguments_of(content: Content) -> frozenset[tuple[str, str]] | None:
    """The arguments of a message with their kinds, or None for other text."""
    marked = CodedText(content)
    try:
        parts, _ = _Message(marked, "", ()).parse(0, 0)
    except _Malformed:
        return None
    found, todo = set(), list(parts)
    while todo:
        part = todo.pop()
        todo += [one for branch in part.branches for one in branch.parts]
        if part.kind not in ("text", "#"):
            found.add((marked.codes[part.start].text if part.kind == "code" else part.name, part.kind))
    return frozenset(found) if any(one.branches for one in parts) else None


def quote_icu(text: str, *, in_plural: bool, doubled: bool) -> str:
    """Write a text so that ICU reads it as it is.

    If apostrophes are not `doubled`, those that would quote become U+2019, which is a quote in no dialect.
    """
    special = "[{}#]" if in_plural else "[{}]"
    parts = re.split(f"({special}(?:[{{}}#']*{special})?)", text)
    for number, part in enumerate(parts):
        if number % 2:
            parts[number] = "'" + part.replace("'", "''") + "'"
        elif doubled:
            parts[number] = part.replace("'", "''")
        else:
            parts[number] = _APOSTROPHE.sub(lambda found: "’" * len(found[0]), part)
    return "".join(parts)


class _Message:
    """A message that is read, and then divided."""

    def __init__(self, marked: CodedText, language: str, flags: tuple[str, ...]) -> None:
        self._marked, self._text, self._language = marked, marked.text, language
        self._doubled = "java-format" in flags or "''" in self._text
        self._quotes = not _ANGULAR.match(self._text)
        self._fixed = any(_FIXED.search(one.text) for one in marked.codes.values())
        self._raws: dict[str, Content] = {}  # of arguments, by their text
        self._offsets: set[str] = set()
        self._count = 0
        self.doubts: list[str] = []

    # ---- read --------------------------------------------------------------------------------------

    def parse(
        self, place: int, depth: int, plural: str = "", *, choice: bool = False
    ) -> tuple[list[_Part], int]:
        """Return the parts of a message from a place on, and where it ends: before a brace, or with the text.

        `plural` is the argument that # stands for. In a `choice`, a message also ends before "|".
        """
        if depth > _DEEPEST:
            raise _Malformed
        text, ends, start = self._text, "|}" if choice else "}" if depth else "", place
        parts, literal = list[_Part](), list[str]()
        while place < len(text) and text[place] not in ends:
            char, part = text[place], None
            if match := _LITERAL.match(text, place):
                literal.append(match[0])
                place = match.end()
            elif char == "'" and self._quotes:
                decoded, place = self._quoted(place, "{}#" if plural else "{}", choice=choice)
                literal.append(decoded)
            elif char == "{":
                part = self._argument(place, depth)
                if choice and part.branches:
                    raise _Malformed
            elif char == CODE or (char == "#" and plural):
                part = _Part(place, place + 1, "code" if char == CODE else char, plural)
            elif char == "}" or (choice and char in "#<\u2264"):
                raise _Malformed
            else:
                literal.append(char)
                place += 1
            if part:
                parts += [_Part(start, place, "text", text="".join(literal))] * bool(literal) + [part]
                literal, start, place = [], part.end, part.end
        if depth and place >= len(text):
            raise _Malformed
        return parts + [_Part(start, place, "text", text="".join(literal))] * bool(literal), place

    def _quoted(self, place: int, special: str, *, choice: bool) -> tuple[str, int]:
        """Decode a quoted text that begins with an apostrophe. Return it and the place after it."""
        following = self._text[place + 1 : place + 2]
        if choice:  # which is read twice
            return "'", next(at for at in count(place) if self._text[at : at + 1] != "'")
        if following == "'":
            return "'", place + 2
        if not following or following not in special:
            return "'", place + 1
        quoted = _QUOTED.match(self._text, place)
        if quoted is None:
            raise _Malformed
        return quoted[1].replace("''", "'"), quoted.end()

    def _argument(self, place: int, depth: int) -> _Part:
        text = self._text
        if double := _DOUBLE.match(text, place):
            return _Part(place, double.end(), "", double[0])
        head = _HEAD.match(text, place)
        if head is None:
            raise _Malformed
        name, kind = head["name"], (head["kind"] or "").lower()  # as ICU reads it
        if not kind or head["end"] == "}":
            return _Part(place, head.end(), kind, name)
        if kind == "choice":
            selecting, closing = _LIMIT, re.compile("")
        elif kind in ("select", *_PLURALS):
            selecting, closing = _SELECTOR, _CLOSE
        else:
            return _Part(place, _end_of_style(text, head.end()), kind, name)
        offset = _OFFSET.match(text, head.end()) if kind in _PLURALS else None
        self._offsets |= {name} if offset else set()
        at, branches = offset.end() if offset else head.end(), list[_Branch]()
        while selector := selecting.match(text, at):
            plural = name if kind in _PLURALS else ""
            parts, end = self.parse(selector.end(), depth + 1, plural, choice=kind == "choice")
            branches.append(_Branch(selector[1], selector.start(1), selector.end(), end, parts))
            at = end + 1
            if kind == "choice" and text[end] == "}":
                break
        close = closing.match(text, at) if branches else None
        if close is None or (kind == "choice" and (depth or text[at - 1] != "}")):
            raise _Malformed
        return _Part(place, close.end(), kind, name, "", branches)

    # ---- divide ------------------------------------------------------------------------------------

    def pieces(
        self,
        parts: Sequence[_Part],
        path: str = "",
        inside: _Part | None = None,
        chosen: dict[str, tuple[str, frozenset[str]]] | None = None,
        *,
        moved: bool = False,
    ) -> Iterator[str | Code | Leaf]:
        """Yield what stays, and the texts. `chosen` has the branches around, by their arguments.

        `inside` is the nearest argument around that gives "#", "{" or "|" a meaning. A `moved` text is not
        in one piece in the file.
        """
        chosen = chosen or {}
        numbers = [number for number, one in enumerate(parts) if one.branches]
        if not numbers:
            yield self._leaf(parts, path, inside, moved=moved)
            return
        if len(numbers) > _MOST_ARGUMENTS:
            raise _Unwritable
        argument, before, after = parts[numbers[0]], parts[: numbers[0]], parts[numbers[0] + 1 :]
        selectors = {one.selector: one for one in argument.branches}
        key = f"{argument.name},{argument.kind}"
        outer, known = chosen.get(key, ("", frozenset[str]()))
        if key in chosen and selectors.keys() <= known and "other" in selectors:  # the same number again
            same = selectors.get(outer) or selectors.get({"=1": "one"}.get(outer, ""), selectors["other"])
            yield from self.pieces([*before, *same.parts, *after], path, inside, chosen, moved=True)
            return
        if chosen and "choice" in (argument.kind, inside.kind if inside else ""):
            raise _Unwritable  # Java reads none inside another
        around = " ".join(one.text for one in (*before, *after) if one.kind == "text")
        says = has_language(around, [(one.start, one.end) for one in find_placeholders(around)])
        joins = says or any(one.branches for one in after)
        if joins and self._fixed:
            raise _Unwritable
        planned = self._planned(argument)
        path = f"{path}{'.' * bool(path)}{argument.name}"
        if not joins:
            yield from self._raws_of(before)
        yield from self._marked.raw(argument.start, argument.branches[0].at)
        for gap, selector, branch in planned:
            inner = [*before, *branch.parts, *after] if joins else branch.parts
            yield gap + selector + self._text[branch.at + len(branch.selector) : branch.start]
            nearest = argument if argument.kind != "select" else inside
            own = {**chosen, key: (selector, frozenset(selectors))}
            also = another_one(self._language) if selector == "one" and argument.kind == "plural" else None
            if also is not None and f"={also}" not in selectors and all(one.kind == "text" for one in inner):
                self.doubts.append(f"{path}.one: lacks the number, which may be {also}")
            yield from self.pieces(inner, f"{path}.{selector.strip()}", nearest, own, moved=moved or joins)
            yield self._text[branch.end]
        yield from self._marked.raw(argument.branches[-1].end + 1, argument.end)
        if not joins:
            yield from self._raws_of(after)

    def _planned(self, argument: _Part) -> list[tuple[str, str, _Branch]]:
        """The branches of the translation: the text before each, its selector, and the one to translate."""
        branches, text = argument.branches, self._text
        names = [one.selector for one in branches]
        wanted = tuple(names)
        if argument.kind in _PLURALS and "other" in names and not self._fixed:
            wanted = categories_of(self._language, ordinal=argument.kind == "selectordinal") or wanted
            if argument.kind == "selectordinal":
                self.doubts.append("endings of ordinal numbers")
        exact = next((one for one in branches if one.selector == "=1"), None)
        # With an offset, "one" is not for 1.
        is_1 = another_one(self._language) is None and argument.name not in self._offsets
        planned: list[tuple[str, str, _Branch]] = []
        for number, branch in enumerate(branches):
            selector = branch.selector
            gap = text[branches[number - 1].end + 1 : branch.at] if number else " "
            for one in [one for one in wanted if one not in names] if selector == "other" else []:
                same = exact if one == "one" and is_1 else None
                planned.append((gap if planned else "", one, same or branch))
            if selector not in CATEGORIES or selector in wanted:
                planned.append((gap if planned else "", selector, branch))
        return planned

    def _leaf(self, parts: Sequence[_Part], path: str, inside: _Part | None, *, moved: bool) -> Leaf:
        self._count += 1
        content = merged([self._item(one, inside) for one in parts])
        tags = [one for one in content if isinstance(one, Code) and one.kind in ("open", "close")]
        opened = {one.pair for one in tags if one.kind == "open"}
        if path and (self._count > _MOST_TEXTS or 0 in opened or len(tags) != 2 * len(opened)):
            raise _Unwritable
        raw = None if moved else self._marked.raw(parts[0].start, parts[-1].end) if parts else ()
        if raw is None and self._written(inside, content) is None:
            raise _Unwritable
        return Leaf(content, raw, path, partial(self._written, inside))

    def _item(self, part: _Part, inside: _Part | None) -> str | Code:
        if part.kind == "text":
            return part.text
        if part.kind == "code":
            return self._marked.codes[part.start]
        raw: Content = self._marked.raw(part.start, part.end)
        if part.kind == "#" and inside and part.name != inside.name:
            if part.name in self._offsets:
                raise _Unwritable
            raw = (f"{{{part.name}, number}}",)
        self._raws[full_text(raw)] = raw
        return KeptArgument(full_text(raw), "placeholder")

    def _raws_of(self, parts: Sequence[_Part]) -> Iterator[str | Code]:
        for part in parts:
            yield from self._marked.raw(part.start, part.end)

    def _written(self, inside: _Part | None, content: Content) -> Content | None:
        """A text as the message has it, or None if it cannot be written there."""
        kind, items = inside.kind if inside else "", list[str | Code]()
        forbidden = "[{}|#<\u2264]" if kind == "choice" else "[{}]" if not self._quotes else r"(?!)"
        for one in content:
            if isinstance(one, KeptArgument) and kind == "choice" and re.search("[|#<\u2264]", one.text):
                return None
            if isinstance(one, Code):
                items += self._raws[one.text] if isinstance(one, KeptArgument) else (one,)
            elif re.search(forbidden, one):
                return None
            elif kind == "choice":
                items.append(one.replace("'", "’"))
            else:
                in_plural = kind in _PLURALS and self._quotes
                items.append(quote_icu(one, in_plural=in_plural, doubled=self._doubled and self._quotes))
        return merged(items)


def _end_of_style(text: str, place: int) -> int:
    """Return the place after the brace that ends an argument such as {when, date, short}."""
    depth = 1
    for brace in _BRACE.finditer(text, place):
        depth += {"{": 1, "}": -1}.get(brace[0], 0)
        if not depth:
            return brace.end()
    raise _Malformed
