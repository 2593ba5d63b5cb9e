"""Translation memories in and out of files: TMX, TSV, or two files of text."""

from __future__ import annotations

import itertools
import re
import tempfile
import weakref
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path, PurePath

from dragoman.base.errors import ConfigError, DataError
from dragoman.base.files import replacing
from dragoman.text.corpora.corpus import open_corpus
from dragoman.text.corpora.formats import tmx
from dragoman.text.corpora.languages import Languages
from dragoman.text.corpora.lines import kept_file
from dragoman.text.corpora.shards import OF_PAIRS, kind_of
from dragoman.translation.memory.store import Added, TranslationMemory
from dragoman.translation.memory.store_file import Remembered

_SMALL = 20_000  # pairs of a file that is read for one translation
_TMX_TIME = "%Y%m%dT%H%M%SZ"
_TIMES = re.compile(r"\d{8}T\d{6}Z")


def import_memory(memory: TranslationMemory, paths: Sequence[str | Path], *, author: str = "") -> Added:
    """Add the pairs of a TMX, TSV or JSONL file, or of two files of lines. Pairs that it has are skipped.

    A TMX file also brings dates, authors and notes. Raise ConfigError if it is unclear what to read,
    DataError for a file that cannot be read; the portions of 10,000 before the damage are then in the memory.
    """
    if not isinstance(memory, TranslationMemory):
        raise ConfigError(f"{memory} is not an open memory", hint="open it with TranslationMemory first")
    return memory.extend(_pairs(paths, (memory.source_language, memory.target_language), author))


def languages_of(paths: Sequence[str | Path], languages: Languages = (None, None)) -> Languages:
    """Return the languages that the files have or are named for, as far as `languages` leaves them open."""
    if all(languages):
        return languages  # a pipe can be read only once
    corpus = open_corpus(paths, languages=languages)
    return languages[0] or corpus.source_language, languages[1] or corpus.target_language


def export_memory(memory: TranslationMemory, path: str | Path) -> int:
    """Write all pairs to a .tmx or .tsv file, the newest at the end. Return their number.

    The file is written whole or not at all. Characters that the format cannot hold, as a form feed in TMX,
    become spaces. Raise ConfigError for another suffix.
    """
    kind = PurePath(path).suffix.lower()
    if kind not in (".tmx", ".tsv"):
        raise ConfigError(f"{path}: neither .tmx nor .tsv", hint="choose one of these suffixes")
    counted = itertools.count()

    pairs = (pair for pair, _ in zip(memory.pairs(), counted, strict=False))
    with replacing(path) as part, part.open("w", encoding="utf-8", newline="\n") as file:
        if kind == ".tsv":
            cells = str.maketrans("\t\r\n", "   ")
            file.writelines(f"{p.source.translate(cells)}\t{p.target.translate(cells)}\n" for p in pairs)
        else:
            units = ((tmx.holdable(pair.source), tmx.holdable(pair.target), _about(pair)) for pair in pairs)
            tmx.write_units(file, units, source=memory.source_language, target=memory.target_language)
    return next(counted)


def is_exchanged(path: str | Path) -> bool:
    """Whether a file is TMX, TSV or JSONL by its name. Raise DataError if it is missing."""
    if not Path(path).exists():
        make = f"make one: dragoman memory import {path} FILE.tmx"
        hint = "check the path" if kind_of(str(path)) in OF_PAIRS else make
        raise DataError(f"{path}: no such translation memory", hint=hint)
    return kind_of(str(path)) in OF_PAIRS


def open_memory(path: str | Path, languages: Languages = (None, None)) -> TranslationMemory:
    """Open a memory, or read a small TMX, TSV or JSONL file into one that is deleted after its use.

    Such a file needs the `languages` of the translation. Raise DataError for a file that is
    neither, and for one with more than 20,000 pairs.
    """
    source, target = languages
    if not is_exchanged(path) or source is None or target is None:
        return TranslationMemory(path)
    folder = tempfile.TemporaryDirectory(prefix="dragoman-")
    memory = TranslationMemory.create(
        Path(folder.name, "memory.tm"), source_language=source, target_language=target
    )
    weakref.finalize(memory, folder.cleanup)
    memory.extend(_few(_pairs([path], languages, ""), path))
    return memory


def _few(pairs: Iterator[Remembered], path: str | Path) -> Iterator[Remembered]:
    for number, pair in enumerate(pairs):
        if number >= _SMALL:
            raise DataError(
                f"{path}: more than {_SMALL:,} pairs, which takes a while to read each time",
                hint=f"import it once: dragoman memory import {PurePath(path).stem}.tm {path}",
            )
        yield pair


def _pairs(paths: Sequence[str | Path], languages: Languages, author: str) -> Iterator[Remembered]:
    origin = " ".join(Path(path).name for path in paths).encode("utf-8", "replace").decode()
    if [kind_of(str(path)) for path in paths] == [".tmx"]:
        for unit, source, target in tmx.read_units(kept_file(paths[0]), languages):
            yield _from_unit(unit, source, target, author, origin)
    else:
        for line in open_corpus(paths, languages=languages):
            yield Remembered(line.source, line.target, author=author, origin=origin)


def _from_unit(unit: tmx.Unit, source: str, target: str, author: str, origin: str) -> Remembered:
    about = unit.about
    used = about.get("usagecount", "")
    return Remembered(
        source,
        target,
        created=_time(about.get("creationdate")),
        changed=_time(about.get("changedate")),
        author=about.get("changeid") or about.get("creationid") or author,
        origin=about.get("origin") or origin,
        note=about.get("note", ""),
        used=int(used) if used.isascii() and used.isdigit() and len(used) < 10 else 0,
    )


def _about(pair: Remembered) -> dict[str, str]:
    about = {
        "creationdate": pair.created.strftime(_TMX_TIME).zfill(16) if pair.created else "",
        "changedate": pair.changed.strftime(_TMX_TIME).zfill(16) if pair.changed else "",
        "changeid": pair.author,
        "usagecount": str(pair.used) if pair.used else "",
        "note": pair.note,
        "origin": pair.origin,
    }
    return {name: tmx.holdable(value) for name, value in about.items() if value}


def _time(text: str | None) -> datetime | None:
    """The time that TMX writes as 20260131T235900Z; None for anything else."""
    if text is None or not _TIMES.fullmatch(text):
        return None
    try:
        return datetime.strptime(text, _TMX_TIME).replace(tzinfo=UTC)
    except ValueError:
        return None
