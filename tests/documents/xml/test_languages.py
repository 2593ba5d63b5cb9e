from __future__ import annotations

import pytest

from dragoman.base.errors import DataError
from dragoman.documents.xml.languages import closest, expect, related


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        ("en", "en", True),
        ("en", "EN-us", True),
        ("pt_BR", "pt-PT", True),
        ("en", "de", False),
        ("nb", "no", True),
        ("eng_Latn", "en", True),
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
        ("en-GB", ["en-US", "en"], "en-US"),
        ("zh_Hant_TW", ["zh-Hans-CN", "zh-Hant"], "zh-Hant"),
        ("en", ["eng", "de"], None),
        ("en", [], None),
    ],
)
def test_closest(wanted: str, tags: list[str], expected: str | None) -> None:
    assert closest(wanted, tags) == expected


def test_expect() -> None:
    expect(1, "trgLang", "de-AT", "de")
    expect(1, "trgLang", "", "de")
    expect(1, "trgLang", "de", "")
    with pytest.raises(DataError, match="line 3: trgLang is 'fr', not 'de'"):
        expect(3, "trgLang", "fr", "de")
