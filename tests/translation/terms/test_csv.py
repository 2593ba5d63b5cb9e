"""Lists of terms as CSV."""

from pathlib import Path

import pytest

from dragoman.base.errors import DataError
from dragoman.translation.terms.csv import content_of, read

GOOD = [("print preview", "Druckvorschau"), ("file", "Datei")]


def pairs(text: str | bytes, source: str = "en", target: str = "de") -> list[tuple[str, str]]:
    return [*read(text if isinstance(text, bytes) else text.encode(), "terms.csv", source, target)]


@pytest.mark.parametrize(
    "text",
    [
        "print preview,Druckvorschau\nfile,Datei\n",
        "print preview;Druckvorschau\r\nfile;Datei",
        "print preview\tDruckvorschau\nfile\tDatei\n",
        "source,target,note\nprint preview,Druckvorschau,\nfile,Datei,x\n",
        "Note;Target;Source\n;Druckvorschau;print preview\nx;Datei;file\n",
        '"print preview","Druckvorschau"\n\n\n" file ", Datei\n',
        "de,fr,en-US\nDruckvorschau,,print preview\nDatei,fichier,file\n,x,folder\nOrdner,,\n",
        "print preview,Druckvorschau,a;b\nfile,Datei,c\n",
    ],
)
def test_forms_of_a_list(text: str) -> None:
    assert pairs(text) == GOOD


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16"])
def test_byte_order_marks(encoding: str) -> None:
    assert pairs("öffnen;to open\n".encode(encoding), "de", "en") == [("öffnen", "to open")]


def test_alternatives_and_quotes() -> None:
    assert pairs('save,speichern|sichern\nsave,ablegen\n"a, ""b""",c\n') == [
        ("save", "speichern"), ("save", "sichern"), ("save", "ablegen"), ('a, "b"', "c"),
    ]  # fmt: skip


def test_the_mark_between_translations_may_be_one() -> None:
    assert pairs("pipe,|\nor,||\n") == [("pipe", "|"), ("or", "||")]


def test_composed_characters() -> None:
    assert pairs("o\u0308ffnen,open") == [("öffnen", "open")]


def test_terms_that_look_like_a_header() -> None:
    assert pairs("source,Quelle\ntarget,Ziel\n") == [("source", "Quelle"), ("target", "Ziel")]


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"file,Datei\nfolder,\n", "terms.csv:2: no translation"),
        (b"file,Datei\n,Ordner\n", "terms.csv:2: no term"),
        (b"file\n", "terms.csv:1: no translation"),
        ("a,b\nöffnen,open\n".encode("latin-1"), "terms.csv:2: not valid UTF-8"),
        (b"\xff\xfea\x00b", "terms.csv: not valid UTF-16"),
        (b"a,b\nc\0,d", "terms.csv:2: a NUL"),
        (b'a,b\n"c,d\n', "terms.csv:2: not valid CSV"),
        (b"en,fr\nfile,fichier\n", "columns for en, fr, but not for both en and de"),
    ],
)
def test_errors_name_file_and_line(data: bytes, message: str) -> None:
    with pytest.raises(DataError, match=message):
        pairs(data)


def test_files_that_are_no_list(tmp_path: Path) -> None:
    (tmp_path / "empty.csv").write_bytes(b" \n")
    for name, message in {"none.csv": "no such file", "empty.csv": "empty", ".": "a folder"}.items():
        with pytest.raises(DataError, match=message):
            content_of(tmp_path / name)


def test_an_invisible_term_is_named_by_its_line() -> None:
    with pytest.raises(DataError, match="terms.csv:2: no term"):
        pairs("file,Datei\n\u00ad,x\n")
