"""The shape of a Marian model: its options and weight names, and ours, in both directions.

Option names come from src/common/config_parser.cpp, weight names from src/models/transformer.h in
marian-dev. Statements about Marian were checked with release 1.12.42.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import torch
from torch import Tensor

from dragoman.base.errors import ModelError
from dragoman.interop.name_table import NameTable, Row
from dragoman.models.shapes import Activation, SSRUConfig, Tie, TransformerConfig
from dragoman.text.tokenizers.ids import Specials

EPSILON = 1e-6  # of Marian's layer normalisation; it cannot be set
BIAS = "decoder_ff_logit_out_b"
OUTPUT = "decoder_ff_logit_out_Wt"

MULTIPLIER = "_QuantMultA"  # ends the name of the multiplier of a matrix's inputs, in 8-bit models

SILENT = -1000.0  # a bias that leaves an id no probability; finite, so that training can continue
CONTROLS = frozenset(f"<0x{byte:02X}>" for byte in range(32))  # pieces that Marian never writes
START = "<pad>"  # our name for the zero embedding

ACTIVATIONS: dict[str, Activation] = {"relu": "relu", "swish": "swish", "gelu": "gelu"}
_SIZES = {
    "dim-emb": "d_model", "enc-depth": "encoder_layers", "dec-depth": "decoder_layers",
    "transformer-heads": "heads", "transformer-dim-ffn": "d_ff",
}  # fmt: skip
_EXACT_GELU = (1, 12, 1)  # releases before have x sigmoid(1.702 x)
_YES, _NO = {"true", "yes", "on", "y"}, {"false", "no", "off", "n", ""}

Config = TransformerConfig | SSRUConfig


@dataclass(frozen=True)
class ModelOptions:
    """The options in `special:model.yml`, where every value is a string or a list of strings."""

    values: Mapping[str, Any]
    where: str

    def text(self, name: str, default: str = "") -> str:
        """A string. Raises ModelError, as the other methods do, if it is something else."""
        value = self.values.get(name, default)
        if not isinstance(value, str):
            raise self._wrong(name)
        return value

    def number(self, name: str, default: int | None = None) -> int:
        """An integer; without a default it is required."""
        try:
            return int(self.text(name, "" if default is None else str(default)))
        except ValueError:
            raise self._wrong(name) from None

    def real(self, name: str, default: float) -> float:
        """A number."""
        try:
            return float(self.text(name, str(default)))
        except ValueError:
            raise self._wrong(name) from None

    def flag(self, name: str) -> bool:
        """True or false, by default false."""
        value = self.text(name, "false").lower()
        if value not in _YES | _NO:
            raise self._wrong(name)
        return value in _YES

    def numbers(self, name: str) -> list[int]:
        """A list of integers, by default empty."""
        value = self.values.get(name, [])
        try:
            return [int(item) for item in ([value] if isinstance(value, str) else value) if item]
        except (TypeError, ValueError):
            raise self._wrong(name) from None

    def _wrong(self, name: str) -> ModelError:
        value = self.values.get(name)
        stated = "missing" if value is None else repr(value)
        return ModelError(f"{self.where}: the option {name} is {stated}", hint="was the file damaged?")


def refusals(options: ModelOptions, weights: Mapping[str, Tensor]) -> list[str]:
    """Return why the model cannot be imported, one reason an item; empty if it can."""
    if (kind := options.text("type")) not in ("transformer", "transformer-new"):
        return [f"type: {kind or 'missing'} (supported: transformer, transformer-new)"]
    return [*_layer_refusals(options), *_decoder_refusals(options), *_other_refusals(options, weights)]


def _layer_refusals(options: ModelOptions) -> Iterator[str]:
    before, after, top, embedding = (_operations(options, name) for name in ("pre", "post", "top", "emb"))
    if (before, after) not in (("", "an"), ("n", "a")):
        yield f"transformer-preprocess: {before}, transformer-postprocess: {after} (supported: dan; n and da)"
    if top and (before, top) != ("n", "n"):
        yield f"transformer-postprocess-top: {top} (supported: n, with transformer-preprocess: n)"
    if embedding:
        yield f"transformer-postprocess-emb: {embedding} (supported: d)"
    activation = options.text("transformer-ffn-activation", "swish")
    if activation not in ACTIVATIONS:
        yield f"transformer-ffn-activation: {activation} (supported: {', '.join(ACTIVATIONS)})"
    depths = (
        options.number("transformer-ffn-depth", 2),
        options.number("transformer-decoder-ffn-depth", 0) or 2,
    )
    if depths != (2, 2):
        yield f"transformer-ffn-depth: {depths[0]} and {depths[1]} (supported: 2)"
    width = options.number("transformer-dim-ffn")
    if (own := options.number("transformer-decoder-dim-ffn", 0)) not in (0, width):
        yield f"transformer-decoder-dim-ffn: {own} (supported: transformer-dim-ffn, {width})"
    if (mask := options.text("transformer-attention-mask", "default")) != "default":
        yield f"transformer-attention-mask: {mask} (supported: default)"


def _decoder_refusals(options: ModelOptions) -> Iterator[str]:
    reader, cell = _reader(options), options.text("dec-cell")
    if reader not in ("self-attention", "rnn"):
        yield f"transformer-decoder-autoreg: {reader} (supported: self-attention, rnn)"
    if is_recurrent(options) and cell != "ssru":
        yield f"dec-cell: {cell} (supported: ssru)"
    for name in ("transformer-rnn-projection", "layer-normalization"):
        if is_recurrent(options) and options.flag(name):
            yield f"{name}: true with dec-cell: {cell}"
    layers, depth = options.numbers("transformer-tied-layers"), options.number("dec-depth")
    if layers and not (len(layers) == depth and set(layers) <= set(range(1, depth + 1))):
        yield f"transformer-tied-layers: {layers} (dec-depth is {depth})"


def _other_refusals(options: ModelOptions, weights: Mapping[str, Tensor]) -> Iterator[str]:
    if "Wpos" in weights:
        yield "learned positions (Wpos)"
    for name in ("transformer-pool", "ulr", "right-left"):
        if options.flag(name):
            yield f"{name}: true"
    if options.number("lemma-dim-emb", 0):
        yield "lemma-dim-emb: factored vocabularies"


def config_of(options: ModelOptions, sizes: Sequence[int], specials: Specials) -> Config:
    """Return our configuration with the older layers' epsilon, for vocabularies of these sizes.

    Raises ConfigError for numbers that no model can have.
    """
    pre = is_pre_norm(options)
    positioned = not options.flag("transformer-disable-position-embeddings")
    kind = SSRUConfig if is_recurrent(options) else TransformerConfig
    return kind(
        source_vocab=sizes[0],
        target_vocab=sizes[1],
        dropout=0.1,
        tie=tie_of(options),
        output_bias=True,
        pad_id=specials.pad,
        start_id=specials.start,
        end_id=specials.end,
        norm="pre" if pre else "post",
        norm_epsilon=EPSILON,
        final_norm=not pre or _operations(options, "top") == "n",
        activation=_activation(options),
        positions="sinusoidal-t2t" if positioned else "none",
        embedding_scale=positioned,
        attention_bias=True,
        **{ours: options.number(theirs) for theirs, ours in _SIZES.items()},  # type: ignore[arg-type]
    )


def is_pre_norm(options: ModelOptions) -> bool:
    """Whether layers normalise their input."""
    return _operations(options, "pre") == "n"


def is_recurrent(options: ModelOptions) -> bool:
    """Whether the decoder has a recurrent cell in place of self-attention."""
    return _reader(options) == "rnn"


def tie_of(options: ModelOptions) -> Tie:
    """Return which matrices are one. Marian can share the embeddings alone; they become two equal ones."""
    if options.flag("tied-embeddings-all"):
        return "all"
    if options.flag("tied-embeddings"):
        return "all" if options.flag("tied-embeddings-src") else "decoder"
    return "none"


def options_of(config: Config) -> dict[str, Any]:
    """Return Marian's options of the model, which `special:model.yml` holds."""
    pre = config.norm == "pre"
    return {
        "type": "transformer",
        "dim-vocabs": [config.source_vocab, config.target_vocab],
        **{theirs: getattr(config, ours) for theirs, ours in _SIZES.items()},
        "transformer-decoder-dim-ffn": 0,
        "transformer-ffn-depth": 2,
        "transformer-decoder-ffn-depth": 0,
        "transformer-ffn-activation": config.activation,
        "transformer-preprocess": "n" if pre else "",
        "transformer-postprocess": "da" if pre else "dan",
        "transformer-postprocess-emb": "d",
        "transformer-postprocess-top": "n" if pre and config.final_norm else "",
        "transformer-decoder-autoreg": "rnn" if isinstance(config, SSRUConfig) else "self-attention",
        "dec-cell": "ssru" if isinstance(config, SSRUConfig) else "gru",
        "transformer-disable-position-embeddings": config.positions == "none",
        "transformer-no-projection": False,
        "layer-normalization": False,
        "tied-embeddings": config.tie == "decoder",
        "tied-embeddings-all": config.tie == "all",
        "tied-embeddings-src": False,
        "output-omit-bias": False,
        "input-types": [],
        "transformer-tied-layers": [],
    }


