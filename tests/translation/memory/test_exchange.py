"""Memories in and out of files, which an independent reader reads."""

from __future__ import annotations

import gzip
from datetime import UTC, datetime
from pathlib import Path
from xml.etree import ElementTree

import pytest

from dragoman.base.errors import ConfigError, DataError
from dragoman.translation.memory import exchange
from dragoman.translation.memory.exchange import (
    export_memory,
    import_memory,
    is_exchanged,
    languages_of,
    open_memory,
)
from dragoman.translation.memory.store import TranslationMemory
from dragoman.translation.memory.store_file import Remembered

LANG = "{http://www.w3.org/XML/1998/namespace}lang"
WHEN = datetime(2024, 2, 28, 12, 30, 1, tzinfo=UTC)
PAIRS = [
    Remembered("Row", "Reihe", WHEN, WHEN, "Ada", "old.po", "of a table", 3),
    Remembered('A <b>"bold"</b> & %s', "Ein <b>\u201efettes\u201c</b> & %s", WHEN, WHEN.replace(year=2025)),
    Remembered("Row", "Zeile", WHEN, WHEN.replace(year=2026), "Bob"),
]


def made(path: Path) -> TranslationMemory:
    return TranslationMemory.create(path, source_language="en", target_language="de")


def test_tmx_is_read_by_others(tmp_path: Path) -> None:
    with made(tmp_path / "a.tm") as memory:
        memory.extend(PAIRS)
        assert export_memory(memory, tmp_path / "a.tmx") == 3
    root = ElementTree.parse(tmp_path / "a.tmx").getroot()
    header = root.find("header")
    assert header is not None
    assert (root.tag, root.get("version"), header.get("srclang")) == ("tmx", "1.4", "en")
    units = root.findall("body/tu")
    assert [{tuv.get(LANG): tuv.findtext("seg") for tuv in unit.findall("tuv")} for unit in units] == [
        {"en": pair.source, "de": pair.target} for pair in PAIRS
    ]
    assert units[0].attrib == {
        "creationdate": "20240228T123001Z", "changedate": "20240228T123001Z", "changeid": "Ada",
        "usagecount": "3",
    }  # fmt: skip
    assert units[0].findtext("note") == "of a table"
    assert [child.tag for child in units[0]] == ["note", "prop", "tuv", "tuv"]  # the order of the DTD


def test_tmx_comes_back_as_it_was(tmp_path: Path) -> None:
    with made(tmp_path / "a.tm") as memory, made(tmp_path / "b.tm") as other:
        memory.extend(PAIRS)
        export_memory(memory, tmp_path / "a.tmx")
        added = import_memory(other, [tmp_path / "a.tmx"])
        assert (added.new, added.known, added.blank) == (3, 0, 0)
        expected = list(memory.pairs())
        assert expected[0] == PAIRS[0]
        found = list(other.pairs())
        assert found[0] == expected[0]
        assert [(one.source, one.target, one.changed, one.author) for one in found] == [
            (one.source, one.target, one.changed, one.author) for one in expected
        ]
        assert other.exact("Row") == memory.exact("Row")
        again = import_memory(other, [tmp_path / "a.tmx"])
        assert (again.new, again.known) == (0, 3)


@pytest.mark.parametrize("date", ["", "20240230T000000Z", "yesterday", "99999999T999999Z"])
def test_a_wrong_date_is_left_out(tmp_path: Path, date: str) -> None:
    unit = '<tu changedate="{}" usagecount="many"><tuv xml:lang="en-US"><seg>Row</seg></tuv>'
    unit += '<tuv xml:lang="de" changedate="{}"><seg>Zeile</seg></tuv></tu>'
    body = unit.format(date, date)
    (tmp_path / "a.tmx").write_text(f'<tmx version="1.4"><header/><body>{body}</body></tmx>')
    with made(tmp_path / "a.tm") as memory:
        assert import_memory(memory, [tmp_path / "a.tmx"], author="Ada").new == 1
        (one,) = memory.pairs()
    assert one.changed is not None
    assert (datetime.now(UTC) - one.changed).total_seconds() < 60
    assert (one.used, one.author, one.origin) == (0, "Ada", "a.tmx")


def test_tsv_and_two_files_are_read(tmp_path: Path) -> None:
    (tmp_path / "a.tsv").write_text("Row\tZeile\nCell\tZelle\n\tleer\n")
    (tmp_path / "a.en").write_text("Row\nColumn\n")
    with gzip.open(tmp_path / "a.de.gz", "wt") as file:
        file.write("Zeile\nSpalte\n")
    with made(tmp_path / "a.tm") as memory:
        added = import_memory(memory, [tmp_path / "a.tsv"])
        assert (added.new, added.blank) == (2, 1)
        added = import_memory(memory, [tmp_path / "a.en", tmp_path / "a.de.gz"])
        assert (added.new, added.known) == (1, 1)
        assert export_memory(memory, tmp_path / "b.tsv") == 3
    assert (tmp_path / "b.tsv").read_text() == "Row\tZeile\nCell\tZelle\nColumn\tSpalte\n"
    assert languages_of([tmp_path / "a.en", tmp_path / "a.de.gz"]) == ("en", "de")
    assert languages_of([tmp_path / "a.tsv"], ("fr", None)) == ("fr", None)


