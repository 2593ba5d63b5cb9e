"""`dragoman translate` for documents, as a user meets it."""

from __future__ import annotations

import csv
import gzip
import json
from pathlib import Path

import polib
import pytest
from lxml import etree
from tests.documents.pretend import Pretend

from dragoman.base.errors import DataError
from dragoman.documents.files import translate_file
from dragoman.documents.formats import FORMATS
from dragoman.translation.translator import Translator


@pytest.fixture(autouse=True)
def translator(monkeypatch: pytest.MonkeyPatch) -> Pretend:
    """Writes capitals, and 6 for 5."""
    pretend = Pretend(lambda word: word.replace("5", "6").upper())
    monkeypatch.setattr(Translator, "load", lambda *_, **__: pretend)
    return pretend


@pytest.fixture
def text(tmp_path: Path) -> Path:
    path = tmp_path / "a.txt"
    path.write_text("A dog\nruns.\n\nIt has 5 legs.\n")
    return path


def test_a_document_is_translated_and_what_to_check_is_said(dragoman_, text, tmp_path):
    ended = dragoman_("translate", "m", text, "--format", "text", "-o", tmp_path / "b.txt")
    assert (ended.code, ended.out) == (0, "")
    assert (tmp_path / "b.txt").read_text() == "A DOG\nRUNS.\n\nIT HAS 6 LEGS.\n"
    assert ended.err == (
        "2 of 2 segments translated\nwarning: 1 segment has to be checked\n"
        f"  {text}, line 4: number differs: 5 missing; number differs: 6 added\n"
    )


def test_an_output_that_ends_in_a_slash_is_a_folder(dragoman_, text, tmp_path):
    dragoman_("translate", "m", text, "--format", "text", "-o", f"{tmp_path}/new/")
    assert (tmp_path / "new" / "a.txt").is_file()


def test_the_report_has_it_as_json(dragoman_, text, tmp_path):
    report = tmp_path / "report.jsonl"
    ended = dragoman_("translate", "m", text, "--format", "text", "-o", tmp_path / "b", "--report", report)
    assert ended.err.endswith(f"warning: 1 segment has to be checked: see {report}\n")
    assert [json.loads(line) for line in report.read_text().splitlines()] == [
        {
            "file": str(text),
            "where": "line 4",
            "source": "It has 5 legs.",
            "translation": "IT HAS 6 LEGS.",
            "reasons": ["number differs: 5 missing", "number differs: 6 added"],
        }
    ]


def test_a_table_and_a_page_have_the_same(dragoman_, text, tmp_path):
    text.write_text('=1+5 <b>nets</b>, & a "rope"\n\nA dog.\n\n5 men\n', "utf-8")
    for suffix in ("csv", "html"):
        report = tmp_path / f"report.{suffix}"
        dragoman_("translate", "m", text, "--format", "text", "-o", tmp_path / "b", "--report", report)
    with (tmp_path / "report.csv").open(encoding="utf-8-sig", newline="") as file:
        first, second = csv.DictReader(file)
    assert first["source"] == '\'=1+5 <b>nets</b>, & a "rope"'  # which a spreadsheet does not compute
    assert first["translation"] == '\'=1+6 <b>NETS</b>, & A "ROPE"'
    assert second == {
        "file": str(text),
        "where": "line 5",
        "source": "5 men",
        "translation": "6 MEN",
        "reasons": "number differs: 5 missing; number differs: 6 added",
        **dict.fromkeys(("match_score", "match_source", "match_target"), ""),
    }
    page = (tmp_path / "report.html").read_text("utf-8")
    cells = etree.HTML(page).xpath("//tbody/tr/td")
    words = [[one.text or "" for one in cells[place : place + 4]] for place in (0, 5)]
    assert words[0][:3] == ["line 1", '=1+5 <b>nets</b>, & a "rope"', '=1+6 <b>NETS</b>, & A "ROPE"']
    assert words[1] == ["line 5", "5 men", "6 MEN", "number differs: 5 missing\nnumber differs: 6 added"]
    assert "3 of 3 segments translated" in page
    assert "http" not in page  # it needs no network


