"""Parallel text: pairs of sentences from files or from memory."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain, islice
from itertools import count as counting
from pathlib import Path

from dragoman.base.errors import ConfigError, DataError
from dragoman.base.languages import related
from dragoman.base.tables import count
from dragoman.text.corpora.formats import jsonl, tmx
from dragoman.text.corpora.languages import Languages, first_known, of_head, of_pair, of_side
from dragoman.text.corpora.lines import STDIN, Line, TextFile, kept_file, one_line, open_text, read_lines
from dragoman.text.corpora.shards import kind_of, not_a_pair, shards_of

__all__ = ["Corpus", "Line", "open_corpus", "open_pairs", "open_sources", "read_lines"]

log = logging.getLogger(__name__)

_JSONL = {".jsonl", ".ndjson"}


class Corpus:
    """A stream of pairs of sentences that can be read more than once. It may be larger than memory.

    `name` is for messages. The languages come from the names or keys of the files; None if unknown.
    `shards` are the corpora that it consists of, itself if it is one file or two; the numbers of lines begin
    anew in each. `files` are the paths that it reads, empty for text that no path names. Iterating raises
    DataError naming file and line.
    """

    def __init__(
        self,
        name: str,
        read: Callable[[], Iterator[Line]],
        languages: Languages = (None, None),
        *,
        shards: Sequence[Corpus] = (),
        files: Sequence[str] = (),
    ) -> None:
        self.name = name
        self.source_language, self.target_language = languages
        self._read = read
        self.shards: tuple[Corpus, ...] = tuple(shards) or (self,)
        self.files = tuple(files)

    def __iter__(self) -> Iterator[Line]:
        return self._read()


def open_corpus(paths: Sequence[str | Path], *, languages: Languages = (None, None)) -> Corpus:
    """Return the pairs in two plain files, in .tsv, .jsonl or .tmx files, or TSV on standard input (`-`).

    Files may be compressed. Each path may be a pattern, such as `train-*.en.zst`; its files are sorted. Of
    more than two plain files the first half are the sources. `languages` are the source's and the
    target's, if the user named them; they choose the keys of a JSONL file and the segments of a TMX file.
    Raise ConfigError if it is unclear what to read, DataError if a file is missing, unreadable or empty, if
    the same file is named for both sides, or if the names say that the sides are swapped.
    """
    parts = shards_of([str(path) for path in paths])
    first = _open_shard(parts[0], languages)
    if len(parts) == 1:
        return first
    languages = first_known(languages, (first.source_language, first.target_language))
    return chained([first, *(_open_shard(part, languages) for part in parts[1:])])


def open_sources(path: str | Path, *, languages: Languages = (None, None)) -> Corpus:
    """Return the lines of one plain file as pairs with empty targets. Raise DataError as `open_corpus`."""
    file = open_text(path)
    source = languages[0] or of_side(str(path))
    return Corpus(
        file.name,
        lambda: (Line(number, line, "") for number, line in enumerate(file, 1)),
        (source, languages[1]),
        files=[str(path)],
    )


def chained(corpora: Sequence[Corpus]) -> Corpus:
    """Return several corpora as one, in the languages of the first."""
    first, shards = corpora[0], [shard for corpus in corpora for shard in corpus.shards]
    if len(shards) == 1:
        return first
    return Corpus(
        f"{shards[0].name} and {count(len(shards) - 1, 'more shard')}",
        lambda: chain.from_iterable(shards),
        (first.source_language, first.target_language),
        shards=shards,
        files=[file for shard in shards for file in shard.files],
    )


def _open_shard(names: Sequence[str], languages: Languages) -> Corpus:
    """Return the pairs of one file, or of two plain ones."""
    files = [] if STDIN in names else names
    match names:
        case [name] if name == STDIN or kind_of(name) == ".tsv":
            file = open_text(name)
            _check_direction(names, of_pair(name), languages)
            named = first_known(languages, of_pair(name))
            columns = next(iter(file)).split("\t")
            head = of_head(columns, named, file.name) if len(columns) == 2 else None
            if head is not None:
                log.warning("%s: line 1 names the columns (%s, %s) and is not a pair", file.name, *columns)
                _check_direction(names, head, named)
                named = first_known(named, head)
                if next(islice(file, 1, None), None) is None:
                    raise DataError(f"{file.name}: no pairs under its head", hint="name another file")
            return Corpus(file.name, lambda: read_columns(file, skip=head is not None), named, files=files)
        case [name] if kind_of(name) in _JSONL:
            file = open_text(name)
            first = next((line for line in file if line.strip()), "")
            if '"source"' in first and '"target"' in first:  # other objects name the languages of both
                _check_direction(names, of_pair(name), languages)
            keys = first_known(languages, of_pair(name))
            keys = keys if all(keys) else first_known(keys, jsonl.languages(file))
            if keys[0] is not None and keys[0] == keys[1]:
                raise ConfigError(
                    f"{name}: source and target language are both {keys[0]}", hint="name two languages"
                )
            return Corpus(file.name, lambda: jsonl.read(file, keys), keys, files=files)
        case [name] if kind_of(name) == ".tmx":
            file = kept_file(name)
            codes = languages if all(languages) else first_known(languages, tmx.languages_in(file))
            return Corpus(file.name, lambda: tmx.read(file, codes), codes, files=files)
        case [name]:
            raise ConfigError(
                f"{name}: one text file holds only one side",
                hint="name two files (train.en train.de), a .tsv, .jsonl or .tmx, or - for TSV on standard "
                "input",
            )
        case [left, right] if STDIN not in names:
            source, target = open_text(left), open_text(right)
            if os.path.isfile(left) and os.path.samefile(left, right):
                raise DataError(f"{left}: named for both sides", hint="name the source, then its translation")
            named = of_side(left), of_side(right)
            _check_direction(names, named, languages)
            return Corpus(
                f"{source.name} and {target.name}",
                lambda: read_side_by_side(source, target),
                first_known(languages, named),
                files=files,
            )
    raise not_a_pair(names)


def read_columns(file: TextFile, *, skip: bool = False) -> Iterator[Line]:
    """Yield the pairs of tab-separated values: each line is a sentence, a tab and its translation, unquoted.

    An empty line is a pair of empty sentences. `skip` leaves out the first line, which is a head.
    Raise DataError if a line does not have two columns.
    """
    for number, line in enumerate(file, 1):
        columns = line.split("\t") if line else ["", ""]
        if len(columns) != 2:
            hint = "put a tab between the sentence and its translation"
            raise DataError(
                f"{file.name}:{number}: {count(len(columns), 'column')}, expected 2 (source<TAB>target)",
                hint="cut -f1,2 keeps the first two columns" if len(columns) > 2 else hint,
            )
        if number > 1 or not skip:
            yield Line(number, *columns)


def read_side_by_side(source: TextFile, target: TextFile) -> Iterator[Line]:
    """Yield the pairs of two plain files: line n of one is the translation of line n of the other.

    Raise DataError at the end if one file has fewer lines than the other.
    """
    left, right = iter(source), iter(target)
    for number in counting(1):
        sentence, translation = next(left, None), next(right, None)
        if sentence is not None and translation is not None:
            yield Line(number, sentence, translation)
            continue
        if sentence is translation:  # both at their end
            return
        short, long, rest = (source, target, right) if sentence is None else (target, source, left)
        lines = number + sum(1 for _ in rest)
        raise DataError(
            f"{short.name}: {number - 1} line{'s' * (number != 2)}, but {long.name} has {lines}",
            hint="line n of one file must be the translation of line n of the other; keep empty lines",
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


def _checked(pair: object, where: str) -> tuple[str, str]:
    match pair:
        case (str(source), str(target)):
            return one_line(source, where), one_line(target, where)
    raise DataError(f"{where}: not a pair of strings", hint='write ("A dog.", "Ein Hund.")')
