"""The positional encodings of a model as tables, and a laboratory that needs no model."""

from __future__ import annotations

import math
from dataclasses import replace

import torch
from torch import Tensor

from dragoman.base.errors import ConfigError
from dragoman.inspection.arrays import Array
from dragoman.inspection.record import Positions, Table
from dragoman.models.convolutional import Convolutional
from dragoman.models.layers.positions import (
    AlibiBias,
    AttentionPositions,
    LearnedPositions,
    RelativePositions,
    RotaryPositions,
    SinusoidalPositions,
    T5Bias,
    sinusoidal,
)
from dragoman.models.recurrent import Recurrent
from dragoman.models.seq2seq import AnySeq2Seq
from dragoman.models.shapes import SinusoidLayout
from dragoman.models.transformer import SelfAttention, Transformer

_NOTES = {
    "sinusoidal": "Added to the embeddings: a sine and a cosine for each frequency (section 3.5).",
    "sinusoidal-halves": "Added to the embeddings: all sines, then all cosines (section 3.5).",
    "sinusoidal-t2t": (
        "Added to the embeddings: all sines, then all cosines. The frequencies differ a little from section "
        "3.5. They are 10000^(-i / (d_model/2 - 1)), as in Tensor2Tensor and Marian."
    ),
    "learned": "Added to the embeddings: a vector learned for each position.",
    "learned-apart": "Added to the embeddings: a vector learned for each position of source and of target.",
    "index": "The number of the position replaces the last dimension of the embedding.",
    "fraction": "Position / source length replaces the last dimension of the embedding.",
    "none": "The model has no positions.",
    "relative": "A vector learned for each distance is added to keys and to values (Shaw et al. 2018).",
    "t5": "A number for each head and range of distances is added to the logits (Raffel et al. 2020).",
    "alibi": "The logits fall with the distance, with a fixed slope for each head (Press et al. 2022).",
    "rotary": "Pairs of dimensions of queries and keys are rotated with the position (Su et al. 2021).",
    "recurrent": "A recurrent model reads in order, so it needs no positions.",
}


def positions_of(model: AnySeq2Seq, length: int) -> Positions:
    """Return the model's own tables, for positions 0 to length - 1 or the distances between them."""
    if isinstance(model, Recurrent):
        return Positions(kind="recurrent", note=_NOTES["recurrent"], tables=())
    tables: list[Table] = []
    kind = "none"
    if isinstance(model, Convolutional):
        kind = model.config.positions
        for side, module in (("source", model.source_positions), ("target", model.target_positions)):
            # The model divides the sum of words and positions by sqrt(E).
            for table in _on_input(module, length, f", {side}"):
                tables.append(replace(table, values=table.values / math.sqrt(model.config.d_model)))
    elif isinstance(model, Transformer):
        kind = model.config.positions
        if kind == "learned-apart":
            tables += _on_input(model.positions, length, ", source")
            tables += _on_input(model.target_positions, length, ", target")
        else:
            tables += _on_input(model.positions, length, "")
        for stack, layers in (("encoder", model.encoder), ("decoder", model.decoder)):
            if isinstance(attention := layers[0].attention, SelfAttention):
                tables += _in_attention(attention.positions, length, f", first layer of the {stack}")
    return Positions(kind=kind, note=_NOTES[kind], tables=tuple(tables))


def laboratory(
    width: int = 128, length: int = 64, *, base: float = 10000.0, layout: SinusoidLayout = "sinusoidal"
) -> Positions:
    """Return the table of section 3.5 for any width, length and base, without a model.

    Raises ConfigError for a width, length or base out of range.
    """
    if not 2 <= width <= 1024:
        raise ConfigError(f"width = {width} cannot be used", hint="from 2 to 1,024 dimensions")
    if not 1 <= length <= 1024:
        raise ConfigError(f"length = {length} cannot be used", hint="from 1 to 1,024 positions")
    if not (math.isfinite(base) and base > 1):
        raise ConfigError(f"base = {base} cannot be used", hint="a number above 1; the paper's is 10000")
    table = _sines("sinusoidal table", sinusoidal(length, width, layout, base=base), layout)
    return Positions(kind=layout, note=_NOTES[layout], tables=(table,))


def cosine_similarity(table: Array) -> Array:
    """Return similarity_NN between the rows, 0 for a row of zeros."""
    rows = torch.nn.functional.normalize(torch.from_numpy(table).double(), dim=-1)
    return _array(rows @ rows.T)


def _on_input(module: object, length: int, where: str) -> list[Table]:
    match module:
        case SinusoidalPositions():
            return [_sines(f"sinusoidal table{where}", module.rows(0, length), module.layout)]
        case LearnedPositions():
            return [Table(name=f"learned vectors{where}", values=_array(module.table.weight[:length]))]
        case _:
            return []


def _in_attention(module: AttentionPositions, length: int, where: str) -> list[Table]:
    match module:
        case RotaryPositions():
            angles = module.angles.rows(0, length)
            return [_sines(f"sine and cosine of the angles{where}", angles, "sinusoidal")]
        case RelativePositions():
            tables = {"added to keys": module.of_keys.weight, "added to values": module.of_values.weight}
            return [
                Table(name=name + where, rows="distance", first=-module.FARTHEST, values=_array(values))
                for name, values in tables.items()
            ]
        case T5Bias() | AlibiBias():
            like = next(iter((*module.parameters(), *module.buffers())))
            distances = torch.arange(1 - length, length, device=like.device)
            bias_HD = module.bias(like.new_zeros(1), distances[None])[:, 0]
            name, values = f"added to the logits{where}", _array(bias_HD.T)
            return [Table(name=name, rows="distance", first=1 - length, columns="head", values=values)]
        case _:
            return []


def _sines(name: str, values: Tensor, layout: SinusoidLayout) -> Table:
    return Table(
        name=name, layout="interleaved" if layout == "sinusoidal" else "halves", values=_array(values)
    )


def _array(values: Tensor) -> Array:
    return values.detach().cpu().float().numpy()
