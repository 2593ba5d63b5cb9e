"""See what is in parallel text: counts, histograms with examples, faults, and what filters would drop.

The pass reads chunks on all processors. Of each pair it takes numbers (`_measured`), and this process adds
them up in the order of the text, so the result depends neither on the chunks nor on the processes. An example
or a sample is what has the smallest hashes of its place in the text, so each pair is equally likely.
"""

from __future__ import annotations

import re
import tempfile
import unicodedata
from bisect import insort
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np

from dragoman.base.errors import ConfigError
from dragoman.base.html.document import bundled, inert, scripted_page
from dragoman.data.near import Array, band_keys, normalised, signatures, similarity
from dragoman.data.passes import line_chunks, mapped, pairs_of
from dragoman.data.rules import FILTERS, Filter, MeasuredPair, Rules
from dragoman.text.blank import is_blank
from dragoman.text.checks.faults import FLAGS, faults
from dragoman.text.clean import clean
from dragoman.text.corpora.corpus import Corpus
from dragoman.text.corpora.duplicates import SeenRows
from dragoman.text.corpora.lines import Line
from dragoman.text.detection import probable_language
from dragoman.text.scripts import UNSPACED, is_unspaced
from dragoman.training.data.chunk import digests_of
from dragoman.translation.terms.terms import TermList, places_of

Table = dict[str, Any]
Example = tuple[Any, ...]  # the file, the number of the line, the source and the target
Name = tuple[str, str]  # of a histogram: "lengths", "kinds", "faults" or "filters", and what is counted
Terms = Counter[tuple[str, bool]]  # a term, and whether its translation is there
# Numbers of each pair, digests of the texts of each side and of the pairs, counts of the characters of each
# side, terms, and a hash of each pair that near-duplicates mostly have in common.
_Found = tuple[dict[Name, Array], list[Array], list[Array], Terms, Array]

SAMPLE = 2000  # pairs that are looked at closely: their languages, and faults of the translation
NEAR = 20_000  # pairs that are compared with each other, at most
SAMPLED = ("language",)  # filters that are too slow for all pairs
_ALIKE = 0.8  # of two pairs that are nearly equal
_EXAMPLES = 3
_RANKED = 40  # characters, or lines, that are shown
_REPEATED = 50_000  # lines that are counted at once
_KEPT, _LONGEST = 1000, 300  # characters of an example: for languages, and to be shown
_LETTERS = 15  # of a text whose language can be told
_STEPS = (1, 1.2, 1.4, 1.6, 1.8, 2, 2.5, 3, 3.5, 4, 5, 6, 7, 8, 9)
_POSITIVE = [float(f"{step}e{power}") for power in range(-2, 6) for step in _STEPS]
_EDGES = [-np.inf, *(-edge for edge in _POSITIVE), 0.0, *_POSITIVE, np.inf]
_WORD = re.compile(rf"[{UNSPACED}]|[^\s{UNSPACED}]+")
_MISSED = "terms translated otherwise"


@dataclass(frozen=True)
class Questions:
    """What to look at, and the rules to preview. `terms` is a file."""

    languages: tuple[str | None, str | None]
    sides: tuple[str, ...] = ("source", "target")
    terms: Path | None = None
    rules: Rules = Rules(FILTERS, ())
    seed: int = 1

    @property
    def filters(self) -> tuple[Filter, ...]:
        """Filters compare the sides."""
        return self.rules.filters if len(self.sides) > 1 else ()


def look_at(corpus: Corpus, ask: Questions, workers: int, done: Callable[[int], None]) -> Table:
    """Look at all of a text, and return plain values for JSON. `done` gets the number of pairs so far.

    Raises what reading the corpus does, and DataError for terms that cannot be read.
    """
    # Empty pairs end documents.
    filled = ((one.name, (x for x in one if not is_blank(x.source + x.target))) for one in corpus.shards)
    chunks = ((name, chunk) for name, lines in filled for chunk in line_chunks(lines))
    with tempfile.TemporaryDirectory() as folder:
        looking = _Looking(ask, Path(folder))
        for (name, lines), found in mapped(partial(_measured, ask), chunks, workers):
            looking.add(name, lines, found)
            done(looking.pairs)
        return {"text": clean(corpus.name), "files": len(corpus.shards)} | looking.table()


