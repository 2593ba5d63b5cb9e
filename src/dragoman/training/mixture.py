"""Two tokenised texts as one: all of the first in every epoch, and a share of the second."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np

from dragoman.training.tokenised import TokenisedCorpus

Array = np.ndarray[Any, np.dtype[Any]]


class Rows(Protocol):
    """Sequences of token ids, such as a `Ragged`."""

    @property
    def lengths(self) -> Array: ...
    def __getitem__(self, row: int, /) -> Array: ...


class TrainingText(Protocol):
    """What a trainer needs of its text: a `TokenisedCorpus` or a `Mixture`."""

    @property
    def fingerprint(self) -> str: ...
    @property
    def report(self) -> str: ...
    def __len__(self) -> int: ...
    def epoch(self, epoch: int, *, seed: int) -> tuple[Rows, Rows]: ...
    def whereabouts(self, rows: Sequence[int], *, epoch: int, seed: int) -> str: ...


class Mixture:
    """A text of which every epoch has all pairs, with pairs of a general text, so that it is not forgotten.

    `share` of the pairs of an epoch are general. Epochs take the next ones of the general text, in an order
    that the seed determines, and begin again when it ends.
    """

    def __init__(self, main: TokenisedCorpus, general: TokenisedCorpus, share: float) -> None:
        self.main, self.general = main, general
        self._added = round(len(main) * share / (1 - share))

    def __len__(self) -> int:
        return len(self.main) + self._added

    @property
    def fingerprint(self) -> str:
        """A digest of both texts and of the share."""
        return f"{self.main.fingerprint} {self.general.fingerprint} {self._added}"

    @property
    def report(self) -> str:
        """The report of the main text."""
        return self.main.report

    def epoch(self, epoch: int, *, seed: int) -> tuple[Rows, Rows]:
        """The source and target tokens of one epoch, counted from 0."""
        chosen = self._chosen(epoch, seed)
        main, general = self.main.epoch(epoch, seed=seed), self.general.epoch(epoch, seed=seed)
        return _Joined(main[0], general[0], chosen), _Joined(main[1], general[1], chosen)

    def whereabouts(self, rows: Sequence[int], *, epoch: int, seed: int) -> str:
        """Name the lines of each text that these rows of an epoch come from."""
        own = [row for row in rows if row < len(self.main)]
        others = self._chosen(epoch, seed)[[row - len(self.main) for row in rows if row >= len(self.main)]]
        places = [self.main.whereabouts(own)] if own else []
        return "; ".join(places + ([self.general.whereabouts(others.tolist())] if len(others) else []))

    def _chosen(self, epoch: int, seed: int) -> Array:
        """The rows of the general text in an epoch."""
        order = np.random.default_rng((seed, len(self.general))).permutation(len(self.general))
        first = epoch * self._added
        return order[np.arange(first, first + self._added) % len(self.general)]


class _Joined:
    """The rows of one text, then chosen rows of another."""

    def __init__(self, first: Rows, second: Rows, chosen: Array) -> None:
        self._first, self._second, self._chosen = first, second, chosen
        self._length = len(first.lengths)
        self.lengths: Array = np.concatenate([first.lengths, second.lengths[chosen]])

    def __getitem__(self, row: int) -> Array:
        if row < self._length:
            return self._first[row]
        return self._second[int(self._chosen[row - self._length])]
