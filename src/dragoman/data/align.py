"""Sentence alignment: which sentences of two documents are translations of each other.

A bead is some sentences of one side and their translation, 1-1 in most cases. Dynamic programming finds the
likeliest sequence of beads, by the lengths of their sides (Gale and Church 1993, "A program for aligning
sentences in bilingual corpora") and by their words (`words.py`). A first pass knows only words that are
alike; the lexicon that its beads teach scores the next ones (Moore 2002). Sentences that share rare words
are anchors; between them lies the band of the table that is searched. What both sides have
left over is aligned with each other at the end, so that a section may stand elsewhere.

The score of a bead is a logarithm: how much likelier its sides are together than apart. Its confidence comes
from its probability among all alignments (forward-backward).

Cell (i, j) of the table stands between sentences: i of the source and j of the target come before it.

I rows of cells; J columns; X and Y sentences of the sides of a bead, 1 to 3; G given sentences, U their
words; O other sentences, V their words.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from dragoman.data.words import Array, SideWords, WordTable, learnt

_MOST = 3  # sentences of a side of a bead
_PRIOR_XY = np.log([[0.90, 0.035, 0.004], [0.035, 0.006, 0.001], [0.004, 0.001, 0.0005]])
_SKIP, _NEXT_SKIP = math.log(0.015), math.log(0.5)  # a sentence without translation, and a further one
_SKIP_APART = math.log(0.2)  # the same in what is left over
_VARIANCE = 6.8  # of the length of a translation, for each character (Gale and Church 1993)
_WORDS = 0.5  # how much the words count: they are not independent, as Model 1 assumes
_STEP = 0.01
_TAIL = np.log([math.erfc(step * _STEP / math.sqrt(2)) for step in range(800)])  # of a normal distribution
_AGREE = 0.9  # how often a translation begins a paragraph where the source does
_BLOCK = 64  # rows that are scored at once
_RARE = 6  # sentences with a word, for anchors
_SMALL = 40_000  # cells of a table that is searched whole
_MARGIN, _WIDEST = 20, 250  # sentences around the anchors, and around the line between distant ones
_HEAT = 0.5  # for confidences: the scores are too sure of themselves


@dataclass(frozen=True)
class Prose:
    """The sentences of one side in order, and which of them begin a paragraph."""

    sentences: Sequence[str]
    language: str
    begins: Sequence[bool] = ()


@dataclass(frozen=True)
class Bead:
    """Sentences from `start` to before `end` on both sides. One side may be empty."""

    start: int
    end: int
    target_start: int
    target_end: int
    score: float = 0.0
    confidence: float = 0.0  # its probability among all alignments
    moved: bool = False  # it stands elsewhere in the target

    @property
    def spans(self) -> tuple[tuple[int, int], tuple[int, int]]:
        """Where its sentences begin and end on both sides."""
        return (self.start, self.end), (self.target_start, self.target_end)

    @property
    def sides(self) -> tuple[int, int]:
        """The numbers of its sentences: (2, 1)."""
        return self.end - self.start, self.target_end - self.target_start


def align_sentences(
    source: Prose,
    target: Prose,
    *,
    known: Iterable[tuple[str, str]] = (),
    translated: Sequence[str] | None = None,
    back: Sequence[str] | None = None,
    passes: int = 3,
) -> list[Bead]:
    """Return the beads of two documents, in the order of the source; each sentence is in one.

    `known` are pairs to learn words from. `translated` are translations of the source sentences by a model,
    whose words are compared with the target's (Sennrich and Volk 2010, "MT-based sentence alignment"), and
    `back` those of the target sentences.
    """
    ours = SideWords(source.sentences, source.language)
    theirs = SideWords(target.sentences, target.language)
    # Of a model, words of one language are compared, in both directions.
    ahead = ours if translated is None else SideWords(translated, target.language)
    behind = theirs if back is None else SideWords(back, source.language)
    views = (
        (ahead, behind if translated is None and back is not None else theirs),
        (behind, ahead if back is None and translated is not None else ours),
    )
    plain = translated is None and back is None
    texts = [(ours.known(a), theirs.known(b)) for a, b in known] if plain else []
    beads: list[Bead] = []
    for number in range(passes):
        taught = [one for one in beads if sum(one.sides) <= 3 and min(one.sides) and one.score > 0]
        directions = []
        for flip, (given, other) in enumerate(views):
            pairs: list[tuple[Sequence[int], Sequence[int]]] = [(b, a) if flip else (a, b) for a, b in texts]
            for one in taught:
                pairs.append((given.joined(*one.spans[flip]), other.joined(*one.spans[1 - flip])))
            directions.append(_Direction(given, other, learnt(given, other, pairs)))
        beads = _aligned(_Sides.of(source, target, taught), *directions, sure=number == passes - 1)
    return beads


@dataclass(frozen=True)
class _Sides:
    """What a table knows of its sentences besides their words: lengths, and where paragraphs begin."""

    length_I: Array
    length_J: Array
    begins_I: Array  # of cells
    begins_J: Array
    ratio: float  # characters of the target for one of the source

    @staticmethod
    def of(source: Prose, target: Prose, taught: Sequence[Bead] = ()) -> _Sides:
        lengths = [np.array([len(text) for text in one.sentences], float) for one in (source, target)]
        begins = [
            np.array([*one.begins, True] if one.begins else [True] * (len(one.sentences) + 1), bool)
            for one in (source, target)
        ]
        lengths_of = [one.mean() if len(one) else 0.0 for one in lengths]
        if taught:
            lengths_of = [
                sum(one[slice(*bead.spans[side])].sum() for bead in taught)
                for side, one in enumerate(lengths)
            ]
        ratio = float((lengths_of[1] + 10) / (lengths_of[0] + 10))
        return _Sides(lengths[0], lengths[1], begins[0], begins[1], ratio)

    def part(self, rows: slice, columns: slice) -> _Sides:
        more = [slice(one.start, one.stop + 1) for one in (rows, columns)]
        return replace(
            self,
            length_I=self.length_I[rows],
            length_J=self.length_J[columns],
            begins_I=self.begins_I[more[0]],
            begins_J=self.begins_J[more[1]],
        )

    def reversed(self) -> _Sides:
        lengths = self.length_I[::-1], self.length_J[::-1]
        return _Sides(*lengths, self.begins_I[::-1], self.begins_J[::-1], self.ratio)


class _Lines:
    """The words of sentences in one array, behind three empty sentences."""

    def __init__(self, lines: Sequence[Sequence[int]]) -> None:
        self.length_G = np.array([0] * _MOST + [len(line) for line in lines])
        self.end_G = np.concatenate([[0], np.cumsum(self.length_G)])
        self.words = np.concatenate([np.zeros(0, np.int32), *(np.asarray(line, np.int32) for line in lines)])

    def counts(self, start: int, end: int) -> tuple[Array, Array]:
        """words_U, and count_GU: how often each of them is in each sentence."""
        words_U, place = np.unique(self.words[self.end_G[start] : self.end_G[end]], return_inverse=True)
        row = np.repeat(np.arange(end - start), self.length_G[start:end])
        count_GU = np.bincount(row * len(words_U) + place, minlength=(end - start) * len(words_U))
        return words_U, count_GU.reshape(end - start, len(words_U)).astype(np.float32)


class _Direction:
    """How much likelier the words of some sentences are behind others: log p(other | given) / p(other).

    p(w | given) is the mean over the given words, and NULL, of their translations (Model 1). What the table
    leaves open of a word is spread over all words as they are frequent.
    """

    def __init__(self, given: SideWords, other: SideWords, table: WordTable) -> None:
        self.given, self.other, self.table = given.lines, other.lines, table
        self.share_W = (other.count_V + 0.5) / (other.count_V.sum() + 0.5 * len(other.count_V))
        self.open_V = 1 - table.probability_VN.sum(1)
        self._place_W = np.full(len(self.share_W) + 1, -1)  # the last is that of the candidate -1
        self._lines: tuple[_Lines, _Lines] | None = None

    def part(self, given: slice, other: slice) -> _Direction:
        """The same for other sentences."""
        part = object.__new__(_Direction)
        part.__dict__ |= self.__dict__
        part.given, part.other, part._lines = self.given[given], self.other[other], None
        return part

    def gains(self, rows: tuple[int, int], columns: tuple[int, int]) -> Array:
        """gain_XGO of groups of x sentences, the last of which are before the cells `rows`.

        O are the single sentences that can be in a bead that ends at `columns`.
        """
        if self._lines is None:
            self._lines = _Lines(self.given), _Lines(self.other)
        words_U, count_GU = self._lines[0].counts(rows[0], rows[1] + 2)
        words_V, count_OV = self._lines[1].counts(columns[0], columns[1] + 2)
        self._place_W[words_V] = np.arange(len(words_V))
        place_UN = self._place_W[self.table.candidates_VN[words_U]]
        self._place_W[words_V] = -1
        u, n = np.nonzero(place_UN >= 0)
        flat = np.bincount(
            u * len(words_V) + place_UN[u, n],
            self.table.probability_VN[words_U][u, n],
            len(words_U) * len(words_V),
        )
        likelier_UV = flat.reshape(len(words_U), len(words_V)) / self.share_W[words_V]
        found_GV = count_GU @ likelier_UV.astype(np.float32)
        open_G = count_GU @ self.open_V[words_U].astype(np.float32)
        length_G = count_GU.sum(1)
        many = rows[1] - rows[0]
        gains = []
        found, left, length = np.zeros((), np.float32), 1.0, 1.0
        for x in range(_MOST):
            own = slice(2 - x, 2 - x + many)
            found, left, length = found + found_GV[own], left + open_G[own], length + length_G[own]
            gains.append(np.log((found + left[:, None]) / length[:, None]) @ count_OV.T)
        return np.stack(gains)


class _Grid:
    """The table of two lists of sentences, and its band: the cells begin_I to before end_I of each row."""

    def __init__(
        self,
        sides: _Sides,
        forward: _Direction,
        backward: _Direction,
        band: tuple[Array, Array],
        skip: float = _SKIP,
    ) -> None:
        self.sides, self.forward, self.backward = sides, forward, backward
        self.begin_I, self.end_I = band
        self.skip = skip
        self.shape = len(sides.length_I), len(sides.length_J)
        self._sums = [
            np.concatenate([np.zeros(_MOST + 1), np.cumsum(one)]) for one in (sides.length_I, sides.length_J)
        ]
        rate = math.sqrt(sides.begins_I.mean() * sides.begins_J.mean())
        self._paragraphs = np.zeros((2, 2))
        self._crossing = 0.0
        if 0 < rate < _AGREE:  # 0: a stretch within one paragraph
            apart = (1 - _AGREE) / (1 - rate)
            self._paragraphs = np.log([[(1 - apart * rate) / (1 - rate), apart], [apart, _AGREE / rate]])
            self._paragraphs = self._paragraphs.clip(-2, 2) / 2
            self._crossing = -1.5 * (1 - rate)

    def scores(self, rows: tuple[int, int], columns: tuple[int, int]) -> Array:
        """score_XYIJ of the beads that end at each cell."""
        gain_XIO = self.forward.gains(rows, columns)
        gain_YJO = self.backward.gains(columns, rows)
        many = rows[1] - rows[0], columns[1] - columns[0]
        i, j = np.arange(*rows), np.arange(*columns)
        length_XI, length_YJ = (
            np.stack([sums[at + _MOST] - sums[at + _MOST - x] for x in range(1, _MOST + 1)])
            for sums, at in zip(self._sums, (i, j), strict=True)
        )
        ours = length_XI[:, None, :, None] * self.sides.ratio
        theirs = length_YJ[None, :, None, :]
        off = np.abs(theirs - ours) / np.sqrt(np.maximum((ours + theirs) / 2, 1) * _VARIANCE)
        scores: Array = (
            _TAIL[np.minimum(off / _STEP, len(_TAIL) - 1).astype(np.int32)] + _PRIOR_XY[:, :, None, None]
        )
        begins = [one.astype(np.int64) for one in (self.sides.begins_I, self.sides.begins_J)]
        for one in range(_MOST):
            sum_x, sum_y = np.zeros((many[1], many[0])), np.zeros(many)
            for other in range(_MOST):
                sum_y = sum_y + gain_XIO[one, :, 2 - other : 2 - other + many[1]]
                scores[one, other] += _WORDS / 2 * sum_y
                sum_x = sum_x + gain_YJO[one, :, 2 - other : 2 - other + many[0]]
                scores[other, one] += _WORDS / 2 * sum_x.T
                first = begins[0][np.maximum(i - one - 1, 0)], begins[1][np.maximum(j - other - 1, 0)]
                scores[one, other] += self._paragraphs[np.ix_(*first)]
                for inner in range(1, one + 1):
                    scores[one, other] += self._crossing * begins[0][np.maximum(i - inner, 0)][:, None]
                for inner in range(1, other + 1):
                    scores[one, other] += self._crossing * begins[1][np.maximum(j - inner, 0)]
        scores += self._paragraphs[np.ix_(begins[0][i], begins[1][j])]
        return scores

    def sweep(self, *kinds: tuple[np.ufunc, float]) -> list[list[_Row]]:
        """The scores of the paths from the first cell, by rows, for each kind.

        With maximum they are of the best path, with logaddexp the logarithm of the sum of all. Scores are
        multiplied by the number of the kind.
        """
        height, width = self.shape[0] + 1, self.shape[1] + 1
        outside = np.full(width + _MOST, -np.inf)
        # Of the last rows, by kind: all paths, those that end with a bead, those that leave out ours.
        last = [[[outside] * 3 for _ in range(_MOST + 1)] for _ in kinds]
        found: list[list[_Row]] = [[] for _ in kinds]
        for start in range(0, height, _BLOCK):
            end = min(start + _BLOCK, height)
            left, right = int(self.begin_I[start]), int(self.end_I[end - 1])
            scores = self.scores((start, end), (left, right)).reshape(_MOST**2, end - start, -1)
            for i in range(start, end):
                low, high = int(self.begin_I[i]), int(self.end_I[i])
                here = slice(low + _MOST, high + _MOST)
                for number, (union, heat) in enumerate(kinds):
                    steps = heat * scores[:, i - start, low - left : high - left]
                    first_skip, next_skip = heat * self.skip, heat * _NEXT_SKIP
                    rows = last[number]
                    for step in range(_MOST**2):
                        x, y = step // _MOST + 1, step % _MOST + 1
                        steps[step] += rows[(i - x) % (_MOST + 1)][0][low + _MOST - y : high + _MOST - y]
                    bead = union.reduce(steps, 0)
                    if i == 0:
                        bead[0] = 0.0
                    _, beads, ours = rows[(i - 1) % (_MOST + 1)]
                    our = union(beads[here] + first_skip, ours[here] + next_skip)
                    # Sentences of theirs are left out behind those of ours.
                    path = next_skip * np.arange(high - low)
                    their = np.full(high - low, -np.inf)
                    their[1:] = union(bead[:-1] + first_skip, our[:-1] + next_skip)
                    their = union.accumulate(their - path) + path
                    every = union.reduce([bead, our, their], 0)
                    found[number].append(_Row(bead, our, their, every, steps.argmax(0).astype(np.int8)))
                    rows[i % (_MOST + 1)] = [outside.copy() for _ in range(3)]
                    for table, new in zip(rows[i % (_MOST + 1)], (every, bead, our), strict=True):
                        table[here] = new
        return found

    def reversed(self) -> _Grid:
        """The table of the sentences in reverse order."""
        whole, width = slice(None, None, -1), self.shape[1] + 1
        return _Grid(
            self.sides.reversed(),
            self.forward.part(whole, whole),
            self.backward.part(whole, whole),
            (width - self.end_I[::-1], width - self.begin_I[::-1]),
            self.skip,
        )

    def beads(self, *, sure: bool) -> list[Bead]:
        """The best path, in order. `sure` finds confidences, too."""
        turned = self.reversed()
        best, *summed = self.sweep((np.maximum, 1.0), *[(np.logaddexp, _HEAT)] * sure)
        before = summed[0] if sure else []
        (after,) = turned.sweep((np.logaddexp, _HEAT)) if sure else ([],)
        i, j = self.shape
        state, found = best[i].state(j - self.begin_I[i]), list[Bead]()
        while i or j:
            row, at = best[i], j - self.begin_I[i]
            step = divmod(int(row.step[at]), _MOST)
            x, y = (step[0] + 1, step[1] + 1) if state == 0 else (state % 2, state // 2)
            score, share = 0.0, 0.0
            start = best[i - x], j - y - self.begin_I[i - x]
            if state == 0:
                score = row.bead[at] - start[0].every[start[1]]
            if state == 0 and sure:
                behind = self.shape[0] - i, self.shape[1] - j
                share = _HEAT * score + before[i - x].every[start[1]] - before[-1].every[-1]
                share += after[behind[0]].every[behind[1] - turned.begin_I[behind[0]]]
            if state == 0:
                state = start[0].state(start[1])
            elif state == 1:
                above = start[0].bead[start[1]] + self.skip, start[0].our[start[1]] + _NEXT_SKIP
                state = int(above[1] > above[0])
            else:
                aside = (
                    row.bead[at - 1] + self.skip,
                    row.our[at - 1] + _NEXT_SKIP,
                    row.their[at - 1] + _NEXT_SKIP,
                )
                state = int(np.argmax(aside))
            found.append(Bead(i - x, i, j - y, j, float(score), math.exp(min(share, 0.0)) if sure else 0.0))
            i, j = i - x, j - y
        return found[::-1]


class _Row(NamedTuple):
    """The scores of the paths to the cells of a row."""

    bead: Array  # that end with a bead
    our: Array  # that leave out a sentence of the source last
    their: Array  # that leave out one of the target last
    every: Array
    step: Array  # the best bead

    def state(self, at: int) -> int:
        """How the best path to a cell ends: 0, 1 and 2 for bead, our and their."""
        return int(np.argmax([self.bead[at], self.our[at], self.their[at]]))


def _aligned(sides: _Sides, forward: _Direction, backward: _Direction, *, sure: bool) -> list[Bead]:
    anchors = _anchors(forward) | {}
    beads = _Grid(sides, forward, backward, _band(sides, anchors)).beads(sure=sure)
    return sorted(_with_moved(beads, sides, forward, backward, anchors, sure=sure), key=lambda one: one.start)


def _anchors(direction: _Direction) -> dict[int, int]:
    """Sentences that share rare words with each other more than with all others."""
    places: list[dict[int, list[int]]] = []
    for lines in (direction.given, direction.other):
        having = defaultdict(list)
        for number, line in enumerate(lines):
            for word in set(line):
                having[word].append(number)
        places.append({word: numbers for word, numbers in having.items() if len(numbers) <= _RARE})
    shared: dict[tuple[int, int], float] = defaultdict(float)
    for word, ours in places[0].items():
        row = zip(direction.table.candidates_VN[word], direction.table.probability_VN[word], strict=True)
        for candidate, probability in row:
            if probability > 0.1 and (theirs := places[1].get(int(candidate))):
                weight = float(probability) / math.sqrt(len(ours) * len(theirs))
                for a in ours:
                    for b in theirs:
                        shared[a, b] += weight
    best: tuple[dict[int, tuple[float, int]], dict[int, tuple[float, int]]] = {}, {}
    for (a, b), weight in shared.items():
        best[0][a] = max(best[0].get(a, (0.0, -1)), (weight, b))
        best[1][b] = max(best[1].get(b, (0.0, -1)), (weight, a))
    return {a: b for a, (weight, b) in best[0].items() if best[1][b][1] == a and weight > 0.2}


def _band(sides: _Sides, anchors: dict[int, int]) -> tuple[Array, Array]:
    """begin_I and end_I."""
    height, width = len(sides.length_I) + 1, len(sides.length_J) + 1
    if height * width <= _SMALL:
        return np.zeros(height, np.int64), np.full(height, width)
    chain = _trusted(_rising(sorted(anchors.items())))
    points = [(0, 0), *((a, b) for a, b in chain if a and b), (height - 1, width - 1)]
    rows, columns = (np.array(one) for one in zip(*points, strict=True))
    i = np.arange(height)
    after = np.searchsorted(rows, i, "right").clip(1, len(rows) - 1)
    line = np.interp(i, rows, columns)
    widest = _WIDEST + width // 50
    begin = np.maximum(columns[after - 1] - _MARGIN, line - widest)[np.maximum(i - _MARGIN, 0)]
    end = np.minimum(columns[after] + _MARGIN, line + widest)[np.minimum(i + _MARGIN, height - 1)]
    begin = np.maximum.accumulate(begin.clip(0, width - 1).astype(np.int64))
    end = np.maximum.accumulate(end.clip(1, width).astype(np.int64))
    begin[0], end[-1] = 0, width
    end[:-1] = np.maximum(end[:-1], begin[1:] + 1)
    return begin, end


def _rising(points: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """The longest chain of points that rise in both numbers (patience sorting)."""
    tails: list[int] = []
    ends: list[int] = []
    before: list[int] = []
    for number, (_, b) in enumerate(points):
        at = bisect_left(tails, b)
        tails[at : at + 1], ends[at : at + 1] = [b], [number]
        before.append(ends[at - 1] if at else -1)
    chain = []
    number = ends[-1] if ends else -1
    while number >= 0:
        chain.append(points[number])
        number = before[number]
    return chain[::-1]


def _trusted(chain: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """The points of a chain that lie on a line with at least two of the three before and behind."""

    def fit(one: tuple[int, int], other: tuple[int, int]) -> bool:
        down, right = abs(one[0] - other[0]), abs(one[1] - other[1])
        return abs(down - right) <= 3 + 0.3 * down

    return [
        one
        for number, one in enumerate(chain)
        if sum(fit(one, other) for other in chain[max(0, number - 3) : number + 4]) >= 3
    ]


def _with_moved(
    beads: list[Bead],
    sides: _Sides,
    forward: _Direction,
    backward: _Direction,
    anchors: dict[int, int],
    *,
    sure: bool,
) -> list[Bead]:
    """Align the stretches that are left over on both sides with each other, those with most anchors first."""
    while True:
        runs = [_left_over(beads, side) for side in (0, 1)]
        homes = [{at: run for run in own for at in range(*run)} for own in runs]
        shared = Counter(
            (homes[0][a], homes[1][b]) for a, b in anchors.items() if a in homes[0] and b in homes[1]
        )
        for (ours, theirs), _ in shared.most_common():
            parts = slice(*ours), slice(*theirs)
            own = {
                a - ours[0]: b - theirs[0]
                for a, b in anchors.items()
                if a in range(*ours) and b in range(*theirs)
            }
            part = sides.part(*parts)
            grid = _Grid(
                part, forward.part(*parts), backward.part(*parts[::-1]), _band(part, own), _SKIP_APART
            )
            found = grid.beads(sure=sure)
            if sum(one.score for one in found if all(one.sides)) > math.log(len(sides.length_J)):
                break
        else:
            return beads
        beads = [
            one
            for one in beads
            if all(one.sides)
            or not (one.start in range(*ours) if one.sides[0] else one.target_start in range(*theirs))
        ]
        beads += [
            replace(
                one,
                start=one.start + ours[0],
                end=one.end + ours[0],
                target_start=one.target_start + theirs[0],
                target_end=one.target_end + theirs[0],
                moved=True,
            )
            for one in found
        ]


def _left_over(beads: Sequence[Bead], side: int) -> list[tuple[int, int]]:
    """The stretches of sentences that are in no bead with both sides."""
    alone = sorted(
        (one.start, one.target_start)[side] for one in beads if one.sides[side] and not one.sides[1 - side]
    )
    runs: list[tuple[int, int]] = []
    for at in alone:
        if runs and runs[-1][1] == at:
            runs[-1] = runs[-1][0], at + 1
        else:
            runs.append((at, at + 1))
    return runs