def canonical_weights(weights: Mapping[str, Tensor], options: ModelOptions) -> dict[str, Tensor]:
    """Return the weights under the names and in the layout of `name_table`.

    Tied layers and shared embeddings are repeated, and parts that the model leaves out become neutral.
    """
    named = dict(weights)
    layers = options.numbers("transformer-tied-layers")
    if layers:
        tied = {name: named.pop(name) for name in weights if re.match(r"decoder_l\d+_", name)}
        for layer, original in enumerate(layers, 1):
            begin = f"decoder_l{original}_"
            named |= {
                f"decoder_l{layer}_{name.removeprefix(begin)}": weight
                for name, weight in tied.items()
                if name.startswith(begin)
            }
    if "Wemb" in named and tie_of(options) == "none" and options.flag("tied-embeddings-src"):
        named["encoder_Wemb"] = named["decoder_Wemb"] = named.pop("Wemb")
    if (upright := named.pop("decoder_ff_logit_out_W", None)) is not None:
        named[OUTPUT] = upright.T
    target = named.get({"all": "Wemb", "decoder": "decoder_Wemb", "none": OUTPUT}[tie_of(options)])
    if options.flag("output-omit-bias") and target is not None:
        named[BIAS] = torch.zeros(1, len(target))
    if options.flag("transformer-no-projection"):
        for name in [name.removesuffix("_Wq") for name in named if name.endswith("_Wq")]:
            width = len(named[f"{name}_Wq"])
            named |= {f"{name}_Wo": torch.eye(width), f"{name}_bo": torch.zeros(1, width)}
    return named


