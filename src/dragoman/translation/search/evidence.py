"""Evidence from the model about a translation: figures that tell good translations from bad ones.

They are the likelihood of the tokens, the length of the translation, and whether the model is surprised just
where it attends to words that no other token attends to: there it expected their translation. A search or a
score computes all of it, so the model needs no other pass. Imports neither torch nor numpy.

T tokens of the translation, its end included; S tokens of the source, its end included; W words of it.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

from dragoman.text.scripts import is_unspaced
from dragoman.text.spans import Span
from dragoman.translation.search.alignment import Alignment

Rows = Sequence[Sequence[float]]
Figures = Mapping[str, float]
Word = tuple[Span, list[int]]  # its place, and its tokens

FIGURES = (
    "logp mean", "surprise greatest", "logp least of the last 2", "characters ratio",
    "surprise at the uncovered",
)  # fmt: skip

_LEAST = -30.0  # log-probability below which tokens are alike, and of excluded tokens
_NOTHING = 1e-9  # attention to words below which it counts as none
_WORD = re.compile(r"\S+")


@dataclass(frozen=True)
class Evidence:
    """The figures of one translation, by the names of `FIGURES`, and the words they point to."""

    figures: Figures
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
    alignment by that attention. A model without attention has neither: the figure that needs them is 0 then.
    """
    logp = [max(one, _LEAST) for one in token_logp] or [0.0]
    uncovered, least_covered = 0.0, source.strip()
    if alignment is not None and attention and (words := _words(source, alignment.source)):
        uncovered, least_covered = _coverage(words, attention, alignment, logp)
    figures = {
        "logp mean": math.fsum(logp) / len(logp),
        "surprise greatest": math.log1p(max(0.0, -min(logp))),
        "logp least of the last 2": min(logp[-2:]),
        "characters ratio": math.log((len(target) + 1) / (len(source) + 1)),
        "surprise at the uncovered": math.log1p(uncovered),
    }
    return Evidence(figures, least_covered, _surprising(target, alignment.target if alignment else (), logp))


def _coverage(
    words: Sequence[Word], attention: Rows, alignment: Alignment, logp: Sequence[float]
) -> tuple[float, str]:
    """The greatest surprise at a token that attends to words that no other does, and the words left out.

    An omission surprises the model at the token after it. There the model attends to the missing words, so
    its attention alone hides the omission: only the attention of other tokens counts. Only tokens with
    letters or digits cover a word.
    """
    rows_TW = [_shares(row, words) for row in attention]
    has_word = [any(map(str.isalnum, alignment.target_text[a:b])) for a, b in alignment.target]
    covering = {t for t, own in enumerate(has_word) if own} or set(range(len(rows_TW)))
    covered_W = [math.fsum(column) for column in zip(*(rows_TW[t] for t in covering), strict=True)]
    uncovered = 0.0
    for t, (row_W, one) in enumerate(zip(rows_TW, logp, strict=True)):
        others_W = (total - (t in covering) * own for total, own in zip(covered_W, row_W, strict=True))
        lacking = (own * max(0.0, 1.0 - others) for own, others in zip(row_W, others_W, strict=True))
        uncovered = max(uncovered, -one * math.fsum(lacking))
    linked = {token for token, _ in alignment.links}
    runs = [[*run] for gap, run in groupby(words, lambda word: linked.isdisjoint(word[1])) if gap]
    if runs:
        left_out = max(runs, key=lambda run: sum(end - start for (start, end), _ in run))
    else:  # every word has a link
        left_out = [words[min(range(len(words)), key=covered_W.__getitem__)]]
    return uncovered, alignment.source_text[left_out[0][0][0] : left_out[-1][0][1]]


def _shares(row: Sequence[float], words: Sequence[Word]) -> list[float]:
    """The share of each word in the attention to words."""
    weights = [math.fsum(row[token] for token in tokens) for _, tokens in words]
    total = max(math.fsum(weights), _NOTHING)
    return [weight / total for weight in weights]


def _words(text: str, spans: Sequence[Span]) -> list[Word]:
    """The words of a text and their tokens. In scripts without spaces each token is a word."""
    tokens = [(token, span) for token, span in enumerate(spans) if span[0] < span[1]]
    if is_unspaced(text):
        return [(span, [token]) for token, span in tokens]
    words = [
        (found.span(), [n for n, (start, end) in tokens if start < found.end() and end > found.start()])
        for found in _WORD.finditer(text)
    ]
    return [word for word in words if word[1]]


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
