"""The pairs of languages that are served, and the route of each."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, pairwise

from dragoman.base.errors import ConfigError
from dragoman.base.languages import canonical, closest, general, language_name, same
from dragoman.serving.service.ask import Guess, Route
from dragoman.serving.service.limits import UnknownLanguage
from dragoman.text.detection import language_probabilities

_LONGEST = 40  # characters of a code: what follows is not read, and not cached


@dataclass(frozen=True)
class Leg:
    """Pairs that a model translates by itself: each source to each other language of the targets.

    Languages are codes of `Directions.offered`. One leg may stand for tens of thousands of pairs.
    """

    model: str
    sources: tuple[str, ...]
    targets: tuple[str, ...]


class Pairs:
    """The pairs of languages that are served: of the models, and through pivots of one or several models.

    Of two models for one pair the first is the default.
    """

    def __init__(self, legs: Iterable[Leg]) -> None:
        legs = tuple(legs)
        self._steps: dict[str, dict[str, tuple[str, ...]]] = {}  # the models by source and target
        for leg in legs:
            name = (leg.model,)
            for source in leg.sources:
                steps, new = self._steps.setdefault(source, {}), dict.fromkeys(leg.targets, name)
                new.pop(source, None)
                steps |= new | {target: steps[target] + name for target in steps.keys() & new}
        self.sources = tuple(self._steps)
        """The languages that are translated from, in the order of the models."""
        self.languages = tuple(dict.fromkeys([*self.sources, *chain.from_iterable(self._steps.values())]))
        """All languages, the sources first."""
        self._spelled = {one.lower().replace("_", "-"): one for one in self.languages}
        self._ways = {source: self._ways_from(source) for source in self.sources}
        self.targets = tuple(dict.fromkeys(chain.from_iterable(self._ways.values())))
        """The languages that are translated to."""
        models = dict.fromkeys(leg.model for leg in legs)
        several = len(models) > 1
        self._own = {
            name: Pairs(one for one in legs if one.model == name) if several else self for name in models
        }

    def __iter__(self) -> Iterator[tuple[str, str]]:
        """Yield every pair."""
        return ((source, target) for source in self.sources for target in self._ways[source])

    def __len__(self) -> int:
        return sum(map(len, self._ways.values()))

    def targets_of(self, source: str) -> tuple[str, ...]:
        """The languages that a source is translated to, those without a pivot first."""
        return tuple(self._ways[self._closest(source, self.sources, "from")])

    def sources_of(self, target: str, *, model: str | None = None) -> tuple[str, ...]:
        """The languages that are translated to a target; itself too, if it is translated from.

        Raises UnknownLanguage if the target is not served. `model` is as in `find`, but one that is not there
        counts as None.
        """
        target = self._closest(target, self.targets, "to")
        own = self._own.get(model or "", self)
        found = tuple(one for one in own.sources if one == target or target in own._ways[one])
        return found or own.sources

    def find(self, source: str, target: str, *, model: str | None = None) -> Route:
        """Return the route of a pair: the shortest, through one `model` alone if that is given.

        Languages may be written in any case, with a region or a script, which need not be served: "EN-US",
        "en_GB", "zh-Hans". A language to itself has a route without models. Raises UnknownLanguage for a
        language or a pair that is not served, ConfigError if the pair has no model of that name.
        """
        source = self._closest(source, self.languages, "from")
        target = self._closest(target, self.languages, "to")
        if source == target:
            return Route((source,), ())
        own = self if model is None else self._own.get(model)
        if own is not None and target in own._ways.get(source, {}):
            return own._route(source, target)
        if model is not None:  # its own pair may be a variant farther away
            known = [name for name, one in self._own.items() if target in one._ways.get(source, {})]
            raise ConfigError(
                f"no model {model!r} from {source} to {target}",
                hint=f"models of this pair: {', '.join(known) or 'none'}",
            )
        what = f"{language_name(source)} ({source}) is not translated to {language_name(target)} ({target})"
        raise UnknownLanguage(
            what, language=target, hint=f"to: {', '.join(self._ways.get(source, ())) or 'nothing'}"
        )

    def _closest(self, wanted: str, served: Sequence[str], way: str) -> str:
        spelled = self._spelled.get(wanted[:_LONGEST].strip().lower().replace("_", "-"), "")
        if spelled in served:
            return spelled
        found = closest(wanted[:_LONGEST], served)
        if found is None:
            raise UnknownLanguage(
                f"{wanted[:40]} is not supported", language=wanted, hint=f"{way}: {', '.join(served)}"
            )
        return found

    def _ways_from(self, source: str) -> dict[str, str]:
        """The language before each one that a source is translated to, on the shortest way, breadth first."""
        ways: dict[str, str] = {}
        edge, seen = [source], {source}
        while edge and len(seen) < len(self.languages):
            further: list[str] = []
            for start in edge:
                steps = self._steps.get(start, {})
                if not steps.keys() <= seen:
                    new = [one for one in steps if one not in seen]
                    ways |= dict.fromkeys(new, start)
                    seen.update(new)
                    further += new
            edge = further
        return ways

    def _route(self, source: str, target: str) -> Route:
        languages = [target]
        while languages[0] != source:
            languages.insert(0, self._ways[source][languages[0]])
        models = (self._steps[start][end][0] for start, end in pairwise(languages))
        return Route(tuple(languages), tuple(models))


_SURE = 0.1  # the probability of a text in the target language: less is translated
_CLEAR = 0.5  # the probability of a sentence in a source language: then the text is translated
_PIECES, _PIECE = 64, 200  # how many pieces of a text are looked at alone, and their characters
# Each lacks most characters that only the other script has.
_CODINGS = {"zh-Hans": "gb2312", "zh-Hant": "big5"}
_QUOTED = re.compile(r'"[^"\n]{0,200}"|[„“][^„“”\n]{0,200}[“”]|«[^«»\n]{0,200}»|»[^«»\n]{0,200}«')
_END = re.compile(r"(?<=[.!?])\s|[\r\n]|(?<=[。！？])")


def detect_language(text: str, among: Sequence[str], default: str, target: str | None = None) -> list[Guess]:
    """Return the languages that a text may be in, the likeliest first.

    A confidence is the probability of a language among all that the detector knows, so it is low for a text
    in a language that is not `among`. A text without letters is `default` with confidence 0, and equally
    likely languages come after it. With a `target`, a text that is clearly in it comes first as that, unless
    a sentence of it is clearly in another language `among`, quotations aside; no other text does. A variant
    of the target `among` goes before it, unless their scripts are those of Chinese, which tell them apart.
    Raises ConfigError if py3langid is needed and not installed.
    """
    if not any(char.isalpha() for char in text):
        return [Guess(default, 0.0)]
    found = language_probabilities(text)
    known = {general(code): value for code, value in reversed(found.items())}
    # Variants of one language cannot be told apart: the first stands for all.
    first: dict[str, str] = {}
    for one in (default, *among):
        if target is None or (one != target and not _fits(text, target, one)):
            first.setdefault(general(one), one)
    guesses = [Guess(one, known[language]) for language, one in first.items() if language in known]
    guesses.sort(key=lambda guess: -guess.confidence)
    if target is None or any(same(target, guess.language) for guess in guesses):
        return guesses or [Guess(default, 0.0)]
    best = max(found, key=lambda code: found[code])
    sure = same(best, target) and found[best] > max(_SURE, guesses[0].confidence * 10 if guesses else 0.0)
    if sure:
        foreign = _foreign(text, [guess.language for guess in guesses], target)
        others = [one for one in guesses if foreign is None or one.language != foreign.language]
        return [foreign or Guess(target, found[best]), *others]
    return guesses or [Guess(default, 0.0)]


def _fits(text: str, target: str, variant: str) -> bool:
    """Whether the script of the target is known to fit a text at least as well as that of a variant."""
    codings = [_CODINGS[one] for one in map(canonical, (target, variant)) if one in _CODINGS]
    kept = [len(text.encode(one, "ignore").decode(one)) for one in codings]
    return len(kept) == 2 and kept[0] >= kept[1]


def _foreign(text: str, among: Sequence[str], target: str) -> Guess | None:
    """The language of a sentence that is clearly in another one than the target."""
    sentences = _END.split(_QUOTED.sub(" ", text))
    pieces = [one[at : at + _PIECE] for one in sentences for at in range(0, len(one), _PIECE)]
    for piece in pieces[:: -(-len(pieces) // _PIECES) or 1]:
        if any(char.isalpha() for char in piece):
            found = language_probabilities(piece)
            best = max(found, key=lambda code: found[code])
            own = [one for one in among if same(best, one) and not same(one, target)]
            if own and found[best] > _CLEAR:
                return Guess(own[0], found[best])
    return None
