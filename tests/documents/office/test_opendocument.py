"""OpenDocument texts: what is a segment, and what an edit changes."""

from __future__ import annotations

import random
from collections import Counter
from xml.etree import ElementTree

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dragoman.base.errors import DataError
from dragoman.documents.formats import Languages
from dragoman.documents.office.opendocument import parse
from dragoman.documents.segment import Code, Content, Result, text_of
from tests.documents.office.office_files import (
    ENGLISH_GERMAN,
    OFFICE,
    TEXT,
    XLINK,
    odf_xml,
    odt,
    shown,
    unpacked,
    upper,
)

T = f"{{{TEXT}}}"
STYLES = """
<style:style style:name="T1" style:family="text"><style:text-properties fo:font-weight="bold"/></style:style>
<style:style style:name="T2" style:family="text"><style:text-properties fo:font-style="italic"/></style:style>
<style:style style:name="T3" style:family="text"><style:text-properties fo:language="fr"
  fo:country="FR"/></style:style>
<style:style style:name="T4" style:family="text"><style:text-properties fo:language="fr" rsid="1"
  fo:font-weight="bold"/></style:style>
<style:style style:name="P1" style:family="paragraph"><style:text-properties fo:language="fr"/></style:style>
"""
LOOKS = {"T1": "bold", "T2": "italic", "T3": "", "T4": "bold", "Emphasis": "Emphasis"}


def paragraph(*inside: str) -> str:
    return f"<text:p>{''.join(inside)}</text:p>"


def span(style: str, *inside: str) -> str:
    return f'<text:span text:style-name="{style}">{"".join(inside)}</text:span>'


def note(*paragraphs: str) -> str:
    return (
        '<text:note text:note-class="footnote"><text:note-citation>1</text:note-citation>'
        f"<text:note-body>{''.join(paragraphs)}</text:note-body></text:note>"
    )


def frame(*paragraphs: str) -> str:
    return f"<draw:frame><draw:text-box>{''.join(paragraphs)}</draw:text-box></draw:frame>"


def sources(data: bytes) -> list[str]:
    return [shown(segment.source) for segment in parse(data, ENGLISH_GERMAN).segments]


def content(*inside: str) -> Content:
    (segment,) = parse(odt(paragraph(*inside), STYLES), ENGLISH_GERMAN).segments
    return segment.source


def edited(data: bytes, *contents: Content | None) -> bytes:
    return parse(data, ENGLISH_GERMAN).render([None if one is None else Result(one) for one in contents])


def in_upper_case(data: bytes) -> bytes:
    document = parse(data, ENGLISH_GERMAN)
    return document.render([Result(upper(segment.source)) for segment in document.segments])


def body(data: bytes) -> str:
    return unpacked(data, "content.xml").partition("<office:text>")[2].partition("</office:text>")[0]


# Another reader: each character with its format, and everything else in order


def characters(data: bytes) -> list[tuple[str, tuple[str, ...]]]:
    found: list[tuple[str, tuple[str, ...]]] = []
    collapsing = [True]

    def text(letters: str | None, looks: tuple[str, ...]) -> None:
        for letter in letters or "":
            space = letter in " \t\r\n"
            if not (space and collapsing[-1]):
                found.append((" ", ()) if space else (letter, looks))
            collapsing[-1] = space

    def inside(element: ElementTree.Element, looks: tuple[str, ...]) -> None:
        text(element.text, looks)
        for child in element:
            walk(child, looks)
            text(child.tail, looks)

    def walk(element: ElementTree.Element, looks: tuple[str, ...]) -> None:
        name = element.tag.rpartition("}")[2]
        if element.tag == f"{T}p":
            collapsing.append(True)
            inside(element, ())
            collapsing.pop()
            found.append(("p", ()))
        elif name == "span":
            look = LOOKS[element.attrib[f"{T}style-name"]]
            inside(element, looks if not look else (*looks, look))
        elif name == "a":
            inside(element, (*looks, element.attrib[f"{{{XLINK}}}href"]))
        elif name == "s":
            found.extend([(" ", ())] * int(element.get(f"{T}c", "1")))
            collapsing[-1] = False
        elif name in ("note", "note-body", "frame", "text-box"):
            for child in element:
                walk(child, ())
        elif name != "soft-page-break":
            found.append((name, ()))
            if name in ("tab", "line-break", "page-number"):
                collapsing[-1] = False

    for element in ElementTree.fromstring(unpacked(data, "content.xml")).iter(f"{{{OFFICE}}}text"):
        for child in element:
            walk(child, ())
    return found


