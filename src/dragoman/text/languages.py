"""Languages in the names of files (train.en, train.en-de.tsv), and language tags compared (BCP 47)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Set
from functools import lru_cache
from itertools import takewhile
from pathlib import PurePath

from dragoman.text.compressed import SUFFIXES

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

_IGNORED = SUFFIXES | {".txt"}

# Codes that name one language.
_SAME = {"iw": "he", "nb": "no", "nn": "no", "cmn": "zh", "in": "id"}


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


def _suffix(name: str, ignored: Set[str]) -> str:
    """Return the last suffix, without its dot, that is not one of `ignored`."""
    path = PurePath(name)
    while path.suffix.lower() in ignored:
        path = path.with_suffix("")
    return path.name.rpartition(".")[2]


def base(tag: str) -> str:
    """Return the language of a tag, without script and region: zh-Hant-TW -> zh."""
    return re.split("[-_]", tag, maxsplit=1)[0].lower()


def first_known(languages: Languages, default: Languages) -> Languages:
    """Return each of two languages, from the default if it is not known."""
    return languages[0] or default[0], languages[1] or default[1]


@lru_cache(1000)  # of strangers' files
def _parts(tag: str) -> list[str]:
    first, *rest = tag.lower().replace("_", "-").split("-")
    return [_SAME.get(first, first), *rest]


def related(one: str, other: str) -> bool:
    """Whether two tags may name one language. Codes of two and of three letters are not compared."""
    a, b = _parts(one)[0], _parts(other)[0]
    return a == b or len(a) != len(b)


def closest(wanted: str, tags: Iterable[str]) -> str | None:
    """Return the tag with the most in common with the wanted one, the first of equals; None if none fits."""
    best, most, ours = None, (0, 0), _parts(wanted)
    for tag in tags:
        theirs = _parts(tag)
        equal = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(ours, theirs, strict=False)))
        # `zh` contradicts `zh-CN` in nothing, `zh-TW` does.
        fits = (equal == min(len(ours), len(theirs))) + (ours == theirs)
        if equal and (equal, fits) > most:
            best, most = tag, (equal, fits)
    return best
