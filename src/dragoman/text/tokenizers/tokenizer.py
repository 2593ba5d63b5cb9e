"""Tokenizers: text to ids and back, learnt from the training text and kept in the model folder.

    tokenizer.json                    format_version, configuration, special ids, digest of each file
    tokenizer.spm                     the subwords or characters of both sides, as SentencePiece writes them;
                                      tokenizer.source.spm and tokenizer.target.spm if each side has its own
    tokenizer.words.json ...          the same for words
    tokenizer.source.vocab.json ...   imported models: the pieces of tokenizer.source.spm by id

Nothing is pickled. Loading refuses a file that differs from the one that was saved.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from pathlib import Path
from typing import Annotated, Any, Literal, Protocol

from dragoman.base.config import from_table, to_table
from dragoman.base.errors import ConfigError, ModelError
from dragoman.base.files import json_of_model, read_of_model, write_whole
from dragoman.base.jobs import digest
from dragoman.base.options import Option, Options
from dragoman.text.corpora.reservoir import draw_sample
from dragoman.text.spans import Span, spans_before, spans_of_prefixes, spans_of_surfaces
from dragoman.text.tokenizers import words
from dragoman.text.tokenizers.copied import DEFAULT, pieces_for
from dragoman.text.tokenizers.ids import OURS, SPECIALS, Specials
from dragoman.text.tokenizers.marks import mark, split_marks
from dragoman.text.tokenizers.punctuation import normalise_punctuation, places_of_punctuation

# 1 has only the default special ids, 2 no mapped vocabularies, 3 no reserved pieces, 4 no marks that training
# sets.
FORMAT_VERSION = 5

_NAME = "tokenizer.json"
_ENOUGH = 1_000_000  # pairs to learn from; more take longer and change little
_BYTES = 256

Side = Literal["source", "target"]


def _mark_option(default: Any) -> Any:
    """An option about marks. Tokens on disk do not depend on it, so their digest leaves it out."""
    return field(default=default, repr=False)


@dataclass(frozen=True, kw_only=True)
class TokenizerConfig(Options, section="tokenizer"):
    """How text becomes tokens. The tokenizer is learned from the training text."""

    kind: Annotated[
        Literal["bpe", "unigram", "characters", "words", "mapped"],
        Option(
            "Subwords by byte-pair encoding (section 5.1) or by a unigram language model (Kudo 2018), "
            "characters, or whole words. mapped is the tokenizer of an imported model; it cannot be learned."
        ),
    ] = "bpe"
    vocab_size: Annotated[
        int,
        Option(
            f"Ids in a vocabulary, including {len(SPECIALS)} special ones and, with byte_fallback, {_BYTES} "
            "bytes. It is smaller if the text supports no more.",
            at_least=len(SPECIALS) + 1,
            at_most=10_000_000,
        ),
    ] = 8000
    shared: Annotated[bool, Option("One vocabulary for both languages (section 5.1).")] = True
    source_vocab_size: Annotated[
        int | None,
        Option(
            "Ids in the source's vocabulary, with shared=false. Left out, vocab_size. A small target "
            "vocabulary saves time: the output layer computes a logit for each of its ids.",
            at_least=len(SPECIALS) + 1,
            at_most=10_000_000,
        ),
    ] = None
    lowercase: Annotated[
        Literal[False, True, "source"], Option("Lower-case neither side, both sides, or only the source.")
    ] = False
    byte_fallback: Annotated[
        bool,
        Option("Write a character that is not in the vocabulary as its UTF-8 bytes, so no text is unknown."),
    ] = True
    character_coverage: Annotated[
        float,
        Option(
            "Share of the characters in the training text that get their own id. 0.9995 leaves out "
            "the rarest.",
            at_least=0.98,  # as in SentencePiece
            at_most=1,
        ),
    ] = 1.0
    sampling: Annotated[
        float,
        Option(
            "Subword sampling of the training text; 0 for none, 0.1 is usual. For bpe the probability of "
            "skipping a merge (Provilkov et al. 2020), for unigram the exponent of the probabilities (Kudo "
            "2018).",
            at_least=0,
            below=1,
        ),
    ] = 0.0

    placeholders: Annotated[
        int | Literal["auto"],
        Option(
            "Reserved pieces ⟦1⟧, ⟦2⟧, ... that stand for placeholders such as %s and {name}, so that the "
            f"model learns to copy them. auto: {DEFAULT} if at least 0.2 % of the training pairs have a "
            "placeholder of a program on both sides (URLs and numbers do not count), else 0.",
            at_least=0,
            at_most=1000,
        ),
    ] = "auto"

    languages: Annotated[
        tuple[str, ...],
        Option(
            "Languages that have a mark in the vocabulary. Left out, training takes them from data.corpora "
            "if the model has several target languages, or needs the source language."
        ),
    ] = _mark_option(())
    source_mark: Annotated[
        bool, Option("Put the mark of the source language before each source, for a model of several.")
    ] = _mark_option(False)
    target_mark: Annotated[
        Side,
        Option(
            "Where the mark of the target language stands in a model of several: before the source (Johnson "
            "et al. 2017), or as the first token of the target (Fan et al. 2021)."
        ),
    ] = _mark_option("source")

    punctuation: Annotated[
        str | None,
        Option(
            "Language whose punctuation is normalised in the source, as the Moses scripts do. Only for "
            "mapped; left out, nothing is normalised."
        ),
    ] = None

    def __post_init__(self) -> None:
        super().__post_init__()
        learned = self.kind not in ("words", "mapped")
        fixed = {"special": len(SPECIALS), "bytes": _BYTES * (self.byte_fallback and learned)}
        fixed["marks"] = len(self.languages)
        fixed["placeholders"] = self.reserved + (self.kind == "words" and self.reserved > 0)
        least = sum(fixed.values()) + 1
        for name in ("vocab_size", "source_vocab_size"):
            size = getattr(self, name)
            if size is not None and size < least:
                taken = " and ".join(f"{count} ids are {what}" for what, count in fixed.items() if count)
                raise ConfigError(
                    f"tokenizer.{name} = {size} cannot be used", hint=f"it must be at least {least}: {taken}"
                )
        if self.shared and self.source_vocab_size is not None:
            raise ConfigError(
                f"tokenizer.source_vocab_size = {self.source_vocab_size}: both languages share a vocabulary",
                hint="set tokenizer.shared=false, or leave it out",
            )
        if self.reserved and self.kind == "mapped":
            raise ConfigError(
                f"tokenizer.placeholders = {self.placeholders}: mapped has the pieces of the imported model",
                hint="leave it out",
            )
        if self.sampling and self.kind in ("characters", "words", "mapped"):
            raise ConfigError(
                f"tokenizer.sampling = {self.sampling}: {self.kind} can be cut in one way only",
                hint='set tokenizer.kind="bpe" or "unigram", or tokenizer.sampling=0',
            )
        if self.languages and self.kind in ("words", "mapped"):
            raise ConfigError(
                f'tokenizer.kind = "{self.kind}" has no marks for {", ".join(self.languages)}',
                hint='set tokenizer.kind="bpe" or "unigram"',
            )
        if self.punctuation is not None and self.kind != "mapped":
            raise ConfigError(
                f'tokenizer.punctuation = "{self.punctuation}" with tokenizer.kind = "{self.kind}"',
                hint="normalise the training text instead",
            )

    @property
    def reserved(self) -> int:
        """The number of reserved pieces. `auto` has none until there is text to decide by."""
        return 0 if self.placeholders == "auto" else self.placeholders


class Vocabulary(Protocol):
    """How one side's text is cut into tokens: `Subwords`, `Words` or `Mapped`."""

    @property
    def marks(self) -> Mapping[str, int]: ...
    @property
    def reserved(self) -> tuple[int, ...]: ...
    @property
    def spare(self) -> tuple[int, ...]: ...
    def __len__(self) -> int: ...
    def encode(self, lines: Sequence[str]) -> list[list[int]]: ...
    def sample(self, lines: Sequence[str], *, amount: float, seed: int) -> list[list[int]]: ...
    def decode(self, ids: Sequence[int]) -> str: ...
    def pieces(self, ids: Sequence[int]) -> list[str]: ...
    def surfaces(self, line: str) -> list[str]: ...
    def to_files(self) -> dict[str, bytes]: ...


