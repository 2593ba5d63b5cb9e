"""Rows of `translate` and `data pairs` with documents of every format."""

# ruff: noqa: E501 (a file of data: a row reads better on one line)

from __future__ import annotations

import io
import zipfile
from functools import cache

from tests.cli.nasty.parallel import _LAUGHS, tmx, unit
from tests.cli.nasty.row import Content, Row

_XLIFF = (
    '<?xml version="1.0"?>\n{head}<xliff version="1.2"><file source-language="{source}" target-language="{target}"'
    ' datatype="plaintext" original="x"><body>{body}</body></file></xliff>'
)


def xliff(body: str, head: str = "", source: str = "en", target: str = "de") -> bytes:
    """A file of XLIFF 1.2."""
    return _XLIFF.format(body=body, head=head, source=source, target=target).encode()


def entry(text: str) -> str:
    return f'<trans-unit id="1"><source>{text}</source></trans-unit>'


def zipped(members: dict[str, bytes], packing: int = zipfile.ZIP_DEFLATED) -> bytes:
    """A zip file."""
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w", packing) as file:
        for name, content in members.items():
            file.writestr(name, content)
    return data.getvalue()


_TYPES = (
    b'<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types"><Override '
    b'PartName="/word/document.xml" ContentType="application/vnd.openxmlformats-officedocument.'
    b'wordprocessingml.document.main+xml"/></Types>'
)
_W = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
_RELS = (
    b'<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships"><Relationship Id="1" '
    b'Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/officeDocument" '
    b'Target="word/document.xml"/></Relationships>'
)


def docx(body: str, head: str = "") -> bytes:
    """A Word document."""
    document = f"{head}<w:document {_W}><w:body>{body}</w:body></w:document>".encode()
    return zipped({"[Content_Types].xml": _TYPES, "_rels/.rels": _RELS, "word/document.xml": document})


def paragraph(text: str) -> str:
    return f"<w:p><w:r><w:t>{text}</w:t></w:r></w:p>"


@cache
def bomb(suffix: str) -> bytes:
    """80 MB of spaces in a member of 80 kB."""
    spaces = b" " * (80 << 20)
    if suffix == "docx":
        members = {"[Content_Types].xml": _TYPES, "_rels/.rels": _RELS, "word/document.xml": spaces}
    else:
        members = {"mimetype": b"application/vnd.oasis.opendocument.text", "content.xml": spaces}
    return zipped(members)


_LAUGHS_X = _LAUGHS.replace("DOCTYPE tmx", "DOCTYPE x")
_DEEP = "<b>" * 20_000 + "dog" + "</b>" * 20_000
_PO = b'msgid ""\nmsgstr "Content-Type: text/plain; charset=UTF-8\\n"\n\n'

