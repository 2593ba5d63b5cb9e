from __future__ import annotations

import sys

import pytest

from dragoman.base.errors import ConfigError
from dragoman.serving.service import languages as detection
from dragoman.serving.service.languages import detect_language

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
    assert sum(one.confidence for one in guesses) == pytest.approx(1)
    assert [one.confidence for one in guesses] == sorted((one.confidence for one in guesses), reverse=True)


def test_only_what_is_served_is_found() -> None:
    assert {one.language for one in detect_language(TEXTS["fr"], ["en", "de"], "en")} == {"en", "de"}


@pytest.mark.parametrize("text", ["", "  \n", "123 + 4 = ?", "🙂 ..."])
def test_a_text_without_letters_is_in_the_default_language(text: str) -> None:
    (guess,) = detect_language(text, ["en", "de"], "de")

    assert (guess.language, guess.confidence) == ("de", 0.0)


def test_a_letter_is_enough() -> None:
    assert 0 < detect_language("x", ["en", "de"], "de")[0].confidence <= 1


def test_of_a_lone_language_nothing_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(detection, "_identifier", lambda: pytest.fail("asked"))

    assert detect_language(TEXTS["fr"], ["en"], "en")[0].language == "en"


def test_variants_are_found_by_their_language() -> None:
    guesses = detect_language(TEXTS["de"], ["en-GB", "de-AT", "de-CH", "hsb"], "en-GB")

    assert [one.language for one in guesses] == ["de-AT", "en-GB"]


def test_languages_that_the_detector_does_not_know_are_the_default() -> None:
    assert detect_language("Witajće k nam", ["hsb", "dsb"], "dsb")[0] == detection.Guess("dsb", 0.0)


def test_the_end_of_a_long_text_does_not_count() -> None:
    assert detect_language(TEXTS["de"] * 30 + TEXTS["fr"] * 500, ["fr", "de"], "fr")[0].language == "de"


def test_a_missing_library_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    detection._identifier.cache_clear()
    monkeypatch.setitem(sys.modules, "py3langid.langid", None)

    with pytest.raises(ConfigError, match="py3langid"):
        detect_language("Hello", ["en", "de"], "en")
