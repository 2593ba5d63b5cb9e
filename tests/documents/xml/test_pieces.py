from __future__ import annotations

import gc
import time
import xml.etree.ElementTree as ET
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.base.errors import DataError
from dragoman.documents.xml.pieces import Element, read_xml, split_xml, unescape, without_collection
from dragoman.text.xml import escape, forbidden


def text_below(text: str, name: str = "") -> list[tuple[str, dict[str, str], str]]:
    """Each element as ElementTree would have it: name, attributes, text."""
    found, root = split_xml(text)

    def one(element: Element) -> tuple[str, dict[str, str], str]:
        inside = found[element.first : element.last]
        words = "".join(unescape(text[p.start : p.end]) for p in inside if p.kind in ("text", "cdata"))
        return (f"{{{element.space}}}" if element.space else "") + element.name, element.attributes, words

    todo, rows = [root], []
    while todo:
        element = todo.pop()
        rows.append(one(element))
        todo += reversed(element.children)
    return rows


def expected(text: str) -> list[tuple[str, dict[str, str], str]]:
    return [(one.tag, one.attrib, "".join(one.itertext())) for one in ET.fromstring(text).iter()]


TRICKY = [
    "<a/>",
    "<a b='1>2' c = \"'x'\" d\n=\n'&lt;&#x1F600;&amp;amp;'  />",
    "<?xml version='1.0'?><!-- <b> --><a>x<!-- </a> -->y<?p > ?>z<![CDATA[<b>]]&gt;]]></a><!-- e -->",
    '<!DOCTYPE a SYSTEM "x>\'y"><a/>',
    "<!-- a --><!DOCTYPE a [ <!-- ]> ' --> <!ELEMENT a ANY> <?p ]> ?> ]  ><a>t</a>\n",
    "<p:a xmlns:p='u' p:b='1' b='2' xml:lang='en'><q:c xmlns:q='v' xmlns='w' q:d='3'><e/></q:c><p:e/></p:a>",
    "<a xmlns='u'><b xmlns=''><c/></b><d/></a>",
    "<a xmlns='u'><b/><b xmlns=''><b/></b><b/></a>",
    "<a>\r\nx\ry&#13;\r<![CDATA[\r\n]]></a>",
    "<a b='x\r\ny\tz\nq&#10;&#9;'/>",
    "<é ö='ß'>漢字😀</é>",
    "<a><b\n/><b ></b\n></a>",
    "<a.b-c_d:e xmlns:a.b-c_d='u'/>",
]


@pytest.mark.parametrize("text", TRICKY)
def test_pieces_are_what_another_parser_sees(text: str) -> None:
    found, _ = split_xml(text)
    assert "".join(text[one.start : one.end] for one in found) == text
    assert text_below(text) == expected(text)


names = st.sampled_from(["a", "b", "p:a", "é", "c-d"])
values = st.text(st.sampled_from("x> '\t\né😀/&"), max_size=6)
texts = st.text(st.sampled_from("x>]é😀 \n\"'/=&"), max_size=8)


@st.composite
def documents(draw: Callable[..., object]) -> str:
    def value() -> str:
        raw = str(draw(values)).replace("&", "&amp;")
        return f'"{raw}"' if draw(st.booleans()) else "'" + raw.replace("'", "&#39;") + "'"

    def element(depth: int) -> str:
        name = draw(names)
        keys = draw(st.lists(st.sampled_from(["k", "p:k", "l", "xml:lang"]), unique=True, max_size=3))
        space = draw(st.sampled_from([" ", "\n", "  "]))
        tag = f"{name}" + "".join(f"{space}{key}={value()}" for key in keys)  # type: ignore[attr-defined]
        tag += draw(st.sampled_from(["", " xmlns='d'", ' xmlns:p="r"']))  # type: ignore[operator]
        inside = "".join(part(depth - 1) for _ in range(draw(st.integers(0, 3)))) if depth else ""  # type: ignore[call-overload]
        return f"<{tag}/>" if not inside and draw(st.booleans()) else f"<{tag}>{inside}</{name} >"

    def part(depth: int) -> str:
        raw = str(draw(texts))
        match draw(st.integers(0, 4)):
            case 0:
                return f"<!--{raw.replace('-', '')}-->"
            case 1:
                return f"<![CDATA[{raw.replace(']', '')}]]>"
            case 2:
                return f"<?go {raw.replace('?', '')}?>"
            case 3:
                return raw.replace("&", "&amp;").replace("]", "")
            case _:
                return element(depth)

    head = draw(st.sampled_from(["", "<?xml version='1.0'?>\n", "<!-- x --><!DOCTYPE a SYSTEM '>'>"]))
    return f"{head}<root xmlns:p='s'>{element(3)}</root>\n"


