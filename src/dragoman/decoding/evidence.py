"""What a model shows of how it made a translation: figures that tell good translations from bad ones.

They are of four kinds: how likely the tokens are, how long the translation is, how much attention each word
of the source got, and how sharp the attention of each token is. All of it comes with a search or a score, so
no other pass of the model is needed. Imports neither torch nor numpy.

T tokens of the translation, its end included; S tokens of the source, its end included.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass

from dragoman.decoding.alignment import Alignment
from dragoman.text.scripts import is_unspaced
from dragoman.text.spans import Span

Rows = Sequence[Sequence[float]]

FEATURES = (
    "logp mean", "logp least", "logp end", "logp lowest quarter", "logp deviation", "logp least of 3",
    "logp least of 5", "characters ratio", "tokens ratio", "source tokens", "covered least",
    "covered least of 3", "attended least", "attended least of 3", "unlinked run", "unlinked share",
    "attention to end", "attention least of 3", "entropy mean", "entropy greatest",
)  # fmt: skip

_LEAST = -30.0  # log-probability below which tokens are alike, and that of what a search excludes
_WORD = re.compile(r"\S+")


@dataclass(frozen=True)
class Evidence:
    """The figures of one translation, in the order of `FEATURES`, and what they are about in the texts."""

    features: tuple[float, ...]
    least_covered: str  # the words of the source that seem not to be translated
    least_likely: str  # the words of the translation that surprise the model most


def evidence_of(
    source: str,
    target: str,
    token_logp: Sequence[float],
    attention: Rows = (),
    alignment: Alignment | None = None,
) -> Evidence:
    """Return the evidence for a translation.

    `token_logp` has T log-probabilities in nats, `attention` T rows of S weights, and `alignment` the
    alignment by that attention. A model without attention has neither: their figures are 0 then.
    """
    logp = [max(one, _LEAST) for one in token_logp] or [0.0]
    own_tokens = len(attention[0]) if attention else len(source.split()) + 1
    features = [
        *_likelihood(logp),
        math.log((len(target) + 1) / (len(source) + 1)),
        math.log(len(logp) / own_tokens),
        math.log(own_tokens),
    ]
    words = _words(source, alignment.source) if alignment and attention else []
    if alignment is None or not words:
        zeros = [0.0] * (len(FEATURES) - len(features))
        return Evidence((*features, *zeros), source.strip(), _surprising(target, (), logp))
    covered, least_covered = _coverage(words, attention, alignment)
    return Evidence(
        (*features, *covered, *_sharpness(attention)),
        least_covered,
        _surprising(target, alignment.target, logp),
    )


def _likelihood(logp: Sequence[float]) -> list[float]:
    mean = math.fsum(logp) / len(logp)
    quarter = sorted(logp)[: max(1, len(logp) // 4)]
    return [
        mean,
        min(logp),
        logp[-1],
        math.fsum(quarter) / len(quarter),
        math.sqrt(math.fsum((one - mean) ** 2 for one in logp) / len(logp)),
        _least_of(logp, 3),
        _least_of(logp, 5),
    ]


def _coverage(
    words: Sequence[tuple[Span, list[int]]], attention: Rows, alignment: Alignment
) -> tuple[list[float], str]:
    """Figures about the attention that each word of the source got, and the words that seem left out."""
    columns = list(zip(*attention, strict=True))
    sums, tops = [math.fsum(column) for column in columns], [max(column) for column in columns]
    covered = [math.fsum(sums[token] for token in tokens) for _, tokens in words]
    attended = [max(tops[token] for token in tokens) for _, tokens in words]
    linked = {token for token, _ in alignment.links}
    unlinked = [not linked.intersection(tokens) for _, tokens in words]
    first, end = _longest_run(words, unlinked)
    if first == end:  # every word has a link
        first = min(range(len(words)), key=covered.__getitem__)
        end = first + 1
        run = 0
    else:
        run = sum(b - a for (a, b), _ in words[first:end])
    figures = [
        min(covered),
        _least_of(covered, 3),
        min(attended),
        _least_of(attended, 3),
        math.log1p(run),
        sum(unlinked) / len(unlinked),
    ]
    return figures, alignment.source_text[words[first][0][0] : words[end - 1][0][1]]


def _sharpness(attention: Rows) -> list[float]:
    """Figures about the attention of each token: what the end of the source gets, the peak, the entropy."""
    tokens = attention[:-1] or attention
    entropies = [-math.fsum(w * math.log(w) for w in row if w > 0) for row in attention]
    return [
        math.fsum(row[-1] for row in tokens) / len(tokens),
        _least_of([max(row) for row in tokens], 3),
        math.fsum(entropies) / len(entropies),
        max(entropies),
    ]


def _words(text: str, spans: Sequence[Span]) -> list[tuple[Span, list[int]]]:
    """The words of a text and their tokens. In scripts without spaces each token is a word."""
    tokens = [(token, span) for token, span in enumerate(spans) if span[0] < span[1]]
    if is_unspaced(text):
        return [(span, [token]) for token, span in tokens]
    words = []
    for found in _WORD.finditer(text):
        own = [token for token, (start, end) in tokens if start < found.end() and end > found.start()]
        if own:
            words.append((found.span(), own))
    return words


def _longest_run(words: Sequence[tuple[Span, list[int]]], chosen: Sequence[bool]) -> tuple[int, int]:
    """The chosen words in a row with the most characters, as (first, end)."""
    best, longest, first, length = (0, 0), 0, 0, 0
    for number, ((start, end), _) in enumerate(words):
        if not chosen[number]:
            first, length = number + 1, 0
            continue
        length += end - start
        if length > longest:
            best, longest = (first, number + 1), length
    return best


def _surprising(target: str, spans: Sequence[Span], logp: Sequence[float]) -> str:
    """The words of the three tokens in a row that are least likely; all words if spans are not known."""
    if not spans:
        return target.strip()
    means = [math.fsum(logp[i : i + 3]) / len(logp[i : i + 3]) for i in range(max(1, len(spans) - 2))]
    first = min(range(len(means)), key=means.__getitem__)
    start, end = spans[first][0], max(span[1] for span in spans[first : first + 3])
    words = [found for found in _WORD.finditer(target) if found.end() > start and found.start() < end]
    if words and not is_unspaced(target):
        start, end = words[0].start(), words[-1].end()
    return target[start:end]


def _least_of(numbers: Sequence[float], width: int) -> float:
    """The least mean of `width` numbers in a row, or of all if there are fewer."""
    width = min(width, len(numbers))
    return min(math.fsum(numbers[i : i + width]) / width for i in range(len(numbers) - width + 1))