# format: name: content, part of the message
_BAD: dict[str, dict[str, tuple[Content, str]]] = {
    "po": {
        "an escape nobody knows": (_PO + b'msgid "a\\q"\nmsgstr ""\n', "line 4: unknown escape"),
        "no msgstr": (_PO + b'msgid "a"\n', "without msgstr"),
        "no quotation mark": (_PO + b'msgid "a\nmsgstr ""\n', "line 4: "),
        "text without a keyword": (b"dog\n", "line 1: "),
        "not UTF-8": (_PO + b'msgid "\xff"\nmsgstr ""\n', "line 4: not UTF-8"),
        "an unknown encoding": (_PO.replace(b"UTF-8", b"klingon"), "unknown encoding"),
        "an encoding that is no text": (_PO.replace(b"UTF-8", b"rot13"), "encoding"),
        "a billion plural forms": (
            _PO.replace(b"\\n", b"\\nPlural-Forms: nplurals=999999999; plural=0;\\n")
            + b'msgid "a"\nmsgid_plural "b"\nmsgstr[0] ""\n',
            "plural",
        ),
        "a gap in the plural forms": (
            _PO + b'msgid "a"\nmsgid_plural "b"\nmsgstr[0] ""\nmsgstr[7] ""\n',
            "expected",
        ),
    },
    "xlf": {
        "a billion laughs": (xliff(entry("&j;"), _LAUGHS_X), "line 2: "),
        "a file from outside": (
            xliff(entry("&x;"), '<!DOCTYPE x [<!ENTITY x SYSTEM "file:///etc/passwd">]>'),
            "line 2: ",
        ),
        "other languages": (xliff(entry("dog"), source="fr", target="it"), "line 2: "),
        "cut off": (xliff(entry("dog"))[:-30], "line 2: "),
        "other XML": (b"<html/>", "line 1: "),
        "nothing": (b"", ""),
        "text": (b"dog\n", "line 1: "),
        "an unknown encoding": (b'<?xml version="1.0" encoding="klingon"?><xliff/>', "klingon"),
        "a forbidden control": (xliff(entry("a\x01")), "line 2: "),
        "20,000 elements deep": (xliff(entry(_DEEP)), "more than 1,000 elements inside each other"),
    },
    "tmx": {
        "a billion laughs": (tmx(unit("&j;", "b"), _LAUGHS), "line 2: "),
        "cut off": (tmx(unit("a", "b"))[:-30], "line "),
        "other XML": (b"<html/>", "line 1: "),
        "a reference to NUL": (tmx(unit("&#0;", "b")), "line 2: "),
    },
    "xml": {
        "other XML": (b"<html/>", "line 1: "),
        "a billion laughs": (b'<!DOCTYPE x [<!ENTITY a "b"><!ENTITY c "&a;&a;">]><resources/>', "line 1: "),
        "half an escape": (b'<resources><string name="a">\\u12</string></resources>', "line 1: incomplete"),
        "cut off": (b'<resources><string name="a">dog', "line 1: "),
    },
    "json": {
        "deep lists": (b"[" * 100_000 + b"]" * 100_000, "deep"),
        "deep objects": (b'{"a":' * 100_000, ""),
        "half an object": (b'{"a": "dog"', "line 1: not JSON"),
        "a comment": (b'{"a": "dog" // cat\n}', "line 1: not JSON"),
        "a comma too many": (b'{"a": "dog",}', "line 1: not JSON"),
        "not UTF-8": (b'{"a": "\xff"}', "line 1: "),
        "nothing": (b"", "line 1: not JSON"),
        "a raw line feed in text": (b'{"a": "dog\ncat"}', "line 1: not JSON"),
    },
    "properties": {
        "half an escape": (b"a=\\u12\n", "line 1: incomplete"),
        "an escape of no digits": (b"a=dog\nb=\\uzzzz\n", "line 2: incomplete"),
    },
    "srt": {
        "no cue": (b"dog\n", "no cue"),
        "a broken time": (b"1\n00:00:xx,000 --> 00:00:02,000\ndog\n", "line 2"),
        "not UTF-8": (b"1\n00:00:01,000 --> 00:00:02,000\n\xff\xff\n", "line "),
    },
    "vtt": {
        "a broken time": (b"WEBVTT\n\n00:00.000 --> dog\ncat\n", "line 3"),
        "a NUL": (b"WEBVTT\n\n00:00.000 --> 00:01.000\n\xff\n", "line "),
    },
    "md": {"not UTF-8": (b"# dog\n\xff\n", "line 2: not utf-8")},
    "html": {
        "not UTF-8": (b'<meta charset="utf-8"><p>\xff</p>', "line 1: not utf-8"),
        "an unknown encoding": (b'<meta charset="klingon"><p>dog</p>', "klingon"),
        "an encoding that is no text": (b'<meta charset="base64"><p>dog</p>', "base64"),
    },
    "docx": {
        "nothing": (b"", "bad.docx: "),
        "text": (b"dog\n", "bad.docx: "),
        "a zip file without a document": (zipped({"a": b"b"}), "bad.docx: "),
        "cut off": (docx(paragraph("dog"))[:-40], "bad.docx: "),
        "a bomb": (lambda: bomb("docx"), "bad.docx: "),
        "a billion laughs": (docx(paragraph("&j;"), _LAUGHS_X), "bad.docx: "),
        "no XML inside": (docx("<w:p>"), "bad.docx: "),
        "paragraphs 3,000 deep": (docx("<w:p>" * 3000 + "</w:p>" * 3000), "bad.docx: "),
        "a name that climbs": (
            zipped({"../../evil": b"x", "[Content_Types].xml": b"<Types/>"}),
            "bad.docx: ",
        ),
        "a damaged member": (
            zipped(
                {"[Content_Types].xml": _TYPES, "_rels/.rels": _RELS, "word/document.xml": b"dog"},
                zipfile.ZIP_STORED,
            ).replace(b"dog", b"cat"),
            "bad.docx: ",
        ),
    },
    "odt": {
        "text": (b"dog\n", "bad.odt: "),
        "an empty zip file": (zipped({}), "bad.odt: "),
        "no content": (zipped({"mimetype": b"application/vnd.oasis.opendocument.text"}), "bad.odt: "),
        "a bomb": (lambda: bomb("odt"), "bad.odt: "),
        "a Word document": (docx(paragraph("dog")), "bad.odt: "),
    },
}