class Tokenizer:
    """Text to ids and back, for both sides. Encoding adds neither start nor end; the model does."""

    def __init__(
        self, config: TokenizerConfig, source: Vocabulary, target: Vocabulary, *, specials: Specials = OURS
    ) -> None:
        self.config, self.specials = config, specials
        self._source, self._target = source, target

    @classmethod
    def train(cls, pairs: Iterable[tuple[str, str]], config: TokenizerConfig, *, seed: int = 1) -> Tokenizer:
        """Learn from the pairs, or from a million of them drawn with `seed`. The pairs are read once.

        The vocabulary is smaller than `config.vocab_size` if the text has too few different words; a
        warning is logged. Raise ConfigError if `vocab_size` is too small for the characters of the text or
        if the kind cannot be learned, DataError if there is no text.
        """
        sample = draw_sample(pairs, _ENOUGH, random.Random(seed))
        if config.placeholders == "auto" and (count := pieces_for(sample)):
            config = replace(config, placeholders=count)
        if config.lowercase:
            sample = [(source.lower(), target) for source, target in sample]
        if config.lowercase is True:
            sample = [(source, target.lower()) for source, target in sample]
        if config.shared:
            both = _learn(chain.from_iterable(sample), config, config.vocab_size)
            return cls(config, both, both)
        return cls(
            config,
            _learn((source for source, _ in sample), config, config.source_vocab_size or config.vocab_size),
            _learn((target for _, target in sample), config, config.vocab_size),
        )

    @property
    def pad_id(self) -> int:
        """The id that fills up short sentences of a batch."""
        return self.specials.pad

    @property
    def start_id(self) -> int:
        """The id that a decoder reads first; may be the same as `pad_id`."""
        return self.specials.start

    @property
    def end_id(self) -> int:
        """The id that ends a sentence."""
        return self.specials.end

    @property
    def unk_id(self) -> int:
        """The id of an unknown character or word."""
        return self.specials.unknown

    @property
    def source_size(self) -> int:
        """The number of ids on the source side; a shared vocabulary has one size."""
        return len(self._source)

    @property
    def target_size(self) -> int:
        """The number of ids on the target side."""
        return len(self._target)

    @property
    def vocabularies(self) -> tuple[Vocabulary, Vocabulary]:
        """The source's and the target's; the same object if they share one."""
        return self._source, self._target

    @property
    def unsampled(self) -> Tokenizer:
        """The same tokenizer without subword sampling."""
        return Tokenizer(replace(self.config, sampling=0.0), *self.vocabularies, specials=self.specials)

    @property
    def languages(self) -> tuple[str, ...]:
        """The languages that have marks, in order of their ids; empty for a model of one target language."""
        return tuple(self._source.marks)

    def address(self, source: str | None, target: str | None) -> str:
        """The marks before a source, as text: of its language, and of its target language, if they go there.

        A language without a mark has none: a model of one target language needs none for it.
        """
        config = self.config
        marked = [source if config.source_mark else None, target if config.target_mark == "source" else None]
        return "".join(f"{mark(one)} " for one in marked if one is not None and one in self._source.marks)

    def target_start(self, target: str | None) -> tuple[int, ...]:
        """The ids that every translation into a language begins with: its mark, or none."""
        marks = self._target.marks if self.config.target_mark == "target" else {}
        return (marks[target],) if target is not None and target in marks else ()

    @property
    def placeholders(self) -> tuple[tuple[int, ...], tuple[int, ...]] | tuple[()]:
        """The ids of the reserved pieces ⟦1⟧, ⟦2⟧, ... in source and target, if there are any."""
        both = self._source.reserved, self._target.reserved
        return both if len(both[0]) == len(both[1]) > 0 else ()

    def encode_source(self, lines: Sequence[str]) -> list[list[int]]:
        """Return the ids of each line. Many lines in one call are faster."""
        return self._source.encode(self.normalise(lines, "source"))

    def encode_target(self, lines: Sequence[str]) -> list[list[int]]:
        """Return the ids of each line. Many lines in one call are faster."""
        return self._target.encode(self.normalise(lines, "target"))

    def sample(self, lines: Sequence[str], *, side: Side, seed: int) -> list[list[int]]:
        """Encode with random cuts if `config.sampling` is set: a function of (lines, side, seed).

        The cuts of a line depend on the lines before it.
        """
        vocabulary = self._source if side == "source" else self._target
        return vocabulary.sample(self.normalise(lines, side), amount=self.config.sampling, seed=seed)

    def decode(self, ids: Sequence[int]) -> str:
        """Return the target text of the ids. Pad, start, end and marks that begin targets have no text."""
        marks = self._target.marks.values() if self.config.target_mark == "target" else ()
        return self._target.decode([one for one in ids if one not in marks] if marks else ids)

    def spans(self, line: str, side: Side) -> list[Span]:
        """Return (start, end) in the line of each token that the side's encoding has, in characters.

        Of the bytes of a character, all but the last have an empty span.
        """
        vocabulary = self._source if side == "source" else self._target
        text = self.normalise([line], side)[0]
        spans = spans_of_surfaces(vocabulary.surfaces(text), text)
        return spans if text == line else spans_before(spans, self._places(line, side), len(line))

    def source_spans(self, line: str) -> list[Span]:
        """Return the `spans` of a source."""
        return self.spans(line, "source")

    def target_spans(self, ids: Sequence[int]) -> list[Span]:
        """Return (start, end) in `decode(ids)` of each id, in characters."""
        prefixes = [self.decode(ids[: end + 1]) for end in range(len(ids))]
        return spans_of_prefixes(prefixes, self.decode(ids))

    def source_pieces(self, ids: Sequence[int]) -> list[str]:
        """Return the piece of each source id; ▁ is a space, <0xE4> a byte."""
        return self._source.pieces(ids)

    def target_pieces(self, ids: Sequence[int]) -> list[str]:
        """Return the piece of each target id."""
        return self._target.pieces(ids)

    def normalise(self, lines: Sequence[str], side: Side) -> Sequence[str]:
        """Return the lines as they are cut into tokens: lower-cased or with other punctuation, if set."""
        if self.config.punctuation is not None and side == "source":
            lines = [normalise_punctuation(line, self.config.punctuation) for line in lines]
        if self.config.lowercase not in (True, side):
            return lines
        if not self.languages:
            return [line.lower() for line in lines]
        split = (split_marks(line, self._source.marks) for line in lines)
        return ["".join(marks) + text.lower() for _, marks, text in split]

    def _places(self, line: str, side: Side) -> list[Span]:
        """Return for each character of the normalised line the part of the line that it stands for."""
        places = [(i, i + 1) for i in range(len(line))]
        if self.config.punctuation is not None and side == "source":
            places = places_of_punctuation(line, self.config.punctuation)
            line = normalise_punctuation(line, self.config.punctuation)
        if self.config.lowercase in (True, side):  # one letter becomes two: İ
            places = [place for place, letter in zip(places, line, strict=True) for _ in letter.lower()]
        return places

    def save(self, folder: Path) -> None:
        """Write the files into `folder`. tokenizer.json comes last: if it exists, the others do."""
        folder = Path(folder)
        digests = {}
        for side, vocabulary in zip(_sides(self.config), self.vocabularies, strict=False):
            for suffix, data in vocabulary.to_files().items():
                name = f"tokenizer{side}{suffix}"
                write_whole(folder / name, data)
                digests[name] = digest(data)
        # Each release reads what it knows: a file has the lowest version that holds it.
        config, own_ids = to_table(self.config), self.specials != OURS
        version = 4 if self.config.reserved else 3 if self.config.kind == "mapped" else 2 if own_ids else 1
        if not self.config.reserved:
            del config["placeholders"]  # releases without them read the file
        if any(getattr(self.config, name) != getattr(TokenizerConfig, name) for name in _OF_MARKS):
            version = 5
        else:
            config = {name: value for name, value in config.items() if name not in _OF_MARKS}
        table = {"format_version": version, "config": config}
        if own_ids:
            table["specials"] = to_table(self.specials)
        write_whole(folder / _NAME, json.dumps(table | {"files": digests}, indent=2) + "\n")

    @classmethod
    def load(cls, folder: Path) -> Tokenizer:
        """Return the tokenizer in `folder`. Raise ModelError if it is missing, damaged or too new."""
        folder = Path(folder)
        path = folder / _NAME
        table = json_of_model(path, missing=_MISSING, damaged=_RESTORE)
        version = table.get("format_version")
        if type(version) is not int or not 1 <= version <= FORMAT_VERSION:
            raise ModelError(
                f"{path}: format_version {version!r}, but this dragoman reads versions 1 to {FORMAT_VERSION}",
                hint="upgrade dragoman",
            )
        try:
            config = from_table(TokenizerConfig, table["config"])
            specials = from_table(Specials, table.get("specials", {}))
            digests = {name: str(one) for name, one in table["files"].items()}
            sides = [
                {end: f"tokenizer{side}{end}" for end in _SUFFIXES.get(config.kind, [".spm"])}
                for side in _sides(config)
            ]
            missing = [name for side in sides for name in side.values() if name not in digests]
            if missing:
                raise KeyError(missing[0])
        except (ConfigError, KeyError, TypeError, AttributeError) as error:
            raise ModelError(f"{path}: not a tokenizer's configuration ({error})", hint=_RESTORE) from error
        vocabularies = []
        for side in sides:
            files = {}
            for suffix, name in side.items():
                files[suffix] = read_of_model(folder / name, missing=_MISSING, damaged=_RESTORE)
                if digest(files[suffix]) != digests[name]:
                    raise ModelError(
                        f"{folder / name}: damaged, or from another model than {_NAME}", hint=_RESTORE
                    )
            try:
                vocabularies.append(_vocabulary(files, config, specials))
            except (ValueError, RecursionError) as error:
                raise ModelError(f"{folder / next(iter(side.values()))}: {error}", hint=_RESTORE) from error
        if not all(0 <= i < len(vocabulary) for vocabulary in vocabularies for i in specials.ids):
            raise ModelError(f"{path}: a special id is not in the vocabulary", hint=_RESTORE)
        reserved = {len(vocabulary.reserved) for vocabulary in vocabularies}
        if config.kind != "mapped" and reserved != {config.reserved}:
            raise ModelError(f"{path}: other placeholders than in the vocabulary", hint=_RESTORE)
        return cls(config, vocabularies[0], vocabularies[-1], specials=specials)


