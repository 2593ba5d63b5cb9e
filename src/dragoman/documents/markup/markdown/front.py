"""The front matter of a page: YAML, TOML or JSON, of which values that people read are translated.

These are strings of one line: in quotes, or plain ones of YAML. All else stays byte for byte.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from dragoman.documents.edits import Edit
from dragoman.documents.markup.inline import has_words
from dragoman.documents.markup.lines import TextLine
from dragoman.documents.segment import Result, Segment, changed, full_text

_FRONT = re.compile(
    r"(---|\+\+\+)[ \t]*\n(?=\s*(?:[\w\"'.-]+[ \t]*[:=]|#|\1))(?:.*\n)*?(?:\1|\.\.\.)[ \t]*(?:\n|\Z)"
    r"|\{[ \t]*\n(?=[ \t]*\")(?:.*\n)*?\}[ \t]*(?:\n|\Z)"
)
_READ = frozenset(
    "title subtitle description summary excerpt caption linktitle headline heading tagline lead abstract"
    " alt imagealt sidebarlabel sidebartitle navtitle shorttitle longtitle pagetitle metatitle seotitle"
    " ogtitle ogdescription metadescription seodescription shortdescription imagecaption intro teaser text"
    " details question answer".split()
)
_ENTRY = re.compile(
    r"(?P<head>[ \t]*(?:-[ \t]+)*)(?P<quote>[\"']?)(?P<key>[\w.-]+)(?P=quote)[ \t]*[:=](?=\s|\Z|[\"'])[ \t]*"
    r"(?P<value>\"(?:[^\"\\]|\\.)*\"|'(?:[^']|'')*'|[^\"'].*?|)(?P<tail>[ \t]*,?(?:[ \t]+#.*)?)"
)
_PLAIN = re.compile(r"[^\W_](?:[^:#]|:(?=\S)|(?<=\S)#)*", re.ASCII)
_NO_TEXT = re.compile(r"true|false|yes|no|on|off|null", re.IGNORECASE)  # in YAML without quotes


@dataclass(frozen=True)
class FrontValue:
    """A value of front matter: text[start:end], with its quotes."""

    start: int
    end: int
    segments: Sequence[Segment]

    def edits(self, text: str, results: Sequence[Result | None]) -> Iterator[Edit]:
        if (new := changed(self.segments[0], results[0])) is None:
            return
        made, quote = " ".join(full_text(new).split()), text[self.start]
        if quote == "'" and "'" not in made:
            made = f"'{made}'"
        elif quote in "\"'" or not _PLAIN.fullmatch(made) or _NO_TEXT.fullmatch(made):
            made = '"' + made.replace("\\", "\\\\").replace('"', '\\"') + '"'
        yield Edit(self.start, self.end, made)


def front_matter(plain: str) -> str:
    """The front matter at the start of a file whose lines end in line feeds, or ""."""
    found = _FRONT.match(plain)
    return found.group() if found is not None else ""


def front_values(text: str, rows: Sequence[TextLine]) -> Iterator[FrontValue]:
    """The values that people read in these lines of front matter."""
    last: tuple[int, FrontValue | None] = (-1, None)  # the column of the last key that has a value, and this
    for number, row in enumerate(rows, 1):
        line = text[row.start : row.end].rstrip()
        indent = len(line) - len(line.lstrip())
        if last[0] >= 0 and (indent > last[0] or not line):
            if line and last[1] is not None and text[last[1].start] not in "\"'":
                last = (last[0], None)  # the value has several lines
            continue
        if last[1] is not None:
            yield last[1]
        entry = _ENTRY.fullmatch(line)
        last = (-1, None)
        if entry is not None and entry["value"]:
            start, end = (row.start + place for place in entry.span("value"))
            plain = text.startswith("-") and "".join(entry.group(1, 2)).strip() in ("", "-")
            last = (len(entry["head"]), _value(start, end, entry, number, plain=plain))
    if last[1] is not None:
        yield last[1]


def _value(start: int, end: int, entry: re.Match[str], number: int, *, plain: bool) -> FrontValue | None:
    raw, found = entry["value"], ""
    if re.sub(r"[_.-]", "", entry["key"]).lower() not in _READ:
        return None
    if raw[0] == '"':
        try:
            found = json.loads(raw, strict=False)
        except ValueError:  # an escape that only YAML has
            return None
    elif raw[0] == "'":
        found = raw[1:-1].replace("''", "'")
    elif plain and raw[0] not in "[]{}&*!|>%@`#,?" and not _NO_TEXT.fullmatch(raw):
        found = raw
    source = (" ".join(found.split()),)
    return FrontValue(start, end, [Segment(source, f"line {number}")]) if has_words(source) else None
