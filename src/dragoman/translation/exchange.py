"""A line becomes a request to the engine, and the answer becomes a translation."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache, partial

from dragoman.text.checks.faults import faults
from dragoman.text.guidance import Guidance, Guide, Match, Reading, combined, reading
from dragoman.translation.choice import ScorePairs, ranked
from dragoman.translation.folder.shortlist import Shortlist
from dragoman.translation.lines import LineItem, addressed, prefix_tokens, warning_of_language
from dragoman.translation.search.engine import Engine, Hypothesis, Request, Tokens
from dragoman.translation.search.options import Beam, Sample
from dragoman.translation.search.risk import Risk
from dragoman.translation.search.rules import Prefix, Rule, keeping
from dragoman.translation.search.stream import Stream, ToAnswer
from dragoman.translation.translation import Translation, TranslationMaker


@dataclass(frozen=True)
class AskedLine:
    """A line that the engine was asked for."""

    line: str
    read: str  # without spaces around it, behind the token of its target language
    tokens: Tokens  # of `read`, without what the model reads beside it
    cut: bool  # whether these are only the first
    guidance: Guidance | None
    reading: Reading | None  # what the model reads, with guidance

    def own(self, hypothesis: Hypothesis) -> Hypothesis:
        """The hypothesis with the attention to the line alone, and to the end."""
        reading = self.reading
        if reading is None or not hypothesis.attention or len(reading.own) == len(reading.tokens):
            return hypothesis
        rows = tuple((*(row[place] for place in reading.own), row[-1]) for row in hypothesis.attention)
        return replace(hypothesis, attention=rows)


@dataclass(frozen=True, kw_only=True)
class Exchange:
    """What is asked and answered for the lines of one stream."""

    maker: TranslationMaker
    how: Beam | Sample
    shortlist: Shortlist | None
    guides: Sequence[Guide]
    phrase_rules: Callable[[Iterable[Sequence[str]]], tuple[Rule, ...]]
    score: ScorePairs  # of this direction, with the attention and the alignment that the options ask for
    reverse: ScorePairs | None

    def stream(
        self, items: Iterator[LineItem | None], engine: Engine, window: int
    ) -> Stream[LineItem, Translation]:
        """Return the translations of the lines. `window` is as in `Stream`."""
        decoding, languages = self.maker.decoding, self.maker.tokenizer.languages
        if decoding.to is None and len(languages) > 1:
            items = warning_of_language(items, languages)
        return Stream(
            items,
            self.requests,
            engine=engine,
            batch_tokens=decoding.batch_tokens,
            window=window,
            # Attention takes a hundred times the memory of the rest.
            remembered=0 if decoding.attention else 10_000 // decoding.searched,
        )

    def requests(self, items: Sequence[LineItem]) -> Iterator[tuple[Request, ToAnswer[Translation]]]:
        """Yield the request for each line, and the function that makes its translation of the answer."""
        tokenizer, decoding = self.maker.tokenizer, self.maker.decoding
        stripped = [line.strip() for line, _ in items]
        reads = [addressed(line, decoding.to) for line in stripped]
        guidances = self._guidances(stripped, [prefix for _, prefix in items])
        encoded: list[Tokens] = [*tokenizer.encode_source(reads)]
        for (line, prefix), read, guidance, tokens in zip(items, reads, guidances, encoded, strict=True):
            if tokens and guidance is not None and guidance.known is not None:
                nothing = Request(source=(), how=self.how, max_tokens=1)
                yield nothing, partial(self._remembered, line, guidance, guidance.known)
                continue
            begin = len(read) - len(line.strip())  # behind the token of a language
            if cut := len(tokens) > decoding.max_source_tokens:
                tokens = tokens[: decoding.max_source_tokens]
                if guidance is not None:
                    part = read[begin : tokenizer.source_spans(read)[len(tokens) - 1][1]]
                    # If the memory has this part, its translation lacks the rest.
                    guidance = _unless_known(self._guidances([part.strip()], [""])[0])
            asked, rules, beside = tokens, decoding.rules, None
            if tokens and (forced := self._begin_of(prefix)):
                rules = (Prefix(forced), *rules)
            if tokens and guidance is not None:
                beside = reading(tokenizer, read, tokens, guidance, begin=begin)
                rules, asked = rules + self.phrase_rules(guidance.phrases), beside.tokens
            request = Request(
                source=asked,
                how=self.how,
                max_tokens=len(tokens) + decoding.max_extra_tokens,
                rules=rules + keeping(tokens, tokenizer.placeholders),
                attention=self.maker.attention,
                shortlist=None if self.shortlist is None else self.shortlist.of(tokens),
            )
            of_line = AskedLine(line, read, tokens, cut, guidance if tokens else None, beside)
            yield request, partial(self._translation, of_line)

    def _guidances(self, lines: Sequence[str], prefixes: Sequence[str]) -> list[Guidance | None]:
        """What the guides together say for each line, without spaces around it, and its prefix."""
        if not self.guides:
            return [None] * len(lines)
        each = map(combined, zip(*(guide.guide(lines) for guide in self.guides), strict=True))
        return [_unless_known(one, prefix.strip()) for one, prefix in zip(each, prefixes, strict=True)]

    @cached_property
    def _begin_of(self) -> Callable[[str], tuple[int, ...]]:
        """Return the tokens of a prefix. Many lines may have the same."""
        return lru_cache(maxsize=256)(partial(prefix_tokens, self.maker.tokenizer, banned=self.how.banned))

    def _translation(self, asked: AskedLine, hypotheses: list[Hypothesis]) -> Translation:
        """The best translation of a line, with the others as its alternatives."""
        maker = self.maker
        found = [
            maker.translation(asked.line, asked.read, asked.tokens, asked.own(one), cut=asked.cut)
            for one in hypotheses
        ]
        if asked.guidance is not None:
            found = [_shown(one, asked.guidance, maker.languages[1]) for one in found]
        best, *others = ranked(asked.line.strip(), found, maker.decoding, self.reverse)
        return replace(best, alternatives=tuple(others)) if others else best

    def _remembered(self, line: str, guidance: Guidance, match: Match, _: list[Hypothesis]) -> Translation:
        """The translation that a memory has for a line. Only for its attention the model is asked."""
        tokenizer, decoding = self.maker.tokenizer, self.maker.decoding
        (tokens,) = tokenizer.encode_target([match.target])
        pieces = tuple(tokenizer.target_pieces(tokens))
        # The model says nothing about it, so its risk is what can be seen of the text.
        flags = faults(line, match.target, *self.maker.languages) if decoding.risk else ()
        risk = Risk(None, tuple(flags)) if decoding.risk else None
        found = Translation(line, match.target, 0.0, pieces, (), False, risk=risk)
        if decoding.attention is not None or decoding.alignment:
            (scored,) = self.score([line], [match.target])
            found = replace(found, attention=scored.attention, alignment=scored.alignment)
        return _shown(found, guidance, self.maker.languages[1])


def _unless_known(guidance: Guidance | None, prefix: str | None = None) -> Guidance | None:
    """The guidance without a translation of the whole line, unless that begins with the prefix."""
    if guidance is None or guidance.known is None:
        return guidance
    fits = prefix is not None and guidance.known.target.startswith(prefix)
    return guidance if fits else replace(guidance, match=None)


def _shown(translation: Translation, guidance: Guidance, language: str) -> Translation:
    """The translation with the match of its line, and with the terms that it lacks."""
    from dragoman.translation.terms.terms import unused_terms

    unused = unused_terms(translation.text, guidance.terms, language)
    return replace(translation, match=guidance.match, unused_terms=unused)
