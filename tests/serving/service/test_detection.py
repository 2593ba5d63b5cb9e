from __future__ import annotations

import sys
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier, Event
from typing import Any

import pytest

from dragoman.base.errors import ConfigError
from dragoman.serving.service import languages as detection
from dragoman.serving.service.languages import detect_language
from dragoman.text.detection import _loaded_identifier

TEXTS = {
    "en": "The children are playing in the garden behind the house.",
    "de": "Die Kinder spielen im Garten hinter dem Haus.",
    "fr": "Les enfants jouent dans le jardin derrière la maison.",
    "ru": "Дети играют в саду за домом.",
}


@pytest.fixture(autouse=True)
def _installed() -> None:
    pytest.importorskip("py3langid")


@pytest.mark.parametrize("language", TEXTS)
def test_the_language_is_found(language: str) -> None:
    guesses = detect_language(TEXTS[language], list(TEXTS), "en")

    assert guesses[0].language == language
    assert guesses[0].confidence > 0.5
    assert 0.5 < sum(one.confidence for one in guesses) <= 1 + 1e-6
    assert [one.confidence for one in guesses] == sorted((one.confidence for one in guesses), reverse=True)


def test_only_what_is_served_is_found() -> None:
    assert {one.language for one in detect_language(TEXTS["fr"], ["en", "de"], "en")} == {"en", "de"}


@pytest.mark.parametrize("text", ["", "  \n", "123 + 4 = ?", "🙂 ..."])
def test_a_text_without_letters_is_in_the_default_language(text: str) -> None:
    (guess,) = detect_language(text, ["en", "de"], "de")

    assert (guess.language, guess.confidence) == ("de", 0.0)


def test_a_letter_is_enough() -> None:
    assert 0 < detect_language("x", ["en", "de"], "de")[0].confidence <= 1


@pytest.mark.parametrize(
    "text", ["今天天气很好，我们去公园吧。", "I bambini giocano nel giardino dietro la casa.", TEXTS["ru"]]
)
@pytest.mark.parametrize("among", [["en"], ["en", "de"]])
def test_a_language_that_is_not_served_gives_a_low_confidence(text: str, among: list[str]) -> None:
    guesses = detect_language(text, among, "en", "fr")

    assert {one.language for one in guesses} == set(among)
    assert max(one.confidence for one in guesses) < 0.1


@pytest.mark.parametrize("among", [["en"], ["en", "de"], ["de", "en"], ["en", "fr"]])
@pytest.mark.parametrize("text", [TEXTS["de"], "Das ist gut.", "Guten Morgen", "Der Hund schläft."])
def test_a_text_in_the_target_language_comes_first_as_that(text: str, among: list[str]) -> None:
    assert detect_language(text, among, "en", "de")[0].language == "de"


@pytest.mark.parametrize("text", [TEXTS["en"], "A dog.", "Hello", "Berlin", "Tom", "x", "ok", "Yes", "No"])
@pytest.mark.parametrize("among", [["en"], ["en", "de"], ["de", "en"]])
def test_a_text_that_may_be_in_the_source_language_is_not_taken_for_the_target(
    text: str, among: list[str]
) -> None:
    assert detect_language(text, among, "en", "de")[0].language == "en"


@pytest.mark.parametrize(
    "text",
    [
        'He said "Guten Tag, wie geht es Ihnen heute?" and left the room.',
        f"{TEXTS['de']} {TEXTS['en']}",
        f"{TEXTS['de'] * 40} {TEXTS['en'] * 4}",  # beyond what is read at first
        "\n".join([TEXTS["de"]] * 500 + [TEXTS["en"]] * 20),
        "„Guten Tag, wie geht es Ihnen heute?“, asked the man who had come into the room.",
    ],
)
@pytest.mark.parametrize("among", [["en"], ["fr", "en"], ["en", "de"]])
def test_a_text_that_is_partly_in_the_source_language_is_translated(text: str, among: list[str]) -> None:
    found = detect_language(text, among, "en", "de")
    assert found[0].language == "en"
    assert len({one.language for one in found}) == len(found)


