"""The model before its first update: new, or the base of a tuning run."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import torch

from dragoman.base.errors import ModelError
from dragoman.base.tables import count, listing
from dragoman.models.folder.bundle import Bundle
from dragoman.models.folder.weights import not_finite, put_weights, weights_of
from dragoman.models.layers.embeddings import close, open_tokens, reopen
from dragoman.models.lora import add_lora
from dragoman.models.seq2seq import AnySeq2Seq, build_model
from dragoman.training.runs.prepare import Prepared


def initial_model(prepared: Prepared, say: Callable[[str], None]) -> tuple[AnySeq2Seq, Bundle | None]:
    """Return the model before its first update, and in tuning the base that it starts from.

    Raises ModelError for a base that is not finite.
    """
    recipe, tokenizer = prepared.recipe, prepared.tokenizer
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
