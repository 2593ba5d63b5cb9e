from __future__ import annotations

import pytest

from dragoman.base.language_table import GROUPS, LANGUAGES
from dragoman.base.languages import canonical, closest, language_name, related, same, tags_by_code


@pytest.mark.parametrize(
    ("written", "code"),
    [
        ("de", "de"),
        ("DE", "de"),
        ("deu", "de"),
        ("ger", "de"),
        ("EN-US", "en-US"),
        ("en_GB", "en-GB"),
        ("pt-br", "pt-BR"),
        ("pb", "pt-BR"),
        ("zh-Hans", "zh-Hans"),
        ("ZH_HANT", "zh-Hant"),
        ("zt", "zh-Hant"),
        ("zh-TW", "zh-Hant"),
        ("zh_CN", "zh-Hans"),
        ("zho_Hans", "zh-Hans"),
        ("sr-Latn-RS", "sr-Latn-RS"),
        ("es-419", "es-419"),
        ("iw", "he"),
        ("German", "de"),
        ("scottish gaelic", "gd"),
        ("de_DE.UTF-8", "de-DE"),
        ("sr_RS@latin", "sr-Latn-RS"),
        ("zh-yue", "yue"),
        ("cmn_Hans_CN", "zh-Hans"),
        ("prs", "fa-AF"),
        ("nb", "nb"),
        (" fr ", "fr"),
        ("ca-valencia", "ca"),
        ("", ""),
        ("<b>", "<b>"),
        ("Volapük", "vo"),
    ],
)
def test_codes_have_one_form(written: str, code: str) -> None:
    assert canonical(written) == code
    assert canonical(code) == code


@pytest.mark.parametrize(
    ("code", "name"),
    [
        ("de", "German"),
        ("deu", "German"),
        ("nb", "Norwegian Bokmål"),
        ("ii", "Nuosu"),
        ("zh-Hans", "Chinese (simplified)"),
        ("pt-BR", "Portuguese (Brazil)"),
        ("sr-Latn-RS", "Serbian (Latin, RS)"),
        ("xx", "xx"),
        ("ceb", "Cebuano"),
        ("arb", "Arabic"),
    ],
)
def test_languages_have_english_names(code: str, name: str) -> None:
    assert language_name(code) == name


@pytest.mark.parametrize("spelling", ["de", "deu", "ger", "de-AT", "de_DE", "DE", "German", "german"])
def test_one_language_has_many_spellings(spelling: str) -> None:
    assert same(spelling, "de")
    assert not same(spelling, "en")


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        ("en", "en", True),
        ("en", "EN-us", True),
        ("pt_BR", "pt-PT", True),
        ("en", "de", False),
        ("nb", "no", True),
        ("eng_Latn", "en", True),
        ("nn", "nb", True),
        ("cmn", "zh-TW", True),
        ("prs", "fa", True),
        ("fr", "deu", False),
        ("de", "eng", False),
        ("ckb", "ku", False),
        ("und", "de", True),
        ("", "de", True),
        ("roa", "fr", True),
        ("ROMANCE", "fr", True),
        ("eng", "deu", False),
    ],
)
def test_related(one: str, other: str, expected: bool) -> None:
    assert related(one, other) is expected
    assert related(other, one) is expected


@pytest.mark.parametrize(
    ("wanted", "tags", "expected"),
    [
        ("en", ["de", "en-US", "en"], "en"),
        ("en-GB", ["en", "en-US", "en-gb"], "en-gb"),
        ("en-GB", ["en-US", "en"], "en"),
        ("zh-CN", ["zh-TW", "zh"], "zh"),
        ("pt-AO", ["pt-PT", "pt-BR"], "pt-PT"),
        ("zh_Hant_TW", ["zh-Hans-CN", "zh-Hant"], "zh-Hant"),
        ("en", ["eng", "de"], "eng"),
        ("de", ["eng", "ger"], "ger"),
        ("nb", ["nn", "no", "nb"], "nb"),
        ("nb", ["nn", "no"], "no"),
        ("zh-Hant", ["zh-CN", "zh-TW"], "zh-TW"),
        ("zh-HK", ["zh-TW", "zh-HK"], "zh-HK"),
        ("sr-Latn", ["sr", "sr_RS@latin"], "sr_RS@latin"),
        ("sr-RS", ["sr-Latn-BA", "sr-Cyrl-RS"], "sr-Cyrl-RS"),
        ("German", ["en", "de-AT"], "de-AT"),
        ("en", ["und", "fr"], None),
        ("en", [], None),
        ("no", ["nno_Latn", "nob_Latn"], "nob_Latn"),  # as NLLB has them
        ("nn", ["nob_Latn", "nno_Latn"], "nno_Latn"),
        ("ps", ["pes_Arab", "pbt_Arab"], "pbt_Arab"),
        ("nso", ["sr", "ns"], "ns"),  # as M2M-100 writes it
    ],
)
def test_closest(wanted: str, tags: list[str], expected: str | None) -> None:
    assert closest(wanted, tags) == expected


@pytest.mark.parametrize(
    ("tags", "codes"),
    [
        ("deu fra", "de fr"),
        ("deu_Latn zho_Hans zho_Hant arb_Arab", "de zh-Hans zh-Hant ar"),  # as NLLB writes them
        ("de_DE en_XX zh_CN pt_XX", "de en zh pt"),  # as mBART
        ("en pt_BR", "en pt-BR"),
        ("pt_BR", "pt-BR"),
        ("cmn zh zho cmn_Hans", "cmn zh zho zh-Hans"),
        ("pes_Arab prs_Arab nob_Latn nno_Latn", "fa-Arab fa-Arab-AF nb nn"),
        ("", "und"),
    ],
)
def test_each_tag_of_a_model_has_a_code_of_its_own(tags: str, codes: str) -> None:
    found = tags_by_code(tags.split(" "))
    assert list(found.items()) == list(zip(codes.split(), tags.split(" "), strict=True))


def test_no_code_or_name_of_the_table_means_two_languages() -> None:
    rows = [row.split(None, 1) for row in LANGUAGES.split(";")]
    codes = [code for row in rows for code in row[0].split("/")] + GROUPS.split()
    assert len(codes) == len(set(codes))
    names = [" ".join(name.split()) for _, name in rows]
    assert len(names) == len(set(names))
    # A name that is also a code means that code.
    assert all(canonical(name) in (codes.partition("/")[0], canonical(name.lower())) for codes, name in rows)
