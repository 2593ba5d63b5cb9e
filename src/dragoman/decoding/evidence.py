"""What a model shows of how it made a translation: figures that tell good translations from bad ones.

They are of five kinds: how likely the tokens are, how long the translation is, how much attention each word
of the source got, how sharp the attention of each token is, and whether the model is surprised just where it
attends to words that no other token attends to: there it expected their translation. All of it comes with a
search or a score, so no other pass of the model is needed. Imports neither torch nor numpy.

T tokens of the translation, its end included; S tokens of the source, its end included; W words of it.
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
    "surprise greatest", "logp least of the last 2", "letters ratio", "covered surely least of 2",
    "surprise at the uncovered", "surprise at the unattended",
)  # fmt: skip

_ATTENDED, _EXPECTED = FEATURES[10:20], FEATURES[23:]  # what only a model with attention has
_LEAST = -30.0  # log-probability below which tokens are alike, and that of what a search excludes
_NOTHING = 1e-9  # attention to words below which it is taken for none
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
    more = [
        math.log1p(max(0.0, -min(logp))),
        min(logp[-2:]),
        math.log((_letters(target) + 1) / (_letters(source) + 1)),
    ]
    words = _words(source, alignment.source) if alignment and attention else []
    if alignment is None or not words:
        unknown, other = [0.0] * len(_ATTENDED), [0.0] * len(_EXPECTED)
        return Evidence((*features, *unknown, *more, *other), source.strip(), _surprising(target, (), logp))
    covered, least_covered = _coverage(words, attention, alignment)
    return Evidence(
        (
            *features,
            *covered,
            *_sharpness(attention),
            *more,
            *_expectation(words, attention, alignment, logp),
        ),
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


def _expectation(
    words: Sequence[tuple[Span, list[int]]], attention: Rows, alignment: Alignment, logp: Sequence[float]
) -> list[float]:
    """Figures about the words that the model expected to be translated.

    An omission surprises the model at the token after it. There the model attends to what is left out, so its
    attention alone hides the omission: what counts is the attention of other tokens, and of likely ones. Only
    tokens with letters or digits cover a word.
    """
    rows_TW = [_shares(row, words) for row in attention]
    has_word = [any(map(str.isalnum, alignment.target_text[a:b])) for a, b in alignment.target]
    covering = [t for t, own in enumerate(has_word) if own] or range(len(rows_TW))
    columns_W = list(zip(*(rows_TW[t] for t in covering), strict=True))
    covered_W = [math.fsum(column) for column in columns_W]
    tops_W = [sorted((0.0, *column))[-2:] for column in columns_W]
    is_covering = set(covering)
    uncovered = unattended = 0.0
    for t, (row_W, one) in enumerate(zip(rows_TW, logp, strict=True)):
        own = t in is_covering
        covered = [total - own * share for total, share in zip(covered_W, row_W, strict=True)]
        attended = [
            second if own and share >= first else first
            for (second, first), share in zip(tops_W, row_W, strict=True)
        ]
        uncovered = max(uncovered, -one * _lacking(row_W, covered, 1.0))
        unattended = max(unattended, -one * _lacking(row_W, attended, 0.5))
    sure = [math.exp(logp[t] / 2) for t in covering]  # the root of the probability
    surely_W = [math.fsum(a * b for a, b in zip(column, sure, strict=True)) for column in columns_W]
    return [_least_of(surely_W, 2), math.log1p(uncovered), math.log1p(unattended)]


def _shares(row: Sequence[float], words: Sequence[tuple[Span, list[int]]]) -> list[float]:
    """The share of each word in the attention to words."""
    weights = [math.fsum(row[token] for token in tokens) for _, tokens in words]
    total = max(math.fsum(weights), _NOTHING)
    return [weight / total for weight in weights]


def _lacking(shares: Sequence[float], others: Sequence[float], enough: float) -> float:
    """How far the attention of others to the words stays below what is enough, weighted by the shares."""
    return math.fsum(a * max(0.0, enough - b) for a, b in zip(shares, others, strict=True))


def _letters(text: str) -> int:
    return sum(map(str.isalnum, text))


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
