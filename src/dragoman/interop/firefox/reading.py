"""A model of Firefox as a quantised model folder of ours: its numbers as they are, and its shortlist."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import cast

import numpy as np
import torch
from torch import Tensor

from dragoman.base.errors import ModelError
from dragoman.interop.marian import files
from dragoman.interop.marian.binary import Matrix
from dragoman.interop.marian.shape import MULTIPLIER, Config, ModelOptions, canonical_weights, name_table
from dragoman.interop.marian.shortlist import read_binary_shortlist
from dragoman.models.folder.bundle import Bundle, write_folder
from dragoman.models.folder.weights import weights_of
from dragoman.translation.folder import shortlist
from dragoman.translation.folder.config import SHORTLIST, write_digests
from dragoman.translation.folder.quantised import GREATEST, INPUT_MULTIPLIER, SCALE, is_quantised

_EMBEDDINGS = (("encoder_Wemb", "Wemb"), ("decoder_Wemb", "Wemb"))
OUTPUTS = ("Wemb", "decoder_Wemb")  # matrices that are the output layer, too
UNNAMED = "none"  # what Marian calls the output layer's matrix when a shortlist has selected columns of it


def save(bundle: Bundle, folder: Path, output: Path) -> None:
    """Write the model that was read from `folder` as a model folder: 8-bit weights and the shortlist.

    Raises ModelError if a file is damaged, or the numbers cannot be kept as they are.
    """
    found = files.find(folder)
    weights, values, matrices = files.read_marian_weights(found.model)
    config = cast(Config, bundle.model.config)  # which Marian's reader makes
    stored = weights_of(bundle.model)
    stored |= _integers(config, stored, weights, matrices, ModelOptions(values, str(found.model)))
    write_folder(replace(bundle.config, quantised="int8"), bundle.tokenizer, stored, output)
    if found.shortlist is not None:
        sizes = [len(next(one for name, one in weights.items() if name in names)) for names in _EMBEDDINGS]
        _save_shortlist(bundle, found.shortlist, sizes, output)


def _integers(
    config: Config,
    own: Mapping[str, Tensor],
    weights: Mapping[str, Tensor],
    matrices: Mapping[str, Matrix],
    options: ModelOptions,
) -> dict[str, Tensor]:
    """Return the numbers, scales and input multipliers of the matrices by our names."""
    multipliers = {
        name: weights.get(name + MULTIPLIER, weights.get(UNNAMED + MULTIPLIER) if name in OUTPUTS else None)
        for name in matrices
    }
    shapes = {name: one.numbers.shape for name, one in matrices.items()}
    # Each number of a matrix with its scale and its multiplier, so that parts can be joined in the same way.
    numbers, scales, inputs = (
        canonical_weights(parts, options)
        for parts in (
            {name: torch.from_numpy(one.numbers.astype(np.float32)) for name, one in matrices.items()},
            {name: torch.tensor(1 / one.multiplier).expand(shapes[name]) for name, one in matrices.items()},
            {
                name: one.reshape(-1)[0].expand(shapes[name])
                for name, one in multipliers.items()
                if one is not None
            },
        )
    )
    if options.flag("transformer-no-projection"):  # the identity that stands for it has no range of inputs
        inputs = {name: one for name, one in inputs.items() if not name.endswith("_Wo")}
    stored = {}
    for row in name_table(config).rows:
        if not is_quantised(row.ours) or row.ours not in own or row.theirs[0] not in numbers:
            continue
        whole, scale = (
            torch.cat([part[name].T if row.layout == "transposed" else part[name] for name in row.theirs])
            for part in (numbers, scales)
        )
        if float(whole.min()) < -GREATEST:
            raise ModelError(f"{options.where}: {row.theirs[0]} has a number below -127", hint="damaged?")
        added = len(own[row.ours]) - len(whole)  # the id of the start: zeros
        stored[row.ours] = torch.cat([whole, torch.zeros(added, whole.shape[1])]).to(torch.int8)
        stored[row.ours + SCALE] = torch.cat([scale.amax(1), scale.amax(1)[-1:].expand(added)])
        if row.ours != "source_embedding.weight" and all(name in inputs for name in row.theirs):
            blocks = torch.stack([inputs[name].amax() for name in row.theirs])
            stored[row.ours + INPUT_MULTIPLIER] = blocks[:1] if bool((blocks == blocks[0]).all()) else blocks
    return stored


def _save_shortlist(bundle: Bundle, path: Path, sizes: list[int], output: Path) -> None:
    """Write the shortlist. With a shared vocabulary, a token may be copied: it is its own last candidate.

    Marian's sentences end with the end token, whose translations are therefore always allowed.
    """
    first, rows = read_binary_shortlist(path, sources=sizes[0], targets=sizes[1])
    shape, tokenizer = bundle.model.config, bundle.tokenizer
    width = max(len(row) for row in rows) + 1
    candidates_VN = np.full((shape.source_vocab, width), -1, np.int32)
    probability_VN = np.zeros((shape.source_vocab, width), np.float32)
    shared = tokenizer.vocabularies[0] is tokenizer.vocabularies[1]
    for token, row in enumerate(rows):
        candidates_VN[token, : len(row)] = row
        probability_VN[token, : len(row)] = 1 / max(len(row), 1)  # the file does not have them
        if shared and token not in row:
            candidates_VN[token, len(row)] = token
    shortlist.write(
        output / SHORTLIST,
        tokenizer=shortlist.tokenizer_digest(output),
        frequent=np.unique([*range(first), *rows[tokenizer.specials.end]]).astype(np.int32),
        candidates=candidates_VN,
        probability=probability_VN,
    )
    write_digests(output, [SHORTLIST])
