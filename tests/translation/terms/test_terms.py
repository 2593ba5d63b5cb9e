"""Lists of terms, the guidance they give, and which of them a translation has not."""

from pathlib import Path

import pytest

from dragoman.base.errors import DataError
from dragoman.text.guidance import Guidance, Note, SourcePhrase
from dragoman.translation.terms.terms import Term, TermGuide, TermList, places_of, unused_terms

PREVIEW = Term("print preview", ("Druckvorschau", "Seitenvorschau"))
OPEN = Term("open", ("öffnen",))


@pytest.fixture
def terms() -> TermList:
    return TermList([PREVIEW, OPEN, Term("PDF", ("PDF-Datei",))], "en", "de")


def test_a_file_says_what_it_is(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("open,öffnen\nprint  preview,Druckvorschau|Seitenvorschau\nopen,aufmachen\n")
    assert TermList.read(tmp_path / "a", "en", "de").terms == (Term("open", ("öffnen", "aufmachen")), PREVIEW)
    (tmp_path / "b").write_text(
        '<tbx><text><body><conceptEntry><langSec xml:lang="en"><termSec><term>open</term></termSec></langSec>'
        '<langSec xml:lang="de"><termSec><term>öffnen</term></termSec></langSec>'
        "</conceptEntry></body></text></tbx>"
    )
    assert TermList.read(tmp_path / "b", "en", "de").terms == (OPEN,)


def test_a_list_needs_terms(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("source,target\n")
    with pytest.raises(DataError, match=r"a\.csv"):
        TermList.read(tmp_path / "a.csv", "en", "de")


@pytest.mark.parametrize("term", [Term("", ("a",)), Term("a", ()), Term("a", ("b", " "))])
def test_empty_terms_are_refused(term: Term) -> None:
    with pytest.raises(DataError, match="empty"):
        TermList([term], "en", "de")


def test_soft(terms: TermList) -> None:
    line = "Open the print previews and PRINT PREVIEW."
    (guidance,) = TermGuide(terms, "soft", reads=True).guide([line])
    assert guidance == Guidance(
        notes=(Note(0, 4, "öffnen"), Note(9, 23, "Druckvorschau"), Note(28, 41, "DRUCKVORSCHAU")),
        terms=(OPEN.targets, PREVIEW.targets, PREVIEW.targets),
    )


def test_hard(terms: TermList) -> None:
    (guidance, nothing) = TermGuide(terms, "hard", reads=False).guide(
        ["Open an open print preview.", "No term."]
    )
    assert guidance == Guidance(
        phrases=(
            SourcePhrase(0, 4, ("öffnen",)),
            SourcePhrase(8, 12, ("öffnen",)),
            SourcePhrase(13, 26, PREVIEW.targets),
        ),
        terms=(OPEN.targets, OPEN.targets, PREVIEW.targets),
    )
    assert nothing is None


def test_hard_terms_are_read_too(terms: TermList) -> None:
    (guidance,) = TermGuide(terms, "hard", reads=True).guide(["Open print preview."])
    assert guidance == Guidance(
        notes=(Note(0, 4, "öffnen"), Note(5, 18, "Druckvorschau")),
        phrases=(SourcePhrase(0, 4, ("öffnen",)), SourcePhrase(5, 18, PREVIEW.targets)),
        terms=(OPEN.targets, PREVIEW.targets),
    )


def test_a_term_in_capitals_stays_as_it_is(terms: TermList) -> None:
    (guidance,) = TermGuide(terms, "soft", reads=True).guide(["A PDF"])
    assert guidance is not None
    assert guidance.notes == (Note(2, 5, "PDF-Datei"),)


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("Die Druckvorschau öffnen.", ()),
        ("In Druckvorschauen: öffnen", ()),
        ("ÖFFNEN SIE DIE SEITENVORSCHAU", ()),
        ("Öffnet die Vorschau.", ("öffnen", "Druckvorschau")),
        ("Druckvorschaufenster öffnen", ("Druckvorschau",)),
        ("", ("öffnen", "Druckvorschau")),
    ],
)
def test_unused(text: str, left: tuple[str, ...]) -> None:
    assert unused_terms(text, (OPEN.targets, PREVIEW.targets), "de") == left


def test_a_term_counts_as_often_as_the_source_has_it() -> None:
    twice = [PREVIEW.targets, OPEN.targets, PREVIEW.targets]
    assert unused_terms("Die Druckvorschau öffnen.", twice, "de") == ("Druckvorschau",)
    assert unused_terms("Seitenvorschau und Druckvorschau öffnen.", twice, "de") == ()


def test_places() -> None:
    text = "Die Seitenvorschauen, „Druckvorschau“!"
    assert [text[a:b] for a, b in places_of(text, PREVIEW.targets, "de")] == [
        "Seitenvorschauen", "Druckvorschau",
    ]  # fmt: skip
    assert places_of("打印和打印", ["打印"], "zh") == [(0, 2), (3, 5)]
    assert places_of("a a a a", ["a a a", "a", "a a"], "de") == [(0, 5), (6, 7)]
    assert places_of("", PREVIEW.targets, "de") == []


def test_unused_compares_all_words() -> None:
    assert unused_terms("บันทึกไฟล์นี้", [("ไฟล์",), ("แฟ้ม",)], "th") == ("แฟ้ม",)
    assert unused_terms("Ouvrir l\u2019aperçu\u00a0avant impression", [("l'aperçu avant",)], "fr") == ()
    terms = [("geschützter Bereich",), ("打印",)]
    assert unused_terms("des geschützten Bereichs 和打印", terms, "de") == ()
    assert unused_terms("geschützter großer Bereich 打的印", terms, "de") == ("geschützter Bereich", "打印")