@pytest.mark.parametrize(
    "text",
    [
        TEXTS["de"] * 400,
        'Der Mann sagte "I am leaving the room now" und ging nach Hause.',
        "Wir haben ein Meeting im Office.\nBitte warten.\nMit freundlichen Grüßen",
        "Les enfants jouent dans le jardin. " + TEXTS["de"] * 3,  # which is not served
    ],
)
def test_foreign_words_in_a_text_in_the_target_language_leave_it_so(text: str) -> None:
    assert detect_language(text, ["en"], "en", "de")[0].language == "de"


def test_a_variant_of_the_target_that_is_served_is_a_source() -> None:
    text = "今天天气很好，我们去公园吧。"
    assert detect_language(text, ["en", "zh-Hans"], "en", "zh-Hant")[0].language == "zh-Hans"
    assert detect_language(text, ["en"], "en", "zh-Hant")[0].language == "zh-Hant"


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("今天天气很好，我们去公园吧。", "zh-Hans"),
        ("今天天氣很好，我們去公園吧。", "zh-Hant"),
        ("The children play in the garden.", "en"),
    ],
)
@pytest.mark.parametrize("target", ["zh-Hans", "zh-Hant"])
def test_the_script_tells_chinese_apart(text: str, language: str, target: str) -> None:
    among = ["en", "zh-Hans", "zh-Hant"]
    assert detect_language(text, among, "en", target)[0].language == language
    assert detect_language("今天很好。", among, "en", target)[0].language == target  # written so in both


def test_short_chinese_texts_are_chinese() -> None:
    (guess, _) = detect_language("你好啊。", ["en", "zh"], "en")  # Cantonese, for the detector
    assert guess.language == "zh"
    assert guess.confidence > 0.9


def test_forms_of_norwegian_are_found() -> None:
    text = "Barna leker i hagen bak huset, og de er ikke trøtte ennå."
    assert detect_language(text, ["en", "nb"], "en")[0].language == "nb"


def test_variants_are_found_by_their_language() -> None:
    guesses = detect_language(TEXTS["de"], ["en-GB", "de-AT", "de-CH", "hsb"], "en-GB")

    assert [one.language for one in guesses] == ["de-AT", "en-GB"]


def test_languages_that_the_detector_does_not_know_are_the_default() -> None:
    assert detect_language("Witajće k nam", ["hsb", "dsb"], "dsb")[0] == detection.Guess("dsb", 0.0)


def test_the_end_of_a_long_text_does_not_count() -> None:
    assert detect_language(TEXTS["de"] * 30 + TEXTS["fr"] * 500, ["fr", "de"], "fr")[0].language == "de"


def test_a_missing_library_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    _loaded_identifier.cache_clear()
    monkeypatch.setitem(sys.modules, "py3langid.langid", None)

    with pytest.raises(ConfigError, match="py3langid"):
        detect_language("Hello", ["en", "de"], "en")


def test_threads_load_the_detector_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """All begin while the first one loads."""
    from py3langid.langid import LanguageIdentifier

    begun, loads = Barrier(4), list[int]()
    load = LanguageIdentifier.from_model_file

    def slowly(*words: Any, **options: Any) -> Any:
        loads.append(1)
        Event().wait(0.05)  # so that others come in the meantime
        return load(*words, **options)

    monkeypatch.setattr(LanguageIdentifier, "from_model_file", slowly)
    _loaded_identifier.cache_clear()

    def ask(_: int) -> str:
        begun.wait(60)
        return detection.detect_language("The dog sleeps in the garden.", ["en", "de"], "de")[0].language

    with ThreadPoolExecutor(4) as pool:
        assert set(pool.map(ask, range(4))) == {"en"}
    assert len(loads) == 1
