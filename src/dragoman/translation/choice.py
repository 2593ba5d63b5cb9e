"""The choice among several translations of a line: by agreement, and by a model of the other direction."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from dragoman.base.errors import ConfigError
from dragoman.translation.search.mbr import expected_utilities, tempered
from dragoman.translation.search.options import Decoding
from dragoman.translation.translation import Translation

ScorePairs = Callable[[list[str], list[str]], list[Translation]]  # `Translator.score`


def choosing(decoding: Decoding, *, shortlist: bool, reverse: bool) -> Decoding:
    """The options that the quality and a reverse model imply.

    `shortlist` and `reverse` say whether there is one. Raises ConfigError for candidates without a choice.
    """
    if reverse and decoding.candidates is None:
        # Before the quality, so that the beam of a fast search has room for them.
        decoding = replace(decoding, candidates=max(decoding.choices, decoding.n_best))
    decoding = decoding.resolved(shortlist=shortlist)
    if decoding.candidates is not None and decoding.mbr is None and not reverse:
        raise ConfigError(
            f"candidates = {decoding.candidates} without a choice",
            hint="set mbr, or give a reverse model",
        )
    return decoding


def ranked(
    line: str, found: list[Translation], decoding: Decoding, reverse: ScorePairs | None
) -> list[Translation]:
    """The `n_best` candidates, best first: by agreement, by a reverse model, or as they are by score.

    `reverse` scores translations back into the language of the line.
    """
    if not (decoding.mbr or reverse):
        return found
    back = [] if reverse is None else reverse([each.text for each in found], [line] * len(found))
    values = _values(found, back, decoding)
    order = sorted(range(len(found)), key=lambda number: -values[number])
    return [found[number] for number in order[: decoding.n_best]]


def _values(found: list[Translation], back: list[Translation], decoding: Decoding) -> list[float]:
    """How good each candidate is. `back` has the scores of the reverse model, if there is one."""
    share = decoding.reverse_weight if back else 0.0
    if decoding.mbr is None:
        pairs = zip(found, back, strict=True)
        return [(1 - share) * one.score + share * other.score for one, other in pairs]
    texts = [each.text for each in found]
    if decoding.sample is not None:
        return expected_utilities(texts, [0.0] * len(found), decoding.mbr)
    own = [sum(each.token_logp) for each in found]
    reverse = [sum(each.token_logp) for each in back] or own
    logp = [(1 - share) * one + share * other for one, other in zip(own, reverse, strict=True)]
    return expected_utilities(texts, tempered(logp), decoding.mbr)
