"""Several tokenised texts as one, each with as many pairs an epoch as its weight says."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any, Generic, Protocol, TypeVar

import numpy as np

from dragoman.training.data.tokenised import Flags, TokenisedCorpus

Array = np.ndarray[Any, np.dtype[Any]]

LARGE = 1 << 21  # pairs of a text that should not be sorted at once
POOL = 1 << 20
BLOCK = 1 << 10


def pools(count: int, *, seed: int, epoch: int) -> Iterator[Array]:
    """Yield the rows of each pool of an epoch; every one of `count` rows is in exactly one pool.

    Planning needs about 50 bytes of memory for each pair (`benchmarks/planning.py`). A text of more than
    `LARGE` pairs is therefore cut into blocks of neighbouring pairs. Each epoch shuffles the blocks and plans
    pools of about `POOL` pairs, one after the other, so memory does not grow with the text. A pool has blocks
    from all over the text, and its batches mix them, while reading stays close to sequential.
    """
    blocks = np.random.default_rng((seed, epoch, 0, 1)).permutation(-(-count // BLOCK))
    for pool in np.array_split(blocks, -(-count // POOL)):
        rows = (pool[:, None] * BLOCK + np.arange(BLOCK)).ravel()
        yield rows[rows < count]


class Rows(Protocol):
    """Sequences of token ids, such as a `Ragged`."""

    @property
    def lengths(self) -> Array: ...
    def lengths_of(self, rows: Array) -> Array: ...
    def __len__(self) -> int: ...
    def __getitem__(self, row: int, /) -> Array: ...


class LessonRows(Protocol):
    """The tokens that teachers find likely: K entries for each target token and each end (`Lessons`)."""

    @property
    def share(self) -> float: ...
    def __getitem__(self, row: int, /) -> Array: ...


R = TypeVar("R", Rows, LessonRows)


class TrainingText(Protocol):
    """The text of a trainer: a `TokenisedCorpus` or a `Mixture`."""

    @property
    def fingerprint(self) -> str: ...
    @property
    def report(self) -> str: ...
    def __len__(self) -> int: ...
    def epoch(self, epoch: int, *, seed: int) -> tuple[Rows, Rows]: ...
    def lessons_of(self, epoch: int, *, seed: int) -> LessonRows | None: ...
    def in_targets(self, vocab: int) -> Flags: ...
    def whereabouts(self, rows: Sequence[int], *, epoch: int, seed: int) -> str: ...


Stages = Sequence[tuple[int, TrainingText]]  # of a curriculum: how many updates each lasts, and its text


@dataclass(frozen=True)
class Weighted:
    """A text, and how many of its pairs are in an epoch: fewer than it has, or more."""

    corpus: TokenisedCorpus
    rows: int
    name: str = ""  # in the report
    marks: tuple[int, ...] = ()  # tokens before each of its sources, in every epoch
    start: tuple[int, ...] = ()  # tokens before each of its targets
    swapped: bool = False  # whether its targets are translated into its sources
    tagged: bool = False  # whether one of the marks says that its sources are synthetic


class Mixture:
    """Texts that are trained on together.

    If an epoch takes all rows of a text once, or twice, it has each pair that often. Otherwise epochs take
    the next rows, in an order that the seed determines, and start over when it ends.
    So a weight of 0.5 gives another half in every second epoch.
    """

    def __init__(self, parts: Sequence[Weighted]) -> None:
        self.parts = tuple(parts)

    @classmethod
    def replaying(cls, main: TokenisedCorpus, general: TokenisedCorpus, share: float) -> Mixture:
        """All of a text in every epoch, and `share` of general text, so that it is not forgotten."""
        added = round(len(main) * share / (1 - share))
        return cls([Weighted(main, len(main)), Weighted(general, added)])

    def __len__(self) -> int:
        return sum(part.rows for part in self.parts)

    @property
    def fingerprint(self) -> str:
        """A digest of all texts and of their shares."""
        digests = [part.corpus.fingerprint for part in self.parts]
        first, *others = self.parts
        rows = [str(part.rows) for part in others]
        marks = [
            f"{what} {','.join(map(str, ids))} of {n}"
            for n, part in enumerate(self.parts)
            for what, ids in (("mark", part.marks), ("start", part.start))
            if ids
        ]
        marks += [f"swapped {n}" for n, part in enumerate(self.parts) if part.swapped]
        own = [] if first.rows == len(first.corpus) else [str(first.rows)]
        return " ".join(digests + rows + own + marks)

    @property
    def report(self) -> str:
        """The reports of the texts that have a name, otherwise the first report."""
        named = [
            f"{part.name}{' (tagged)' if part.tagged else ''}: {part.corpus.report}"
            for part in self.parts
            if part.name and not part.swapped
        ]
        return "\n".join(named) or self.parts[0].corpus.report

    def epoch(self, epoch: int, *, seed: int) -> tuple[Rows, Rows]:
        """The source and target tokens of one epoch, counted from 0."""
        sources: list[Rows] = []
        targets: list[Rows] = []
        epochs = {id(part.corpus): part.corpus for part in self.parts}  # one may be in both directions
        rows = {key: corpus.epoch(epoch, seed=seed) for key, corpus in epochs.items()}
        for part in self.parts:
            source, target = rows[id(part.corpus)]
            source, target = (target, source) if part.swapped else (source, target)
            sources.append(_Marked(source, part.marks) if part.marks else source)
            targets.append(_Marked(target, part.start) if part.start else target)
        choices = self._choices(epoch, seed)
        return _JoinedRows(sources, choices), _JoinedRows(targets, choices)

    def in_targets(self, vocab: int) -> Flags:
        """For each id of a vocabulary of this size, whether a target of any text has it or it is the end."""
        found_V = np.zeros(vocab, dtype=np.bool_)
        for part in self.parts:
            found_V |= part.corpus.in_targets(vocab, swapped=part.swapped)
            found_V[list(part.start)] = True
        return found_V

    def lessons_of(self, epoch: int, *, seed: int) -> LessonRows | None:
        """The lessons for the rows of one epoch; None if a text has no lessons."""
        each = [part.corpus.lessons for part in self.parts]
        lessons = [one for one in each if one is not None]
        return _JoinedLessons(lessons, self._choices(epoch, seed)) if len(lessons) == len(each) else None

    def _choices(self, epoch: int, seed: int) -> list[_Choice]:
        # Texts of equal size have other orders, so a pair and a teacher's translation are not drawn together.
        return [
            _Choice(len(part.corpus), part.rows, epoch, (seed, number))
            for number, part in enumerate(self.parts)
        ]

    def whereabouts(self, rows: Sequence[int], *, epoch: int, seed: int) -> str:
        """Name the lines of each text that these rows of an epoch come from."""
        places, start, wanted = [], 0, np.asarray(rows)
        for part, choice in zip(self.parts, self._choices(epoch, seed), strict=True):
            own = wanted[(wanted >= start) & (wanted < start + part.rows)] - start
            if len(own):
                places.append(part.corpus.whereabouts(choice.row_at(own).tolist()))
            start += part.rows
        return "; ".join(places)


class _Marked:
    """Rows with the same tokens before each."""

    def __init__(self, rows: Rows, marks: Sequence[int]) -> None:
        self._rows, self._marks = rows, marks

    def __len__(self) -> int:
        return len(self._rows)

    @property
    def lengths(self) -> Array:
        return self._rows.lengths + len(self._marks)

    def lengths_of(self, rows: Array) -> Array:
        return self._rows.lengths_of(rows) + len(self._marks)

    def __getitem__(self, row: int) -> Array:
        own = self._rows[row]
        return np.concatenate([np.array(self._marks, own.dtype), own])


class _Choice:
    """Which rows of a text with `count` rows an epoch has: the row at each place.

    The order is kept in memory; a large text is ordered by blocks of neighbouring rows.
    """

    def __init__(self, count: int, rows: int, epoch: int, seed: tuple[int, ...]) -> None:
        self.count, self.rows = count, rows
        self._first, self._order, self._block = 0, None, 1
        if rows % count:
            self._block = BLOCK if count > LARGE else 1
            whole, rest = divmod(count, self._block)
            order = np.random.default_rng((*seed, count)).permutation(whole)
            self._order = np.append(order, whole) if rest else order
            self._first = epoch * rows

    def row_at(self, place: Any) -> Any:
        """The row at a place, or the rows at several."""
        place = (place + self._first) % self.count
        if self._order is None:
            return place
        return self._order[place // self._block] * self._block + place % self._block


class _Joined(Generic[R]):
    """The chosen rows of several texts, one text after the other."""

    def __init__(self, texts: Sequence[R], choices: Sequence[_Choice]) -> None:
        self._texts: Sequence[R] = texts
        self._choices = choices
        self._starts = [0, *accumulate(choice.rows for choice in choices)]

    def __getitem__(self, row: int) -> Array:
        part = bisect_right(self._starts, row) - 1
        return self._texts[part][int(self._choices[part].row_at(int(row) - self._starts[part]))]


class _JoinedLessons(_Joined[LessonRows]):
    """The lessons for them."""

    @property
    def share(self) -> float:
        return self._texts[0].share


class _JoinedRows(_Joined[Rows]):
    """Their tokens."""

    def __len__(self) -> int:
        return self._starts[-1]

    @property
    def lengths(self) -> Array:
        return self.lengths_of(np.arange(len(self)))

    def lengths_of(self, rows: Array) -> Array:
        lengths = np.empty(len(rows), np.int64)
        for text, choice, start in zip(self._texts, self._choices, self._starts, strict=False):
            mine = (rows >= start) & (rows < start + choice.rows)
            lengths[mine] = text.lengths_of(choice.row_at(rows[mine] - start))
        return lengths
