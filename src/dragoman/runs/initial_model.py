"""The model before its first update: new, the base of a tuning run, or with pretrained word vectors."""

from __future__ import annotations

from collections.abc import Callable, Container
from dataclasses import replace
from pathlib import Path

import torch
from torch import nn

from dragoman.base.errors import DataError, ModelError
from dragoman.base.tables import count, listing
from dragoman.folder.bundle import Bundle
from dragoman.folder.weights import not_finite, put_weights, weights_of
from dragoman.models.embeddings import close, open_tokens, reopen
from dragoman.models.lora import add_lora
from dragoman.models.seq2seq import AnySeq2Seq, build_model
from dragoman.runs.prepare import Prepared
from dragoman.runs.recipe import EmbeddingsConfig
from dragoman.text.tokenizer import Tokenizer
from dragoman.text.vectors import read_vectors


def initial_model(prepared: Prepared, say: Callable[[str], None]) -> tuple[AnySeq2Seq, Bundle | None]:
    """Return the model before its first update, and in tuning the base that it starts from.

    Raises ModelError for a base that is not finite, DataError for word vectors that do not fit.
    """
    recipe, tokenizer, vectors = prepared.recipe, prepared.tokenizer, prepared.vectors
    config = replace(
        recipe.model,
        source_vocab=tokenizer.source_size,
        target_vocab=tokenizer.target_size,
        pad_id=tokenizer.pad_id,
        start_id=tokenizer.start_id,
        end_id=tokenizer.end_id,
    )
    model = build_model(config)
    base = None if prepared.base is None else prepared.base.load()
    if base is not None:
        _start_from(base, model, prepared, say)
    freeze(model, vectors)
    if not prepared.begun:
        prepared.world.leader_first(lambda: fill(model, tokenizer, vectors, say=say))
    if recipe.training.close_unseen:
        close(model.logits, torch.from_numpy(~prepared.training.in_targets(config.target_vocab)))
    return model, base


def _start_from(base: Bundle, model: AnySeq2Seq, prepared: Prepared, say: Callable[[str], None]) -> None:
    """Give the model the weights of the base, and adapters if the recipe trains some."""
    tuning = prepared.recipe.tuning
    if names := not_finite(weights_of(base.model)):
        raise ModelError(
            f"{tuning.base}: NaN or infinite in {listing(names, most=3)}", hint="choose another base"
        )
    if open_tokens(base.model.logits.bias) is not None:
        seen_V = torch.from_numpy(prepared.training.in_targets(model.config.target_vocab))
        # In the base, too: the tuned weights are averaged with its weights at the end.
        if opened := reopen(base.model.logits, seen_V):
            alone = "; an adapter alone does not open them" if tuning.adapter is not None else ""
            say(f"opened {count(opened, 'token')} of this text that the base never predicts{alone}")
    put_weights(model, weights_of(base.model), tuning.base)
    if tuning.adapter is not None:
        add_lora(model, rank=tuning.adapter.rank, alpha=tuning.adapter.alpha, on=tuning.adapter.on)


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