def _measured(ask: Questions, given: tuple[str, Sequence[Line]]) -> _Found:
    pairs = pairs_of(given[1])
    texts = [[pair[side] for pair in pairs] for side in range(len(ask.sides))]
    numbers: dict[Name, Array] = {}
    characters = []
    for side, own in zip(ask.sides, texts, strict=True):
        codes = np.frombuffer("".join(own).encode("utf-32-le", "surrogatepass"), "<u4")
        characters.append(np.bincount(codes))
        numbers["lengths", f"words, {side}"] = np.fromiter(map(_words, own), float)
        numbers["lengths", f"characters, {side}"] = np.fromiter(map(len, own), float)
    if len(texts) > 1:
        ours, theirs = (numbers["lengths", f"characters, {side}"] for side in ask.sides)
        ratios = np.divide(theirs, ours, out=np.full(len(ours), np.inf), where=ours > 0)
        numbers["lengths", "characters, target / source"] = np.where(ours == theirs, 1.0, ratios)
    repaired = [MeasuredPair(*pair, ask.languages) for pair in pairs]
    for repair in ask.rules.repairs:
        before, mend = repaired, repair.function
        repaired = [MeasuredPair(mend(pair.source), mend(pair.target), ask.languages) for pair in before]
        changed = [one != other for one, other in zip(before, repaired, strict=True)]
        numbers["kinds", f"to repair: {repair.name}"] = np.array(changed)
    blank = [is_blank(pair.source + pair.target) for pair in repaired]  # no filter drops them
    for one in ask.filters:
        if one.name not in SAMPLED:
            measured = (
                np.nan if empty else one.measure(pair) for pair, empty in zip(repaired, blank, strict=True)
            )
            numbers["filters", one.name] = np.fromiter(measured, float)
    terms: Terms = Counter()
    if ask.terms is not None:
        missed = numbers["kinds", _MISSED] = np.zeros(len(pairs), bool)
        for place, (source, target) in enumerate(pairs):
            for term in {found.term for found in _terms(ask.terms, *ask.languages).find(source)}:
                used = bool(places_of(target, term.targets, str(ask.languages[1])))
                terms[term.source, used] += 1
                missed[place] |= not used
    digests = [*(digests_of((one, "") for one in own) for own in texts), digests_of(pairs)]
    least = signatures([*map(_near, pairs)], 1)[:, 0]
    return numbers, digests, characters, terms, least


def _words(text: str) -> int:
    """The number of words; in scripts without spaces between words, of characters."""
    return len(_WORD.findall(text) if is_unspaced(text) else text.split())


def _near(pair: tuple[str, str]) -> str:
    return " ".join(map(normalised, pair))


@cache
def _terms(path: Path, source: str | None, target: str | None) -> TermList:
    return TermList.read(path, str(source), str(target))


def _language(text: str) -> str:
    """The language of a text; "" if it has too few letters. Raises ConfigError without py3langid."""
    if sum(map(str.isalpha, text)) < _LETTERS:
        return ""
    return probable_language(text)[0]


class _Histogram:
    """Counts of numbers between edges, and the `size` examples of each with the smallest chances.

    A number belongs to the smallest edge that is not smaller, so the counts above an edge are exact.
    """

    def __init__(self, edges: Sequence[float], size: int = _EXAMPLES) -> None:
        self.edges, self.size = np.unique(np.asarray(edges, float)), size
        self.counts = np.zeros(len(self.edges), np.int64)
        self.examples: list[list[tuple[int, Any]]] = [[] for _ in self.edges]
        self._largest = np.full(len(self.edges), np.iinfo(np.uint64).max, np.uint64)  # chance of an example
        self.sum, self.finite, self.high = 0, 0, 0.0

    def add(self, values: Array, chances: Array, example: Callable[[int], Any]) -> None:
        """Add numbers that are not NaN. `example` returns what is kept of one, by its place."""
        own = np.flatnonzero(~np.isnan(values))
        values, chances = values[own], chances[own]
        places = np.searchsorted(self.edges, values)
        self.counts += np.bincount(places, minlength=len(self.edges))
        finite = values[np.isfinite(values)]
        self.sum += int(np.rint(1000 * finite).sum())  # a whole number, so that no order of sums matters
        self.finite += len(finite)
        self.high = max(self.high, float(finite.max(initial=0)))
        for i in np.flatnonzero(chances < self._largest[places]).tolist():
            kept = self.examples[places[i]]
            insort(kept, (int(chances[i]), example(own[i])), key=lambda one: one[0])
            if len(kept) >= self.size:
                del kept[self.size :]
                self._largest[places[i]] = kept[-1][0]

    def table(self) -> Table:
        """Plain values from the first edge with a number to the last; the edge of infinity is None."""
        used = np.flatnonzero(self.counts)
        own = slice(used[0], used[-1] + 1)
        return {
            "edges": [None if np.isinf(edge) else float(edge) for edge in self.edges[own]],
            "counts": self.counts[own].tolist(),
            "sum": self.sum / 1000,
            "mean": self.sum / 1000 / max(self.finite, 1),
            "max": self.high,
            "examples": [[_shown(one) for _, one in kept] for kept in self.examples[own]],
        }


