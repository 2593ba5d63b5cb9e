"""Spans of a text that are not language and must survive translation: placeholders, URLs, code, markup.

    find_placeholders("Copy %s to {path}, see https://example.com.")
    # %s (printf), {path} (brace), https://example.com (url)

A span is found by its form alone, so "50 % of all" must not look like one. When in doubt a span is found:
an unneeded one is copied, a missed one may break a program. The time is linear in the text.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cache
from typing import Literal

from dragoman.text.blank import INVISIBLE

Kind = Literal[
    "url", "email", "code", "icu", "double brace", "brace", "dollar", "printf", "percent", "underscores",
    "tag", "entity", "emoji", "escape",
]  # fmt: skip


@dataclass(frozen=True)
class Placeholder:
    """A span of a text: text[start:end]."""

    start: int
    end: int
    kind: Kind
    text: str


_WORD = re.compile(f"(?:(?![{INVISIBLE}²³¹⁰-₉¼-¾⅐-↉①-⓿❶-➓])[^\\W\\d_])+")
# Letters of the scripts that put spaces between words.
_LETTER = r"A-Za-z\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u024f\u0370-\u058f"
_NAME = r"[^\W\d][\w-]*"
# A URL ends before CJK: these scripts put no space after it.
_URL = r"[^\s<>\"'`{}|\\^\u3000-\u30ff\u3400-\u9fff\uac00-\ud7af\uff00-\uffef]+"
_MONEY = (
    r"(?![.,]?\d|[ \u00a0\u202f]\d{3}(?!\d)|[-\u2013]\$?\d|/(?:day|week|month|year|hour|mo|yr|hr|kg|lb)\b"
    r"|[ \u00a0-]?(?:[mb]illi|trilli|mrd|mio|mln|mld|bn|mn|per\b|each\b|cent|k\b|m\b|off\b"
    r"|an? (?:day|week|month|year|hour|night|piece|person)\b))"
)
_PAID = re.compile(r"(?i)\b(?:costs?|pays?|paid|worth|prices?:?|spent|charged?) (?:\w+ )?$|-$")
_CONVERSION = r"(?:hh|h|ll|l|q|j|z|t|L)?(?:[diouxXeEfFgGcspn@]|<PRI[diouxX]\w{1,9}>)"
_PRECISION = r"(?:\.(?:\*(?:\d{1,2}\$)?|\d{1,4})?)?"
_WIDTH = r"(?:\*(?:\d{1,2}\$)?|\d{1,4})?"
_UNIT = r"(?:px|pt|r?em|ms|[kKMGT]i?B|[dsmhxBKMG]|min|th|nd|rd|st)(?![A-Za-z])"
# In order of precedence where two begin at the same place.
_FORMS: tuple[tuple[Kind, str], ...] = (
    (
        "url",
        rf"(?:(?i:https?|ftp|file|irc)://|(?<![A-Za-z0-9+.-])[A-Za-z][A-Za-z0-9+.-]{{1,20}}://|\bmailto:|\btel:(?=\+?\d)){_URL}"
        rf"|\b(?i:www)\.[\w-]{{1,63}}\.{_URL}|\bgit@[\w.-]{{1,63}}:{_URL}"
        # Alone in the text: a name of a host, a path of Windows.
        rf"|\A(?:[a-z0-9-]{{1,63}}\.){{1,8}}[a-z]{{2,24}}(?:[:/?#]{_URL})?(?=\s*\Z)"
        r"|\A[A-Za-z]:\\[^\s\\]+(?:\\[^\s\\]+)*\\?(?=\s*\Z)",
    ),
    (
        "email",
        rf"(?<![{_LETTER}0-9._+%-])[{_LETTER}0-9._+%-]{{1,64}}@"
        r"[A-Za-z0-9-]{1,63}(?:\.[A-Za-z0-9-]{1,63}){1,8}",
    ),
    # reStructuredText and Markdown: :role:`text`, ``text``, `text`; not the quotes of GNU, `text'
    (
        "code",
        r"(?:(?<![\w:+.-]):[a-z][\w:+.-]{0,60}:)?"
        r"(?:``(?!`)[^`\n](?:[^`\n]|`(?!`))*``(?![`\w])|`[^`\s](?:[^`\n]*[^`\s])?`_{0,2}(?![`\w]))",
    ),
    ("double brace", r"\{\{[^{}\n]*\}\}|\{%[^{}\n]*%\}|<%[^<>\n]*%>"),
    # Shells, templates, LibreOffice: ${name}, $(name), $[name], $NAME, $1; Ruby: #{name}; CMake: @NAME@
    (
        "dollar",
        r"[$#]\{[^{}\n]*\}|\$t?\([^()\s]+\)|\$\[[\w.-]+\]|(?<!\w)\$[1-9](?!\w)" + _MONEY + "|"
        r"\$(?!(?:US|USD|CA|CAN|CAD|AU|AUD|NZ|NZD|HK|HKD)\b)[A-Za-z_]\w+|(?<!\w)@[A-Z][A-Z0-9_]+@",
    ),
    # Python, C#, JavaScript, Fluent: {}, {0}, {name:>5}, {name!r}, {a[0].b}, { $name }, {name}
    (
        "brace",
        rf"%?\{{\s{{0,9}}[$-]?(?:\d+|{_NAME})?(?:\[[\w.]+\]|\.{_NAME})*"
        r"(?:\([^(){}\n]*\))?(?:![rsa])?(?::[^{}\n]*)?\s{0,9}\}",
    ),
    ("percent", r"%[A-Z][A-Z0-9_]{2,}(?!\w)%?|%[A-Z]\w+%(?![\w(])|%[a-z_]{4,}%(?![\w(])"),
    ("escape", r"(?:%[0-9A-F][0-9A-Fa-f]){2,}(?!\w)"),  # of a URL
    # C, Python, Objective-C. No space as a flag: "50 % of" is language, as is the Hungarian "50 %-a".
    (
        "printf",
        r"%\([\w .-]+\)[#0+-]{0,4}\d{0,4}(?:\.\d{1,4})?[diouxXeEfFgGcrsa]|%<\w+>[sdfx]|"
        rf"%\d{{1,2}}\$[#0+'-]{{0,5}}{_WIDTH}{_PRECISION}{_CONVERSION}|"
        rf"%(?:[#0+'-]{{1,5}}(?=[\d*.])|[#0+']{{0,4}}){_WIDTH}{_PRECISION}{_CONVERSION}(?![{_LETTER}])|"
        rf"%\d{{0,3}}(?:l{{0,2}}[dsuixfg]|p)(?={_UNIT}|[A-Z])|%s(?=[a-z])|%%",
    ),
    # Boost (%1%), Qt (%1, %L1), times (%Y-%m-%d) and names (%Name)
    (
        "percent",
        rf"%\d{{1,2}}%(?![\w(])|%L?[1-9]\d?(?!\d|['’][{_LETTER}])|"
        rf"%[-_0^#]?[ABDFHIMSTUVWXYZjklmbhywtrRNade](?![\w%]?[{_LETTER}])|%[A-Z][A-Za-z0-9_]+",
    ),
    ("underscores", r"(?<!\w)__\w+?__(?!\w)"),
    (
        "tag",
        r"<!--[^<>\n]{0,300}-->|</?\d{1,3}\s?/?>|</?[A-Za-z][\w:.-]*"
        r"(?:\s+[A-Za-z_:@][\w:.-]*(?:\s*=\s*(?:\"[^\"]*\"|'[^']*'|[^\s\"'<>=]+))?)*\s*/?>",
    ),
    ("entity", r"&(?:[A-Za-z][A-Za-z0-9]{1,31}|#\d{1,7}|#[xX][0-9A-Fa-f]{1,6});"),
    ("emoji", r"(?<![\w:]):(?:[a-z][a-z0-9_+-]{1,40}|[+-]1):(?![\w:])"),
    ("escape", r"\\(?:[abfnrtv0\\\"']|x[0-9A-Fa-f]{2}|u[0-9A-Fa-f]{4})"),
)
_POSSIBLE = re.compile(r"[:@`{$%<&\\]|__|(?i:www)|\A\S+\.\S+\s*\Z")  # every span has one of these
_TRAILING = ".,;:!?…)]}»”’'\"*"  # after a URL it belongs to the sentence
_OPENING = {")": "(", "]": "["}
_QT = re.compile(r"%L?[1-9](?!\d)")
_ICU = re.compile(
    r"\{\s{0,9}\w+\s{0,9},\s{0,9}"
    r"(?:plural|select|selectordinal|number|date|time|spellout|ordinal|duration)\s{0,9}[,}]"
)


# Every directive of C, also where letters follow: "%sinfo".
_C = re.compile(
    r"%(?:\d{1,3}\$)?[-+#0']{0,5}(?:\*(?:\d{1,3}\$)?|\d{1,5})?(?:\.(?:\*(?:\d{1,3}\$)?|\d{0,5}))?"
    r"(?:(?:hh|h|ll|l|L|q|j|z|t)?[diouxXeEfFgGaAcspnm]|<PRI\w{1,9}>|%)"
)


def find_placeholders(text: str, *, c_format: bool = False) -> list[Placeholder]:
    """Return the placeholders of a text in order. They do not overlap.

    `c_format` says that C reads the text, so that each of its directives counts: "%cx" begins with one.
    """
    return _in_c(text) if c_format else _in_any_text(text)


def mask(text: str, spans: Iterable[tuple[int, int]]) -> bytearray:
    """Return a byte for each character: 1 inside the spans, else 0."""
    covered = bytearray(len(text))
    for start, end in spans:
        covered[start:end] = b"\1" * (end - start)
    return covered


def has_language(text: str, kept: Iterable[tuple[int, int]] = ()) -> bool:
    """Whether there is a word to translate outside the spans `kept`."""
    covered = mask(text, kept)
    return any(not any(covered[found.start() : found.end()]) for found in _WORD.finditer(text))


def _in_c(text: str) -> list[Placeholder]:
    found: list[Placeholder] = []
    place = 0
    for match in [*_C.finditer(text), None]:
        between = text[place : match.start()] if match else text[place:]
        found += [replace(one, start=one.start + place, end=one.end + place) for one in _in_any_text(between)]
        if match:
            found.append(Placeholder(*match.span(), "printf", match[0]))
            place = match.end()
    return found


@cache
def _any() -> re.Pattern[str]:
    """All forms. To compile them takes longer than to read a short text without any."""
    return re.compile("|".join(f"(?P<k{number}>{form})" for number, (_, form) in enumerate(_FORMS)))


def _in_any_text(text: str) -> list[Placeholder]:
    if not _POSSIBLE.search(text):
        return []
    found: list[Placeholder] = []
    numbered = _QT.search(text) is not None
    place, icu, match = 0, _ICU.search(text), _any().search(text)
    while True:
        if match is not None and match.start() < place:
            match = _any().search(text, place)
        if icu is not None and icu.start() < place:
            icu = _ICU.search(text, place)
        if icu is not None and (match is None or icu.start() <= match.start()):
            kind: Kind = "icu"
            start, end = icu.start(), _closing(text, icu.start())
            if not end:  # a later start would not close either
                icu = None
                continue
        elif match is None:
            return found
        else:
            kind, (start, end) = _FORMS[int(str(match.lastgroup)[1:])][0], match.span()
            if kind == "url":
                end = _end_of_url(text, start, end)
            if kind == "dollar" and text[start + 1 : end].isdigit() and _is_price(text, start, end):
                place = start + 1
                continue
            if kind in ("printf", "percent") and _is_language(text, place, start, end, kind, numbered):
                place = start + 1
                continue
        found.append(Placeholder(start, end, kind, text[start:end]))
        place = end


def _is_language(text: str, place: int, start: int, end: int, kind: Kind, numbered: bool) -> bool:
    """Whether an apparent placeholder is language after all: "100%ig", "6 %zu", "%50" in Turkish.

    The placeholder before ends at `place`: the digit in "%1%2" is not a number. `numbered` says whether the
    text has one of %1 to %9, because Qt counts from there.
    """
    word = text[start + 1 : end]
    before = text[max(start - 2, place) : start]
    if word == "%":
        return False
    if before[-1:].isdigit():
        return kind == "percent" or (len(word) > 1 and word.isalpha())
    if before[:1].isdigit() and before[1:].isspace():
        return word[0] == "-" or (word.isalpha() and (kind == "percent" or len(word) > 1))
    if len(word) == 2 and word.isdigit():
        return not numbered
    # "%slink%s" has two; a lone "%sort" is a word.
    return word == "s" and text[end : end + 1].islower() and text.find("%s") == text.rfind("%s")


def _is_price(text: str, start: int, end: int) -> bool:
    """Whether $4 is a price: directives count from $1, so the text has $1, $2 and $3, too."""
    missing = any(f"${n}" not in text for n in range(1, int(text[start + 1 : end])))
    return missing or _PAID.search(text, max(start - 30, 0), start) is not None


def _end_of_url(text: str, start: int, end: int) -> int:
    """Leave out marks that end the sentence. A closing bracket stays if the URL opened it."""
    excess = {
        close: text.count(close, start, end) - text.count(opening, start, end)
        for close, opening in _OPENING.items()
    }
    while end > start and (last := text[end - 1]) in _TRAILING:
        if last in excess:
            if excess[last] <= 0:
                break
            excess[last] -= 1
        end -= 1
    return end


def _closing(text: str, start: int) -> int:
    """Return the place after the brace that closes the one at `start`, or 0. Quoted braces do not count."""
    depth, place = 0, start
    while place < len(text):
        char = text[place]
        if char == "'" and text[place + 1 : place + 2] in ("{", "}"):
            place = text.find("'", place + 1)
            if place < 0:
                return 0
        elif char == "{":
            depth += 1
        elif char == "}":
            depth -= 1
            if not depth:
                return place + 1
        place += 1
    return 0
