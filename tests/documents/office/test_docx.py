"""Word documents: what is a segment, and what an edit changes."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator
from xml.etree import ElementTree
from xml.sax.saxutils import escape

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dragoman.base.errors import DataError
from dragoman.documents.formats import Languages
from dragoman.documents.office.docx import parse
from dragoman.documents.segment import Code, Content, Result, text_of
from tests.documents.office.office_files import (
    ENGLISH_GERMAN,
    A,
    W,
    at_most_tags,
    docx,
    shown,
    unpacked,
    upper,
    word_xml,
)

WORD = f"{{{W}}}"
DRAWING = f"{{{A}}}"
CHART = "http://schemas.openxmlformats.org/drawingml/2006/chart"


def run(text: str, style: str = "") -> str:
    return "<w:r>" + (style and f"<w:rPr>{style}</w:rPr>") + f'<w:t xml:space="preserve">{text}</w:t></w:r>'


def paragraph(*inside: str) -> str:
    return f"<w:p>{''.join(inside)}</w:p>"


def field(instruction: str, result: str = "", style: str = "") -> str:
    def mark(kind: str) -> str:
        return f'<w:r>{style}<w:fldChar w:fldCharType="{kind}"/></w:r>'

    separate = f"{mark('separate')}{result}" if result else ""
    return f"{mark('begin')}<w:r><w:instrText> {instruction} </w:instrText></w:r>{separate}{mark('end')}"


def box(*paragraphs: str) -> str:
    return f"<w:drawing><w:txbxContent>{''.join(paragraphs)}</w:txbxContent></w:drawing>"


def sources(data: bytes) -> list[str]:
    return [shown(segment.source) for segment in parse(data, ENGLISH_GERMAN).segments]


def content(*inside: str) -> Content:
    (segment,) = parse(docx(paragraph(*inside)), ENGLISH_GERMAN).segments
    return segment.source


def codes(*inside: str) -> list[str]:
    return [one.text for one in content(*inside) if isinstance(one, Code)]


def edited(data: bytes, *contents: Content | None) -> bytes:
    return parse(data, ENGLISH_GERMAN).render([None if one is None else Result(one) for one in contents])


def in_upper_case(data: bytes) -> bytes:
    document = parse(data, ENGLISH_GERMAN)
    return document.render([Result(upper(segment.source)) for segment in document.segments])


def body(data: bytes) -> str:
    """What stands between the tags of the body."""
    return unpacked(data, "word/document.xml").partition("<w:body>")[2].partition("</w:body>")[0]


# Another reader: each letter with its format, and everything else in order


def letters(data: bytes, name: str = "word/document.xml") -> Iterator[tuple[str, str, tuple[str, ...]]]:
    def walk(
        element: ElementTree.XmlElement, style: str, around: tuple[str, ...]
    ) -> Iterator[tuple[str, str, tuple[str, ...]]]:
        local = element.tag.rpartition("}")[2]
        if local == "r":
            properties = [one for one in element if one.tag == f"{WORD}rPr"]
            kept = [one for one in properties[0] if not one.tag.endswith("}lang")] if properties else []
            style = "".join(sorted(one.tag + str(sorted(one.attrib.items())) for one in kept))
        if local == "t":
            for letter in element.text or "":
                if not letter.isspace():
                    yield letter, style, around
        elif local in ("hyperlink", "ins", "smartTag", "sdtContent", "del"):
            around += (local + str(sorted(element.attrib.items())),)
        elif local not in ("r", "rPr", "proofErr", "p", "body", "document", "txbxContent", "pPr"):
            yield local, str(sorted(element.attrib.items())) + (element.text or ""), around
        for child in element:
            if not child.tag.endswith("}rPr"):
                yield from walk(child, style, around)

    yield from walk(ElementTree.fromstring(unpacked(data, name)), "", ())


def looks(data: bytes) -> list[tuple[str, str, tuple[str, ...]]]:
    """Each letter, in upper case, with its format, and everything else in order."""
    return [(letter.upper() if len(letter) == 1 else letter, *rest) for letter, *rest in letters(data)]


def plain(data: bytes) -> str:
    root = ElementTree.fromstring(unpacked(data, "word/document.xml"))
    return "".join(one.text or "" for one in root.iter(f"{WORD}t"))


# Paragraphs


def test_each_paragraph_is_a_segment() -> None:
    data = docx(
        paragraph(run("One."))
        + "<w:p/>"
        + paragraph(run("  "))
        + f"<w:tbl><w:tr><w:tc>{paragraph(run('Two'))}</w:tc></w:tr></w:tbl>"
    )
    document = parse(data, ENGLISH_GERMAN)

    assert [segment.source for segment in document.segments] == [("One.",), ("Two",)]
    assert [segment.where for segment in document.segments] == ["paragraph 1", "paragraph 4"]


def test_headers_and_notes_and_the_title_follow() -> None:
    note = f'<w:footnote w:id="1">{paragraph("<w:r><w:footnoteRef/></w:r>", run(" A note"))}</w:footnote>'
    core = (
        '<cp:coreProperties xmlns:cp="urn:x" xmlns:dc="http://purl.org/dc/elements/1.1/">'
        "<dc:title>A &amp; B</dc:title><dc:creator>Ann</dc:creator></cp:coreProperties>"
    )
    data = docx(
        paragraph(run("Text")),
        {
            "word/header1.xml": word_xml(paragraph(run("Head")), "w:hdr"),
            "word/footnotes.xml": word_xml(note, "w:footnotes"),
            "word/comments.xml": word_xml(
                f"<w:comment>{paragraph(run('Comment'))}</w:comment>", "w:comments"
            ),
            "docProps/core.xml": core,
        },
    )
    document = parse(data, ENGLISH_GERMAN)
    assert [(one.where, text_of(one.source)) for one in document.segments] == [
        ("paragraph 1", "Text"),
        ("footnotes.xml, paragraph 1", "A note"),
        ("header1.xml, paragraph 1", "Head"),
        ("title", "A & B"),
    ]

    new = edited(data, None, ("Notiz",), None, ("C & <D>",))
    notes = unpacked(new, "word/footnotes.xml")
    assert '<w:footnoteRef/><w:t xml:space="preserve"> Notiz</w:t></w:r></w:p>' in notes
    assert unpacked(new, "docProps/core.xml") == core.replace("A &amp; B", "C &amp; &lt;D&gt;")
    for name in ("word/document.xml", "word/header1.xml", "word/comments.xml"):
        assert unpacked(new, name) == unpacked(data, name)


def test_charts_and_diagrams_have_paragraphs() -> None:
    text = (
        '<a:p><a:pPr/><a:r><a:rPr lang="en-US" b="1" dirty="0"/><a:t>Sales</a:t></a:r>'
        '<a:r><a:rPr b="1"/><a:t> in May</a:t></a:r><a:endParaRPr lang="en-US"/></a:p>'
    )
    chart = f'<c:chartSpace xmlns:c="{CHART}" xmlns:a="{A}"><c:rich>{text}</c:rich></c:chartSpace>'
    data = docx("", {"word/charts/chart1.xml": chart})

    assert sources(data) == ["Sales in May"]
    new = (
        '<a:p><a:pPr/><a:r><a:rPr lang="de" b="1"/><a:t>SALES IN MAY</a:t></a:r>'
        '<a:endParaRPr lang="en-US"/></a:p>'
    )
    assert unpacked(in_upper_case(data), "word/charts/chart1.xml") == chart.replace(text, new)


@pytest.mark.parametrize(
    "main",
    [
        "application/vnd.openxmlformats-officedocument.wordprocessingml.template.main+xml",
        "application/vnd.ms-word.document.macroEnabled.main+xml",
        "application/vnd.ms-word.template.macroEnabledTemplate.main+xml",
    ],
)
def test_templates_and_documents_with_macros_are_read(main: str) -> None:
    assert sources(docx(paragraph(run("One.")), main=main)) == ["One."]


def test_the_strict_form_and_other_prefixes_are_read() -> None:
    xml = (
        '<document xmlns="http://purl.oclc.org/ooxml/wordprocessingml/main"><body><p><r><t>One </t></r>'
        "<r><rPr><b/></rPr><t>two</t></r></p></body></document>"
    )
    data = docx("", {"word/document.xml": xml})

    assert sources(data) == ["One[o1]two[c1]"]
    assert '<p><r><t xml:space="preserve">ONE</t></r><r><rPr><b/></rPr>' in unpacked(
        in_upper_case(data), "word/document.xml"
    )


# Runs


def test_runs_that_look_the_same_are_joined() -> None:
    inside = (
        '<w:r w:rsidR="1"><w:t>Hel</w:t></w:r><w:proofErr w:type="spellStart"/>'
        '<w:r><w:rPr><w:lang w:val="en-GB"/></w:rPr><w:t>lo </w:t></w:r>'
        '<w:r><w:rPr><w:noProof/></w:rPr><w:lastRenderedPageBreak/><w:t xml:space="preserve"> world</w:t>'
        "</w:r>"
    )
    assert content(inside) == ("Hello world",)
    assert (
        body(in_upper_case(docx(paragraph(inside))))
        == '<w:p><w:r><w:t xml:space="preserve">HELLO WORLD</w:t></w:r></w:p>'
    )


def test_the_most_common_style_is_plain() -> None:
    inside = run("Most of it is bold, ", "<w:b/>") + run("not ") + run("all", "<w:i/>") + run("!", "<w:b/>")

    assert shown(content(inside)) == "Most of it is bold, [o1]not [c1][o2]all[c2]!"
    assert codes(inside) == ["<w:r>", "</w:r>", "<w:r><w:rPr><w:i/></w:rPr>", "</w:r>"]
    new = body(edited(docx(paragraph(inside)), ("Fett",)))
    assert new == '<w:p><w:r><w:rPr><w:b/></w:rPr><w:t xml:space="preserve">Fett</w:t></w:r></w:p>'


def test_an_invisible_style_of_a_space_is_no_code() -> None:
    assert shown(content(run("a"), run(" ", "<w:b/>"), run("b"))) == "a b"
    assert shown(content(run("a"), run(" ", '<w:u w:val="single"/>'), run("b"))) == "a[o1] [c1]b"


def test_properties_of_a_paragraph_stay() -> None:
    data = docx('<w:p w:rsidR="2"><w:pPr><w:jc w:val="center"/></w:pPr><w:r><w:t>a</w:t></w:r></w:p>')
    assert body(in_upper_case(data)).startswith('<w:p w:rsidR="2"><w:pPr><w:jc w:val="center"/></w:pPr><w:r>')


def test_properties_stay_in_indented_files() -> None:
    data = docx(
        '<w:p>\n <w:pPr><w:jc w:val="center"/></w:pPr>\n <w:smartTag>\n  <w:smartTagPr/>\n'
        " <w:r><w:t>a</w:t></w:r>\n </w:smartTag>\n <w:r><w:t> b</w:t></w:r>\n</w:p>"
    )
    assert body(in_upper_case(data)) == (
        '<w:p>\n <w:pPr><w:jc w:val="center"/></w:pPr>\n <w:smartTag>\n  <w:smartTagPr/>'
        '<w:r><w:t xml:space="preserve">A</w:t></w:r></w:smartTag>'
        '<w:r><w:t xml:space="preserve">B</w:t></w:r></w:p>'
    )


def test_tabs_and_breaks_stand_in_runs() -> None:
    inside = "<w:r><w:t>a</w:t><w:tab/><w:t>b</w:t><w:br/><w:t>c</w:t><w:noBreakHyphen/><w:t>d</w:t></w:r>"
    tab, line = [one for one in content(inside) if isinstance(one, Code)]

    assert (tab.shown, tab.breaks, line.breaks) == (" ", True, True)
    assert text_of(content(inside)) == "a b\nc\u2011d"
    assert body(in_upper_case(docx(paragraph(inside)))).count("<w:r>") == 1


def test_spaces_without_preserve_are_not_there() -> None:
    assert content("<w:r><w:t>\n  a\tb  </w:t></w:r>", run(" c")) == ("a b c",)


def test_codes_at_the_ends_are_left_out() -> None:
    bookmark = '<w:bookmarkStart w:id="1" w:name="x"/>'
    inside = bookmark + "<w:r><w:tab/></w:r>" + run(" One ", "<w:b/>") + '<w:bookmarkEnd w:id="1"/>'

    assert content(inside) == ("One",)
    assert body(edited(docx(paragraph(inside)), ("Eins",))) == paragraph(
        bookmark,
        "<w:r><w:tab/></w:r>",
        '<w:r><w:rPr><w:b/></w:rPr><w:t xml:space="preserve"> Eins </w:t></w:r>',
        '<w:bookmarkEnd w:id="1"/>',
    )


def test_a_bookmark_around_text_is_a_pair_and_others_are_not() -> None:
    around = '<w:bookmarkStart w:id="1" w:name="x"/>{}<w:bookmarkEnd w:id="1"/>'
    assert shown(content(run("a "), around.format(run("b")), run(" c"))) == "a [o1]b[c1] c"
    assert shown(content(run("a "), around.format(""), run(" c"))) == "a [e][e] c"
    crossing = (
        around.format(run("b") + '<w:bookmarkStart w:id="2" w:name="y"/>')
        + run("c")
        + '<w:bookmarkEnd w:id="2"/>'
    )
    assert shown(content(run("a "), crossing, run("d"))) == "a [e]b[o1][e]c[c1]d"


def test_a_note_keeps_its_own_run() -> None:
    note = '<w:r><w:rPr><w:vertAlign w:val="superscript"/></w:rPr><w:footnoteReference w:id="2"/></w:r>'
    data = docx(paragraph(run("word"), note, run(", more")))

    assert sources(data) == ["word[e], more"]
    assert note in body(in_upper_case(data))


def test_symbols_and_formulas_are_placeholders() -> None:
    symbol = '<w:r><w:sym w:font="Wingdings" w:char="F0E0"/></w:r>'
    formula = "<m:oMath><m:r><m:t>a+b</m:t></m:r></m:oMath>"

    assert shown(content(run("See "), symbol, run(" and "), formula, run("."))) == "See [p] and [p]."
    assert formula in body(in_upper_case(docx(paragraph(run("See "), formula, run(".")))))


def test_of_ruby_the_base_is_read() -> None:
    base = f"<w:rubyBase>{run('漢字')}</w:rubyBase>"
    ruby = f"<w:r><w:ruby><w:rt>{run('かんじ')}</w:rt>{base}</w:ruby></w:r>"

    assert content(ruby, run("です")) == ("漢字です",)


# Links, fields, changes, controls


@pytest.mark.parametrize(
    ("start", "end"),
    [
        ('<w:hyperlink r:id="rId5">', "</w:hyperlink>"),
        ('<w:ins w:id="1" w:author="Ann">', "</w:ins>"),
        ('<w:smartTag w:element="place"><w:smartTagPr><w:attr/></w:smartTagPr>', "</w:smartTag>"),
        ("<w:sdt><w:sdtPr><w:id/></w:sdtPr><w:sdtContent>", "</w:sdtContent></w:sdt>"),
        ('<w:fldSimple w:instr=" HYPERLINK &quot;x&quot; ">', "</w:fldSimple>"),
    ],
)
def test_elements_around_text_are_pairs(start: str, end: str) -> None:
    link = run("lin", '<w:rStyle w:val="Hyperlink"/>') + run("k", '<w:rStyle w:val="Hyperlink"/>')
    inside = [run("a "), start, link, end, run(" b")]

    assert shown(content(*inside)) == "a [o1]link[c1] b"
    assert codes(*inside) == [start, end]
    data = in_upper_case(docx(paragraph(*inside)))
    assert body(data) == paragraph(
        run("A "), start, run("LINK", '<w:rStyle w:val="Hyperlink"/>'), end, run(" B")
    )


def test_a_field_with_a_link_is_a_pair() -> None:
    link = field('HYPERLINK "http://example.org"', run("link", "<w:u/>"), "<w:rPr><w:i/></w:rPr>")

    assert shown(content(run("a "), link, run(" b"))) == "a [o1]link[c1] b"
    assert body(in_upper_case(docx(paragraph(run("a "), link, run(" b"))))) == paragraph(
        run("A "), link.replace(">link<", ">LINK<"), run(" B")
    )


@pytest.mark.parametrize(
    "code",
    [
        field("REF _Ref1 \\h", run("Figure 1")),
        field("IF", run("Figure 1") + field("PAGE", run("2"))),
        '<w:fldSimple w:instr=" PAGE ">' + run("Figure 1") + "</w:fldSimple>",
        "<w:sdt><w:sdtPr><w:date/></w:sdtPr><w:sdtContent>" + run("Figure 1") + "</w:sdtContent></w:sdt>",
    ],
)
def test_other_fields_are_placeholders(code: str) -> None:
    source = content(run("See "), code, run(" there."))

    assert shown(source) == "See [p] there."
    (placeholder,) = (one for one in source if isinstance(one, Code))
    assert placeholder.shown.startswith("Figure 1")
    assert code in body(in_upper_case(docx(paragraph(run("See "), code, run(" there.")))))


def test_a_field_without_a_result_has_no_place() -> None:
    assert shown(content(run("a"), field('XE "a"'), run("b"))) == "a[e]b"


def test_a_table_of_contents_crosses_paragraphs() -> None:
    begin, end = (
        '<w:r><w:fldChar w:fldCharType="begin"/></w:r>',
        '<w:r><w:fldChar w:fldCharType="end"/></w:r>',
    )
    separate = '<w:r><w:fldChar w:fldCharType="separate"/></w:r>'
    start = f"{begin}<w:r><w:instrText>TOC \\o</w:instrText></w:r>{separate}"

    def entry(text: str, page: str) -> str:
        reference = field("PAGEREF x", run(page))
        return f'<w:hyperlink w:anchor="x">{run(text)[:-6]}<w:tab/></w:r>{reference}</w:hyperlink>'

    data = docx(paragraph(start, entry("One", "1")) + paragraph(entry("Two", "2")) + paragraph(end))
    assert sources(data) == ["One", "Two"]
    assert shown(content(run("a"), start, run("b"))) == "a[e]b"
    assert body(in_upper_case(data)) == body(data).replace(">One<", ">ONE<").replace(">Two<", ">TWO<")


def test_a_field_that_ends_outside_of_its_link_is_not_joined() -> None:
    data = docx(
        paragraph(
            run("a"),
            '<w:hyperlink><w:r><w:fldChar w:fldCharType="begin"/></w:r>',
            run("b"),
            '</w:hyperlink><w:r><w:fldChar w:fldCharType="end"/></w:r>',
            run("c"),
        )
    )
    assert sources(data) == ["a[o1][e]b[c1][e]c"]
    assert body(in_upper_case(data)).count("<w:fldChar") == 2


def test_of_two_separators_the_first_counts() -> None:
    second = '<w:r><w:fldChar w:fldCharType="separate"/></w:r>'
    assert shown(content(run("a "), field("HYPERLINK x", run("b") + second + run("c")))) == "a [o1]b[e]c[c1]"


def test_deleted_text_stays_and_is_not_translated() -> None:
    deleted = '<w:del w:id="1"><w:r><w:delText>old </w:delText></w:r></w:del>'
    moved = f'<w:moveFrom w:id="2">{run("moved ")}</w:moveFrom>'
    data = docx(paragraph(run("a "), deleted, run("b "), moved, run("c")))

    assert sources(data) == ["a [e]b [e]c"]
    assert deleted in body(in_upper_case(data))
    assert sources(docx(paragraph(f"<w:del><w:r>{box(paragraph(run('a')))}</w:r></w:del>"))) == []
    assert moved in body(in_upper_case(data))


# Text boxes


def test_the_paragraphs_of_a_text_box_are_segments() -> None:
    data = docx(
        paragraph(run("a "), f"<w:r>{box(paragraph(run('in')), paragraph(run('side')))}</w:r>", run(" b"))
    )

    assert sources(data) == ["a [e] b", "in", "side"]
    outer, *_ = (segment.source for segment in parse(data, ENGLISH_GERMAN).segments)
    assert plain(edited(data, upper(outer), ("drin",), ("seite",))) == "A drinseite B"
    assert plain(edited(data, None, ("drin",), None)) == "a drinside b"
    assert plain(edited(data, upper(outer), None, None)) == "A inside B"


def test_equal_text_boxes_keep_their_own_translations() -> None:
    one = f"<w:r>{box(paragraph(run('same')))}</w:r>"
    data = docx(paragraph(run("a "), one, run(" b "), one, run(" c")))
    outer, *_ = (segment.source for segment in parse(data, ENGLISH_GERMAN).segments)

    assert plain(edited(data, upper(outer), ("x",), ("y",))) == "A x B y C"
    assert plain(edited(data, upper(outer), None, ("y",))) == "A same B y C"


def test_text_boxes_in_a_field_are_segments() -> None:
    one = f"<w:r>{box(paragraph(run('same')))}</w:r>"
    data = docx(paragraph(run("a "), field("REF x", run("r") + one + one), run(" b")))

    assert sources(data) == ["a [p] b", "same", "same"]
    outer, *_ = (segment.source for segment in parse(data, ENGLISH_GERMAN).segments)
    assert plain(edited(data, upper(outer), ("x",), ("y",))) == "A rxy B"
    assert plain(edited(data, upper(outer), None, ("y",))) == "A rsamey B"


def test_text_boxes_nest() -> None:
    inner = f"<w:r>{box(paragraph(run('c')))}</w:r>"
    outer = f"<w:r>{box(paragraph(run('b'), inner, run('d')))}</w:r>"
    data = docx(paragraph(run("a"), outer, run("e")))

    assert sources(data) == ["a[e]e", "b[e]d", "c"]
    assert plain(in_upper_case(data)) == "ABCDE"


@pytest.mark.parametrize("old", ["in", "other"])
def test_the_version_for_old_programs_says_the_same(old: str) -> None:
    drawing = (
        f'<mc:AlternateContent><mc:Choice Requires="wps">{box(paragraph(run("in")))}</mc:Choice>'
        f"<mc:Fallback><w:pict><w:txbxContent>{paragraph(run(old))}</w:txbxContent></w:pict></mc:Fallback>"
        "</mc:AlternateContent>"
    )
    data = docx(paragraph(run("a "), f"<w:r>{drawing}</w:r>", run(" b")))

    assert sources(data) == ["a [e] b", "in"]
    assert plain(in_upper_case(data)) == ("A ININ B" if old == "in" else "A INother B")
    assert plain(edited(data, None, ("x",))) == ("a xx b" if old == "in" else "a xother b")


# Languages


def test_a_translated_document_states_its_language() -> None:
    styles = word_xml(
        '<w:docDefaults><w:rPr><w:lang w:val="fr-FR" w:eastAsia="zh-CN"/></w:rPr></w:docDefaults>'
        '<w:style><w:rPr><w:lang w:val="en-GB"/></w:rPr></w:style>'
        '<w:style><w:rPr><w:lang w:val="es"/></w:rPr></w:style>',
        "w:styles",
    )
    data = docx(paragraph(run("a")), {"word/styles.xml": styles})

    new = unpacked(edited(data, ("b",)), "word/styles.xml")
    assert new == styles.replace('"fr-FR"', '"de"').replace('"en-GB"', '"de"')
    assert edited(data, ("a",)) == data
    japanese = parse(data, Languages("en", "ja-JP")).render([Result(("b",))])
    assert unpacked(japanese, "word/styles.xml") == styles.replace('"zh-CN"', '"ja-JP"')


# All files


STYLES = st.sampled_from(["", "<w:b/>", "<w:i/>", "<w:b/><w:lang w:val='en-GB'/>", "<w:lang w:val='en-GB'/>"])
WORDS = st.text("ab &<é\u00a0𝄞", max_size=4).map(escape)
INNER = st.sampled_from(["<w:tab/>", "<w:br/>", '<w:footnoteReference w:id="2"/>', '<w:sym w:char="1"/>'])


@st.composite
def runs(draw: st.DrawFn) -> str:
    parts = draw(
        st.lists(
            WORDS.map(lambda text: f'<w:t xml:space="preserve">{text}</w:t>') | INNER, min_size=1, max_size=3
        )
    )
    style = draw(STYLES)
    return "<w:r>" + (style and f"<w:rPr>{style}</w:rPr>") + "".join(parts) + "</w:r>"


def around(inside: st.SearchStrategy[list[str]]) -> st.SearchStrategy[list[str]]:
    text = inside.map("".join)
    number = st.integers(1, 3)
    return st.lists(
        runs()
        | text.map(lambda one: f'<w:hyperlink r:id="rId1">{one}</w:hyperlink>')
        | text.map(lambda one: f'<w:ins w:id="1">{one}</w:ins>')
        | text.map(lambda one: field("HYPERLINK x", one))
        | text.map(lambda one: field("REF x", one))
        | text.map(lambda one: f"<w:r>{box(paragraph(one), paragraph(run('box')))}</w:r>")
        | number.map(lambda one: f'<w:bookmarkStart w:id="{one}" w:name="x"/>')
        | number.map(lambda one: f'<w:bookmarkEnd w:id="{one}"/>')
        | st.sampled_from(["begin", "separate", "end"]).map(
            lambda kind: f'<w:r><w:fldChar w:fldCharType="{kind}"/></w:r>'
        )
        | st.just("<w:del><w:r><w:delText>x</w:delText></w:r></w:del><w:proofErr/>"),
        max_size=5,
    )


PARAGRAPHS = st.recursive(st.lists(runs(), max_size=4), around, max_leaves=12).map("".join)
DOCUMENTS = st.lists(PARAGRAPHS.map(paragraph), max_size=3).map("".join).map(docx)


@pytest.mark.thorough
@settings(max_examples=100)
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
        kept = ("tab", "br", "footnoteReference", "sym", "delText", "instrText", "fldChar")
        return Counter(kind for kind, _, _ in letters(file) if kind in kept)

    assert set(others(new)) <= set(others(data))
    assert others(new)["footnoteReference"] == others(data)["footnoteReference"]
    assert others(new)["delText"] == others(data)["delText"]


def test_deep_alternatives_are_left_alone() -> None:
    deep = "<mc:AlternateContent><mc:Fallback>" * 400 + "</mc:Fallback></mc:AlternateContent>" * 400
    data = docx(deep + paragraph(run("a")))
    assert in_upper_case(data) != data


def test_too_many_tags_are_refused() -> None:
    """In all members together, however small the file is."""
    notes = {"word/footnotes.xml": word_xml("<w:p/>" * 50, "w:footnotes")}
    with at_most_tags(100):
        in_upper_case(docx(paragraph(run("a")) * 5, notes))  # which reads some members again
        with pytest.raises(DataError, match=r"word/footnotes.xml, more than 100 tags in the file") as error:
            parse(docx("<w:p/>" * 50, notes), ENGLISH_GERMAN)
    assert error.value.hint == "divide it"


def test_descriptions_of_pictures_inside_a_paragraph() -> None:
    picture = '<w:r><w:drawing><d:docPr xmlns:d="d" id="1" name="A" descr="{}"/></w:drawing></w:r>'
    words = '<w:r><w:t xml:space="preserve">{}</w:t></w:r>'
    data = docx(f"<w:p>{words.format('One ')}{picture.format('A map')}{words.format('boat')}</w:p>")
    assert sources(data) == ["One [e]boat", "A map"]
    assert [one.where for one in parse(data, ENGLISH_GERMAN).segments] == ["paragraph 1"] * 2
    new = unpacked(in_upper_case(data), "word/document.xml")
    assert 'descr="A MAP"' in new
    assert "ONE " in new


def test_the_result_of_a_field_is_the_context_of_others() -> None:
    text = content(run("See page "), field("PAGEREF x", run("3")), run(" of it."))
    assert text_of(text) == "See page 3 of it."
