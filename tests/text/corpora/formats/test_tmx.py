"""Translation memories: what becomes a pair, what is refused, and that writing and reading agree."""

from __future__ import annotations

import gzip
import io
import tracemalloc
from pathlib import Path
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.base.errors import ConfigError, DataError
from dragoman.text.corpora.corpus import open_corpus
from dragoman.text.corpora.formats import tmx
from dragoman.text.corpora.formats.tmx import read_units, write_units
from dragoman.text.corpora.lines import Line, TextFile, kept_file

DOCTYPE = '<?xml version="1.0"?>\n<!DOCTYPE tmx SYSTEM "tmx14.dtd">\n'
HEAD = f'{DOCTYPE}<tmx version="1.4"><header srclang="en"/><body>'
TAIL = "</body></tmx>"


def unit(**segments: str) -> str:
    variants = "".join(f'<tuv xml:lang="{code}"><seg>{text}</seg></tuv>' for code, text in segments.items())
    return f"<tu>{variants}</tu>"


def put(folder: Path, body: str, *, name: str = "m.tmx", encoding: str = "utf-8") -> Path:
    path = folder / name
    path.write_bytes((HEAD + body + TAIL).encode(encoding))
    return path


def pairs(path: Path, source: str = "en", target: str = "de") -> list[tuple[str, str]]:
    return [(line.source, line.target) for line in open_corpus([path], languages=(source, target))]


def problem(path: Path, source: str = "en", target: str = "de") -> str:
    with pytest.raises(DataError) as caught:
        pairs(path, source, target)
    assert caught.value.hint
    return str(caught.value)


def test_a_unit_is_a_pair_with_its_line(tmp_path: Path) -> None:
    path = put(tmp_path, "\n" + unit(en="A dog.", de="Ein Hund.") + "\n" + unit(de="Ja.", en="Yes."))

    assert list(open_corpus([path], languages=("en", "de"))) == [
        Line(4, "A dog.", "Ein Hund."),
        Line(5, "Yes.", "Ja."),
    ]


def test_the_file_says_its_languages_and_srclang_is_the_source(tmp_path: Path) -> None:
    corpus = open_corpus([put(tmp_path, unit(**{"de-DE": "Ja.", "en-US": "Yes."}))])

    assert (corpus.source_language, corpus.target_language) == ("en-US", "de-DE")
    assert [line[1:3] for line in corpus] == [("Yes.", "Ja.")]


def test_either_direction_can_be_read(tmp_path: Path) -> None:
    assert pairs(put(tmp_path, unit(en="Yes.", de="Ja.")), "de", "en") == [("Ja.", "Yes.")]


@pytest.mark.parametrize(
    ("wanted", "chosen"),
    [("pt-BR", "Brasil"), ("pt", "Portugal"), ("pt-AO", "Portugal"), ("pt_br", "Brasil")],
)
def test_the_closest_language_is_taken(tmp_path: Path, wanted: str, chosen: str) -> None:
    path = put(tmp_path, unit(**{"EN": "x", "pt-PT": "Portugal", "pt-BR": "Brasil"}))

    assert pairs(path, "en-GB", wanted) == [("x", chosen)]


def test_codes_of_three_letters_are_those_of_two(tmp_path: Path) -> None:
    path = put(tmp_path, unit(eng="Yes.", ger="Ja.", fra="Oui."))

    assert pairs(path, "en", "de") == [("Yes.", "Ja.")]
    assert pairs(path, "en-GB", "fr") == [("Yes.", "Oui.")]


def test_one_segment_is_not_both_sides(tmp_path: Path) -> None:
    body = unit(**{"en": "Colour", "pt-BR": "Cor"}) + unit(**{"pt-PT": "Ecrã", "pt-BR": "Tela"})

    assert pairs(put(tmp_path, body), "pt-PT", "pt-BR") == [("Ecrã", "Tela")]


def test_units_without_both_languages_are_passed_over(tmp_path: Path) -> None:
    body = unit(en="a", fr="b") + unit(en="Yes.", de="Ja.") + unit(de="c") + "<tu/>"

    assert pairs(put(tmp_path, body)) == [("Yes.", "Ja.")]


def test_other_languages_are_an_error_that_names_them(tmp_path: Path) -> None:
    assert "no unit has both en and de; it has en, fr" in problem(put(tmp_path, unit(en="a", fr="b")))
    assert "it has no segments" in problem(put(tmp_path, ""))


