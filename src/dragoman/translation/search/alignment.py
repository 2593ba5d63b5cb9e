"""Word alignment: which tokens of a translation come from which tokens of its source. Imports no torch.

A decoder attends to the source at each step. A token is linked to the source token that has the largest
weight at the step that predicts it. A head that was trained to align does so one step later, when the decoder
reads the token and knows it (Chen et al. 2020, "Accurate Word Alignment Induction from Neural Machine
Translation").
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass

from dragoman.models.shapes import Architecture, RecurrentConfig
from dragoman.text.spans import Span, spans_of_characters
from dragoman.text.tokenizers.marks import mark
from dragoman.text.tokenizers.tokenizer import Tokenizer
from dragoman.translation.search.engine import Hypothesis
from dragoman.translation.search.options import AttentionOf, last_but_one

Links = tuple[tuple[int, int], ...]  # (source, target), counted from 0 and sorted

_WORD = re.compile(r"\S+")


@dataclass(frozen=True)
class Aligning:
    """Which attention aligns, and whether at the step that reads a token or at the one that predicts it."""

    attention: AttentionOf
    reading: bool = False


@dataclass(frozen=True)
class Alignment:
    """A line and its translation, and which of their tokens translate each other.

    Spans are (start, end) of each token in characters. A token without text, such as a space, has an empty
    span and no link. The bytes of a character all have its span.
    """

    source_text: str
    target_text: str
    source: tuple[Span, ...]
    target: tuple[Span, ...]
    links: Links  # of tokens

    def words(self) -> Links:
        """The links between words, which are separated by spaces.

        Two words are linked if any of their tokens are.
        """
        source, target = _words(self.source, self.source_text), _words(self.target, self.target_text)
        return tuple(sorted({(s, t) for i, j in self.links for s in source[i] for t in target[j]}))

    def pharaoh(self) -> str:
        """The links between words in the Pharaoh format, such as "0-0 1-2"."""
        return " ".join(f"{source}-{target}" for source, target in self.words())


def aligning_of(config: Architecture, trained: AttentionOf | None) -> Aligning | None:
    """The attention that aligns: the head trained to do so, otherwise the mean of the last layer but one.

    None for a model without attention.
    """
    if trained is not None:
        return Aligning(trained, reading=True)
    if isinstance(config, RecurrentConfig):
        return None if config.attention == "none" else Aligning(AttentionOf(1))
    return Aligning(AttentionOf(last_but_one(config.decoder_layers)))


def alignment_of(
    tokenizer: Tokenizer,
    line: str,
    read: str,
    source: Sequence[int],
    text: str,
    target: Sequence[Span],
    hypothesis: Hypothesis,
    *,
    reading: bool,
) -> Alignment:
    """Return the alignment of a line and its translation `text`, from the attention of `hypothesis`.

    `read` is what the model read: the line without the spaces around it, after the token of a language
    if it has one. `source` has its tokens, or the first of them. `target` has the spans in `text` of the
    tokens of `hypothesis`. `reading` is as in `Aligning`.
    """
    source_spans = _source_spans(tokenizer, line, read, source)
    target_spans = spans_of_characters(target, tokenizer.target_pieces(hypothesis.tokens))
    links = links_of(hypothesis.attention, source_spans, target_spans, reading=reading)
    return Alignment(line, text, tuple(source_spans), tuple(target_spans), links)


def links_of(
    rows: Sequence[Sequence[float]], source: Sequence[Span], target: Sequence[Span], *, reading: bool
) -> Links:
    """Link each target token to the source token with the largest weight; both must have text.

    `rows` are the weights at each step: row t of the step that predicts token t and reads the one before.
    With `reading`, a token gets the links of the step that reads it, otherwise of the step that predicts it.
    """
    candidates = [i for i, (start, end) in enumerate(source) if start < end]
    aligned = [j for j, (start, end) in enumerate(target) if start < end]
    if not candidates:
        return ()
    return tuple(sorted((max(candidates, key=rows[j + reading].__getitem__), j) for j in aligned))


def _source_spans(tokenizer: Tokenizer, line: str, read: str, tokens: Sequence[int]) -> list[Span]:
    """Return the spans of the tokens in the line. The marks of languages have no text."""
    begin = len(line) - len(line.lstrip())
    shift = begin - (len(read) - len(line.strip()))
    places = tokenizer.spans(read, "source")[: len(tokens)]
    spans = [(max(a + shift, begin), max(b + shift, begin)) for a, b in places]
    pieces = tokenizer.source_pieces(tokens)
    marks = set(map(mark, tokenizer.languages))
    for place in range(next((n for n, one in enumerate(pieces) if one not in marks), len(pieces))):
        end = max(spans[place][1], begin)
        spans[place] = end, end
    return spans_of_characters(spans, pieces)


def _words(spans: Sequence[Span], text: str) -> list[range]:
    """Return the numbers of the words in each span, counted from 0."""
    words = [match.span() for match in _WORD.finditer(text)]
    starts, ends = [start for start, _ in words], [end for _, end in words]
    return [range(bisect_right(ends, a), bisect_left(starts, b)) if a < b else range(0) for a, b in spans]
