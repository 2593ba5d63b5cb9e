"""What other programs see in a file: what must stay when texts change, and how many faults they find.

A reader returns both, and raises if its program cannot read the file at all.
"""

from __future__ import annotations

import csv
import io
import json
import plistlib
import re
import subprocess
import zipfile
from collections import Counter
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import docutils.core
import docutils.nodes
import docx
import ebooklib.epub
import markdown_it
import odf.opendocument
import openpyxl
import polib
import pptx
import pysubs2
import webvtt
from fluent.syntax import FluentParser
from lxml import etree
from messages import ONE_LANGUAGE, po_text

Seen = tuple[object, int]
PLURAL = re.compile(r"[_/.](zero|one|two|few|many|other)$")
LRELEASE = "/usr/lib/qt6/bin/lrelease"


def outside(command: list[str], data: bytes, suffix: str) -> tuple[str, int]:
    """Let a program read a file: what it says, and its status."""
    with TemporaryDirectory() as folder:
        path = Path(folder, f"file{suffix}")
        path.write_bytes(data)
        done = subprocess.run(
            [*command, str(path)], capture_output=True, text=True, errors="replace", check=False
        )
        return done.stdout + done.stderr, done.returncode


def po(data: bytes) -> Seen:
    text = po_text(data)
    entries = [
        (one.msgctxt, one.msgid, one.msgid_plural, sorted(set(one.flags) - {"fuzzy"}))
        for one in polib.pofile(text)
    ]
    said, _ = outside(["msgfmt", "-c", "-o", "/dev/null"], data, ".po")
    return entries, len(re.findall(r"\.po:\d+: (?!warning)", said))


def bilingual(data: bytes) -> Seen:
    """XLIFF, TMX and TS: the sources with their ids."""
    tree = etree.fromstring(data)
    sources = [
        (etree.QName(one).localname, one.get("id"), etree.tostring(one) if one.tag == "source" else None)
        for one in tree.iter("{*}trans-unit", "{*}unit", "{*}source", "source", "{*}tu", "{*}header")
    ]
    return sources, 0


def ts(data: bytes) -> Seen:
    seen, _ = bilingual(data)
    said, status = outside([LRELEASE, "-silent", "-qm", "/dev/null"], data, ".ts")
    return seen, status + said.lower().count("error")


def keys(kind: str) -> Callable[[bytes], Seen]:
    """The keys of a file with one language. Languages have different plural forms."""

    def read(data: bytes) -> Seen:
        return sorted({PLURAL.sub("", key) for key in ONE_LANGUAGE[kind](data)}), 0

    return read


def plist(data: bytes) -> Seen:
    def shape(tree: Any) -> Any:
        if isinstance(tree, dict):
            return {
                key: shape(one)
                for key, one in tree.items()
                if key not in ("zero", "one", "two", "few", "many")
            }
        return type(tree).__name__

    return shape(plistlib.loads(data)), 0


def xcstrings(data: bytes) -> Seen:
    return sorted(json.loads(data)["strings"]), 0


def ftl(data: bytes) -> Seen:
    body = FluentParser().parse(data.decode("utf-8")).body
    named = [(type(one).__name__, one.id.name) for one in body if hasattr(one, "id")]
    return named, sum(type(one).__name__ == "Junk" for one in body)


def php(data: bytes) -> Seen:
    """The tokens of PHP but for its strings, which nothing runs."""
    script = (
        "foreach (token_get_all(file_get_contents($argv[1]), TOKEN_PARSE) as $t)"
        ' echo is_array($t) ? token_name($t[0]) : $t, "\\n";'
    )
    said, status = outside(["php", "-r", script, "--"], data, ".php")
    if status:
        raise ValueError(said[:200])
    return Counter(said.split()), 0


def table(data: bytes) -> Seen:
    text = data.decode("utf-8-sig")
    first = text.partition("\n")[0]
    rows = list(csv.reader(io.StringIO(text, newline=""), delimiter=max(",;\t|", key=first.count)))
    return [len(row) for row in rows], 0


def cues(data: bytes) -> Seen:
    return [
        (one.start, one.end, one.style) for one in pysubs2.SSAFile.from_string(data.decode("utf-8-sig"))
    ], 0


def vtt(data: bytes) -> Seen:
    return [(one.start, one.end) for one in webvtt.from_string(data.decode("utf-8-sig")).captions], 0


