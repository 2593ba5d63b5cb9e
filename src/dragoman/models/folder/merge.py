"""Adapters as weights: write one, read one, merge one into a model."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import cast

import torch
from torch import Tensor, nn

from dragoman.base.files import new_folder, write_whole
from dragoman.models.adapter import BIAS, DOWN, ROWS, ROWS_OF, UP, WEIGHT, AdapterShape
from dragoman.models.folder.bundle import Bundle, new_model, write_folder
from dragoman.models.folder.weights import (
    check_finite,
    outlines,
    put_weights,
    read_weights,
    weights_of,
    writing_weights,
)
from dragoman.models.lora import LowRank, low_rank_product
from dragoman.models.seq2seq import AnySeq2Seq
from dragoman.text.tokenizers.tokenizer import Tokenizer
from dragoman.translation.folder.adapter import (
    ADAPTER_WEIGHTS,
    EXTENDED,
    AdapterConfig,
    base_digest,
    extension,
    read_adapter,
    write_adapter_config,
)
from dragoman.translation.folder.card import continue_card, render_adapter_card
from dragoman.translation.folder.config import (
    CARD,
    DIGESTS,
    WEIGHTS,
    read_config,
    read_model_config,
    write_config,
    write_digests,
)
from dragoman.translation.folder.digest import check_digest, digest_of
from dragoman.translation.folder.shortlist import copy_shortlist
from dragoman.translation.folder.vocabulary import tokenizer_of_folder


def merge_lora(model: AnySeq2Seq) -> None:
    """Add the adapter's products to the matrices of the model, and remove the adapter."""
    for module in list(model.modules()):
        if isinstance(module, nn.Linear) and isinstance(part := getattr(module, "lora", None), LowRank):
            product = low_rank_product(part.down.detach(), part.up.detach(), part.shape.scale)
            module.weight.data.copy_(module.weight.data + product)
            part.hook.remove()
            del module.lora


def merged_matrices(
    weights: Mapping[str, Tensor], adapter: Mapping[str, Tensor], scale: float
) -> dict[str, Tensor]:
    """The matrices of a model that an adapter changes, with it added. Others are left out."""
    matrices = {}
    for name, down_CI in adapter.items():
        if (layer := name.removesuffix(DOWN)) != name:
            matrix = weights[layer + WEIGHT]
            product = low_rank_product(down_CI, adapter[layer + UP], scale)
            matrices[layer + WEIGHT] = (matrix + product).to(matrix.dtype)
    return matrices


def rows_of_new(weights: Mapping[str, Tensor], extended: tuple[int, int]) -> dict[str, Tensor]:
    """The rows of new tokens, as an adapter has them. `extended` has the sizes of the old vocabularies."""
    rows = {name + ROWS: weights[name][extended[side] :] for name, side in ROWS_OF.items() if name in weights}
    return {**rows, BIAS: weights[BIAS]}


def with_rows(
    weights: Mapping[str, Tensor], adapter: Mapping[str, Tensor], extended: tuple[int, int]
) -> dict[str, Tensor]:
    """The weights of a model that an adapter adds rows to, with them."""
    rows = {
        name: torch.cat([weights[name][: extended[side]], adapter[name + ROWS].to(weights[name])])
        for name, side in ROWS_OF.items()
        if name in weights
    }
    return {**rows, BIAS: adapter[BIAS]}


