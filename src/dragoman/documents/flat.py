"""A segment as the model reads it: text without tags, with the places of tags and placeholders.

flatten(with_found(("Press ", <b>, "Save", </b>, " in {app}.")))
# text "Press Save in {app}.", tags [(6, <b>), (10, </b>)], kept [(14, 19, {app})]
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from dragoman.documents.segment import Code, Content
from dragoman.text.checks.placeholders import find_placeholders

# Shortcuts of the keyboard, in text and alone behind a tab: Ctrl+O, Alt-F4, ⌘S, <Control>q.
_NAMED_KEY = (
    r"F\d\d?|Del(?:ete)?|Ins(?:ert)?|Home|End|(?:Page ?|Pg)(?:Up|Down|Dn)|Up|Down|Left|Right|Esc(?:ape)?|Tab"
    r"|Space|Enter|Return|Backspace|Plus|Minus"
)
_KEY = rf"(?:(?:{_NAMED_KEY}|[A-Za-z0-9])(?!\w)|[^\w\s\"'<>(){{}}])"
_MODIFIER = r"(?i:Ctrl|Control|Strg|Alt|AltGr|Shift|Meta|Super|Win|Cmd|Command|Opt|Option|Primary|Fn)"
_KEYS = re.compile(
    rf"(?<![\w<+-])(?:(?:{_MODIFIER}[+-]){{1,5}}|(?:<{_MODIFIER}>){{1,5}}|(?:[⌘⇧⌥⌃][+-]?){{1,5}}){_KEY}"
    rf"|(?:(?<=\t)|(?<=\\t))(?:{_NAMED_KEY}|[A-Z])(?=\s*\Z)|(?P<tab>\t+|(?<!\b[A-Za-z]:)(?:\\[tn])+)"
)
_TAG = re.compile(r"<(/?)([\w:.-]+)[^>]*?(/?)>")
_VOID = frozenset(("area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "wbr"))
_BREAKS = frozenset(("br", "hr"))
# Elements that stand on their own. Of the tags that we find in text only pairs count: "cp <li>" has no list.
DIVIDING = frozenset(
    "address article blockquote center dd div dl dt fieldset figcaption footer h1 h2 h3 h4 h5 h6 header li"
    " ol p pre section table tbody td tfoot th thead tr ul".split()
)


class FoundCode(Code):
    """A code that we found in the text. It goes back as text."""


@dataclass(frozen=True)
class Flat:
    """Text with the places of its codes, in characters of `text`."""

    text: str
    tags: tuple[tuple[int, Code], ...] = ()  # in order; a code stands before the character of its place
    kept: tuple[tuple[int, int, Code], ...] = ()  # placeholders: text[start:end]


def with_found(content: Content, *, c_format: bool = False) -> Content:
    """Return the content with the placeholders and tags in its text as codes of their own."""
    items = [each for one in content for each in (_found(one, c_format) if isinstance(one, str) else [one])]
    first = 1 + max((one.pair for one in items if isinstance(one, Code)), default=0)
    return tuple(_paired(items, first))


def flatten(content: Content) -> Flat:
    """Take the tags out of a segment, whose placeholders are codes."""
    text, tags, kept = "", [], []
    for one in content:
        if isinstance(one, str):
            text += one
        elif one.kind == "placeholder" and (shown := (one.shown or one.text).strip()):
            kept.append((len(text), len(text) + len(shown), one))
            text += shown
        else:
            tags.append((len(text), one))
            text += one.shown
    return Flat(text, tuple(tags), tuple(kept))


def unflatten(flat: Flat) -> Content:
    """Put the codes back. Codes that were found in the text become text again."""
    places: list[tuple[int, int, int, Code]] = [
        (at, 0, number, code) for number, (at, code) in enumerate(flat.tags)
    ]
    places += [(start, 1, end, code) for start, end, code in flat.kept]
    content: list[str | Code] = []
    done = 0
    for at, kind, end, code in sorted(places, key=lambda one: one[:3]):
        content.append(flat.text[done:at])
        content.append(code)
        shown = len(code.shown) if flat.text.startswith(code.shown, at) else 0
        done = end if kind else max(done, at + shown)  # another code may stand at the place of a space
    content.append(flat.text[done:])
    return as_written(content)


def parts(content: Content) -> Iterator[Content | Code]:
    """Split a segment at the codes that end a sentence. Yields the parts between, and these codes."""
    part: list[str | Code] = []
    for one in content:
        if isinstance(one, Code) and one.breaks:
            yield tuple(part)
            yield one
            part = []
        else:
            part.append(one)
    yield tuple(part)


def as_written(content: Sequence[str | Code]) -> Content:
    """The same content with adjacent texts joined, and codes that were found in the text as text."""
    out: list[str | Code] = []
    for one in content:
        if isinstance(one, FoundCode):
            one = one.text
        if isinstance(one, str) and out and isinstance(out[-1], str):
            out[-1] += one
        elif one != "":
            out.append(one)
    return tuple(out)


def _found(text: str, c_format: bool) -> Iterator[str | Code]:
    done = 0
    for keys in _KEYS.finditer(text):
        yield from _placeholders(text[done : keys.start()], c_format)
        yield FoundCode(keys[0], "empty" if keys["tab"] else "placeholder", breaks=bool(keys["tab"]))
        done = keys.end()
    yield from _placeholders(text[done:], c_format)


def _placeholders(text: str, c_format: bool) -> Iterator[str | Code]:
    done = 0
    for one in find_placeholders(text, c_format=c_format):
        yield text[done : one.start]
        yield _tag(one.text) if one.kind == "tag" else FoundCode(one.text, "placeholder")
        done = one.end
    yield text[done:]


def _tag(text: str) -> FoundCode:
    found = _TAG.fullmatch(text)
    name = found[2].lower() if found else ""
    if found is None or found[3] or name in _VOID:
        return FoundCode(text, "empty", breaks=name in _BREAKS)
    return FoundCode(text, "close" if found[1] else "open")


def _paired(items: list[str | Code], number: int) -> list[str | Code]:
    """Number the tags that were found: an opening tag and the next closing one of its name are a pair."""
    out, opened = list(items), list[tuple[int, str]]()
    for place, one in enumerate(items):
        found = (
            _TAG.fullmatch(one.text) if isinstance(one, FoundCode) and one.kind in ("open", "close") else None
        )
        if found is None:
            continue
        name = found[2].lower()
        if not found[1]:
            opened.append((place, name))
        elif any(name == each for _, each in opened):
            while opened and opened[-1][1] != name:
                opened.pop()
            start, _ = opened.pop()
            for at in (start, place):
                code = out[at]
                if isinstance(code, Code):
                    out[at] = replace(code, pair=number, breaks=name in DIVIDING)
            number += 1
    return out
