"""Nasty texts: lines that must pass, and files that must be refused with a message."""

from __future__ import annotations

import gzip
import zlib
from functools import cache
from typing import NamedTuple

from tests.cli.nasty.row import Content


class Good(NamedTuple):
    """A text, how many lines it has, and whether the last of them has an end."""

    content: Content
    lines: int
    ends: bool = True
    file: str = "bad"  # its name


class Bad(NamedTuple):
    """A file that is refused, and part of the message: as lines, and as a file that may be a document."""

    content: Content
    message: str
    file: str = "bad"
    of_documents: str = ""


def good(text: str, lines: int, ends: bool = True) -> Good:
    return Good(text.encode(), lines, ends)


def one(text: str) -> Good:
    """The text between two plain lines."""
    return Good(f"The dog sleeps.\n{text}\nThe cat sleeps.\n".encode(), 3)


GOOD = {
    # Line ends
    "no bytes": good("", 0),
    "one line feed": good("\n", 1),
    "fifty line feeds": good("\n" * 50, 50),
    "spaces and tabs": good("   \n\t\n \t \n", 3),
    "no end": good("The dog sleeps.\nThe cat", 2, ends=False),
    "a space and no end": good("The dog sleeps.\n ", 2, ends=False),
    "CRLF": good("The dog\r\n\r\nsleeps.\r\n", 3),
    "CRLF and LF": good("The dog\r\nsleeps.\nNow.\r\n\n", 4),
    "CR alone": one("The dog\rsleeps\r.\r\r"),
    "CR before CRLF": good("The dog\r\r\nsleeps.\r\r\r\n", 2),
    "LF before CR": good("The dog\n\rsleeps.\n\r", 3, ends=False),
    "a CR and no end": good("The dog\nsleeps.\r", 2, ends=False),
    # What str.splitlines would split
    "line separator": one("The dog\u2028sleeps."),
    "paragraph separator": one("The dog\u2029sleeps."),
    "next line": one("The dog\x85sleeps."),
    "vertical tab": one("The dog\vsleeps."),
    "form feed": one("The dog\fsleeps.\f"),
    "file, group, record, unit separators": one("The\x1cdog\x1dsleeps\x1ewell\x1f."),
    "only separators": one("\u2028\u2029\x85\v\f\x1c\x1d\x1e"),
    # Byte order marks
    "byte order mark": good("\ufeffThe dog sleeps.\n", 1),
    "only a byte order mark": good("\ufeff", 1, ends=False),
    "two byte order marks": good("\ufeff\ufeffThe dog sleeps.\n", 1),
    "a byte order mark within": one("\ufeffThe dog\ufeff sleeps."),
    # Controls
    "all C0 controls but NUL and LF": one("".join(chr(c) for c in range(1, 32) if c != 10)),
    "all C1 controls and DEL": one("".join(map(chr, range(127, 160)))),
    "colours of a terminal": one("\x1b[31mThe dog\x1b[0m sleeps."),
    "title of a terminal": one("\x1b]0;The dog\x07 sleeps."),
    "backspaces and bells": one("The dog\b\b\bcat\a\a"),
    "end of medium, substitute, cancel": one("The\x19dog\x1asleeps\x18."),
    # Direction
    "right-to-left override": one("The \u202edog\u202c sleeps."),
    "overrides that never end": one("\u202e\u202d\u202b\u202aThe dog sleeps."),
    "isolates that never end": one("\u2066\u2067\u2068The dog sleeps."),
    "direction marks": one("\u200eThe\u200f dog\u061c sleeps."),
    "300 overrides": one("\u202e" * 300 + "dog"),
    "Hebrew and Arabic with digits": one("הכלב 123 ישן. الكلب ٤٥٦ ينام."),
    # Zero width
    "zero-width spaces alone": one("\u200b\u200b\u200b"),
    "zero-width spaces in words": one("T\u200bh\u200be d\u200bo\u200bg"),
    "300 joiners": one("\u200d" * 300),
    "soft hyphens": one("The d\u00ado\u00adg sl\u00adeeps."),
    "word joiners and invisible signs": one("The\u2060dog\u2061\u2062\u2063\u2064sleeps."),
    "Hangul fillers": one("\u3164\u115f\u1160\uffa0"),
    "Mongolian vowel separator": one("ᠮᠣᠩᠭᠣᠯ\u180eᠠ"),
    # Combining
    "a combining flood": one("dog" + "\u0301" * 300),
    "marks above and below": one("".join(c + "\u0300\u0316\u0489\u20dd" * 9 for c in "The dog")),
    "a mark at the start": one("\u0301The dog"),
    "decomposed umlauts": one("Mu\u0308de Ba\u0308ren schlafen."),
    "composed and decomposed": one("Å A\u030a \u212b"),
    "enclosing keycaps": one("1\ufe0f\u20e3 #\ufe0f\u20e3"),
    # Emoji
    "a family": one("👨‍👩‍👧‍👦 sleeps."),
    "flags and half a flag": one("🇩🇪🇬🇧🇫"),
    "skin tones": one("👋🏻👋🏿🏽"),
    "a flag of tags": one("🏴\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f"),
    "200 emoji": one("🦊" * 200),
    "variation selectors": one("☺\ufe0e☺\ufe0f葛\U000e0100"),
    # Odd code points
    "noncharacters": one("\ufffe\uffff\U0001fffe\U0010ffff\ufdd0"),
    "private use": one("\ue000\U000f0000\U00100000"),
    "unassigned": one("\u0378\U0003fffd\U000e0fff"),
    "replacement characters": one("The \ufffd\ufffd\ufffd sleeps."),
    "language tags": one("\U000e0001\U000e0065\U000e006ethe dog"),
    "interlinear annotation": one("\ufff9dog\ufffaHund\ufffb \ufffc"),
    "a character that decomposes into eighteen": one("ﷺ" * 100),
    "ligatures and full width": one("ﬀﬁﬃ ＴＨＥ　ＤＯＧ ⑴ ㍿ ½"),
    "mathematical letters": one("𝕋𝕙𝕖 𝖉𝖔𝖌 𝓼𝓵𝓮𝓮𝓹𝓼"),
    "conjoining jamo": one("\u1112\u1161\u11ab\u1100 \u11ab\u1112"),
    "half-width kana": one("ｶﾞｷﾞﾊﾟ"),
    "Devanagari and Tibetan": one("क्ष्म्य རྒྱལ་མཚན"),
    "Thai and Khmer without spaces": one("สุนัขกำลังนอนหลับ ឆ្កែកំពុងដេក"),
    "dotless and dotted I": one("Iıİi ẞßſ ΣΑΣ"),
    "spaces of every width": one("The\u00a0dog\u2003sleeps\u202f.\u3000\u205f\u1680"),
    # What the tokenizer or another program might take for its own
    "names of special tokens": one("<s> </s> <unk> <pad> <0x0A> <2de> <mask>"),
    "the mark for a space": one("▁▁▁The▁dog▁"),
    "placeholders": one("%s %1$s {0} {{x}} ${y} %(z)d ⟦1⟧ &amp; &#0; <b/>"),
    "escapes": one("\\n \\0 \\ud800 \\x00 %00 %0A"),
    "an option": one("--help"),
    "a minus": one("-"),
    "a path": one("../../etc/passwd"),
    "a template": one("{{7*7}} ${jndi:x} `ls` $(ls) ; rm x"),
    "spreadsheet formulas": one("=1+1\t@x\t+1\t-1"),
    "JSON": one('{"source": "dog"}'),
    "markup": one("<script>alert(1)</script><!-- --><![CDATA["),
    "quotation marks": one("\"'“”„‘’«»‹›`´"),
    "format strings of Python": one("{0.__class__} %n%n%n {!r:>{1}}"),
    # Long
    "a word of 1,000 letters": one("a" * 1000),
    "a word of 300 different letters": one("".join(chr(0x4E00 + i) for i in range(300))),
    "300 words": one("The dog sleeps. " * 100),
    "500 spaces": one("The" + " " * 500 + "dog"),
    "500 full stops": one("." * 500),
    "500 digits": one("9" * 500),
    "3,000 equal lines": good("The dog sleeps.\n" * 3000, 3000),
    "300 short lines": good("".join(f"{i}\n" for i in range(300)), 300),
    "one character for each plane": one("".join(chr((p << 16) + 0x100) for p in range(17) if p != 16)),
    # Files
    "an empty gzip file": Good(gzip.compress(b""), 0),
    "gzip": Good(gzip.compress(b"The dog\n\nsleeps."), 3, ends=False, file="bad.gz"),
    "gzip in several parts": Good(gzip.compress(b"The dog\n") + gzip.compress(b"sleeps.\n"), 2),
    "gzip with zeros after it": Good(gzip.compress(b"The dog\n") + b"\0" * 512, 1),
    "gzip without the suffix": Good(gzip.compress(b"The dog\n"), 1, file="bad.txt"),
    "a name with a line feed": Good(b"The dog\n", 1, file="a\nb"),
    "a name with spaces and quotes": Good(b"The dog\n", 1, file="a 'b' \"c\" [bold] {d} %s"),
    "a name that is not UTF-8": Good(b"The dog\n", 1, file="bad\udcff"),
    "a hidden name": Good(b"The dog\n", 1, file="..."),
    "a name in other letters": Good(b"The dog\n", 1, file="Straße 犬.txt"),
}

