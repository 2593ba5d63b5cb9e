# ruff: noqa: E501 (lines as the programs write them)
"""XLIFF as Trados, memoQ and Phrase write it, by hand: none of them was here. lxml is the other reader."""

from __future__ import annotations

from typing import cast

import pytest
from lxml import etree

from dragoman.documents.formats import FORMATS
from dragoman.documents.segment import Code, Result, text_of
from dragoman.documents.translate import translate_document
from dragoman.translation.translator import Translator
from tests.documents.files import parse, shown
from tests.documents.pretend import Pretend

TRADOS = """\ufeff<?xml version="1.0" encoding="utf-8"?><xliff xmlns:sdl="http://sdl.com/FileTypes/SdlXliff/1.0" \
xmlns="urn:oasis:names:tc:xliff:document:1.2" version="1.2" sdl:version="1.0"><doc-info \
xmlns="http://sdl.com/FileTypes/SdlXliff/1.0"><cmt-defs><cmt-def id="c1"><Comments><Comment user="A">Ask.</Comment>\
</Comments></cmt-def></cmt-defs></doc-info><file original="C:\\a.docx" datatype="x-sdlfilterframework2" \
source-language="en-US" target-language="de-DE"><header><file-info xmlns="http://www.sdl.com/filters">\
<value key="SDL:FileId">7</value></file-info><tag-defs xmlns="http://sdl.com/FileTypes/SdlXliff/1.0"><tag id="0">\
<bpt name="cf" word-end="false">&lt;cf bold="on"&gt;</bpt><bpt-props><value key="bold">on</value></bpt-props>\
<ept name="cf">&lt;/cf&gt;</ept></tag></tag-defs></header><body>\r
<trans-unit id="u0" translate="no"><source>slide</source></trans-unit>\r
<group><sdl:cxts><sdl:cxt id="1"/></sdl:cxts><trans-unit id="u1"><source>The <g id="3">old</g> boat. It \
leaves.<x id="4"/></source><seg-source><mrk mtype="seg" mid="1">The <g id="3">old</g> boat.</mrk> <mrk \
mtype="seg" mid="2">It <mrk mtype="x-sdl-comment" sdl:cid="c1">leaves</mrk>.<x id="4"/></mrk></seg-source><target>\
<mrk mtype="seg" mid="1"/> <mrk mtype="seg" mid="2"/></target><sdl:seg-defs><sdl:seg id="1"/><sdl:seg id="2" \
conf="Draft" origin="source" percent="80"><sdl:value key="Hash">x</sdl:value></sdl:seg></sdl:seg-defs>\
</trans-unit></group>\r
<trans-unit id="u2"><source>One <mrk mtype="x-sdl-deleted" sdl:revid="r1">small </mrk>net</source><seg-source>\
<mrk mtype="seg" mid="3">One <mrk mtype="x-sdl-deleted" sdl:revid="r1">small </mrk>net</mrk></seg-source>\
<sdl:seg-defs><sdl:seg id="3"/></sdl:seg-defs></trans-unit>\r
<trans-unit id="u3"><source>A rope</source><seg-source><mrk mtype="seg" mid="4">A rope</mrk></seg-source><target>\
<mrk mtype="seg" mid="4">Ein Seil</mrk></target><sdl:seg-defs><sdl:seg id="4" conf="Translated" origin="interactive"/>\
</sdl:seg-defs></trans-unit>\r
</body></file></xliff>"""
MEMOQ = """<?xml version="1.0" encoding="UTF-8"?>\r
<xliff version="1.2" xmlns="urn:oasis:names:tc:xliff:document:1.2" xmlns:mq="MQXliff">\r
<file original="a.html" source-language="en-us" target-language="de-de" datatype="x-memoq"><header><tool \
tool-id="MQ" tool-name="MemoQ"/></header><body>\r
<trans-unit id="1" mq:status="NotStarted" mq:segmentguid="g1" mq:percent="70" mq:locked="no"><source \
xml:space="preserve">The <bpt id="1">&lt;b mq:val="x"&gt;</bpt>old<ept id="1">&lt;/b&gt;</ept> boat<ph \
id="2">&lt;br/&gt;</ph></source><target xml:space="preserve"></target><mq:minorversions/></trans-unit>\r
<trans-unit id="2" mq:status="ManuallyConfirmed" mq:segmentguid="g2"><source xml:space="preserve">A rope</source>\
<target xml:space="preserve">Ein Seil</target></trans-unit>\r
<trans-unit id="3" mq:status="NotStarted" mq:segmentguid="g3" mq:locked="locked"><source>A net</source><target/>\
</trans-unit>\r
</body></file></xliff>\r
"""
PHRASE = """<?xml version='1.0' encoding='UTF-8'?>
<xliff xmlns="urn:oasis:names:tc:xliff:document:1.2" xmlns:m="http://www.memsource.com/mxlf/2.0" version="1.2" \
m:version="2.5" m:level="1">
<file original="a.docx" source-language="en" target-language="de" datatype="x-docx"><body>
<group id="0" m:para-id="0"><trans-unit id="k:0" xml:space="preserve" m:score="0.75" m:gross-score="0.75" \
m:trans-origin="null" m:confirmed="0" m:locked="false" m:para-id="0"><source>The {1&gt;old&lt;1} boat {2}</source>\
<target></target><alt-trans origin="machine-trans"><target/></alt-trans><m:tunit-metadata><m:mark id="1">\
<m:type>B</m:type></m:mark></m:tunit-metadata></trans-unit></group>
<group id="1"><trans-unit id="k:1" m:confirmed="1" m:locked="false"><source>A {b>rope&lt;b}</source>\
<target>Ein Seil</target></trans-unit></group>
</body></file></xliff>
"""
FILES = {".sdlxliff": TRADOS, ".mqxliff": MEMOQ, ".mxliff": PHRASE}
NS = {"x": "urn:oasis:names:tc:xliff:document:1.2", "sdl": "http://sdl.com/FileTypes/SdlXliff/1.0"}