def name_table(config: Config) -> NameTable:
    """Return the weight names of a model with all its biases."""
    rows = [Row("logits.bias", (BIAS,), "row")]
    if config.tie == "all":
        rows.append(Row("target_embedding.weight", ("Wemb",)))
    else:
        rows.append(Row("target_embedding.weight", ("decoder_Wemb",)))
        rows.append(Row("source_embedding.weight", ("encoder_Wemb",)))
    if config.tie == "none":
        rows.append(Row("logits.weight", (OUTPUT,)))
    if config.positions == "learned":
        rows.append(Row("positions.table.weight", ("positions",)))
    for side, count in (("encoder", config.encoder_layers), ("decoder", config.decoder_layers)):
        for layer in range(count):
            rows += _layer(config, side, layer)
        if config.norm == "pre" and config.final_norm:
            rows += _norm(f"{side}_norm", f"{side}_top", "")
    return NameTable(rows=rows)


def unused(number: int) -> str:
    """Return our name for an id without a piece."""
    return f"<unused {number}>"


def _layer(config: Config, side: str, layer: int) -> list[Row]:
    ours, theirs = f"{side}.{layer}", f"{side}_l{layer + 1}"
    pre = "_pre" if config.norm == "pre" else ""
    if side == "decoder" and isinstance(config, SSRUConfig):
        rows = [
            Row(f"{ours}.attention.candidate.weight", (f"{theirs}_rnn_W",), "transposed"),
            Row(f"{ours}.attention.forget.weight", (f"{theirs}_rnn_Wf",), "transposed"),
            Row(f"{ours}.attention.forget.bias", (f"{theirs}_rnn_bf",), "row"),
        ]
        normed = f"{theirs}_rnn" if pre else f"{theirs}_rnn_ffn"
        rows += _norm(f"{ours}.attention_residual.norm", normed, pre)
    else:
        rows = _attention(f"{ours}.attention", f"{theirs}_self", pre)
    if side == "decoder":
        rows += _attention(f"{ours}.cross_attention", f"{theirs}_context", pre)
    for part, number in (("inner", 1), ("outer", 2)):
        rows.append(Row(f"{ours}.feed_forward.{part}.weight", (f"{theirs}_ffn_W{number}",), "transposed"))
        rows.append(Row(f"{ours}.feed_forward.{part}.bias", (f"{theirs}_ffn_b{number}",), "row"))
    return rows + _norm(f"{ours}.feed_forward_residual.norm", f"{theirs}_ffn_ffn", pre)