@given(documents())
def test_pieces_of_generated_documents(text: str) -> None:
    found, _ = split_xml(text)
    assert "".join(text[one.start : one.end] for one in found) == text
    assert text_below(text) == expected(text)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32"])
def test_encodings_of_unicode(encoding: str) -> None:
    data = "<a>é漢😀</a>".encode(encoding)
    decoded, found, _ = read_xml(data)
    assert decoded.encode(decoded.text) == data
    assert decoded.text == "<a>é漢😀</a>"
    assert [one.kind for one in found] == ["start", "text", "end"]


@pytest.mark.parametrize(
    ("declared", "encoding"),
    [("ISO-8859-1", "latin-1"), ("windows-1252", "cp1252"), ("UTF-16", "utf-8"), ("utf-8", "utf-8-sig")],
)
def test_declared_encodings(declared: str, encoding: str) -> None:
    text = f'<?xml version="1.0" encoding="{declared}"?><a>é</a>'
    decoded, *_ = read_xml(text.encode(encoding))
    assert decoded.text == text
    assert decoded.encode(text) == text.encode(encoding)


@pytest.mark.parametrize("name", ["idna", "punycode", "undefined", "utf-7", "hex", "klingon", "utf-8-sig"])
def test_encodings_that_cannot_be_kept_are_refused(name: str) -> None:
    with pytest.raises(DataError, match=r"line 1|encoding"):
        read_xml(f'<?xml version="1.0" encoding="{name}"?><a>x\xe9&#x41;+-</a>\n'.encode("latin-1"))


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "line 1: not well-formed"),
        (b"\xef\xbb\xbf", "line 1: not well-formed"),
        (b"text", "line 1: not well-formed"),
        (b"<a>\n<b>\n</a>", "line 3: .*mismatched"),
        (b"<a>\n<b>", "line 2: .*no element found|line 2"),
        (b"<a b='1'\n b='2'/>", "line 2: .*duplicate"),
        (b"<a>\n&#0;</a>", "line 2: .*invalid character"),
        (b"<a>&#x1F;</a>", "invalid character"),
        (b"<a>&#xD800;</a>", "invalid character"),
        (b"<a>&#xFFFF;</a>", "invalid character"),
        (b"<a>&#x110000;</a>", "invalid character"),
        (b"<a>&#99999999999999999999;</a>", "invalid character"),
        (b"<a>\x01</a>", "not well-formed"),
        ("<a>\ufffe</a>".encode(), "not well-formed"),
        (b"<a>\n\xff</a>", "line 2: not utf-8"),
        (b"<a>&nbsp;</a>", "undefined entity"),
        (b"<!DOCTYPE a SYSTEM 'x'>\n<a>&nbsp;</a>", "line 2: the entity &nbsp; is not known"),
        (b"<!DOCTYPE a [\n<!ENTITY b 'c'>]><a>&b;</a>", "line 2: an entity is declared"),
        (b"<!DOCTYPE a [<!ENTITY b SYSTEM 'file:///etc/passwd'>]><a>&b;</a>", "an entity is declared"),
        (b"<!DOCTYPE a [<!ENTITY % b 'c'>]><a/>", "an entity is declared"),
        (b"<p:a/>", "unbound prefix"),
        (b"<a/><b/>", "junk"),
        (b" <?xml version='1.0'?><a/>", "line 1"),
        ("<a/>".encode("utf-16")[:-1], "line 1: not utf-16"),
    ],
)
def test_bad_documents_are_refused_with_their_line(data: bytes, message: str) -> None:
    with pytest.raises(DataError, match=message):
        read_xml(data)


def test_entity_bombs_are_refused_at_once() -> None:
    bomb = "".join(f"<!ENTITY a{n + 1} '{f'&a{n};' * 10}'>" for n in range(20))
    with pytest.raises(DataError, match="an entity is declared"):
        split_xml(f"<!DOCTYPE a [<!ENTITY a0 'ha'>{bomb}]><a>&a20;</a>")