def write_adapter(
    weights: Mapping[str, Tensor],
    shape: AdapterShape,
    folder: Path,
    *,
    base: Path,
    name: str,
    guidance: tuple[str, ...] | None = None,
    directions: Sequence[tuple[str, str]] = (),
    extended: Bundle | None = None,
) -> None:
    """Write an adapter into `folder`, the weights last, as float32.

    `base` is the folder of the model that it was trained on. `name` is a title for people. An adapter that
    adds languages has the rows of new tokens among its weights, and the tokenizer and the languages of
    `extended`. Raises DragomanError if the folder cannot be written.
    """
    about, sealed = read_model_config(base), None
    if extended is not None:
        place = folder / EXTENDED
        place.mkdir(parents=True, exist_ok=True)
        write_config(replace(extended.config, extended=about.extended), place)
        extended.tokenizer.save(place)
        write_digests(place, ("config.json", "generation.json", "tokenizer.json"))
        sealed = digest_of(place / DIGESTS)
    weights = {name: weight.detach().float() for name, weight in weights.items()}
    parameters = sum(weight.numel() for weight in weights.values())
    with writing_weights(folder / ADAPTER_WEIGHTS, weights) as part:
        config = AdapterConfig(
            name=name,
            source_language=about.source_language,
            target_language=about.target_language,
            shape=shape,
            base=base_digest(base, about),
            base_name=base.absolute().name,
            weights=digest_of(part),
            extended=sealed,
            guidance=guidance,
            directions=tuple(directions),
        )
        write_adapter_config(config, folder)
        write_whole(folder / CARD, render_adapter_card(config, parameters, directions))


def adapted(bundle: Bundle, folder: Path, adapter: AdapterConfig) -> Bundle:
    """The model with the adapter in `folder` merged in. It shares all other weights with that of `bundle`,
    unless the adapter adds languages.

    `adapter` comes from `read_adapter`, which has checked the folder.
    """
    model, path = bundle.model, folder / ADAPTER_WEIGHTS
    weights = {name: weight.to(model.device) for name, weight in read_weights(path).items()}
    matrices = merged_matrices(own := weights_of(model), weights, adapter.shape.scale)
    if (found := extension(folder, adapter)) is not None:
        config, old = found
        more = own | matrices | with_rows(own, weights, old)
        larger = new_model(config.model, outlines(more), path)
        put_weights(larger, more, path)
        cast(nn.Module, larger).to(own["target_embedding.weight"])
        return Bundle.of(larger, tokenizer_of_folder(folder / EXTENDED, config), config)
    # The memo of deepcopy, which it uses instead of copying: new matrices, and the other tensors themselves.
    parts = {
        id(own): nn.Parameter(matrices[name]) if name in matrices else own
        for name, own in model.named_parameters()
    }
    return replace(bundle, model=copy.deepcopy(model, parts))


def merge_adapter(folder: Path, adapter: Path, output: Path) -> None:
    """Write the model in `folder` with an adapter merged in to the new folder `output`, as floats.

    Search and model card are copied; so are tokenizer and shortlist, unless the adapter adds languages.
    Raises ConfigError if `output` exists, ModelError if a folder is damaged, if the adapter is for another
    model, or if weights are not finite. Leaves nothing behind then.
    """
    with new_folder(output) as part:
        config = read_config(folder)
        about = read_adapter(adapter, folder, config)
        tokenizer = Tokenizer.load(folder)
        check_digest(folder / WEIGHTS, config.weights)
        weights = read_weights(folder / WEIGHTS)
        added = read_weights(adapter / ADAPTER_WEIGHTS)
        weights |= merged_matrices(weights, added, about.shape.scale)
        merged = config if about.guidance is None else replace(config, guidance=about.guidance)
        merged = replace(merged, directions=about.directions or config.directions)
        if (found := extension(adapter, about)) is not None:
            merged, old = replace(found[0], generation=config.generation), found[1]
            tokenizer = tokenizer_of_folder(adapter / EXTENDED, merged)
            weights |= with_rows(weights, added, old)
        check_finite(weights, f"{adapter}: the merged model is")
        write_folder(replace(merged, quantised=None, original=None, extended=None), tokenizer, weights, part)
        if about.extended is None:
            copy_shortlist(folder, part)
        rows = [
            ["model", f"{folder}, {config.weights or 'without a digest'}"],
            ["adapter", f"{adapter}, {about.weights}"],
            ["name of the adapter", about.name],
        ]
        continue_card(folder, config, part, {"Merged": rows})
