"""Documents that LibreOffice wrote, translated, and read by LibreOffice again."""

from __future__ import annotations

import io
import shutil
import subprocess
from collections import Counter
from pathlib import Path
from xml.etree import ElementTree

import pytest

from dragoman.documents.formats import FORMATS
from dragoman.documents.segment import Result, text_of
from tests.documents.office.office_files import DRAW, ENGLISH_GERMAN, FO, OFFICE, STYLE, TEXT, XLINK, upper

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(shutil.which("soffice") is None, reason="needs LibreOffice"),
]
PIXEL = (  # a red one
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR4nGP4z8DwHwAFAAH/iZk9HQAAAABJRU5ErkJggg=="
)
DOCUMENT = f"""<?xml version="1.0" encoding="UTF-8"?>
<office:document xmlns:office="{OFFICE}" xmlns:style="{STYLE}" xmlns:text="{TEXT}" xmlns:draw="{DRAW}"
 xmlns:fo="{FO}" xmlns:xlink="{XLINK}" xmlns:dc="http://purl.org/dc/elements/1.1/"
 xmlns:table="urn:oasis:names:tc:opendocument:xmlns:table:1.0"
 xmlns:svg="urn:oasis:names:tc:opendocument:xmlns:svg-compatible:1.0"
 office:version="1.3" office:mimetype="application/vnd.oasis.opendocument.text">
<office:meta><dc:title>The old mill</dc:title></office:meta>
<office:styles>
<style:default-style style:family="paragraph"><style:text-properties fo:language="en" fo:country="GB"/>
</style:default-style>
<style:style style:name="Strong" style:family="text">
<style:text-properties fo:font-weight="bold"/></style:style>
</office:styles>
<office:automatic-styles>
<style:page-layout style:name="pm1">
<style:page-layout-properties fo:page-width="21cm" fo:page-height="29.7cm"/>
<style:header-style/><style:footer-style/></style:page-layout>
<style:style style:name="T1" style:family="text"><style:text-properties fo:font-weight="bold"/></style:style>
<style:style style:name="T2" style:family="text"><style:text-properties fo:font-style="italic"/></style:style>
<style:style style:name="T3" style:family="text"><style:text-properties fo:color="#cc0000"
 style:text-underline-style="solid" style:text-underline-width="auto"/></style:style>
<style:style style:name="T4" style:family="text"><style:text-properties fo:language="fr"/></style:style>
<text:list-style style:name="L1"><text:list-level-style-bullet text:level="1" text:bullet-char="•"/>
</text:list-style>
</office:automatic-styles>
<office:master-styles><style:master-page style:name="Standard" style:page-layout-name="pm1">
<style:header>
<text:p>Stories of the <text:span text:style-name="T2">valley</text:span></text:p></style:header>
<style:footer>
<text:p>Page <text:page-number>1</text:page-number> of <text:page-count>1</text:page-count></text:p>
</style:footer></style:master-page></office:master-styles>
<office:body><office:text>
<text:tracked-changes><text:changed-region text:id="c1"><text:insertion><office:change-info>
<dc:creator>Ann</dc:creator><dc:date>2024-01-01T00:00:00</dc:date></office:change-info></text:insertion>
</text:changed-region><text:changed-region text:id="c2"><text:deletion><office:change-info>
<dc:creator>Ann</dc:creator><dc:date>2024-01-01T00:00:00</dc:date></office:change-info>
<text:p>1234 </text:p></text:deletion></text:changed-region></text:tracked-changes>
<text:h text:outline-level="1"><text:bookmark-start text:name="mill"/>A mill<text:bookmark-end
 text:name="mill"/></text:h>
<text:p>The mill <text:span text:style-name="T1">stands</text:span> by the <text:span
 text:style-name="T2">quiet river</text:span>, and nobody<text:note text:note-class="footnote">
<text:note-citation>1</text:note-citation><text:note-body><text:p>Except a <text:span
 text:style-name="T1">cat</text:span>.</text:p></text:note-body></text:note> lives there. See <text:a
 xlink:type="simple" xlink:href="http://example.org/mill">the page of the mill</text:a> for more.</text:p>
<text:p>Name:<text:tab/>Anna<text:line-break/>Town:<text:tab/>Bath <text:s text:c="3"/>west</text:p>
<text:p>It was <text:change-start text:change-id="c1"/>very <text:change-end text:change-id="c1"/>old and
<text:change text:change-id="c2"/>noisy. A <text:span text:style-name="T3">red <text:span
 text:style-name="T1">bold</text:span> word</text:span> &amp; a &lt;tag&gt;.</text:p>
<text:p>In <text:span text:style-name="T4">chapter</text:span> <text:bookmark-ref
 text:reference-format="page" text:ref-name="mill">1</text:bookmark-ref> we <text:bookmark-start
 text:name="b2"/>read<text:bookmark-end text:name="b2"/> more<office:annotation office:name="a1">
<dc:creator>Bob</dc:creator><dc:date>2024-01-01T00:00:00</dc:date><text:p>A COMMENT</text:p>
</office:annotation>
 of it.</text:p>
<text:list text:style-name="L1"><text:list-item><text:p>One apple</text:p></text:list-item><text:list-item>
<text:p>Two <text:span text:style-name="Strong">ripe</text:span> pears</text:p></text:list-item></text:list>
<table:table table:name="T"><table:table-column table:number-columns-repeated="2"/><table:table-row>
<table:table-cell><text:p>Cell one</text:p></table:table-cell><table:table-cell><text:p>Cell <text:span
 text:style-name="T1">two</text:span></text:p></table:table-cell></table:table-row></table:table>
<text:p>Before the picture <draw:frame
 text:anchor-type="as-char" svg:width="1cm" svg:height="1cm"><draw:image>
<office:binary-data>{PIXEL}</office:binary-data></draw:image></draw:frame> and after it.</text:p>
<text:p>This <draw:frame text:anchor-type="char" svg:width="5cm"><draw:text-box><text:p>A <text:span
 text:style-name="T1">box</text:span> of text</text:p><text:p>with two lines</text:p></draw:text-box>
</draw:frame>paragraph has a box.</text:p>
</office:text></office:body></office:document>"""
COUNTED = {
    *(
        "a",
        "note",
        "bookmark",
        "bookmark-start",
        "bookmark-ref",
        "page-number",
        "page-count",
        "frame",
        "image",
    ),
    *("annotation", "table-cell", "list-item", "h", "p", "tab", "line-break", "s", "change", "change-start"),
    *("changed-region", "text-box"),
}
LOOKS = ("font-weight", "font-style", "color", "text-underline-style")