def test_a_tab_or_line_end_is_a_space_in_tsv(tmp_path: Path) -> None:
    with made(tmp_path / "a.tm") as memory:
        memory.add("a\tb", "c\nd")
        export_memory(memory, tmp_path / "a.tsv")
    assert (tmp_path / "a.tsv").read_text() == "a b\tc d\n"


def test_a_wrong_place_is_refused_and_leaves_the_file(tmp_path: Path) -> None:
    (tmp_path / "a.tmx").write_text("old")
    with made(tmp_path / "a.tm") as memory:
        with pytest.raises(ConfigError, match="neither"):
            export_memory(memory, tmp_path / "a.csv")
        memory.close()
        (tmp_path / "a.tm").write_bytes(b"A dog.\n" * 200)
        with pytest.raises(DataError):
            export_memory(memory, tmp_path / "a.tmx")
    assert (tmp_path / "a.tmx").read_text() == "old"


def test_pairs_that_come_back_with_single_spaces_are_known(tmp_path: Path) -> None:
    with made(tmp_path / "a.tm") as memory:
        memory.extend([Remembered("Line one\nLine  two", "Zeile eins\n\tZeile  zwei")])
        export_memory(memory, tmp_path / "a.tmx")
        again = import_memory(memory, [tmp_path / "a.tmx"])

        assert (again.new, again.known) == (0, 1)
        assert [pair.target for pair in memory.pairs()] == ["Zeile eins\n\tZeile  zwei"]


def test_what_xml_forbids_is_a_space_in_tmx(tmp_path: Path) -> None:
    with made(tmp_path / "a.tm") as memory:
        memory.add("a\fb", "c\vd", author="A\x01", note="\x02n\ufffe")
        assert export_memory(memory, tmp_path / "a.tmx") == 1
    with made(tmp_path / "b.tm") as memory:
        import_memory(memory, [tmp_path / "a.tmx"])
        (one,) = memory.pairs()
    assert (one.source, one.target, one.author, one.note) == ("a b", "c d", "A ", "n")


def test_damage_keeps_what_comes_before_it(tmp_path: Path) -> None:
    (tmp_path / "a.tsv").write_text("Row\tZeile\nonly one\n")
    with made(tmp_path / "a.tm") as memory, pytest.raises(DataError, match=r"a\.tsv:2"):
        import_memory(memory, [tmp_path / "a.tsv"])


def test_a_small_file_is_a_memory_for_a_while(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.tsv"
    path.write_text("Row\tZeile\nCell\tZelle\n")
    with open_memory(path, ("en", "de")) as memory:
        folder = memory.path.parent
        assert memory.exact("Row") is not None
        assert (memory.source_language, memory.target_language) == ("en", "de")
    del memory
    assert not folder.exists()
    monkeypatch.setattr(exchange, "_SMALL", 1)
    with pytest.raises(DataError, match="more than 1 pairs") as caught:
        open_memory(path, ("en", "de"))
    assert caught.value.hint == f"import it once: dragoman memory import a.tm {path}"


def test_a_store_is_opened_as_it_is(tmp_path: Path) -> None:
    made(tmp_path / "a.tm").close()
    assert not is_exchanged(tmp_path / "a.tm")
    with open_memory(tmp_path / "a.tm", ("en", "de")) as memory:
        assert memory.path == tmp_path / "a.tm"
    for name, hint in (("b.tmx", "check the path"), ("b.tm", "make one: dragoman memory import ")):
        with pytest.raises(DataError, match="no such translation memory") as error:
            is_exchanged(tmp_path / name)
        assert str(error.value.hint).startswith(hint)


def test_a_memory_and_a_file_may_spell_their_languages_differently(tmp_path: Path) -> None:
    path = tmp_path / "a.tmx"
    with TranslationMemory.create(tmp_path / "a.tm", source_language="eng", target_language="deu") as memory:
        memory.add("Row", "Zeile")
        export_memory(memory, path)
    with open_memory(path, ("en", "de")) as memory:
        assert memory.exact("Row") is not None
    TranslationMemory.create(tmp_path / "a.tm", source_language="en", target_language="de").close()
    with pytest.raises(ConfigError, match="is from eng to deu, not from en to fr"):
        TranslationMemory.create(tmp_path / "a.tm", source_language="en", target_language="fr")
    with pytest.raises(ConfigError, match="a memory from 'de' to 'deu'"):
        TranslationMemory.create(tmp_path / "b.tm", source_language="de", target_language="deu")


def test_the_first_years_have_four_digits(tmp_path: Path) -> None:
    unset = datetime(1, 1, 1, tzinfo=UTC)
    with made(tmp_path / "a.tm") as memory, made(tmp_path / "b.tm") as other:
        memory.extend([Remembered("Row", "Alt", unset, unset), Remembered("Row", "Reihe", WHEN, WHEN)])
        export_memory(memory, tmp_path / "a.tmx")
        import_memory(other, [tmp_path / "a.tmx"])
        assert 'changedate="00010101T000000Z"' in (tmp_path / "a.tmx").read_text()
        assert [pair.target for pair in other.pairs()] == [pair.target for pair in memory.pairs()]
