"""The inline content of Markdown as items: text, and codes for emphasis, links, code, images and HTML."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any, cast

from dragoman.documents.markup.html.elements import VOID
from dragoman.documents.markup.inline import Item, content, paired
from dragoman.documents.markup.markdown.rules import inline_tokens
from dragoman.documents.segment import Code, Content

_EMPHASIS = ("em", "strong", "s")
_TAG = re.compile(r"</?([A-Za-z][\w.:-]*)")
_KEPT_TAG = re.compile(
    r"<(?:(?:code|kbd|samp|var|script|style|svg|math|pre|textarea)(?=[\s>])"
    r"|[^>]*\s(?:translate=[\"']?no\b|class=[\"']?[^\"'>]*\bnotranslate\b))",
    re.IGNORECASE,
)
_MARKUP = re.compile(r"[*_`<>&\\~$]|\|.*\|")  # a wiki link with it stays
_ROLE = re.compile(r"(\{\w+\}`)[^`<>*_\\&]+?( *<[^<>`]+>`)")  # of MyST
_SPACES = re.compile(r"[ \t\n]+|[^ \t\n]+")


def read_inline(text: str, references: dict[str, Any]) -> list[Item]:
    """Return the items of inline content, paired. Their places are those in `text`."""
    codes = sorted(_codes(text, inline_tokens(text, references)), key=lambda item: item.start)
    found: list[Item] = []
    place = 0
    for item in codes:
        if item.start < place:  # in a link whose address is all that shows
            continue
        found += _literal(text, place, item.start)
        found.append(item)
        place = item.end
    return paired(_kept([*found, *_literal(text, place, len(text))], text))


def _literal(text: str, start: int, end: int) -> Iterator[Item]:
    for match in _SPACES.finditer(text, start, end):
        yield Item(match.start(), match.end(), match.group())


def _codes(text: str, tokens: Sequence[Any]) -> Iterator[Item]:
    links: list[int] = []
    for token in tokens:
        start, end = token.meta.get("at", (0, 0))
        raw = text[start:end]
        name, _, nesting = token.type.rpartition("_")
        if name in _EMPHASIS:
            if name == "strong":  # the token is the inner one of two
                start, end = (start - 1, end) if nesting == "open" else (start, end + 1)
            yield Item(start, end, Code(text[start:end], cast("Any", nesting)), name)
        elif token.info == "auto" or token.type == "code_inline":
            yield Item(start, end, Code(raw, "placeholder"))
        elif token.type == "link_open":
            links.append(start)
            yield Item(start, start + 1, Code("[", "open"), "link")
        elif token.type == "link_close":
            label_end = token.meta["pos"]
            close, label = text[label_end:end], text[links.pop() + 1 : label_end]
            if close in ("]", "][]"):  # the text is the label of a reference, and will change
                close = f"][{' '.join(label.split())}]"
            yield Item(label_end, end, Code(close, "close"), "link")
        elif token.type == "image":
            yield Item(start, end, Code(raw, "empty"), visible=True)
        elif token.info == "wiki" and "|" in raw and not raw.startswith("!") and not _MARKUP.search(raw, 2):
            bar = text.index("|", start) + 1
            yield Item(start, bar, Code(text[start:bar], "open"), "wiki")
            yield Item(end - 2, end, Code("]]", "close"), "wiki")
        elif token.info == "code" and (role := _ROLE.fullmatch(raw)) is not None:
            yield Item(start, start + role.end(1), Code(role[1], "open"), "role")
            yield Item(end - len(role[2]), end, Code(role[2], "close"), "role")
        elif token.type == "mark":
            shown = token.info in ("template", "math", "wiki", "code")
            code = Code(raw, "placeholder" if shown else "empty")
            yield Item(start, end, code, visible=shown or token.info == "note")
        elif token.type == "html_inline":
            yield _html(start, end, raw)
        elif token.type == "hardbreak":
            start -= len(text[:start]) - len(text[:start].rstrip(" "))
            yield Item(start, end, Code(text[start:end].rstrip(" \t"), "empty", shown=" ", breaks=True))
        elif token.type == "softbreak":
            yield Item(start, end, " ")
        elif token.type == "text_special":
            yield Item(start, end, token.content)


def _html(start: int, end: int, raw: str) -> Item:
    tag = _TAG.match(raw)
    if tag is None:  # a comment or a declaration
        return Item(start, end, Code(raw, "empty"))
    name = tag[1].lower()
    if raw.startswith("</"):
        return Item(start, end, Code(raw, "close"), "html " + name)
    if name in VOID or raw.endswith("/>"):
        is_break = name == "br"
        code = Code(raw, "empty", shown=" " if is_break else "", breaks=is_break)
        return Item(start, end, code, visible=name not in ("br", "wbr"))
    return Item(start, end, Code(raw, "open"), "html " + name)


def _kept(items: Sequence[Item], text: str) -> list[Item]:
    """Make one placeholder of HTML elements that are not translated, such as <kbd>."""
    closes: dict[str, list[int]] = {}
    for place in range(len(items) - 1, -1, -1):
        what = items[place].what
        if isinstance(what, Code) and what.kind == "close":
            closes.setdefault(items[place].name, []).append(place)
    found: list[Item] = []
    until = -1
    for place, item in enumerate(items):
        if place <= until:
            continue
        if isinstance(item.what, Code) and item.what.kind == "open" and _KEPT_TAG.match(item.what.text):
            behind = closes.get(item.name, [])
            while behind and behind[-1] < place:
                behind.pop()
            if behind:
                until = behind[-1]
                end = items[until].end
                item = Item(item.start, end, Code(text[item.start : end], "placeholder"))
        found.append(item)
    return found


def alt_text(text: str, item: Item, references: dict[str, Any]) -> tuple[int, int, Content] | None:
    """The span and the content of the alternative text of an image, or of the note "^[text]"."""
    raw = text[item.start : item.end]
    raw = f"!{raw[1:]}()" if raw.startswith("^") else raw
    token = next((one for one in inline_tokens(raw, references)), None)
    if token is None or token.type != "image":
        return None
    end = 2 + len(token.content)
    if raw[end:] in ("]", "][]"):
        return None  # the text is the label of a reference
    return item.start + 2, item.start + end, content(read_inline(raw[2:end], references))