# The ends of the names of a vocabulary's files; the other kinds have one file.
_SUFFIXES = {"words": [".words.json"], "mapped": [".spm", ".vocab.json"]}
_OF_MARKS = ("languages", "source_mark", "target_mark")
_MISSING = "is this the folder that training wrote?"
_RESTORE = "restore the file, or train again in another folder"


def _learn(lines: Iterable[str], config: TokenizerConfig, size: int) -> Vocabulary:
    if config.kind == "mapped":
        raise ConfigError(
            'tokenizer.kind = "mapped" cannot be learned: it comes with an imported model',
            hint='choose tokenizer.kind="bpe" or "unigram"',
        )
    if config.kind == "words":
        return words.train(lines, vocab_size=size, placeholders=config.reserved)
    from dragoman.text.tokenizers import subwords

    return subwords.train(
        lines,
        config.kind,
        vocab_size=size,
        byte_fallback=config.byte_fallback,
        character_coverage=config.character_coverage,
        placeholders=config.reserved,
        languages=config.languages,
    )


def _sides(config: TokenizerConfig) -> list[str]:
    """Return how the file names of the two sides differ; one item if they share a vocabulary."""
    return [""] if config.shared else [".source", ".target"]


def _vocabulary(files: dict[str, bytes], config: TokenizerConfig, specials: Specials) -> Vocabulary:
    """Return the vocabulary of one side. Raise ValueError if the files hold something else."""
    match config.kind:
        case "words":
            return words.Words.from_bytes(files[".words.json"])
        case "mapped":
            from dragoman.text.tokenizers.mapped import Mapped

            return Mapped.from_files(files, specials)
        case _:
            from dragoman.text.tokenizers import subwords

            return subwords.Subwords(files[".spm"], config.languages)