def looks(data: bytes) -> list[tuple[str, tuple[str, ...]]]:
    """As `characters`, with letters in upper case."""
    return [(one.upper() if len(one) == 1 and one != "p" else one, rest) for one, rest in characters(data)]


# Paragraphs


def test_paragraphs_and_headings_are_segments() -> None:
    listed = "<text:list><text:list-item><text:p>Two</text:p></text:list-item></text:list>"
    data = odt(f"<text:h>One</text:h>{listed}<text:p/>")
    document = parse(data, ENGLISH_GERMAN)

    assert [(one.where, one.source) for one in document.segments] == [
        ("paragraph 1", ("One",)),
        ("paragraph 2", ("Two",)),
    ]
    assert body(edited(data, ("Eins",), None)) == body(data).replace("One", "Eins")


def test_headers_and_the_title_follow() -> None:
    styles = odf_xml(
        "office:document-styles",
        "<office:master-styles><style:master-page><style:header><text:p>Head</text:p></style:header>"
        "</style:master-page></office:master-styles>",
    )
    title = "<dc:creator>Ann</dc:creator><dc:title>A &lt; B</dc:title>"
    meta = f'<m xmlns:dc="http://purl.org/dc/elements/1.1/">{title}</m>'
    data = odt(paragraph("Text"), parts={"styles.xml": styles, "meta.xml": meta})
    document = parse(data, ENGLISH_GERMAN)

    assert [(one.where, text_of(one.source)) for one in document.segments] == [
        ("paragraph 1", "Text"),
        ("styles.xml, paragraph 1", "Head"),
        ("title", "A < B"),
    ]
    new = edited(data, None, ("Kopf",), ("C & D",))
    assert unpacked(new, "styles.xml") == styles.replace("Head", "Kopf")
    assert unpacked(new, "meta.xml") == meta.replace("A &lt; B", "C &amp; D")
    assert unpacked(new, "content.xml") == unpacked(data, "content.xml")


def test_comments_and_deleted_text_are_left_out() -> None:
    region = f"<text:changed-region>{paragraph('gone')}</text:changed-region>"
    deleted = f"<text:tracked-changes>{region}</text:tracked-changes>"
    comment = f"<office:annotation>{paragraph('why?')}</office:annotation>"
    data = odt(deleted + paragraph("a ", comment, "b"))

    assert sources(data) == ["a [e]b"]
    assert body(in_upper_case(data)) == deleted + paragraph("A ", comment, "B")


# White space


@pytest.mark.parametrize(
    ("inside", "text"),
    [
        ("  a\n\t b ", "a b"),
        ("a <text:s/>b", "a  b"),
        ('a<text:s text:c="3"/>b', "a   b"),
        ("a <text:span> b</text:span>", "a b"),
        ("a<text:s/> b", "a  b"),
        ("a &amp;&#32; b", "a & b"),
        ("<![CDATA[<a>]]>b", "<a>b"),
    ],
)
def test_white_space_collapses(inside: str, text: str) -> None:
    assert text_of(content(inside)) == text


def test_spaces_are_written_so_that_they_stay() -> None:
    data = odt(paragraph("a"))
    new = edited(data, ("  b   c ", "d\te\nf"))

    assert body(new) == paragraph(
        '<text:s text:c="2"/>b <text:s text:c="2"/>c d<text:tab/>e<text:line-break/>f'
    )
    assert text_of(parse(new, ENGLISH_GERMAN).segments[0].source) == "b   c d e\nf"


def test_very_many_spaces_stay_a_code() -> None:
    assert shown(content('a<text:s text:c="999999999"/>b')) == "a[e]b"
    assert shown(content('a<text:s text:c="x"/>b')) == "a b"


