"""Marian's newer layers, `type: transformer-new` (src/layers_new and src/models/transformer_new.h).

They hold models that the older ones cannot. Encoder and decoder have tables of positions of their own, so any
encoding of the input fits. The first row of the decoder's also holds the start embedding, because Marian's
decoder starts from zeros. Keys and values of pre-norm decoders are right. Layer normalisation adds 1e-5 to
the variance. With tables, Marian does not scale embeddings, so they are stored scaled, apart from the output.

Models that dragoman wrote describe the original in options of ours, so that they come back bit for bit.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from typing import Any, get_args

import torch
from torch import Tensor

from dragoman.base.config import from_table, to_table
from dragoman.base.errors import ModelError
from dragoman.interop.marian.shape import BIAS, OUTPUT, SILENT, Config, ModelOptions
from dragoman.models.layers.positions import LearnedPositions, sinusoidal
from dragoman.models.shapes import SinusoidLayout

TYPE = "transformer-new"
EPSILON = 1e-5
ROWS = LearnedPositions.LONGEST  # positions in a table; Marian refuses longer sentences
POSITIONS = (*get_args(SinusoidLayout), "learned", "none")

_ROUNDING = 1e-5  # sines differ in the last digit from machine to machine

_TABLES = {
    side: f"TransformerBatch{side.title()}->{side}->positionEmbedding->embeddings"
    for side in ("encoder", "decoder")
}
_LAYERS = {"encoder": "TransformerEncoderLayer", "decoder": "TransformerDecoderLayerWithCrossAttention"}
_OURS = ("positions", "embedding_scale", "tie", "attention_bias", "output_bias")  # of our configuration


def is_modern(options: ModelOptions) -> bool:
    """Whether the model has the newer layers."""
    return options.text("type") == TYPE


def is_ours(options: ModelOptions) -> bool:
    """Whether dragoman wrote the model, with tables of positions."""
    return is_modern(options) and all(_key(name) in options.values for name in _OURS)


def own_options(config: Config) -> dict[str, Any]:
    """Return the options that a model with tables has in addition to those of the older layers."""
    return {
        "type": TYPE,
        "transformer-train-position-embeddings": True,
        "max-length": ROWS,
        "tied-embeddings": False,
        "tied-embeddings-all": False,
        **{_key(name): getattr(config, name) for name in _OURS},
    }


def restored(config: Config, options: ModelOptions) -> Config:
    """Return the configuration that a model had before `own_options`. Raises ConfigError for other values."""
    stated: dict[str, Any] = {
        name: options.flag(_key(name)) if isinstance(value, bool) else options.text(_key(name))
        for name, value in to_table(config).items()
        if name in _OURS
    }
    return from_table(type(config), {**to_table(config), **stated})


def newer_refusals(options: ModelOptions) -> Iterator[str]:
    """Return why a model with the newer layers cannot be imported, besides reasons for both kinds."""
    if options.flag("transformer-train-position-embeddings") and not is_ours(options):
        yield "transformer-train-position-embeddings: encoder and decoder have different learned positions"
    for name in ("transformer-no-bias", "transformer-no-affine", "transformer-no-projection"):
        if options.flag(name):
            yield f"{name}: true"
    if options.numbers("transformer-tied-layers"):
        yield "transformer-tied-layers"


def name_of(name: str, config: Config) -> str:
    """Return the name of a weight in the newer layers from its older one."""
    if top := re.fullmatch(r"(encoder|decoder)_top_ln_(scale|bias)", name):
        return f"{_stack(top[1])}->postprocessor->norm->{_part(top[2])}"
    layer = re.fullmatch(r"(encoder|decoder)_l(\d+)_(self|rnn|context|ffn)_(.+)", name)
    if layer is None:
        return name  # embeddings, and the bias of the output
    side, number, block, rest = layer.groups()
    begin = f"{_stack(side)}->layers->at({int(number) - 1})->as<marian::nn::{_LAYERS[side]}>()->"
    reading = "selfAttentionBlock" if side == "encoder" else "autoRegressiveBlock"
    begin += {"self": reading, "rnn": reading, "context": "crossAttentionBlock", "ffn": "filterBlock"}[block]
    if norm := re.search(r"ln_(scale|bias)(_pre)?$", rest):
        return f"{begin}->{'pre' if norm[2] else 'post'}processor->norm->{_part(norm[1])}"
    part = "weight" if rest[0] == "W" else "bias"
    if block == "rnn":
        return f"{begin}->rnn->cell->{'f' if rest.endswith('f') else 'i'}Proj->{part}"
    if block == "ffn":
        fused = config.activation == "relu"
        place = 0 if rest[1] == "1" else 1 if fused else 3
        kind = "LinearReluDropout" if fused and place == 0 else "Linear"
        return f"{begin}->layers->at({place})->as<marian::nn::{kind}>()->{part}"
    return f"{begin}->{block if block == 'self' else 'cross'}Attention->{rest[1]}Proj->{part}"


def with_tables(weights: Mapping[str, Tensor], config: Config, start: Tensor) -> dict[str, Tensor]:
    """Return weights with older names as the newer layers have them. `start` is the start embedding."""
    scale = _scale(config.embedding_scale, config.d_model)
    encoder = _table(config.positions, config.d_model, weights.get("positions"))
    decoder = encoder.clone()
    decoder[0] += start * scale
    found = {}
    for name, weight in weights.items():
        if name != "positions":
            newer = name_of(name, config)
            found[newer] = weight[0] if newer != name and len(weight) == 1 else weight
    for side in ("encoder", "decoder"):
        found[f"{side}_Wemb"] = weights[f"{side}_Wemb"] * scale
    return found | {_TABLES["encoder"]: encoder, _TABLES["decoder"]: decoder}


def with_older_names(weights: Mapping[str, Tensor], config: Config, names: list[str]) -> dict[str, Tensor]:
    """Return the weights under those of `names`, their older ones, that stand for them."""
    older = {name_of(name, config): name for name in names}
    return {
        older.get(name, name): weight[None]
        if name.startswith("Transformer") and weight.dim() == 1
        else weight
        for name, weight in weights.items()
    }


def without_tables(weights: Mapping[str, Tensor], options: ModelOptions, start: int) -> dict[str, Tensor]:
    """Return the weights of a model that dragoman wrote, as they were. `start` is the id of the start token.

    Raises ModelError if `with_tables` did not write them.
    """
    found = dict(weights)
    width, tie = options.number("dim-emb"), options.text(_key("tie"))
    scale = _scale(options.flag(_key("embedding_scale")), width)
    kind = options.text(_key("positions"))
    needed = [*_TABLES.values(), "encoder_Wemb", "decoder_Wemb", OUTPUT]
    if kind not in POSITIONS or not all(name in found and found[name].dim() == 2 for name in needed):
        raise _changed(options)
    encoder, decoder = (found.pop(table) for table in _TABLES.values())
    if kind == "learned":
        found["positions"] = encoder
    expected = _table(kind, width, found.get("positions"))
    if not encoder.shape == decoder.shape == expected.shape:
        raise _changed(options)
    output, source, target = found[OUTPUT], found.pop("encoder_Wemb"), found.pop("decoder_Wemb")
    if start == len(target) and (bias := found.get(BIAS)) is not None:  # an id that had no piece
        row = (decoder[:1] - expected[:1]) / scale
        target, output = torch.cat((target, row * scale)), torch.cat((output, row))
        found[BIAS] = torch.cat((bias, torch.full((1, 1), SILENT)), 1)
    rows = {"target": output if tie != "none" else target / scale, "source": source / scale}
    if tie == "all":
        found["Wemb"] = output
    else:
        found |= {"encoder_Wemb": rows["source"], "decoder_Wemb": rows["target"]}
    if tie != "none":
        del found[OUTPUT]
    first = expected[0] + rows["target"][start] * scale
    alike = torch.allclose(encoder, expected, rtol=0, atol=_ROUNDING)
    alike = alike and torch.equal(decoder[1:], encoder[1:])
    if not (alike and torch.allclose(decoder[0], first, atol=_ROUNDING)):
        raise _changed(options)
    return found


def _table(kind: str, width: int, learned: Tensor | None) -> Tensor:
    match kind:
        case "sinusoidal" | "sinusoidal-halves" | "sinusoidal-t2t":
            return sinusoidal(ROWS, width, kind)
        case "learned" if learned is not None:
            return learned
        case _:
            return torch.zeros(ROWS, width)


def _scale(scaled: bool, width: int) -> float:
    return math.sqrt(width) if scaled else 1.0


def without_zeros(
    weights: Mapping[str, Tensor], left_out: set[str], options: ModelOptions
) -> dict[str, Tensor]:
    """Return the weights without `left_out`, biases that the model did not have. They must be zero."""
    if any(name in left_out and bool(weight.any()) for name, weight in weights.items()):
        raise _changed(options)
    return {name: weight for name, weight in weights.items() if name not in left_out}


def _key(name: str) -> str:
    return f"dragoman-{name}"


def _changed(options: ModelOptions) -> ModelError:
    return ModelError(
        f"{options.where}: written by dragoman, but changed since",
        hint="export the model again, or remove the options that begin with dragoman",
    )


def _stack(side: str) -> str:
    return f"TransformerBatch{side.title()}->{side}"


def _part(name: str) -> str:
    return "weight" if name == "scale" else "bias"
