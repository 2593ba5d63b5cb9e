"""The pairs of languages that are served, and the route of each."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from dragoman.base.errors import ConfigError
from dragoman.base.languages import canonical, closest, language_name, same
from dragoman.serving.service.ask import Guess, Route
from dragoman.serving.service.limits import UnknownLanguage
from dragoman.text.detection import language_probabilities

_LONGEST = 40  # characters of a code: what follows is not read, and not cached


@dataclass(frozen=True)
class Leg:
    """A pair that a model translates by itself. Languages are canonical."""

    model: str
    source: str
    target: str


class Pairs:
    """The pairs of languages that are served: of the models, and through pivots of several models.

    Of two models for one pair the first is the default.
    """

    def __init__(self, legs: Iterable[Leg]) -> None:
        self._legs: dict[tuple[str, str], list[str]] = {}
        for leg in legs:
            self._legs.setdefault((leg.source, leg.target), []).append(leg.model)
        self.sources = tuple(dict.fromkeys(source for source, _ in self._legs))
        """The languages that are translated from, in the order of the models."""
        self._routes = {source: self._routes_from(source) for source in self.sources}
        self.languages = tuple(dict.fromkeys([*self.sources, *(target for _, target in self._legs)]))
        """All languages, the sources first."""

    def __iter__(self) -> Iterator[tuple[str, str]]:
        """Yield every pair."""
        return ((source, target) for source in self.sources for target in self._routes[source])

    def targets_of(self, source: str) -> tuple[str, ...]:
        """The languages that a source is translated to, those without a pivot first."""
        return tuple(self._routes[self._closest(source, self.sources, "from")])

    def sources_of(self, target: str) -> tuple[str, ...]:
        """The languages that are translated to a target; itself too, if it is translated from.

        Raises UnknownLanguage if the target is not served.
        """
        targets = dict.fromkeys(target for routes in self._routes.values() for target in routes)
        target = self._closest(target, targets, "to")
        return tuple(one for one in self.sources if one == target or target in self._routes[one])

    def find(self, source: str, target: str, *, model: str | None = None) -> Route:
        """Return the route of a pair: the shortest.

        Languages may be written in any case, with a region or a script, which need not be served: "EN-US",
        "en_GB", "zh-Hans". A language to itself has a route without models. Raises UnknownLanguage for a
        language or a pair that is not served, ConfigError if the pair has no model of that name.
        """
        source = self._closest(source, self.languages, "from")
        target = self._closest(target, self.languages, "to")
        if source == target:
            return Route((source,), ())
        if model is not None:
            # Its own pair may be a variant farther away.
            route = Route((source, target), (model,))
            if model not in self._legs.get((source, target), ()):
                known = ", ".join(self._legs.get((source, target), ())) or "none"
                raise ConfigError(
                    f"no model {model!r} from {source} to {target}", hint=f"models of this pair: {known}"
                )
            return route
        routes = self._routes.get(source, {})
        if target not in routes:
            what = (
                f"{language_name(source)} ({source}) is not translated to {language_name(target)} ({target})"
            )
            raise UnknownLanguage(what, language=target, hint=f"to: {', '.join(routes) or 'nothing'}")
        return routes[target]

    def _closest(self, wanted: str, served: Iterable[str], way: str) -> str:
        served = tuple(served)
        code = canonical(wanted[:_LONGEST])
        found = code if code in served else closest(code, served)
        if found is None:
            raise UnknownLanguage(
                f"{wanted[:40]} is not supported", language=wanted, hint=f"{way}: {', '.join(served)}"
            )
        return found

    def _routes_from(self, source: str) -> dict[str, Route]:
        """The shortest route to each language, breadth first."""
        routes: dict[str, Route] = {}
        edge = [Route((source,), ())]
        while edge:
            further: list[Route] = []
            for route in edge:
                for (start, target), models in self._legs.items():
                    if start == route.target and target != source and target not in routes:
                        routes[target] = Route((*route.languages, target), (*route.models, models[0]))
                        further.append(routes[target])
            edge = further
        return routes


_SURE = 0.1  # the probability of a text in the target language: less is translated
_CLEAR = 0.5  # the probability of a sentence in a source language: then the text is translated
_PIECES, _PIECE = 64, 200  # how many pieces of a text are looked at alone, and their characters
_QUOTED = re.compile(r'"[^"\n]{0,200}"|[„“][^„“”\n]{0,200}[“”]|«[^«»\n]{0,200}»|»[^«»\n]{0,200}«')
_END = re.compile(r"(?<=[.!?])\s|[\r\n]|(?<=[。！？])")


def detect_language(text: str, among: Sequence[str], default: str, target: str | None = None) -> list[Guess]:
    """Return the languages that a text may be in, the likeliest first.

    A confidence is the probability of a language among all that the detector knows, so it is low for a text
    in a language that is not `among`. A text without letters is `default` with confidence 0, and equally
    likely languages come after it. With a `target`, a text that is clearly in it comes first as that, unless
    a sentence of it is clearly in another language `among`, quotations aside; no other text does. Raises
    ConfigError if py3langid is needed and not installed.
    """
    if not any(char.isalpha() for char in text):
        return [Guess(default, 0.0)]
    found = language_probabilities(text)
    guesses: list[Guess] = []
    for one in dict.fromkeys([default, *among]):
        # Variants of one language cannot be told apart: the first stands for all.
        known = [code for code in found if same(code, one)]
        if one != target and known and not any(same(one, other.language) for other in guesses):
            guesses.append(Guess(one, found[known[0]]))
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