def test_tabs_and_breaks_are_codes() -> None:
    tab, line = (one for one in content("a<text:tab/>b<text:line-break/>c") if isinstance(one, Code))

    assert (tab.shown, tab.breaks, line.breaks) == (" ", True, True)


# Inside a paragraph


def test_spans_and_links_are_pairs() -> None:
    link = '<text:a xlink:href="http://example.org/">'
    source = content("a ", span("T1", "b ", link, "c", "</text:a>"), " d")

    assert shown(source) == "a [o1]b [o2]c[c2][c1] d"
    assert [one.text for one in source if isinstance(one, Code)] == [
        '<text:span text:style-name="T1">',
        link,
        "</text:a>",
        "</text:span>",
    ]


def test_spans_that_look_the_same_are_joined() -> None:
    inside = (span("T1", "a"), span("T4", "b"), span("T3", "c"), span("T1", "d"), span("T2", "e"), "f")

    assert shown(content(*inside)) == "[o1]ab[c1]c[o2]d[c2][o3]e[c3]f"
    assert body(in_upper_case(odt(paragraph(*inside), STYLES))) == paragraph(
        span("T1", "AB"), "C", span("T1", "D"), span("T2", "E"), "F"
    )


def test_named_styles_are_never_joined_away() -> None:
    assert shown(content("a", span("Emphasis", "b"), span("Emphasis", "c"))) == "a[o1]b[c1][o2]c[c2]"


def test_pairs_around_everything_are_left_out() -> None:
    data = odt(paragraph('<text:bookmark text:name="x"/>', span("T1", " One ")), STYLES)

    assert sources(data) == ["One"]
    assert body(edited(data, ("Eins",))) == paragraph('<text:bookmark text:name="x"/>', span("T1", "Eins "))


def test_fields_are_placeholders() -> None:
    source = content("Page ", "<text:page-number>7</text:page-number>", " of the ", "<text:title/>", "book")

    assert shown(source) == "Page [p] of the [e]book"
    assert source[1] == Code("<text:page-number>7</text:page-number>", "placeholder", shown="7")


def test_ranges_around_text_are_pairs() -> None:
    bookmark = '<text:bookmark-start text:name="x"/>b<text:bookmark-end text:name="x"/>'
    change = '<text:change-start text:change-id="y"/>d<text:change-end text:change-id="y"/>'

    assert shown(content("a", bookmark, "c", change, "e")) == "a[o1]b[c1]c[o2]d[c2]e"


def test_of_ruby_the_base_is_read() -> None:
    read = "<text:ruby-text>かんじ</text:ruby-text>"
    ruby = f"<text:ruby><text:ruby-base>漢字</text:ruby-base>{read}</text:ruby>"
    assert content(ruby, "です") == ("漢字です",)


def test_notes_and_text_boxes_hold_segments() -> None:
    data = odt(
        paragraph("a", note(paragraph("in ", span("T1", "note"))), "b", frame(paragraph("box")), "c"), STYLES
    )

    assert sources(data) == ["a[e]b[e]c", "in [o1]note[c1]", "box"]
    assert body(in_upper_case(data)) == (
        paragraph("A", note(paragraph("IN ", span("T1", "NOTE"))), "B", frame(paragraph("BOX")), "C")
    )
    assert body(edited(data, None, None, ("x",))) == body(data).replace(">box<", ">x<")
    outer = parse(data, ENGLISH_GERMAN).segments[0].source
    turned = (outer[3], "z", outer[1])
    assert body(edited(data, turned, ("n",), ("x",))) == paragraph(
        frame(paragraph("x")), "z", note(paragraph("n"))
    )


def test_a_translated_document_states_its_language() -> None:
    inside = (
        "<style:default-style>"
        '<style:text-properties fo:language="fr" fo:country="FR" style:language-asian="zh"/>'
        "</style:default-style>"
        '<style:style><style:text-properties fo:language="en" fo:country="GB"/></style:style>'
        '<style:style><style:text-properties fo:language="es" fo:country="ES"/></style:style>'
    )
    styles = odf_xml("office:document-styles", inside)
    data = odt(paragraph("a"), parts={"styles.xml": styles})

    assert unpacked(edited(data, ("b",)), "styles.xml") == styles.replace('"fr"', '"de"').replace(
        '"en"', '"de"'
    ).replace('"FR"', '"none"').replace('"GB"', '"none"')
    assert edited(data, ("a",)) == data
    chinese = parse(data, Languages("en", "zh-TW")).render([Result(("b",))])
    assert 'fo:language="fr"' in unpacked(chinese, "styles.xml")


