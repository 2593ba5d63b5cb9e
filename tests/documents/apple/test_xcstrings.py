from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import strategies as st

from dragoman.base.errors import DataError
from dragoman.documents.apple.xcstrings import parse
from dragoman.documents.edits import PartsDocument
from dragoman.documents.formats import Languages
from dragoman.documents.segment import Result, Status, text_of

_TEXT = st.text('ab Z"\\/\n%@é', min_size=1, max_size=6)
_UNIT = st.fixed_dictionaries(
    {
        "stringUnit": st.fixed_dictionaries(
            {"state": st.sampled_from(["new", "translated", "needs_review"]), "value": _TEXT | st.just("")}
        )
    }
)
_PLURAL = st.dictionaries(st.sampled_from(["one", "few", "other"]), _UNIT, max_size=3).map(
    lambda table: {"variations": {"plural": table}}
)
_ENTRY = st.just({}) | st.fixed_dictionaries(
    {"localizations": st.dictionaries(st.sampled_from(["en", "de", "fr"]), _UNIT | _PLURAL, max_size=3)}
)


def written(table: object) -> str:
    """As Xcode writes it: sorted keys, " : ", and two lines for an empty table."""
    text = json.dumps(table, indent=2, separators=(",", " : "), ensure_ascii=False, sort_keys=True)
    lines = []
    for line in text.split("\n"):
        if line.rstrip(",").endswith("{}"):
            indent = line[: len(line) - len(line.lstrip())]
            line = line.replace("{}", "{\n\n" + indent + "}")
        lines.append(line)
    return "\n".join(lines)


def catalogue(**strings: Any) -> dict[str, Any]:
    return {"sourceLanguage": "en", "strings": strings, "version": "1.0"}


FILES = st.dictionaries(_TEXT, _ENTRY, max_size=4).map(lambda table: written(catalogue(**table)).encode())


def unit(value: str, state: str = "translated") -> dict[str, Any]:
    return {"stringUnit": {"state": state, "value": value}}


def plural(**forms: str) -> dict[str, Any]:
    return {"variations": {"plural": {key: unit(value) for key, value in forms.items()}}}


def read(table: object, target: str = "de") -> PartsDocument:
    return parse(written(table).encode(), Languages("en", target))


def in_capitals(table: object, target: str = "de", *doubts: str) -> str:
    document = read(table, target)
    results = [Result((text_of(one.source).upper(),), doubts) for one in document.segments]
    return document.render(results).decode()


DOGS = catalogue(**{"%lld dogs": {"localizations": {"en": plural(one="%lld dog", other="%lld dogs")}}})


def test_a_key_is_its_own_source_and_localizations_are_inserted_in_order() -> None:
    table = catalogue(
        **{
            "": {},
            'A "b"/c': {},
            "key": {"comment": "c", "localizations": {"en": unit("One"), "fr": unit("Un")}},
        }
    )
    new = in_capitals(table)
    table["strings"]['A "b"/c'] = {"localizations": {"de": unit('A "B"/C')}}
    table["strings"]["key"]["localizations"]["de"] = unit("ONE")
    assert new == written(table)


def test_a_doubt_needs_a_review() -> None:
    new = in_capitals(catalogue(Boat={}), "de", "number differs: 5")
    assert json.loads(new)["strings"]["Boat"]["localizations"]["de"] == unit("BOAT", "needs_review")
    assert [one.state for one in read(json.loads(new)).segments] == [Status.DOUBTFUL]


@pytest.mark.parametrize(
    ("target", "forms"),
    [("de", ["one", "other"]), ("pl", ["few", "many", "one", "other"]), ("ja", ["other"])],
)
def test_plurals_have_the_categories_of_the_target(target: str, forms: list[str]) -> None:
    new = in_capitals(DOGS, target)
    assert new == written(json.loads(new))
    found = json.loads(new)["strings"]["%lld dogs"]["localizations"][target]["variations"]["plural"]
    assert [*found] == forms
    assert found["other"] == unit("%LLD DOGS")


