"""A segment as the model reads it: text without tags, with the places of tags and placeholders.

flatten(with_found(("Press ", <b>, "Save", </b>, " in {app}.")))
# text "Press Save in {app}.", tags [(6, <b>), (10, </b>)], kept [(14, 19, {app})]
"""

from __future__ import annotations

import re
from collections import Counter, deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, chain

from dragoman.documents.markup.inline import matches
from dragoman.documents.segment import Code, Content, full_text, merged
from dragoman.text.checks.placeholders import Kind, find_placeholders, mask

# Shortcuts of the keyboard, in text and alone behind a tab: Ctrl+O, Alt-F4, ⌘S, <Control>q.
_NAMED_KEY = (
    r"F\d\d?|Del(?:ete)?|Ins(?:ert)?|Home|End|(?:Page ?|Pg)(?:Up|Down|Dn)|Up|Down|Left|Right|Esc(?:ape)?|Tab"
    r"|Space|Enter|Return|Backspace|Plus|Minus"
)
_KEY = rf"(?:(?:{_NAMED_KEY}|[A-Za-z0-9])(?!\w)|[^\w\s\"'<>(){{}}])"
_MODIFIER = (
    r"(?i:(?:CmdOr)?Ctrl|Control|Strg|Alt|AltGr|Shift|Meta|Super|Win|Cmd|Command|Opt|Option|Primary|Fn)"
)
_KEYS = re.compile(
    rf"(?:(?<![\w<+-])|(?<=\\[tn]))(?:(?:{_MODIFIER}[+-]){{1,5}}|(?:<{_MODIFIER}>){{1,5}}|(?:[⌘⇧⌥⌃][+-]?){{1,5}}){_KEY}"
    rf"|(?:(?<=\t)|(?<=\\t))(?:{_NAMED_KEY}|[A-Z])(?=\s*\Z)|(?P<tab>\t+|(?<!\b[A-Za-z]:)(?:\\[tn])+)"
)
_TAG = re.compile(r"<(/?)([\w:.-]+).*?(/?)>", re.DOTALL)
_CODE = "\ufffc"  # stands for a placeholder of the file, which a tag may hold: <a href="{0}">
_CROSSED: frozenset[Kind] = frozenset(
    ("tag", "url", "email", "path", "double brace", "brace", "dollar", "icu")
)
_VOID = frozenset(("area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "wbr"))
_BREAKS = frozenset(("br", "hr"))
# Elements that stand on their own. Of the tags that we find in text only pairs count: "cp <li>" has no list.
DIVIDING = frozenset(
    "address article blockquote center dd div dl dt fieldset figcaption footer h1 h2 h3 h4 h5 h6 header li"
    " ol p pre section table tbody td tfoot th thead tr ul".split()
)


@dataclass(frozen=True)
class FoundCode(Code):
    """A code that we found in the text. It goes back as text; as `parts` if codes of the file are in it."""

    parts: Content = ()


@dataclass(frozen=True)
class Flat:
    """Text with the places of its codes, in characters of `text`."""

    text: str
    tags: tuple[tuple[int, Code], ...] = ()  # in order; a code stands before the character of its place
    kept: tuple[tuple[int, int, Code], ...] = ()  # placeholders: text[start:end]


def with_found(content: Content, flags: tuple[str, ...] = ()) -> Content:
    """Return the content with the placeholders and tags in its text as codes of their own."""
    items: list[str | Code] = []
    keyed = [each for one in content for each in (_with_keys(one) if isinstance(one, str) else [one])]
    for part in parts(tuple(keyed)):
        items += [part] if isinstance(part, Code) else _found(part, flags)
    return tuple(_paired(items))


def flatten(content: Content) -> Flat:
    """Take the tags out of a segment, whose placeholders are codes."""
    text, tags, kept = "", [], []
    for one in content:
        if isinstance(one, str):
            text += one
        elif one.kind == "placeholder" and (shown := (one.shown or one.text).strip()):
            before, code, behind = _balanced(one)
            tags += [(len(text), each) for each in before]
            kept.append((len(text), len(text) + len(shown), code))
            text += shown
            tags += [(len(text), each) for each in behind]
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
    plain = ((one.parts or (one.text,)) if isinstance(one, FoundCode) else (one,) for one in content)
    return merged(chain.from_iterable(plain))


def _with_keys(text: str) -> Iterator[str | Code]:
    """Find shortcuts and tabs, but none inside a URL, a path or a tag."""
    keys, done = list(_KEYS.finditer(text)), 0
    inside = mask(text, ((one.start + 1, one.end) for one in (find_placeholders(text) if keys else [])))
    for one in keys:
        if not inside[one.start()]:
            yield text[done : one.start()]
            yield FoundCode(one[0], "empty" if one["tab"] else "placeholder", breaks=bool(one["tab"]))
            done = one.end()
    yield text[done:]


def _found(content: Content, flags: tuple[str, ...]) -> Iterator[str | Code]:
    """Find codes in texts, and across codes of the file: a URL with a bold part, a tag with an argument."""
    shown = [
        one if isinstance(one, str) else _CODE if one.kind == "placeholder" else one.shown for one in content
    ]
    text, edges = "".join(shown), list(accumulate(map(len, shown), initial=0))
    left = deque(zip(content, edges, edges[1:], strict=False))

    def until(place: int) -> Iterator[str | Code]:
        """The items up to a place of the text, the last of them cut there. A tag at the place is left."""
        while left and (left[0][1] < place or (left[0][2] <= place and isinstance(left[0][0], str))):
            one, start, end = left.popleft()
            if isinstance(one, str) and end > place:
                left.appendleft((one[place - start :], place, end))
                one = one[: place - start]
            yield one

    for one in find_placeholders(text, flags):
        yield from until(one.start)
        while left and left[0][2] == one.start:  # tags
            yield left.popleft()[0]
        inside = as_written(list(until(one.end)))
        if all(isinstance(each, str) for each in inside):
            yield _tag(one.text) if one.kind == "tag" else FoundCode(one.text, "placeholder")
        elif one.kind == "tag":
            yield replace(_tag(full_text(inside)), parts=inside)
        elif one.kind in _CROSSED:
            yield FoundCode(one.text, "placeholder", parts=inside)
        else:
            for each in inside:
                yield from _found((each,), flags) if isinstance(each, str) else (each,)
    yield from until(len(text) + 1)


def _balanced(code: Code) -> tuple[list[Code], Code, list[Code]]:
    """The tags inside a code that was found, if their partner is outside: before it, and behind it."""
    if not isinstance(code, FoundCode) or not code.parts:
        return [], code, []
    inside = [one for one in code.parts if isinstance(one, Code) and one.kind in ("open", "close")]
    pairs = Counter(one.pair for one in inside if one.pair)
    alone = [one for one in inside if pairs[one.pair] != 2]
    code = replace(code, parts=tuple(one for one in code.parts if one not in alone))
    return [one for one in alone if one.kind == "open"], code, [one for one in alone if one.kind == "close"]


def _tag(text: str) -> FoundCode:
    found = _TAG.fullmatch(text)
    name = found[2].lower() if found else ""
    if found is None or found[3] or name in _VOID:
        return FoundCode(text, "empty", breaks=name in _BREAKS)
    return FoundCode(text, "close" if found[1] else "open")


def _paired(items: list[str | Code]) -> list[str | Code]:
    """Number the tags that were found: an opening tag and the next closing one of its name are a pair."""
    kinds = [one.kind if isinstance(one, FoundCode) else "" for one in items]
    tags = [_TAG.fullmatch(one.text) if isinstance(one, FoundCode) else None for one in items]
    names = [tag[2].lower() if tag else "" for tag in tags]
    known = max((one.pair for one in items if isinstance(one, Code)), default=0)
    out = list(items)
    for number, places in enumerate(matches(kinds, names, "open", "close").items(), known + 1):
        for place in places:
            if isinstance(code := items[place], Code):
                out[place] = replace(code, pair=number, breaks=names[place] in DIVIDING)
    return out
