"""Repairs mend what is damaged, and leave healthy text of many scripts as it is."""

from __future__ import annotations

import pytest

from dragoman.data.repairs import REPAIRS

BY_NAME = {one.name: one.function for one in REPAIRS}
HEALTHY = [
    "A dog sleeps; the cat doesn’t.",
    "« Vraiment\u00a0? » dit-elle\u202f: oui\u00a0!",  # spaces that French needs
    "Für 5 € schläft Äneas im Ägäis-Hotel.",
    "他说：“你好，世界。”",
    "吾輩は猫である。\u3000名前はまだ無い。",
    "神\uf9a9\ufa19",  # characters of names, which have other composed forms
    "สวัสดี\u200bชาวโลก",  # U+200B divides words
    "می\u200cخواهم",  # and U+200C letters
    "👩\u200d👩\u200d👧 une famille",
    "Привет, мир — как дела?",
    "हिन्दी में लिखा है।",
    "Write `&amp;` for &.",
    "<p>5 &lt; 7</p>",
    "An ampersand is “&amp;” in HTML.",
    "R&D; that is all",
    "IRMÃ e MANHÃ",
    "Â, Ê and Ô are letters.",
    "“BOM DIA, IRMÃ”",
    "a palavra “LÃ”, e «VÂ»",
    "«SYNÐ“ og „ORÐ” eru orð",
    "&amp;lt; and &amp;nbsp; and &amp;amp;",
    "A &#38;lt; B and Q&AMP;amp;A",
]


@pytest.mark.parametrize("text", HEALTHY)
def test_healthy_text_stays(text: str) -> None:
    for one in REPAIRS:
        if one.is_on and one.name != "mojibake":
            assert one.function(text) == text, one.name


@pytest.mark.parametrize("text", HEALTHY)
def test_healthy_text_is_no_mojibake(text: str) -> None:
    pytest.importorskip("ftfy")
    assert BY_NAME["mojibake"](text) == text


@pytest.mark.parametrize(
    ("name", "text", "mended"),
    [
        ("entities", "AT&amp;T &#8211; &eacute;t&#xe9;", "AT&T – été"),
        ("entities", "&quot;A&nbsp;dog&quot;", '"A\u00a0dog"'),
        ("entities", "a&#10;b &nosuch; &#0;", "a&#10;b &nosuch; \ufffd"),
        ("unicode", "Fu\u0308r", "Für"),
        ("controls", "a\x00b\x1f\ufeff c\td\u2028e\x85f", "ab c d e f"),
        ("controls", "\x84Ja\x93", "„Ja“"),  # of Windows-1252
        ("soft-hyphens", "un\u00adwahr", "unwahr"),
        ("spaces", "  a  b ", "a b"),
        ("quotes", "„Ja“, it’s", '"Ja", it\'s'),
    ],
)
def test_damage_is_mended(name: str, text: str, mended: str) -> None:
    assert BY_NAME[name](text) == mended
    assert BY_NAME[name](mended) == mended


@pytest.mark.parametrize("text", ["Für Ägypten schön", "l’été à Nîmes", "Привет, мир"])
def test_a_wrong_decoding_is_undone(text: str) -> None:
    pytest.importorskip("ftfy")
    assert BY_NAME["mojibake"](text.encode().decode("latin-1")) == text


@pytest.mark.parametrize("text", ["“GRÖSSE”", "“ACCIÓN”", "IRMÃ” – für"])
def test_a_wrong_decoding_is_undone_beside_capitals(text: str) -> None:
    pytest.importorskip("ftfy")
    damaged = text.replace("Ö", "Ã–").replace("Ó", "Ã“").replace("ü", "Ã¼")
    assert BY_NAME["mojibake"](damaged) != damaged


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Haus\u00adtür", "Haustür"),
        ("Vor\u00ad und Nachteile", "Vor- und Nachteile"),
        ("Nord\u00adSüd", "Nord-Süd"),
        ("UNO\u00adBericht", "UNO-Bericht"),
        ("HAUS\u00adTÜR", "HAUSTÜR"),
        ("\u00adam Anfang\u00ad", "am Anfang"),
    ],
)
def test_a_soft_hyphen_may_stand_for_a_hyphen(text: str, expected: str) -> None:
    (repair,) = (one for one in REPAIRS if one.name == "soft-hyphens")
    assert repair.function(text) == expected
