"""Excel: which cells are segments, which stay, and what another program reads."""

from __future__ import annotations

import io
import time
from typing import Any

import pytest

from dragoman.documents.office.cells import Compared, is_cell_text
from dragoman.documents.office.xlsx import parse
from dragoman.documents.segment import Content, Result, text_of
from tests.documents.office.office_files import (
    ENGLISH_GERMAN,
    A,
    S,
    at_most_tags,
    shown,
    unpacked,
    upper,
    xlsx,
)

KIND = "officedocument.spreadsheetml"


def strings(*texts: str) -> str:
    return "".join(f"<si><t>{text}</t></si>" for text in texts)


def sources(data: bytes) -> list[str]:
    return [shown(segment.source) for segment in parse(data, ENGLISH_GERMAN).segments]


def edited(data: bytes, *contents: Content | str) -> bytes:
    results = [Result((one,) if isinstance(one, str) else one) for one in contents]
    return parse(data, ENGLISH_GERMAN).render([*results])


def in_upper_case(data: bytes) -> bytes:
    return edited(data, *(upper(one.source) for one in parse(data, ENGLISH_GERMAN).segments))


def shared(data: bytes) -> str:
    return unpacked(data, "xl/sharedStrings.xml").partition(f'"{S}">')[2].removesuffix("</sst>")


def kept(data: bytes) -> list[str]:
    """The texts that are not written although they were translated."""
    document = parse(data, ENGLISH_GERMAN)
    document.render([Result("x" if len(one.source) == 1 else one.source) for one in document.segments])
    return [text_of(one.source) for one in document.kept]


def test_strings_with_and_without_styles() -> None:
    data = xlsx(
        "<si><t>One boat</t></si>"
        '<si><r><t xml:space="preserve">A </t></r><r><rPr><b/><sz val="9"/></rPr><t>bold</t></r>'
        '<r><rPr><sz val="9"/></rPr><t xml:space="preserve"> word</t></r></si>'
        '<si><t>Reading</t><rPh sb="0" eb="2"><t>READ</t></rPh><phoneticPr fontId="1"/></si>'
    )
    assert sources(data) == ["One boat", "[o1]A [c1]bold[o2] word[c2]", "Reading"]
    assert shared(in_upper_case(data)) == (
        '<si><t xml:space="preserve">ONE BOAT</t></si>'
        '<si><r><t xml:space="preserve">A </t></r>'
        '<r><rPr><b/><sz val="9"/></rPr><t xml:space="preserve">BOLD</t></r>'
        '<r><rPr><sz val="9"/></rPr><t xml:space="preserve"> WORD</t></r></si>'
        '<si><t xml:space="preserve">READING</t></si>'
    )


def test_escapes_of_excel_are_characters() -> None:
    data = xlsx(strings("One_x000D_\ntwo _x005F_x0041_ _xD83D__xDE00_"))

    assert sources(data) == ["One\r\ntwo _x0041_ \U0001f600"]
    new = shared(edited(data, "Zwei\r\n_x0041_ _x1_\x07 \U0001f600"))
    assert new == '<si><t xml:space="preserve">Zwei&#13;\n_x005F_x0041_ _x1_ \U0001f600</t></si>'


def test_a_text_that_looks_like_a_formula_is_a_text() -> None:
    assert shared(edited(xlsx(strings("Two")), "=1+1")) == '<si><t xml:space="preserve">=1+1</t></si>'


def test_a_cell_is_named_by_its_first_place() -> None:
    data = xlsx(strings("One", "Two", "Three").replace("<si><t>Three", "<si ><t>Three"))

    assert [one.where for one in parse(data, ENGLISH_GERMAN).segments] == [
        "sheet1.xml, cell A1",
        "sheet1.xml, cell A2",
        "sharedStrings.xml, string 3",
    ]


def test_keys_and_cells_without_words_are_no_segments() -> None:
    texts = "PN-1234", "A/12.5", "12 %", "2024-01-01", "\U0001f600", "COVID-19 cases", "IT", "a1"
    assert sources(xlsx(strings(*texts))) == ["COVID-19 cases", "IT", "a1"]