def converted(source: Path, kind: str, folder: Path) -> Path:
    """A file as LibreOffice writes it in another format."""
    profile = f"-env:UserInstallation={folder.parent.as_uri()}/profile"
    subprocess.run(
        ["soffice", "--headless", profile, "--convert-to", kind, "--outdir", str(folder), str(source)],
        check=True,
        capture_output=True,
        timeout=300,
    )
    return folder / f"{source.stem}.{kind.partition(':')[0]}"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("office") / "original"
    folder.mkdir()
    (folder / "mill.fodt").write_text(DOCUMENT, encoding="utf-8")
    return folder


def features(file: Path) -> Counter[tuple[str, ...]]:
    """How often a flat file has each feature, and in which looks its letters are, all in capitals."""
    root = ElementTree.parse(file).getroot()
    looks = {}
    for style in root.iter(f"{{{STYLE}}}style"):
        found = [
            f"{name.rpartition('}')[2]} {value}"
            for properties in style.iter(f"{{{STYLE}}}text-properties")
            for name, value in sorted(properties.attrib.items())
            if name.rpartition("}")[2] in LOOKS
        ]
        looks[style.get(f"{{{STYLE}}}name")] = " ".join(found)
    counts: Counter[tuple[str, ...]] = Counter()
    for element in root.iter():
        name = element.tag.rpartition("}")[2]
        if name in COUNTED:
            counts[name, element.get(f"{{{XLINK}}}href", "")] += 1
        elif name == "span" and looks.get(element.get(f"{{{TEXT}}}style-name")):
            text = "".join(element.itertext()).upper()
            counts[text.strip(), looks[element.get(f"{{{TEXT}}}style-name")]] += 1
    return counts


