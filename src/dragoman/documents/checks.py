"""Checks of the codes of a segment, in addition to those of its text."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from dragoman.documents.flat import FoundCode
from dragoman.documents.segment import Code, Content
from dragoman.text.checks.faults import Side, faults_of, unmatched
from dragoman.text.checks.placeholders import IN_ORDER


def doubts(source: Content, target: Content, languages: tuple[str, str]) -> list[str]:
    """Return the faults of a translation. Placeholders are codes: see `flat.with_found`."""
    flags = map(str, faults_of(_side(source, languages[0]), _side(target, languages[1])))
    # Pairs of tags that enclose text in the source only: a link without text cannot be seen.
    emptied = sorted(_empty_pairs(target) - _empty_pairs(source))
    tags = [*_different_tags(source, target), *(f"tag: {text} without text" for _, text in emptied)]
    return [*flags, *tags, *_different_order(source, target)]


def loses_codes(source: Content, target: Content) -> bool:
    """Whether placeholders or tags are missing, too many or crossed."""
    differs = _placeholders(source) != _placeholders(target) or bool(_different_tags(source, target))
    return differs or bool(_different_order(source, target))


def _side(content: Content, language: str) -> Side:
    text = words = ""
    for one in content:
        if isinstance(one, str):
            text, words = text + one, words + one
        elif _is_placeholder(one):
            text, words = text + one.text, words + " "
        else:
            shown = one.shown or " " * one.breaks
            text, words = text + shown, words + shown
    return Side(text, language, _placeholders(content), words)


def _placeholders(content: Content) -> Counter[str]:
    return Counter(one.text for one in content if isinstance(one, Code) and _is_placeholder(one))


def _is_placeholder(code: Code) -> bool:
    """Whether a code is text for a reader of the file: also a tag that we found there."""
    return code.kind == "placeholder" or isinstance(code, FoundCode)


def _different_tags(source: Content, target: Content) -> list[str]:
    tags = (Counter(one.text for one in _tags_of(side)) for side in (source, target))
    found = [f"tag: {one}" for one in unmatched(*tags)]
    return found + (["tags cross"] if _crosses(target) and not _crosses(source) else [])


def _empty_pairs(content: Content) -> set[tuple[int, str]]:
    opened: dict[int, str] = {}  # without text so far
    empty: set[tuple[int, str]] = set()
    for one in content:
        if isinstance(one, str) and not one.strip():
            continue
        if isinstance(one, str) or one.kind in ("placeholder", "empty"):
            opened.clear()
        elif one.kind == "open" and one.pair:
            opened[one.pair] = one.text
        elif one.pair in opened:
            empty.add((one.pair, opened.pop(one.pair) + one.text))
    return empty


def _different_order(source: Content, target: Content) -> list[str]:
    """Whether placeholders that mean something by their order, such as %s, have another one; also in tags."""
    ours, theirs = (
        [one.text for one in side if isinstance(one, FoundCode) and IN_ORDER.search(one.text)]
        for side in (source, target)
    )
    same = ours == theirs or Counter(ours) != Counter(theirs)  # which has a doubt of its own
    return [] if same else [f"placeholder: {' '.join(theirs)} in another order"]


def _tags_of(content: Content) -> Iterator[Code]:
    """The tags of the file, also those in a URL."""
    for one in content:
        if isinstance(one, FoundCode) and one.kind == "placeholder":
            yield from _tags_of(one.parts)
        elif isinstance(one, Code) and not _is_placeholder(one):
            yield one


def _crosses(content: Content) -> bool:
    """Whether a closing tag comes before its opening one, or not before those opened later."""
    opened: list[int] = []
    for code in (one for one in _tags_of(content) if one.pair):
        if code.kind == "open":
            opened.append(code.pair)
        elif code.kind == "close" and (not opened or opened.pop() != code.pair):
            return True
    return False
