"""HTML and XHTML: the text of paragraphs, headings and cells, and attributes that people read.

Block elements delimit segments, inline elements are codes. Code, scripts, styles, SVG, MathML,
what stands in text areas, frames and ruby, and elements with translate="no" or the class notranslate stay.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from dragoman.base.errors import DataError
from dragoman.base.languages import base, canonical
from dragoman.documents.edits import Decoded, Edit, apply, decode_file, line_of
from dragoman.documents.formats import Languages
from dragoman.documents.markup.html.runs import read_segments
from dragoman.documents.markup.html.tokens import HtmlToken, tokens
from dragoman.documents.markup.spans import Span, changed_spans, outside, updated
from dragoman.documents.segment import Code, Content, Result, full_text
from dragoman.text.xml import FORBIDDEN

DECLARED = re.compile(rb"\s*<\?xml[^>]*?\bencoding\s*=\s*[\"']([A-Za-z][\w.:-]*)")
_META = re.compile(rb"<meta[^>]*?\bcharset\s*=\s*[\"']?\s*([A-Za-z][\w.:-]*)", re.IGNORECASE)
_PRESCAN = 4096  # bytes that may declare the encoding
# Encodings that the WHATWG Encoding Standard reads as others, by Python's names.
_ENCODINGS = {
    **dict.fromkeys(("iso-8859-1", "latin1", "latin-1", "ascii", "us-ascii"), "windows-1252"),
    **dict.fromkeys(("gb2312", "gbk", "x-gbk"), "gb18030"),
    **dict.fromkeys(("shift_jis", "shift-jis", "sjis", "x-sjis"), "cp932"),
    **dict.fromkeys(("euc-kr", "ks_c_5601-1987"), "cp949"),
    **dict.fromkeys(("utf-16", "utf-16le", "utf-16be", "unicode"), "utf-8"),  # ASCII bytes declare it
    "iso-8859-9": "windows-1254",
    "tis-620": "cp874",
    "iso-8859-11": "cp874",
    "big5": "big5hkscs",
}
_REFERENCE = re.compile(r"&(?=[A-Za-z0-9#]|\Z)")
_TAG = re.compile(r"<(?=[A-Za-z/!?%]|\Z)")


class Html:
    """An HTML file whose segments are runs of inline content, and attributes."""

    def __init__(
        self,
        decoded: Decoded,
        languages: Languages,
        declared: bool,
        ignored: frozenset[str] = frozenset(),
        *,
        xml: bool = False,
        found: Sequence[HtmlToken] = (),
    ) -> None:
        """`found` are the tokens of the file, if the caller has read them."""
        self._decoded = decoded
        self._languages = languages
        self._spaces = "&nbsp;" in decoded.text
        self._xml = xml or decoded.text.lstrip().startswith("<?xml")
        found = found or list(tokens(decoded.text, self._xml))
        self._root = next((one for one in found if one.kind == "start" and one.name == "html"), None)
        # A browser takes a whole file of ASCII that declares no encoding for windows-1252.
        bare = not declared and not self._xml and self._root is not None and decoded.text.isascii()
        self._characters = "ascii" if bare else decoded.encoding
        self.spans, self._tags = read_segments(decoded.text, found, self._xml, ignored, languages.source)
        self.segments = [span.segment for span in self.spans]

    def render(self, results: list[Result | None]) -> bytes:
        return self._decoded.encode(apply(self._decoded.text, self.edits(results, self._language())))

    def edits(self, results: Sequence[Result | None], also: Iterable[Edit] = ()) -> list[Edit]:
        """The edits that write these results, and if there are any, `also` those of tags."""
        text = self._decoded.text
        new = changed_spans(self.spans, results)
        inner = [Edit(span.start, span.end, self._value(span, made)) for span, made in new if not span.items]
        inner = sorted([*inner, *(also if new else ())], key=lambda edit: edit.start)
        outer = [
            Edit(span.start, span.end, self._run(updated(text, span, made, inner)))
            for span, made in new
            if span.items
        ]
        return [*outer, *outside(inner, outer)]

    def _run(self, new: Content) -> str:
        texts = (one.text if isinstance(one, Code) else self._escaped(one, _TAG, "<", "&lt;") for one in new)
        return "".join(texts)

    def _value(self, span: Span, new: Content) -> str:
        """The value of an attribute, in quotes if it had none. Space at its ends stays."""
        text = self._decoded.text
        quote = text[span.start - 1] if text[span.start - 1] in "\"'" else ""
        plain = full_text(new)
        mark = re.compile(quote or '"')
        made = self._escaped(plain, mark, mark.pattern, "&#39;" if quote == "'" else "&quot;")
        if self._xml:
            made = made.replace("<", "&lt;")
        old = text[span.start : span.end]
        before, after = old[: len(old) - len(old.lstrip())], old[len(old.rstrip()) :]
        return f"{before}{made}{after}" if quote else f'"{made}"'

    def _escaped(self, text: str, special: re.Pattern[str], mark: str, escape: str) -> str:
        """A text with references only where it would be read as markup, or where the encoding lacks it."""
        text = text.replace("&", "&amp;") if self._xml else _REFERENCE.sub("&amp;", text)
        text = text.replace(mark, escape) if self._xml else special.sub(escape, text)
        if self._xml:
            text = FORBIDDEN.sub("", text.replace("]]>", "]]&gt;"))
        if self._spaces:
            text = text.replace("\u00a0", "&nbsp;")
        encoding = self._characters
        return text.encode(encoding, "xmlcharrefreplace").decode(encoding)

    def _language(self) -> Iterator[Edit]:
        """Name the target language where a tag names the source language."""
        source = canonical(self._languages.source)
        for one in (one for tag in self._tags for one in tag.attributes if one.name in ("lang", "xml:lang")):
            value = self._decoded.text[one.start : one.end]
            if source in (canonical(value), base(value)):
                yield Edit(one.start, one.end, self._languages.target)


def parse(data: bytes, languages: Languages) -> Html:
    """Read HTML by its byte order mark, as UTF-16 if it begins so, as it declares, or as UTF-8.

    Raises DataError with the line of the first byte that does not fit or is 0, and for encodings that cannot
    be written back byte for byte.
    """
    declared = DECLARED.match(data) or _META.search(data[:_PRESCAN])
    name = declared.group(1).decode().lower() if declared is not None else "utf-8"
    wide = {b"<\0": "utf-16-le", b"\0<": "utf-16-be"}.get(data[:2])
    decoded = decode_file(data, wide or _ENCODINGS.get(name, name))
    if "\0" in decoded.text:
        line = line_of(decoded.text, decoded.text.index("\0"))
        raise DataError(f"line {line}: a NUL, as in UTF-16", hint="convert the file to UTF-8")
    return Html(decoded, languages, bool(declared or wide or decoded.mark))
