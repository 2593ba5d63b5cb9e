"""PowerPoint: what is a segment, what an edit changes, and what another program reads."""

from __future__ import annotations

import io
from typing import Any

import pytest

from dragoman.base.errors import DataError
from dragoman.documents.formats import Languages
from dragoman.documents.office.pptx import parse
from dragoman.documents.segment import Result
from tests.documents.office.office_files import (
    DIAGRAM,
    ENGLISH_GERMAN,
    MC,
    A,
    C,
    P,
    office,
    pptx,
    shown,
    slide_xml,
    unpacked,
    upper,
)


def shape(text: str, placeholder: str = "", name: str = "") -> str:
    properties = f"<p:nvPr>{placeholder}</p:nvPr>"
    body = f"<p:txBody><a:bodyPr/><a:p><a:r><a:t>{text}</a:t></a:r></a:p></p:txBody>"
    return f'<p:sp><p:nvSpPr><p:cNvPr id="2"{name}/>{properties}</p:nvSpPr>{body}</p:sp>'


def sources(data: bytes) -> list[str]:
    return [shown(segment.source) for segment in parse(data, ENGLISH_GERMAN).segments]


def in_upper_case(data: bytes, languages: Languages = ENGLISH_GERMAN) -> bytes:
    document = parse(data, languages)
    return document.render([Result(upper(segment.source)) for segment in document.segments])


def test_runs_of_one_style_are_one_text_and_state_the_language() -> None:
    data = pptx(
        '<a:p><a:pPr lvl="1"/><a:r><a:rPr lang="en-US" dirty="0"/><a:t>Some </a:t></a:r>'
        '<a:r><a:rPr lang="en-GB" b="1"><a:ln/></a:rPr><a:t>bold</a:t></a:r>'
        '<a:r><a:t> words</a:t></a:r><a:endParaRPr lang="en-US"/></a:p>'
    )
    assert sources(data) == ["Some [o1]bold[c1] words"]
    assert (
        '<a:p><a:pPr lvl="1"/><a:r><a:rPr lang="de"/><a:t>SOME </a:t></a:r>'
        '<a:r><a:rPr lang="de" b="1"><a:ln/></a:rPr><a:t>BOLD</a:t></a:r>'
        '<a:r><a:rPr lang="de"/><a:t> WORDS</a:t></a:r><a:endParaRPr lang="en-US"/></a:p>'
    ) in unpacked(in_upper_case(data), "ppt/slides/slide1.xml")


def test_a_line_break_inside_a_run() -> None:
    data = pptx("<a:p><a:r><a:t>One_x000B_two</a:t></a:r></a:p>")
    assert sources(data) == ["One\ntwo"]
    assert "<a:t>ONE_x000B_TWO</a:t>" in unpacked(in_upper_case(data), "ppt/slides/slide1.xml")


def test_slides_come_in_their_order_then_notes_charts_and_diagrams() -> None:
    slide, text = "officedocument.presentationml.slide", "<a:p><a:r><a:t>{}</a:t></a:r></a:p>"
    cache = "<c:cat><c:strRef><c:strCache><c:pt><c:v>East</c:v></c:pt></c:strCache></c:strRef></c:cat>"
    title = f"<c:rich>{text.format('Sales')}</c:rich>{cache}"
    data = pptx(
        shape("One"),
        {
            "ppt/slides/slide10.xml": slide_xml(shape("Ten")),
            "ppt/slides/slide2.xml": slide_xml(shape("Two")),
            "ppt/notesSlides/n1.xml": slide_xml(shape("Say it"), "p:notes"),
            "ppt/charts/chart1.xml": f'<c:chart xmlns:c="{C}" xmlns:a="{A}">{title}</c:chart>',
            "ppt/diagrams/data1.xml": f'<d:t xmlns:d="{DIAGRAM}" xmlns:a="{A}">{text.format("Step")}</d:t>',
            "ppt/comments/c1.xml": slide_xml(shape("A comment"), "p:cmLst"),
        },
        {
            "ppt/slides/slide10.xml": slide,
            "ppt/slides/slide2.xml": slide,
            "ppt/notesSlides/n1.xml": "officedocument.presentationml.notesSlide",
            "ppt/charts/chart1.xml": "officedocument.drawingml.chart",
            "ppt/diagrams/data1.xml": "officedocument.drawingml.diagramData",
            "ppt/comments/c1.xml": "officedocument.presentationml.comments",
        },
    )
    assert sources(data) == ["One", "Two", "Ten", "Say it", "Sales", "Step"]
    assert cache in unpacked(in_upper_case(data), "ppt/charts/chart1.xml")


def test_masters_show_only_what_is_no_prompt() -> None:
    prompt = shape("Click to edit the title", '<p:ph type="title"/>')
    layout = {"ppt/slideLayouts/l1.xml": slide_xml(prompt + shape("Confidential"), "p:sldLayout")}
    kind = {"ppt/slideLayouts/l1.xml": "officedocument.presentationml.slideLayout"}

    assert sources(pptx(shape("Hello", '<p:ph type="title"/>'), layout, kind)) == ["Hello", "Confidential"]


