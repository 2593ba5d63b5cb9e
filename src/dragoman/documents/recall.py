"""Look up whole segments in a translation memory.

Its translation is taken over only if all codes of the segment can be put back: those at the edges stay there,
and those inside must be in the translation as they are in the segment.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import takewhile

from dragoman.documents.checks import loses_codes
from dragoman.documents.flat import as_written, with_found
from dragoman.documents.messages.icu import arguments_of
from dragoman.documents.segment import Code, Content, Result, Segment, full_text, text_of
from dragoman.text.blank import is_blank
from dragoman.text.guidance import Match
from dragoman.translation.memory.store import MemoryGuide, TranslationMemory


def recall(memory: TranslationMemory, segment: Segment) -> Result | None:
    """Return the translation that the memory has for a segment, or None."""
    source = segment.source
    lead = len(list(takewhile(_is_tag, source)))
    end = len(source) - len(list(takewhile(_is_tag, reversed(source[lead:]))))
    for content, before, after in ((source, (), ()), (source[lead:end], source[:lead], source[end:])):
        text = full_text(content)
        match = None if is_blank(text) else memory.exact(text)
        if match is None or match.source.count("\n") != text.strip().count("\n"):
            continue
        spaced = text.replace(text.strip(), match.target.strip(), 1)  # with the space around the text
        target = as_written([*before, *_with_codes(spaced, content), *after])
        if not _loses(segment, target):
            memory.count_use(match)
            return Result(target, match=match)
    return None


def offer(guide: MemoryGuide, segment: Segment) -> Match | None:
    """Return the most similar text of the memory for a segment that it does not have."""
    match = guide.memory.match(text_of(segment.source), least=guide.least)
    return match if match is not None and not match.exact else None


def _is_tag(one: str | Code) -> bool:
    return isinstance(one, Code) and one.kind != "placeholder"


def _with_codes(target: str, content: Sequence[str | Code]) -> Content:
    """The target with codes in the places of their texts; of equal ones, in order."""
    left = [one for one in content if isinstance(one, Code)]
    out: list[str | Code] = []
    place = 0
    while found := [(at, -len(one.text), one) for one in left if (at := target.find(one.text, place)) >= 0]:
        at, _, code = min(found, key=lambda one: one[:2])
        out += [target[place:at], code]
        place = at + len(code.text)
        left.remove(code)
    return (*out, target[place:])


def _loses(segment: Segment, target: Content) -> bool:
    """Whether codes are missing, too many or crossed. Numbers are the translator's."""
    if (arguments := arguments_of(segment.source)) is not None:
        return arguments != arguments_of(target)
    return loses_codes(with_found(segment.source, segment.flags), with_found(target, segment.flags))
