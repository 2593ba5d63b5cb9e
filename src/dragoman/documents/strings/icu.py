"""ICU messages: {count, plural, one {# file} other {# files}}. Branches are translated, the skeleton stays.

Apostrophes quote as ICU does by default: only before a brace, and before # in a plural.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from dragoman.documents.edits import Edit, apply
from dragoman.documents.segment import Code, Content, merged, text_of

_DEEPEST = 20
_HEAD = re.compile(r"\{\s*(?P<name>\w[\w.\-]*)\s*(?:\}|,\s*(?P<kind>\w+)\s*(?P<end>[,}]))")
_OFFSET = re.compile(r"\s*offset:\s*-?\d+")
_SELECTOR = re.compile(r"\s*(?P<selector>=\d+|[\w-]+)\s*\{")
_COMPLEX = ("plural", "select", "selectordinal")
_LITERAL = re.compile(r"[^'{}#]+")
_APOSTROPHE = re.compile(r"\A'+|'(?=['{}#|]|\Z)")  # would end a quote, or begin one
_CLOSE = re.compile(r"\s*\}")
_QUOTED = re.compile(r"'((?:[^']|'')*+)(?:'|\Z)")
_BRACE = re.compile(r"'[^']*'|[{}]")


class _Malformed(ValueError):
    """Not an ICU message."""


@dataclass(frozen=True)
class _Branch:
    selector: str
    at: int  # where the selector begins
    start: int  # of the text within the braces
    end: int
    parts: list[str | _Argument]


@dataclass(frozen=True)
class _Argument:
    """text[start:end]: {name}, {name, type, style}, or # in a plural."""

    start: int
    end: int
    name: str = ""
    kind: str = ""
    branches: list[_Branch] = field(default_factory=list)


@dataclass(frozen=True)
class Leaf:
    """A text to translate: text[start:end] of a message, or a branch that is to be added there."""

    start: int
    end: int
    content: Content
    path: str = ""  # "count.one"
    in_plural: bool = False
    category: str = ""  # of a branch to add
    gap: str = ""  # the text between branches


class Message:
    """A string, with one leaf for each branch if it is an ICU message.

    If text stands around a {count, plural, ...}, the string is one leaf, and the argument a placeholder in
    it. A string without such an argument is text as it is, and one leaf. With `java` one with any argument,
    as {0}, is an ICU message, too, and apostrophes are doubled, as java.text.MessageFormat demands.

    A plural gets a leaf for each of `categories` it lacks, to be translated as its branch "other" is.
    """

    def __init__(self, text: str, categories: tuple[str, ...] = (), *, java: bool = False) -> None:
        self.text = text
        self._doubled = java or "''" in text
        try:
            parts, _ = _parse(text, 0, 0, plural=False) if "{" in text else ([], 0)
        except _Malformed:
            parts = []
        arguments = [one for one in parts if isinstance(one, _Argument)]
        self.is_icu = any(java or one.branches for one in arguments)
        if self.is_icu:
            self.leaves = list(_leaves(text, _Branch("", 0, 0, len(text), parts), categories))
        else:
            self.leaves = [Leaf(0, len(text), (text,))]

    def render(self, contents: list[Content | None]) -> str:
        """Return the message with these texts in its leaves. None leaves a text as it is."""
        edits = []
        for leaf, content in zip(self.leaves, contents, strict=True):
            if content is None:
                continue
            old, new = self._written(leaf.content, leaf), self._written(content, leaf)
            if new != old:
                new = f"{leaf.category} {{{new}}}{leaf.gap}" if leaf.category else new
                edits.append(Edit(leaf.start, leaf.end, new))
        return apply(self.text, edits)

    def _written(self, content: Content, leaf: Leaf) -> str:
        if not self.is_icu:
            return text_of(content)
        return "".join(
            text_of((one,))
            if isinstance(one, Code)
            else quote_icu(one, in_plural=leaf.in_plural, doubled=self._doubled)
            for one in merged(content)
        )


def quote_icu(text: str, *, in_plural: bool, doubled: bool) -> str:
    """Write a text so that ICU reads it as it is. Apostrophes are doubled where needed, or all of them."""
    special = "[{}#]" if in_plural else "[{}]"
    parts = re.split(f"({special}(?:[{{}}#']*{special})?)", text)
    for number, part in enumerate(parts):
        if number % 2:
            parts[number] = "'" + part.replace("'", "''") + "'"
        else:
            parts[number] = part.replace("'", "''") if doubled else _APOSTROPHE.sub(r"\g<0>\g<0>", part)
    return "".join(parts)