PO = """msgid "5 men"
msgstr "Fünf Mann"

#, fuzzy
msgid "5 nets"
msgstr "Ein Netz"

#, fuzzy
msgid "A rope"
msgstr "Ein Tau"

msgid "A boat"
msgstr ""
"""


def test_the_translations_of_a_file_are_kept_and_counted(dragoman_, tmp_path):
    (tmp_path / "a.po").write_text(PO, "utf-8")
    words = ("translate", "m", tmp_path / "a.po", "-o", tmp_path / "b.po")
    ended = dragoman_(*words)
    assert ended.err.startswith("3 of 4 segments translated: 1 filled, 2 replaced, 1 kept, 1 marked\n")
    kept, marked, replaced, filled = polib.pofile(str(tmp_path / "b.po"))
    assert (kept.msgstr, kept.comment, kept.flags) == ("Fünf Mann", "", [])
    assert (marked.msgstr, marked.flags) == ("6 NETS", ["fuzzy"])
    assert marked.tcomment.splitlines()[0] == 'previous msgstr "Ein Netz"'
    assert (replaced.msgstr, replaced.flags, replaced.tcomment) == ("A ROPE", [], 'previous msgstr "Ein Tau"')
    assert filled.msgstr == "A BOAT"
    assert dragoman_(*words, "--retranslate").err.startswith(
        "4 of 4 segments translated: 1 filled, 3 replaced, 2 marked\n"
    )
    assert "Fünf Mann" not in (tmp_path / "b.po").read_text("utf-8")


def test_approved_translations_need_their_flag(dragoman_, tmp_path):
    (tmp_path / "a.xlf").write_text(
        '<xliff version="1.2"><file source-language="en" target-language="de"><body>'
        '<trans-unit id="1" approved="yes"><source>A boat</source><target>Ein Kahn</target></trans-unit>'
        "</body></file></xliff>"
    )
    words = ("translate", "m", tmp_path / "a.xlf", "-o", tmp_path / "b.xlf")
    for flags in ((), ("--retranslate",), ("--final", "--locked")):
        assert dragoman_(*words, *flags).err == "0 of 1 segments translated: 1 kept\n"
        assert (tmp_path / "b.xlf").read_bytes() == (tmp_path / "a.xlf").read_bytes()
    assert dragoman_(*words, "--approved").err == "1 of 1 segments translated: 1 replaced\n"
    assert 'approved="no"' in (tmp_path / "b.xlf").read_text()


def test_a_folder_names_the_files_that_it_leaves_out(dragoman_, text, tmp_path):
    (tmp_path / "in").mkdir()
    text.rename(tmp_path / "in" / "a.txt")
    for number in range(21):
        (tmp_path / "in" / f"{number:02}.png").write_bytes(b"")
    report = tmp_path / "report.csv"
    ended = dragoman_("translate", "m", tmp_path / "in", "-o", tmp_path / "out", "--report", report)
    names = [str(tmp_path / "in" / f"{number:02}.png") for number in range(21)]
    first = ", ".join(names[:20])
    assert f"21 files left out, not of a format to translate: {first}, ...\n" in ended.err
    assert [line.split(",")[0] for line in report.read_text("utf-8").splitlines()[-21:]] == names


def test_without_a_file_it_goes_to_standard_output_and_quiet_says_nothing(dragoman_, text):
    ended = dragoman_("translate", "m", text, "--format", "text", "-q")
    assert (ended.out, ended.err) == ("A DOG\nRUNS.\n\nIT HAS 6 LEGS.\n", "")