def filled(file: str, **options: object) -> etree._Element:
    translator = cast("Translator", Pretend(str.upper, pieces=2))
    new, _, counts = translate_document(translator, parse("xliff", file), **options)  # type: ignore[arg-type]
    assert translate_document(translator, parse("xliff", new), **options)[0] == new  # type: ignore[arg-type]
    assert not counts.doubtful
    return etree.fromstring(new)


def attributes(element: etree._Element) -> dict[str, str]:
    return {etree.QName(name).localname: value for name, value in element.attrib.items()}


@pytest.mark.parametrize("file", FILES.values(), ids=FILES)
def test_every_byte_stays(file: str) -> None:
    document = parse("xliff", file)
    assert document.render([None] * len(document.segments)) == file.encode()
    done = [Result(one.target) if one.target else None for one in document.segments]
    assert document.render(done) == file.encode()


def test_the_names_are_known() -> None:
    assert {*FILES, ".txlf"} <= {*FORMATS["xliff"].suffixes}


def test_trados_shows_a_draft_of_a_machine() -> None:
    segments = parse("xliff", TRADOS).segments
    assert [text_of(one.source) for one in segments] == [
        "The old boat.",
        'It leaves.<x id="4"/>',
        "One net",
        "A rope",
    ]
    root = filled(TRADOS)
    targets = ["".join(one.itertext()) for one in root.iterfind(".//x:target", NS)]
    assert targets == ["THE OLD BOAT. IT LEAVES.", "ONE small NET", "Ein Seil"]
    assert [attributes(one) for one in root.iterfind(".//sdl:seg", NS)] == [
        *(
            {"id": number, "conf": "Draft", "origin": "mt", "origin-system": "dragoman"}
            for number in ("1", "2", "3")
        ),
        {"id": "4", "conf": "Translated", "origin": "interactive"},
    ]
    assert root.find(".//x:note", NS) is None
    [mark] = root.iterfind(".//x:target//x:mrk[@mtype='x-sdl-deleted']", NS)
    assert mark.text == "small "


def test_memoq_shows_a_machine_translation() -> None:
    root = filled(MEMOQ)
    units = list(root.iterfind(".//x:trans-unit", NS))
    assert [attributes(one).get("status") for one in units] == [
        "MachineTranslated",
        "ManuallyConfirmed",
        "NotStarted",
    ]
    assert "percent" not in attributes(units[0])
    assert attributes(units[0])["segmentguid"] == "g1"
    target = units[0].find("x:target", NS)
    assert target is not None
    assert [etree.QName(one).localname for one in target] == ["bpt", "ept", "ph"]
    assert [text.strip() for text in target.itertext()][::2] == ["THE", "OLD", "BOAT"]


def test_phrase_writes_its_tags_as_text() -> None:
    sources = [one.source for one in parse("xliff", PHRASE).segments]
    assert [shown(one) for one in sources] == ["The ⟨{1&gt;⟩old⟨&lt;1}⟩ boat {2}", "A ⟨{b>⟩rope⟨&lt;b}⟩"]
    assert [one.pair for one in sources[0] if isinstance(one, Code)] == [1, 1]
    root = filled(PHRASE)
    first, second = root.iterfind(".//x:trans-unit", NS)
    assert first.findtext("x:target", namespaces=NS) == "THE {1>OLD<1} BOAT {2}"
    assert second.findtext("x:target", namespaces=NS) == "Ein Seil"
    own = attributes(first)
    assert (own["trans-origin"], own["confirmed"], own["score"], own["locked"]) == ("mt", "0", "0.0", "false")
    assert attributes(second)["confirmed"] == "1"