class _Looking:
    """The sums over a text."""

    def __init__(self, ask: Questions, folder: Path) -> None:
        self.ask, self.pairs = ask, 0
        limits = [one.limit for one in ask.filters if one.limit is not None]
        self.histograms = defaultdict[Name, _Histogram](partial(_Histogram, [*_EDGES, *limits]))
        self.seen = [SeenRows(folder) for _ in (*ask.sides, "pair")]
        self.sample = _Histogram([np.inf], SAMPLE)
        self.characters = [np.zeros(0x110000, np.int64) for _ in ask.sides]
        self.first: list[dict[int, Example]] = [{} for _ in ask.sides]  # the first line with a character
        self.repeated = [Counter[str]() for _ in ask.sides]  # how often lines came again
        self.near: list[tuple[int, Example]] = []
        self.near_below = 1 << 32
        self.terms: Terms = Counter()

    def add(self, name: str, lines: Sequence[Line], found: _Found) -> None:
        """Add the next chunk of the text."""
        numbers, digests, characters, terms, least = found
        chances = _hashes(np.arange(self.pairs, self.pairs + len(lines)), self.ask.seed)
        self.pairs += len(lines)
        examples: list[Example] = [
            (name, line.number, line.source[:_KEPT], line.target[:_KEPT]) for line in lines
        ]
        fresh = [seen.add(own) for seen, own in zip(self.seen, digests, strict=True)]
        copies = [f"equal {side}s" for side in self.ask.sides] + ["equal pairs"] * (len(fresh) > 2)
        numbers |= {("kinds", one): ~new for one, new in zip(copies, fresh, strict=False)}
        for key, values in numbers.items():
            self.histograms[key].add(values, chances, examples.__getitem__)
        rows = {name: values for (group, name), values in numbers.items() if group == "filters"}
        zeros = np.zeros(len(lines))
        self.sample.add(zeros, chances, lambda i: (examples[i], {name: rows[name][i] for name in rows}))
        for side in range(len(self.ask.sides)):
            counts = characters[side]
            for code in np.flatnonzero(counts * (self.characters[side][: len(counts)] == 0)).tolist():
                there = [chr(code) in pair[side] for pair in pairs_of(lines)]
                self.first[side][code] = examples[there.index(True)]
            self.characters[side][: len(counts)] += counts
            again = zip(examples, fresh[side].tolist(), strict=True)
            self.repeated[side].update(one[2 + side] for one, is_new in again if not is_new)
            if len(self.repeated[side]) > 2 * _REPEATED:
                self.repeated[side] = Counter(dict(self.repeated[side].most_common(_REPEATED)))
        # Near-duplicates mostly have one least hash, so they are in the sample together.
        hashes = (_hashes(least, 0) >> np.uint64(32)).tolist()
        new = zip(hashes, examples, fresh[-1].tolist(), strict=True)
        self.near += [(value, one) for value, one, is_new in new if is_new and value < self.near_below]
        while len(self.near) > NEAR:
            self.near_below //= 2
            self.near = [one for one in self.near if one[0] < self.near_below]
        self.terms += terms

    def table(self) -> Table:
        """All that was seen."""
        languages = self._look_closely()
        groups: dict[str, dict[str, Table]] = {"lengths": {}, "kinds": {}, "faults": {}, "filters": {}}
        for (group, name), histogram in self.histograms.items():
            if histogram.counts.any():
                groups[group][name] = histogram.table()
        sample = [row for _, (_, row) in self.sample.examples[0]]
        most = [own.most_common(_RANKED) for own in self.repeated]
        for one in self.ask.filters:
            if (table := groups["filters"].get(one.name)) is not None:
                edges = [np.inf if edge is None else edge for edge in table["edges"]]
                places = np.searchsorted(edges, np.nan_to_num([row[one.name] for row in sample], nan=-np.inf))
                table |= {"sample": places.tolist(), "about": one.help, "limit": one.limit}
        return {
            "languages": self.ask.languages,
            "sides": self.ask.sides,
            "pairs": self.pairs,
            **groups,
            "sample": {"pairs": len(sample), "languages": languages},
            "near": self._near_duplicates(),
            "characters": [*map(self._characters_of, range(len(self.ask.sides)))],
            "repeated": [[[many + 1, clean(text[:_LONGEST])] for text, many in own] for own in most],
            "terms": sorted([clean(term), used, many] for (term, used), many in self.terms.items()),
            "examples": [_shown(one) for _, (one, _) in self.sample.examples[0][: 4 * _EXAMPLES]],
        }

    def _look_closely(self) -> list[list[tuple[str, int]]] | None:
        """Measure what is too slow for all pairs on the sample: faults of translations, and slow filters.

        Returns how many texts are in each language, by side; None without py3langid.
        """
        kept, sides = self.sample.examples[0], range(2, 2 + len(self.ask.sides))
        chances, found = np.array([chance for chance, _ in kept], np.uint64), dict[Name, list[float]]()
        if len(sides) > 1:
            codes = [code or side for code, side in zip(self.ask.languages, self.ask.sides, strict=True)]
            short = ((one[2:] if max(map(len, one[2:])) < _KEPT else ("", "")) for _, (one, _) in kept)
            faulty = [{one.kind for one in faults(*texts, *codes)} for texts in short]
            found |= {("faults", kind): [kind in one for one in faulty] for kind in FLAGS}
        try:
            told = [Counter(_language(one[side]) for _, (one, _) in kept) for side in sides]
            for one in (one for one in self.ask.filters if one.name in SAMPLED):
                for _, (example, row) in kept:
                    pair = MeasuredPair(example[2], example[3], self.ask.languages)
                    blank = is_blank(pair.source + pair.target)
                    row[one.name] = np.nan if blank else one.measure(pair)
                found["filters", one.name] = [row[one.name] for _, (_, row) in kept]
        except ConfigError:
            told = None
        for key, values in found.items():
            self.histograms[key].add(np.array(values, float), chances, lambda i: kept[i][1][0])
        return None if told is None else [one.most_common(2 * _EXAMPLES) for one in told]

    def _near_duplicates(self) -> Table:
        """How many of the sample are nearly equal to an earlier pair of it."""
        texts, found = [_near(one[2:]) for _, one in self.near], []
        known: dict[tuple[int, int], int] = {}  # the first text with a band
        for number, own in enumerate(band_keys(signatures(texts)).tolist()):
            for earlier in dict.fromkeys(known.setdefault(key, number) for key in enumerate(own)):
                if earlier != number and similarity(texts[earlier], texts[number]) >= _ALIKE:
                    found.append([_shown(self.near[earlier][1]), _shown(self.near[number][1])])
                    break
        return {"sample": len(texts), "pairs": len(found), "examples": found[:_EXAMPLES]}

    def _characters_of(self, side: int) -> Table:
        """The counts of characters from the rarest on, and of some the name and the first line."""
        counts = self.characters[side]
        codes = sorted(np.flatnonzero(counts).tolist(), key=counts.__getitem__)
        return {
            "counts": [[code, int(counts[code])] for code in codes],
            "names": {code: unicodedata.name(chr(code), "") for code in codes[:_RANKED] + codes[-_RANKED:]},
            "first": {code: _shown(self.first[side][code]) for code in codes[:_RANKED]},
        }


def _shown(example: Example) -> list[Any]:
    """The file, the number of the line, and its texts without controls; a long text is cut."""
    cut = (text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…" for text in example[2:])
    return [clean(example[0]), example[1], *map(clean, cut)]


def _hashes(numbers: Array, seed: int) -> Array:
    """64 bits of chance for each number and a seed (SplitMix64: Steele et al. 2014)."""
    found = numbers.astype(np.uint64) + np.uint64(seed * 0x9E3779B97F4A7C15 % (1 << 64))
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        found = (found ^ (found >> np.uint64(shift))) * np.uint64(factor)
    return found ^ (found >> np.uint64(31))


def look_page(looks: Sequence[Table]) -> str:
    """Return a page about one text, or two side by side, as one HTML file that needs no network."""
    title, script = " | ".join(look["text"] for look in looks), bundled("data/web/look/look.js")
    data = {"data": inert({"looks": looks})}
    return scripted_page(title, script, data, name="look", styles=["data/web/look/style.css"])