def test_a_folder_is_translated_but_for_the_files_that_fail(dragoman_, text, tmp_path):
    (tmp_path / "in").mkdir()
    text.rename(tmp_path / "in" / "a.txt")
    (tmp_path / "in" / "b.txt").write_bytes(b"\xff\xff")
    (tmp_path / "in" / "c.xyz").write_text("A dog.\n")
    words = ("translate", "m", tmp_path / "in", "-o", tmp_path / "out")
    report = tmp_path / "report.jsonl"
    assert dragoman_(*words, "--report", report).code == 3
    reasons = [json.loads(line)["reasons"] for line in report.read_text("utf-8").splitlines()[-2:]]
    assert reasons == [
        [f"not translated: {tmp_path / 'in' / 'b.txt'}: line 1: not utf-8", "convert the file to UTF-8"],
        [
            "left out, not of a format to translate",
            "if you translate it by itself, its name and content decide",
        ],
    ]
    ended = dragoman_(*words)
    assert ended.code == 3
    assert "c.xyz\n  --report FILE says of each what to do with it\n" in ended.err
    assert f"error: {tmp_path / 'in' / 'b.txt'}: line 1: not utf-8\n" in ended.err
    assert "error: 1 of 2 files could not be translated\nhint: the others are written\n" in ended.err
    assert (tmp_path / "out" / "a.txt").exists()
    assert not (tmp_path / "out" / "b.txt").exists()


def test_a_single_file_that_fails_is_the_error(dragoman_, tmp_path):
    (tmp_path / "b.md").write_bytes(b"\xff\xff")
    ended = dragoman_("translate", "m", tmp_path / "b.md", "-o", tmp_path / "c.md")
    assert ended.code == 3
    assert ended.err.startswith(f"error: {tmp_path / 'b.md'}: ")
    assert not (tmp_path / "c.md").exists()


def test_lines_may_be_protected(dragoman_):
    ended = dragoman_("translate", "m", "--protect", stdin=b"a %s b. Two\r\n\n5 dogs\n%d\n")
    assert (ended.code, ended.out) == (0, "A %s B. TWO\r\n\n6 DOGS\n%d\n")
    assert ended.err == "warning: 1 line has to be checked (3)\n"


@pytest.mark.parametrize(
    ("words", "what"),
    [
        (["a.md", "b.txt"], "b.txt is text and a.md a document"),
        (["a.md", "--n-best", "2"], "--n-best is for lines of text, not for documents"),
        (["a.md", "--jsonl"], "--jsonl is for lines of text, not for documents"),
        (["b.txt", "--report", "r"], "--report is for documents, not for lines of text"),
        (["a.md", "--format", "doc"], "unknown format 'doc'"),
        (["-", "--format", "po"], "a document cannot be read from standard input"),
        (["a.md", "-o", "a.md"], "a.md: is one of the files to translate"),
        (["a.md", "a.md"], "2 input files need an output folder (-o)"),
        (["a.md", "-o", "t.csv", "--terms", "t.csv"], "t.csv: input and output are the same file"),
        (["a.md", "-o", "m/config.json"], "m/config.json: input and output are the same file"),
        (["d", "-o", "out", "--report", "d/c.md"], "d/c.md: input and output are the same file"),
        (["d", "-o", "out", "--report", "out/c.md"], "out/c.md: also the name of a translation"),
        (["a.md", "--plain"], "--plain is for lines of text or lines with --protect, not for documents"),
        (["b.txt", "--protect", "--jsonl"], "--jsonl is for lines of text, not for lines with --protect"),
    ],
)
def test_mistakes_are_said_before_the_model_is_loaded(dragoman_, tmp_path, monkeypatch, words, what):
    monkeypatch.setattr(Translator, "load", lambda *_, **__: pytest.fail("loaded"))
    monkeypatch.chdir(tmp_path)
    for folder in ("d", "m"):
        Path(folder).mkdir()
    for name in ("a.md", "b.txt", "d/c.md", "t.csv", "m/config.json"):
        Path(name).write_text("A dog.\n")
    ended = dragoman_("translate", "m", *words)
    assert ended.code == 2
    assert f"error: {what}" in ended.err


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("menu.conf", b"dog:\n  name: A dog\n", "unknown format: YAML"),
        ("a.pdf", b"%PDF-1.7\n", "unknown format: a PDF file"),
        ("a.md", b"%PDF-1.7\n", "a PDF file, not Markdown"),
        ("a.xyz", b"<animals>\n<dog>Rex</dog>\n</animals>\n", "unknown format: XML"),
        ("a.po.gz", gzip.compress(b'msgid "A dog"\nmsgstr ""\n', mtime=0), "a compressed document"),
        ("a.gz", gzip.compress(b"%PDF-1.7\n", mtime=0), "unknown format: a PDF file"),
    ],
)
def test_a_file_of_no_format_is_refused_before_the_model_is_loaded(
    dragoman_, translator, tmp_path, monkeypatch, name, content, message
):
    path, output = tmp_path / name, tmp_path / "out"
    path.write_bytes(content)
    with pytest.raises(DataError, match="unknown format|a compressed file|a PDF file"):
        translate_file(translator, path, output)
    monkeypatch.setattr(Translator, "load", lambda *_, **__: pytest.fail("loaded"))
    ended = dragoman_("translate", "m", path, "-o", output)
    assert ended.code == 3
    assert f"error: {path}: {message}" in ended.err
    assert not output.exists()