def test_default_attributes_are_not_copied_to_every_element() -> None:
    text = f"<!DOCTYPE a [<!ATTLIST b c CDATA '{'x' * 100_000}'>]><a>{'<b/>' * 10_000}</a>"
    found, _ = split_xml(text)
    assert sum(len(one.attributes) for one in found) == 0


def test_deep_nesting_is_refused() -> None:
    assert len(split_xml("<a>" * 1000 + "</a>" * 1000)[0]) == 2000
    with pytest.raises(DataError, match="line 1: more than 1,000 elements inside each other"):
        split_xml("<a>" * 1001 + "</a>" * 1001)


MEGABYTE = 1_000_000
BIG = {
    "attribute": f"<a b='{'>' * MEGABYTE}'/>",
    "attributes": "<a " + " ".join(f"b{n}=''" for n in range(100_000)) + "/>",
    "space in a tag": f"<a{' ' * MEGABYTE}b='c'{' ' * MEGABYTE}/>",
    "text": f"<a>{'>x]' * MEGABYTE}</a>",
    "references": f"<a b='{'&lt;' * 200_000}'>{'&#x41;' * 200_000}</a>",
    "comment": f"<a><!--{'- ' * MEGABYTE}--></a>",
    "comments": f"<a>{'x<!---->' * 100_000}</a>",
    "cdata": f"<a><![CDATA[{']' * MEGABYTE}]]></a>",
    "instruction": f"<a><?b {'?' * MEGABYTE}?></a>",
    "doctype": f"<!DOCTYPE a [{'<!-- > -->' * 50_000}]><a/>",
    "namespaces": "<a>" + "<b xmlns:p='u' xmlns='v'/>" * 50_000 + "</a>",
    "namespaces of the root": "<a "
    + " ".join(f"xmlns:p{n}='u'" for n in range(9_000))
    + ">"
    + '<b xmlns="v"/>' * 50_000
    + "</a>",
    "name": f"<{'a' * MEGABYTE}/>",
    "siblings": f"<a>{'<b/>' * 100_000}</a>",
    "scopes": "".join(f"<a xmlns:p{n}='u'>" for n in range(900)) + "</a>" * 900,
}


@pytest.mark.parametrize("what", BIG)
def test_time_grows_with_size_only(what: str) -> None:
    start = time.process_time()
    found, _ = split_xml(BIG[what])
    sum(len(one.attributes) for one in found)
    assert time.process_time() - start < 10  # seconds where a quadratic step would take minutes


@given(st.text())
def test_escaped_text_is_read_back(text: str) -> None:
    if forbidden(text):
        assert forbidden(text) in text
        with pytest.raises(ET.ParseError):
            ET.fromstring(f"<a>{escape(text)}</a>".encode("utf-8", "surrogatepass"))
    else:
        assert (ET.fromstring(f"<a>{escape(text)}</a>").text or "") == text
        assert unescape(escape(text)) == text


def test_a_carriage_return_is_not_read_as_a_line_end() -> None:
    assert ET.fromstring(f"<a>{escape('x' + chr(13))}</a>").text == "x\r"


def test_cdata_has_no_references() -> None:
    assert unescape("<![CDATA[a &amp; b\r\nc]]>") == "a &amp; b\nc"
    assert unescape("&amp;lt; &#65; &#x42;\r") == "&lt; A B\n"


def test_the_collector_is_as_before() -> None:
    assert gc.isenabled()
    with pytest.raises(ZeroDivisionError), without_collection():
        assert not gc.isenabled()
        _ = 1 / 0
    assert gc.isenabled()


@given(st.text(), st.sampled_from(["ascii", "latin-1", "cp1252", "koi8-r"]))
def test_characters_that_the_encoding_lacks_are_references_also_in_cdata(words: str, encoding: str) -> None:
    words = "".join(char for char in words if not forbidden(char)).replace("\r", "").replace("]]>", "")
    decoded, *_ = read_xml(f'<?xml version="1.0" encoding="{encoding}"?><a/>'.encode(encoding))
    new = decoded.encode(
        f'<?xml version="1.0" encoding="{encoding}"?><a>{escape(words)}<![CDATA[{words}]]></a>'
    )
    assert (ET.fromstring(new).text or "") == words + words