def test_cells_of_their_own_text() -> None:
    cells = (
        '<row r="9"><c r="B9" t="inlineStr"><is><t>Own text</t></is></c><c r="C9" t="str"><f>A1</f>'
        "<v>Result</v></c></row>"
    )
    data = xlsx("", cells=cells)
    [segment] = parse(data, ENGLISH_GERMAN).segments
    assert (segment.source, segment.where) == (("Own text",), "sheet1.xml, cell B9")
    new = unpacked(in_upper_case(data), "xl/worksheets/sheet1.xml")
    assert new.partition("<is>")[2] == (
        '<t xml:space="preserve">OWN TEXT</t></is></c><c r="C9" t="str"><f>A1</f><v>Result</v></c></row>'
        "</sheetData></worksheet>"
    )
    assert 'fullCalcOnLoad="1"' in unpacked(in_upper_case(data), "xl/workbook.xml")


def test_texts_that_some_programs_write_as_results_without_a_formula() -> None:
    cells = (
        '<row r="9"><c r="B9" t="str"><v>Own &amp; _x0041_</v></c><c t="str"><f>A1</f><v>Result</v></c></row>'
    )
    data = xlsx("", cells=cells)
    assert sources(data) == ["Own & A"]
    new = unpacked(edited(data, "]]>\x01_x0041_"), "xl/worksheets/sheet1.xml")
    assert cells.replace("Own &amp; _x0041_", "]]&gt;_x005F_x0041_") in new


def test_formulas_are_computed_again_only_if_there_are_some() -> None:
    assert "fullCalcOnLoad" not in unpacked(in_upper_case(xlsx(strings("One"))), "xl/workbook.xml")


def test_what_a_workbook_compares_stays() -> None:
    cells = (
        '<row r="9"><c r="B9"><f>IF(A1="Open",1,COUNTIF(A:A,"&lt;&gt;closed*"))&amp;"an ""odd"" one"</f></c>'
        "</row>"
    )
    after = (
        '<autoFilter><filterColumn><filters><filter val="Wood"/></filters><customFilters>'
        '<customFilter operator="equal" val="Steel"/></customFilters></filterColumn></autoFilter>'
        '<conditionalFormatting><cfRule><formula>"High"</formula></cfRule></conditionalFormatting>'
        '<dataValidations><dataValidation type="list"><formula1>"Yes,No, Never"</formula1></dataValidation>'
        "</dataValidations>"
    )
    table = f'<table xmlns="{S}"><tableColumn id="1" name="Length_x000a_in m"/></table>'
    pivot = (
        f'<pivotCacheDefinition xmlns="{S}"><cacheFields><cacheField name="Owner"><sharedItems><s v="Ann"/>'
        "</sharedItems></cacheField></cacheFields></pivotCacheDefinition>"
    )
    texts = [
        *("OPEN", "Closed today", 'An "odd" one', "Wood", "Steel", "High", "Yes", "Never", "Length\nin m"),
        *("Owner", "Ann", "Somewhere"),
    ]
    data = xlsx(
        strings(*texts, "Free", "Opening"),
        after,
        cells,
        {
            "xl/tables/table1.xml": table,
            "xl/pivotCache/p.xml": pivot,
            "xl/workbook.xml": f'<workbook xmlns="{S}"><definedName>"Somewhere"</definedName></workbook>',
        },
        {"xl/tables/table1.xml": f"{KIND}.table", "xl/pivotCache/p.xml": f"{KIND}.pivotCacheDefinition"},
    )
    assert kept(data) == texts


def test_patterns_are_bounded_and_match_in_time() -> None:
    compared = Compared()
    for number in range(1000):
        compared.add_formula(f'COUNTIF(A:A,"{"*a" * 20}{number}*")')
    start = time.process_time()
    assert not any(compared.has("a" * 200) for _ in range(100))
    assert time.process_time() - start < 20
    compared = Compared()
    compared.add_formula('COUNTIF(A:A,"*")+COUNTIF(A:A,"[a]?")')
    assert not compared.has("anything")
    assert compared.has("[a]b")
    assert not compared.has("ab")


def test_texts_longer_than_excel_allows_are_not_written() -> None:
    data = xlsx(strings("One", "Two"), "<headerFooter><oddFooter>End</oddFooter></headerFooter>")
    document = parse(data, ENGLISH_GERMAN)
    new = document.render([Result(("\U0001f600" * 16_384,)), Result(("x" * 32_767,)), Result(("y" * 256,))])

    assert [text_of(one.source) for one in document.kept] == ["One", "End"]
    assert sources(new) == ["One", "x" * 32_767, "End"]