class Tags(HTMLParser):
    """Counts tags with the names of their attributes."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: Counter[object] = Counter()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen[(tag, tuple(sorted(name for name, _ in attrs)))] += 1

    def handle_endtag(self, tag: str) -> None:
        self.seen["/" + tag] += 1

    def handle_comment(self, data: str) -> None:
        self.seen[("comment", data)] += 1

    def handle_decl(self, decl: str) -> None:
        self.seen[("declaration", decl)] += 1


def html(data: bytes) -> Seen:
    tags = Tags()
    tags.feed(data.decode("utf-8", "surrogateescape"))
    tags.close()
    return tags.seen, 0


def markdown(data: bytes) -> Seen:
    """The blocks in order, their code (but for MyST's notes), and the number of each mark inside."""
    made = markdown_it.MarkdownIt("commonmark").enable(["table", "strikethrough"])
    tokens = made.parse(data.decode("utf-8-sig"))
    blocks = [(one.type, one.content if one.tag == "code" and one.info[:1] != "{" else "") for one in tokens]
    marks = Counter(
        inner.type
        for one in tokens
        for inner in one.children or ()
        if inner.type not in ("text", "softbreak")
    )
    return (
        blocks,
        {name: count for name, count in marks.items() if name.startswith(("link", "image", "code"))},
    ), 0


def rst(data: bytes) -> Seen:
    """Blocks and literal text. Directives that only Sphinx knows are faults here, in both files."""
    settings = {"report_level": 5, "halt_level": 6, "file_insertion_enabled": False, "_disable_config": True}
    tree = docutils.core.publish_doctree(data.decode("utf-8-sig"), settings_overrides=settings)
    messages = list(tree.findall(docutils.nodes.system_message))
    inside = {id(one) for message in messages for one in message.findall()}
    blocks = [
        (type(one).__name__, one.astext() if isinstance(one, docutils.nodes.literal_block) else "")
        for one in tree.findall()
        if isinstance(one, docutils.nodes.Structural | docutils.nodes.Body)
        and not isinstance(one, docutils.nodes.Inline)
        and id(one) not in inside
    ]
    return blocks, sum(one["level"] >= 2 for one in messages)


def parts(data: bytes) -> list[str]:
    """The names in a package, whose XML must be well-formed."""
    with zipfile.ZipFile(io.BytesIO(data)) as opened:
        for one in opened.namelist():
            if one.endswith((".xml", ".rels", ".opf", ".ncx")) and (content := opened.read(one)):
                etree.fromstring(content)
        return opened.namelist()


def word(data: bytes) -> Seen:
    document = docx.Document(io.BytesIO(data))
    return (
        parts(data),
        len(document.paragraphs),
        [len(one.rows) for one in document.tables],
        len(document.inline_shapes),
    ), 0


def slides(data: bytes) -> Seen:
    shown = pptx.Presentation(io.BytesIO(data))
    return (parts(data), [[one.shape_type for one in slide.shapes] for slide in shown.slides]), 0


def sheets(data: bytes) -> Seen:
    """Cells that are no text, and where text is."""
    book = openpyxl.load_workbook(io.BytesIO(data))
    cells = [
        (sheet.title, cell.coordinate, "text" if cell.data_type in "s" else str(cell.value))
        for sheet in book.worksheets for row in sheet.iter_rows() for cell in row if cell.value is not None
    ]  # fmt: skip
    return (parts(data), cells), 0


def opendocument(data: bytes) -> Seen:
    tree = odf.opendocument.load(io.BytesIO(data))
    names = Counter(getattr(one, "qname", ("", ""))[1] for one in tree.body.childNodes[0].childNodes)
    return (parts(data), names), 0


def book(data: bytes) -> Seen:
    with TemporaryDirectory() as folder:
        path = Path(folder, "book.epub")
        path.write_bytes(data)
        read = ebooklib.epub.read_epub(str(path), {"ignore_ncx": True})
    return (parts(data), [(one.id, one.get_type()) for one in read.get_items()], len(read.toc)), 0


READERS: dict[str, tuple[str, Callable[[bytes], Seen]]] = {
    "po": ("msgfmt -c, polib", po),
    "xliff": ("lxml", bilingual),
    "sdlxliff": ("lxml", bilingual),
    "mqxliff": ("lxml", bilingual),
    "tmx": ("lxml", bilingual),
    "ts": ("lrelease, lxml", ts),
    "android": ("lxml", keys("android")),
    "resx": ("lxml", keys("resx")),
    "json": ("json", keys("json")),
    "arb": ("json", keys("arb")),
    "yaml": ("PyYAML", keys("yaml")),
    "properties": ("javaproperties", keys("properties")),
    "strings": ("openstep-parser", keys("strings")),
    "stringsdict": ("plistlib", plist),
    "xcstrings": ("json", xcstrings),
    "ftl": ("fluent.syntax", ftl),
    "php": ("php", php),
    "csv": ("csv", table),
    "tsv": ("csv", table),
    "srt": ("pysubs2", cues),
    "vtt": ("webvtt-py", vtt),
    "ass": ("pysubs2", cues),
    "ssa": ("pysubs2", cues),
    "html": ("html.parser", html),
    "markdown": ("markdown-it", markdown),
    "rst": ("docutils", rst),
    "docx": ("python-docx", word),
    "pptx": ("python-pptx", slides),
    "xlsx": ("openpyxl", sheets),
    "odt": ("odfpy", opendocument),
    "odp": ("odfpy", opendocument),
    "ods": ("odfpy", opendocument),
    "epub": ("ebooklib", book),
}
