"""Files of XLIFF for tests: the committee's, which stay outside the repository, and generated ones."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from hypothesis import strategies as st
from lxml import etree

SUITE = Path(__file__).parents[4] / "shared" / "data" / "xliff-suite"
needs_suite = pytest.mark.skipif(not SUITE.is_dir(), reason="the suite of the XLIFF committee is not here")

V12 = "urn:oasis:names:tc:xliff:document:1.2"
V20 = "urn:oasis:names:tc:xliff:document:2.0"
V22 = "urn:oasis:names:tc:xliff:document:2.2"

_XML_XSD = """<xs:schema xmlns:xs="http://www.w3.org/2001/XMLSchema"
  targetNamespace="http://www.w3.org/XML/1998/namespace">
 <xs:attribute name="lang" type="xs:language"/>
 <xs:attribute name="space"><xs:simpleType><xs:restriction base="xs:NCName">
  <xs:enumeration value="default"/><xs:enumeration value="preserve"/></xs:restriction></xs:simpleType>
 </xs:attribute>
</xs:schema>"""


class _Offline(etree.Resolver):
    def resolve(self, url: str, public_id: str, context: Any) -> Any:
        return self.resolve_string(_XML_XSD, context) if url.endswith("/xml.xsd") else None


def schema22() -> etree.XMLSchema:
    """The committee's schema for the core of XLIFF 2.2, without the network."""
    parser = etree.XMLParser(no_network=True)
    parser.resolvers.add(_Offline())
    return etree.XMLSchema(etree.parse(str(SUITE / "schemas" / "xliff_core_2.2.xsd"), parser))


def read(data: bytes) -> Any:
    """A file as another parser has it."""
    return etree.fromstring(data, etree.XMLParser(resolve_entities=False))


def texts(data: bytes, name: str) -> list[str]:
    """All that the elements of a name hold as text, in order."""
    return ["".join(one.itertext("{*}*")) for one in read(data).iter(f"{{*}}{name}")]


words = st.text(st.sampled_from("ab é漢😀<>&\"' \n\t]"), min_size=1, max_size=6)


@st.composite
def written(draw: Callable[..., Any], text: str) -> str:
    """A text as some program may write it."""
    how = draw(st.sampled_from(["plain", "cdata", "numbers", "comment"]))
    if how == "cdata":
        return "<![CDATA[" + text.replace("]]>", "]]]]><![CDATA[>") + "]]>"
    if how == "numbers":
        return "".join(f"&#x{ord(char):x};" for char in text)
    plain = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return f"{plain}<!-- <x> -->" if how == "comment" else plain


@st.composite
def inline2(draw: Callable[..., Any], ids: Any, name: str = "", depth: int = 2) -> str:
    """The content of a <source> of XLIFF 2."""
    parts = []
    for _ in range(draw(st.integers(0 if depth < 2 else 1, 3))):
        inside = inline2(ids, name, depth - 1)
        kinds = ["text", "text", "ph", "cp", "pc", "pc/", "mrk", "no", "sc", "sm", "lone"]
        match draw(st.sampled_from(kinds if depth else kinds[:4])):
            case "text":
                parts.append(draw(written(draw(words))))
            case "ph":
                how = draw(st.sampled_from(["", ' type="fmt" subType="xlf:lb"']))
                parts.append(f'<{name}ph id="{next(ids)}"{how}/>')
            case "cp":
                parts.append(f"<{name}cp hex='0001' />")
            case "pc":
                parts.append(f'<{name}pc id="{next(ids)}">{draw(inside)}</{name}pc>')
            case "pc/":
                parts.append(f'<{name}pc id="{next(ids)}" ></{name}pc>')
            case "mrk":
                parts.append(f'<{name}mrk id="{next(ids)}" type="term">{draw(inside)}</{name}mrk >')
            case "no":
                mark = next(ids)
                parts.append(f'<{name}mrk translate="no" id="{mark}">{draw(inside)}</{name}mrk>')
            case "sc":
                start = next(ids)
                parts.append(f'<{name}sc id="{start}"/>{draw(inside)}<{name}ec startRef="{start}"/>')
            case "sm":
                start = next(ids)
                no = draw(st.sampled_from(["", ' translate="no"']))
                parts.append(f'<{name}sm id="{start}"{no}/>{draw(inside)}<{name}em startRef="{start}"/>')
            case "lone":
                parts.append(f'<{name}sc id="{next(ids)}" isolated="yes"/>')
    return "".join(parts)


