"""Which language a text is in."""

from __future__ import annotations

import sys

import pytest

from dragoman.base.errors import ConfigError
from dragoman.text import detection
from dragoman.text.detection import (
    clearly_other,
    is_known,
    language_probabilities,
    likeliest,
    probable_language,
)

GERMAN = "Der alte Mann sitzt am Fenster und liest eine Zeitung."
ENGLISH = "The old man is sitting at the window and reads a newspaper."
CHINESE = "老人坐在窗边看报纸，他的狗躺在地上睡觉，外面下着大雨。"


def test_the_likeliest_of_some_languages() -> None:
    assert likeliest(GERMAN, ["en", "deu_Latn", "fr"]) == "deu_Latn"
    assert likeliest(ENGLISH, ["de", "en-GB"]) == "en-GB"
    assert likeliest(CHINESE, ["en", "zho_Hans"]) == "zho_Hans"
    assert likeliest("1, 2, 3", ["cs", "de"]) == "cs"  # no letters: the first


def test_a_text_in_another_language_is_seen() -> None:
    assert clearly_other(GERMAN, "en") == "de"
    assert clearly_other(GERMAN, "de-AT") is None
    assert clearly_other("Radio", "de") is None  # too short
    assert clearly_other(GERMAN, "tlh") is None  # a language that the detector does not know


def test_probabilities_sum_to_one() -> None:
    assert sum(language_probabilities(ENGLISH).values()) == pytest.approx(1, abs=1e-3)


@pytest.mark.parametrize("text", [GERMAN, ENGLISH, CHINESE, "Die Frau liest.", "我想喝茶", "1, 2, 3"])
def test_the_most_probable_language(text: str) -> None:
    """The same as from all probabilities, among which dialects of Chinese are added up."""
    found = language_probabilities(text)
    best = max(found, key=lambda code: found[code])

    assert probable_language(text) == (best, pytest.approx(found[best], abs=1e-6))


def test_known_languages() -> None:
    assert is_known("de-AT")
    assert not is_known("tlh")


def test_without_the_library(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "py3langid.langid", None)
    detection._loaded_identifier.cache_clear()
    with pytest.raises(ConfigError, match="needs py3langid"):
        likeliest(GERMAN, ["de", "en"])
    assert clearly_other(GERMAN, "en") is None
    detection._loaded_identifier.cache_clear()
