"""A line with guidance: what the guides say, what the model reads, and what its translations show of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from dragoman.decoding.engine import Hypothesis, Tokens
from dragoman.text.guidance import Guidance, Guide, Match, Reading, combined
from dragoman.translator.translation import Translation


@dataclass(frozen=True)
class GuidedLine:
    """A line being translated with guidance."""

    guidance: Guidance
    tokens: Tokens  # of the line
    reading: Reading

    @property
    def known(self) -> Match | None:
        """The match that is the translation."""
        return known_match(self.guidance)

    @property
    def asked(self) -> Tokens:
        """What the model reads: nothing if the translation is known."""
        return () if self.known is not None else self.reading.tokens

    def without(self, hypothesis: Hypothesis) -> Hypothesis:
        """The hypothesis with the attention to the line alone, and to the end."""
        own = self.reading.own
        if not hypothesis.attention or len(own) == len(self.reading.tokens):
            return hypothesis
        rows = tuple((*(row[place] for place in own), row[-1]) for row in hypothesis.attention)
        return replace(hypothesis, attention=rows)

    def shown(self, translations: Sequence[Translation], language: str) -> list[Translation]:
        """The translations of the line with its match, and with the terms that each lacks."""
        from dragoman.memory.terms import unused_terms

        match, terms = self.guidance.match, self.guidance.terms
        return [
            replace(one, match=match, unused_terms=unused_terms(one.text, terms, language))
            for one in translations
        ]


def known_match(guidance: Guidance | None) -> Match | None:
    """The match that is the translation of a line, if the memory has the line."""
    match = None if guidance is None else guidance.match
    return match if match is not None and match.score >= 100 else None


def guidance_of(
    guides: Sequence[Guide], lines: Sequence[str], prefixes: Sequence[str]
) -> list[Guidance | None]:
    """What the guides together say for each line, without spaces around it, and its prefix."""
    if not guides:
        return [None] * len(lines)
    each = (combined(one) for one in zip(*(guide.guide(lines) for guide in guides), strict=True))
    return [_beginning(one, prefix) for one, prefix in zip(each, prefixes, strict=True)]


def _beginning(guidance: Guidance | None, prefix: str) -> Guidance | None:
    """The guidance without a translation that does not begin with the prefix."""
    known = known_match(guidance)
    if guidance is None or known is None or known.target.startswith(prefix.strip()):
        return guidance
    return replace(guidance, match=None)
