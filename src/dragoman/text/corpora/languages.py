"""Languages in the names of files: train.en, train.en-de.tsv."""

from __future__ import annotations

import re
from collections.abc import Sequence, Set
from pathlib import PurePath

from dragoman.base.errors import DataError
from dragoman.base.languages import base, language_name, same
from dragoman.text.corpora.compressed import SUFFIXES

Languages = tuple[str | None, str | None]  # source, target
Direction = tuple[str, str]  # source, target

# A language, optionally with script and region (BCP 47; FLORES and gettext write an underscore).
_LANGUAGE = r"[a-z]{2,3}(?:[-_][A-Z][a-z]{3})?(?:[-_](?:[A-Z]{2}|[0-9]{3}))?"
_ONE = re.compile(_LANGUAGE)
_TWO = re.compile(f"({_LANGUAGE})[-_]({_LANGUAGE})")
# Suffixes that look like languages but rarely are (src, for one, is also Logudorese Sardinian).
_NO_LANGUAGES = frozenset(
    "bak big bpe bz csv dat dev doc gz hyp ids log new old out raw ref spm src tgt tmp tok trg txt val xz "
    "zst".split()
)

# Words in the names of columns.
SOURCES = frozenset("source src input original msgid".split())
TARGETS = frozenset("target tgt trg translation output reference msgstr".split())
_PLAIN = frozenset("text sentence segment language lang texts sentences segments languages langs".split())
_ABBREVIATED = frozenset("source src target tgt trg".split())  # surely columns, if the other is a language

_IGNORED = SUFFIXES | {".txt"}


def direction_name(direction: Direction) -> str:
    """The name of a direction in reports: en-de."""
    return "-".join(direction)


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


def of_head(columns: Sequence[str], languages: Languages, name: str) -> Languages | None:
    """Return the languages of the head line of a table of pairs, or None if it is a pair of sentences.

    A head names the columns: source and target, or languages by code or English name: "source text (en)".
    Of other `languages` than the text's, if these are known, it is taken for words, such as "is" and "es".
    Raise DataError, which names the file `name`, if it says that the target is the first column.
    """
    (role, left), (role_2, right) = (of_column(column) for column in columns)
    known = [cell for cell in (left, right) if cell]
    codes = [base(left), base(right)]
    if any(language_name(base(cell)) == base(cell) for cell in known):
        return None
    if not known and not (role and role_2 and (role in SOURCES) != (role_2 in SOURCES)):
        return None
    if len(known) == 1 and (role_2 if left else role) not in _ABBREVIATED:
        return None
    if len(known) == 2 and same(*codes):
        return None
    if all(languages) and not any(
        all(not code or same(code, str(a)) for code, a in zip(codes, order, strict=True))
        for order in (languages, languages[::-1])
    ):
        return None
    # Three letters are more often a word than a language that nothing else has named.
    if not all(languages) and any(len(cell) == 3 for cell in known):
        return None
    if (len(known) < 2 or not all(languages)) and (role in TARGETS or role_2 in SOURCES):
        raise DataError(
            f"{name}: line 1 says that the target is the first column ({', '.join(columns)})",
            hint="swap the two columns",
        )
    return codes[0] or None, codes[1] or None


def of_column(column: str) -> tuple[str, str]:
    """Return the word for source or target in the name of a column, or "", and what else it says."""
    role, rest = "", []
    words = re.split(r"[\s()]+", column.strip().strip("\"'").casefold())
    for word in filter(None, words):
        parts = re.split("[_-]", word)
        kept = [part for part in parts if part not in _PLAIN | SOURCES | TARGETS]
        role = next((part for part in parts if part in SOURCES | TARGETS), role)
        rest += [word if kept == parts else "-".join(filter(None, kept))] if kept else []
    if len(rest) == 2 and re.search(rf"\S\s*\({re.escape(rest[1])}\)\W*$", column.casefold()):
        rest = rest[:1] if len(rest[0]) > 3 and re.fullmatch("[a-z]{2}|[0-9]{3}", rest[1]) else rest
    return role, " ".join(rest)


def _suffix(name: str, ignored: Set[str]) -> str:
    """Return the last suffix, without its dot, that is not one of `ignored`."""
    path = PurePath(name)
    while path.suffix.lower() in ignored:
        path = path.with_suffix("")
    return path.name.rpartition(".")[2]


def first_known(languages: Languages, default: Languages) -> Languages:
    """Return each of two languages, from the default if it is not known."""
    return languages[0] or default[0], languages[1] or default[1]
