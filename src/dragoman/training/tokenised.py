"""The tokenised corpus on disk. It is memory-mapped, so it may be larger than memory."""

from __future__ import annotations

import hashlib
import itertools
import json
import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path, PurePath
from random import Random
from typing import Any, NamedTuple

import numpy as np

from dragoman.base.errors import ConfigError, DataError
from dragoman.base.files import replacing, write_whole
from dragoman.base.seal import broken, digest_of_table, sealed
from dragoman.base.tables import listing
from dragoman.text.copied import Copied, copied, draw_pieces, packed, replaced, unpacked
from dragoman.text.corpus import Corpus, Line
from dragoman.text.filter import Filter, FilterConfig
from dragoman.text.guidance import Guidance, marks_of, reading
from dragoman.text.tokenizer import Side, Tokenizer
from dragoman.training.annotations import Annotations, annotate, moved
from dragoman.training.options import NOTHING, Annotating
from dragoman.training.ragged import Ragged, writing

LINES = "lines"  # the line number of each pair; 0 for one that does not fit
_LINE = np.dtype("<u4")
_NAMED = 3  # lines that a message names
log = logging.getLogger(__name__)


class TokenisedCorpus:
    """Pairs of token sequences in a folder, with a report of the pairs set aside.

    With subword sampling (Provilkov et al. 2020, Kudo 2018) the folder keeps the text too, and every epoch
    tokenises it anew. If the vocabulary has reserved pieces, it keeps the text and the places of what a
    pair copies, and every epoch puts pieces there in a share of `placeholders` of these pairs. With
    `annotating`, the model reads notes and matches beside a share of the sources, whose own tokens are then
    not sampled. All are functions of the seed and the epoch.
    """

    CHUNK = 10_000  # lines encoded at once

    def __init__(
        self,
        folder: Path,
        tokenizer: Tokenizer,
        *,
        placeholders: float = 0.0,
        annotating: Annotating = NOTHING,
    ) -> None:
        self.folder, self.tokenizer = folder, tokenizer
        self._reserved = len(tokenizer.placeholders[0]) if tokenizer.placeholders and placeholders else 0
        self._share = placeholders
        self._annotations = Annotations(folder, annotating) if annotating.names else None
        self.about: dict[str, Any] = json.loads((folder / "about.json").read_text(encoding="utf-8"))
        self.source = Ragged(folder / "source.tokens", self.about["dtype"])
        self.target = Ragged(folder / "target.tokens", self.about["dtype"])

    def __len__(self) -> int:
        return len(self.source)

    @property
    def fingerprint(self) -> str:
        """A digest of the pairs kept and of their order."""
        return str(self.about["fingerprint"])

    @property
    def report(self) -> str:
        """How many pairs were read and set aside: one line in total, then one for each reason."""
        return str(self.about["report"])

    def whereabouts(self, rows: Sequence[int], *, epoch: int = 0, seed: int = 0) -> str:
        """Name the lines of the text that these rows come from, the first few of many.

        Folders of version 0.1 have no line numbers. Then it names the pairs, counted from 1.
        """
        path = self.folder / LINES
        numbers = [row + 1 for row in rows]
        if not path.exists():
            return f"{_numbered('pair', numbers)} of the tokenised text"
        lines = np.memmap(path, dtype=_LINE, mode="r")
        where = self.about.get("corpus", "the text")
        return f"{_numbered('line', [int(lines[row]) for row in rows])} of {where}"

    def epoch(self, epoch: int, *, seed: int) -> tuple[Ragged, Ragged]:
        """The source and target tokens of one epoch, counted from 0."""
        changing = bool(self.tokenizer.config.sampling or self._reserved)
        return (
            self._sampled("source", epoch, seed) if changing or self._annotations else self.source,
            self._sampled("target", epoch, seed) if changing else self.target,
        )

    def _sampled(self, side: Side, epoch: int, seed: int) -> Ragged:
        path, plain = self.folder / f"{side}.sampled", self.source if side == "source" else self.target
        line_of = self._line_of(side, epoch, seed)
        with writing(path, self.about["dtype"]) as add:
            for first in range(0, len(plain), self.CHUNK):
                rows = range(first, min(first + self.CHUNK, len(plain)))
                lines = {row: line for row in rows if (line := line_of(row)) is not None}
                place = np.random.SeedSequence((seed, epoch, first)).generate_state(1)
                tokens = self._tokens(lines, side, seed=int(place[0] >> 1))
                for row in rows:
                    add(tokens[row] if row in tokens else plain[row].tolist())
        return Ragged(path, self.about["dtype"])

    def _tokens(self, lines: dict[int, _Line], side: Side, *, seed: int) -> dict[int, Sequence[int]]:
        """The tokens of lines by their rows, with what is read beside them."""
        free = {row: line.text for row, line in lines.items() if line.guidance is None}
        sampled = self.tokenizer.sample([*free.values()], side=side, seed=seed)
        tokens: dict[int, Sequence[int]] = dict(zip(free, sampled, strict=True))
        guided = {row: line for row, line in lines.items() if line.guidance is not None}
        encoded = self.tokenizer.encode_source([line.text for line in guided.values()])
        for (row, (text, guidance)), own in zip(guided.items(), encoded, strict=True):
            if guidance is not None:
                tokens[row] = reading(self.tokenizer, text, own, guidance).tokens
        return tokens

    def _line_of(self, side: Side, epoch: int, seed: int) -> Callable[[int], _Line | None]:
        """Return a function: the text of a row to tokenise in this epoch, or None for its plain tokens."""
        text = Ragged(self.folder / f"{side}.text", "uint8")
        spans = Ragged(self.folder / "copied", "uint32") if self._reserved else None
        annotations = self._annotations if side == "source" else None

        def line_of(row: int) -> _Line | None:
            drawn: list[tuple[Copied, str]] = []
            if spans is not None and len(spans[row]):
                random = Random(f"{seed} {epoch} {row}")  # the same for both sides
                drawn = draw_pieces(unpacked(spans[row].tolist()), self._reserved, self._share, random)
            guidance = None if annotations is None else annotations.of(row, epoch, seed=seed)
            if not drawn and not self.tokenizer.config.sampling and guidance is None:
                return None
            changes = [(*getattr(one, side), piece) for one, piece in drawn]
            line = replaced(text[row].tobytes().decode("utf-8"), changes)
            return _Line(line, None if guidance is None else moved(guidance, changes))

        return line_of


