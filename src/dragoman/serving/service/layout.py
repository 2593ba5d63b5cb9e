"""Split a text into parts to translate and the white space around them, which is kept.

layout = laid_out("One.  Two.\n\n", "en", "de", "split")
layout.sentences  # ["One.", "Two."]
layout.text(["Eins.", "Zwei."])  # "Eins.  Zwei.\n\n"
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from dragoman.serving.service.ask import Splitting
from dragoman.text.checks.placeholders import has_language
from dragoman.text.guidance import Match
from dragoman.text.sentences import between, spacing, split_sentences

LONGEST = 1000
"""Characters of a sentence. A longer one is cut, however a text is to be split: models read no more tokens
than about four times that, and what they do not read would be lost."""

Known = Callable[[str], Match | None]


@dataclass(frozen=True)
class Sliver:
    """A piece of a text: space, a body, space. Joined, the pieces are the text but for `after`."""

    start: int  # where the body is in the text
    before: str
    body: str
    after: str  # as the target language has it
    match: Match | None = None  # of the memory, for the body
    copied: bool = False  # the body is not language

    @property
    def asked(self) -> bool:
        """Whether a model has to translate it."""
        return bool(self.body) and self.match is None and not self.copied


@dataclass(frozen=True)
class Layout:
    """The pieces of a text."""

    slivers: tuple[Sliver, ...]

    @property
    def sentences(self) -> list[str]:
        """The sentences to translate."""
        return [_one_line(one.body) for one in self.slivers if one.asked]

    def bodies(self, translations: Sequence[str]) -> Iterator[tuple[Sliver, str]]:
        """Yield each piece with its translation, given the translations of the sentences."""
        left = iter(translations)
        for one in self.slivers:
            if one.match is not None:
                yield one, one.match.target if "\n" in one.body else _one_line(one.match.target)
            else:
                yield one, next(left) if one.asked else one.body

    def text(self, translations: Sequence[str]) -> str:
        """Join the translations of the sentences into one of the text."""
        return "".join(one.before + body + one.after for one, body in self.bodies(translations))


def laid_out(
    text: str, source: str, target: str, how: Splitting, *, known: Known | None = None, asked: bool = False
) -> Layout:
    """Cut a text into pieces that are translated at once.

    `known` returns the match of a memory for a text, a line or a sentence, which is then not cut. `asked`:
    text that is not language is translated all the same.
    """
    pieces: list[Sliver] = []
    place = 0
    for piece, match in _pieces(text, source, how, known or (lambda _: None)):
        before, body, after = spacing(piece)
        place += len(piece)
        if body and place < len(text):
            after = between(after, source, target)
        start = place - len(piece) + len(before)
        copied = bool(body) and not asked and not has_language(body)
        pieces.append(Sliver(start, before, body, after, match, copied))
    return Layout(tuple(pieces))


def _pieces(text: str, source: str, how: Splitting, known: Known) -> Iterator[tuple[str, Match | None]]:
    if (match := _known(text, known)) is not None:
        yield text, match
        return
    for line in [text] if how == "one" else text.splitlines(keepends=True):
        if (match := _known(line, known)) is not None:
            yield line, match
            continue
        if how == "split" or len(line) > LONGEST:
            parts = split_sentences(line, source)
        else:
            parts = [line]
        for part in parts:
            # A word without end cannot be cut between words.
            for start in range(0, len(part), LONGEST):
                cut = part[start : start + LONGEST]
                yield cut, _known(cut, known)


def _one_line(text: str) -> str:
    return " ".join(text.splitlines())


def _known(text: str, known: Known) -> Match | None:
    body = text.strip()
    match = known(body) if body else None
    # A memory finds texts that differ in their space, but lines have to stay lines.
    return match if match is not None and match.source.count("\n") == body.count("\n") else None
