"""Translate sentences so that their placeholders survive, each the first way that works:

    memory     the translation memory has the sentence, with its placeholders
    pieces     the model has reserved pieces for placeholders, and the search uses each exactly once
    itself     the model copies the placeholders as they are
    alignment  the model garbles them; the words aligned with one are replaced by it
    parts      the text between the placeholders is translated part by part, and has doubts

Text that is not language is copied. A translation that repeats itself or is far too long is searched again;
if that does not help, the source is copied, with doubts.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Literal, Protocol

from dragoman.text.checks.loops import is_invention, loops
from dragoman.text.checks.placeholders import IN_ORDER, MEASURE, find_placeholders, has_language, mask
from dragoman.text.guidance import Context
from dragoman.text.spans import Link, Span
from dragoman.text.tokenizers.reserved import pieces
from dragoman.translation.memory.store import MemoryGuide
from dragoman.translation.search.options import Decoding

if TYPE_CHECKING:
    from dragoman.text.tokenizers.tokenizer import Tokenizer
    from dragoman.translation.search.alignment import Aligning
    from dragoman.translation.translation import Translation

Way = Literal["copied", "memory", "plain", "pieces", "itself", "alignment", "parts"]
_STUCK = "not translated: the output looped or never terminated"
_WORD = re.compile(r"\S+")
_FINAL = re.compile(r"(?<=[^\W\d])[.,;:!?…。，、；：！？]+$")  # behind a letter: "1." may be an ordinal
_CONTROL = re.compile("[\\x00-\\x1f\\x7f-\\x9f\\u2028\\u2029\\ufeff\\ud800-\\udfff]")  # no text has them
_UNIT = re.compile(MEASURE)
# What belongs to a placeholder without a space: git-%s, size=%d, %s.txt, %.1fkg
_LETTERS = re.compile(r"[^\W\d_]{2}|[^\W_a-z]")  # not the s of "{name}'s"
_GLUED_BEFORE = re.compile(r"(?<![\w.=/:#$(-])[A-Za-z0-9_#][\w.=/:#$(-]{0,40}\Z")
_PLAIN_WORD = re.compile(r"[A-Za-z][^\W\d_A-Z]+")
_GLUED_BEHIND = re.compile(rf"{MEASURE}|(?:[._/=:-][A-Za-z0-9]\w*){{1,5}}")
_SPECIAL = "%{}$<>&\\"
_PUNCTUATION = ".,;:!?()[]\"'«»„“”‘’…/=|-–—+*_#~@"
_MARKS = _PUNCTUATION + " "


@dataclass(frozen=True)
class Sentence:
    """A sentence without spaces around it."""

    text: str
    kept: tuple[Span, ...] = ()  # its placeholders: text[start:end], in order
    aligned: bool = False  # whether links are needed
    flags: tuple[str, ...] = ()  # how its placeholders are written: "c-format"
    strict: bool = False  # whether its text has placeholders, so that a lone % or brace may break it
    context: Context | None = None  # what stands before it
    languages: tuple[str | None, str | None] | None = None  # those of its line; None: as the options say

    @property
    def names(self) -> list[str]:
        """Its placeholders as text."""
        return [self.text[start:end] for start, end in self.kept]


@dataclass(frozen=True)
class Translated:
    """The translation of a sentence."""

    text: str
    kept: tuple[Span, ...]  # where the placeholders are now, in the order of the source
    links: tuple[Link, ...]
    way: Way
    doubts: tuple[str, ...] = ()
    found: Translation | None = field(default=None, compare=False)  # of the model or the memory


class Translating(Protocol):
    """The part of a `Translator` that is needed here."""

    tokenizer: Tokenizer
    aligning: Aligning | None
    memory: MemoryGuide | None

    def translate(
        self, lines: list[str], decoding: Decoding | None, /, *, context: list[Context | None] | None = None
    ) -> list[Translation]: ...


class Sentences:
    """Translates sentences with one translator and its options."""

    def __init__(self, translator: Translating, decoding: Decoding) -> None:
        self._translator = self._after_memory = translator
        if (guide := translator.memory) is not None:  # which refused translations must not come from again
            self._after_memory = copy(translator)
            self._after_memory.memory = guide.inexact()
        sample = decoding.sample and replace(decoding.sample, n_best=1)
        self._decoding = replace(decoding, n_best=1, split=False, protect=False, sample=sample)
        beam = None if decoding.beam is None else max(decoding.beam, 4)
        self._again = replace(self._decoding, no_repeat_ngram=3, beam=beam, n_best=4)
        self._pieces = pieces(len(ids[0])) if (ids := translator.tokenizer.placeholders) else []
        self._aligns = translator.aligning is not None

    def translate(self, sentences: Sequence[Sentence]) -> list[Translated]:
        """Return one answer for each sentence, in order."""
        answers = [None if has_language(one.text, one.kept) else _copied(one) for one in sentences]
        for way in (self._from_memory, self._with_pieces, self._as_it_is, self._once_more, self._in_parts):
            left = [number for number, answer in enumerate(answers) if answer is None]
            for number, answer in zip(left, way([sentences[number] for number in left]), strict=True):
                answers[number] = answer
        return [answer or _copied(one, _STUCK) for one, answer in zip(sentences, answers, strict=True)]

    def _from_memory(self, sentences: list[Sentence]) -> list[Translated | None]:
        """With the translation that a memory has for the whole sentence."""
        guide = self._translator.memory
        known = [one for one in sentences if guide and guide.memory.exact(one.text)]
        found = dict(zip(known, self._search(known, remembered=True), strict=True))
        return [_taken_over(one, found[one]) if one in found else None for one in sentences]

    def _with_pieces(self, sentences: list[Sentence]) -> list[Translated | None]:
        """With a reserved piece of the vocabulary for each placeholder."""
        masked = [_masked(one, self._pieces) for one in sentences]
        found = iter(self._search([one for one in masked if one is not None]))
        answers: list[Translated | None] = []
        for one, hidden in zip(sentences, masked, strict=True):
            answer = None if hidden is None else _checked(hidden, next(found), "pieces")
            answers.append(None if hidden is None or answer is None else _unmasked(answer, hidden, one))
        return answers

    def _as_it_is(self, sentences: list[Sentence]) -> list[Translated | None]:
        found = self._search(sentences)
        return [_checked(one, each) for one, each in zip(sentences, found, strict=True)]

    def _once_more(self, sentences: list[Sentence]) -> list[Translated | None]:
        """The best of several translations that passes all checks and does not repeat itself."""
        found = self._search(sentences, self._again)
        return [_first(one, (each, *each.alternatives)) for one, each in zip(sentences, found, strict=True)]

    def _in_parts(self, sentences: list[Sentence]) -> list[Translated | None]:
        """Translate the text between the placeholders part by part."""
        cut = [_parts(one) if one.kept else [] for one in sentences]
        asked = [
            Sentence(body, flags=one.flags, strict=True, context=one.context, languages=one.languages)
            for one, parts in zip(sentences, cut, strict=True)
            for number, part in enumerate(parts)
            if has_language(body := _body(part, number))
        ]
        found = iter(zip(asked, self._search(asked), strict=True))
        return [
            _assembled(one, parts, found) if parts else None
            for one, parts in zip(sentences, cut, strict=True)
        ]

    def _search(
        self, sentences: Sequence[Sentence], decoding: Decoding | None = None, *, remembered: bool = False
    ) -> list[Translation]:
        """Translate, with word alignment where it is needed: `remembered` as they are, else in lower case."""
        translator = self._translator if remembered else self._after_memory
        found: dict[int, Translation] = {}
        decoding = decoding or self._decoding
        given = decoding.source, decoding.to
        ways = [(one.aligned or bool(one.kept), one.languages or given) for one in sentences]
        for aligned, (source, to) in dict.fromkeys(ways):
            numbers = [n for n, way in enumerate(ways) if way == (aligned, (source, to))]
            how = replace(decoding, alignment=aligned and self._aligns, source=source, to=to)
            lines = [sentences[n].text if remembered else _calm(sentences[n]) for n in numbers]
            contexts = [sentences[n].context for n in numbers]
            done = translator.translate(lines, how, context=contexts if any(contexts) else None)
            found.update(zip(numbers, done, strict=True))
        return [found[number] for number in range(len(sentences))]


def _copied(one: Sentence, *doubts: str) -> Translated:
    spans = [found.span() for found in _WORD.finditer(one.text)]
    return Translated(one.text, one.kept, tuple((*span, *span) for span in spans), "copied", doubts)


def _taken_over(one: Sentence, found: Translation) -> Translated | None:
    """The translation of a memory, or None if it lacks a placeholder or its tags have no place."""
    links = _links(found)
    answer = Translated(found.text, (), links, "memory", found=found)
    return _themselves(one, answer) if links or not one.aligned else None


# ---- a translation, with its placeholders found -----------------------------------------------------


def _first(one: Sentence, found: Iterable[Translation]) -> Translated | None:
    return next((answer for each in found if (answer := _checked(one, each)) is not None), None)


def _checked(one: Sentence, found: Translation, way: Way | None = None) -> Translated | None:
    """The answer, or None if the translation repeats itself, has no end, or lacks a placeholder."""
    text = _CONTROL.sub(" ", found.text)  # of the same length, so that the links stay
    stuck = found.truncated or loops(text, one.text) > 0 or not _says(text)
    if stuck or is_invention(text, one.text):
        return None
    way_of = way or ("itself" if one.kept else "plain")
    answer = Translated(text, (), _links(found), way_of, _flags(found), found)
    for placed in (_themselves(one, answer), _by_alignment(one, answer) if way is None else None):
        if placed is not None:
            if not _says(placed.text, placed.kept):
                return None
            placed = _apart(one, placed)
            return _shouted(placed) if _is_shouted(_outside(one)) else placed
    return None


def _says(text: str, kept: Sequence[Span] = ()) -> bool:
    """Whether there is a letter or a digit outside the spans."""
    covered = mask(text, kept)
    return any(char.isalnum() and not covered[place] for place, char in enumerate(text))


def _themselves(one: Sentence, answer: Translated) -> Translated | None:
    """Find the placeholders in the text, each as often as in the source, and no others."""
    kept = _places(one.names, answer.text)
    if kept is None:
        return None
    found = {(each.start, each.end) for each in find_placeholders(answer.text, one.flags)}
    covered = mask(answer.text, kept)
    # "$1,234" may become "$1 234": its $1 is in the source, too.
    if any(not any(covered[a:b]) and answer.text[a:b] not in one.text for a, b in found):
        return None
    # "%1" is not in "%10", though its characters are.
    if any(
        span not in found and _is_found(name, one.flags) for name, span in zip(one.names, kept, strict=True)
    ):
        return None
    if (one.strict or one.kept) and _strays(answer.text, kept) - _strays(one.text, one.kept):
        return None
    ordered = [span for name, span in zip(one.names, kept, strict=True) if IN_ORDER.fullmatch(name)]
    return replace(answer, kept=tuple(kept)) if ordered == sorted(ordered) else None


def _strays(text: str, kept: Sequence[Span]) -> Counter[str]:
    """The characters outside placeholders that could begin one, and their number."""
    covered = mask(text, kept)
    return Counter(char for place, char in enumerate(text) if char in _SPECIAL and not covered[place])


def _apart(one: Sentence, answer: Translated) -> Translated:
    """Part placeholders from words that they do not touch in the source."""
    changes: dict[int, str] = {}
    for (first, last), (start, end) in zip(one.kept, answer.kept, strict=True):
        if _touches(answer.text, start) and not _touches(one.text, first):
            changes[start] = " "
        if _touches(answer.text, end) and not _touches(one.text, last):
            changes[end] = " "
    return _changed(answer, [(at, at, space) for at, space in sorted(changes.items())]) if changes else answer


def _touches(text: str, edge: int) -> bool:
    """Whether letters, digits or placeholders meet here, but for scripts without spaces."""
    around = text[edge - 1 : edge + 1] if 0 < edge < len(text) else ""
    return bool(around) and not any(
        char.isspace() or char in _PUNCTUATION or char >= "\u2e80" for char in around
    )


def _is_found(name: str, flags: tuple[str, ...]) -> bool:
    found = find_placeholders(name, flags)
    return [(0, len(name))] == [(each.start, each.end) for each in found]


def _places(names: Sequence[str], text: str) -> list[Span] | None:
    """Where the names are in a text, without overlap; None if one is missing or occurs too often."""
    taken = bytearray(len(text))
    searched: dict[str, int] = {}  # where to look for a name next: a match is used once

    def free(name: str) -> int:
        start = text.find(name, searched.get(name, 0))
        while start >= 0 and any(taken[start : start + len(name)]):
            start = text.find(name, start + 1)
        searched[name] = start if start >= 0 else len(text)
        return start

    places: dict[int, Span] = {}
    for number in sorted(range(len(names)), key=lambda number: -len(names[number])):  # %10 before %1
        start, size = free(names[number]), len(names[number])
        if start < 0:
            return None
        places[number] = start, start + size
        taken[start : start + size] = b"\1" * size
    return None if any(free(name) >= 0 for name in set(names)) else [places[n] for n in range(len(names))]


def _by_alignment(one: Sentence, answer: Translated) -> Translated | None:
    """Replace the words aligned with a placeholder, and only with it, by the placeholder."""
    changes: list[tuple[int, int, str]] = []
    gaps = _parts(one)
    for (start, end), inner, before, behind in zip(one.kept, one.names, gaps, gaps[1:], strict=False):
        glued = _GLUED_BEFORE.search(before), _GLUED_BEHIND.match(behind)
        left, right = (found[0] if found else "" for found in glued)
        if not right and _PLAIN_WORD.fullmatch(left):  # message%s, but backup%d.zip
            left = ""
        name = left + inner + right
        linked = [link for link in answer.links if link[0] < end and link[1] > start]
        # Where a tag was taken out, a word touches the placeholder: $1<b>dogs</b>.
        around = [
            one.text[s : start - len(left)] + " " + one.text[end + len(right) : e] for s, e, *_ in linked
        ]
        if not linked or any(map(_LETTERS.search, around)):
            return None
        low, high = min(link[2] for link in linked), max(link[3] for link in linked)
        # Links may include marks that the text needs.
        while low < high and answer.text[low] in _MARKS and answer.text[low] != name[0]:
            low += 1
        while low < high and answer.text[high - 1] in _MARKS and answer.text[high - 1] != name[-1]:
            high -= 1
        if low == high or _touches(answer.text, low) or _touches(answer.text, high):  # a part of a word
            return None
        if any(low < u and t < high and not (s < end and e > start) for s, e, t, u in answer.links):
            return None
        changes.append((low, high, name))
    changes.sort()
    if any(before[1] > after[0] for before, after in pairwise(changes)):
        return None
    return _themselves(one, replace(_changed(answer, changes), way="alignment"))


Change = tuple[int, int, str]  # text[start:end] becomes another text


def _changed(answer: Translated, changes: Sequence[Change]) -> Translated:
    """Replace spans of the text, which are in order and apart. Spans and links move along."""
    text, done = "", 0
    for start, behind, new in changes:
        text, done = text + answer.text[done:start] + new, behind
    return replace(
        answer,
        text=text + answer.text[done:],
        kept=tuple(_moved(span, changes) for span in answer.kept),
        links=tuple((*link[:2], *_moved(link[2:], changes)) for link in answer.links),
    )


def _moved(span: Span, changes: Sequence[Change]) -> Span:
    """Where a span is after the changes. It grows to whole changes that it overlaps."""
    first, last = span
    start, end = first, last
    for low, high, new in changes:
        grown = len(new) - (high - low)
        if high <= first:
            start, end = start + grown, end + grown
        elif low < last:
            start -= max(first - low, 0)
            end += max(high - last, 0) + grown
    return start, end


def _flags(found: Translation) -> tuple[str, ...]:
    """Doubts from the model, and unused terms. The text itself is checked as a whole."""
    flags = found.risk.flags if found.risk else ()
    doubts = [str(flag) for flag in flags if flag.kind in ("omission", "addition", "low confidence")]
    return (*doubts, *(f"term not used: {each}" for each in found.unused_terms))


def _links(found: Translation) -> tuple[Link, ...]:
    if found.alignment is None:
        return ()
    source, target = found.alignment.source, found.alignment.target
    return tuple((*source[s], *target[t]) for s, t in found.alignment.links)


# ---- reserved pieces ---------------------------------------------------------------------------------


def _masked(one: Sentence, pieces: Sequence[str]) -> Sentence | None:
    """The sentence with the n-th piece in the place of the n-th placeholder; None if there are too few."""
    if not one.kept or len(one.kept) > len(pieces) or any(piece in one.text for piece in pieces):
        return None
    text, kept, done = "", list[Span](), 0
    for (start, end), piece in zip(one.kept, pieces, strict=False):
        text += one.text[done:start]
        kept.append((len(text), len(text) + len(piece)))
        text, done = text + piece, end
    return replace(one, text=text + one.text[done:], kept=tuple(kept))


def _unmasked(answer: Translated, masked: Sentence, one: Sentence) -> Translated | None:
    """The placeholders in the place of their pieces, in the translation and in the links."""
    before = [(*span, name) for span, name in zip(masked.kept, one.names, strict=True)]
    links = tuple((*_moved(link[:2], before), *link[2:]) for link in answer.links)
    changes = sorted((*span, name) for span, name in zip(answer.kept, one.names, strict=True))
    return _themselves(one, _changed(replace(answer, links=links), changes))


# ---- part by part ------------------------------------------------------------------------------------


def _parts(one: Sentence) -> list[str]:
    """The parts between the placeholders: one more than placeholders."""
    return [one.text[start:end] for start, end in _gaps(one.kept, len(one.text))]


def _gaps(kept: Sequence[Span], length: int) -> Iterator[Span]:
    edges = [0, *(place for span in kept for place in span), length]
    return zip(edges[::2], edges[1::2], strict=True)


def _assembled(
    one: Sentence, parts: Sequence[str], found: Iterator[tuple[Sentence, Translation]]
) -> Translated | None:
    text, kept, links, place = "", list[Span](), list[Link](), 0
    for number, part in enumerate(parts):
        start = len(text)
        text += _part(part, number, found)
        links.append((place, place + len(part), start, len(text)))
        place += len(part)
        if number < len(one.kept):
            low, high = one.kept[number]
            kept.append((len(text), len(text) + high - low))
            text += one.text[low:high]
            links.append((low, high, *kept[-1]))
            place = high
    return Translated(
        text, tuple(kept), tuple(links), "parts", ("translated in parts around its placeholders",)
    )


def _body(part: str, number: int) -> str:
    """The part without the marks, spaces and units at its edges, which stay as they are."""
    unit = _UNIT.match(part) if number else None  # of the placeholder before it
    return re.sub(r"^[\W_]+|[\W_]+$", "", part[unit.end() if unit else 0 :])


def _part(part: str, number: int, found: Iterator[tuple[Sentence, Translation]]) -> str:
    if not has_language(body := _body(part, number)):
        return part
    sentence, translation = next(found)
    answer = _checked(sentence, translation)
    start = part.rindex(body)
    # Models end a fragment as if it was a sentence; the source has its own marks around it.
    body = _FINAL.sub("", answer.text) if answer else sentence.text
    return part[:start] + body + part[start + len(sentence.text) :]


# ---- capitals ----------------------------------------------------------------------------------------


def _outside(one: Sentence) -> str:
    return " ".join(_parts(one))


def _is_shouted(text: str) -> bool:
    """Whether all is in capitals, with a word that is too long for an abbreviation."""
    return text.isupper() and re.search(r"[^\W\d_]{5}", text) is not None


def _calm(one: Sentence) -> str:
    """A sentence in capitals as one in lower case, which models know better."""
    if not _is_shouted(_outside(one)):
        return one.text
    text, first = "", True
    for part, name in zip(_parts(one), [*one.names, ""], strict=True):
        lower = part.lower()
        lower = lower if len(lower) == len(part) else part
        text += (lower[:1].upper() + lower[1:] if first else lower) + name
        first = False
    return text


def _shouted(answer: Translated) -> Translated:
    """The answer in capitals, but for its placeholders."""
    spans = _gaps(sorted(answer.kept), len(answer.text))
    return _changed(answer, [(s, e, answer.text[s:e].upper()) for s, e in spans])
