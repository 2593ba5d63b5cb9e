"""The vocabulary shortlist of a model folder: learn it from parallel text, and read it. Imports no torch."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from hashlib import blake2b
from itertools import islice
from pathlib import Path
from statistics import fmean

from dragoman.base.errors import ConfigError
from dragoman.base.files import write_whole
from dragoman.text.corpora.lines import Line
from dragoman.text.lexicon.shortlist import SHORTLIST, Shortlist, write
from dragoman.text.tokenizers.tokenizer import Tokenizer
from dragoman.translation.folder.config import (
    FolderConfig,
    check_optional,
    forget_digest,
    read_config,
    read_json,
    write_digests,
)

_AT_ONCE = 4096  # lines encoded
_LOOKED_AT = 1000  # lines whose shortlists are counted


@dataclass(frozen=True, kw_only=True)
class Made:
    """A new shortlist, in figures."""

    path: Path
    lines: int  # pairs it was learnt from
    mean: float  # target tokens that a line may use
    target_vocab: int


def make_shortlist(
    folder: Path,
    pairs: Iterable[Line],
    *,
    frequent: int = 100,
    candidates: int = 100,
    most: int = 500_000,
    progress: Callable[[str], None] = lambda text: None,
) -> Made:
    """Learn a shortlist from pairs of lines and write it into the model folder, whole or not at all.

    It allows the `frequent` most frequent target tokens and the `candidates` likeliest translations of each
    source token, which with a shared vocabulary include the token itself: names are copied. At most `most`
    pairs are used, spread evenly over the text. Raises ConfigError for numbers out of range, ModelError if
    the folder is damaged, DataError if the text has no pairs.
    """
    from dragoman.text.lexicon.lexicon import Lines, learn

    for name, number in {"frequent": frequent, "candidates": candidates, "pairs": most}.items():
        if number < 1:
            raise ConfigError(f"{name} = {number}", hint="use at least 1")
    config, tokenizer = read_config(folder), Tokenizer.load(folder)
    lines, rest = Lines(most=most), iter(pairs)
    while chunk := list(islice(rest, _AT_ONCE)):
        sources = tokenizer.encode_source([pair.source for pair in chunk])
        targets = tokenizer.encode_target([pair.target for pair in chunk])
        for source, target in zip(sources, targets, strict=True):
            lines.add(source, target)
        progress(f"reading: {lines.read:,} lines")
    learnt = learn(
        lines,
        source_vocab=tokenizer.source_size,
        target_vocab=tokenizer.target_size,
        width=min(candidates, tokenizer.target_size),
        progress=progress,
    )
    source_vocabulary, target_vocabulary = tokenizer.vocabularies
    if source_vocabulary is target_vocabulary:
        learnt = learnt.with_itself()
    forget_digest(folder, SHORTLIST)
    write(
        folder / SHORTLIST,
        tokenizer=_digest(folder),
        frequent=learnt.frequent(frequent),
        candidates=learnt.candidates_VN,
        probability=learnt.probability_VN,
    )
    write_digests(folder, [SHORTLIST])
    shortlist = _read(folder, config)
    step = max(len(lines.source) // _LOOKED_AT, 1)
    return Made(
        path=folder / SHORTLIST,
        lines=len(lines.source),
        mean=fmean(len(shortlist.of(source)) for source in lines.source[::step]),
        target_vocab=tokenizer.target_size,
    )


def read_shortlist(folder: Path, config: FolderConfig, *, whole: bool = False) -> Shortlist | None:
    """Return the shortlist in a model folder, None if it has no such file.

    Raises ModelError if the file is damaged or made for another model. Its rows are checked when they are
    used, all of them at once if `whole`.
    """
    if not (folder / SHORTLIST).exists():
        return None
    shortlist = _read(folder, config)
    check_optional(folder, SHORTLIST, hint="delete it, or make it again with dragoman model shortlist")
    if whole:
        shortlist.of(range(config.model.source_vocab))
    return shortlist


def copy_shortlist(folder: Path, output: Path) -> None:
    """Copy the shortlist of a model folder, if it has one, to another with the same tokenizer."""
    if (folder / SHORTLIST).exists():
        write_whole(output / SHORTLIST, (folder / SHORTLIST).read_bytes())
        write_digests(output, [SHORTLIST])


def _read(folder: Path, config: FolderConfig) -> Shortlist:
    shape = config.model
    return Shortlist.read(
        folder / SHORTLIST,
        tokenizer=_digest(folder),
        source_vocab=shape.source_vocab,
        target_vocab=shape.target_vocab,
    )


def _digest(folder: Path) -> str:
    """Return the digest of the tokenizer's files, from their digests in tokenizer.json."""
    files = read_json(folder, "tokenizer.json").get("files")
    return blake2b(json.dumps(files, sort_keys=True).encode(), digest_size=16).hexdigest()
