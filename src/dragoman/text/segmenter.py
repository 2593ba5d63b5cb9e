"""A text as pieces that are translated, and the space between them, which stays as it is.

parts = segment_text("One.  Two.\n\n", "en", "de")
parts.sentences  # ["One.", "Two."]
parts.joined(["Eins.", "Zwei."])  # ("Eins.  Zwei.\n\n", [(0, 5), (7, 12)])
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Literal, NamedTuple

from dragoman.base.languages import base
from dragoman.text.blank import is_blank
from dragoman.text.checks.placeholders import has_language
from dragoman.text.guidance import Match
from dragoman.text.spans import Span

Splitting = Literal["split", "lines", "one"]
Known = Callable[[str], Match | None]

LONGEST = 500  # characters of a sentence; most models have seen none longer

# An end of a sentence with more behind it: a mark and a space, a sign of another script, or a line end.
_INNER_END = re.compile(
    r"[.!?;\u2026](?:[^\w\s]|[\xb9\xb2\xb3\u2070\u2074-\u2079]|(?<=\[)(?:\d{1,3}|[a-z])(?=\]))*\s+\S"
    r"|[^\w\s\x00-\x7f\xa1-\xbf\u2010-\u203a\u20a0-\u20bf][^\w\s]*\s*\w"
    r"|[.!?][^\w\s]*[\u3040-\u30ff\u3400-\u9fff]|[\n\r\v\f\x1c-\x1e\x85\u2028\u2029]"
)
# Marks of direction and of width, and soft hyphens: around a text they are as good as space.
_EDGE = "\xad\u200b\u200e\u200f\u202a-\u202e\u2060-\u2069\ufeff"
_EDGES = re.compile(rf"^[\s{_EDGE}]+|(?<![\s{_EDGE}])[\s{_EDGE}]+$")
_BREAKS = dict.fromkeys(map(ord, "\n\r\v\f\x1c\x1d\x1e\x85\u2028\u2029"), " ")
_UNSPACED = frozenset(("zh", "yue", "ja", "th", "lo", "km", "my"))


class TextPiece(NamedTuple):
    """What is translated at once: `body`, which is text[start:end], without what does not show around it."""

    start: int
    end: int
    body: str
    match: Match | None = None  # of the memory, for the body
    copied: bool = False  # the body is not language

    @property
    def asked(self) -> bool:
        """Whether a model has to translate it."""
        return self.match is None and not self.copied


class Segmented(NamedTuple):
    """The pieces of a text, and the space before, between and after them as the target language has it."""

    pieces: tuple[TextPiece, ...]
    gaps: tuple[str, ...]  # one more than pieces

    @property
    def sentences(self) -> list[str]:
        """What a model has to translate, each in one line."""
        return [_one_line(one.body) for one in self.pieces if one.asked]

    def bodies(self, translations: Iterable[str]) -> Iterator[str]:
        """Yield the translation of each piece, given those of `sentences`."""
        left = iter(translations)
        for one in self.pieces:
            if one.match is not None:
                yield one.match.target if "\n" in one.body else _one_line(one.match.target)
            else:
                yield next(left) if one.asked else one.body

    def joined(self, bodies: Iterable[str]) -> tuple[str, list[Span]]:
        """Return the translation of the text from those of all its pieces, and the place of each in it."""
        text, spans = self.gaps[0], list[Span]()
        for body, gap in zip(bodies, self.gaps[1:], strict=True):
            spans.append((len(text), len(text) + len(body)))
            text += body + gap
        return text, spans


def segment_text(
    text: str,
    source: str,
    target: str,
    *,
    how: Splitting = "split",
    longest: int | None = LONGEST,
    kept: Sequence[Span] = (),
    known: Known | None = None,
    copying: bool = False,
) -> Segmented:
    """Cut a text into sentences, into lines (`how` = "lines"), or not at all ("one").

    A sentence of more than `longest` characters is cut at its clauses or between words. Any piece of more
    than twice that is cut, whatever `how` says, because models do not read the rest. None cuts neither. No
    piece ends inside the spans `kept`, which are in order. `known` returns what a memory has for the text, a
    line or a sentence, which is then not cut. With `copying`, pieces without language outside of `kept` are
    not translated.
    """
    pieces: list[TextPiece] = []
    gaps: list[str] = []
    done = 0
    for start, end, match in _cuts(text, source, how, longest, kept, known or (lambda _: None)):
        if not is_blank(body := _EDGES.sub("", text[start:end])):
            start = text.index(body, start)
            gap = text[done:start]
            gaps.append(between(gap, source, target) if pieces else gap)
            done = start + len(body)
            own = [(max(a - start, 0), b - start) for a, b in kept if start < b and a < done]
            pieces.append(TextPiece(start, done, body, match, copying and not has_language(body, own)))
    return Segmented(tuple(pieces), (*gaps, text[done:]))


def may_split(line: str) -> bool:
    """Whether a line may be other than one whole piece. False saves the splitter."""
    return len(line) > LONGEST or _INNER_END.search(line) is not None or _EDGES.search(line) is not None


def unbroken(text: str) -> str:
    """Return the text with a space in the place of each character that ends a line, so places stay."""
    return text.translate(_BREAKS)


def between(space: str, source: str, target: str) -> str:
    """Return the space between two sentences in the target language, for that in the source language.

    Chinese, for instance, has none. Other space than a single one stays as it is.
    """
    if space not in ("", " "):
        return space
    source, target = base(source), base(target)
    if (source in _UNSPACED) == (target in _UNSPACED):
        return space
    return "" if target in _UNSPACED else " "


def _cuts(
    text: str, source: str, how: Splitting, longest: int | None, kept: Sequence[Span], known: Known
) -> Iterator[tuple[int, int, Match | None]]:
    """Yield the spans of the pieces, which tile the text, and what is known of each."""
    if (match := _known(text, known)) is not None:
        yield 0, len(text), match
        return
    from dragoman.text.sentences import split_sentences  # its rules take 5 ms, and most lines need none

    most = len(text) if longest is None else 2 * longest
    for start, end in [(0, len(text))] if how == "one" else _lines(text, kept):
        line = text[start:end]
        if (match := _known(line, known)) is not None:
            yield start, end, match
            continue
        own = [(a - start, b - start) for a, b in kept if start <= a < end]
        split = how == "split" or len(line) > most
        for sentence in split_sentences(line, source, kept=own, longest=longest) if split else [line]:
            end = start + len(sentence)
            # A word without end cannot be cut between words.
            while end - start > most and not any(a < start + most < b for a, b in kept):
                yield start, start + most, _known(text[start : start + most], known)
                start += most
            yield start, end, _known(text[start:end], known)
            start = end


def _lines(text: str, kept: Sequence[Span]) -> Iterator[Span]:
    """Yield the spans of the lines with their ends. A line that ends inside a kept span continues."""
    start = end = 0
    for line in text.splitlines(keepends=True):
        end += len(line)
        if not any(a < end < b for a, b in kept):
            yield start, end
            start = end
    if start < end:
        yield start, end


def _known(text: str, known: Known) -> Match | None:
    body = text.strip()
    match = None if is_blank(body) else known(body)
    # A memory finds texts that differ in their space, but lines have to stay lines.
    return match if match is not None and match.source.count("\n") == body.count("\n") else None


def _one_line(text: str) -> str:
    return " ".join(text.splitlines())
