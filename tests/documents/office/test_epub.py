"""EPUB: chapters, contents and properties, and what another program reads."""

from __future__ import annotations

import io
from xml.etree import ElementTree

import pytest

from dragoman.base.errors import DataError
from dragoman.documents.formats import Languages
from dragoman.documents.office.epub import parse
from dragoman.documents.segment import Result
from tests.documents.office.office_files import (
    ENGLISH_GERMAN,
    at_most_tags,
    epub,
    packed,
    shown,
    unpacked,
    upper,
)

NCX = (
    '<?xml version="1.0"?>\n<!DOCTYPE ncx PUBLIC "-//NISO//DTD ncx 2005-1//EN" "ncx-2005-1.dtd">\n'
    '<ncx xmlns="http://www.daisy.org/z3986/2005/ncx/" xml:lang="{}"><docTitle><text>{}</text></docTitle>\n'
    '<navMap><navPoint id="n1"><navLabel><text>{}</text></navLabel><content src="c.xhtml"/></navPoint>'
    "</navMap>\n<pageList><pageTarget><navLabel><text>iv</text></navLabel></pageTarget></pageList></ncx>"
)
ITEM = '<item id="n" href="toc.ncx" media-type="application/x-dtbncx+xml"/>'


def sources(data: bytes) -> list[str]:
    return [shown(segment.source) for segment in parse(data, ENGLISH_GERMAN).segments]


def in_upper_case(data: bytes, languages: Languages = ENGLISH_GERMAN) -> bytes:
    document = parse(data, languages)
    return document.render([Result(upper(segment.source)) for segment in document.segments])


def chapter(data: bytes) -> str:
    return unpacked(data, "book/one two.xhtml")


def test_chapters_come_in_the_order_of_the_spine_then_the_contents() -> None:
    page = "<html xmlns='http://www.w3.org/1999/xhtml'><body><p>{}</p></body></html>"
    data = epub(
        "<p>The first</p>",
        "<dc:title>Boats</dc:title><dc:creator>Ann</dc:creator><dc:description>A story</dc:description>",
        '<item id="v" href="nav.xhtml" media-type="application/xhtml+xml" properties="nav"/>'
        + ITEM
        + '<item id="x" href="http://example.org/x.xhtml" media-type="application/xhtml+xml"/>',
        {"book/nav.xhtml": page.format("The first"), "book/toc.ncx": NCX.format("en", "Boats", "The first")},
    )
    assert [(one.where, one.source[0]) for one in parse(data, ENGLISH_GERMAN).segments] == [
        ("b.opf, line 2", "Boats"),
        ("b.opf, line 2", "A story"),
        ("one two.xhtml, line 3", "The first"),
        ("nav.xhtml, line 1", "The first"),
        ("toc.ncx, line 3", "Boats"),
        ("toc.ncx, line 4", "The first"),
    ]
    new = in_upper_case(data)
    assert unpacked(new, "book/toc.ncx") == NCX.format("de", "BOATS", "THE FIRST")
    assert "<dc:creator>Ann</dc:creator>" in unpacked(new, "book/b.opf")


def test_a_chapter_stays_well_formed() -> None:
    data = epub("<p>The <b>old</b> boat<br/>leaves.</p><img alt='A map'/><p>]]&gt; here</p>")
    document = parse(data, ENGLISH_GERMAN)
    assert [shown(one.source) for one in document.segments] == [
        *("The [o1]old[c1] boat[e]leaves.", "A map", "]]> here"),
    ]
    hostile = "<b> & ]]> \x01\ud800 \" ' &nbsp; <br> \u00a0"
    source = document.segments[0].source
    new = document.render([Result((hostile, *source[1:])), Result((hostile,)), Result((hostile,))])
    root = ElementTree.fromstring(chapter(new))
    plain = hostile.replace("\x01\ud800", "")
    first, image, last = root
    assert first.text == plain
    assert [one.tag.rpartition("}")[2] for one in first] == ["b", "br"]
    assert (image.get("alt"), last.text) == (plain, plain)
    crossed = document.render([Result((*source[::-1],)), None, None])
    assert [one.tag.rpartition("}")[2] for one in ElementTree.fromstring(chapter(crossed))[0]] == ["br", "b"]


def test_a_chapter_that_is_not_well_formed_is_read_as_browsers_do() -> None:
    data = epub("<p>One <ann@example.org> &nbsp;&boat<p>Two<br>more</p>")
    assert sources(data) == ["One [e]\xa0&boat", "Two[e]more"]
    assert parse(data, ENGLISH_GERMAN).render([None, None]) == data
    assert "<p>ONE <ann@example.org>&nbsp;&amp;BOAT<p>TWO<br>MORE</p>" in chapter(in_upper_case(data))


