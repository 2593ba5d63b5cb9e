"""CSV and TSV by column. Python's csv is the other reader."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import cast

import pytest
from hypothesis import strategies as st

from dragoman.base.errors import DataError
from dragoman.documents.files import translate_file
from dragoman.documents.formats import FORMATS
from dragoman.documents.segment import Document, Result, Status
from dragoman.documents.translate import translate_document
from dragoman.translation.translator import Translator
from tests.documents.files import LANGUAGES, comes_back, mapped, sources, with_results
from tests.documents.pretend import Pretend


def rows_of(data: bytes, delimiter: str = ",") -> list[list[str]]:
    return [
        row
        for row in csv.reader(io.StringIO(data.decode("utf-8-sig"), newline=""), delimiter=delimiter)
        if row
    ]


def cells(data: bytes) -> object:
    """What another program sees, but for the case of letters."""
    head = ",".join((rows_of(data) or [[""]])[0])
    many = {one: len(next(csv.reader([head], delimiter=one), [])) for one in ",;\t"}
    sign = max(many, key=many.__getitem__)
    if many[sign] < 2:  # a comma in the only column delimits nothing
        sign = "\x1f"
    return [[cell.upper() for cell in row] for row in rows_of(data, sign)]


def _written(rows: list[tuple[str, str, str]], width: int, sign: str, end: str, *, quoted: bool) -> bytes:
    """A table as csv.writer writes it."""
    file = io.StringIO(newline="")
    quoting = csv.QUOTE_ALL if quoted else csv.QUOTE_MINIMAL
    writer = csv.writer(file, delimiter=sign, lineterminator=end, quoting=quoting)
    writer.writerows(row[:width] for row in [("en", "key", "note"), *rows])
    return file.getvalue().encode()


_TEXT = st.text("abc ,;\t\"'\n=-|\\é", max_size=8)
FILES = st.builds(
    _written,
    st.lists(st.tuples(_TEXT, _TEXT, _TEXT), max_size=4),
    st.integers(1, 3),
    st.sampled_from(",;\t"),
    st.sampled_from(("\n", "\r\n")),
    quoted=st.booleans(),
)
HOSTILE = (
    'en\n"' + '""' * 100_000 + '"',
    "en" + "," * 100_000,
    "en," + " " * 100_000 + ".",
    "en\tb\n" + '"x\ty\n' * 50_001,
    "en" + "\n" * 200_000,
    '"en' * 100_000 + "\ten\n",
)


def read(text: str | bytes, *columns: str) -> Document:
    return FORMATS["csv"].parse(text.encode() if isinstance(text, str) else text, LANGUAGES, columns)


def upper(text: str | bytes, *columns: str) -> str:
    document = read(text, *columns)
    return document.render([Result(mapped(str.upper, one.source)) for one in document.segments]).decode()


@pytest.mark.parametrize(
    ("table", "new"),
    [
        ("key,en,de\na,one,\n", "key,en,de\na,one,ONE\n"),
        ("id,source,target,comment\n1,one,,x\n", "id,source,target,comment\n1,one,ONE,x\n"),
        ("original;translation\none;\n", "original;translation\none;ONE\n"),
        ("English\tFrench\tGerman\none\tun\t\n", "English\tFrench\tGerman\none\tun\tONE\n"),
        ("English (US),Deutsch\none,\n", "English (US),Deutsch\none,ONE\n"),
        ("en_US,fr_FR,de_DE\none,un,\n", "en_US,fr_FR,de_DE\none,un,ONE\n"),
        ("source text (en),target text (de)\none,\n", "source text (en),target text (de)\none,ONE\n"),
        (
            "name_en,text_en,name_de,text_de\none,two,,zwei\n",
            "name_en,text_en,name_de,text_de\none,two,ONE,zwei\n",
        ),
        ("key,en\na,one\n", "key,en\na,ONE\n"),
        ("id,en,no\n1,one,5\n", "id,en,no\n1,ONE,5\n"),
        ("text\none\ntwo\n", "text\nONE\nTWO\n"),
        ("One.\ntwo\n", "ONE.\nTWO\n"),
        ("key|en|de\na|one, or two|\n", "key|en|de\na|one, or two|ONE, OR TWO\n"),
        (
            "Type,Field,Default content,Translated content\na,b,one,\n",
            "Type,Field,Default content,Translated content\na,b,one,ONE\n",
        ),
        ("Key,SourceString\na,one\n", "Key,SourceString\na,ONE\n"),
        ("Original,Translated\none,\n", "Original,Translated\none,ONE\n"),
        (
            "source_language,target_lang,source_text,target_text\nen,de,one,\n",
            "source_language,target_lang,source_text,target_text\nen,de,one,ONE\n",
        ),
        (
            "English (United States),German (Germany)\none,\n",
            "English (United States),German (Germany)\none,ONE\n",
        ),
        ("sep=;\nkey;en\na;one, two\n", "sep=;\nkey;en\na;ONE, TWO\n"),
        ("\ufeffkey,en\r\na,one\r\n", "\ufeffkey,en\r\na,ONE\r\n"),
    ],
)
def test_the_first_row_says_which_columns(table: str, new: str) -> None:
    document = read(table)
    results = [None if one.target else Result(mapped(str.upper, one.source)) for one in document.segments]
    assert document.render(results).decode() == new


@pytest.mark.parametrize(
    ("table", "columns", "new"),
    [
        (
            "SKU,Title,Body (HTML)\n1,one,<b>two</b>\n",
            ("title", "3"),
            "SKU,Title,Body (HTML)\n1,ONE,<B>TWO</B>\n",
        ),
        ("Title,Title DE\none,\n", ("Title",), "Title,Title DE\none,ONE\n"),
        ("word,de\none,\n", ("word",), "word,de\none,ONE\n"),
        ("word,de\none,\n", ("Word", "1"), "word,de\none,ONE\n"),
        ("en,de,note\none,,two\n", ("note",), "en,de,note\none,,TWO\n"),
        ("1,one\n2,two\n", ("2",), "1,ONE\n2,TWO\n"),
        ("sku,product_title\n1,one\n", ("2",), "sku,product_title\n1,ONE\n"),
        ("en,de\nx,y\n", ("de",), "en,de\nx,Y\n"),
        ("WORT,x\none,1\n", ("wort",), "WORT,x\nONE,1\n"),
    ],
)
def test_columns_may_be_chosen(table: str, columns: tuple[str, ...], new: str) -> None:
    assert upper(table, *columns) == new


def test_rows_have_as_many_cells_as_the_first_that_is_not_blank() -> None:
    with pytest.raises(DataError, match="line 4: 2 cells, but 3 in the first row"):
        read("\n\na,b,c\n1,2\n")


def test_without_a_known_column_they_are_listed() -> None:
    for table, columns, message in (
        ("\n\r\n\na,b,c\n1,2,3\n", (), "line 4: none of 3 columns is known to be in English"),
        ("sku,word\n1,one\n", (), "line 1: none of 2 columns is known to be in English"),
        ("key,de\n1,eins\n", (), "line 1: none of 2 columns"),
        ("key,en,fr\na,one,\n", (), "line 1: no column is in German"),
        ("English,Polish\none,\n", (), "line 1: no column is in German"),
        ("sku,word\n1,one\n", ("title",), "line 1: no column 'title'"),
        ("sku,word\n1,one\n", ("3",), "line 1: no column '3'"),
    ):
        with pytest.raises(DataError, match=message) as error:
            read(table, *columns)
        assert "--column" in str(error.value.hint)
        assert ": 1 " in str(error.value.hint)


def test_rows_of_another_language_stay() -> None:
    table = "Locale,Default content,Translated content\nfr,one,\nde,two,\n,three,\n"
    assert upper(table) == table.replace("two,", "two,TWO").replace("three,", "three,THREE")


def test_a_title_above_a_table_is_refused() -> None:
    """Else its keys would be translated. One column with commas in it is read."""
    for title in ("Texts of the shop", "# made by a program", "Price list of 2024"):
        with pytest.raises(DataError, match="line 2: 3 cells, but 1 in the first row"):
            read(f"{title}\nkey,en,de\na,One,\n")
    for column in ("text\nOne, two\nThree, four\n", "One.\nTwo, three\n", 'One\n"Two, three"\nFour\n'):
        assert upper(column).replace('"', "") == column.upper().replace('"', "").replace("TEXT", "text")


def test_a_text_that_is_not_translated_leaves_its_translation_empty() -> None:
    """Else the next command would take the copy for the work of a person."""
    new, _, counts = translate_document(
        cast("Translator", Pretend(lambda word: "")), read("key,en,de\na,One boat,\nb,5,\n")
    )
    assert new == b"key,en,de\na,One boat,\nb,5,5\n"
    assert (counts.left_out, counts.doubtful) == (1, 1)


def test_people_s_translations_stay_and_the_key_is_the_context() -> None:
    table = b"key,en,de\na,One boat,Ein Kahn\nb,Two boats, \nc,Bye,\n"
    segments = read(table).segments
    assert [(one.context, one.state) for one in segments] == [
        ("a", Status.DONE),
        ("b", Status.MISSING),
        ("c", Status.MISSING),
    ]
    new, _, counts = translate_document(cast("Translator", Pretend(str.upper)), read(table))
    assert rows_of(new) == [
        ["key", "en", "de"],
        ["a", "One boat", "Ein Kahn"],
        ["b", "Two boats", "TWO BOATS"],
        ["c", "Bye", "BYE"],
    ]
    assert (counts.filled, counts.kept) == (2, 1)


def test_cells_are_quoted_as_they_were_or_need_it() -> None:
    table = 'en,key\none,1\n"two",2\n"th""ree\r\nx",3\n'
    texts = (("a, b",), ("b",), ('c "d"\ne',))
    new = with_results("csv", table, *texts)
    assert new == 'en,key\n"a, b",1\n"b",2\n"c ""d""\r\ne",3\n'
    assert rows_of(new.encode())[1:] == [["a, b", "1"], ["b", "2"], ['c "d"\r\ne', "3"]]
    assert with_results("csv", 'en\n""\none\n', ("",)) == 'en\n""\n""\n'
    assert (
        with_results("csv", '"key","en","de"\r\n"a","b",""\r\n', ("c",))
        == '"key","en","de"\r\n"a","b","c"\r\n'
    )


def test_tabs_without_quotes() -> None:
    """As many programs write TSV: a quote is a character, and a cell cannot hold a tab or a line end."""
    table = 'key\ten\na\t"Hi" there\nb\t5" nail\n'
    assert sources("csv", table) == ['"Hi" there', '5" nail']
    assert upper(table) == 'key\ten\na\t"HI" THERE\nb\t5" NAIL\n'
    document = read(table)
    assert document.render([Result(("a\tb",)), Result(("a\nb",))]).decode() == table
    assert len(document.kept) == 2  # type: ignore[attr-defined]
    assert sources("csv", "en\tx\n" + r"One.\nTwo: C:\new" + "\t1\n" + r"One.\nTwo." + "\t2\n") == [
        r"One.\nTwo: C:\new",
        r"One.⟨\n⟩Two.",
    ]


@pytest.mark.parametrize("sign", ["=", "+", "-", "@", " =", "\t@", "＝"])
def test_no_translation_becomes_a_formula(sign: str) -> None:
    table = "en,de\nOne boat,\n-Two boats,\n=SUM(A1),\n"  # the last is no text
    document = read(table)
    rows = rows_of(document.render([Result((f"{sign}A1",)) for _ in document.segments]))
    assert [row[1] for row in rows[1:]] == ["", "-A1" if sign == "-" else "", ""]
    new, _, counts = translate_document(cast("Translator", Pretend(lambda word: f"={word}")), read(table))
    assert [row[1] for row in rows_of(new)[1:]] == ["", "", ""]
    assert counts.doubtful == 2


def test_other_encodings() -> None:
    comes_back("csv", "key,en\r\na,Hi\r\n".encode("utf-16"))
    with pytest.raises(DataError, match="line 2: not utf-8"):
        read(b"key,en\na,caf\xe9\n")


def test_a_file_of_the_command(tmp_path: Path) -> None:
    (tmp_path / "a.tsv").write_text("word\tn\none boat\t1\n", encoding="utf-8")
    translator = cast("Translator", Pretend(str.upper))
    translate_file(translator, tmp_path / "a.tsv", tmp_path / "b.tsv", columns="word")
    assert (tmp_path / "b.tsv").read_text(encoding="utf-8") == "word\tn\nONE BOAT\t1\n"


def test_many_rows_are_written_in_time() -> None:
    rows = [["key", "en", "de"], *([str(n), f"The boat, no. {n}", ""] for n in range(3000))]
    file = io.StringIO(newline="")
    csv.writer(file).writerows(rows)
    assert rows_of(upper(file.getvalue()).encode())[1:] == [[a, b, b.upper()] for a, b, _ in rows[1:]]
