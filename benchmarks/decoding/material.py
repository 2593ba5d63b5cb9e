"""The material of a contest: a folder with the sentences and the model in every format.

lines.txt          the text
sentences.json     its ids
dragoman/          our model folder; int8/ the same, quantised
ctranslate2/ ...   the exports, named as the formats
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from decoding.measured import SENTENCES

from dragoman.base.errors import DataError, DragomanError
from dragoman.models.operations import translation
from dragoman.models.shapes import Architecture, SSRUConfig, TransformerConfig, TransformerOptions
from dragoman.text import toy
from dragoman.text.tokenizers.tokenizer import Tokenizer, TokenizerConfig

OURS = "dragoman"
LINES = "lines.txt"
VOCABULARY = 8000
FORCED = 16  # tokens of every translation of a model with random weights
EXTRA = 50  # tokens that a translation may be longer than the longest source
_TOY = 5000  # pairs of the embedded corpus, which also gives vocabularies their words
EMBEDDED = 20_000  # lines of the embedded corpus, before lines are changed
_CALIBRATED = 200  # lines that give an 8-bit model the range of its inputs
_SEED = 1
_WORDS, _CONSONANTS, _VOWELS = 4000, "bdfgklmnprstvz", "aeiou"  # of made-up words


@dataclass(frozen=True, kw_only=True)
class Material:
    """A folder that all contenders read."""

    folder: Path
    title: str
    shape: Architecture
    lengths: tuple[int, ...]  # tokens of each source, without the end
    limit: int  # most tokens of a translation
    forced: bool  # every translation has exactly `limit` tokens
    missing: dict[str, str] = field(default_factory=dict)  # formats that could not be written, and why

    @property
    def extra(self) -> int:
        """Tokens that a translation on the command line may be longer than its source.

        A forced length is not among the options there. The mean of the lengths is the forced one.
        """
        mean = sum(self.lengths) / len(self.lengths)
        return max(0, round(self.limit - mean)) if self.forced else EXTRA

    def operations(self, targets: Sequence[int], beam: int) -> float | None:
        """Mean operations of one sentence, for translations of these lengths; None if not counted."""
        if not isinstance(self.shape, TransformerOptions) or not targets:
            return None
        ended = 0 if self.forced else 1  # the end token takes a step, too
        total = sum(
            translation(self.shape, source + 1, target + ended, beam)
            for source, target in zip(self.lengths, targets, strict=False)
        )
        return total / min(len(self.lengths), len(targets))


def make_material(
    folder: Path, bundle: Any, lines: Sequence[str], formats: Iterable[str], *, title: str, forced: bool
) -> Material:
    """Write the sentences and the model into `folder`. A format that cannot hold the model is `missing`."""
    from dragoman.models.folder.bundle import save

    sources = bundle.tokenizer.encode_source(lines)
    if not all(sources):
        raise DataError("a line without tokens", hint="remove empty lines from the text")
    (folder / LINES).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8", newline="\n")
    (folder / SENTENCES).write_text(json.dumps(sources), encoding="utf-8")
    save(bundle, folder / OURS)
    missing = {}
    for name in sorted(set(formats) - {OURS}):
        try:
            _write(bundle, name, folder, lines)
        except DragomanError as error:
            missing[name] = str(error)
    lengths = tuple(map(len, sources))
    return Material(
        folder=folder,
        title=title,
        shape=bundle.model.config,
        lengths=lengths,
        limit=FORCED if forced else max(lengths) + EXTRA,
        forced=forced,
        missing=missing,
    )


def _write(bundle: Any, name: str, folder: Path, lines: Sequence[str]) -> None:
    from dragoman.interop.exports import export_model
    from dragoman.interop.imports import import_model

    target = folder / name
    match name:
        case "int8":
            from dragoman.models.folder.quantisation import quantise_folder

            quantise_folder(folder / OURS, target)
        case "ctranslate2-int8":
            export_model(bundle, "ctranslate2", target, quantization="int8", verified=False)
        case "marian":
            export_model(bundle, "marian", target, verified=False)
            tokenizer = bundle.tokenizer
            for side, pieces in (
                ("source", tokenizer.source_pieces(range(tokenizer.source_size))),
                ("target", tokenizer.target_pieces(range(tokenizer.target_size))),
            ):
                (target / f"{side}.json").write_text(json.dumps(pieces), encoding="utf-8")
        case "firefox":
            calibration = lines[:_CALIBRATED]
            export_model(bundle, name, target, verified=False, folder=folder / OURS, calibration=calibration)
        case "firefox-int8":
            if not (folder / "firefox").exists():
                _write(bundle, "firefox", folder, lines)
            import_model(str(folder / "firefox"), target, verified=False)
        case "ctranslate2" | "huggingface":
            export_model(bundle, name, target, verified=False)
        case _:
            raise DragomanError(f"{name}: unknown format")


def random_bundle(preset: str, lines: Sequence[str]) -> Any:
    """A model of the preset's sizes with weights drawn from a seed, and a vocabulary learned from the text.

    Post-norm, as in the paper. The vocabulary also learns the embedded corpus and made-up words, because a
    short text has too few words for it.
    """
    import torch

    from dragoman.models.folder.bundle import Bundle
    from dragoman.models.seq2seq import build_model
    from dragoman.training.runs.recipe import resolve
    from dragoman.translation.search.options import Beam

    model = resolve(preset=preset).model
    if not isinstance(model, TransformerConfig | SSRUConfig):
        raise TypeError(type(model).__name__)
    pairs = [*toy.pairs(count=_TOY), *((line, "") for line in lines), *((word, "") for word in _words())]
    tokenizer = Tokenizer.train(pairs, TokenizerConfig(vocab_size=VOCABULARY, byte_fallback=False))
    size = tokenizer.target_size
    shape = replace(model, norm="post", dropout=0.0, source_vocab=size, target_vocab=size)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(_SEED)
        network = build_model(shape).eval()
    with torch.no_grad():  # as Marian's, which a Firefox model needs
        network.target_embedding.weight[shape.start_id] = 0.0
    return Bundle(
        model=network,
        tokenizer=tokenizer,
        source_language="en",
        target_language="de",
        generation=Beam(length_penalty=1.0, normalization="power"),
    )


def _words() -> list[str]:
    """Made-up words."""
    draw = random.Random(_SEED)
    return ["".join(draw.choice(_CONSONANTS) + draw.choice(_VOWELS) for _ in range(4)) for _ in range(_WORDS)]


def embedded_lines(count: int) -> list[str]:
    """English lines of the embedded corpus."""
    return [source for source, _ in toy.pairs(count=count)]


def varied(lines: Sequence[str], count: int) -> list[str]:
    """`count` different lines. After the text's own come copies with one word of another line instead.

    Raises DataError if the text has too few words for that.
    """
    draw = random.Random(_SEED)
    lines = list(dict.fromkeys(line.strip() for line in lines if line.strip()))
    if not lines:
        raise DataError("a text without lines to translate", hint="give a file with one sentence a line")
    chosen = dict.fromkeys(lines[:count])
    words = sorted({word for line in lines for word in line.split()})
    tries = 0
    while len(chosen) < count:
        parts = lines[tries % len(lines)].split()
        parts[draw.randrange(len(parts))] = draw.choice(words)
        chosen[" ".join(parts)] = None
        tries += 1
        if tries > 20 * count + 1000:
            raise DataError(
                f"the text has too few words for {count:,} different lines",
                hint="give more text, or fewer --lines",
            )
    return list(chosen)
