"""Parallel text: where pairs of sentences come from, and which are set aside, and why."""

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

__all__ = ["Corpus", "Filter", "FilterConfig", "Line", "Report", "open_corpus", "open_pairs", "read_lines"]

EMPTY_SOURCE = "empty source"
EMPTY_TARGET = "empty target"
TOO_LONG = "too long"
RATIO = "length ratio"
DUPLICATE = "duplicate"
_REASONS = (EMPTY_SOURCE, EMPTY_TARGET, TOO_LONG, RATIO, DUPLICATE)

_JSONL = {".jsonl", ".ndjson"}
_OF_PAIRS = _JSONL | {".tsv"}

_EXAMPLES = 3  # line numbers shown for each reason
_SHORT = 20  # tokens: up to here a ratio says nothing, as "Hi!" may well be eight tokens long elsewhere


class Corpus:
    """Pairs of sentences, as a stream that can be read again and again: it may be larger than memory.

    `name` is what messages call it. The languages are those its files' names or keys tell, or None.
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
    """The pairs in two plain files, in one .tsv or .jsonl file, or, as TSV, on standard input (`-`).

    Any may be gzipped. `languages` are the source's and the target's where the user said so: they
    choose the keys of a JSONL file. Raises ConfigError where it is not clear what to read, DataError
    where a file is missing, cannot be read or is empty.
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
                raise ConfigError(f"{name}: {keys[0]} to {keys[0]}", hint="say both languages")
            return Corpus(file.name, lambda: jsonl.read(file, keys), keys)
        case [name]:
            raise ConfigError(
                f"{name}: one file of text, which is only one side",
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
    """Pairs of strings held in memory. Raises DataError where one is none, or there are none."""
    held = [_checked(pair, f"{name}, number {number}") for number, pair in enumerate(pairs, 1)]
    if not held:
        raise DataError(f"{name}: empty", hint="at least one pair of sentences is needed")
    return Corpus(name, lambda: (Line(number, *pair) for number, pair in enumerate(held, 1)))


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
    """How many pairs were set aside for one reason, and the first few lines they stand on."""

    count: int = 0
    lines: list[int] = field(default_factory=list)


class Report:
    """What was read and what was set aside. As text it is a line for the whole and one for each reason."""

    def __init__(self) -> None:
        self.read = 0
        self.set_aside = {reason: SetAside() for reason in _REASONS}

    @property
    def kept(self) -> int:
        """Pairs read and not set aside."""
        return self.read - sum(aside.count for aside in self.set_aside.values())

    def __str__(self) -> str:
        gone = self.read - self.kept
        lines = [f"{self.read:,} pairs read, {self.kept:,} kept, {gone:,} set aside"]
        for reason, aside in self.set_aside.items():
            if aside.count:
                numbers = ", ".join(f"{number:,}" for number in aside.lines)
                more = ", ..." if aside.count > len(aside.lines) else ""
                word = "line" if aside.count == 1 else "lines"
                lines.append(f"  {reason}: {aside.count:,} ({word} {numbers}{more})")
        return "\n".join(lines)

    def to_table(self) -> dict[str, Any]:
        """The same for a program: read, kept, and count and first lines for each reason there was."""
        gone = {name: dataclasses.asdict(aside) for name, aside in self.set_aside.items() if aside.count}
        return {"read": self.read, "kept": self.kept, "set_aside": gone}


class Filter:
    """Looks at one pair after the other and says which to set aside; `report` keeps count."""

    def __init__(self, config: FilterConfig) -> None:
        self.config = config
        self.report = Report()
        self._seen = Seen()

    def check(
        self, number: int, source: str, target: str, source_length: int, target_length: int
    ) -> str | None:
        """Why the pair on line `number` is to be set aside, or None. Lengths are in tokens."""
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
        # The last question, so that of equal pairs the first that is kept is the one remembered.
        if self.config.drop_duplicates and not self._seen.add(f"{source}\0{target}"):
            return DUPLICATE
        return None


def _kind(name: str) -> str:
    """The suffix that tells the format: .tsv of train.en-de.tsv.gz."""
    path = PurePath(name.lower())
    return path.with_suffix("").suffix if path.suffix == ".gz" else path.suffix


def _first(languages: Languages, otherwise: Languages) -> Languages:
    return languages[0] or otherwise[0], languages[1] or otherwise[1]


def _checked(pair: object, where: str) -> tuple[str, str]:
    match pair:
        case (str(source), str(target)):
            return one_line(source, where), one_line(target, where)
    raise DataError(f"{where}: not a pair of strings", hint='expected: ("A dog.", "Ein Hund.")')
