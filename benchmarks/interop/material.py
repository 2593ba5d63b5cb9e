"""Text, size and length of a training, its SentencePiece models, and a translation by any program."""

from __future__ import annotations

import gzip
import io
from contextlib import chdir
from dataclasses import dataclass
from pathlib import Path

import sentencepiece


@dataclass(frozen=True, kw_only=True)
class Size:
    """Size of a model. The vocabulary is that of one SentencePiece model."""

    d_model: int = 96
    d_ff: int = 384
    heads: int = 4
    layers: int = 2
    vocabulary: int = 2000
    batch_words: int = 600
    learning_rate: float = 2e-3
    warm_up: int = 200  # updates
    longest: int = 512  # tokens in a translation
    rules: Path | None = None  # TSV of SentencePiece's normalisation, if not nmt_nfkc, whose table is large

    @property
    def normalisation(self) -> dict[str, str]:
        """SentencePiece's option. The model keeps a file's name, so train it in the file's folder."""
        rules = self.rules
        return {"normalization_rule_tsv": rules.name} if rules else {"normalization_rule_name": "nmt_nfkc"}


@dataclass(frozen=True, kw_only=True)
class Limit:
    """End of a training: after some minutes, or after some updates if a training must be repeatable."""

    minutes: float = 0.0
    updates: int = 0


@dataclass(frozen=True, kw_only=True)
class Text:
    """Source lines, and the lines of each target language by its two-letter code."""

    source: list[str]
    targets: dict[str, list[str]]

    @staticmethod
    def read(paths: list[Path]) -> Text:
        """Read files named like train.en, train.de.gz; the first is the source."""
        source, *targets = (_lines(path) for path in paths)
        codes = [path.name.removesuffix(".gz").rpartition(".")[2] for path in paths[1:]]
        return Text(source=source, targets=dict(zip(codes, targets, strict=True)))

    def head(self, count: int) -> Text:
        """Return the first lines."""
        targets = {code: lines[:count] for code, lines in self.targets.items()}
        return Text(source=self.source[:count], targets=targets)

    @property
    def target(self) -> list[str]:
        """Lines of the first target language."""
        return next(iter(self.targets.values()))


@dataclass(frozen=True, kw_only=True)
class Hypothesis:
    """One translation. `tokens` and `word_scores` (log-probabilities) include the end if it was reached."""

    tokens: list[str]
    text: str
    score: float  # as the program prints it, with its length normalisation
    word_scores: list[float]


def _lines(path: Path) -> list[str]:
    data = path.read_bytes()
    text = gzip.decompress(data) if path.suffix == ".gz" else data
    return text.decode("utf-8").splitlines()


def sentencepiece_model(
    lines: list[str], path: Path, size: Size, vocabulary: int
) -> sentencepiece.SentencePieceProcessor:
    """Train a unigram model with the special ids of OPUS-MT's: end 0 and unknown 1, no start."""
    file = io.BytesIO()
    with chdir(size.rules.parent if size.rules else "."):
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=iter(lines),
            model_writer=file,
            vocab_size=vocabulary,
            hard_vocab_limit=False,
            character_coverage=1.0,
            bos_id=-1,
            eos_id=0,
            unk_id=1,
            pad_id=-1,
            num_threads=1,
            minloglevel=1,
            **size.normalisation,
        )
    path.write_bytes(file.getvalue())
    return sentencepiece.SentencePieceProcessor(model_proto=file.getvalue())
