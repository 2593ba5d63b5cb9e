"""Files of parallel text, terms and documents with random damage: pairs or segments come out, or a DataError.

The long form changes each file 5,000 times:

    python -m pytest -m slow tests/text/corpora/formats/test_any_bytes.py
"""

# ruff: noqa: E501 (a file of data: a row reads better on one line)

from __future__ import annotations

import gzip
import random
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.cli.nasty.documents import docx, entry, paragraph, xliff
from tests.cli.nasty.parallel import tmx, unit
from tests.documents.files import LANGUAGES

from dragoman.base.errors import ConfigError, DataError
from dragoman.documents.formats import FORMATS
from dragoman.text.corpora.corpus import open_corpus
from dragoman.translation.terms.terms import TermList

_TSV = "The dog sleeps.\tDer Hund schläft.\n\nWhy?\tWarum?\r\n".encode() * 4
_JSONL = '{"source": "The dog.", "target": "Der \\u0048und."}\n{"de": "Müde", "en": "Tired"}\n'.encode() * 4
_TMX = tmx(unit("The <bpt>x</bpt>dog &amp; cat", "Hund") + "<!-- x -->" + unit("a", "b") * 3)
_CSV = b'source,target,note\ndog,Hund,x\n"a ""b""",\'c\'\ncat;Katze,Kater\n'
_TBX = (
    b'<?xml version="1.0"?><tbx type="TBX-Core" style="dca"><text><body><conceptEntry id="1"><langSec xml:lang="en">'
    b'<termSec><term>dog</term></termSec></langSec><langSec xml:lang="de"><termSec><term>Hund</term></termSec>'
    b"</langSec></conceptEntry></body></text></tbx>"
)
_PARALLEL = {
    "x.tsv": _TSV,
    "x.jsonl": _JSONL,
    "x.tmx": _TMX,
    "x.tsv.gz": gzip.compress(_TSV, mtime=0),
    "x.jsonl.gz": gzip.compress(_JSONL, mtime=0),
}
_TERMS = {"x.csv": _CSV, "x.tbx": _TBX}
_DOCUMENTS: dict[str, bytes] = {
    "text": b"The dog\nsleeps.\n\n  The cat\r\n\r\n* x\n",
    "markdown": b"# Dog\n\nThe *dog* [sleeps](x).\n\n- a\n  - `b`\n\n> c\n\n| a | b |\n|---|---|\n| c | d |\n\n```\ne\n```\n",
    "html": b'<!DOCTYPE html><meta charset="utf-8"><p title="a">The <b>dog</b> &amp; cat<br>x<script>y</script>',
    "po": b'msgid ""\nmsgstr "Plural-Forms: nplurals=2; plural=n != 1;\\n"\n\n#, c-format\nmsgid "%d dog\\n"\n'
    b'msgid_plural "%d dogs\\n"\nmsgstr[0] ""\nmsgstr[1] ""\n\n#~ msgid "old"\n#~ msgstr "alt"\n',
    "xliff": xliff(entry('The <g id="1">dog</g> <x id="2"/>') + entry("cat").replace('"1"', '"3"')),
    "tmx": _TMX,
    "srt": b"1\n00:00:01,000 --> 00:00:02,000\n<i>The dog</i>\nsleeps.\n\n2\n00:00:03,000 --> 00:00:04,000\n- Why?\n",
    "vtt": b"WEBVTT\n\nNOTE x\n\n00:01.000 --> 00:02.000 align:left\n<v Tom>The dog</v>\n\nSTYLE\n::cue{}\n",
    "json": b'{"a": "The {dog} sleeps.", "b": ["x", {"c": "{n, plural, one {# dog} other {# dogs}}"}], "@a": {}}',
    "properties": b"# x\na = The dog \\\n   sleeps {0}\nb\\u003a: caf\\u00e9\n",
    "android": b'<resources><string name="a">The <b>dog</b> \\n %1$s</string><plurals name="p"><item quantity="one">'
    b'dog</item><item quantity="other">dogs</item></plurals></resources>',
    "docx": docx(paragraph("The dog sleeps.") + paragraph("Why?")),
}
_NASTY = (
    *("\u2028", "\x85", "\ufeff", "\u202e", "\u0301", "🦊", "\v\f", "\r", "\n", "\t", "\0", "\x1b", '"', "\\", "\\ud800", "\\n", "\\u0000"),
    *("<", ">", "&", "]]>", "<!--", "<![CDATA[", "&#0;", "&x;", "{", "}", "[" * 50, "%s", "<b>" * 30, "-1", "9" * 40, "[" * 3000),
)  # fmt: skip
_BYTES = (
    b"\xff",
    b"\xc3",
    b"\xed\xa0\x80",
    b"\xf4\x90\x80\x80",
    b"\x1f\x8b",
    b"\xff\xfe",
    *(n.encode() for n in _NASTY),
)


