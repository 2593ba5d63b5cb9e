"""What a file is by its content: a format, text with a structure that we do not read, or plain text."""

from __future__ import annotations

import codecs
import re

START = 2**16  # bytes of a file that decide
_BINARY = {  # what begins so, and the suffix that it usually has
    ("a PDF file", ".pdf"): (b"%PDF-",),
    ("a binary property list", ".bplist"): (b"bplist",),
    ("rich text", ".rtf"): (b"{\\rtf",),
    ("an old Office file", ".doc"): (b"\xd0\xcf\x11\xe0",),
    ("a compiled catalogue", ".mo"): (b"\xde\x12\x04\x95", b"\x95\x04\x12\xde"),
    ("a zip file", ".zip"): (b"PK\3\4", b"PK\5\6"),
    ("a compressed file", ".gz"): (b"\x1f\x8b", b"\x28\xb5\x2f\xfd", b"BZh", b"\xfd7zXZ", b"7z\xbc", b"Rar!"),
    ("an image", ".png"): (b"\x89PNG", b"\xff\xd8\xff", b"GIF8", b"II*\0", b"MM\0*"),
    ("a program", ".exe"): (b"\x7fELF", b"MZ\x90", b"\xca\xfe\xba\xbe", b"\xcf\xfa\xed\xfe", b"\0asm"),
}
_ENCODINGS = (  # a byte order mark, or <, " or / in UTF-16 without one
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
    *((mark + b"\0", "utf-16-le") for mark in (b"<", b'"', b"/")),
    *((b"\0" + mark, "utf-16-be") for mark in (b"<", b'"', b"/")),
)
_PROLOGUE = r"\s*+(?:<\?.*?\?>\s*+|<!--.*?-->\s*+|<!DOCTYPE[^>\[]*+(?:\[.*?\]\s*+)?>\s*+)*+"
_ROOT = re.compile(rf"{_PROLOGUE}<(?:[\w.-]+:)?([A-Za-z][\w.-]*)(?=[\s/>])", re.DOTALL | re.IGNORECASE)
_ROOTS = {"xliff": "xliff", "tmx": "tmx", "ts": "qt", "resources": "android", "html": "html"}
_FORMATS = (  # how a text begins
    (re.compile(r"WEBVTT"), "vtt"),
    (re.compile(r"\s*\d+[ \t]*\n[ \t]*\d+:\d\d:\d\d[,.]\d+ *-->"), "srt"),
    (re.compile(r"(?:[ \t]*(?:#.*)?\n)*msg(?:id|ctxt)[ \t]*\""), "po"),
    (re.compile(r"(?:\s|<!--(?s:.*?)-->)*+<!doctype html\b", re.IGNORECASE), "html"),
    (re.compile(r"\s*(?:\{\s*(?:[\"}]|\Z|/[/*])|\[\s*(?:[\"{\[]|\]?\s*\Z))"), "json"),
)
_KEY = r"(?:[A-Za-z_][\w.$-]*|\"[^\"\n]*\"|'[^'\n]*')"
_COMMENTS = re.compile(r"(?:[ \t]*+(?:[#;](?!!).*|//.*|/\*(?s:.*?)\*/)?\n)+")
_STRUCTURES = (  # how a text begins behind comments, or all of it
    (
        re.compile(r"#!|<\?php|\{%|\\(?:documentclass|begin)\b|%!PS|(?:package|import|use) \S+;?\n"),
        "a program",
    ),
    (re.compile(r"<[?!]|<[A-Za-z][^<>]*>[ \t]*(?:\n|\Z|<)"), "XML or HTML without a known root"),
    (re.compile(r"\[Script Info\]|\{\d+\}\{\d+\}|\[\d+:\d\d[.:]\d+\]|\d+:\d\d:\d\d\.\d+,"), "subtitles"),
    (re.compile(r"BEGIN:V|@\w+\{"), "a calendar, addresses or literature"),
    (re.compile(r"\[+[^\[\]\n]+\]+[ \t]*\n(?:.*\n)*?[\w.\"' -]+="), "INI or TOML"),
    (
        re.compile(
            rf"%YAML|---[ \t]*\n|(?:{_KEY}:[ \t]+[^\s|>&!].*\n)*+{_KEY}:[ \t]*(?:[|>&!].*)?\n(?:[ \t]+\S|- )"
            rf"|- {_KEY}:[ \t].*\n[ \t]+{_KEY}:"
        ),
        "YAML",
    ),
)
_SECTION = re.compile(r"\[+[^\[\]\n]+\]+\Z")
_PYTHON = re.compile(r"(?:def \w+\(.*|class \w+(?:\(.*\))?):\Z")
# Of tables, and the rows that it takes at least: not the comma in 1,000.
_SEPARATORS = (("\t", 2), (r";(?! )", 2), (r"(?<!\d),(?! )|,(?![ \d])", 3))
# Also a dialogue looks like this, so the suffix of a language speaks against it.
_EQUAL = re.compile(rf"{_KEY}[ \t]*=(?!=)")
_PAIR = re.compile(rf"{_EQUAL.pattern}|(?:[a-z_][\w.$-]*|\"[^\"\n]*\"):(?!\S)")


def binary(data: bytes) -> tuple[str, str] | None:
    """What a file is that is no text, such as "a PDF file", and its usual suffix; None for text."""
    known = next((what for what, marks in _BINARY.items() if data.startswith(marks)), None)
    start = data[:START]
    if known or b"\0" not in start or data.startswith(tuple(mark for mark, _ in _ENCODINGS)):
        return known
    try:
        codecs.getincrementaldecoder("utf-8")().decode(start)
    except UnicodeDecodeError:
        return "a binary file", ""
    mostly = start.count(0) * 4 > len(start)  # a database, UTF-16 without its mark
    return ("a binary file", "") if mostly or start[257:262] == b"ustar" else None


def start_of(data: bytes) -> str:
    """The text at the start of a file, with line feeds."""
    encoding = next((name for mark, name in _ENCODINGS if data.startswith(mark)), "utf-8-sig")
    return data[:START].decode(encoding, "replace").replace("\r\n", "\n").replace("\r", "\n")


def format_by_content(text: str) -> str | None:
    """The name of the format of a text that begins so, or None."""
    if (root := _ROOT.match(text)) and (name := _ROOTS.get(root[1].lower())):
        return name
    return next((name for mark, name in _FORMATS if mark.match(text)), None)


def structure_in(text: str, *, pairs: bool) -> str:
    """What a text with structure is that begins so, such as "YAML", or "" for plain text.

    `pairs` says whether it may be lines of `key: value`.
    """
    found = _COMMENTS.match(text)
    body = text[found.end() :] if found else text
    for mark, what in _STRUCTURES:
        if mark.match(body):
            return what
    lines = [line for line in body.splitlines() if line.strip()]
    if len(text) >= START // 4:  # the last one may be cut
        lines = lines[:-1]
    rows = [line.rstrip() for line in lines]
    keys = [row for row in rows if row[0] not in " \t#;}" and not _SECTION.match(row)]
    if keys and all(map((_PAIR if pairs else _EQUAL).match, keys)):
        return "INI or TOML" if any(map(_SECTION.match, rows)) else "lines of keys and values"
    for separator, least in _SEPARATORS:
        counts = {len(re.findall(separator, line)) for line in lines}
        if len(lines) >= least and len(counts) == 1 and counts != {0}:
            return "a table"
    ends = sum(row.endswith((";", "{", "}")) for row in rows)
    return "a program" if ends * 2 > len(rows) or any(map(_PYTHON.match, rows)) else ""