def _leaves(
    text: str, inside: _Branch, categories: tuple[str, ...], path: str = "", *, in_plural: bool = False
) -> Iterator[Leaf]:
    whole = [one for one in inside.parts if not isinstance(one, str) or one.strip()]
    argument = whole[0] if len(whole) == 1 else ""
    if isinstance(argument, str) or not argument.branches:
        content = tuple(
            one if isinstance(one, str) else Code(text[one.start : one.end], "placeholder")
            for one in inside.parts
        )
        yield Leaf(inside.start, inside.end, content, path, in_plural)
        return
    path = f"{path}{'.' * bool(path)}{argument.name}"
    in_plural = argument.kind != "select"
    selectors = [branch.selector for branch in argument.branches]
    lacking = [one for one in categories if one not in selectors] if argument.kind == "plural" else []
    for number, branch in enumerate(argument.branches):
        leaves = list(_leaves(text, branch, categories, f"{path}.{branch.selector}", in_plural=in_plural))
        if leaves[0].path == f"{path}.other":  # a text, not an argument again
            before = argument.branches[number - 1].end + 1 if number else branch.at
            gap = text[before : branch.at] or " "
            for one in lacking:
                yield Leaf(
                    branch.at, branch.at, leaves[0].content, f"{path}.{one}", in_plural, category=one, gap=gap
                )
        yield from leaves


def _parse(text: str, place: int, depth: int, *, plural: bool) -> tuple[list[str | _Argument], int]:
    """Return the parts of a message, decoded, and where it ends: before a brace, or with the text."""
    if depth > _DEEPEST:
        raise _Malformed
    parts: list[str | _Argument] = []
    literal: list[str] = []
    while place < len(text) and not (depth and text[place] == "}"):
        char = text[place]
        argument = None
        if match := _LITERAL.match(text, place):
            literal.append(match[0])
            place = match.end()
        elif char == "'":
            said, place = _quoted(text, place, "{}#" if plural else "{}")
            literal.append(said)
        elif char == "{":
            argument = _argument(text, place, depth)
        elif char == "#" and plural:
            argument = _Argument(place, place + 1)
        elif char == "}":
            raise _Malformed
        else:
            literal.append(char)
            place += 1
        if argument:
            parts += ["".join(literal)] * bool(literal) + [argument]
            literal, place = [], argument.end
    if depth and place >= len(text):
        raise _Malformed
    return parts + ["".join(literal)] * bool(literal), place


def _quoted(text: str, place: int, special: str) -> tuple[str, int]:
    """Decode a quoted text that begins with an apostrophe. Return it and the place after it."""
    following = text[place + 1 : place + 2]
    if following == "'":
        return "'", place + 2
    if not following or following not in special:
        return "'", place + 1
    quoted = _QUOTED.match(text, place)
    if quoted is None:
        raise _Malformed
    return quoted[1].replace("''", "'"), quoted.end()


def _argument(text: str, place: int, depth: int) -> _Argument:
    head = _HEAD.match(text, place)
    if head is None:
        raise _Malformed
    if not head["kind"] or head["end"] == "}":
        return _Argument(place, head.end(), head["name"])
    if head["kind"] not in _COMPLEX:
        return _Argument(place, _end_of_style(text, head.end()), head["name"], head["kind"])
    offset = _OFFSET.match(text, head.end()) if head["kind"] != "select" else None
    at = offset.end() if offset else head.end()
    branches: list[_Branch] = []
    while selector := _SELECTOR.match(text, at):
        parts, end = _parse(text, selector.end(), depth + 1, plural=head["kind"] != "select")
        branches.append(_Branch(selector["selector"], selector.start("selector"), selector.end(), end, parts))
        at = end + 1
    close = _CLOSE.match(text, at)
    if close is None:
        raise _Malformed
    return _Argument(place, close.end(), head["name"], head["kind"], branches)


def _end_of_style(text: str, place: int) -> int:
    """Return the place after the brace that ends an argument such as {when, date, short}."""
    depth = 1
    for brace in _BRACE.finditer(text, place):
        depth += {"{": 1, "}": -1}.get(brace[0], 0)
        if not depth:
            return brace.end()
    raise _Malformed