# All files


WORDS = st.text("ab &<é\u00a0𝄞\n", max_size=5).map(
    lambda text: text.replace("&", "&amp;").replace("<", "&lt;")
)
EMPTY = st.sampled_from(
    [
        "<text:tab/>",
        "<text:line-break/>",
        "<text:s/>",
        '<text:s text:c="2"/>',
        "<text:page-number>1</text:page-number>",
        "<text:soft-page-break/>",
        '<text:bookmark-start text:name="x"/>',
        '<text:bookmark-end text:name="x"/>',
        '<text:bookmark text:name="y"/>',
    ]
)


def around(inside: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.lists(
        WORDS
        | EMPTY
        | st.builds(span, st.sampled_from(sorted(LOOKS)), inside)
        | inside.map(lambda one: f'<text:a xlink:href="h">{one}</text:a>')
        | inside.map(lambda one: note(paragraph(one), paragraph("note")))
        | inside.map(lambda one: frame(paragraph(one))),
        max_size=5,
    ).map("".join)


PARAGRAPHS = st.recursive(WORDS | EMPTY, around, max_leaves=12).map(paragraph)
DOCUMENTS = st.lists(PARAGRAPHS, max_size=3).map(lambda inside: odt("".join(inside), STYLES))


@pytest.mark.thorough
@settings(max_examples=60)
@given(DOCUMENTS, st.randoms(use_true_random=False))
def test_any_content_gives_a_sound_file(data: bytes, chance: random.Random) -> None:
    document = parse(data, ENGLISH_GERMAN)
    results = []
    for segment in document.segments:
        parts = [*segment.source, "new \x00& text"]
        chance.shuffle(parts)
        results.append(Result(tuple(parts[: chance.randint(0, len(parts))])))
    new = document.render(results)

    def others(file: bytes) -> Counter[str]:
        return Counter(name for name, _ in characters(file) if len(name) > 1 and "bookmark-" not in name)

    assert others(new) == others(data)


def test_an_encrypted_file_is_named() -> None:
    manifest = (
        '<m:manifest xmlns:m="urn:oasis:names:tc:opendocument:xmlns:manifest:1.0"><m:file-entry>'
        "<m:encryption-data/></m:file-entry></m:manifest>"
    )
    with pytest.raises(DataError, match="encrypted"):
        parse(odt("", parts={"META-INF/manifest.xml": manifest, "content.xml": "\0secret"}), ENGLISH_GERMAN)


# Presentations and spreadsheets


def cell(text: str, attributes: str = ' office:value-type="string"') -> str:
    return f"<table:table-cell{attributes}><text:p>{text}</text:p></table:table-cell>"


def sheet(*cells: str, more: str = "") -> bytes:
    return odt(f"<table:table>{''.join(cells)}</table:table>{more}", kind="spreadsheet")


def kept(data: bytes) -> list[str]:
    """The texts that are not written although they were translated."""
    document = parse(data, ENGLISH_GERMAN)
    document.render([Result(("x",)) for _ in document.segments])
    return [text_of(one.source) for one in document.kept]


def test_only_text_of_cells_is_translated() -> None:
    data = sheet(
        cell("One boat"),
        cell("5 m", ' office:value-type="float" office:value="5"'),
        cell("Total", ' table:formula="of:=[.A1]" office:value-type="string"'),
        cell("PN-12"),
        cell("Some", ' office:value-type="other"'),
        cell("Two", ' table:number-columns-repeated="3"'),
        "<table:table-cell><office:annotation><text:p>A note</text:p></office:annotation></table:table-cell>",
    )
    assert sources(data) == ["One boat", "Some", "Two"]


def test_cells_that_repeat_their_text_change_in_both_places() -> None:
    attribute = ' office:value-type="string" office:string-value="{}"'
    data = sheet(
        cell("One &amp; two", attribute.format("One &amp; two")), cell("One", attribute.format("Other"))
    )
    assert kept(data) == ["One"]
    assert cell("ONE &amp; TWO", attribute.format("ONE &amp; TWO")) in unpacked(
        in_upper_case(data), "content.xml"
    )


def test_what_a_spreadsheet_compares_stays() -> None:
    more = (
        '<table:filter-condition table:value="Wood"/><table:data-pilot-member table:name="Ann"/>'
        '<table:content-validation table:condition="is-in-list(&quot;Yes&quot;;&quot;No&quot;)"/>'
        '<table:table-cell table:formula="of:=IF([.A1]=&quot;open&quot;;1;2)"/>'
    )
    data = sheet(*map(cell, ("Open", "Wood", "Ann", "Yes", "Maybe")), more=more)
    assert kept(data) == ["Open", "Wood", "Ann", "Yes"]
    assert kept(odt(paragraph("Open"), parts={"content.xml": unpacked(data, "content.xml")})) == []


def test_messages_of_cells_have_titles() -> None:
    message = (
        '<table:help-message table:title="{}" table:display="true"><text:p>{}</text:p></table:help-message>'
    )
    data = sheet(cell("One"), more=message.format("A &amp; b", "Two") + message.format("", "Three"))
    assert sources(data) == ["One", "A & b", "Two", "Three"]
    assert message.format("A &amp; B", "TWO") in unpacked(in_upper_case(data), "content.xml")


def frame_of(text: str, kind: str = "") -> str:
    attribute = f" presentation:{kind}" if kind else ""
    return f"<draw:frame{attribute}><draw:text-box><text:p>{text}</text:p></draw:text-box></draw:frame>"


def test_pages_with_notes_descriptions_and_footers() -> None:
    prompt = frame_of("Click to edit", 'class="title"') + frame_of("Confidential")
    data = odt(
        '<presentation:footer-decl presentation:name="f">Our harbour</presentation:footer-decl><draw:page>'
        "<draw:frame><svg:title>A map</svg:title><svg:desc>Of &amp; all</svg:desc><draw:image/></draw:frame>"
        + frame_of("The boats", 'class="title"')
        + frame_of("Click here", 'placeholder="true"')
        + f"<presentation:notes>{frame_of('Say it')}</presentation:notes></draw:page>",
        parts={"styles.xml": odf_xml("office:document-styles", prompt)},
        kind="presentation",
    )
    assert sources(data) == ["Our harbour", "A map", "Of & all", "The boats", "Say it", "Confidential"]
    new = unpacked(in_upper_case(data), "content.xml")
    assert "<svg:title>A MAP</svg:title><svg:desc>OF &amp; ALL</svg:desc>" in new


def test_descriptions_inside_a_paragraph() -> None:
    picture = "<draw:frame><svg:title>{}</svg:title></draw:frame>"
    data = odt(paragraph("One ", picture.format("A map"), "boat"))
    assert sources(data) == ["One [e]boat", "A map"]
    assert body(in_upper_case(data)) == paragraph("ONE ", picture.format("A MAP"), "BOAT")


def test_charts_have_titles() -> None:
    inside = (
        '<c:title xmlns:c="chart"><text:p>{}</text:p></c:title><table:table-cell office:value-type="string">'
        "<text:p>{}</text:p><draw:g><svg:desc>Sheet.A1:Sheet.A9</svg:desc></draw:g></table:table-cell>"
    )
    name, root = "Object 1/content.xml", "office:document-content"
    data = odt(paragraph("One"), parts={name: odf_xml(root, inside.format("Sales", "East"))})
    assert sources(data) == ["One", "Sales", "East"]
    assert unpacked(in_upper_case(data), name) == odf_xml(root, inside.format("SALES", "EAST"))


def test_the_title_of_the_document_in_a_text_stays() -> None:
    assert sources(odt(paragraph("See ", "<text:title>Boats</text:title>", " again"))) == ["See [p] again"]


def test_signed_documents_are_refused() -> None:
    with pytest.raises(DataError, match="digital signature"):
        parse(odt("", parts={"META-INF/documentsignatures.xml": "<a/>"}), ENGLISH_GERMAN)
