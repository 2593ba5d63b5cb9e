from __future__ import annotations

import sys
import tracemalloc
from typing import Any

import pytest

from dragoman.base.errors import ConfigError
from dragoman.serving.service.ask import Route
from dragoman.serving.service.languages import Leg, Pairs
from dragoman.serving.service.limits import UnknownLanguage

PAIRS = Pairs(
    [
        Leg("a", ("de",), ("en",)),
        Leg("b", ("en",), ("fr",)),
        Leg("c", ("en",), ("pt-BR",)),
        Leg("d", ("en",), ("zh-Hans",)),
        Leg("e", ("en",), ("zh-Hant",)),
        Leg("f", ("de",), ("en",)),
        Leg("g", ("fr",), ("es",)),
        Leg("h", ("en",), ("de",)),
    ]
)


def test_a_model_is_the_route_of_its_pair() -> None:
    assert PAIRS.find("en", "fr") == Route(("en", "fr"), ("b",))
    assert PAIRS.find("en", "fr").pivots == ()


def test_the_first_of_two_models_is_the_default_and_others_are_chosen_by_name() -> None:
    assert PAIRS.find("de", "en").models == ("a",)
    assert PAIRS.find("de", "en", model="f").models == ("f",)
    with pytest.raises(ConfigError, match="no model 'b' from de to en") as error:
        PAIRS.find("de", "en", model="b")
    assert error.value.hint == "models of this pair: a, f"


def test_a_pair_without_a_model_goes_the_shortest_way() -> None:
    assert PAIRS.find("de", "fr") == Route(("de", "en", "fr"), ("a", "b"))
    assert PAIRS.find("de", "es") == Route(("de", "en", "fr", "es"), ("a", "b", "g"))
    longer = Pairs(
        [
            Leg("1", ("a",), ("b",)),
            Leg("2", ("b",), ("c",)),
            Leg("3", ("c",), ("d",)),
            Leg("4", ("a",), ("x",)),
            Leg("5", ("x",), ("d",)),
        ]
    )
    assert longer.find("a", "d").pivots == ("x",)


def test_one_model_of_several_languages_is_its_own_pivot() -> None:
    star = Pairs([Leg("m", ("de", "fr"), ("en",)), Leg("m", ("en",), ("de", "fr"))])
    assert star.find("de", "en") == Route(("de", "en"), ("m",))
    assert star.find("de", "fr") == Route(("de", "en", "fr"), ("m", "m"))
    assert star.targets == ("en", "fr", "de")
    assert len(star) == len(list(star)) == 6

    both = Pairs(
        [Leg("a", ("de",), ("fr",)), Leg("m", ("de", "fr"), ("en",)), Leg("m", ("en",), ("de", "fr"))]
    )
    assert both.find("de", "fr").models == ("a",)
    assert both.find("de", "fr", model="m") == Route(("de", "en", "fr"), ("m", "m"))
    assert both.sources_of("fr") == ("de", "fr", "en")
    assert both.sources_of("fr", model="a") == ("de",)
    with pytest.raises(ConfigError, match="no model 'a' from en to de"):
        both.find("en", "de", model="a")


def test_all_pairs_of_many_languages_are_quick_to_find() -> None:
    codes = tuple(f"{a}{b}" for a in "abcdefghijklmnopqrst" for b in "bcdfghjklm")
    calls = 0

    def count(*_: Any) -> None:
        nonlocal calls
        calls += 1

    sys.setprofile(count)
    try:
        pairs = Pairs([Leg("m", codes, codes)])
    finally:
        sys.setprofile(None)
    assert len(pairs) == 200 * 199
    assert calls < 40_000  # fewer than pairs
    assert pairs.find("ab", "tm") == Route(("ab", "tm"), ("m",))


def test_two_tags_of_one_code_are_both_served() -> None:
    pairs = Pairs([Leg("m", ("en",), ("zh", "cmn", "cmn-Hant"))])
    assert [pairs.find("en", one).target for one in ("ZH", "CMN", "cmn_Hant")] == ["zh", "cmn", "cmn-Hant"]
    assert pairs.find("en", "zho").target == "zh"


def test_targets_without_a_pivot_come_first() -> None:
    assert PAIRS.sources == ("de", "en", "fr")
    assert PAIRS.targets_of("de") == ("en", "fr", "pt-BR", "zh-Hans", "zh-Hant", "es")
    assert PAIRS.targets_of("fr") == ("es",)
    assert ("de", "es") in list(PAIRS)
    assert ("de", "de") not in list(PAIRS)


@pytest.mark.parametrize(
    ("source", "target", "ends"),
    [
        ("EN", "FR", ("en", "fr")),
        ("en_GB", "fr-FR", ("en", "fr")),
        ("EN-US", "PT-PT", ("en", "pt-BR")),
        ("eng", "pt", ("en", "pt-BR")),
        ("en", "zh", ("en", "zh-Hans")),
        ("en", "ZH-HANT", ("en", "zh-Hant")),
        ("en", "zh_TW", ("en", "zh-Hant")),
        ("de-AT", "EN-GB", ("de", "en")),
    ],
)
def test_variants_are_what_is_there(source: str, target: str, ends: tuple[str, str]) -> None:
    route = PAIRS.find(source, target)

    assert (route.source, route.target) == ends


def test_a_language_to_itself_needs_no_model() -> None:
    assert PAIRS.find("en-US", "en-GB") == Route(("en",), ())


@pytest.mark.parametrize(("source", "target"), [("xx", "de"), ("en", "xx"), ("fr", "de"), ("es", "en")])
def test_what_is_not_served_is_refused(source: str, target: str) -> None:
    with pytest.raises(UnknownLanguage):
        PAIRS.find(source, target)


def test_a_refusal_names_what_there_is() -> None:
    with pytest.raises(UnknownLanguage, match="French .fr. is not translated to German .de.") as error:
        PAIRS.find("fr", "de")
    assert (error.value.hint, error.value.language) == ("to: es", "de")


def test_the_sources_of_a_target() -> None:
    assert PAIRS.sources_of("es") == ("de", "en", "fr")
    assert PAIRS.sources_of("DE") == ("de", "en")


def test_nothing_is_kept_of_what_is_no_language() -> None:
    """Codes are cached, and clients may send any text in their place."""
    pairs = Pairs([Leg("m", ("en",), ("de",))])
    tracemalloc.start()
    try:
        for number in range(50):
            with pytest.raises(UnknownLanguage):
                pairs.find("en", f"{number}" + "-x" * 50_000)
        assert tracemalloc.get_traced_memory()[0] < 2**20
    finally:
        tracemalloc.stop()
