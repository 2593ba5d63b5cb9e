"""The languages that a file's name tells: train.en, train.en.gz, train.en-de.tsv."""

from __future__ import annotations

import re
from pathlib import PurePath

Languages = tuple[str | None, str | None]  # source, target

# A language and maybe its script and region (BCP 47; FLORES and gettext write an underscore).
_LANGUAGE = r"[a-z]{2,3}(?:[-_][A-Z][a-z]{3})?(?:[-_](?:[A-Z]{2}|[0-9]{3}))?"
_ONE = re.compile(_LANGUAGE)
_TWO = re.compile(f"({_LANGUAGE})[-_]({_LANGUAGE})")
# Suffixes that look like languages and are something else (though some are also spoken: src in Sardinia).
_NO_LANGUAGES = frozenset(
    "bak bpe bz csv dat dev doc gz hyp ids log new old out raw ref spm src tgt tmp tok trg txt val xz".split()
)


def is_language(text: str) -> bool:
    """Whether it looks like a language's code: en, pt-BR, zho_Hans."""
    return bool(_ONE.fullmatch(text)) and text not in _NO_LANGUAGES


def of_side(name: str) -> str | None:
    """The language of one side's file: train.en, train.en.gz, train.en.txt -> en."""
    suffix = _suffixes(name, {".gz", ".txt"})
    return suffix if is_language(suffix) else None


def of_pair(name: str) -> Languages:
    """The languages of a file of pairs, the source first: train.en-de.tsv, en-de.jsonl.gz -> en, de."""
    found = _TWO.fullmatch(_suffixes(name, {".gz", ".tsv", ".jsonl", ".ndjson", ".txt"}))
    if found and is_language(found[1]) and is_language(found[2]):
        return found[1], found[2]
    return None, None


def _suffixes(name: str, passed_over: set[str]) -> str:
    """The last part between dots that is none of `passed_over`."""
    path = PurePath(name)
    while path.suffix.lower() in passed_over:
        path = path.with_suffix("")
    return path.name.rpartition(".")[2]
