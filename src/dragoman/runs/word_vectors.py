"""Embeddings that begin as word vectors from outside, frozen or tuned."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import nn

from dragoman.base.errors import DataError
from dragoman.models.seq2seq import Seq2Seq
from dragoman.text.tokenizer import Tokenizer
from dragoman.text.vectors import read_vectors


@dataclass(frozen=True, kw_only=True)
class EmbeddingsConfig:
    """Files of word vectors: word2vec, GloVe or fastText; see `text/vectors.py`."""

    source: str = ""
    target: str = ""
    frozen: bool = False  # embeddings that have a file stay as they are, drawn ones among them


def freeze(model: Seq2Seq, config: EmbeddingsConfig) -> None:
    """Takes the embeddings that have a file out of training, if so configured."""
    if config.frozen:
        for embedding, _, _ in _sides(model, config):
            embedding.weight.requires_grad_(False)


def fill(
    model: Seq2Seq,
    tokenizer: Tokenizer,
    config: EmbeddingsConfig,
    *,
    find: Callable[[str], Path] = Path,
    say: Callable[[str], None] = lambda _: None,
) -> None:
    """Puts the vectors of the vocabulary's words into the embeddings, and says how many were found.

    A word is looked up as it is, else in lower case. Vectors are scaled, all alike, so that their numbers
    vary as much as those they replace; words without one keep what was drawn. Raises DataError for a file
    that does not fit.
    """
    for embedding, name, side in _sides(model, config):
        size, pieces = (
            (tokenizer.source_size, tokenizer.source_pieces)
            if side == "source"
            else (tokenizer.target_size, tokenizer.target_pieces)
        )
        ids = [i for i in range(size) if i not in tokenizer.specials.ids]
        words = [piece.lstrip("▁") for piece in pieces(ids)]
        path = find(name)
        found = read_vectors(path, {form for word in words for form in (word, word.lower())})
        width = embedding.weight.shape[1]
        if found.width != width:
            raise DataError(
                f"{path}: vectors of {found.width} numbers, the model's are of {width}",
                hint=f"set model.d_model={found.width}",
            )
        exact = [i for i, word in enumerate(words) if word in found.by_word]
        lowered = [i for i, w in enumerate(words) if w not in found.by_word and w.lower() in found.by_word]
        say(
            f"{side} embeddings: {len(exact) + len(lowered):,} of {len(words):,} words found in {path} "
            f"({len(lowered):,} only in lower case), of {found.in_file:,} there"
        )
        if not exact and not lowered:
            raise DataError(f"{path}: none of the words", hint="is it of the right language?")
        rows = exact + lowered
        vectors = [found.by_word[words[i]] for i in exact]
        vectors += [found.by_word[words[i].lower()] for i in lowered]
        table = torch.stack([torch.from_numpy(vector) for vector in vectors]).to(embedding.weight.device)
        with torch.no_grad():
            scale = embedding.weight.pow(2).mean().sqrt() / table.pow(2).mean().sqrt().clamp(min=1e-12)
            embedding.weight[[ids[row] for row in rows]] = (table * scale).to(embedding.weight.dtype)


def _sides(model: Seq2Seq, config: EmbeddingsConfig) -> list[tuple[nn.Embedding, str, str]]:
    """(embedding, file, side) for each file."""
    sides = [
        (model.source_embedding, config.source, "source"),
        (model.target_embedding, config.target, "target"),
    ]
    return [(embedding, name, side) for embedding, name, side in sides if name]
