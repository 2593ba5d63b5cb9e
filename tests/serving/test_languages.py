from __future__ import annotations

import pytest

from dragoman.serving.languages import language_name, usual_code


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
        (" fr ", "fr"),
        ("ca-valencia", "ca"),
        ("", ""),
        ("<b>", "<b>"),
    ],
)
def test_codes_have_one_form(written: str, code: str) -> None:
    assert usual_code(written) == code
    assert usual_code(code) == code


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
    ],
)
def test_languages_have_english_names(code: str, name: str) -> None:
    assert language_name(code) == name
