"""Lists of terms as TBX (ISO 30042): TBX-Basic, TBX-Min and Core, of the versions 2 and 3.

    <termEntry><langSet xml:lang="en"><tig><term>print preview</term></tig></langSet> ...</termEntry>
    <conceptEntry><langSec xml:lang="en"><termSec><term>print preview</term></termSec></langSec> ...

An entry is a concept. Each of its terms in the source language, of whatever country, has all its terms in the
closest target language as translations, preferred ones first. Terms that are deprecated, superseded or
forbidden are not used as translations.
Reading is safe for untrusted files: a file may not declare entities, and nothing is fetched.
"""

from __future__ import annotations

import codecs
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass, field

from dragoman.base.errors import DataError
from dragoman.base.languages import closest
from dragoman.base.tables import listing
from dragoman.text.xml import SafeReader

_ENTRIES = frozenset(("termEntry", "conceptEntry", "entry"))
_LANGUAGES = frozenset(("langSet", "langSec", "langGroup"))  # TBX-Min has the last
_TERMS = frozenset(("tig", "ntig", "termSec", "termGroup"))
_ROOTS = frozenset(("martif", "tbx", "TBX"))
# How a term may be used: a <termNote> with one of these types, or an element of that name.
_STATUS = frozenset(("administrativeStatus", "normativeAuthorization", "termStatus"))
_BAD = ("deprecated", "superseded", "obsolete", "forbidden", "rejected", "notrecommended")
_HINT = "export it again as TBX, or as CSV: source,target"


def is_tbx(data: bytes) -> bool:
    """Whether the content begins as XML does."""
    wide = data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    start = data[:512].decode("utf-16" if wide else "utf-8-sig", "ignore")
    return start.lstrip().startswith("<")


def stated_languages(data: bytes, name: str) -> tuple[str, ...]:
    """Return the languages of all concepts. Raises DataError naming file and line if it is not TBX."""
    reader = _Reader(name)
    reader.feed(data, final=True)
    return tuple(dict.fromkeys(one.language for concept in reader.concepts for one in concept))


def read(data: bytes, name: str, source: str, target: str) -> Iterator[tuple[str, str]]:
    """Yield (term, translation) for each pair of each concept.

    Raises DataError naming file and line if it is not TBX, or no concept has both languages.
    """
    reader = _Reader(name)
    reader.feed(data, final=True)
    both = False
    for concept in reader.concepts:
        codes = [*dict.fromkeys(one.language for one in concept)]
        theirs = closest(target, codes)
        # A text in English may have the words of en-US and of en-GB.
        ours = [code for code in codes if code != theirs and closest(source, [code]) is not None]
        if not ours or theirs is None:
            continue
        both = True
        targets = [one for one in concept if one.language == theirs and not one.bad]
        for term in (one.text for one in concept if one.language in ours):
            for one in sorted(targets, key=lambda one: not one.preferred):
                yield term, one.text
    if not both:
        shown = [*dict.fromkeys(one.language[:40] for concept in reader.concepts for one in concept)]
        raise DataError(
            f"{name}: no concept has both {source} and {target}; it has {listing(shown) or 'no terms'}",
            hint="check that it is the right list for this model",
        )


@dataclass
class _Term:
    language: str
    text: str = ""
    status: list[str] = field(default_factory=list)

    @property
    def bad(self) -> bool:
        return any(word in one for one in self.status for word in _BAD)

    @property
    def preferred(self) -> bool:
        return any(one.startswith("preferred") for one in self.status)


class _Reader(SafeReader):
    """Collects `concepts`."""

    def __init__(self, name: str) -> None:
        super().__init__(name, _HINT, separator=" ")
        self.concepts: list[list[_Term]] = []
        self._language = ""
        self._term: _Term | None = None
        self._text: list[str] | None = None  # of the open term or note
        self._opened: list[str] = []  # the elements around the next

    def _start(self, tag: str, attributes: dict[str, str]) -> None:
        tag = tag.rpartition(" ")[2]
        if not self._opened and tag not in _ROOTS:
            raise self.problem(f"not a TBX file: it begins with <{tag}>")
        self._opened.append(tag)
        if tag in _ENTRIES:
            self.concepts.append([])
        elif tag in _LANGUAGES:
            self._language = next(
                (code for key, code in attributes.items() if key.rpartition(" ")[2] == "lang"), ""
            )
        elif tag in _TERMS:
            self._term = _Term(self._language)
        elif tag in ("term", *_STATUS) or attributes.get("type") in _STATUS:
            self._text = []

    def _end(self, tag: str) -> None:
        opened = self._opened.pop()
        text = None if self._text is None else " ".join("".join(self._text).split())
        if opened in _TERMS:
            term, self._term = self._term, None
            if term is not None and term.text and self.concepts:
                self.concepts[-1].append(term)
        elif self._term is not None and text is not None and opened == "term":
            self._term.text, self._text = unicodedata.normalize("NFC", text), None
        elif self._term is not None and text is not None and (opened == "termNote" or opened in _STATUS):
            self._term.status.append(text.lower())
            self._text = None

    def _characters(self, text: str) -> None:
        if self._text is not None:
            self._text.append(text)
