"""The front matter of a page: YAML, TOML or JSON, of which values that people read are translated.

All else stays byte for byte.
"""

from __future__ import annotations

import json
import re

from dragoman.base.errors import DataError
from dragoman.documents.edits import line_of
from dragoman.documents.markup.inline import has_words
from dragoman.documents.strings.keyed import KeyedString
from dragoman.documents.strings.yaml import all_strings

_FRONT = re.compile(
    r"(---|\+\+\+)[ \t]*\n(?=\s*(?:[\w\"'.-]+[ \t]*[:=]|#|\1))(?:.*\n)*?(?:\1|\.\.\.)[ \t]*(?:\n|\Z)"
    r"|\{[ \t]*\n(?=[ \t]*\")(?:.*\n)*?\}[ \t]*(?:\n|\Z)"
)
_READ = frozenset(
    "title subtitle description summary excerpt caption linktitle headline heading tagline lead abstract"
    " alt imagealt sidebarlabel sidebartitle navtitle shorttitle longtitle pagetitle metatitle seotitle"
    " ogtitle ogdescription metadescription seodescription shortdescription imagecaption intro teaser text"
    " details question answer label".split()
)
# An entry of TOML or JSON: a string on one line.
_ENTRY = re.compile(
    r"(?m)^[ \t]*(?P<quote>[\"']?)(?P<key>[\w.-]+)(?P=quote)[ \t]*[:=][ \t]*"
    r"(?P<value>\"(?:[^\"\\\r\n]|\\.)*+\"|'[^'\r\n]*+')(?=[ \t]*(?:,|#|\r|$))"
)


def front_matter(plain: str) -> str:
    """The front matter at the start of a file whose lines end in line feeds, or ""."""
    found = _FRONT.match(plain)
    return found.group() if found is not None else ""


def front_values(front: str) -> list[KeyedString]:
    """The values that people read in front matter. It stays if it is not what it seems to be."""
    try:
        found = all_strings(front) if front.startswith("---") else _strings(front)
        return [one for one in found if _is_read(one.key) and has_words((one.value,))]
    except (DataError, ValueError):
        return []


def _is_read(key: str) -> bool:
    return any(re.sub("[_-]", "", one).lower() in _READ for one in (key.rpartition(".")[2], key))


def _strings(front: str) -> list[KeyedString]:
    found = []
    for entry in _ENTRY.finditer(front):
        raw, line = entry["value"], line_of(front, entry.start())
        value = raw[1:-1] if raw[0] == "'" else json.loads(raw, strict=False)
        found.append(KeyedString(*entry.span("value"), value, line, entry["key"], "", _written))
    return found


def _written(new: str, old: str) -> str:
    if old[0] == "'" and not re.search(r"['\x00-\x1f]", new):
        return f"'{new}'"
    return json.dumps(new, ensure_ascii=False)
