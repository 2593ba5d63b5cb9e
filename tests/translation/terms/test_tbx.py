"""Lists of terms as TBX, in its forms."""

import pytest

from dragoman.base.errors import DataError
from dragoman.translation.terms.tbx import is_tbx, read

VERSION_2 = """<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE martif SYSTEM "TBXcoreStructV02.dtd">
<martif type="TBX" xml:lang="en"><martifHeader><fileDesc/></martifHeader><text><body>
<termEntry id="c1"><descrip type="definition">a <hi>view</hi></descrip>
<langSet xml:lang="en-US"><tig><term>print <hi>preview</hi></term></tig></langSet>
<langSet xml:lang="de"><tig><term>Seitenansicht</term><termNote type="administrativeStatus">deprecatedTerm-admn-sts</termNote></tig>
<ntig><termGrp><term>Vorschau</term><termNote type="partOfSpeech">noun</termNote></termGrp></ntig>
<tig><term>Druckvorschau</term><termNote type="administrativeStatus">preferredTerm-admn-sts</termNote></tig></langSet>
</termEntry>
<termEntry id="c2"><langSet xml:lang="en"><tig><term>folder</term></tig><tig><term>directory</term></tig></langSet>
<langSet xml:lang="fr"><tig><term>dossier</term></tig></langSet></termEntry>
<termEntry id="c3"><langSet xml:lang="en"><tig><term>A &amp; B</term></tig></langSet>
<langSet xml:lang="de-AT"><tig><term>A und B</term></tig></langSet></termEntry>
</body></text></martif>"""  # noqa: E501

VERSION_3 = """<tbx type="TBX-Basic" style="dct" xml:lang="en" xmlns="urn:iso:std:iso:30042:ed-2"
 xmlns:min="http://www.tbxinfo.net/ns/min"><tbxHeader/><text><body>
<conceptEntry id="c1">
<langSec xml:lang="en"><termSec><term>print preview</term></termSec></langSec>
<langSec xml:lang="de"><termSec><term>Seitenansicht</term><min:administrativeStatus>supersededTerm-admn-sts</min:administrativeStatus></termSec>
<termSec><term>Vorschau</term><min:administrativeStatus>admittedTerm-admn-sts</min:administrativeStatus></termSec>
<termSec><min:administrativeStatus>preferredTerm-admn-sts</min:administrativeStatus><term>Druckvorschau</term></termSec></langSec>
</conceptEntry></body></text></tbx>"""  # noqa: E501

MIN = """<TBX dialect="TBX-Min"><header/><body><entry id="1">
<langGroup xml:lang="en"><termGroup><term>print preview</term></termGroup></langGroup>
<langGroup xml:lang="de"><termGroup><term>Druckvorschau</term><termStatus>preferred</termStatus></termGroup>
<termGroup><term>Ansicht</term><termStatus>obsolete</termStatus></termGroup></langGroup></entry></body></TBX>"""


def pairs(text: str, source: str = "en", target: str = "de") -> list[tuple[str, str]]:
    return [*read(text.encode(), "terms.tbx", source, target)]


def test_version_2() -> None:
    assert pairs(VERSION_2) == [
        ("print preview", "Druckvorschau"), ("print preview", "Vorschau"), ("A & B", "A und B"),
    ]  # fmt: skip
    assert pairs(VERSION_2, "en", "fr") == [("folder", "dossier"), ("directory", "dossier")]


def test_terms_of_all_countries_are_read_as_the_source() -> None:
    language = '<langSet xml:lang="{}"><tig><term>{}</term></tig></langSet>'
    words = {"en-US": "color", "en-GB": "colour", "de-AT": "Farbton", "de": "Farbe"}
    entry = "".join(language.format(*one) for one in words.items())
    text = f"<martif><text><body><termEntry>{entry}</termEntry></body></text></martif>"
    assert pairs(text) == [("color", "Farbe"), ("colour", "Farbe")]
    assert pairs(text, "en-US", "en-GB") == [("color", "colour")]
    assert pairs(text, "de", "en-GB") == [("Farbton", "colour"), ("Farbe", "colour")]


def test_a_deprecated_term_may_be_the_source() -> None:
    assert ("Seitenansicht", "print preview") in pairs(VERSION_2, "de", "en")


def test_version_3() -> None:
    assert pairs(VERSION_3) == [("print preview", "Druckvorschau"), ("print preview", "Vorschau")]


def test_min() -> None:
    assert pairs(MIN) == [("print preview", "Druckvorschau")]


def test_utf_16() -> None:
    data = VERSION_3.encode("utf-16")
    assert is_tbx(data)
    assert len([*read(data, "terms.tbx", "en", "de")]) == 2


def test_what_is_tbx() -> None:
    assert is_tbx(VERSION_2.encode())
    assert is_tbx(b"\xef\xbb\xbf \n<martif/>")
    assert not is_tbx(b"a < b,c\n")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (VERSION_2.replace("</body>", ""), "terms.tbx:14: not valid XML"),
        ("<html><body/></html>", "terms.tbx:1: not a TBX file"),
        ('<!DOCTYPE tbx [\n<!ENTITY a "b">]><tbx>&a;</tbx>', "terms.tbx:2: .*entity"),
        (VERSION_2.replace("folder", "&other;"), "entity"),
        ("<tbx><text><body/></text></tbx>", "no terms"),
    ],
)
def test_errors_name_file_and_line(text: str, message: str) -> None:
    with pytest.raises(DataError, match=message):
        pairs(text)


@pytest.mark.parametrize("encoding", ["Shift_JIS", "foo", "hex"])
def test_encodings_that_cannot_be_read(encoding: str) -> None:
    with pytest.raises(DataError, match=r"terms\.tbx: .*encoding"):
        pairs(VERSION_2.replace("UTF-8", encoding))


def test_languages_that_are_missing() -> None:
    with pytest.raises(DataError, match="no concept has both en and zh; it has en-US, de, en, fr"):
        pairs(VERSION_2, "en", "zh")
