"""Text in several files: find the files that belong together.

A side of plain text, or a file of pairs, may be a pattern: `train-*.en.zst`. The files of a pattern are
sorted, and file n of the sources belongs to file n of the targets. They may be on different disks.
"""

from __future__ import annotations

import glob
from collections.abc import Sequence
from pathlib import Path, PurePath

from dragoman.base.errors import ConfigError, DataError
from dragoman.base.tables import count, listing
from dragoman.text.corpora.compressed import without_suffix
from dragoman.text.corpora.languages import of_side
from dragoman.text.corpora.lines import STDIN

OF_PAIRS = frozenset({".tsv", ".jsonl", ".ndjson", ".tmx"})
_SIDES = frozenset("src source trg tgt target ref".split())  # suffixes that name a side, not a language
_SHOWN = 5  # names in a message


def kind_of(name: str) -> str:
    """Return the suffix that names the format: .tsv for train.en-de.tsv.gz."""
    return PurePath(without_suffix(name)).suffix


def files_of(name: str) -> list[str]:
    """Return the files that a path or a pattern names, sorted. Raise DataError if a pattern has none."""
    if name == STDIN or Path(name).exists() or not glob.has_magic(name):
        return [name]
    if not (files := sorted(path for path in glob.glob(name, recursive=True) if Path(path).is_file())):
        raise DataError(f"{name}: no file matches", hint="check the folder and the pattern")
    return files


def shards_of(names: Sequence[str]) -> list[list[str]]:
    """Return the files of each shard: one file of pairs, or a source and a target.

    Raise ConfigError if it is unclear which files belong together, DataError if a file has no partner.
    """
    files = [files_of(name) for name in names]
    flat = [file for one in files for file in one]
    whole = [file for file in flat if kind_of(file) in OF_PAIRS]
    if len(whole) == len(flat) > 0:
        return [[file] for file in flat]
    if len(flat) == 1:
        return [flat]
    if whole or STDIN in flat or not flat:
        raise not_a_pair(names)
    if len(names) == 2:
        sources, targets = files
        if len(sources) != len(targets):
            raise _unpaired(names, sources, targets)
    elif len(flat) % 2:
        raise ConfigError(
            f"{len(flat)} files: {listing(flat, most=_SHOWN)}",
            hint="name as many sources as targets: first all sources, then all targets; validation text goes "
            "after --valid",
        )
    else:
        sources, targets = flat[: len(flat) // 2], flat[len(flat) // 2 :]
    if len(sources) > 1:
        _check_sides(sources, targets)
    return [[*pair] for pair in zip(sources, targets, strict=True)]


def not_a_pair(names: Sequence[str]) -> ConfigError:
    """The error for files that are not parallel text."""
    return ConfigError(
        f"{' '.join(names) or 'no files'}: not a pair of text files",
        hint="name two files (train.en train.de), or files of pairs (.tsv, .jsonl, .tmx), or - alone",
    )


def _check_sides(sources: list[str], targets: list[str]) -> None:
    """Compare the languages and the names of the files that belong together."""
    for side in (sources, targets):
        first = _side(side[0])
        if other := next((file for file in side if _side(file) != first), None):
            raise ConfigError(
                f"{side[0]} and {other}: on the same side, but their names end differently",
                hint="name first all sources, then all targets; validation text goes after --valid",
            )
    for source, target in zip(sources, targets, strict=True):
        if _side(source) and _side(target) and _stem(source) != _stem(target):
            raise DataError(
                f"{source} and {target}: would be read as a pair, but their names differ",
                hint="file n of the sorted sources belongs to file n of the targets; is one missing?",
            )


def _unpaired(names: Sequence[str], sources: list[str], targets: list[str]) -> DataError:
    stems = {_stem(file) for file in sources} & {_stem(file) for file in targets}
    alone = [file for file in [*sources, *targets] if _stem(file) not in stems]
    return DataError(
        f"{names[0]}: {count(len(sources), 'file')}, but {names[1]}: {count(len(targets), 'file')}"
        + (f"; without a partner: {listing(alone, most=_SHOWN)}" if alone else ""),
        hint="each file of one side needs a file of the other",
    )


def _stem(name: str) -> str:
    """The name of a file without folder, side and compression."""
    side = _side(name)
    return _bare(name).removesuffix(f".{side.lower()}") if side else _bare(name)


def _side(name: str) -> str | None:
    """The side that the end of a name states: a language, or a word such as `src`."""
    suffix = PurePath(_bare(name)).suffix.removeprefix(".")
    return of_side(name) or (suffix if suffix in _SIDES else None)


def _bare(name: str) -> str:
    return PurePath(without_suffix(name)).name.removesuffix(".txt")
