"""Embeddings that start from pretrained word vectors, frozen or tuned."""

from __future__ import annotations

from collections.abc import Callable, Container
from pathlib import Path

import torch
from torch import nn

from dragoman.base.errors import DataError
from dragoman.models.seq2seq import AnySeq2Seq
from dragoman.runs.recipe import EmbeddingsConfig
from dragoman.text.tokenizer import Tokenizer
from dragoman.text.vectors import read_vectors


def freeze(model: AnySeq2Seq, config: EmbeddingsConfig) -> None:
    """Exclude the embeddings that have a file from training, if the configuration says so."""
    if config.frozen:
        for embedding, _, _ in _sides(model, config):
            embedding.weight.requires_grad_(False)


def fill(
    model: AnySeq2Seq,
    tokenizer: Tokenizer,
    config: EmbeddingsConfig,
    *,
    say: Callable[[str], None] = lambda _: None,
) -> None:
    """Copy the vectors of the vocabulary's words into the embeddings and report how many there are.

    A word is looked up as it is, then in lower case. All vectors are scaled by one factor to the size
    of the initial ones, which words without a vector keep. Raises DataError for a file
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
        path = Path(name)
        vectors = read_vectors(path, {form for word in words for form in (word, word.lower())})
        width = embedding.weight.shape[1]
        if vectors.width != width:
            raise DataError(
                f"{path}: vectors of {vectors.width} numbers, but the model is {width} wide",
                hint=f"set model.d_model={vectors.width}",
            )
        forms = [_form(word, vectors.by_word) for word in words]
        rows = [row for row, form in enumerate(forms) if form is not None]
        lowered = sum(forms[row] != words[row] for row in rows)
        say(
            f"{side} embeddings: {len(rows):,} of {len(words):,} words are among the {vectors.in_file:,} "
            f"in {path} ({lowered:,} only in lower case)"
        )
        if not rows:
            raise DataError(f"{path}: has none of the words", hint="is it the right language?")
        chosen = [torch.from_numpy(vectors.by_word[form]) for form in forms if form is not None]
        table = torch.stack(chosen).to(embedding.weight.device)
        with torch.no_grad():
            scale = embedding.weight.pow(2).mean().sqrt() / table.pow(2).mean().sqrt().clamp(min=1e-12)
            embedding.weight[[ids[row] for row in rows]] = (table * scale).to(embedding.weight.dtype)


def _form(word: str, vectors: Container[str]) -> str | None:
    """Return the form of the word that the file has: as it is, or in lower case. None without either."""
    return next((form for form in (word, word.lower()) if form in vectors), None)


def _sides(model: AnySeq2Seq, config: EmbeddingsConfig) -> list[tuple[nn.Embedding, str, str]]:
    """Return embedding, file and side for each side that has a file."""
    sides = [
        (model.source_embedding, config.source, "source"),
        (model.target_embedding, config.target, "target"),
    ]
    return [(embedding, name, side) for embedding, name, side in sides if name]
