"""Put hard terms where the words stand that translate their source words.

A line is first translated freely, so a translation that has its terms by itself does not change. Where it
lacks one, two signs show the word that translates the term: the decoder attends to the term, and without the
term in the source the word is much less likely (Li et al. 2019, "On the Word Alignment from Neural Machine
Translation", prediction difference). Two translations are then tried, and the likelier one is taken:

- It begins as before, up to two words before that word, so that an article can agree. It has the term within
  as many tokens as the word took (`Phrases.within`), and ends freely.
- The term replaces the word, and all else stays.

Neither will do if it lacks more terms, has the word as often as before, or has the term elsewhere. A term
without a place is left out.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, pairwise
from typing import NamedTuple

from dragoman.text.guidance import SourcePhrase
from dragoman.text.scripts import is_unspaced
from dragoman.text.spans import Span
from dragoman.text.tokenizers.tokenizer import Tokenizer
from dragoman.translation.search.engine import Hypothesis, Request
from dragoman.translation.search.options import Beam
from dragoman.translation.search.phrasing import Phrasing
from dragoman.translation.search.requests import phrases_of, prefix_of, required_of
from dragoman.translation.search.rules import Prefix, Rule
from dragoman.translation.terms.terms import places_of

# How much a word translates a term: the attention to the term, and per nat that it loses without the term.
_DROP, _LEAST = 0.2, 0.25
_BEFORE = 2  # words before a term that may change with it
_SLACK = 10  # characters by which a sentence may change more than by a quarter
_WORD = re.compile(r"\w+(?:[-\u2010\u2011'\u2019]\w+)*")
_INNER_END = re.compile(r"[.!?\u2026](?=\s+\w)")
_BEGINS = re.compile(r"(?:^|[.!?:\u2026])[\s\"'\u201c\u201e\u00ab\u00bb(]*$")  # text before a sentence

Placing = Generator[Request, list[Hypothesis], list[Hypothesis]]
Rows = Callable[[Hypothesis], Sequence[Sequence[float]]]


class _Word(NamedTuple):
    """text[start:end] of a translation, its tokens[first:last]."""

    start: int
    end: int
    first: int
    last: int


class _Spot(NamedTuple):
    """The words of a translation whose place a term takes, adjacent, and the first token that may change."""

    phrase: SourcePhrase
    words: Sequence[_Word]
    begin: int


@dataclass(frozen=True)
class Placer:
    """Puts terms into the translations of a model."""

    tokenizer: Tokenizer
    phrasing: Phrasing
    language: str

    def place(
        self,
        request: Request,
        phrases: Sequence[SourcePhrase],
        source: Sequence[Span],
        own: Sequence[int],
        rows: Rows,
    ) -> Placing:
        """Yield one request after another, be sent its hypotheses, and return those with the terms.

        `request` is of the line without terms. `source` has the spans of the tokens of the line, and `own`
        their places in what the model reads. `rows` returns the attention of a translation's tokens to them.
        """
        found = yield request
        fixed, left = len(prefix_of(request.rules)), [*phrases]
        while lacking := self._lacking(old := found[0], phrases):
            left = [one for one in left if lacking[_key(one)]]
            drops = dict[SourcePhrase, list[float]]()  # of the log-probability of each token without the term
            for phrase in left:
                inside = list(chain(*_parts(source, phrase)))
                begin = own[inside[0] - 1] + 1 if inside and inside[0] else 0
                end = own[inside[-1] + 1] if inside and inside[-1] + 1 < len(own) else len(request.source)
                cut = (*request.source[:begin], *request.source[end:])
                drops[phrase] = [0.0] * len(old.tokens)
                if inside and cut:
                    (without, *_) = yield replace(_whole(request, old.tokens), source=cut)
                    pairs = zip(old.token_logp, without.token_logp, strict=True)
                    drops[phrase] = [max(one - other, 0.0) for one, other in pairs]
            if (spot := self._spot(old, phrases, drops, lacking, source, rows(old), fixed)) is None:
                break
            left.remove(spot.phrase)
            better: list[Hypothesis] = []
            for again in self._requests(request, old, spot):
                for one in (yield again):
                    if len(one.tokens) == len(prefix_of(again.rules)):  # the limit need not be its end
                        one = replace(one, truncated=old.truncated)
                    if self._stands(one, old, spot, phrases):
                        better.append(one)
            if better:
                # Terms to the left of this one have had their turn.
                found, fixed = sorted(better, key=lambda one: -one.score), spot.words[0].first + 1
        least = self._lacking(found[0], phrases)
        different = dict[str, Hypothesis]()
        for one in found:
            if self._lacking(one, phrases) == least:
                different.setdefault(self.tokenizer.decode(one.tokens), one)
        return [*different.values()][: request.how.n_best]

    def _requests(self, request: Request, old: Hypothesis, spot: _Spot) -> Iterator[Request]:
        """What to try in turn: the term near its place, then instead of the words alone."""
        first, last = spot.words[0], spot.words[-1]
        text, forms, how = self.tokenizer.decode(old.tokens), spot.phrase.forms, request.how
        if _BEGINS.search(text[: first.start]):
            forms = tuple(form[:1].upper() + form[1:] for form in forms)
        if (rule := phrases_of(self.phrasing.rules([forms]))) is None:
            return
        (spelled,) = rule.phrases
        others = tuple(one for one in request.rules if not isinstance(one, Prefix))
        near: tuple[Rule, ...] = (Prefix((*old.tokens[: first.first], *spelled[0])),)
        begin = old.tokens[: spot.begin]
        if set(required_of(others)) <= set(begin):  # otherwise these would have to come as early
            near = Prefix(begin), replace(rule, within=last.last + max(map(len, spelled)))
        if isinstance(how, Beam):
            how = replace(how, n_best=how.size)
        if not text[: first.start][-1:].strip() or is_unspaced(text):  # not behind a quotation mark
            yield replace(request, how=how, rules=(*near, *others))
        (whole,) = self.tokenizer.encode_target([text[: first.start] + forms[0] + text[last.end :]])
        if self.tokenizer.unk_id not in whole:
            yield _whole(request, (*prefix_of(request.rules)[: request.unscored], *whole))

    def _spot(
        self,
        found: Hypothesis,
        phrases: Sequence[SourcePhrase],
        drops: Mapping[SourcePhrase, Sequence[float]],
        lacking: Counter[tuple[str, ...]],
        source: Sequence[Span],
        rows: Sequence[Sequence[float]],
        fixed: int,
    ) -> _Spot | None:
        """The first place for one of the terms of `drops`."""
        text = self.tokenizer.decode(found.tokens)
        words = self._words(found, text)
        has = [span for phrase in phrases for span in places_of(text, _key(phrase), self.language)]
        free = [
            number
            for number, word in enumerate(words)
            if word.first >= fixed and not any(word.start < end and word.end > start for start, end in has)
        ]

        def attention(number: int, columns: Sequence[int]) -> float:
            """The attention of a word to some tokens of the source: of its token with the most."""
            weights = rows[words[number].first : words[number].last]
            return max((sum(row[i] for i in columns) for row in weights), default=0.0)

        choices: list[tuple[float, int, SourcePhrase, range]] = []
        for phrase, drop in drops.items():
            parts = _parts(source, phrase)
            weights = {
                one: attention(one, list(chain(*parts)))
                + _DROP * sum(drop[words[one].first : words[one].last])
                for one in free
            }
            for one, weight in weights.items():
                # A term of several words may stand for several.
                near = [n for n in free if abs(n - one) < len(parts) and weights[n] >= weight / 2]
                if weight >= _LEAST:
                    choices.append((weight, -one, phrase, range(min(near), max(near) + 1)))
        first: dict[int, tuple[SourcePhrase, range]] = {}
        for _, _, phrase, span in sorted(choices, key=lambda one: one[:2], reverse=True):
            taken = any(set(span) & set(other) or one is phrase for one, other in first.values())
            if not taken and lacking[_key(phrase)]:
                lacking[_key(phrase)] -= 1
                first[span[0]] = phrase, span
        if not first:
            return None
        phrase, span = first[min(first)]
        return _Spot(phrase, words[span[0] : span[-1] + 1], self._begin(text, words, span[0], fixed))

    def _begin(self, text: str, words: Sequence[_Word], place: int, fixed: int) -> int:
        """The first token that may change with a word: of words before it, with only spaces between."""
        first = place
        while first and place - first < _BEFORE and words[first - 1].first >= fixed:
            between = text[words[first - 1].end : words[first].start]
            if not between or between.strip():
                break
            first -= 1
        return words[first].first

    def _words(self, found: Hypothesis, text: str) -> list[_Word]:
        """The words of a translation; its tokens, in a script without spaces."""
        spans, words = self.tokenizer.target_spans(found.tokens), []
        kept = set(self.tokenizer.placeholders[1]) if self.tokenizer.placeholders else set[int]()
        places = [match.span() for match in _WORD.finditer(text)]
        if is_unspaced(text):
            places = [(start, end) for start, end in spans if _WORD.search(text[start:end])]
        for start, end in places:
            inside = [i for i, (a, b) in enumerate(spans) if a < end and b > start]
            if not inside or kept & {found.tokens[i] for i in inside}:
                continue
            first = inside[0]
            while first and spans[first - 1][0] == spans[first - 1][1]:  # a space, or a byte of the character
                first -= 1
            words.append(_Word(start, end, first, inside[-1] + 1))
        return words

    def _stands(self, new: Hypothesis, old: Hypothesis, spot: _Spot, phrases: Sequence[SourcePhrase]) -> bool:
        """Whether a translation has one term more, at the same place, and the old word less often."""
        before, after = self.tokenizer.decode(old.tokens), self.tokenizer.decode(new.tokens)
        key, start = _key(spot.phrase), spot.words[0].start
        has, had = (places_of(text, key, self.language) for text in (after, before))
        word = re.compile(rf"(?<!\w){re.escape(before[start : spot.words[-1].end])}(?!\w)")
        rest, was = (len(word.findall(text)) for text in (after, before))
        place = len(_WORD.findall(before[:start]))
        same = self.tokenizer.decode(old.tokens[: spot.begin]).rstrip()
        more = same[-1:].isalnum() and after[len(same) :][:1].isalnum()  # the word before has become longer
        return (
            after.startswith(same)
            and (is_unspaced(before) or not more)
            and len(_INNER_END.findall(after)) <= len(_INNER_END.findall(before))
            and len(had) < len(has) <= sum(_key(one) == key for one in phrases)
            and self._lacking(new, phrases).total() < self._lacking(old, phrases).total()
            and (is_unspaced(before) or rest < was)
            and any(len(_WORD.findall(after[:begin])) == place for begin, _ in has)
            and abs(len(after) - len(before)) <= _SLACK + len(before) // 4
        )

    def _lacking(self, found: Hypothesis, phrases: Sequence[SourcePhrase]) -> Counter[tuple[str, ...]]:
        """How often a translation lacks each term."""
        text, times = self.tokenizer.decode(found.tokens), Counter(map(_key, phrases))
        return +Counter({key: n - len(places_of(text, key, self.language)) for key, n in times.items()})


def _key(phrase: SourcePhrase) -> tuple[str, ...]:
    return tuple(form.lower() for form in phrase.forms)


def _parts(source: Sequence[Span], phrase: SourcePhrase) -> list[list[int]]:
    """The tokens of each word of a term."""
    inside = [
        i for i, (start, end) in enumerate(source) if start < min(end, phrase.end) and end > phrase.start
    ]
    parts = [inside[:1]] if inside else []
    for before, i in pairwise(inside):
        if source[before][1] == source[i][0]:
            parts[-1].append(i)
        else:
            parts.append([i])
    return parts


def _whole(request: Request, tokens: Sequence[int]) -> Request:
    """The request for these tokens alone, with their probabilities."""
    how = replace(request.how, n_best=1)
    return replace(request, how=how, rules=(Prefix(tuple(tokens)),), max_tokens=len(tokens))