def test_a_missing_file_with_capitals_in_its_name(dragoman_, tmp_path):
    ended = dragoman_("translate", "m", tmp_path / "Missing.DOCX", "-o", tmp_path / "out")
    assert ended.code == 3
    assert "Missing.DOCX: no such file" in ended.err


def test_lines_may_be_forced_and_are_the_default_for_plain_text(dragoman_, translator, tmp_path):
    path, output = tmp_path / "menu.conf", tmp_path / "out"
    path.write_bytes(b"dog:\n  name: A dog\n")
    protect = ("-o", output, "--protect")  # which only lines have
    assert dragoman_("translate", "m", path, "--format", "lines", *protect).code == 0
    assert output.read_text() == "DOG:\n  NAME: A DOG\n"
    for name, content in (
        ("notes", b"A dog.\nA cat.\n"),
        ("a.en.gz", gzip.compress(b"A dog.\nA cat.\n", mtime=0)),
    ):
        (tmp_path / name).write_bytes(content)
        assert dragoman_("translate", "m", tmp_path / name, *protect).code == 0
        assert output.read_text() == "A DOG.\nA CAT.\n"
    translate_file(translator, tmp_path / "notes", output)
    assert output.read_text() == "A DOG.\nA CAT.\n"


def test_the_content_decides_where_the_name_does_not(dragoman_, tmp_path):
    path, output = tmp_path / "messages", tmp_path / "out"
    path.write_bytes(b'msgid "A dog"\nmsgstr ""\n')
    assert dragoman_("translate", "m", path, "-o", output).code == 0
    assert 'msgstr "A DOG"' in output.read_text()


@pytest.fixture
def several(tmp_path: Path) -> Path:
    (tmp_path / "in").mkdir()
    for name in "abc":
        (tmp_path / "in" / f"{name}.txt").write_text(f"It has 5 {name}{name}s.\n")
    return tmp_path / "in"


def stop_at(translator: Pretend, word: str) -> None:
    """As Ctrl-C while a file with this word is translated; an empty word no longer stops it."""

    def change(one: str) -> str:
        if word and word in one:
            raise KeyboardInterrupt
        return one.replace("5", "6").upper()

    translator.change = change


def test_a_folder_goes_on_with_the_files_that_are_missing(dragoman_, translator, several, tmp_path):
    words = ("translate", "m", several, "-o", tmp_path / "out", "--report")
    whole = dragoman_(
        "translate", "m", several, "-o", tmp_path / "whole", "--report", tmp_path / "whole.jsonl"
    )
    stop_at(translator, "ccs")
    assert dragoman_(*words, tmp_path / "report.jsonl").code == 130
    before = (tmp_path / "out" / "a.txt").stat().st_mtime_ns
    (tmp_path / "out" / "b.txt").write_text("changed since\n")
    stop_at(translator, "aas")  # it must not translate the first again

    ended = dragoman_(*words, tmp_path / "report.jsonl")

    assert (ended.code, ended.err) == (0, whole.err.replace("whole.jsonl", "report.jsonl"))
    assert (tmp_path / "out" / "a.txt").stat().st_mtime_ns == before
    for name in ("a.txt", "b.txt", "c.txt"):
        assert (tmp_path / "out" / name).read_bytes() == (tmp_path / "whole" / name).read_bytes()
    assert (tmp_path / "report.jsonl").read_bytes() == (tmp_path / "whole.jsonl").read_bytes()
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["a.txt", "b.txt", "c.txt"]


