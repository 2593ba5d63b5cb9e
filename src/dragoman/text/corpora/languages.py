"""Languages in the names of files: train.en, train.en-de.tsv."""

from __future__ import annotations

import re
from collections.abc import Sequence, Set
from pathlib import PurePath

from dragoman.base.languages import base, language_name, same
from dragoman.text.corpora.compressed import SUFFIXES

Languages = tuple[str | None, str | None]  # source, target

# A language, optionally with script and region (BCP 47; FLORES and gettext write an underscore).
_LANGUAGE = r"[a-z]{2,3}(?:[-_][A-Z][a-z]{3})?(?:[-_](?:[A-Z]{2}|[0-9]{3}))?"
_ONE = re.compile(_LANGUAGE)
_TWO = re.compile(f"({_LANGUAGE})[-_]({_LANGUAGE})")
# Suffixes that look like languages but rarely are (src, for one, is also Logudorese Sardinian).
_NO_LANGUAGES = frozenset(
    "bak bpe bz csv dat dev doc gz hyp ids log new old out raw ref spm src tgt tmp tok trg txt val xz "
    "zst".split()
)

# Names of columns, without "text", "sentence" and "language".
_SOURCES = frozenset("source src input original".split())
_TARGETS = frozenset("target tgt trg translation output reference".split())
_OF_COLUMNS = re.compile(r"[\s_-]*(text|sentence|segment|language|lang)s?$")

_IGNORED = SUFFIXES | {".txt"}


def is_language(text: str) -> bool:
    """Whether the text looks like the code of a language: en, pt-BR, zho_Hans."""
    return bool(_ONE.fullmatch(text)) and text not in _NO_LANGUAGES


def of_side(name: str) -> str | None:
    """Return the language of the file of one side: train.en.zst, train.en.txt -> en."""
    suffix = _suffix(name, _IGNORED)
    return suffix if is_language(suffix) else None


def of_pair(name: str) -> Languages:
    """Return the languages of a file of pairs, source first: train.en-de.tsv, en-de.jsonl.gz -> en, de."""
    codes = _TWO.fullmatch(_suffix(name, _IGNORED | {".tsv", ".jsonl", ".ndjson"}))
    if codes and is_language(codes[1]) and is_language(codes[2]):
        return codes[1], codes[2]
    return None, None


def of_head(columns: Sequence[str], languages: Languages) -> Languages | None:
    """Return the languages of the head line of a table of pairs, or None if it is a pair of sentences.

    A head names the columns: source and target, or two languages by code or English name. Of other
    `languages` than the text's, if these are known, it is taken for words, such as "is" and "es".
    """
    cells = [_OF_COLUMNS.sub("", cell.strip().strip("\"'").casefold()) for cell in columns]
    source, target = cells
    if (source in _SOURCES and target in _TARGETS) or (source in _TARGETS and target in _SOURCES):
        return None, None
    codes = [base(cell) for cell in cells]
    if same(*codes) or any(language_name(code) == code for code in codes):
        return None
    if all(languages) and not any(
        same(codes[0], str(a)) and same(codes[1], str(b)) for a, b in (languages, languages[::-1])
    ):
        return None
    # Three letters are more often a word than a language that nothing else has named.
    return None if not all(languages) and any(len(cell) == 3 for cell in cells) else (codes[0], codes[1])


def _suffix(name: str, ignored: Set[str]) -> str:
    """Return the last suffix, without its dot, that is not one of `ignored`."""
    path = PurePath(name)
    while path.suffix.lower() in ignored:
        path = path.with_suffix("")
    return path.name.rpartition(".")[2]


def first_known(languages: Languages, default: Languages) -> Languages:
    """Return each of two languages, from the default if it is not known."""
    return languages[0] or default[0], languages[1] or default[1]
