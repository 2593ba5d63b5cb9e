from __future__ import annotations

from gettext import c2py  # type: ignore[attr-defined]

import pytest

from dragoman.documents.plural_rules import another_one, categories_of, plurals_of


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


# node -p '["de", ...].map(one => [one, ...["cardinal", "ordinal"].map(type =>
#     new Intl.PluralRules(one, {type}).resolvedOptions().pluralCategories.join(" "))].join(": ")).join("\n")'
CATEGORIES = """
de: one other: other
pl: few many one other: other
ru: few many one other: other
uk: few many one other: few other
sr: few one other: other
ar: few many one two zero other: other
ja: other: other
vi: other: one other
fr: many one other: one other
it: many one other: many other
he: one two other: other
en: one other: few one two other
mk: one other: many one two other
hi: one other: few many one two other
ka: one other: many one other
az: one other: few many one other
"""


@pytest.mark.parametrize("line", CATEGORIES.split("\n")[1:-1])
def test_categories_of_cldr(line: str) -> None:
    language, cardinal, ordinal = line.split(": ")
    assert sorted(categories_of(language)) == sorted(cardinal.split())
    assert sorted(categories_of(language, ordinal=True)) == sorted(ordinal.split())
    assert categories_of("qqq") == categories_of("qqq", ordinal=True) == ()


def test_numbers_that_are_one_besides_1() -> None:
    assert [another_one(one) for one in ("de", "ru", "lv", "sl", "fr", "ja", "pl")] == [
        None, 21, 21, 101, 0, None, None,
    ]  # fmt: skip
    assert [another_one(one) for one in ("pt", "pt-BR", "pt-PT")] == [0, 0, None]
