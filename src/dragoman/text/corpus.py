"""Parallel text: reading pairs of sentences, and setting unsuitable ones aside."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePath
from typing import Annotated, Any

from dragoman.base.errors import ConfigError, DataError
from dragoman.base.options import Option, Options
from dragoman.text.formats import jsonl, plain, tsv
from dragoman.text.languages import Languages, of_pair, of_side
from dragoman.text.lines import STDIN, Line, one_line, open_text, read_lines
from dragoman.text.seen import Seen

__all__ = [
    "Corpus",
    "Filter",
    "FilterConfig",
    "FilterReport",
    "Line",
    "open_corpus",
    "open_pairs",
    "read_lines",
]

EMPTY_SOURCE = "empty source"
EMPTY_TARGET = "empty target"
TOO_LONG = "too long"
RATIO = "length ratio"
DUPLICATE = "duplicate"
_REASONS = (EMPTY_SOURCE, EMPTY_TARGET, TOO_LONG, RATIO, DUPLICATE)

_JSONL = {".jsonl", ".ndjson"}
_OF_PAIRS = _JSONL | {".tsv"}

_EXAMPLES = 3  # line numbers shown for each reason
_SHORT = 20  # tokens; no ratio is checked up to here, since "Hi!" may have eight tokens in another language


class Corpus:
    """A stream of pairs of sentences that can be read more than once. It may be larger than memory.

    `name` is for messages. The languages come from the names or keys of the files; None if unknown.
    Iterating raises DataError naming file and line.
    """

    def __init__(
        self, name: str, read: Callable[[], Iterator[Line]], languages: Languages = (None, None)
    ) -> None:
        self.name = name
        self.source_language, self.target_language = languages
        self._read = read

    def __iter__(self) -> Iterator[Line]:
        return self._read()


def open_corpus(paths: Sequence[str | Path], *, languages: Languages = (None, None)) -> Corpus:
    """Return the pairs in two plain files, one .tsv or .jsonl file, or TSV on standard input (`-`).

    Files may be gzipped. `languages` are the source's and the target's, if the user named them; they
    choose the keys of a JSONL file. Raise ConfigError if it is unclear what to read, DataError if a file
    is missing, unreadable or empty.
    """
    names = [str(path) for path in paths]
    match names:
        case [name] if name == STDIN or _kind(name) == ".tsv":
            file = open_text(name)
            return Corpus(file.name, lambda: tsv.read(file), _first(languages, of_pair(name)))
        case [name] if _kind(name) in _JSONL:
            file = open_text(name)
            keys = _first(languages, of_pair(name))
            keys = keys if all(keys) else _first(keys, jsonl.languages(file))
            if keys[0] is not None and keys[0] == keys[1]:
                raise ConfigError(
                    f"{name}: source and target language are both {keys[0]}", hint="name two languages"
                )
            return Corpus(file.name, lambda: jsonl.read(file, keys), keys)
        case [name]:
            raise ConfigError(
                f"{name}: one text file holds only one side",
                hint="name two files (train.en train.de), a .tsv, a .jsonl, or - for TSV on standard input",
            )
        case [left, right] if STDIN not in names and not {_kind(left), _kind(right)} & _OF_PAIRS:
            source, target = open_text(left), open_text(right)
            return Corpus(
                f"{source.name} and {target.name}",
                lambda: plain.read(source, target),
                _first(languages, (of_side(left), of_side(right))),
            )
    raise ConfigError(
        f"{' '.join(names) or 'no files'}: not a pair of text files",
        hint="name two files (train.en train.de), or one .tsv, one .jsonl, or - alone",
    )


def open_pairs(pairs: Iterable[tuple[str, str]], *, name: str = "pairs") -> Corpus:
    """Return a corpus of pairs of strings, kept in memory.

    Raise DataError if an item is not a pair of strings or there are no items.
    """
    checked = [_checked(pair, f"{name}, number {number}") for number, pair in enumerate(pairs, 1)]
    if not checked:
        raise DataError(f"{name}: empty", hint="give at least one pair of sentences")
    return Corpus(name, lambda: (Line(number, *pair) for number, pair in enumerate(checked, 1)))


@dataclass(frozen=True, kw_only=True)
class FilterConfig(Options, section="data.filter"):
    """Which training pairs to leave out."""

    max_length: Annotated[int, Option("Longest sentence, in tokens, on either side.", at_least=1)] = 256
    max_ratio: Annotated[
        float,
        Option(
            f"Largest ratio of the longer side's tokens to the shorter's, if the longer has over {_SHORT}. "
            "inf allows any.",
            at_least=1,
            infinite=True,
        ),
    ] = 9.0
    drop_duplicates: Annotated[bool, Option("Keep only the first of equal pairs.")] = True


@dataclass
class SetAside:
    """The number of pairs set aside for one reason, and the first few line numbers."""

    count: int = 0
    lines: list[int] = field(default_factory=list)


class FilterReport:
    """Counts of the pairs read and set aside. As text: a line for the total, then one for each reason."""

    def __init__(self) -> None:
        self.read = 0
        self.set_aside = {reason: SetAside() for reason in _REASONS}

    @property
    def kept(self) -> int:
        """The number of pairs that were read and not set aside."""
        return self.read - sum(aside.count for aside in self.set_aside.values())

    def __str__(self) -> str:
        dropped = self.read - self.kept
        lines = [f"{self.read:,} pairs read, {self.kept:,} kept, {dropped:,} set aside"]
        for reason, aside in self.set_aside.items():
            if aside.count:
                numbers = ", ".join(f"{number:,}" for number in aside.lines)
                more = ", ..." if aside.count > len(aside.lines) else ""
                word = "line" if aside.count == 1 else "lines"
                lines.append(f"  {reason}: {aside.count:,} ({word} {numbers}{more})")
        return "\n".join(lines)

    def to_table(self) -> dict[str, Any]:
        """Return the same as plain values; reasons without pairs are left out."""
        reasons = {name: dataclasses.asdict(aside) for name, aside in self.set_aside.items() if aside.count}
        return {"read": self.read, "kept": self.kept, "set_aside": reasons}


class Filter:
    """Checks pairs and counts those to set aside in `report`."""

    def __init__(self, config: FilterConfig) -> None:
        self.config = config
        self.report = FilterReport()
        self._seen = Seen()

    def check(
        self, number: int, source: str, target: str, source_length: int, target_length: int
    ) -> str | None:
        """Return why to set the pair on line `number` aside, or None to keep it. Lengths are in tokens."""
        self.report.read += 1
        reason = self._reason(source, target, source_length, target_length)
        if reason is not None:
            aside = self.report.set_aside[reason]
            aside.count += 1
            if len(aside.lines) < _EXAMPLES:
                aside.lines.append(number)
        return reason

    def _reason(self, source: str, target: str, source_length: int, target_length: int) -> str | None:
        if not source.strip():
            return EMPTY_SOURCE
        if not target.strip():
            return EMPTY_TARGET
        shorter, longer = sorted((source_length, target_length))
        if longer > self.config.max_length:
            return TOO_LONG
        if longer > _SHORT and longer > self.config.max_ratio * max(shorter, 1):
            return RATIO
        # Check this last, so that only pairs that pass every other check count as seen.
        if self.config.drop_duplicates and not self._seen.add(f"{source}\0{target}"):
            return DUPLICATE
        return None


def _kind(name: str) -> str:
    """Return the suffix that names the format: .tsv for train.en-de.tsv.gz."""
    path = PurePath(name.lower())
    return path.with_suffix("").suffix if path.suffix == ".gz" else path.suffix


def _first(languages: Languages, default: Languages) -> Languages:
    return languages[0] or default[0], languages[1] or default[1]


def _checked(pair: object, where: str) -> tuple[str, str]:
    match pair:
        case (str(source), str(target)):
            return one_line(source, where), one_line(target, where)
    raise DataError(f"{where}: not a pair of strings", hint='write ("A dog.", "Ein Hund.")')