@pytest.mark.thorough
@pytest.mark.parametrize("name", ["docx", "odt"])
def test_libreoffice_reads_a_translated_document(name: str, folder: Path) -> None:
    original = converted(folder / "mill.fodt", name, folder)
    data = original.read_bytes()
    document = FORMATS[name].parse(data, ENGLISH_GERMAN)
    sources = [segment.source for segment in document.segments]
    assert document.render([None] * len(sources)) == data
    assert document.render([Result(source) for source in sources]) == data
    assert len(sources) == 17
    assert "Except a cat." in map(text_of, sources)

    new = folder.parent / f"new-{name}" / original.name
    new.parent.mkdir()
    new.write_bytes(document.render([Result(upper(source)) for source in sources]))
    assert converted(new, "pdf", new.parent).read_bytes().startswith(b"%PDF")
    texts = [
        converted(one, "txt:Text", one.parent).read_text(encoding="utf-8-sig") for one in (original, new)
    ]
    assert texts[1] == texts[0].upper()
    assert "QUIET RIVER" in texts[1]
    flat = [
        converted(one, "fodt", one.parent.parent / f"flat-{one.parent.name}-{name}")
        for one in (original, new)
    ]
    assert features(flat[1]) == features(flat[0])
    assert features(flat[1])["STANDS", "font-weight bold"] == 1


def made(kind: str) -> bytes:
    """A presentation or workbook of other programs."""
    file = io.BytesIO()
    if kind == "pptx":
        deck = pytest.importorskip("pptx").Presentation()
        slide = deck.slides.add_slide(deck.slide_layouts[1])
        slide.shapes.title.text, slide.placeholders[1].text_frame.text = "The old mill", "Boats & nets"
        slide.notes_slide.notes_text_frame.text = "Say hello."
        cells = slide.shapes.add_table(1, 2, 0, 0, 9_000_000, 9_000_000).table
        cells.cell(0, 0).text, cells.cell(0, 1).text = "Name", "12.5"
        deck.save(file)
    else:
        book = pytest.importorskip("openpyxl").Workbook()
        sheet = book.active
        sheet.append(["Name of boat", "State", 12.5])
        sheet.append(["The swift", "Open", '=IF(B2="Open","good","bad")'])
        sheet.append(["Two\nlines", "PN-12", True])
        book.save(file)
    return file.getvalue()


@pytest.mark.parametrize("name", ["pptx", "odp", "xlsx", "ods"])
def test_libreoffice_shows_translated_slides_and_cells(name: str, folder: Path) -> None:
    office = {"odp": "pptx", "ods": "xlsx"}.get(name, name)
    original = folder / f"made-{name}.{office}"
    original.write_bytes(made(office))
    if office != name:
        original = converted(original, name, folder)
    document = FORMATS[name].parse(original.read_bytes(), ENGLISH_GERMAN)
    new = folder.parent / f"made-{name}-de" / original.name
    new.parent.mkdir()
    new.write_bytes(document.render([Result(upper(one.source)) for one in document.segments]))

    assert converted(new, "pdf", new.parent).read_bytes().startswith(b"%PDF")
    flat = "fodp" if office == "pptx" else "fods"
    before, after = (paragraphs(converted(one, flat, one.parent)) for one in (original, new))
    stays = {"Open", "good", "PN-12", "<number>"}
    assert after == [one if one in stays else one.upper() for one in before]
    seen = {"pptx": {"BOATS & NETS", "SAY HELLO.", "12.5"}, "xlsx": {"Open", "good", "TRUE", "LINES"}}
    assert seen[office] <= set(after)


def paragraphs(flat: Path) -> list[str]:
    """The paragraphs that a reader sees, also results of formulas."""
    [body] = ElementTree.parse(flat).getroot().iter(f"{{{OFFICE}}}body")
    return ["".join(one.itertext()) for one in body.iter(f"{{{TEXT}}}p")]
