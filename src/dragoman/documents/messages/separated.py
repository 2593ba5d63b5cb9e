"""Texts between separators: the plural forms "one|many" of Symfony, Laravel and vue-i18n, and titles.

Symfony and Laravel have intervals, {0} or [1,19] or ]1,Inf[, and labels, "one: a dog"; Polyglot has "||||".
Forms without an interval are those of the language in order. Where only the words look like forms, their
number stays: vue-i18n chooses among them as in English.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import partial
from itertools import pairwise
from typing import NamedTuple

from dragoman.base.languages import base
from dragoman.documents.messages.divided import CodedText, Divided, Leaf
from dragoman.documents.plural_rules import plurals_of
from dragoman.documents.segment import Code, Content, Segment, full_text, text_of
from dragoman.text.checks.placeholders import find_placeholders, has_language, mask

_MOST = 12
_SEPARATOR = re.compile(r"(?<![|'\s])\s*+(?:\|{4}|\|)(?![|'])\s*")
_NUMBER = r"(?:[-+]?(?:Inf|\d+(?:\.\d+)?)|\*)"
_INTERVAL = re.compile(
    rf"\s*(?:\{{\s*-?\d+(?:\s*,\s*-?\d+)*\s*\}}|[\[\]]\s*{_NUMBER}(?:\s*,\s*{_NUMBER})?\s*[\[\]])\s*"
)
_LABEL = re.compile(r"\s*(?:none|zero|one|two|few|some|many|more|others?):\s*(?=\S)")
_COUNTED = re.compile(r"(?<![\w:@]):[a-z]\w*|%\w+%")  # as Laravel and Symfony write an argument
_BRACKETS = (("(", ")"), ("[", "]"), ("{", "}"))
_ONE_FORM = frozenset(("az", "ka", "kk", "kn", "tr"))  # in Symfony and Laravel, where gettext has two


class _Text(NamedTuple):
    """A text with the separator before it, and its interval or label."""

    separator: Content
    prefix: str
    body: Content
    words: str  # of the body


def separated(segment: Segment, languages: tuple[str, str], *, labels: bool = False) -> Divided | None:
    """Return a segment as texts between separators, or None. `labels` are messages of programs."""
    marked = CodedText(segment.source)
    if not marked.is_clean or "|" not in marked.text:
        return None
    covered = mask(marked.text, [(one.start, one.end) for one in find_placeholders(marked.text)])
    cuts = [one.span() for one in _SEPARATOR.finditer(marked.text) if not any(covered[slice(*one.span())])]
    edges = [(0, 0), *cuts, (len(marked.text),) * 2]
    intervals = [_INTERVAL.match(marked.text, end) for _, end in edges]
    # "a dog|{0} dogs" has an argument.
    has_intervals = intervals[0] or any(one and "{" not in one[0] for one in intervals)
    prefixes = _INTERVAL if has_intervals else _LABEL
    texts = [_text(marked, *before, after[0], prefixes) for before, after in pairwise(edges)]
    bare = [one for one in texts if not one.prefix or prefixes is _LABEL]
    polyglot = all("||||" in full_text(one.separator) for one in texts[1:])
    certain = polyglot or len(bare) < len(texts) or all(one.prefix for one in texts)
    # They look like plural forms if one has an argument, or each shares a word with the next.
    argued = any(_COUNTED.search(one.words) or find_placeholders(one.words) for one in bare)
    alike = argued or _share_words(bare) or all(map(_is_title, bare))
    words = alike and all(has_language(one.words) for one in bare)
    balanced = all(
        one.body and all(one.words.count(left) == one.words.count(right) for left, right in _BRACKETS)
        for one in texts
    )
    if not (1 < len(texts) < _MOST and balanced and (certain or words)):
        return None
    planned, doubts = texts, list[str]()
    if len(bare) > 1:
        counted = polyglot or any(one.prefix or _COUNTED.search(one.words) for one in bare)
        if not certain and " " in full_text(bare[-1].separator):
            counted = (counted or all(map(_is_title, bare))) and _share_words(bare)  # "Cart of :name | Shop"
        numbers = _forms(*languages, one_form=not polyglot)
        known = labels or certain  # else prose: "cat %file% | sort"
        if known and numbers and counted and len(bare) == len(_forms(languages[0], languages[0])):
            planned = [one for one in texts if one not in bare] + [bare[number] for number in numbers]
        elif known and len(bare) - len(numbers) not in (0, 1):
            doubts = ["number of plural forms"]
    pieces: list[str | Code | Leaf] = []
    for number, one in enumerate(planned):
        pieces += [*((one.separator or texts[1].separator) if number else ()), one.prefix]
        pieces.append(Leaf(one.body, one.body, str(number + 1), partial(_written, one.words)))
    return Divided(segment, pieces, doubts)


def _text(marked: CodedText, start: int, at: int, end: int, prefixes: re.Pattern[str]) -> _Text:
    prefix = found[0] if (found := prefixes.match(marked.text, at, end)) else ""
    body = marked.raw(at + len(prefix), end)
    return _Text(marked.raw(start, at), prefix, body, text_of(body))


def _written(words: str, content: Content) -> Content | None:
    """The text, or None if it would begin another."""
    text = text_of(content)
    begins = any(one.match(text) and not one.match(words) for one in (_INTERVAL, _LABEL))
    return None if begins or text.count("|") != words.count("|") else content


def _forms(source: str, target: str, *, one_form: bool = True) -> list[int]:
    """For each plural form of the target language, the number of the form to translate; [] if not known."""
    sides = []
    for language in (source, target):
        known = plurals_of(language)
        count = 0 if known is None else 1 if one_form and base(language) in _ONE_FORM else known.forms
        sides.append(known.categories[:count] if known and count > 1 else ("other",) * count)
    old, new = sides
    return [old.index(one) if one in old else len(old) - 1 for one in new] if old else []


def _is_title(one: _Text) -> bool:
    """Whether a text begins with a capital letter: "Home|Site title", not "pipe a | b"."""
    return one.words.lstrip()[:1].isupper()


def _share_words(texts: Sequence[_Text]) -> bool:
    words = [{word[:3].lower() for word in re.findall(r"[^\W\d_]{3,}", one.words)} for one in texts]
    return all(before & after for before, after in pairwise(words))
