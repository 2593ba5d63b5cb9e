"""A translation as the page shows it: words with their places and probabilities, and the links between them.

Places count characters (Unicode code points) from the start of the sentence.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from math import exp
from typing import TYPE_CHECKING, Any

from dragoman.text.checks.omissions import lacks_most
from dragoman.text.spans import Span, united, words_of

if TYPE_CHECKING:
    from dragoman.text.guidance import Match
    from dragoman.translation.translation import Translation

_WORD = re.compile(r"\w+|[^\w\s]+")


def sentence_table(
    sentence: str, text: str, translation: Translation | None, match: Match | None = None
) -> dict[str, Any]:
    """The words of a sentence and of its translation `text`, and which of them translate each other.

    The confidence of a word is the probability that the model gives its tokens after those before it. It is
    None if nothing is known of the translation: the memory has it (`match`), it came through a pivot, or the
    model has no alignment.
    """
    words, source_words, links = _words(sentence, text, translation)
    return {
        "source": sentence,
        "text": text,
        "words": words,
        "source_words": source_words,
        "links": links,
        "remembered": match is not None and match.exact,
        "lacking": match is None and lacks_most(sentence, text),
        "truncated": translation is not None and translation.truncated,
    }


def _words(
    sentence: str, text: str, translation: Translation | None
) -> tuple[list[dict[str, Any]], list[Span], list[tuple[int, int]]]:
    """The words of the translation and of the source, and the links between their numbers."""
    alignment = None if translation is None else translation.alignment
    if translation is None or alignment is None:
        return [_word(span, None) for span in _spans(text)], _spans(sentence), []
    words = words_of(_apart(alignment.target), text)
    source_words = words_of(_apart(alignment.source), sentence)
    spans = united(alignment.target, words)
    confidences = _probabilities(translation.token_logp[:-1], words, len(spans))
    pairs = {(source_words[i], words[j]) for i, j in alignment.links}
    links = sorted((i, j) for i, j in pairs if i is not None and j is not None)
    shown = [_word(span, confidence) for span, confidence in zip(spans, confidences, strict=True)]
    return shown, united(alignment.source, source_words), links


def _word(span: Span, confidence: float | None) -> dict[str, Any]:
    return {"start": span[0], "end": span[1], "confidence": confidence}


def _apart(spans: Sequence[Span]) -> list[Span]:
    """The spans as `words_of` needs them: of the bytes of a character, only the last has its place."""
    following = [*spans[1:], (-1, -1)]
    return [
        (span[0], span[0]) if span == other else span for span, other in zip(spans, following, strict=True)
    ]


def _probabilities(
    token_logp: Sequence[float], words: Sequence[int | None], count: int
) -> list[float | None]:
    if len(token_logp) != len(words):  # the memory has the translation, so the model did not run
        return [None] * count
    sums = [0.0] * count
    for logp, word in zip(token_logp, words, strict=True):
        if word is not None:
            sums[word] += logp
    return [round(min(exp(logp), 1.0), 4) for logp in sums]


def _spans(text: str) -> list[Span]:
    return [match.span() for match in _WORD.finditer(text)]