@st.composite
def files2(draw: Callable[..., Any]) -> bytes:
    """A file of XLIFF 2.2. Each target equals its source."""
    name = draw(st.sampled_from(["", "x:"]))
    end = draw(st.sampled_from(["\n", "\r\n", "", "\n  "]))
    units = []
    for number in range(draw(st.integers(1, 3))):
        ids = (f"i{n}" for n in count())
        parts = []
        for _ in range(draw(st.integers(1, 3))):
            inner = draw(inline2(ids, name))
            space = draw(st.sampled_from(["", ' xml:space="preserve"']))
            target = draw(st.sampled_from(["", f"{end}<{name}target{space}>{inner}</{name}target>"]))
            state = draw(st.sampled_from(["", " state='initial'", ' state="final" subState="a:b"']))
            source = f"{end}<{name}source{space}>{inner}</{name}source>"
            parts.append(f"<{name}segment{state}>{source}{target}{end}</{name}segment>")
        if draw(st.booleans()):
            parts.insert(0, f"<{name}ignorable><{name}source> </{name}source></{name}ignorable>")
        notes = draw(st.sampled_from(["", f"<{name}notes><{name}note>Be brief</{name}note></{name}notes>"]))
        extra = draw(st.sampled_from(["", "<e:e xmlns:e='urn:e'><source>no</source></e:e>"]))
        no = draw(st.sampled_from(["", "", "", ' translate="no"']))
        units.append(f'<{name}unit id="u{number}"{no}>{end}{extra}{end}{notes}{end.join(parts)}</{name}unit>')
    body = end.join(units)
    colon = ":" + name[:-1] if name else ""
    text = (
        f'<{name}xliff xmlns{colon}="{V22}" version="2.2" srcLang="en" trgLang="de">{end}'
        f'<{name}file id="f">{body}</{name}file></{name}xliff>{end}'
    )
    return draw(encoded(text))


@st.composite
def encoded(draw: Callable[..., Any], text: str) -> bytes:
    how = draw(st.sampled_from(["utf-8", "utf-8-sig", "utf-16", "declared"]))
    if how == "declared":
        return ('<?xml version="1.0" encoding="UTF-8"?>\n' + text).encode()
    return text.encode(how)


@st.composite
def inline12(draw: Callable[..., Any], ids: Any, depth: int = 2) -> str:
    """The content of a <source> of XLIFF 1.2."""
    parts = []
    for _ in range(draw(st.integers(0 if depth < 2 else 1, 3))):
        inside = inline12(ids, depth - 1)
        kinds = ["text", "text", "x", "ph", "it", "g", "term", "protected", "bx", "bpt"]
        kind = draw(st.sampled_from(kinds if depth else kinds[:5]))
        id = next(ids)
        match kind:
            case "text":
                parts.append(draw(written(draw(words))))
            case "x":
                parts.append(draw(st.sampled_from([f'<x id="{id}" ctype="lb"/>', f"<x id='{id}'/>"])))
            case "ph":
                parts.append(f'<ph id="{id}">{{0}}<sub>tip</sub></ph>')
            case "it":
                parts.append(f'<it id="{id}" pos="open">&lt;b></it>')
            case "g":
                parts.append(f'<g id="{id}">{draw(inside)}</g>')
            case "term" | "protected":
                parts.append(f'<mrk mtype="{kind}">{draw(inside)}</mrk>')
            case "bx":
                parts.append(f'<bx id="{id}" rid="r{id}"/>{draw(inside)}<ex id="e{id}" rid="r{id}"/>')
            case "bpt":
                parts.append(f'<bpt id="{id}">[</bpt>{draw(inside)}<ept id="{id}">]</ept>')
    return "".join(parts)


@st.composite
def files12(draw: Callable[..., Any]) -> bytes:
    """A file of XLIFF 1.2. Each target equals its source."""
    end = draw(st.sampled_from(["\n", "\r\n", "", "\n  "]))
    units = []
    for number in range(draw(st.integers(1, 4))):
        ids = (f"i{n}" for n in count())
        marks = [draw(inline12(ids)) for _ in range(draw(st.integers(0, 2)))]
        inner = " ".join(f'<mrk mtype="seg" mid="{n}">{mark}</mrk>' for n, mark in enumerate(marks))
        inner = inner or draw(inline12(ids))
        segmented = f"{end}<seg-source>{inner}</seg-source>" if marks else ""
        state = draw(st.sampled_from(["", ' state="final"', " state='needs-translation'"]))
        target = draw(st.sampled_from(["", f"{end}<target{state}>{inner}</target>"]))
        other = f"{end}<alt-trans><source>x</source><target>y</target></alt-trans>"
        rest = draw(st.sampled_from(["", f"{end}<note>Be brief</note>", other]))
        approved = draw(st.sampled_from(["", ' approved="yes"', ' translate="no"']))
        source = inner if not marks else "".join(marks)
        inside = f"{end}<source>{source}</source>{segmented}{target}{rest}{end}"
        units.append(f'<trans-unit id="u{number}"{approved}>{inside}</trans-unit>')
    text = (
        f'<xliff xmlns="{V12}" version="1.2">{end}<file original="f" source-language="en-US"'
        f' datatype="plaintext" target-language="de"><body>{end.join(units)}</body></file></xliff>{end}'
    )
    return draw(encoded(text))
