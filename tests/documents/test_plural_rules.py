from __future__ import annotations

from gettext import c2py  # type: ignore[attr-defined]

import pytest

from dragoman.documents.plural_rules import plurals_of


def forms(language: str, *numbers: int) -> list[int]:
    """The forms that Python's own reader of plural rules gives numbers."""
    known = plurals_of(language)
    assert known
    form = c2py(known.rule.partition("plural=")[2].rstrip(";"))
    assert max(form(number) for number in range(200)) == known.forms - 1
    return [form(number) for number in numbers]


@pytest.mark.parametrize(
    ("language", "expected"),
    [
        ("ja", [0, 0, 0, 0, 0, 0]),
        ("de", [1, 0, 1, 1, 1, 1]),
        ("fr", [0, 0, 1, 1, 1, 1]),
        ("is", [1, 0, 1, 1, 1, 0]),
        ("pl", [2, 0, 1, 2, 2, 2]),
        ("ru", [2, 0, 1, 2, 2, 0]),
        ("hr", [2, 0, 1, 2, 2, 0]),
        ("cs", [2, 0, 1, 2, 2, 2]),
        ("lt", [2, 0, 1, 1, 2, 0]),
        ("lv", [2, 0, 1, 1, 1, 0]),
        ("ro", [1, 0, 1, 1, 1, 2]),
        ("sl", [3, 0, 1, 3, 3, 3]),
        ("ar", [0, 1, 2, 3, 4, 4]),
    ],
)
def test_forms_of_numbers(language: str, expected: list[int]) -> None:
    assert forms(language, 0, 1, 2, 5, 11, 21) == expected


def test_a_region_may_have_its_own_rule() -> None:
    assert forms("pt", 0) == [1]
    for name in ("pt-BR", "pt_BR", "pt-br", "PT-Latn-BR"):
        assert forms(name, 0) == [0]
    for name in ("zh", "zh-Hant", "zh_TW", "zh-Hant-TW"):
        assert plurals_of(name) == plurals_of("zh")
    assert plurals_of("qqq") is plurals_of("") is None


def test_categories_of_cldr() -> None:
    for language, categories in {"pl": "one few many other", "sr": "one few other", "ja": "other"}.items():
        known = plurals_of(language)
        assert known
        assert known.categories == tuple(categories.split())
