"""CTranslate2 as the other program: a model from an exported folder, to compare with."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import sentencepiece

from dragoman.base.errors import DragomanError
from dragoman.base.machine import optional_package
from dragoman.interop import verify as comparing
from dragoman.interop.ctranslate2.model import write
from dragoman.models.folder.bundle import Bundle
from dragoman.text.tokenizers.marks import marks_among, split_marks
from dragoman.text.tokenizers.punctuation import normalise_punctuation
from dragoman.text.tokenizers.tokenizer import Tokenizer
from dragoman.translation.search.engine import Tokens

_BATCH = 2048  # tokens, padding included


class CTranslate2:
    """CTranslate2 with an exported folder, which is all it reads. One thread, so that PyTorch keeps its own.

    It implements `dragoman.interop.verify.Program`. Ids are places in the vocabularies of the folder.
    `compute_type` is CTranslate2's; by default the type of the weights, or the nearest that the processor
    has.
    """

    def __init__(self, folder: Path, *, compute_type: str | None = None) -> None:
        """Raises DragomanError if CTranslate2 is not installed or cannot load the folder."""
        ctranslate2 = optional_package("ctranslate2", "ctranslate2")
        self.name = f"CTranslate2 {ctranslate2.__version__}"
        self._config = _read(folder / "config.json")
        self.weights = weights = str(self._config["dragoman"]["weights"])  # one of `QUANTIZATIONS`
        if weights not in ctranslate2.get_supported_compute_types("cpu"):
            # CTranslate2 takes the same by itself, and prints a warning.
            weights = "int8_float32" if weights.startswith("int8") else "float32"
        self.compute_type = compute_type or weights
        try:
            self._translator = ctranslate2.Translator(
                str(folder), compute_type=self.compute_type, intra_threads=1
            )
        except (RuntimeError, ValueError) as error:
            raise DragomanError(f"{folder}: {self.name} cannot load it: {error}") from error
        shared = (folder / "shared_vocabulary.json").exists()
        names = ["shared", "shared"] if shared else ["source", "target"]
        self._source, self._target = (_read(folder / f"{name}_vocabulary.json") for name in names)
        self._source_ids = {piece: i for i, piece in enumerate(self._source)}
        self._marks = marks_among(enumerate(self._source))
        self._target_ids = {piece: i for i, piece in enumerate(self._target)}
        self._words = Tokenizer.load(folder) if (folder / "tokenizer.json").exists() else None
        if self._words is None:
            both = (folder / "sentencepiece.model").exists()
            names = ["sentencepiece.model"] * 2 if both else ["source.spm", "target.spm"]
            self._cutter, self._joiner = (
                sentencepiece.SentencePieceProcessor(model_file=str(folder / name)) for name in names
            )

    def encode(self, lines: Sequence[str]) -> list[list[int]]:
        """The source ids of each line, without the end. Spaces around a line are ignored."""
        lines = [line.strip() for line in lines]
        if self._words is not None:
            return self._words.encode_source(lines)
        return [self._encode(line) for line in lines]

    def decode(self, targets: Sequence[Tokens]) -> list[str]:
        if self._words is not None:
            return [self._words.decode(ids) for ids in targets]
        return [str(self._joiner.decode([self._target[i] for i in ids])) for ids in targets]

    def translate(self, sources: Sequence[Tokens], max_tokens: Sequence[int]) -> list[list[int]]:
        return self.search(sources, max_tokens, beam=1)

    def search(
        self,
        sources: Sequence[Tokens],
        max_tokens: Sequence[int],
        *,
        beam: int,
        length_penalty: float = 0,
        min_tokens: int = 0,
    ) -> list[list[int]]:
        """The best translation of each source. Scores are divided by length^length_penalty, our "power"."""
        answers = self._translator.translate_batch(
            [[self._source[i] for i in source] for source in sources],
            beam_size=beam,
            length_penalty=length_penalty,
            max_batch_size=_BATCH,
            batch_type="tokens",
            max_input_length=0,
            max_decoding_length=max(max_tokens, default=1),
            min_decoding_length=min_tokens,
        )
        ids = self._target_ids
        return [
            [ids[token] for token in answer.hypotheses[0][:limit]] if source else []
            for source, answer, limit in zip(sources, answers, max_tokens, strict=True)
        ]

    def score(self, pairs: Sequence[tuple[Tokens, Tokens]]) -> list[float]:
        return [math.fsum(each) for each in self.token_scores(pairs)]

    def token_scores(self, pairs: Sequence[tuple[Tokens, Tokens]]) -> list[list[float]]:
        """The log-probability of each token of each target in nats, then the end token's.

        A pair of two empty sides has none, as in our engines.
        """
        scored = self._translator.score_batch(
            [[self._source[i] for i in source] for source, _ in pairs],
            [[self._target[i] for i in target] for _, target in pairs],
            max_batch_size=_BATCH,
            batch_type="tokens",
            max_input_length=0,
        )
        return [list(each.log_probs) if any(pair) else [] for pair, each in zip(pairs, scored, strict=True)]

    def _encode(self, line: str) -> list[int]:
        if (language := self._config["dragoman"]["punctuation"]) is not None:
            line = normalise_punctuation(line, language)
        ids, _, line = split_marks(line, self._marks)  # SentencePiece reads marks as text
        unknown = self._source_ids[self._config["unk_token"]]
        return ids + [
            self._source_ids.get(piece, unknown) for piece in self._cutter.encode(line, out_type=str)
        ]


def verify(bundle: Bundle, folder: Path, lines: Sequence[str]) -> comparing.Agreement:
    """Compare the folder that `write` made of the bundle. Raises DragomanError if they disagree.

    Weights of another type than float32 give other scores and some other translations. Then the model is
    compared in float32, and the result says how many translations the weights of the folder leave equal.
    """
    ours = replace(bundle, generation=replace(bundle.generation, renormalize=True))
    program = CTranslate2(folder)
    if program.weights == "float32":
        return comparing.verify(ours, program, lines)
    with TemporaryDirectory() as temporary:
        exact = Path(temporary)
        write(bundle, exact)
        comparison = comparing.verify(ours, CTranslate2(exact), lines)
        sources = program.encode(lines)
        limits = [len(source) + comparing.EXTRA for source in sources]
        wanted = CTranslate2(exact).translate(sources, limits)
    same = sum(a == b for a, b in zip(wanted, program.translate(sources, limits), strict=True))
    return replace(comparison, note=f"with {program.weights} weights {same} of {len(lines)} are equal")


def _read(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))