def test_three_languages_need_to_be_chosen_from(tmp_path: Path) -> None:
    corpus = open_corpus([put(tmp_path, unit(en="a", fr="b", de="c"))])

    with pytest.raises(ConfigError, match="which of its languages"):
        list(corpus)


@pytest.mark.parametrize(
    ("segment", "text"),
    [
        ('Press <bpt i="1">&lt;b&gt;</bpt>OK<ept i="1">&lt;/b&gt;</ept>.', "Press OK."),
        ("Copy <ph>%s</ph> to <ph>{path}</ph>.", "Copy %s to {path}."),
        ("One<ph>&lt;br/&gt;</ph>two", "Onetwo"),
        ("A <hi>bright <hi>red</hi></hi> dot", "A bright red dot"),
        ("Note<ph>&lt;fn&gt;<sub>a footnote %s</sub></ph>.", "Note."),
        ("<it pos='begin'>{\\b</it>Bold", "Bold"),
        ("two\n  lines\tand &amp; more", "two lines and & more"),
        ("hard\u00a0space <![CDATA[<x>]]>", "hard\u00a0space <x>"),
    ],
)
def test_inline_codes_are_left_out_and_placeholders_stay(tmp_path: Path, segment: str, text: str) -> None:
    assert pairs(put(tmp_path, unit(en=segment, de="x"))) == [(text, "x")]


def test_a_translation_of_ours_that_nobody_confirmed_is_left_out(tmp_path: Path) -> None:
    machine = '<tu><tuv xml:lang="en"><seg>Yes.</seg></tuv><tuv xml:lang="de"><prop type="dragoman">x</prop>'
    body = machine + "<seg>Jein.</seg></tuv></tu>" + unit(en="No.", de="Nein.")

    assert pairs(put(tmp_path, body)) == [("No.", "Nein.")]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_encodings(tmp_path: Path, encoding: str) -> None:
    assert pairs(put(tmp_path, unit(en="é", de="ß"), encoding=encoding)) == [("é", "ß")]


def test_a_gzipped_file(tmp_path: Path) -> None:
    path = tmp_path / "m.tmx.gz"
    path.write_bytes(gzip.compress(put(tmp_path, unit(en="a", de="b")).read_bytes()))

    assert pairs(path) == [("a", "b")]


def test_a_damaged_gzip_file(tmp_path: Path) -> None:
    packed = gzip.compress(put(tmp_path, unit(en="a", de="b") * 1000).read_bytes())
    path = tmp_path / "m.tmx.gz"
    for damaged in (packed[:-20], packed[:20] + bytes(20) + packed[40:], packed[:-8] + bytes(8)):
        path.write_bytes(damaged)
        assert problem(path) == f"{path}: a damaged gzip file"


@pytest.mark.parametrize("encoding", ["gb2312", "shift_jis", "foo-bar"])
def test_an_encoding_that_cannot_be_read(tmp_path: Path, encoding: str) -> None:
    path = tmp_path / "m.tmx"
    path.write_text(f'<?xml version="1.0" encoding="{encoding}"?>\n<tmx><body/></tmx>')

    assert problem(path).startswith(f"{path}: ")
    assert "encoding" in problem(path)


def test_entities_are_refused(tmp_path: Path) -> None:
    bomb = '<!DOCTYPE tmx [<!ENTITY a "ha"><!ENTITY b "&a;&a;">]><tmx><body/></tmx>'
    outside = '<!DOCTYPE tmx [<!ENTITY x SYSTEM "file:///etc/passwd">]><tmx><body>&x;</body></tmx>'
    for text in (bomb, outside, HEAD + unit(en="&nbsp;", de="x") + TAIL):
        (tmp_path / "m.tmx").write_text(text)
        assert "entity" in problem(tmp_path / "m.tmx")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "not valid XML"),
        ("A dog.", "not valid XML"),
        ("<xliff/>", "not a TMX file: it begins with <xliff>"),
        (HEAD + "<tu>", "not valid XML"),
        (HEAD + unit(en="a" * (1 << 22), de="b") + TAIL, "a unit of more than"),
    ],
)
def test_what_is_not_tmx(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "m.tmx").write_text(text)

    assert message in problem(tmp_path / "m.tmx")


def test_a_missing_file(tmp_path: Path) -> None:
    assert "no such file" in problem(tmp_path / "m.tmx")


def test_memory_does_not_grow_with_the_file(tmp_path: Path) -> None:
    path = put(tmp_path, unit(en="A dog sleeps.", de="Ein Hund schläft.") * 20_000)
    assert path.stat().st_size > 2_000_000

    tracemalloc.start()
    count = sum(1 for _ in open_corpus([path], languages=("en", "de")))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()

    assert count == 20_000
    assert peak < 1_500_000