_ODD = "The\u2028dog\u0085 \u202esleeps\u2066.\u200b\U0001f98a\u0301"
# format: name: content
_GOOD: dict[str, dict[str, Content]] = {
    "po": {
        "nothing": b"",
        "only a header": _PO,
        "odd characters": _PO + f'msgid "{_ODD}"\nmsgstr ""\n'.encode(),
        "CRLF": (_PO + b'msgid "dog"\nmsgstr ""\n').replace(b"\n", b"\r\n"),
        "no final line feed": _PO + b'msgid "dog"\nmsgstr ""',
        "half a printf": _PO + b'#, c-format\nmsgid "% %5 %$ %% dog %s"\nmsgstr ""\n',
    },
    "xlf": {
        "odd characters": xliff(entry(_ODD)),
        "an empty source": xliff(entry("")),
        "CDATA": xliff(entry("<![CDATA[<dog> & cat]]>")),
        "nothing to translate": xliff(""),
        "a byte order mark": b"\xef\xbb\xbf" + xliff(entry("dog")),
    },
    "tmx": {"odd characters": tmx(unit(_ODD, ""))},
    "xml": {
        "UTF-16 without a mark": "<resources/>".encode("utf-16-le"),
        "odd characters": f'<resources><string name="a">{_ODD}</string></resources>'.encode(),
        "apostrophes and marks": b"<resources><string name=\"a\">\\'dog\\' \\@ \\? %1$s &lt;</string></resources>",
    },
    "json": {
        "escaped surrogates": rb'{"a": "dog \ud83e\udd8a", "b": "\ud800 dog", "c": "a\u0000b"}',
        "equal keys": b'{"a": "dog", "a": "cat"}',
        "numbers of 5,000 digits": b'{"a": ' + b"9" * 5000 + b', "b": "dog"}',
        "a text alone": b'"dog"',
        "no text": b"[null, true, 1e999, {}]",
        "ICU without its end": b'{"a": "{count, plural, one {dog} other {"}',
        "odd characters": f'{{"a": "{_ODD}"}}'.encode(),
    },
    "properties": {
        "nothing": b"",
        "odd characters": f"a={_ODD}\n".encode(),
        "a backslash at the end": b"a=dog\\",
        "no key": b"=dog\n",
        "Latin-1": b"a=M\xfcde\n",
    },
    "srt": {
        "nothing": b"",
        "odd characters": f"1\n00:00:01,000 --> 00:00:02,000\n{_ODD}\n".encode(),
        "an end before its start": b"1\n00:00:09,000 --> 00:00:02,000\ndog\n",
        "CRLF and a mark": "\ufeff1\r\n00:00:01,000 --> 00:00:02,000\r\ndog\r\n".encode(),
        "unclosed tags": b"1\n00:00:01,000 --> 00:00:02,000\n<i><b>dog</i>\n",
    },
    "vtt": {"only a header": b"WEBVTT\n"},
    "md": {
        "nothing": b"",
        "odd characters": f"# {_ODD}\n\n{_ODD}\n".encode(),
        "500 quotes deep": b">" * 500 + b" dog\n",
        "2,000 stars": b"*" * 2000 + b"dog\n",
        "2,000 brackets": b"[" * 2000 + b"dog" + b"]" * 2000 + b"\n",
        "1,000 back quotes": b" `".join(b"`" * i for i in range(100)) + b"\n",
        "lists 200 deep": b"".join(b" " * (2 * i) + b"- dog\n" for i in range(200)),
        "unclosed code": b"```\ndog\n",
        "NUL and controls": b"dog \x01\x02\x7f cat\n",
        "CR alone": b"dog\rcat\r",
    },
    "html": {
        "nothing": b"",
        "odd characters": f"<p>{_ODD}</p>".encode(),
        "2,000 elements deep": (b"<div>" * 2000) + b"dog",
        "tags that cross": b"<p><b>dog<i>cat</b>sleeps</i></p></p></p>",
        "half a tag": b"<p>dog <b",
        "half a comment": b"<p>dog <!-- cat",
        "half a script": b"<p>dog<script>alert('</p>",
        "references": b"<p>&#0; &#xD800; &#x110000; &nosuch; &amp &lt;dog</p>",
        "5,000 attributes": b"<p " + b"".join(b"a%d=x " % i for i in range(5000)) + b">dog</p>",
        "UTF-16": "\ufeff<p>dog</p>".encode("utf-16-le"),
    },
    "docx": {
        "nothing to translate": docx(""),
        "odd characters": docx(paragraph(_ODD)),
        "500 runs in a paragraph": docx("<w:p>" + "<w:r><w:t>a</w:t></w:r>" * 500 + "</w:p>"),
    },
    "txt --format text": {
        "nothing": b"",
        "odd characters": f"{_ODD}\r\n\r\n{_ODD}".encode(),
        "UTF-16": "\ufeffThe dog.\n".encode("utf-16-be"),
        "form feeds": b"The dog.\f\fThe cat.\v\n",
    },
}


