"""Stems: the forms of a word have one, different words have different ones."""

import unicodedata

import pytest

from dragoman.text.lexicon.stems import stem

FORMS = {
    "en": ["box boxes", "query queries", "cache caches", "file files FILES", "movie movies", "size sizes",
        "pie pies", "bus buses", "gas gases", "house houses", "use uses", "fly flies", "case cases"],
    "de": [
        "alter alten altem altes",
        "Tabelle Tabellen", "Datei Dateien", "Haus Hauses Häuser Häusern", "Fehler Fehlers Fehlern",
        "Bild Bilder Bildes Bildern", "Element Elemente Elements Elementen", "Knoten Knotens",
        "geschützter geschützte geschützten geschützten", "Schlüssel Schlüssels Schlüsseln",
    ],
    "fr": ["journal journaux", "feuille feuilles", "tableau tableaux", "fichier fichiers", "actif actifs"],
    "es": ["tabla tablas", "botón botones", "papel papeles"],
    "it": ["tabella tabelle", "libro libri"],
    "cs": ["tabulka tabulky tabulkou", "soubor souboru soubory souborem"],
    "ru": ["таблица таблицы таблицу таблицей", "файл файла файлы"],
}  # fmt: skip
APART = {
    "en": ["class clasp", "car care", "status stat", "bus bu", "glass gla"],
    "de": ["Schluss Schlüssel", "Tabelle Tabulator", "Ton Tonne", "Ei Eis"],
    "fr": ["table tableau", "page pas"],
    "zh": ["文件 文档"],
}


@pytest.mark.parametrize(
    ("language", "words"), [(code, words) for code, groups in FORMS.items() for words in groups]
)
def test_forms_of_a_word_have_one_stem(language: str, words: str) -> None:
    assert len({stem(word, language) for word in words.split()}) == 1


@pytest.mark.parametrize(
    ("language", "words"), [(code, words) for code, groups in APART.items() for words in groups]
)
def test_different_words_have_different_stems(language: str, words: str) -> None:
    assert len({stem(word, language) for word in words.split()}) == 2


def test_what_is_not_all_letters_is_only_put_in_lower_case() -> None:
    assert [stem(word, "de") for word in ("USB3s", "C++", "2", "日本語")] == ["usb3s", "c++", "2", "日本語"]


def test_decomposed_words_are_the_same() -> None:
    assert stem(unicodedata.normalize("NFD", "Prüfungen"), "de") == stem("Prüfung", "de")
    assert stem(unicodedata.normalize("NFD", "Prüfung-2"), "de") == "prüfung-2"


def test_a_region_does_not_count() -> None:
    assert stem("Tabellen", "de_AT") == stem("Tabellen", "de-AT") == stem("Tabelle", "de") == "tabell"


def test_a_long_scream_takes_no_long_time() -> None:
    assert stem("A" * 200_000 + "b", "cs") == "a" * 200_000 + "b"
