"""Spans of a text that are not language and must survive translation: placeholders, URLs, code, markup.

    find_placeholders("Copy %s to {path}, see https://example.com.")
    # %s (printf), {path} (brace), https://example.com (url)

Names (:name, @count), options, paths and other words of programs are found between the others.

A span is found by its form alone, so "50 % of all" must not look like one. When in doubt a span is found:
an unneeded one is copied, a missed one may break a program. The time is linear in the text.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from typing import Literal, NamedTuple

from dragoman.text.blank import INVISIBLE

Kind = Literal[
    "url", "email", "code", "icu", "double brace", "brace", "dollar", "printf", "percent", "underscores",
    "tag", "entity", "emoji", "escape", "name", "option", "path", "identifier",
]  # fmt: skip


class Placeholder(NamedTuple):
    """A span of a text: text[start:end]."""

    start: int
    end: int
    kind: Kind
    text: str


_WORD = re.compile(f"(?:(?![{INVISIBLE}²³¹⁰-₉¼-¾⅐-↉①-⓿❶-➓])[^\\W\\d_])+")
# Letters of the scripts that put spaces between words.
_LETTER = r"A-Za-z\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u024f\u0370-\u058f"
_NAME = r"[^\W\d][\w-]*"
# A URL ends before scripts that put no space after it, and before quotes and marks that none has. "\ufffc"
# stands for a code.
_NO_URL = (
    r"\s<>\"'`{}|\\^«»“”„‟‚‘‹›\u2014\u060c\u061b\u061f\u06d4\u0589\u0964\u0965\u104a\u104b\u1362-\u1368\u17d4"
    r"\u200b\u200e\u200f\u202a-\u202e\u2066-\u2069\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff"
    r"\u3000-\u30ff\u3400-\u9fff\uac00-\ud7af\uff00-\uffff"
)
_URL = rf"(?:[^{_NO_URL}]|\$?\{{[\w.$-]{{0,40}}\}})+"
_MAIL = rf"[{_LETTER}0-9._+%-]{{1,64}}@[A-Za-z0-9-]{{1,63}}(?:\.[A-Za-z0-9-]{{1,63}}){{1,8}}"
_FOLDER = r"[\w.()~$%+-]+"  # of Windows: a word of its name
_MONEY = (
    r"(?![.,]?\d|[ \u00a0\u202f]\d{3}(?!\d)|[-\u2013]\$?\d|/(?:day|week|month|year|hour|mo|yr|hr|kg|lb)\b"
    r"|[ \u00a0-]?(?:[mb]illi|trilli|mrd|mio|mln|mld|bn|mn|per\b|each\b|cent|k\b|m\b|off\b"
    r"|an? (?:day|week|month|year|hour|night|piece|person)\b))"
)
_PAID = re.compile(r"(?i)\b(?:costs?|pays?|paid|worth|prices?:?|spent|charged?) (?:\w+ )?$|-$")
_CONVERSION = r"(?:hh|h|ll|l|q|j|z|t|L)?(?:[diouxXeEfFgGcspn@]|<PRI[diouxX]\w{1,9}>)"
_PRECISION = r"(?:\.(?:\*(?:\d{1,2}\$)?|\d{1,4})?)?"
_WIDTH = r"(?:\*(?:\d{1,2}\$)?|\d{1,4})?"
MEASURE = (  # the same in all languages, more or less
    r"(?:[kKMGTP]?i?(?:B|b|bps|bit)(?:/s)?|[mµkc]?m(?:/h|/s)?|[kmµ]?[glVAW]|ms|h|[kMG]?Hz|px|pt|r?em|v[hw]"
    r"|dpi|ppi|fps|bpm|rpm|mph|kmh|kWh|lbs?|oz|ft|(?<=[dfgu])s)(?![A-Za-z])"
)
_UNIT = rf"(?:{MEASURE}|(?:[KMGTsdwxy]|mins?|secs?|hrs?|mi|th|nd|rd|st)(?![A-Za-z]))"
# In an attribute a tag of a template may stand. No "<" else, so that the time is linear.
_QUOTED = "|".join(rf"{q}(?:[^{q}<]|<[%?][^<>\n]{{0,300}}>)*+{q}" for q in "\"'")
# In order of precedence where two begin at the same place.
_FORMS: tuple[tuple[Kind, str], ...] = (
    (
        "url",
        rf"(?:(?i:https?|ftp|file|irc)://|(?<![A-Za-z0-9+.-])[A-Za-z][A-Za-z0-9+.-]{{1,20}}://|\bmailto:|\btel:(?=\+?\d)){_URL}"
        rf"|\b(?i:www)\.[\w-]{{1,63}}\.{_URL}|\bgit@[\w.-]{{1,63}}:{_URL}"
        rf"|<(?:[A-Za-z][A-Za-z0-9+.-]{{1,20}}://|(?i:mailto|tel):)[^\s<>]+>"
        # Alone in the text: a name of a host.
        rf"|\A(?:(?:[a-z0-9-]{{1,63}}\.){{1,8}}[a-z]{{2,24}}|(?:[A-Z0-9-]{{2,63}}\.){{1,8}}[A-Z]{{2,24}})"
        rf"(?:[:/?#]{_URL})?(?=\s*\Z)"
        # Windows. A folder may have spaces in its name, and so may what is alone in the text.
        r"|\A[A-Za-z]:\\(?:[^\\/:*?\"<>|\n]+\\)*+(?:[^\\/:*?\"<>|\n]*\.\w{1,5}|[A-Z]\w*(?: [A-Z(][\w()]*)+)"
        r"(?=\s*\Z)"
        rf"|(?<!\w)[A-Za-z]:\\(?:{_FOLDER}(?: {_FOLDER}){{0,3}}\\)*+(?:{_FOLDER})?"
        r"|(?<![\w\\])\\\\[A-Za-z][\w.-]+(?:\\[\w.$-]+)+",
    ),
    ("email", rf"<{_MAIL}>|(?<![{_LETTER}0-9._+%-]){_MAIL}"),
    ("name", r"\[(?:url|img|code|quote|size|color)=[^\[\]\n]*\]"),  # BBCode, with an address or {0} in it
    # reStructuredText and Markdown: :role:`text`, ``text``, `text`; not the quotes of GNU, `text'
    (
        "code",
        r"(?:(?<![\w:+.-]):[a-z][\w:+.-]{0,60}:)?"
        r"(?:``(?!`)[^`\n](?:[^`\n]|`(?!`))*``(?![`\w])|`[^`\s](?:[^`\n]*[^`\s])?`_{0,2}(?![`\w]))",
    ),
    (
        "double brace",
        r"\{\{\{[^{}\n]*\}\}\}|\$?\{\{(?:[^{}\n]|\{[^{}\n]*\})*+\}\}|\{%[^{}\n]*%\}|\{\#[^{}\n]*\#\}|\{!![^{}\n]*!!\}"
        r"|<%(?:[^%<\n]|%(?!>)){0,300}%>|<\?(?:[^?<\n]|\?(?!>)){1,300}\?>",
    ),
    # Shells, templates, LibreOffice: ${name}, $(name), $[name], $NAME, $NAME$, $1; Ruby: #{name};
    # CMake: @NAME@; i18next: $t(key, {"count": 3})
    (
        "dollar",
        r"\$\$(?=\s\d|\d[.,]?\d)|(?:\$!?|[#@])\{[^{}\n]*\}|\$(?:\([^()\s]+\)|tc?\((?:[^(){}$\n]|\{(?:[^{}\n]|\{{1,2}[^{}\n]*\}{1,2})*\})*+\))"
        r"|\$\[[\w.-]+\]|(?<!\w)\$[1-9](?!\w)" + _MONEY + r"|\$[A-Za-z_][\w@]*\$(?!\w)|"
        r"\$(?!(?:US|USD|CA|CAN|CAD|AU|AUD|NZ|NZD|HK|HKD)\b)[A-Za-z_]\w+|(?:(?<![\w@])|(?<=\w@)|(?<=\w@@))@{1,2}[A-Za-z][A-Za-z0-9_.]+@{1,2}(?:(?![\w@])|(?=@{1,2}[A-Za-z]))",
    ),
    # Python, C#, JavaScript, Fluent, Smarty: {}, {0}, {name:>5}, {name!r}, {a[0].b}, { $name }, {x|upper}
    (
        "brace",
        rf"%?\{{\s{{0,9}}[$@-]?(?:\d+|{_NAME})?(?:\[[\w.]+\]|\.{_NAME})*(?:\([^(){{}}\n]*\))?(?:,-?\d+)?"
        r"(?:![rsa])?(?::(?:[^{}\n]|\{[^{}\n]*\})*+|\|[^\s{}|][^{}\n]*)?\s{0,9}\}",
    ),
    (
        "percent",
        r"%[A-Z][A-Z0-9_]{2,}(?!\w)%?|%[A-Z]\w+%(?![\w(])|%[a-z_]\w{3,}(?:[.-]\w+)*%(?![\w(%])|%%[A-Z]\w+%%(?!\w)",
    ),
    ("escape", r"(?:%[0-9A-F][0-9A-Fa-f]){2,}(?!\w)"),  # of a URL
    # C, Python, Objective-C. No space as a flag: "50 % of" is language, as is the Hungarian "50 %-a".
    (
        "printf",
        r"%\([\w .-]+\)[#0+-]{0,4}\d{0,4}(?:\.\d{1,4})?[diouxXeEfFgGcrsa]|"
        r"%<\w+>[#0+-]{0,4}\d{0,4}(?:\.\d{1,4})?[diouxXeEfgGcsa]|%(?:\d{1,2}\$)?#@\w+@|"
        rf"%\d{{1,2}}\$[#0+'-]{{0,5}}{_WIDTH}{_PRECISION}{_CONVERSION}|"
        rf"%(?:[#0+'-]{{1,5}}(?=[\d*.])|[#0+']{{0,4}}){_WIDTH}{_PRECISION}{_CONVERSION}(?![{_LETTER}])|"
        rf"%\d{{0,3}}\.\d{{1,2}}[feg]|%0\d{{1,2}}[dux]|"
        rf"%\d{{0,3}}(?:l{{0,2}}[dsuixfg]|p)(?={_UNIT}|[A-Z])|%s(?=[a-z])|%%",
    ),
    # Boost (%1%), Qt (%1, %L1), times (%Y-%m-%d) and names (%Name)
    (
        "percent",
        rf"%\d{{1,2}}%(?![\w(])|%L?[1-9]\d?(?!\d|['’][{_LETTER}])|"
        rf"%[-_0^#]?[ABDFHIMSTUVWXYZjklmbhywtrRNade](?![\w%]?[{_LETTER}])|%[A-Z][A-Za-z0-9_]+|%[a-z][a-z_]{{2,}}(?!\w)",
    ),
    ("underscores", r"(?<!\w)__\w+?__(?!\w)"),
    (
        "tag",
        # Also with arguments: <a href="{0}">, <b class={x}>, and with anything else: <a rel="b" …>
        r"<!--[^<>\n]{0,300}-->|<!(?i:doctype)[^<>\n]{0,300}>|</?\d{1,3}\s?/?>|</?[#@]?[^\W\d_][\w:.-]*+(?:"
        rf"(?:[\s\\/](?:[^<>\"'{{]|{_QUOTED}|\{{[^{{}}<\n]*\}})*+)?>|\s[^<>\n]*>)",
    ),
    ("entity", r"&(?:[A-Za-z][A-Za-z0-9]{1,31}|#\d{1,7}|#[xX][0-9A-Fa-f]{1,6});"),
    ("emoji", r"(?<![\w:]):(?:[a-z][a-z0-9_+-]{1,40}|[+-]1):(?![\w:])"),
    ("escape", r"\\(?:[abfnrtv0\\\"']|x[0-9A-Fa-f]{2}|u[0-9A-Fa-f]{4})"),
)
_POSSIBLE = re.compile(r"[:@`{$%<&\\]|__|(?i:www)|\A\S+\.\S+\s*\Z")  # every span has one of these

# Words of programs. They are found between the spans of the other forms.
_BEFORE = rf"(?<![{_LETTER}0-9_"  # no letter, and none of the characters that follow
_PART = r"[A-Za-z0-9_.+@*~:%-]+"  # of a path
_ENDINGS = (
    r"py|[jt]sx?|s?css|x?html|xml|json|ya?ml|toml|md|rst|txt|log|csv|tsv|pdf|docx?|xlsx?|pptx?|od[tsp]|png|jpe?g"
    r"|gif|svg|webp|ico|bmp|mp[34]|wav|ogg|avi|mkv|zip|t?gz|bz2|xz|7z|rar|tar|exe|dll|msi|bat|ps1|sh|ini|cfg|conf"
    r"|cpp|hpp|java|jar|php|rb|sql|sqlite|pot?|xlf|xliff|tmx|srt|vtt|deb|rpm|iso|apk|dmg"
)
_ROOTS = "bin|boot|dev|etc|home|lib|media|mnt|opt|proc|root|run|sbin|srv|sys|tmp|usr|var"
_LETTERS = "YYYY|yyyy|YY|yy|MM|mm|DD|dd|HH|hh|SS|ss"  # of a format of dates
_WORDS: tuple[tuple[Kind, str], ...] = (
    # Laravel :name, Drupal @count !name [user:name], vue-i18n @:key, TYPO3 ###NAME###, Mailchimp *|NAME|*
    (
        "name",
        rf"{_BEFORE}@.])@(?:(?:\.[a-z]+)?:(?:\([\w.-]+\)|\{{'[^'{{}}\n]*'\}}|[A-Za-z_][\w-]*(?:\.[\w-]+)*)|\([\w.-]+\)"
        r"|[A-Za-z_][A-Za-z0-9_-]*(?:/[A-Za-z0-9_-]+|\.[A-Za-z][A-Za-z0-9_]+)*)"
        rf"|{_BEFORE}:.)\]}}/]):[A-Za-z_][A-Za-z0-9_]+(?![\w:])"
        r"|(?<![^\s(\"'“«>])![a-z]\w+|(?:(?<![\w#&])|(?<=\w#)|(?<=\w###))#{1,3}[A-Za-z]\w+#{1,3}(?:(?![\w#])|(?=#{1,3}[A-Za-z]))|\*\|[\w:]+\|\*"
        r"|\[\[[^\[\]\n]+\]\]|\[%(?:[^%\[\n]|%(?!\])|\[(?!%))*+%\]|\[[a-z_-]+(?::[\w-]+)+\]"
        r"|\[/?(?:[bius]|url|img|code|quote|size|color)(?:=[^\[\]\n]*)?\]",
    ),
    (
        "option",
        r"(?<![^\s(\[{\"'“„«|/,=`])(?:--(?:\[no-\])?|\[-\])[A-Za-z][\w-]*"
        r"(?:=[^\s,;\"'()\[\]]*[\w/}>]|\[=[^\s\[\]]*\]|=(?=[\s\"']|\Z))?"
        r"|(?<=[\s(\[|\"'`,/])-[A-Za-z](?=[\s,.;:()\[\]/|\"'`=]|\Z)|\A-[A-Za-z](?=,|\s+-|\s*\Z)",
    ),
    (
        "path",
        rf"{_BEFORE}/.:~)\]}}>])(?:(?:/(?=[A-Za-z_.]){_PART}){{2,}}/?|/(?:{_ROOTS})(?!\w)/?)"
        rf"|{_BEFORE}/.~])(?:~(?:[a-z]\w*)?|\.{{1,2}}|\.[a-z]\w*)(?:/{_PART})+/?"
        rf"|{_BEFORE}/.+-])[A-Za-z0-9_.+-]+(?:/[A-Za-z0-9_.+-]+)+\.[A-Za-z][A-Za-z0-9]{{0,4}}(?!\w)"
        rf"|{_BEFORE}/.@*-])[A-Za-z0-9_*][A-Za-z0-9_.*-]*\.(?:{_ENDINGS})(?!\w)"
        r"|(?<![\w*/.-])\*\.[A-Za-z]\w{0,9}(?!\w)",
    ),
    # Dotted keys, constants, calls, colours, numbers in hexadecimal, versions, formats of dates
    (
        "identifier",
        rf"{_BEFORE}.@/-])(?:[a-z_][A-Za-z0-9_-]+(?:\.[A-Za-z_][A-Za-z0-9_-]+){{2,}}(?:\(\))?|(?:[A-Za-z_]\w{{0,60}}::){{0,4}}[A-Za-z_][A-Za-z0-9_.]*\(\)"
        r"|[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+(?:=(?:[A-Z]|[a-z0-9]+))?|[A-Za-z0-9]+(?:_[A-Za-z0-9]+){2,}"
        r"|0x[0-9A-Fa-f]+|[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}|(?=[a-f]*\d)(?=\d*[a-f])[0-9a-f]{7,64}"
        r"|v\d+(?:\.\d+)*(?:[.-]?(?:alpha|beta|rc|dev)\.?\d*)?|(?!\d{1,3}(?:\.\d{3})+(?![\d.]))\d+(?:\.\d+){3,}|\d+\.\d+\.\d"
        rf"|(?:[Hh]:)?(?:{_LETTERS})(?:[-/.:](?:{_LETTERS}))+|(?:YYYY|yyyy)(?:[-/.:T]?(?:MM|mm|DD|dd|HH|hh|ss))+|(?:CC|YY)?MMDD(?:hh|HH)(?:MM|mm)(?:SS|ss)?)"
        r"(?!\w|\.\d)"
        r"|(?<![\w#&])#(?:[0-9A-Fa-f]{8}|[0-9A-Fa-f]{6}|(?=[0-9]*[A-Fa-f])[0-9A-Fa-f]{3})(?!\w)",
    ),
)
_POSSIBLE_WORD = re.compile(  # every word of a program has one of these; the first set makes the search fast
    r"[-@#~/\[_:!*.(0-9YyM](?:(?<=[@#~/\[_])|(?<=:)[A-Za-z]|(?<=!)[a-z]|(?<=\*)[.|]|(?<=\()\)"
    r"|(?<=[\s(|\"'`,=]-)-?[A-Za-z]|(?<=\A-)-?[A-Za-z]|(?<=[A-Za-z0-9-]\.)[A-Za-z_]|(?<=[0-9]\.)[0-9]+\.[0-9]"
    r"|(?<=[0-9])[a-fx]|(?<=[a-fv][0-9])|(?<=[-.:])[YMDHSymdhs]{2}|(?<=[Yy])[Yy]{3}[MmDd ]|(?<=M)MDD)"
)
_TRAILING = ".,;:!?…)]}»”“’'\"*"  # after a URL it belongs to the sentence
_OPENING = {")": "(", "]": "[", "}": "{"}
_QT = re.compile(r"%L?[1-9](?!\d)")
_SNAKE = re.compile(r"%[a-z][a-z_]{2,}(?!\w)")
_ICU = re.compile(
    r"\{\s{0,9}\w+\s{0,9},\s{0,9}"
    r"(?:plural|select|selectordinal|number|date|time|spellout|ordinal|duration)\s{0,9}[,}]"
)


# How programs read a message, by its flag in gettext. All of them is a span, also where letters follow
# ("%sinfo") and where a lone sign would be an error.
_PERCENT = (
    r"%\{\w+\}|%(?:\d{1,4}[$:]|\([^()\n]*\)|<(?!PRI)\w+>|\[\d+\])?[-+ #0'_,(I]{0,6}"
    r"(?:\*(?:\d{1,4}\$)?|\d{1,5})?(?:\.(?:\*(?:\d{1,4}\$)?|\d{0,5}))?"
    r"(?:[hlLqjztwv]{1,2}(?=[A-Za-z@]))?(?:<PRI\w{1,9}>|[A-Za-z@%])|%"
)
_BRACES = r"\{\{|\}\}|\{(?:[^{}]|\{[^{}]*\})*+\}|[{}]"
_QT_ARGUMENT = r"%L?(?:\d{1,2}|n)"
_DIALECTS = {
    "php": r"%(?:\d{1,4}\$)?(?:[-+ 0]|'.){0,4}\d{0,5}(?:\.\d{0,5})?[A-Za-z%]|%",
    "gcc-internal": r"%[<>'{}]|%(?:\d{1,4}\$)?[q+#wlHLzt0-9.*-]{0,8}[A-Za-z@%]|%",
    "sh": r"\$\{[^{}\n]*\}|\$\w+",
    "perl-brace": r"\{[A-Za-z_]\w*\}",
    "boost": rf"%\|[^|\n]*\||%\d{{1,4}}%|{_PERCENT}",
    "smalltalk": r"<[^<>\s]{0,9}>|%.",
    **dict.fromkeys(("javascript", "lua"), r"%[-+ #0]{0,5}\d{0,5}(?:\.\d{0,5})?[A-Za-z%]|%"),
    "ycp": r"%[1-9%]|%",
    **dict.fromkeys(("lisp", "scheme"), r"~[-+\d,'vV#:@]{0,20}.|~"),
    **dict.fromkeys(("qt", "qt-plural", "kde", "kde-kuit"), _QT_ARGUMENT),
    **dict.fromkeys(("python-brace", "csharp", "c++", "rust"), _BRACES),
}
# Placeholders that mean something by their order: %s and {}, but neither %1$s nor {0}.
IN_ORDER = re.compile(
    r"%(?:[-#0+ ,(]|'.?)*(?:\*|\d+)?(?:\.(?:\*|\d+))?(?:(?:hh|h|ll|l|q|j|z|t|L)?[A-Za-z@]|<PRI\w+>)"
    r"|\{(?:[:!][^}]*)?\}|~[-+\d,'vV#:@]*[A-Za-z]"
)
_WHOLE = ("tag", "url", "email", "double brace")  # with the directives in them


def dialects(flags: Iterable[str]) -> tuple[str, ...]:
    """Return the programs that read a message: "c" for the flag "c-format". "no-c-format" names no program.

    "icu-format" and "java-format" are left out: the arguments of such messages are codes.
    """
    names = (flag.removesuffix("-format").removeprefix("possible-") for flag in flags if "-format" in flag)
    return tuple(name for name in names if not name.startswith("no-") and name not in ("icu", "java"))


def find_placeholders(text: str, flags: Sequence[str] = ()) -> list[Placeholder]:
    """Return the placeholders of a text in order. They do not overlap.

    `flags` are those of its message, such as "c-format": they say which program reads it, so that each of
    its directives counts. To C "%cx" begins with one.
    """
    found, names = list(_in_any_text(text)), dialects(flags)
    if not names or not (read := list(_read_by(text, names))):
        return found
    begun = mask(text, ((one.start + 1, one.end) for one in read))
    whole = [one for one in found if one.kind in _WHOLE and not begun[one.start]]
    covered = mask(text, ((one.start, one.end) for one in whole))
    found = sorted(whole + [one for one in read if not covered[one.start]], key=lambda one: one.start)
    return list(_with_those_between(text, found))


def _with_those_between(text: str, found: Iterable[Placeholder]) -> Iterator[Placeholder]:
    place = 0
    for one in [*found, Placeholder(len(text), len(text), "printf", "")]:
        for each in _in_any_text(text[place : one.start]):
            yield each._replace(start=each.start + place, end=each.end + place)
        if one.text:
            yield one
        place = one.end


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


def _read_by(text: str, names: tuple[str, ...]) -> Iterator[Placeholder]:
    """Find what a program reads as a directive."""
    for match in _directives(names).finditer(text):
        yield Placeholder(*match.span(), "brace" if match[0][0] in "{}" else "printf", match[0])


@cache
def _directives(names: tuple[str, ...]) -> re.Pattern[str]:
    return re.compile("|".join(dict.fromkeys(_DIALECTS.get(name, _PERCENT) for name in names)), re.DOTALL)


@cache
def _any(forms: tuple[tuple[Kind, str], ...]) -> re.Pattern[str]:
    """All these forms. To compile them takes longer than to read a short text without any."""
    return re.compile("|".join(f"(?P<k{number}>{form})" for number, (_, form) in enumerate(forms)))


def _in_any_text(text: str) -> Iterator[Placeholder]:
    """Find the placeholders whose form is clear, and between them the words of programs."""
    found = _with_signs(text)
    words = _POSSIBLE_WORD.search(text) is not None
    place = 0
    for one in [*found, Placeholder(len(text), len(text), "name", "")]:
        while words and (match := _any(_WORDS).search(text, place, one.start)):
            kind, (start, end) = _WORDS[int(str(match.lastgroup)[1:])][0], match.span()
            if kind == "path":
                end = _end_of_url(text, start, end)
            yield Placeholder(start, end, kind, text[start:end])
            place = max(end, start + 1)
        if one.text:
            yield one
        place = one.end


def _with_signs(text: str) -> list[Placeholder]:
    if not _POSSIBLE.search(text):
        return []
    found: list[Placeholder] = []
    numbered = _QT.search(text) is not None
    place, icu, match = 0, _ICU.search(text), _any(_FORMS).search(text)
    while True:
        if match is not None and match.start() < place:
            match = _any(_FORMS).search(text, place)
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
            lone = kind == "printf" and text[start:end] == "%s" and text.find("%s") == text.rfind("%s")
            if lone and (name := _SNAKE.match(text, start)):  # "%sort", but not in "%slink%s"
                kind, end = "percent", name.end()
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
    long = word.isalpha() and (len(word) > 1 or text[end : end + 1].isalpha())
    if before[-1:].isdigit():
        return kind == "percent" or long
    if before[:1].isdigit() and before[1:].isspace():
        return word[0] == "-" or long or (word.isalpha() and kind == "percent")
    return len(word) == 2 and word.isdigit() and not numbered


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