def _rows() -> list[Row]:
    rows = []
    commands = {
        "translate": "translate {MODEL} bad.SUFFIX -o out.SUFFIX --max-extra 4 --beam 1",
        "data pairs": "data pairs bad.SUFFIX ok.md -o out.tsv --source-language en --target-language de",
    }
    for command, line in commands.items():
        for suffix, table in _BAD.items():
            for name, (content, message) in table.items():
                row = Row(
                    name=f"{command} {suffix}: {name}",
                    command=line.replace("SUFFIX", suffix),
                    files={f"bad.{suffix}": content} | ({"ok.md": b"# Hund"} if "ok.md" in line else {}),
                    code=3,
                    message=message,
                    outside=name == "a bomb" or (suffix, name) == ("xlf", "a billion laughs"),
                )
                rows.append(row)
    for kind, texts in _GOOD.items():
        suffix, _, words = kind.partition(" ")
        for name, content in texts.items():
            row = Row(
                name=f"translate {suffix}: {name}",
                command=f"translate {{MODEL}} odd.{suffix} -o out.{suffix} --max-extra 4 --beam 1 {words}",
                files={f"odd.{suffix}": content},
                writes=f"out.{suffix}",
            )
            rows.append(row)
    return rows


def _others() -> list[Row]:
    return [
        Row(
            name="translate: an unknown format by content",
            command="translate {MODEL} bad --format auto -o out",
            files={"bad": b"dog"},
            code=2,
            message="unknown format 'auto'",
        ),
        Row(
            name="translate: the wrong format by option",
            command="translate {MODEL} bad.md --format docx -o out",
            files={"bad.md": b"# dog"},
            code=3,
            message="bad.md: ",
        ),
        Row(
            name="translate: an option of lines for a document",
            command="translate {MODEL} bad.md --jsonl -o out",
            files={"bad.md": b"# dog"},
            code=2,
            message="--jsonl is for lines of text, not for documents",
        ),
        Row(
            name="translate: a report into its own document",
            command="translate {MODEL} bad.md -o out.md --report bad.md/x",
            files={"bad.md": b"# dog"},
            code=1,
            message="bad.md/x: cannot be written",
            writes="",
        ),
        Row(
            name="translate: a folder with one bad document",
            command="translate {MODEL} in -o out --max-extra 4 --beam 1",
            files={"in/bad.json": b"{", "in/good.md": b"# dog\n"},
            code=3,
            message="1 of 2 files could not be translated",
            names="in/bad.json",
            writes="out",
            form="partial",
        ),
        Row(
            name="translate: a folder into itself",
            command="translate {MODEL} in -o in",
            files={"in/good.md": b"# dog\n"},
            code=2,
            message="in: is one of the folders to translate",
        ),
    ]


ROWS = [*_rows(), *_others()]