def _numbered(word: str, numbers: Sequence[int]) -> str:
    """As in "lines 3, 14, 159 and 29 more"."""
    shown = listing([str(number) for number in sorted(numbers)], most=_NAMED)
    return f"{word}{'' if len(numbers) == 1 else 's'} {shown}"


class _Line(NamedTuple):
    """A line to tokenise."""

    text: str
    guidance: Guidance | None  # that the model reads beside it


def tokenise(
    corpus: Corpus,
    tokenizer: Tokenizer,
    config: FilterConfig,
    folder: Path,
    *,
    annotating: Annotating = NOTHING,
    progress: Callable[[str], None] = lambda text: None,
) -> TokenisedCorpus:
    """Tokenise the corpus into `folder`, a chunk at a time, without the pairs that the filter rejects.

    about.json is removed before any other file is replaced, and written last. So if it exists, all files
    come from the same text. Raises DataError if no pair is left, ConfigError for annotations with a
    vocabulary that has no marks for them.
    """
    if annotating.names and marks_of(tokenizer) is None:
        raise ConfigError(
            f"data.{annotating.names[0]}: this vocabulary has no bytes, so it has no marks for notes",
            hint='set tokenizer.kind="bpe" or "unigram" with tokenizer.byte_fallback=true, or leave it out',
        )
    keeps_text = bool(tokenizer.placeholders or tokenizer.config.sampling or annotating.names)
    folder.mkdir(parents=True, exist_ok=True)
    chunks = _chunks(corpus, TokenisedCorpus.CHUNK)
    keep = Filter(config)
    read, digest = hashlib.blake2b(digest_size=16), hashlib.blake2b(digest_size=16)
    dtype = "uint16" if max(tokenizer.source_size, tokenizer.target_size) <= 65536 else "uint32"
    with ExitStack() as stack:

        def add_to(name: str, kind: str) -> Callable[[Sequence[int] | bytes], None]:
            return stack.enter_context(writing(folder / name, kind))

        add_source, add_target = add_to("source.tokens", dtype), add_to("target.tokens", dtype)
        add_source_text, add_target_text = add_to("source.text", "uint8"), add_to("target.text", "uint8")
        add_copied = add_to("copied", "uint32") if tokenizer.placeholders else None
        numbers = stack.enter_context(stack.enter_context(replacing(folder / LINES)).open("wb"))
        for lines in chunks:
            sources = tokenizer.encode_source([line.source for line in lines])
            targets = tokenizer.encode_target([line.target for line in lines])
            for line, source, target in zip(lines, sources, targets, strict=True):
                read.update(_signed(line))
                if keep.check(line.number, line.source, line.target, len(source), len(target)):
                    continue
                digest.update(_signed(line))
                add_source(source)
                add_target(target)
                numbers.write((line.number if line.number < 2**32 else 0).to_bytes(_LINE.itemsize, "little"))
                if add_copied is not None:
                    add_copied(packed(copied(line.source, line.target)))
                if keeps_text:
                    add_source_text(line.source.encode())
                    add_target_text(line.target.encode())
        if not keep.report.kept:
            raise DataError(
                f"{corpus.name}: no usable pair\n{keep.report}",
                hint="the lines above say why each pair was set aside",
            )
        (folder / "about.json").unlink(missing_ok=True)
    annotate(folder, annotating, progress=progress)
    about = {
        "files": sealed(folder, [path.name for path in _files(folder)]),
        "dtype": dtype,
        "corpus": " and ".join(PurePath(name).name for name in corpus.name.split(" and ")),
        "text": read.hexdigest(),
        "fingerprint": digest.hexdigest(),
        "report": str(keep.report),
    }
    about["digest"] = digest_of_table(about)
    write_whole(folder / "about.json", json.dumps(about, ensure_ascii=False, indent=1))
    return TokenisedCorpus(folder, tokenizer, annotating=annotating)


