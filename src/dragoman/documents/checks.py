"""What a translation must have in common with its source, and what it lacks."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable

from dragoman.documents.segment import Code, Content
from dragoman.text.placeholders import find_placeholders

_NUMBER = re.compile(r"\d+(?:[.,'’]\d+|[ \u00a0\u202f]\d{3}\b)*")
_UNIT = re.compile(r"\d+")


def doubts(source: Content, target: Content, *, c_format: bool = False) -> list[str]:
    """Return what differs: placeholders, tags and numbers that are missing or too many. Empty if nothing."""
    return [
        *_difference("placeholder", _placeholders(source, c_format), _placeholders(target, c_format)),
        *_difference("tag", _tags(source), _tags(target)),
        *_nesting(source, target),
        *_difference("number", _numbers(source, c_format), _numbers(target, c_format)),
    ]


def _difference(what: str, source: Counter[str], target: Counter[str]) -> list[str]:
    missing = [f"{what} missing: {one}" for one in (source - target).elements()]
    return missing + [f"{what} added: {one}" for one in (target - source).elements()]


def _placeholders(content: Content, c_format: bool) -> Counter[str]:
    found = [one.text for one in content if isinstance(one, Code) and one.kind == "placeholder"]
    return Counter(
        found + [each.text for text in _texts(content) for each in find_placeholders(text, c_format=c_format)]
    )


def _tags(content: Content) -> Counter[str]:
    return Counter(one.text for one in content if isinstance(one, Code) and one.kind != "placeholder")


def _nesting(source: Content, target: Content) -> list[str]:
    return ["tags cross"] if _crosses(target) and not _crosses(source) else []


def _crosses(content: Content) -> bool:
    """Whether a closing tag comes before its opening one, or not before those opened later."""
    codes = [one for one in content if isinstance(one, Code) and one.pair]
    opened: list[int] = []
    for code in codes:
        if code.kind == "open":
            opened.append(code.pair)
        elif code.kind == "close" and (not opened or opened.pop() != code.pair):
            return True
    return False


def _numbers(content: Content, c_format: bool) -> Counter[str]:
    """The numbers outside placeholders. Separators differ between languages: 1,000.5 is 1.000,5."""
    numbers: Counter[str] = Counter()
    for text in _texts(content):
        place = 0
        for one in [*find_placeholders(text, c_format=c_format), None]:
            words = text[place : one.start] if one else text[place:]
            numbers.update("".join(_UNIT.findall(found)) for found in _NUMBER.findall(words))
            place = one.end if one else place
    return numbers


def _texts(content: Content) -> Iterable[str]:
    """The text between placeholders. Tags do not divide it."""
    text = ""
    for one in content:
        if isinstance(one, str):
            text += one
        elif one.kind == "placeholder":
            yield text
            text = ""
        else:
            text += one.shown
    yield text
