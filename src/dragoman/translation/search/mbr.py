"""Minimum Bayes risk: of several translations, the one that the others agree with most.

The best candidate h has the greatest expected utility, the sum over all candidates r of p(r) u(h, r), where u
is chrF or BLEU with r as the reference (Kumar and Byrne 2004; Eikema and Aziz 2020). Imports no torch.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Literal

from dragoman.text.scripts import UNSPACED

Utility = Literal["chrf", "bleu"]
_Grams = tuple[Counter[str] | Counter[tuple[str, ...]], ...]  # by their length, from 1 on

_CHARACTERS, _WORDS = 6, 4  # the longest n-grams of chrF and of BLEU
_TEMPER = 0.5  # measured: benchmarks/quality.py
_BETA = 2  # chrF2: recall counts twice as much
_TOKEN, _UNSPACED = r"\w+|[^\w\s]", f"([{UNSPACED}])"  # compiled at the first use


def expected_utilities(texts: Sequence[str], logp: Sequence[float], utility: Utility = "chrf") -> list[float]:
    """Return the expected utility of each text, from 0 to 1, if text i has the probability exp(logp[i]).

    Probabilities are scaled to sum to 1; equal texts count together. The text itself is among the
    references.
    """
    largest = max(logp)
    weight: dict[str, float] = {}
    for text, each in zip(texts, logp, strict=True):
        weight[text] = weight.get(text, 0.0) + math.exp(each - largest)
    total = sum(weight.values())
    grams = {text: _grams(text, utility) for text in weight}
    value = _chrf if utility == "chrf" else _bleu
    expected = dict.fromkeys(weight, 0.0)
    ordered = list(weight)
    for number, one in enumerate(ordered):
        expected[one] += weight[one] * value(grams[one], grams[one], _sizes(grams[one]))
        for other in ordered[number + 1 :]:
            common = _common(grams[one], grams[other])  # the same both ways
            expected[one] += weight[other] * value(grams[one], grams[other], common)
            expected[other] += weight[one] * value(grams[other], grams[one], common)
    return [expected[text] / total for text in texts]


def sentence_chrf(hypothesis: str, reference: str) -> float:
    """Return chrF2 of a sentence, from 0 to 1, as sacreBLEU computes it (Popović 2015)."""
    one, other = _grams(hypothesis, "chrf"), _grams(reference, "chrf")
    return _chrf(one, other, _common(one, other))


def tempered(logp: Sequence[float]) -> list[float]:
    """Return log-probabilities that make the candidates of a beam more alike.

    A beam has only the likeliest translations, and the first often has most of their probability. Then it
    alone would decide.
    """
    return [each * _TEMPER for each in logp]


def _grams(text: str, utility: Utility) -> _Grams:
    if utility == "chrf":
        joined = "".join(text.split())
        return tuple(
            Counter(joined[place : place + n] for place in range(len(joined) - n + 1))
            for n in range(1, _CHARACTERS + 1)
        )
    words = re.findall(_TOKEN, re.sub(_UNSPACED, r" \1 ", text))
    return tuple(
        Counter(tuple(words[place : place + n]) for place in range(len(words) - n + 1))
        for n in range(1, _WORDS + 1)
    )


def _sizes(grams: _Grams) -> list[int]:
    return [each.total() for each in grams]


def _common(one: _Grams, other: _Grams) -> list[int]:
    """How many n-grams two texts share, for each length."""
    shared = []
    for few, many in zip(one, other, strict=True):
        if len(few) > len(many):
            few, many = many, few
        get: Callable[[object, int], int] = many.get  # type: ignore[assignment]
        shared.append(sum(min(count, get(gram, 0)) for gram, count in few.items()))
    return shared


def _chrf(hypothesis: _Grams, reference: _Grams, common: Sequence[int]) -> float:
    """chrF2 of a sentence (Popović 2015), as sacreBLEU computes it."""
    precision = recall = 0.0
    orders = 0
    for has, needs, shared in zip(_sizes(hypothesis), _sizes(reference), common, strict=True):
        if has and needs:
            precision, recall, orders = precision + shared / has, recall + shared / needs, orders + 1
    if not precision + recall:
        return 0.0
    precision, recall = precision / orders, recall / orders
    return (1 + _BETA**2) * precision * recall / (_BETA**2 * precision + recall)


def _bleu(hypothesis: _Grams, reference: _Grams, common: Sequence[int]) -> float:
    """BLEU of a sentence, with one added to all counts except for single words (Lin and Och 2004)."""
    sizes = _sizes(hypothesis)
    if not common[0]:
        return 0.0
    logs = math.log(common[0] / sizes[0])
    logs += sum(math.log((shared + 1) / (has + 1)) for shared, has in zip(common[1:], sizes[1:], strict=True))
    brevity = min(0.0, 1 - sum(reference[0].values()) / sizes[0])
    return math.exp(logs / _WORDS + brevity)
