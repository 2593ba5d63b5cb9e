"""The translation memories of the server: at most one for each pair of languages."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from dragoman.base.errors import ConfigError
from dragoman.base.languages import canonical, related
from dragoman.text.guidance import Match

if TYPE_CHECKING:
    from dragoman.translation.memory.store import FuzzyMatch, TranslationMemory

Pair = tuple[str, str]


class Memories:
    """Looks up and stores translations. Methods may wait for the disk, so call them in a thread.

    `changes` counts the additions for a pair, so that older answers can be told from newer ones.
    """

    def __init__(self, memories: Mapping[Pair, TranslationMemory]) -> None:
        self._memories = dict(memories)
        self.changes: dict[Pair, int] = dict.fromkeys(memories, 0)

    @classmethod
    def open(cls, paths: Iterable[Path], pairs: Iterable[Pair]) -> Memories:
        """Open files, and make those that do not exist. See `Service.open`.

        Raises ConfigError for a memory of a pair that is not served or that has one, DataError for a file
        that is not a memory.
        """
        opened: dict[Pair, TranslationMemory] = {}
        served = list(pairs)
        try:
            # Existing files first, because they state their pair.
            for path in sorted(map(Path, paths), key=lambda path: not path.exists()):
                pair, memory = _opened(path, served, opened)
                opened[pair] = memory
        except BaseException:
            cls(opened).close()
            raise
        return cls(opened)

    @property
    def pairs(self) -> tuple[Pair, ...]:
        """The pairs that have a memory."""
        return tuple(self._memories)

    def of(self, pair: Pair) -> TranslationMemory | None:
        """The memory of a pair, or None."""
        return self._memories.get(pair)

    def exact(self, pair: Pair, text: str) -> Match | None:
        """The newest translation of a text that is equal but for its spaces."""
        memory = self.of(pair)
        match = None if memory is None else memory.exact(text)
        if memory is not None and match is not None:
            memory.count_use(match)
        return match

    def search(self, pair: Pair, text: str, limit: int) -> list[FuzzyMatch]:
        """Similar pairs for a text, best first."""
        memory = self.of(pair)
        return [] if memory is None else memory.search(text, most=limit)

    def add(self, pair: Pair, source: str, target: str, origin: str) -> bool:
        """Store a translation. Raises ConfigError if the pair has no memory."""
        memory = self.of(pair)
        if memory is None:
            raise ConfigError(
                f"no translation memory from {pair[0]} to {pair[1]}",
                hint="start the server with --memory FILE",
            )
        new = memory.add(source, target, origin=origin)
        self.changes[pair] += 1
        return new

    def close(self) -> None:
        """Close the files."""
        for memory in self._memories.values():
            memory.close()


def _opened(
    path: Path, served: list[Pair], opened: Mapping[Pair, TranslationMemory]
) -> tuple[Pair, TranslationMemory]:
    from dragoman.translation.memory.store import TranslationMemory

    if not path.exists():
        free = [pair for pair in served if pair not in opened]
        if not free:
            raise ConfigError(f"{path}: every pair has a memory", hint="leave it out")
        source, target = free[0]
        return free[0], TranslationMemory.create(path, source_language=source, target_language=target)
    memory = TranslationMemory(path)
    own = canonical(memory.source_language), canonical(memory.target_language)
    fits = [pair for pair in served if related(pair[0], own[0]) and related(pair[1], own[1])]
    pair = own if own in fits else fits[0] if fits else None
    if pair is None or pair in opened:
        memory.close()
        what = "is not served" if pair is None else "has a memory"
        raise ConfigError(f"{path}: the pair from {own[0]} to {own[1]} {what}", hint="leave it out")
    return pair, memory