def made_from(corpus: Corpus, folder: Path) -> bool | None:
    """Whether the tokens in `folder` come from this text, or None if the folder holds no usable tokens."""
    if (text := usable(folder)) is None:
        return None
    read = hashlib.blake2b(digest_size=16)
    for line in corpus:
        read.update(_signed(_stripped(line)))
    return bool(read.hexdigest() == text)


def usable(folder: Path) -> str | None:
    """Return the digest of the text that the tokens in `folder` were made from, None if they are not usable.

    Reads all files of the folder. If one is damaged, a warning is logged.
    """
    try:
        about = json.loads((folder / "about.json").read_text(encoding="utf-8"))
        text, digest = about["text"], about.pop("digest", None)
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None
    faults = broken(folder, about.get("files", {}))
    if digest is not None and digest != digest_of_table(about):
        faults.append("about.json is not what was written")
    if faults:
        log.warning("%s: the tokenised text is damaged (%s)", folder, "; ".join(faults))
        return None
    return str(text)


def _files(folder: Path) -> Iterator[Path]:
    """The files that last. Those of an epoch are written anew."""
    for path in folder.iterdir():
        if (
            path.is_file()
            and path.name != "about.json"
            and ".sampled" not in path.name
            and path.suffix != ".part"
        ):
            yield path


def _stripped(line: Line) -> Line:
    """The line without spaces around it. Translating ignores them too."""
    return Line(line.number, line.source.strip(), line.target.strip())


def _signed(line: Line) -> bytes:
    """The bytes of a pair for the digests."""
    return f"{line.source}\t{line.target}\n".encode()


def _chunks(corpus: Corpus, size: int) -> Iterator[list[Line]]:
    lines = map(_stripped, corpus)
    while chunk := list(itertools.islice(lines, size)):
        yield chunk