def test_messages_and_printed_headers() -> None:
    after = (
        '<dataValidations><dataValidation type="whole" prompt="Give a number" promptTitle="How many?"'
        ' sqref="B2"/></dataValidations><hyperlinks><hyperlink ref="A1" r:id="rId1" tooltip="Our page"'
        ' display="One"/></hyperlinks><headerFooter><oddHeader>&amp;L&amp;"Arial,Bold"&amp;12Boats &amp;&amp;'
        " nets&amp;C&amp;KFF0000&amp;A&amp;RPage &amp;P of &amp;N</oddHeader>"
        "<oddFooter>&amp;R&amp;F</oddFooter></headerFooter>"
    )
    data = xlsx("", after)
    assert [text_of(one.source) for one in parse(data, ENGLISH_GERMAN).segments] == [
        *("Give a number", "How many?", "Our page"),
        "Boats & netsAPage 1 of 1",
    ]
    source = parse(data, ENGLISH_GERMAN).segments[3].source
    new = edited(data, "Eine 'Zahl'", "Wie viele?", "Seite", ("3 R&D", *source[1:]))
    assert unpacked(new, "xl/worksheets/sheet1.xml").partition("</sheetData>")[2] == (
        after.replace("Give a number", "Eine &apos;Zahl&apos;")
        .replace("How many?", "Wie viele?")
        .replace("Our page", "Seite")
        .replace("12Boats &amp;&amp; nets", "12 3 R&amp;&amp;D")
        + "</worksheet>"
    )
    assert kept(xlsx("", after.replace("Give a number", "x" * 256))) == []


def test_shapes_of_a_sheet_are_translated() -> None:
    drawing = f'<d xmlns:a="{A}"><a:p><a:r><a:t>In a box</a:t></a:r></a:p></d>'
    data = xlsx("", "", "", {"xl/drawings/d.xml": drawing}, {"xl/drawings/d.xml": "officedocument.drawing"})

    assert sources(data) == ["In a box"]


def test_names_may_have_prefixes() -> None:
    row = '<row><c><f>"one"</f></c></row>'
    text = xlsx(strings("One", "Two"), cells=row)
    for name in ("xl/sharedStrings.xml", "xl/worksheets/sheet1.xml"):
        new = unpacked(text, name).replace("</", "</x:").replace("<", "<x:").replace("<x:/x:", "</x:")
        new = new.replace("<x:?", "<?").replace("xmlns=", "xmlns:x=")
        data = xlsx(strings("One", "Two"), cells=row, parts={name: new})
        assert kept(data) == ["One"]
        assert sources(in_upper_case(data)) == ["One", "TWO"]


def test_workbooks_with_macros_and_templates() -> None:
    for kind in ("ms-excel.sheet.macroEnabled", "ms-excel.template.macroEnabled", f"{KIND}.template"):
        book = f'<workbook xmlns="{S}"><definedName>"Two"</definedName></workbook>'
        types = {"xl/workbook.xml": f"{kind}.main"}
        assert kept(xlsx(strings("One", "Two"), parts={"xl/workbook.xml": book}, types=types)) == ["Two"]