def _attention(ours: str, theirs: str, pre: str) -> list[Row]:
    weights, biases = (tuple(f"{theirs}_{kind}{part}" for part in "qkv") for kind in "Wb")
    return [
        Row(f"{ours}.project.weight", weights, "transposed"),
        Row(f"{ours}.project.bias", biases, "row"),
        Row(f"{ours}.output.weight", (f"{theirs}_Wo",), "transposed"),
        Row(f"{ours}.output.bias", (f"{theirs}_bo",), "row"),
        *_norm(f"{ours}_residual.norm", f"{theirs}_Wo", pre),
    ]


def _norm(ours: str, theirs: str, pre: str) -> list[Row]:
    return [
        Row(f"{ours}.weight", (f"{theirs}_ln_scale{pre}",), "row"),
        Row(f"{ours}.bias", (f"{theirs}_ln_bias{pre}",), "row"),
    ]


def _operations(options: ModelOptions, which: Literal["pre", "post", "top", "emb"]) -> str:
    """Return the operations around a layer, without dropout, which translation does not use."""
    names = {"pre": "preprocess", "post": "postprocess", "top": "postprocess-top", "emb": "postprocess-emb"}
    return options.text(f"transformer-{names[which]}", "dan" if which == "post" else "").replace("d", "")


def _reader(options: ModelOptions) -> str:
    """Return the part that reads the translation so far."""
    return options.text("transformer-decoder-autoreg", "self-attention")


def _activation(options: ModelOptions) -> Activation:
    name = options.text("transformer-ffn-activation", "swish")
    release = re.match(r"v(\d+)\.(\d+)\.(\d+)", options.text("version"))
    if name == "gelu" and release and tuple(map(int, release.groups())) < _EXACT_GELU:
        return "quick-gelu"
    return ACTIVATIONS[name]


def yaml_of(options: Mapping[str, bool | float | str | Sequence[float | str]]) -> str:
    """Return options as YAML, which Marian reads."""
    return "".join(f"{name}: {in_yaml(value)}\n" for name, value in options.items())


def in_yaml(value: bool | float | str | Sequence[float | str]) -> str:
    """Return a value as YAML writes it, which is as JSON but for some characters."""
    breaks = {0x85: "\\N", 0x2028: "\\L", 0x2029: "\\P", 0x7F: "\\x7f"}
    return json.dumps(value, ensure_ascii=False).translate(breaks)
