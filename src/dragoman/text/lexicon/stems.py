"""Stems of words, by a few endings of each language: enough to see that two words are forms of one.

    stem("Tabellen", "de") == stem("Tabelle", "de")

The rules are small and know no dictionary. English has plurals. German, French, and Spanish, Italian and
Portuguese together have the endings of nouns and adjectives. Other languages lose the vowels at the end, with
one of the consonants that often follow there, which suits many that inflect by endings (tabulka, tabulky,
tabulkou). A change inside a word is beyond them, except for accents, which stems lose: Haus and Häuser are
one, go and went are not.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

from dragoman.base.languages import base
from dragoman.text.scripts import UNSPACED

_LONGEST = 64  # characters of a word
_PLAIN = re.compile(r"[^\W\d_]+")
_UNSTEMMED = re.compile(f"[{UNSPACED}\uac00-\ud7af]")  # and Korean
# The stem is the first group, and no shorter than the rule says.
_GERMAN = re.compile(r"(.{4,}?)(?:e[rn])?(?:e[nmsr]?|[mnrs])?")
_FRENCH = re.compile(r"(.{3,}?)(?:(?<!e)aux|al|e?s?|x)")
_ROMANCE = re.compile(r"(.{3,}?)(?:[aeo]s|[aeios])?")
_OTHER = re.compile(r"(.{4,}?)(?:[aeiouyаеиоуыэюяіїєαεηιουωı]+[hjmnsvxвимхςν]?)?")
_RULES = {"de": _GERMAN, "fr": _FRENCH, **dict.fromkeys(("es", "it", "pt", "ca", "gl"), _ROMANCE)}


def stem(word: str, language: str) -> str:
    """Return the word without its ending and its accents, in lower case.

    Only the first part of the language counts: de-AT is de. Words that are long or not all letters, and words
    of scripts without such endings, are only put in lower case.
    """
    return _stem(word, language) if len(word) <= _LONGEST else word.lower()


@lru_cache(maxsize=100_000)  # memory stays bounded
def _stem(word: str, language: str) -> str:
    lower = unicodedata.normalize("NFC", word.lower())
    if not _PLAIN.fullmatch(lower) or _UNSTEMMED.search(lower):
        return lower
    plain = "".join(each for each in unicodedata.normalize("NFD", lower) if not unicodedata.combining(each))
    if base(language) == "en":
        return _english(plain)
    found = _RULES.get(base(language), _OTHER).fullmatch(plain)
    return found[1] if found else plain


def _english(word: str) -> str:
    """box, boxes -> box; query, queries -> query; cache, caches -> cach; glass and status stay."""
    if len(word) < 4:
        return word
    if word.endswith("s") and not word.endswith(("ss", "us", "is")):
        word = word[:-1]
    if len(word) == 3:  # pies
        return word
    if word.endswith("ie"):
        return word[:-2] + "y"
    return word[:-1] if word.endswith(("xe", "ze", "che", "she", "sse", "use", "ase")) else word