def test_named_characters_stay_where_the_document_type_has_them() -> None:
    page = (
        '<!DOCTYPE html PUBLIC "-//W3C//DTD XHTML 1.1//EN" "http://www.w3.org/TR/xhtml11/DTD/xhtml11.dtd">'
        "<html><body><p>One&nbsp;boat &eacute;</p></body></html>"
    )
    data = epub("", parts={"book/one two.xhtml": page})
    assert sources(data) == ["One\u00a0boat \u00e9"]
    assert "<p>ONE&nbsp;BOAT \u00c9</p>" in chapter(in_upper_case(data))


def test_the_book_names_its_language() -> None:
    metadata = '<dc:title xml:lang="{0}">Boats</dc:title><dc:language>{0}</dc:language>'
    metadata += "<dc:language>fr</dc:language>"
    data = epub("<p>One</p>", metadata.format("en-GB"))
    new = in_upper_case(data, Languages("en", "pt-BR"))

    assert metadata.format("pt-BR").replace("Boats", "BOATS") in unpacked(new, "book/b.opf")
    assert 'lang="pt-BR"' in chapter(new)


def test_numbers_of_pages_drawings_and_code_stay() -> None:
    stay = (
        '<nav epub:type="page-list"><ol><li><a href="#p4">iv</a></li></ol></nav><svg><text>Sea</text></svg>'
        '<ul role="doc-pagelist"><li>v</li></ul><pre>x = one</pre>'
    )
    data = epub(f'{stay}<p>One<span epub:type="pagebreak" title="iv"/> boat</p>')
    assert sources(data) == ["One[p] boat"]
    assert stay in chapter(in_upper_case(data))


def test_encrypted_fonts_are_fine() -> None:
    method = '<e><EncryptionMethod Algorithm="{}"/><CipherReference URI="f.otf"/></e>'
    name = "META-INF/encryption.xml"
    for known in ("http://www.idpf.org/2008/embedding", "http://ns.adobe.com/pdf/enc#RC"):
        assert sources(epub("<p>One</p>", parts={name: method.format(known)})) == ["One"]
    with pytest.raises(DataError, match="encrypted") as error:
        parse(
            epub("", parts={name: method.format("http://www.w3.org/2001/04/xmlenc#aes256-cbc")}),
            ENGLISH_GERMAN,
        )
    assert "DRM" in str(error.value.hint)


def test_the_mimetype_stays_first_and_stored() -> None:
    data = epub("<p>One</p>")
    assert in_upper_case(data)[:58] == data[:58]
    assert data[30:58] == b"mimetypeapplication/epub+zip"


def test_a_description_with_elements_stays() -> None:
    assert sources(
        epub("", "<dc:description><p>One</p></dc:description><dc:title><![CDATA[A]]></dc:title>")
    ) == ["A"]


def test_a_missing_book_or_chapter() -> None:
    container = '<c><rootfile full-path="a.opf" media-type="application/oebps-package+xml"/></c>'
    with pytest.raises(DataError, match=r"a\.opf is missing"):
        parse(packed({"META-INF/container.xml": container}), ENGLISH_GERMAN)
    assert sources(epub("<p>One</p>", manifest='<item id="m" media-type="application/xhtml+xml"/>')) == [
        "One"
    ]


@pytest.mark.thorough
def test_ebooklib_reads_a_translation() -> None:
    library = pytest.importorskip("ebooklib.epub")
    book = library.EpubBook()
    book.set_identifier("id")
    book.set_title("The old harbour")
    book.set_language("en")
    chapters = [library.EpubHtml(title=f"Part {n}", file_name=f"{n}.xhtml", lang="en") for n in ("a", "b")]
    for one in chapters:
        one.content = f"<h1>{one.title}</h1><p>The <i>old</i> boat &amp; the sea.</p>"
        book.add_item(one)
    book.toc = [library.Link(one.file_name, one.title, one.title) for one in chapters]
    book.add_item(library.EpubNcx())
    book.add_item(library.EpubNav())
    book.spine = ["nav", *chapters]
    file = io.BytesIO()
    library.write_epub(file, book)
    data = file.getvalue()

    document = parse(data, ENGLISH_GERMAN)
    assert document.render([Result(one.source) for one in document.segments]) == data
    new = library.read_epub(io.BytesIO(in_upper_case(data)), {"ignore_ncx": False})
    assert new.title == "THE OLD HARBOUR"
    assert new.get_metadata("DC", "language")[-1][0] == "de"
    assert [one.title for one in new.toc] == ["PART A", "PART B"]
    texts = [
        " ".join("".join(ElementTree.fromstring(one.content).itertext()).split())
        for one in new.get_items()
        if one.file_name.endswith("xhtml")
    ]
    assert texts[:2] == [f"PART {n} PART {n} THE OLD BOAT & THE SEA." for n in "AB"]


def test_chapters_of_too_many_tags_are_refused() -> None:
    with at_most_tags(100):
        in_upper_case(epub("<p>One</p>" * 10))
        with pytest.raises(DataError, match="two.xhtml, more than 100 tags in the file"):
            parse(epub("<br/>" * 100), ENGLISH_GERMAN)