XML_TEXT = st.text(
    st.characters(exclude_categories=["Cs", "Cc"], exclude_characters="\ufffe\uffff"), max_size=20
).map(lambda text: " ".join(text.split(" ")).strip(" "))


@given(st.lists(st.tuples(XML_TEXT, XML_TEXT), min_size=1, max_size=5))
def test_what_is_written_is_read_again(tmp_path_factory: pytest.TempPathFactory, written: list) -> None:
    import re

    written = [tuple(re.sub(" +", " ", side) for side in pair) for pair in written]
    file = io.StringIO()
    tmx.write_units(file, ((*pair, {}) for pair in written), source="en", target="de-AT")
    path = tmp_path_factory.mktemp("m") / "m.tmx"
    path.write_text(file.getvalue(), encoding="utf-8", newline="")

    assert [line[1:3] for line in tmx.read(TextFile("m", path), ("en", "de"))] == written
    segments = [one.text or "" for one in ElementTree.parse(path).iter("seg")]
    assert segments == [side for pair in written for side in pair]


def test_a_character_that_xml_cannot_hold_is_not_written() -> None:
    with pytest.raises(DataError, match=r"pair 2: .*U\+0007"):
        tmx.write_units(io.StringIO(), [("a", "b", {}), ("c", "\a", {})], source="en", target="de")


def test_what_is_known_of_a_unit_is_written_and_read(tmp_path: Path) -> None:
    about = {
        "creationdate": "20240228T123001Z",
        "changedate": "20250228T123001Z",
        "changeid": 'Ada "A" <a&b>\n2',
        "usagecount": "3",
        "note": "of <a> table",
        "origin": "app.po",
    }
    path = tmp_path / "a.tmx"
    with path.open("w", encoding="utf-8") as file:
        write_units(file, [("Row", "Zeile", about), ("Cell", "Zelle", {})], source="en", target="de")
    (first, *pair), (second, *other) = read_units(kept_file(path), ("en", "de"))
    assert (first.about, pair) == (about, ["Row", "Zeile"])
    assert (second.about, other) == ({}, ["Cell", "Zelle"])


def test_dates_may_stand_at_the_variants(tmp_path: Path) -> None:
    path = tmp_path / "a.tmx"
    path.write_text(
        '<tmx version="1.4"><header/><body><tu creationid="Ada" changedate="1"><note>a</note><note>b</note>'
        '<prop type="x">no</prop><tuv xml:lang="en"><seg>Row</seg></tuv>'
        '<tuv xml:lang="de" changedate="2"><note>c</note><seg>Zeile</seg></tuv></tu></body></tmx>'
    )
    ((unit, source, target),) = read_units(kept_file(path), ("en", "de"))
    assert unit.about == {"creationid": "Ada", "changedate": "2", "note": "a"}
    assert (source, target) == ("Row", "Zeile")


def test_dates_of_other_languages_are_left_out(tmp_path: Path) -> None:
    path = tmp_path / "a.tmx"
    path.write_text(
        '<tmx version="1.4"><header/><body><tu creationid="Ada">'
        '<tuv xml:lang="de-DE" changedate="2" changeid="Bob"><note>of a table</note><seg>Zeile</seg></tuv>'
        '<tuv xml:lang="en" changedate="1" usagecount="4"><seg>Row</seg></tuv>'
        '<tuv xml:lang="fr" changedate="3" changeid="Cyd"><note>fr</note><seg>Ligne</seg></tuv>'
        '<tuv xml:lang="de-DE" changedate="5"><seg>Reihe</seg></tuv></tu></body></tmx>'
    )
    ((unit, *_),) = read_units(kept_file(path), ("en", "de"))
    assert unit.about == {
        "creationid": "Ada", "changedate": "2", "changeid": "Bob", "usagecount": "4", "note": "of a table",
    }  # fmt: skip


def test_units_that_the_parser_keeps_back_until_the_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Versions of expat from 2.6 on do so after a long token."""
    parts: list[bytes] = []
    feed = tmx._Reader.feed

    def late(reader: tmx._Reader, data: bytes, *, final: bool) -> None:
        parts.append(data)
        feed(reader, b"".join(parts) if final else b"", final=final)

    monkeypatch.setattr(tmx._Reader, "feed", late)
    path = put(tmp_path, unit(en="a", de="b") + unit(en="c", de="d"))
    assert pairs(path) == [("a", "b"), ("c", "d")]
