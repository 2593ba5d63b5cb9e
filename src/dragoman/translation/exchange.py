"""A line becomes a request to the engine, and the answers become a translation, the best of several."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache, partial
from typing import TYPE_CHECKING, NamedTuple

from dragoman.base.errors import ConfigError
from dragoman.text.blank import is_blank
from dragoman.text.guidance import Guidance, Guide, Match, Reading, combined, reading
from dragoman.text.segmenter import unbroken
from dragoman.translation.lines import LineItem, prefix_tokens
from dragoman.translation.search.alignment import Aligning
from dragoman.translation.search.engine import Engine, Hypothesis, Request, Tokens, without_start
from dragoman.translation.search.mbr import expected_utilities, tempered
from dragoman.translation.search.options import Beam, Decoding, Sample
from dragoman.translation.search.phrasing import Phrasing
from dragoman.translation.search.rules import Prefix, keeping
from dragoman.translation.search.stream import Again, Stream, ToAnswer
from dragoman.translation.translation import Translation, TranslationMaker, beside_line, to_line

if TYPE_CHECKING:
    from dragoman.translation.folder.shortlist import Shortlist
    from dragoman.translation.terms.placing import Placer, Placing

ScorePairs = Callable[[list[str], list[str]], list[Translation]]  # `Translator.score`


class AskedLine(NamedTuple):
    """A line that was sent to the engine."""

    line: str
    read: str  # without spaces around it, behind the marks of its languages
    tokens: Tokens  # of `read`, without the guidance that the model reads
    cut: bool  # whether these are only the first
    guidance: Guidance | None
    reading: Reading | None  # the input of the model, with guidance
    start: int  # tokens of a translation before its text: the mark of its language

    def own(self, hypothesis: Hypothesis) -> Hypothesis:
        """The hypothesis with the attention to the line alone, and to the end."""
        return to_line(hypothesis, self.reading)

    def shown(self, hypothesis: Hypothesis) -> Hypothesis:
        """The same without its start."""
        return without_start(self.own(hypothesis), self.start)


@dataclass(frozen=True, kw_only=True)
class Exchange:
    """Requests and answers for the lines of one stream."""

    maker: TranslationMaker
    how: Beam | Sample
    shortlist: Shortlist | None
    guides: Sequence[Guide]
    phrasing: Phrasing
    aligning: Aligning | None  # the attention that places terms
    score: ScorePairs  # of this direction, with the attention and the alignment that the options ask for
    reverse: ScorePairs | None

    def stream(
        self, items: Iterator[LineItem | None], engine: Engine, window: int
    ) -> Stream[LineItem, Translation]:
        """Return the translations of the lines. `window` is as in `Stream`."""
        decoding = self.maker.decoding
        return Stream(
            self.maker.directions.warning(items, decoding.to),
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
        stripped = [item.line.strip() for item in items]
        both = [
            self.maker.addressed(line, item.languages) for line, item in zip(stripped, items, strict=True)
        ]
        reads = [one.text for one in both]
        guidances = self._guidances(stripped, [item.prefix for item in items])
        encoded: list[Tokens] = [*tokenizer.encode_source(reads)]
        rows = zip(items, both, guidances, encoded, strict=True)
        for (line, prefix, context, _), (read, start), guidance, tokens in rows:
            guidance = beside_line(guidance, context, decoding.formality) if tokens else None
            if guidance is not None and guidance.known is not None:
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
                    guidance = beside_line(guidance, context, decoding.formality)
            rules, beside = decoding.rules(len(start)), None
            if tokens and (forced := (*start, *self._begin_of(prefix))):
                rules = (Prefix(forced), *rules)
            if guidance is not None:
                beside = reading(tokenizer, read, tokens, guidance, begin=begin)
            request = Request(
                source=tokens if beside is None else beside.tokens,
                how=self.how,
                max_tokens=len(start) + len(tokens) + decoding.max_extra_tokens,
                rules=rules + keeping(tokens, tokenizer.placeholders),
                attention=self.maker.attention,
                shortlist=None if self.shortlist is None else self.shortlist.of(tokens),
                unscored=len(start),
            )
            asked = AskedLine(line, read, tokens, cut, guidance, beside, len(start))
            if guidance is None or not guidance.phrases or beside is None:
                yield request, partial(self._translation, asked)
                continue
            if self.aligning is not None:
                request = replace(request, attention=self.aligning.attention)
            spans = [(a - begin, b - begin) for a, b in tokenizer.source_spans(read)[: len(tokens)]]
            attention = partial(_attention, asked, self.aligning)
            placing = self._placer.place(request, guidance.phrases, spans, beside.own, attention)
            yield next(placing), partial(self._placed, asked, placing)

    def _guidances(self, lines: Sequence[str], prefixes: Sequence[str]) -> list[Guidance | None]:
        """The combined guidance of all guides for each line, without spaces around it, and its prefix."""
        if not self.guides:
            return [None] * len(lines)
        each = map(combined, zip(*(guide.guide(lines) for guide in self.guides), strict=True))
        found = [_unless_known(one, prefix.strip()) for one, prefix in zip(each, prefixes, strict=True)]
        if not self.maker.decoding.protects:
            return found
        loses = [one and one.known and not one.known.keeps_placeholders for one in found]
        return [_unless_known(one) if lost else one for one, lost in zip(found, loses, strict=True)]

    @cached_property
    def _begin_of(self) -> Callable[[str], tuple[int, ...]]:
        """Return the tokens of a prefix. Many lines may have the same."""
        return lru_cache(maxsize=256)(partial(prefix_tokens, self.maker.tokenizer, banned=self.how.banned))

    def _placed(
        self, asked: AskedLine, placing: Placing, hypotheses: list[Hypothesis]
    ) -> Translation | Again[Translation]:
        """The translation of a line with hard terms, or the next request for it."""
        try:
            return Again(placing.send(hypotheses), partial(self._placed, asked, placing))
        except StopIteration as end:
            return self._translation(asked, end.value)

    @cached_property
    def _placer(self) -> Placer:
        from dragoman.translation.terms.placing import Placer

        return Placer(self.maker.tokenizer, self.phrasing, self.maker.languages[1])

    def _translation(self, asked: AskedLine, hypotheses: list[Hypothesis]) -> Translation:
        """The best translation of a line, with the others as its alternatives."""
        maker = self.maker
        found = [
            maker.translation(asked.line, asked.read, asked.tokens, asked.shown(one), cut=asked.cut)
            for one in hypotheses
        ]
        if asked.guidance is not None:
            found = [_shown(one, asked.guidance, maker.languages[1]) for one in found]
        if is_blank(asked.line):  # nothing to translate, but it stays as it is
            text = unbroken(asked.line.strip())
            found = [
                replace(one, text=text, alignment=one.alignment and replace(one.alignment, target_text=text))
                for one in found
            ]
        best, *others = ranked(asked.line.strip(), found, maker.decoding, self.reverse)
        return replace(best, alternatives=tuple(others)) if others else best

    def _remembered(self, line: str, guidance: Guidance, match: Match, _: list[Hypothesis]) -> Translation:
        """The translation that a memory has for a line. The model computes only its attention."""
        tokenizer, decoding = self.maker.tokenizer, self.maker.decoding
        (tokens,) = tokenizer.encode_target([match.target])
        pieces = tuple(tokenizer.target_pieces(tokens))
        # The model did not make it, so its risk comes from the text alone.
        risk = None
        if decoding.risk:
            from dragoman.text.checks.faults import faults
            from dragoman.translation.search.risk import Risk

            risk = Risk(None, tuple(faults(line, match.target, *self.maker.languages)))
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


def _attention(
    asked: AskedLine, aligning: Aligning | None, hypothesis: Hypothesis
) -> Sequence[Sequence[float]]:
    """The attention of each token to those of the line; nothing for a model without attention."""
    return () if aligning is None else asked.own(hypothesis).attention[aligning.reading :]


def _shown(translation: Translation, guidance: Guidance, language: str) -> Translation:
    """The translation with the match of its line, and with the terms that it lacks."""
    from dragoman.translation.terms.terms import unused_terms

    unused = unused_terms(translation.text, guidance.terms, language)
    return replace(translation, match=guidance.match, unused_terms=unused)


# The choice among several translations of a line


def choosing(decoding: Decoding, *, shortlist: bool, reverse: bool) -> Decoding:
    """The options that the quality and a reverse model imply.

    `shortlist` and `reverse` say whether there is one. Raises ConfigError for options without effect.
    """
    if reverse and decoding.candidates is None:
        # Before the quality, so that the beam of a fast search has room for them.
        decoding = replace(decoding, candidates=max(decoding.choices, decoding.n_best))
    decoding = decoding.resolved(shortlist=shortlist)
    if decoding.candidates is not None and decoding.mbr is None and not reverse:
        raise ConfigError(
            f"candidates = {decoding.candidates} without a choice", hint="set mbr, or give a reverse model"
        )
    if reverse and decoding.mbr is not None and decoding.sample is not None:
        raise ConfigError(
            "a reverse model has no effect on the agreement of draws",
            hint="leave out the model, mbr or sample",
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
    own, reverse = ([sum(each.token_logp) for each in side] for side in (found, back or found))
    if decoding.mbr is None and decoding.sample is None:  # normalised for length, as the beam is
        own, reverse = ([each.score for each in side] for side in (found, back))
    values = [(1 - share) * one + share * other for one, other in zip(own, reverse, strict=True)]
    if decoding.mbr is None:
        return values
    weights = [0.0] * len(found) if decoding.sample is not None else tempered(values)
    return expected_utilities([each.text for each in found], weights, decoding.mbr)