def test_descriptions_of_pictures_are_translated_but_no_names_of_files() -> None:
    data = pptx(
        shape("One", name=' descr=\'A "big" map&#10;of it\' title="m.png"')
        + shape("Two", name=' name="Box 2" descr="C:\\pictures\\a map.jpeg"')
    )
    assert sources(data) == ['A "big" map\nof it', "One", "Two"]
    new = parse(data, ENGLISH_GERMAN).render([Result(("'<&>\"\x01\n.a",)), None, None])
    assert "descr='&apos;&lt;&amp;&gt;&quot;&#10;.a'" in unpacked(new, "ppt/slides/slide1.xml")
    assert sources(new) == ["'<&>\"\n.a", "One", "Two"]


def test_both_versions_of_a_drawing_change() -> None:
    box = "<{0}:x xmlns:{0}='x'>" + shape("Newer") + "</{0}:x>"
    data = pptx(
        f'<mc:AlternateContent xmlns:mc="{MC}"><mc:Choice>{box.format("a14")}</mc:Choice>'
        f"<mc:Fallback>{box.format('b')}</mc:Fallback></mc:AlternateContent>"
    )
    assert sources(data) == ["Newer"]
    assert unpacked(in_upper_case(data), "ppt/slides/slide1.xml").count("NEWER") == 2


def test_the_presentation_names_the_language() -> None:
    main = f'<p:presentation xmlns:p="{P}" xmlns:a="{A}"><a:defRPr lang="{{}}" sz="1"/></p:presentation>'
    for before, after in (("en-GB", "pt-BR"), ("fr", "fr")):
        data = pptx(shape("One"), {"ppt/presentation.xml": main.format(before)})
        new = in_upper_case(data, Languages("en", "pt-BR"))
        assert unpacked(new, "ppt/presentation.xml") == main.format(after)


@pytest.mark.parametrize(
    "kind",
    [
        *("presentationml.template", "presentationml.slideshow", "ms-powerpoint.presentation.macroEnabled"),
        "ms-powerpoint.slideshow.macroEnabled",
    ],
)
def test_templates_shows_and_macros_are_presentations(kind: str) -> None:
    kind = f"officedocument.{kind}" if kind.startswith("presentation") else kind
    slide = {"s.xml": "officedocument.presentationml.slide"}
    data = office({"p.xml": "<p/>", "s.xml": slide_xml(shape("One"))}, {"p.xml": f"{kind}.main", **slide})
    assert sources(data) == ["One"]


def test_a_signed_file_is_refused() -> None:
    with pytest.raises(DataError, match="digital signature") as error:
        parse(pptx("", {"_xmlsignatures/sig1.xml": "<a/>"}), ENGLISH_GERMAN)
    assert "remove the signature" in str(error.value.hint)
    parse(pptx("", {"_xmlsignatures/origin.sigs": ""}), ENGLISH_GERMAN)


@pytest.mark.thorough
def test_python_pptx_reads_a_translation() -> None:
    library = pytest.importorskip("pptx")
    from pptx.chart.data import CategoryChartData
    from pptx.enum.chart import XL_CHART_TYPE

    made = library.Presentation()
    slide = made.slides.add_slide(made.slide_layouts[1])
    slide.shapes.title.text = "The old harbour"
    frame = slide.placeholders[1].text_frame
    frame.text = "Boats & nets"
    for text, bold in (("A ", None), ("bold", True), (" word", None)):
        run = frame.paragraphs[0].add_run()
        run.text, run.font.bold = text, bold
    run.hyperlink.address = "http://example.org/"
    slide.notes_slide.notes_text_frame.text = "Say hello."
    table = slide.shapes.add_table(1, 2, 0, 0, 9, 9).table
    table.cell(0, 0).text, table.cell(0, 1).text = "Name", "12.5"
    data = CategoryChartData()
    data.categories = ["East"]
    data.add_series("Sales", (1,))
    chart = slide.shapes.add_chart(XL_CHART_TYPE.PIE, 0, 0, 9, 9, data).chart
    chart.chart_title.text_frame.text = "Sales by coast"
    file = io.BytesIO()
    made.save(file)

    document = parse(file.getvalue(), ENGLISH_GERMAN)
    assert document.render([Result(one.source) for one in document.segments]) == file.getvalue()
    assert seen(library, in_upper_case(file.getvalue())) == [
        [(text.upper(), *rest) for text, *rest in one] for one in seen(library, file.getvalue())
    ]


def seen(library: Any, data: bytes) -> list[list[tuple[str, object, object]]]:
    """The characters of every paragraph, with their looks and links."""
    [slide] = library.Presentation(io.BytesIO(data)).slides
    frames = [slide.notes_slide.notes_text_frame]
    for one in slide.shapes:
        frames += [one.text_frame] if one.has_text_frame else []
        frames += [cell.text_frame for cell in one.table.iter_cells()] if one.has_table else []
        frames += [one.chart.chart_title.text_frame] if one.has_chart else []
    return [
        [(sign, run.font.bold, run.hyperlink.address) for run in paragraph.runs for sign in run.text]
        for frame in frames
        for paragraph in frame.paragraphs
    ]


def test_tabs_are_characters() -> None:
    data = pptx("<a:p><a:r><a:t>Monday morning\tnine\no'clock</a:t></a:r></a:p>")
    assert sources(data) == ["Monday morning\tnine o'clock"]