@pytest.mark.thorough
def test_openpyxl_reads_a_translation() -> None:
    library = pytest.importorskip("openpyxl")
    from openpyxl.cell.rich_text import CellRichText, TextBlock
    from openpyxl.cell.text import InlineFont
    from openpyxl.chart import BarChart, Reference
    from openpyxl.comments import Comment
    from openpyxl.worksheet.datavalidation import DataValidation
    from openpyxl.worksheet.table import Table

    book = library.Workbook()
    sheet = book.active
    sheet.title = "Boats"
    sheet.append(["Name", "State", "Length"])
    sheet.append(["The old boat", "Open", 12.5])
    sheet.append(["Two\nlines & more", "Shut", 8])
    sheet.append(["PN-12", '=IF(B2="Open","Yes","No")', "  spaced  "])
    sheet["D1"] = CellRichText("A ", TextBlock(InlineFont(b=True), "bold"), " word")
    sheet["A2"].comment = Comment("A remark", "Ann")
    choice = DataValidation(type="list", formula1='"Open,Shut"', promptTitle="Choose", prompt="One of both")
    choice.add("B2:B3")
    sheet.add_data_validation(choice)
    sheet.add_table(Table(displayName="T", ref="A1:C3"))
    chart = BarChart()
    chart.title = "Length of boats"
    chart.add_data(Reference(sheet, min_col=3, min_row=1, max_row=3), titles_from_data=True)
    sheet.add_chart(chart, "H2")
    sheet.oddHeader.left.text, sheet.oddHeader.left.font = "Report", "Arial,Bold"
    file = io.BytesIO()
    book.save(file)

    document = parse(file.getvalue(), ENGLISH_GERMAN)
    assert document.render([Result(one.source) for one in document.segments]) == file.getvalue()
    old, new = (seen(library, data) for data in (file.getvalue(), in_upper_case(file.getvalue())))
    stays = {
        "Name",
        "State",
        "Length",
        "Open",
        "Shut",
        "A remark",
        "Boats",
        "PN-12",
        "Open,Shut",
        "Arial,Bold",
    }
    assert new == [
        one if not isinstance(one, str) or one in stays or one.startswith("=") else one.upper() for one in old
    ]


def seen(library: Any, data: bytes) -> list[object]:
    sheet = library.load_workbook(io.BytesIO(data), rich_text=True).active
    values = [cell for row in sheet.iter_rows(values_only=True) for cell in row]
    flat = [str(part) for one in values if isinstance(one, list) for part in one]
    [choice] = sheet.data_validations.dataValidation
    return [
        *(one for one in values if not isinstance(one, list)),
        *flat,
        *(sheet.title, sheet["A2"].comment.text, choice.prompt, choice.formula1.strip('"')),
        *(column.name for column in sheet.tables["T"].tableColumns),
        *(sheet.oddHeader.left.text, sheet.oddHeader.left.font),
    ]


@pytest.mark.parametrize(("text", "words"), [("IT", True), ("A-1", False), ("12", False), ("x2", True)])
def test_a_key_is_no_text(text: str, words: bool) -> None:
    assert is_cell_text(text) == words


def test_cells_without_text_do_not_count_as_tags() -> None:
    """They are no tree in memory."""
    numbers = "".join(f'<row r="{n}"><c r="B{n}"><v>{n}</v></c></row>' for n in range(2, 200))
    with at_most_tags(100):
        assert sources(xlsx(strings("A boat"), cells=numbers)) == ["A boat"]


def test_numbers_beside_texts_of_the_sheet_do_not_count_either() -> None:
    places = [f"{chr(65 + n // 10)}{n % 10 + 2}" for n in range(260)]
    cells = "".join(f'<c r="{place}" s="1" t="n"><v>-1.5E3</v></c>' for place in places)
    footer = "<headerFooter><oddFooter>The end</oddFooter></headerFooter>"
    data = xlsx(strings("A boat"), footer, f'<row r="2">{cells}</row>')
    with at_most_tags(100):
        assert sources(data) == ["A boat", "The end"]
        sheet = unpacked(in_upper_case(data), "xl/worksheets/sheet1.xml")
    assert cells in sheet
    assert "<oddFooter>THE END</oddFooter>" in sheet


def test_names_with_an_apostrophe_are_compared_whole() -> None:
    table = (
        '<tableColumns><tableColumn id="1" name="Peter\'s boats" totalsRowLabel="All in all"/></tableColumns>'
        "<filters><filter val='The \"one\"'/></filters>"
    )
    data = xlsx(strings("Peter's boats", "All in all", 'The "one"', "Free"), table)
    assert kept(data) == ["Peter's boats", "All in all", 'The "one"']


def test_line_ends_and_formats_of_messages_and_headers_keep_their_order() -> None:
    message = '<dataValidation sqref="A1" prompt="Enter a name_x000a_Then go"/>'
    header = (
        "<headerFooter><oddFooter>&amp;C_x000D_&amp;1#&amp;10Internal use only</oddFooter></headerFooter>"
    )
    text = unpacked(in_upper_case(xlsx("", message + header)), "xl/worksheets/sheet1.xml")

    assert 'prompt="ENTER A NAME_x000a_THEN GO"' in text
    assert "<oddFooter>&amp;C_x000D_&amp;1#&amp;10INTERNAL USE ONLY</oddFooter>" in text
