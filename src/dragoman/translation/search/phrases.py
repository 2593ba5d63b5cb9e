"""Track the phrases of a translation with automata that read its tokens. No torch.

`Phrases` in rules.py defines what it means to have a phrase. Each phrase is followed by itself, with the
automaton of its forms (Aho and Corasick 1975): where a form breaks off, it continues with the longest
beginning of a form that the tokens still end with. Where all automata are is a `PhrasePlace`.

Tokens of `Once` take part as phrases of one token, so that one count says how many tokens a translation
needs.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from dragoman.translation.search.rules import Phrases

MOST_ROWS = 16  # to which phrases widen a beam

OTHER, JOINING = -1, -2  # stand for tokens outside all phrases; the second continues a word
_At = tuple[int, int]  # how often a phrase is met, and the node of its automaton


class Matcher:
    """Follows one phrase, which must come `times` times."""

    def __init__(self, forms: Iterable[tuple[int, ...]], times: int, joining: frozenset[int]) -> None:
        self.times, self.joining = times, joining
        self.next: list[dict[int, int]] = [{}]  # the tree of the forms: node, token, node
        self.depth, self.ends = [0], [False]
        self.shorter = [0]  # the node of the longest other beginning that a node ends with
        self.forms = tuple(forms)
        for form in self.forms:
            self._add(form)
        lengths = [len(form) for form in self.forms]
        self.shortest, self.longest = min(lengths), max(lengths)
        self.left = [self.shortest] * len(self.next)  # tokens to the nearest end
        for form in self.forms:
            node = 0
            for done, token in enumerate(form, 1):
                node = self.next[node][token]
                self.left[node] = min(self.left[node], len(form) - done)
        for node in sorted(range(1, len(self.next)), key=self.depth.__getitem__):
            for token, child in self.next[node].items():
                self.shorter[child] = self.go(self.shorter[node], token)
            self.left[node] = min(self.left[node], self.left[self.shorter[node]])
            self.ends[node] |= self.ends[self.shorter[node]]

    def _add(self, form: tuple[int, ...]) -> None:
        node = 0
        for token in form:
            if token not in self.next[node]:
                self.next[node][token] = len(self.next)
                self.next.append({})
                self.depth.append(self.depth[node] + 1)
                self.ends.append(False)
                self.shorter.append(0)
            node = self.next[node][token]
        self.ends[node] = True

    def go(self, node: int, token: int) -> int:
        """Return the node after one more token."""
        while node and token not in self.next[node]:
            node = self.shorter[node]
        return self.next[node].get(token, 0)

    def step(self, at: _At, token: int) -> _At:
        """Read a token. Where tokens may join, a form counts when the next token shows that none does."""
        met, node = at
        if met == self.times:
            return at
        if self.ends[node] and token not in self.joining:
            met, node = met + 1, 0
            if met == self.times:
                return met, 0
        node = self.go(node, token)
        return (met + 1, 0) if self.ends[node] and not self.joining else (met, node)

    def met(self, at: _At) -> int:
        """How often the phrase is met if the translation ends here."""
        return at[0] + self.ends[at[1]]

    def chain(self, node: int) -> Iterator[int]:
        """The beginnings of forms that a node ends with, the empty one last."""
        while node:
            yield node
            node = self.shorter[node]
        yield 0


@dataclass(eq=False)
class PhrasePlace:
    """Where a translation is with all phrases."""

    tracker: Tracker
    at: tuple[_At, ...]
    met: int  # tokens of the phrases that it meets, of the longest form each
    progress: int  # the same, and the tokens of a phrase that has begun
    needed: int  # tokens that suffice to meet all phrases

    @property
    def done(self) -> bool:
        """Whether it meets all phrases."""
        return self.met == self.tracker.all

    @cached_property
    def edges(self) -> dict[int, PhrasePlace]:
        """The places that follow, by token: OTHER stands for all that are not listed, or JOINING for them."""
        matchers = self.tracker.matchers
        tokens = {OTHER, JOINING}
        for matcher, (met, node) in zip(matchers, self.at, strict=True):
            if met < matcher.times:
                tokens.update(token for each in matcher.chain(node) for token in matcher.next[each])
        steps = [matcher.step for matcher in matchers]
        return {
            token: self.tracker.place(
                tuple(step(one, token) for step, one in zip(steps, self.at, strict=True))
            )
            for token in sorted(tokens)
        }

    @cached_property
    def wanted(self) -> tuple[int, ...]:
        """The tokens that bring a phrase further, sorted."""
        return tuple(
            token
            for token, after in self.edges.items()
            if token >= 0 and (after.progress > self.progress or after.needed < self.needed)
        )

    def step(self, token: int) -> PhrasePlace:
        """Return the place after one more token."""
        if (after := self.edges.get(token)) is not None:
            return after
        return self.edges[JOINING if token in self.tracker.joining else OTHER]

    def possible(self, left: int) -> dict[int, bool] | None:
        """Which tokens may follow, as in `edges`, if `left` tokens may come after them; None for all.

        Tokens that leave too few for the phrases are excluded, unless all do.
        """
        if left >= self.tracker.all:
            return None
        left = max(left, self.needed - 1)
        possible = {token: after.needed <= left for token, after in self.edges.items()}
        return possible if any(possible.values()) and not all(possible.values()) else None


class Tracker:
    """Follows the phrases of a sentence."""

    def __init__(self, rule: Phrases | None, once: Sequence[int] = ()) -> None:
        """Follow the phrases of `rule`, and the tokens `once`, which differ."""
        self.joining = rule.joining if rule else frozenset()
        self.within = rule.within if rule else None
        joining = self.joining | {JOINING} if self.joining else self.joining
        times = Counter(frozenset(forms) for forms in rule.phrases) if rule else {}
        self.matchers = [Matcher(sorted(forms), count, joining) for forms, count in times.items()]
        self.matchers += [Matcher([(token,)], 1, frozenset()) for token in once]
        self.all = sum(one.times * one.longest for one in self.matchers)
        self._places: dict[tuple[_At, ...], PhrasePlace] = {}
        self._after: dict[tuple[int, ...], PhrasePlace] = {(): self.place(((0, 0),) * len(self.matchers))}

    def rows(self, size: int) -> int:
        """Rows of a beam of `size`: one for each count of tokens of phrases, but at most `MOST_ROWS`."""
        return max(size, min(self.all + 1, MOST_ROWS))

    def left(self, length: int, limit: int) -> int:
        """How many tokens the phrases may still take after one more, which follows `length` tokens."""
        left = limit - length - 1
        return left if self.within is None else min(left, max(self.within - length - 1, 0))

    def after(self, tokens: tuple[int, ...]) -> PhrasePlace:
        """Return the place after these tokens. Quick if the place before the last token is cached."""
        if (known := self._after.get(tokens)) is not None:
            return known
        place = self._after.get(tokens[:-1])
        if place is None:
            place = self._after[()]
            for token in tokens[:-1]:
                place = place.step(token)
        place = self._after[tokens] = place.step(tokens[-1])
        return place

    def place(self, at: tuple[_At, ...]) -> PhrasePlace:
        """Return the place with each automaton there."""
        if (known := self._places.get(at)) is not None:
            return known
        met = needed = begun = saved = 0
        for matcher, one in zip(self.matchers, at, strict=True):
            times, node = matcher.met(one), one[1]
            met += times * matcher.longest
            needed += (matcher.times - times) * matcher.shortest
            if not matcher.ends[node]:
                # Only one phrase is certain to continue, because the next token may break the others.
                begun = max(begun, matcher.depth[node])
                saved = max(saved, matcher.shortest - matcher.left[node])
        place = self._places[at] = PhrasePlace(self, at, met, met + begun, needed - saved)
        return place


def missing(rule: Phrases, tokens: Sequence[int]) -> list[int]:
    """The phrases of `rule` that a translation lacks, counted from 0."""
    tracker = Tracker(rule)
    at = tracker.after(tuple(tokens)).at
    kinds = [frozenset(forms) for forms in rule.phrases]
    left = {
        kind: matcher.met(one)
        for kind, matcher, one in zip(Counter(kinds), tracker.matchers, at, strict=True)
    }
    lacking = []
    for number, kind in enumerate(kinds):
        left[kind] -= 1
        if left[kind] < 0:
            lacking.append(number)
    return lacking