def test_missing_forms_of_a_translation_are_added_to_it() -> None:
    table = json.loads(json.dumps(DOGS))
    table["strings"]["%lld dogs"]["localizations"]["pl"] = plural(one="%lld pies", other="%lld psa")
    document = read(table, "pl")
    assert [one.state for one in document.segments] == [
        Status.DONE, Status.MISSING, Status.MISSING, Status.DONE
    ]  # fmt: skip
    new = document.render([None, Result(("psy",)), Result(("psów",)), None]).decode()
    table["strings"]["%lld dogs"]["localizations"]["pl"]["variations"]["plural"] |= {
        "few": unit("psy"),
        "many": unit("psów"),
    }
    assert new == written(table)


def test_substitutions_keep_what_describes_them() -> None:
    birds = {"argNum": 1, "formatSpecifier": "lld", **plural(one="%arg bird", other="%arg birds")}
    table = catalogue(
        birds={"localizations": {"en": {**unit("I see %#@birds@"), "substitutions": {"birds": birds}}}}
    )
    new = in_capitals(table)
    theirs = {"argNum": 1, "formatSpecifier": "lld", **plural(one="%ARG BIRD", other="%ARG BIRDS")}
    table["strings"]["birds"]["localizations"]["de"] = {
        **unit("I SEE %#@BIRDS@"),
        "substitutions": {"birds": theirs},
    }
    assert new == written(table)


def test_variants_of_devices_with_plurals() -> None:
    table = catalogue(
        tap={
            "localizations": {
                "en": {"variations": {"device": {"mac": unit("Click"), "other": plural(other="Tap")}}}
            }
        }
    )
    assert json.loads(in_capitals(table, "ja"))["strings"]["tap"]["localizations"]["ja"] == {
        "variations": {"device": {"mac": unit("CLICK"), "other": plural(other="TAP")}}
    }


def test_stale_strings_and_those_not_to_be_translated_stay() -> None:
    assert read(catalogue(Old={"extractionState": "stale"}, Brand={"shouldTranslate": False})).segments == []


def test_a_unit_without_a_state_is_translated_and_gets_one() -> None:
    table = catalogue(a={"localizations": {"de": {"stringUnit": {"value": "b"}}}})
    assert [one.state for one in read(table).segments] == [Status.DONE]
    assert json.loads(in_capitals(table))["strings"]["a"]["localizations"]["de"] == unit("A")


def test_numbers_and_booleans_stand_around_what_is_inserted() -> None:
    table = catalogue(a={"comment": "c", "isCommentAutoGenerated": True}, b={"shouldTranslate": True})
    new = in_capitals(table)
    for key in "ab":
        table["strings"][key]["localizations"] = {"de": unit(key.upper())}
    assert new == written(table)


def test_sets_of_phrases_stay() -> None:
    phrases = {"stringSet": {"state": "new", "values": ["Open the boat"]}}
    assert read(catalogue(Open={"localizations": {"en": phrases}})).segments == []


def test_a_faulty_localization_is_refused() -> None:
    table = catalogue(a={"localizations": [1]})
    with pytest.raises(DataError, match="'a': localizations is not a table"):
        in_capitals(table)


def test_a_file_in_one_line_gets_no_lines() -> None:
    text = json.dumps(catalogue(Boat={}))
    document = parse(text.encode(), Languages("en", "de"))
    new = document.render([Result(("Boot",))]).decode()
    assert new == text.replace(
        "{}", '{"localizations": {"de": {"stringUnit": {"state": "translated","value": "Boot"}}}}'
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"strings":\n', "line 2: not JSON"),
        ("[]", "line 1: not a String Catalog"),
        ('{"strings": 5}', "line 1: not a String Catalog"),
        ("[" * 100_000, "line 1: not a String Catalog"),
        ('{"sourceLanguage": "fr", "strings": {}}', "line 1: sourceLanguage is 'fr', not 'en'"),
    ],
)
def test_bad_files_are_refused(text: str, message: str) -> None:
    with pytest.raises(DataError, match=message) as error:
        parse(text.encode(), Languages("en", "de"))
    assert error.value.hint
