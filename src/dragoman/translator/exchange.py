"""What the engine is asked for each line of a stream, and the translation that is made of its answer."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache, partial

from dragoman.decoding.engine import Engine, Hypothesis, Request, Tokens
from dragoman.decoding.options import Beam, Sample
from dragoman.decoding.risk import Risk
from dragoman.decoding.rules import Prefix, Rule, keeping
from dragoman.decoding.stream import Stream
from dragoman.text.checks.faults import faults
from dragoman.text.guidance import Guidance, Guide, Match, reading
from dragoman.text.shortlist import Shortlist
from dragoman.translator.choice import ScorePairs, ranked
from dragoman.translator.guided import GuidedLine, guidance_of, known_match
from dragoman.translator.lines import LineItem, addressed, prefix_tokens, warning_of_language
from dragoman.translator.translation import Translation, TranslationMaker


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
    # By the ids of requests, which the stream holds until their answers: equal lines may be asked at once.
    _cut: set[int] = field(default_factory=set)  # those whose source is too long
    _guided: dict[int, GuidedLine] = field(default_factory=dict)  # those that have guidance

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
            self.translation,
            engine=engine,
            batch_tokens=decoding.batch_tokens,
            window=window,
            # Attention takes a hundred times the memory of the rest.
            remembered=0 if decoding.attention else 10_000 // decoding.searched,
        )

    def requests(self, items: Sequence[LineItem]) -> Iterator[Request]:
        """Yield the request for each line."""
        tokenizer, decoding = self.maker.tokenizer, self.maker.decoding
        stripped = [line.strip() for line, _ in items]
        lines = [addressed(line, decoding.to) for line in stripped]
        guidances = guidance_of(self.guides, stripped, [prefix for _, prefix in items])
        encoded = tokenizer.encode_source(lines)
        for item, line, guidance, tokens in zip(items, lines, guidances, encoded, strict=True):
            asked: Tokens = tokens
            rules, cut, guided = decoding.rules, False, None
            if tokens and (begin := self._begin_of(item[1])):
                rules = (Prefix(begin), *rules)
            begin_of_line = len(line) - len(item[0].strip())
            if len(tokens) > decoding.max_source_tokens and known_match(guidance) is None:
                cut = True
                asked = tokens = tokens[: decoding.max_source_tokens]
                if guidance is not None:
                    end = tokenizer.source_spans(line)[len(tokens) - 1][1]
                    guidance = self._guidance_of_part(line[begin_of_line:end].strip())
            if tokens and guidance is not None:
                read = reading(tokenizer, line, tokens, guidance, begin=begin_of_line)
                guided = GuidedLine(guidance, tokens, read)
                rules, asked = rules + self.phrase_rules(guidance.phrases), guided.asked
            request = Request(
                source=asked,
                how=self.how,
                max_tokens=len(tokens) + decoding.max_extra_tokens,
                rules=rules + keeping(tokens, tokenizer.placeholders),
                attention=self.maker.attention,
                shortlist=None if self.shortlist is None else self.shortlist.of(tokens),
            )
            if cut:
                self._cut.add(id(request))
            if guided is not None:
                self._guided[id(request)] = guided
            yield request

    def _guidance_of_part(self, line: str) -> Guidance | None:
        """What the guides say for a line that was cut, but for its translation: it lacks the rest."""
        (guidance,) = guidance_of(self.guides, [line], [""])
        if guidance is None or known_match(guidance) is None:
            return guidance
        return replace(guidance, match=None)

    @cached_property
    def _begin_of(self) -> Callable[[str], tuple[int, ...]]:
        """Return the tokens of a prefix. Many lines may have the same."""
        return lru_cache(maxsize=256)(partial(prefix_tokens, self.maker.tokenizer, banned=self.how.banned))

    def translation(self, item: LineItem, request: Request, hypotheses: list[Hypothesis]) -> Translation:
        """The best translation of a line, with the others as its alternatives."""
        line, guided = item[0], self._guided.pop(id(request), None)
        language = self.maker.languages[1]
        if guided is not None and guided.known is not None:
            return guided.shown([self._remembered(line, guided.known)], language)[0]
        read, tokens = addressed(line.strip(), self.maker.decoding.to), request.source
        if guided is not None:
            tokens, hypotheses = guided.tokens, [guided.without(each) for each in hypotheses]
        cut = id(request) in self._cut
        found = [self.maker.translation(line, read, tokens, each, cut=cut) for each in hypotheses]
        if guided is not None:
            found = guided.shown(found, language)
        self._cut.discard(id(request))
        best, *others = ranked(line.strip(), found, self.maker.decoding, self.reverse)
        return replace(best, alternatives=tuple(others)) if others else best

    def _remembered(self, line: str, match: Match) -> Translation:
        """The translation that a memory has for a line. Only for its attention the model is asked."""
        tokenizer, decoding = self.maker.tokenizer, self.maker.decoding
        (tokens,) = tokenizer.encode_target([match.target])
        pieces = tuple(tokenizer.target_pieces(tokens))
        # The model says nothing about it, so its risk is what can be seen of the text.
        flags = faults(line, match.target, *self.maker.languages) if decoding.risk else ()
        risk = Risk(None, tuple(flags)) if decoding.risk else None
        found = Translation(line, match.target, 0.0, pieces, (), False, match=match, risk=risk)
        if decoding.attention is None and not decoding.alignment:
            return found
        (scored,) = self.score([line], [match.target])
        return replace(found, attention=scored.attention, alignment=scored.alignment)
