from __future__ import annotations

import plistlib
from typing import Any

import pytest

from dragoman.base.errors import DataError
from dragoman.documents.apple.stringsdict import parse
from dragoman.documents.edits import PartsDocument
from dragoman.documents.formats import Languages
from dragoman.documents.segment import Result, text_of

DOGS: dict[str, Any] = {
    "dogs": {
        "NSStringLocalizedFormatKey": "%1$#@dogs@",
        "dogs": {
            "NSStringFormatSpecTypeKey": "NSStringPluralRuleType",
            "NSStringFormatValueTypeKey": "d",
            "one": "One dog",
            "other": "%d dogs & cats",
        },
    }
}


def file(table: object) -> str:
    return plistlib.dumps(table, sort_keys=False).decode()


def read(text: str, target: str = "de") -> PartsDocument:
    return parse(text.encode(), Languages("en", target))


def in_capitals(text: str, target: str) -> str:
    document = read(text, target)
    return document.render([Result((text_of(one.source).upper(),)) for one in document.segments]).decode()


def test_plurals_get_the_categories_of_the_target() -> None:
    text = file(DOGS)
    assert in_capitals(text, "de") == text.replace("One dog", "ONE DOG").replace(
        "%d dogs &amp; cats", "%D DOGS &amp; CATS"
    )
    new = in_capitals(text, "pl")
    assert (
        "\t\t\t<key>few</key>\n\t\t\t<string>%D DOGS &amp; CATS</string>\n"
        "\t\t\t<key>many</key>\n\t\t\t<string>%D DOGS &amp; CATS</string>\n\t\t\t<key>other</key>\n"
    ) in new
    forms = plistlib.loads(new.encode())["dogs"]["dogs"]
    assert [*forms][2:] == ["one", "few", "many", "other"]
    assert forms["NSStringFormatSpecTypeKey"] == "NSStringPluralRuleType"


def test_formats_with_words_and_variants_are_translated() -> None:
    table = {
        "a": {"NSStringLocalizedFormatKey": "There are %#@dogs@ here", **DOGS["dogs"]["dogs"]},
        "b": {"NSStringVariableWidthRuleType": {"20": "Short", "50": "A longer text"}},
        "c": {"NSStringDeviceSpecificRuleType": {"iphone": "Tap", "other": "Click"}},
        "d": {"list": ["x"], "count": 5},
    }
    found = [(one.context, text_of(one.source)) for one in read(file(table)).segments]
    assert ("a.NSStringLocalizedFormatKey", "There are %#@dogs@ here") in found
    assert found[-4:] == [
        ("b.NSStringVariableWidthRuleType.20", "Short"),
        ("b.NSStringVariableWidthRuleType.50", "A longer text"),
        ("c.NSStringDeviceSpecificRuleType.iphone", "Tap"),
        ("c.NSStringDeviceSpecificRuleType.other", "Click"),
    ]
    new = in_capitals(file(table), "pl")  # a device is not a plural
    assert [*plistlib.loads(new.encode())["c"]["NSStringDeviceSpecificRuleType"]] == ["iphone", "other"]


def test_a_binary_property_list_is_refused_with_the_way_to_convert_it() -> None:
    with pytest.raises(DataError, match="line 1: a binary property list") as error:
        parse(plistlib.dumps(DOGS, fmt=plistlib.FMT_BINARY), Languages("en", "de"))
    assert "plutil" in error.value.hint