def damaged(data: bytes, chance: random.Random) -> bytes:
    """The data with one to four changes."""
    for _ in range(chance.randint(1, 4)):
        at = chance.randrange(len(data) + 1)
        to = min(len(data), at + chance.randint(1, 40))
        match chance.randrange(7):
            case 0:
                data = data[:at] + bytes([chance.randrange(256)]) + data[at + 1 :]
            case 1:
                data = data[:at] + data[to:]
            case 2:
                data = data[:to] + data[at:to] * chance.randint(1, 9) + data[to:]
            case 3:
                data = data[:at]
            case 4:
                other = chance.randrange(len(data) + 1)
                data = data[:at] + data[other : other + 40] + data[at:]
            case _:
                data = data[:at] + chance.choice(_BYTES) + data[at:]
    return data


def read_pairs(name: str, data: bytes, folder: Path) -> None:
    """Read pairs, which must be text that a line can hold."""
    path = folder / name
    path.write_bytes(data)
    before = 0
    for line in open_corpus([path], languages=("en", "de")):
        assert line.number >= before
        before = line.number
        for side in (line.source, line.target):
            assert "\n" not in side
            assert "\0" not in side
            side.encode()


def read_terms(name: str, data: bytes, folder: Path) -> None:
    path = folder / name
    path.write_bytes(data)
    terms = TermList.read(path, "en", "de")
    assert len(terms) > 0
    terms.find("The dog sleeps, and a cat.")


def read_document(name: str, data: bytes, folder: Path) -> None:
    """A document without translations is the same bytes."""
    document = FORMATS[name].parse(data, LANGUAGES)
    assert document.render([None] * len(document.segments)) == data


def read_word(name: str, data: bytes, folder: Path) -> None:
    """A Word document with this body, which need not be XML."""
    packed = docx(data.decode("utf-8", "replace"))
    read_document("docx", packed, folder)


_READERS: dict[str, tuple[Callable[[str, bytes, Path], None], bytes]] = {
    **{name: (read_pairs, data) for name, data in _PARALLEL.items()},
    **{name: (read_terms, data) for name, data in _TERMS.items()},
    **{name: (read_document, data) for name, data in _DOCUMENTS.items()},
    "inside docx": (read_word, (paragraph("The dog &amp; cat sleep.") + paragraph("Why?")).encode()),
}


def rounds(name: str, numbers: range, folder: Path) -> None:
    read, data = _READERS[name]
    read(name, data, folder)  # which is whole
    refused = 0
    for number in numbers:
        bad = damaged(data, random.Random(f"{name} {number}"))
        refusal = None
        try:
            read(name, bad, folder)
        except (DataError, ConfigError) as error:
            refusal = error
        except Exception as error:
            raise AssertionError(f"round {number}: {bad!r}") from error
        if refusal is not None:
            refused += 1
            assert refusal.hint, refusal
            assert len(str(refusal)) < 1000
            if read in (read_pairs, read_terms):  # the caller of the others names the file
                assert name in str(refusal)
    # Nearly nothing is wrong in Markdown or HTML, and nearly everything in what is packed.
    assert refused > 0 or name in ("markdown", "html")
    assert refused < len(numbers) or name in ("docx", "x.tsv.gz", "x.jsonl.gz")


@pytest.mark.parametrize("name", _READERS)
def test_damage_ends_in_an_error_that_names_the_file(name: str, tmp_path: Path) -> None:
    rounds(name, range(300), tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("name", _READERS)
def test_damage_ends_in_an_error_in_5000_rounds(name: str, tmp_path: Path) -> None:
    rounds(name, range(5000), tmp_path)
