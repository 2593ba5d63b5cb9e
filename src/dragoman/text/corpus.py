"""Parallel text: pairs of sentences from files or from memory."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path, PurePath

from dragoman.base.errors import ConfigError, DataError
from dragoman.text.formats import jsonl, plain, tmx, tsv
from dragoman.text.languages import Languages, of_pair, of_side, related
from dragoman.text.lines import STDIN, Line, kept_file, one_line, open_text, read_lines

__all__ = [
    "Corpus",
    "Line",
    "open_corpus",
    "open_pairs",
    "read_lines",
]

log = logging.getLogger(__name__)

_JSONL = {".jsonl", ".ndjson"}
_OF_PAIRS = _JSONL | {".tsv", ".tmx"}


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
    """Return the pairs in two plain files, one .tsv, .jsonl or .tmx file, or TSV on standard input (`-`).

    Files may be gzipped. `languages` are the source's and the target's, if the user named them; they
    choose the keys of a JSONL file and the segments of a TMX file. Raise ConfigError if it is unclear what
    to read, DataError if a file is missing, unreadable or empty, is named twice, or if the names say that the
    sides are swapped.
    """
    names = [str(path) for path in paths]
    match names:
        case [name] if name == STDIN or _kind(name) == ".tsv":
            file = open_text(name)
            _check_direction(names, of_pair(name), languages)
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
        case [name] if _kind(name) == ".tmx":
            file = kept_file(name)
            codes = languages if all(languages) else _first(languages, tmx.languages_in(file))
            return Corpus(file.name, lambda: tmx.read(file, codes), codes)
        case [name]:
            raise ConfigError(
                f"{name}: one text file holds only one side",
                hint="name two files (train.en train.de), a .tsv, .jsonl or .tmx, or - for TSV on standard "
                "input",
            )
        case [left, right] if STDIN not in names and not {_kind(left), _kind(right)} & _OF_PAIRS:
            source, target = open_text(left), open_text(right)
            if os.path.isfile(left) and os.path.samefile(left, right):
                raise DataError(f"{left}: named for both sides", hint="name the source, then its translation")
            named = of_side(left), of_side(right)
            _check_direction(names, named, languages)
            return Corpus(
                f"{source.name} and {target.name}",
                lambda: plain.read(source, target),
                _first(languages, named),
            )
    raise ConfigError(
        f"{' '.join(names) or 'no files'}: not a pair of text files",
        hint="name two files (train.en train.de), or one .tsv, .jsonl or .tmx, or - alone",
    )


def _check_direction(names: Sequence[str], named: Languages, wanted: Languages) -> None:
    """Raise DataError if names of files say the languages are swapped. Log a warning if they are others."""
    sides = list(zip(named, wanted, strict=True))
    wrong = [(a, b) for a, b in sides if a is not None and b is not None and not related(a, b)]
    if not wrong:
        return
    swapped = all(a is None or b is None or related(a, b) for a, b in zip(named, wanted[::-1], strict=True))
    if len(wrong) == 2 and swapped:
        raise DataError(
            f"{' and '.join(names)}: from {named[0]} to {named[1]}, but the languages are from {wanted[0]} "
            f"to {wanted[1]}",
            hint="swap the two sides" if len(names) == 2 else "swap the two columns, or rename the file",
        )
    for a, b in wrong:
        log.warning("%s: text in %s by its name, used as %s", " and ".join(names), a, b)


def open_pairs(pairs: Iterable[tuple[str, str]], *, name: str = "pairs") -> Corpus:
    """Return a corpus of pairs of strings, kept in memory.

    Raise DataError if an item is not a pair of strings or there are no items.
    """
    checked = [_checked(pair, f"{name}, number {number}") for number, pair in enumerate(pairs, 1)]
    if not checked:
        raise DataError(f"{name}: empty", hint="give at least one pair of sentences")
    return Corpus(name, lambda: (Line(number, *pair) for number, pair in enumerate(checked, 1)))


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
