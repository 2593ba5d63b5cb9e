"""The vocabulary shortlist of a model folder: the target tokens that a translation of a sentence may use.

A shortlist has the most frequent target tokens and, for each source token, its likeliest translations. A
sentence may use the frequent ones and the translations of its own tokens (Jean et al. 2015, section 3.3), so
that a search computes a few hundred logits instead of a whole vocabulary.

`shortlist.safetensors` has these tensors. V is the source vocabulary.

    candidates   I32 [V, N]  translations of each source token, likeliest first; -1 fills a row
    frequent     I32 [K]     the most frequent target tokens, the most frequent first
    probability  F32 [V, N]  p(translation | source token) of the candidates; 0 where these are -1

Its metadata has the format, its version, and the digest of the tokenizer whose ids it holds.

Reading it takes neither numpy nor torch: the file is mapped, and a row is read when its token occurs.
"""

from __future__ import annotations

import json
import mmap
import sys
from array import array
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from hashlib import blake2b
from itertools import islice
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING

from dragoman.base.errors import ConfigError, ModelError
from dragoman.base.files import write_whole
from dragoman.text.corpora.lines import Line
from dragoman.text.tokenizers.tokenizer import Tokenizer
from dragoman.translation.folder.config import (
    SHORTLIST,
    FolderConfig,
    check_optional,
    forget_digest,
    read_config,
    read_json,
    write_digests,
)
from dragoman.translation.folder.header import Outline, parse_header

if TYPE_CHECKING:
    import numpy as np

_FORMAT = {"format": "dragoman-shortlist", "version": "1"}
_REMAKE = "delete it, or make it again with dragoman model shortlist"
_AT_ONCE = 4096  # lines encoded
_LOOKED_AT = 1000  # lines whose shortlists are counted


class Shortlist:
    """The target tokens that each source token allows.

    `candidates` has `width` target ids for each source token, row after row, -1 for none.
    """

    def __init__(
        self, frequent: Iterable[int], candidates: memoryview, width: int, *, target_vocab: int
    ) -> None:
        """Raises ValueError if a frequent token is not in the target vocabulary."""
        self.frequent, self.width, self.target_vocab = frozenset(frequent), width, target_vocab
        self._candidates = candidates
        self._row = lru_cache(maxsize=4096)(self._read_row)
        self._check(self.frequent)

    @classmethod
    def read(cls, path: Path, *, tokenizer: str, source_vocab: int, target_vocab: int) -> Shortlist:
        """Map the file at `path`. Raises ModelError if it is damaged or made for another tokenizer."""
        try:
            with path.open("rb") as file:
                tensors, about = parse_header(file)
                mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
            if any(about.get(name) != value for name, value in _FORMAT.items()):
                raise ValueError(f"its header is not that of a {' of version '.join(_FORMAT.values())}")
            if about.get("tokenizer") != tokenizer:
                raise ValueError("it was made for another tokenizer")
            (rows, width), candidates = _numbers(mapped, tensors, "candidates", 2)
            _, frequent = _numbers(mapped, tensors, "frequent", 1)
            if rows != source_vocab:
                raise ValueError(f"it has {rows:,} source tokens, the model {source_vocab:,}")
            return cls(frequent, candidates, width, target_vocab=target_vocab)
        except OSError as error:
            raise ModelError(f"{path}: cannot be read ({error.strerror or error})", hint=_REMAKE) from error
        except (ValueError, RecursionError) as error:
            raise ModelError(f"{path}: not a shortlist of this model ({error})", hint=_REMAKE) from error

    def of(self, source: Iterable[int]) -> tuple[int, ...]:
        """Return the target ids that a translation of these source tokens may use, sorted.

        Raises ModelError if the file has an id outside the target vocabulary.
        """
        try:
            return tuple(sorted(self.frequent.union(*map(self._row, set(source)))))
        except ValueError as error:
            raise ModelError(f"{SHORTLIST}: {error}", hint=_REMAKE) from error

    def _read_row(self, token: int) -> frozenset[int]:
        row = frozenset(self._candidates[token * self.width : (token + 1) * self.width]) - {-1}
        self._check(row)
        return row

    def _check(self, tokens: frozenset[int]) -> None:
        if tokens and not 0 <= min(tokens) <= max(tokens) < self.target_vocab:
            raise ValueError(
                f"tokens from {min(tokens)} to {max(tokens)}, of a vocabulary of {self.target_vocab:,}"
            )


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
    from dragoman.text.lexicon.lexicon import IdPairs, learn

    for name, number in {"frequent": frequent, "candidates": candidates, "pairs": most}.items():
        if number < 1:
            raise ConfigError(f"{name} = {number} cannot be used", hint="use at least 1")
    config, tokenizer = read_config(folder), Tokenizer.load(folder)
    lines, rest = IdPairs(most=most), iter(pairs)
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
        tokenizer=tokenizer_digest(folder),
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
    check_optional(folder, SHORTLIST, hint=_REMAKE)
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
        tokenizer=tokenizer_digest(folder),
        source_vocab=shape.source_vocab,
        target_vocab=shape.target_vocab,
    )


def tokenizer_digest(folder: Path) -> str:
    """Return the digest of the tokenizer's files, from their digests in tokenizer.json."""
    files = read_json(folder, "tokenizer.json").get("files")
    return blake2b(json.dumps(files, sort_keys=True).encode(), digest_size=16).hexdigest()


def write(
    path: Path, *, tokenizer: str, frequent: np.ndarray, candidates: np.ndarray, probability: np.ndarray
) -> None:
    """Write a shortlist, whole or not at all: int32 [K], int32 [V, N] and float32 [V, N].

    `tokenizer` is the digest of the tokenizer.
    """
    from safetensors.numpy import save

    tensors = {"frequent": frequent, "candidates": candidates, "probability": probability}
    write_whole(path, save(tensors, {**_FORMAT, "tokenizer": tokenizer}))


def _numbers(
    mapped: mmap.mmap, tensors: Mapping[str, Outline], name: str, dimensions: int
) -> tuple[tuple[int, ...], memoryview]:
    """Return the shape of an I32 tensor and its numbers. Raises ValueError if it is not of this kind."""
    outline = tensors.get(name)
    if outline is None or outline.dtype != "int32" or len(outline.shape) != dimensions or not outline.count:
        raise ValueError(f"{name} does not have the shape and type of a shortlist")
    view = memoryview(mapped)[outline.place : outline.place + 4 * outline.count].cast("i")
    if sys.byteorder == "big":  # the file is little-endian
        swapped = array("i", view)
        swapped.byteswap()
        view = memoryview(swapped)
    return outline.shape, view
