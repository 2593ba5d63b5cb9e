"""A line becomes what the model translates at once: its sentences. What is not language stays as it is."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain
from operator import itemgetter
from typing import TYPE_CHECKING

from dragoman.text.blank import is_blank
from dragoman.text.checks.placeholders import find_placeholders, has_language
from dragoman.text.corpora.context import SENTENCES, joined_context
from dragoman.text.guidance import Context
from dragoman.text.segmenter import LONGEST, Segmented, Splitting, may_split, segment_text, unbroken
from dragoman.text.spans import Link, Span
from dragoman.text.tokenizers.marks import mark
from dragoman.translation.lines import LineItem
from dragoman.translation.search.alignment import Alignment
from dragoman.translation.translation import Translation, TranslationMaker

if TYPE_CHECKING:
    from dragoman.translation.memory.store import TranslationMemory
    from dragoman.translation.protected import Sentence, Translated

_WORD = re.compile(r"\S+")
_NOTHING = LineItem("")  # in the place of a sentence that is translated with others like it


@dataclass
class LineCutter:
    """Cuts the lines of one stream, and joins the translations.

    `protect` translates sentences with placeholders, many at once: all that were cut when the first of them
    is needed. Without it they are sentences like others. The sentence with a prefix is not protected.
    """

    maker: TranslationMaker
    memory: TranslationMemory | None
    split: bool
    protect: Callable[[Sequence[Sentence]], list[Translated]] | None
    reads_context: bool = False  # whether the model reads the sentences before
    _waiting: list[Sentence] = field(default_factory=list)
    _answers: list[tuple[Sentence, Translated]] = field(default_factory=list)  # the oldest last

    def cut(self, item: LineItem) -> tuple[list[LineItem], Callable[[Sequence[Translation]], Translation]]:
        """Return what the engine gets of a line, and the function that makes the line's translation of it.

        A line that the memory has is not cut.
        """
        line, prefix = item.line.strip(), item.prefix
        protecting, prefixed = self.protect is not None, not is_blank(prefix)
        kept = [(one.start, one.end) for one in find_placeholders(line)] if protecting else []
        languages = chain(self.maker.directions.sources, self.maker.directions.targets)
        # The mark of a language is that of all sentences.
        marked = line.startswith(">>") and line.startswith(tuple(map(mark, languages)))
        split = self.split and not marked and may_split(line)
        whole = not split and (prefixed or not (protecting and (kept or not has_language(line))))
        if whole or is_blank(line) or self._remembers(line, prefix.strip()):
            return [item], itemgetter(0)
        # Of the whole line: a sentence alone may be too short to say its language.
        decoding = self.maker.decoding
        languages_of_line = self.maker.directions.detected(line, decoding.source, decoding.to)
        how: Splitting = "split" if split else "one"
        longest = LONGEST if split else None
        parts = segment_text(
            line,
            *self.maker.languages,
            how=how,
            longest=longest,
            kept=kept,
            copying=protecting and not prefixed,
        )
        items: list[LineItem] = []
        ways: list[str] = []
        bodies: list[str] = []
        for piece, text in zip((one for one in parts.pieces if one.asked), parts.sentences, strict=True):
            own = tuple((a - piece.start, b - piece.start) for a, b in kept if piece.start <= a < piece.end)
            context = extended(item.context, bodies) if self.reads_context else None
            bodies.append(piece.body)
            if prefixed and not items:
                own = ()
            elif prefixed and protecting and not has_language(piece.body, own):
                items.append(_NOTHING)
                ways.append("copied")
                continue
            if own:
                from dragoman.translation.protected import Sentence

                self._waiting.append(Sentence(piece.body, own, context=context, languages=languages_of_line))
            begin = "" if items else prefix
            items.append(_NOTHING if own else LineItem(text, begin, context, languages_of_line))
            ways.append("protected" if own else "")
        return items or [_NOTHING], partial(self._joined, item.line, parts, ways)

    def _remembers(self, line: str, prefix: str) -> bool:
        """Whether the memory has a translation of the line that can be used."""
        match = None if self.memory is None else self.memory.exact(line)
        if match is None or not match.target.startswith(prefix):
            return False
        return self.protect is None or match.keeps_placeholders

    def _joined(
        self, line: str, parts: Segmented, ways: Sequence[str], found: Sequence[Translation]
    ) -> Translation:
        """The translation of a line from those of its sentences."""
        asked = iter(zip(ways, found, strict=False))
        own: list[Translation] = []
        for piece in parts.pieces:
            way, one = next(asked) if piece.asked else ("copied", None)
            if one is None or way:
                one = self._copied(piece.body) if way == "copied" else self._protected()
            own.append(one)
        if len(own) == 1 and (own[0].source, own[0].text) == (line, unbroken(own[0].text)):
            return own[0]
        whole = self._whole(line, parts, own)
        most = max((len(one.alternatives) for one in own), default=0)
        nth = (
            [one.alternatives[n] if n < len(one.alternatives) else one for one in own] for n in range(most)
        )
        return replace(whole, alternatives=tuple(self._whole(line, parts, each) for each in nth))

    def _whole(self, line: str, parts: Segmented, own: Sequence[Translation]) -> Translation:
        count = sum(len(one.token_logp) for one in own)
        joined, spans = parts.joined([one.text for one in own])
        text = unbroken(joined)
        decoding, risk = self.maker.decoding, None
        if decoding.risk:
            from dragoman.translation.search.risk import risk_of_parts

            risk = risk_of_parts([one.risk for one in own if one.risk])
        return Translation(
            source=line,
            text=text,
            score=sum(one.score * len(one.token_logp) for one in own) / max(count, 1),
            tokens=tuple(chain.from_iterable(one.tokens for one in own)),
            token_logp=tuple(chain.from_iterable(one.token_logp for one in own)),
            truncated=any(one.truncated for one in own),
            alignment=_alignment(line, parts, text, spans, own) if decoding.alignment else None,
            risk=risk,
            match=own[0].match if len(own) == 1 else None,
            unused_terms=tuple(dict.fromkeys(chain.from_iterable(one.unused_terms for one in own))),
            doubts=tuple(dict.fromkeys(chain.from_iterable(one.doubts for one in own))),
        )

    def _protected(self) -> Translation:
        """The translation of the next sentence with placeholders."""
        if not self._answers and self.protect is not None:
            waiting, self._waiting = self._waiting, []
            self._answers = list(zip(waiting, self.protect(waiting), strict=True))[::-1]
        sentence, answer = self._answers.pop()
        found = answer.found or self._copied(sentence.text)
        alignment = self._of_links(sentence.text, answer.text, answer.links)
        doubts = answer.doubts if answer.way in ("copied", "parts") else ()
        risk = None
        if self.maker.decoding.risk:
            from dragoman.text.checks.faults import Fault, faults
            from dragoman.translation.search.risk import DETECTED, Risk, in_order

            flags = [
                one
                for one in (found.risk.flags if found.risk else ())
                if one.kind in (*DETECTED, "low confidence")
            ]
            flags += faults(sentence.text, answer.text, *self.maker.languages)
            flags += [Fault("copied" if answer.way == "copied" else "placeholder", one) for one in doubts]
            risk = Risk(found.risk.probability if found.risk else None, in_order(flags))
        return replace(
            found,
            source=sentence.text,
            text=answer.text,
            alternatives=(),
            alignment=alignment,
            risk=risk,
            doubts=doubts,
        )

    def _copied(self, text: str) -> Translation:
        links = [(*found.span(), *found.span()) for found in _WORD.finditer(text)]
        risk = None
        if self.maker.decoding.risk:
            from dragoman.translation.search.risk import Risk

            risk = Risk(None)
        alignment = self._of_links(text, text, links)
        return Translation(text, text, 0.0, (), (), False, alignment=alignment, risk=risk)

    def _of_links(self, source: str, target: str, links: Sequence[Link]) -> Alignment | None:
        """The alignment whose tokens are the ends of the links, if the options ask for one."""
        if not self.maker.decoding.alignment:
            return None
        ours, theirs = sorted({link[:2] for link in links}), sorted({link[2:] for link in links})
        numbers = sorted((ours.index(link[:2]), theirs.index(link[2:])) for link in links)
        return Alignment(source, target, tuple(ours), tuple(theirs), tuple(numbers))


def extended(context: Context | None, sentences: Sequence[str]) -> Context | None:
    """The context of a line with the sentences before one of it, whose translations are not known."""
    before = joined_context([context.source if context else "", *sentences[-SENTENCES:]])
    return Context(before, "" if sentences or not context else context.target) if before else None


def _alignment(
    line: str, parts: Segmented, text: str, spans: Sequence[Span], own: Sequence[Translation]
) -> Alignment:
    """The alignment of a line from those of its sentences."""
    begin = len(line) - len(line.lstrip())
    source: list[Span] = []
    target: list[Span] = []
    links: list[Span] = []
    for piece, (at, _), one in zip(parts.pieces, spans, own, strict=True):
        if one.alignment is not None:
            links += [(s + len(source), t + len(target)) for s, t in one.alignment.links]
            source += [(a + begin + piece.start, b + begin + piece.start) for a, b in one.alignment.source]
            target += [(a + at, b + at) for a, b in one.alignment.target]
    return Alignment(line, text, tuple(source), tuple(target), tuple(links))