_GZIP = gzip.compress(b"The dog sleeps.\n" * 3000)


@cache
def zeros() -> bytes:
    """128 MB of zeros in 125 kB."""
    packer = zlib.compressobj(9, wbits=31)
    return b"".join(packer.compress(bytes(1 << 20)) for _ in range(128)) + packer.flush()


@cache
def letters() -> bytes:
    """A line of 128 MB in 125 kB."""
    packer = zlib.compressobj(9, wbits=31)
    return b"".join(packer.compress(b"a" * (1 << 20)) for _ in range(128)) + packer.flush()


INVALID = "not valid UTF-8"
BAD = {
    "a NUL": Bad(b"The dog\nsle\0eps.\n", "bad:2: a NUL byte"),
    "only NUL": Bad(b"\0", "bad:1: a NUL byte", of_documents="bad: unknown format: a binary file"),
    "a NUL at the end": Bad(b"The dog\n\0", "bad:2: a NUL byte"),
    "zeros": Bad(bytes(4096), "bad:1: a NUL byte", of_documents="bad: unknown format: a binary file"),
    "Latin-1": Bad("The dog\nMüde Bären\n".encode("latin-1"), f"bad:2: {INVALID}"),
    "Windows-1252": Bad("“The dog”\n".encode("cp1252"), f"bad:1: {INVALID}"),
    "KOI8-R": Bad("Собака спит.\n".encode("koi8-r"), f"bad:1: {INVALID}"),
    "Shift JIS": Bad("犬が寝る。\n".encode("shift-jis"), f"bad:1: {INVALID}"),
    "GB 18030": Bad("狗在睡觉。\n".encode("gb18030"), f"bad:1: {INVALID}"),
    "UTF-16 with a mark": Bad("The dog\n".encode("utf-16"), "bad:1: not valid UTF-8, it looks like UTF-16"),
    "UTF-16 BE with a mark": Bad("\ufeffdog\n".encode("utf-16-be"), "it looks like UTF-16"),
    "UTF-16 without a mark": Bad(
        "The dog\n".encode("utf-16-le"),
        "bad:1: a NUL byte",
        of_documents="bad: unknown format: a binary file",
    ),
    "UTF-32": Bad("The dog\n".encode("utf-32"), "it looks like UTF-16"),
    "UTF-32 BE": Bad("\ufeffdog\n".encode("utf-32-be"), "bad:1: a NUL byte"),
    "half a character": Bad(b"The dog\nB\xc3", f"bad:2: {INVALID}"),
    "half an emoji": Bad(b"\xf0\x9f\xa6\n", f"bad:1: {INVALID}"),
    "a continuation alone": Bad(b"dog\x80\n", f"bad:1: {INVALID}"),
    "an overlong slash": Bad(b"\xc0\xaf\n", f"bad:1: {INVALID}"),
    "an overlong NUL": Bad(b"\xc0\x80\n", f"bad:1: {INVALID}"),
    "half a surrogate pair": Bad(b"\xed\xa0\x80\n", f"bad:1: {INVALID}"),
    "a pair of surrogates": Bad(b"\xed\xa0\xbd\xed\xb8\x80\n", f"bad:1: {INVALID}"),
    "beyond Unicode": Bad(b"\xf4\x90\x80\x80\n", f"bad:1: {INVALID}"),
    "bytes that UTF-8 never has": Bad(b"dog \xfe\xff\n", f"bad:1: {INVALID}"),
    "a bad line after ten thousand": Bad(b"\n" * 10_000 + b"\xff\n", f"bad:10001: {INVALID}"),
    "a picture": Bad(
        b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR",
        "bad:1: not valid UTF-8",
        of_documents="bad: unknown format: an image",
    ),
    "a program": Bad(
        b"\x7fELF\x02\x01\x01\0\0", "bad:1: a NUL byte", of_documents="bad: unknown format: a program"
    ),
    "a zip file": Bad(
        b"PK\x03\x04\x14\0\0\0", "bad:1: a NUL byte", of_documents="bad: unknown format: a zip file"
    ),
    "a PDF": Bad(
        b"%PDF-1.7\n%\xb5\xb5\xb5\xb5\n", f"bad:2: {INVALID}", of_documents="bad: unknown format: a PDF file"
    ),
    "a bzip2 file": Bad(
        b"BZh91AY&SY\xaa\xbb", f"bad:1: {INVALID}", of_documents="bad: unknown format: a compressed file"
    ),
    "an xz file": Bad(b"\xfd7zXZ\0\0\x04", "bad:1: ", of_documents="bad: unknown format: a compressed file"),
    "a database": Bad(b"SQLite format 3\0\x10\0", "bad:1: a NUL byte"),
    "a pickle": Bad(
        b"\x80\x04\x95\x0b\0\0\0\0\0\0\0.",
        "bad:1: a NUL byte",
        of_documents="bad: unknown format: a binary file",
    ),
    "a line of 17 MB": Bad(lambda: b"dog\n" + b"a" * (17 << 20), "bad:2: a line of more than 16 MB"),
    "gzip cut off": Bad(_GZIP[: len(_GZIP) // 2], "bad: a damaged gzip file"),
    "gzip cut in its header": Bad(_GZIP[:6], "bad: a damaged gzip file"),
    "gzip without its end": Bad(_GZIP[:-6], "bad: a damaged gzip file"),
    "gzip with a wrong checksum": Bad(_GZIP[:-8] + bytes(4) + _GZIP[-4:], "bad: a damaged gzip file"),
    "gzip with damage inside": Bad(_GZIP[:20] + b"\xff" * 20 + _GZIP[40:], "bad: a damaged gzip file"),
    "gzip with text after it": Bad(gzip.compress(b"dog\n") + b"cat\n", "bad: a damaged gzip file"),
    "gzip in gzip": Bad(
        gzip.compress(gzip.compress(b"dog\n", mtime=0), mtime=0),
        "bad:1: a NUL byte",
        of_documents="bad: unknown format: a compressed file",
    ),
    "UTF-16 in gzip": Bad(gzip.compress("dog\n".encode("utf-16")), "it looks like UTF-16"),
    "a gzip bomb of zeros": Bad(
        zeros, "bad:1: a line of more than 16 MB", of_documents="bad: unknown format: a binary file"
    ),
    "a gzip bomb of letters": Bad(letters, "bad:1: a line of more than 16 MB"),
    "a name that lies": Bad(b"The dog\n", "bad.gz: not a gzip file", file="bad.gz"),
}