def test_a_folder_that_was_begun_with_other_options_is_refused(dragoman_, translator, several, tmp_path):
    words = ("translate", "m", several, "-o", tmp_path / "out")
    stop_at(translator, "bbs")
    dragoman_(*words)
    stop_at(translator, "")

    ended = dragoman_(*words, "--beam", "2")
    assert ended.code == 2
    assert ".unfinished.jsonl: was begun with another --beam\n" in ended.err

    with (tmp_path / "out" / ".unfinished.jsonl").open("a") as file:
        file.write('{"source": "cut sh')  # by a crash
    assert dragoman_(*words).code == 0
    assert (tmp_path / "out" / "c.txt").read_text() == "IT HAS 6 CCS.\n"


def test_columns_of_a_table_are_chosen(dragoman_, tmp_path):
    table = tmp_path / "a.csv"
    table.write_text("word,de,more\none,,two\n")
    ended = dragoman_("translate", "m", table, "--column", "word", "--column", "3")
    assert (ended.code, ended.out) == (0, "word,de,more\nONE,,TWO\n")
    assert dragoman_("translate", "m", table, "--column", "word").out == "word,de,more\none,ONE,two\n"
    ended = dragoman_("translate", "m", table)
    assert (ended.code, ended.out) == (3, "")
    assert "hint: choose one with --column: 1 word, 2 de, 3 more" in ended.err
    (tmp_path / "a.po").write_text("")
    ended = dragoman_("translate", "m", tmp_path / "a.po", "--column", "1")
    assert "a column is chosen, but there is no table" in ended.err


def test_a_format_that_is_not_read_is_refused_by_its_name(dragoman_, tmp_path):
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.txt").write_text("One dog.\n")
    paper = tmp_path / "in" / "paper.pdf"
    paper.write_bytes(b"%PDF-1.7")
    ended = dragoman_("translate", "m", paper, "-o", tmp_path / "b.pdf")
    assert (ended.code, ended.out) == (3, "")
    assert "hint: convert it to .docx first" in ended.err
    report = tmp_path / "report.jsonl"
    ended = dragoman_("translate", "m", tmp_path / "in", "-o", tmp_path / "out", "--report", report)
    assert "1 file left out, not of a format to translate: " in ended.err
    [left] = map(json.loads, report.read_text().splitlines())
    assert left["reasons"][1:] == ["a PDF file: convert it to .docx first"]


def test_the_help_names_all_formats(dragoman_):
    text = " ".join(dragoman_("translate", "--help").out.split())
    formats = text.partition("--format FORMAT ")[2].partition(". [default")[0].replace(" (paragraphs)", "")
    assert formats.split(", ") == ["lines", *FORMATS]


def test_a_name_of_another_format_is_warned_of(dragoman_, tmp_path):
    (tmp_path / "a.md").write_text("A dog.\n")
    for name, warned in (("b.md", False), ("b.de", False), ("b", False), ("b.pdf", True), ("b.html", True)):
        ended = dragoman_("translate", "m", tmp_path / "a.md", "-o", tmp_path / name)
        assert ended.code == 0
        assert (f"{name}: it will be Markdown in spite of its name" in ended.err) is warned
        assert (tmp_path / name).read_text() == "A DOG.\n"


def test_a_folder_with_a_format_says_that_others_are_left_out(dragoman_, tmp_path):
    (tmp_path / "in").mkdir()
    for name in ("a.md", "b.html"):
        (tmp_path / "in" / name).write_text("A dog.\n")
    ended = dragoman_("translate", "m", tmp_path / "in", "-o", tmp_path / "out", "--format", "markdown")
    assert f"1 file left out, not Markdown: {tmp_path / 'in' / 'b.html'}\n" in ended.err
