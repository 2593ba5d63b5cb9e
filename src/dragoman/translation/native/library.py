"""The functions of the engine's library, as `cpp/api.cpp` declares them."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping, Sequence
from ctypes import c_char_p, c_double, c_float, c_int32, c_int64, c_void_p
from typing import Any, get_args

from dragoman.base.errors import ConfigError, ModelError
from dragoman.models.shapes import Activation, SSRUConfig, Tie, TransformerConfig
from dragoman.translation.folder.quantised import INPUT_MULTIPLIER, SCALE, dequantised
from dragoman.translation.native.build import library
from dragoman.translation.native.weights import Placed, PlacedWeights
from dragoman.translation.search.options import Average, Normalization, Stop

TYPES = ("float32", "bfloat16", "int8")
STOPS: tuple[Stop, ...] = get_args(Stop)
NORMALIZATIONS: tuple[Normalization, ...] = get_args(Normalization)
AVERAGES: tuple[Average, ...] = get_args(Average)

# The enumerations of the library, in its order.
_STORED = ("float32", "float64", "float16", "bfloat16", "int8")
_ACTIVATIONS: tuple[Activation, ...] = ("relu", "gelu", "quick-gelu", "swish", "swiglu")
_TIES: tuple[Tie, ...] = ("all", "decoder", "none")
_POSITIONS = (
    *("sinusoidal", "sinusoidal-halves", "sinusoidal-t2t", "learned", "learned-apart", "index", "fraction"),
    *("none", "relative", "t5", "alibi", "rotary"),
)
_MESSAGE = 400  # bytes


class _Shape(ctypes.Structure):
    """`Shape` in cpp/shape.h."""

    _fields_ = [
        *(
            (name, c_int32)
            for name in ("source_vocab", "target_vocab", "width", "hidden", "heads", "kv_heads")
        ),
        *((name, c_int32) for name in ("encoder_layers", "decoder_layers", "pad", "start", "end")),
        *((name, c_int32) for name in ("tie", "positions", "activation", "window", "ssru", "pre_norm")),
        *((name, c_int32) for name in ("rms_norm", "final_norm", "scale_embeddings", "norm_embeddings")),
        *((name, c_int32) for name in ("attention_bias", "output_bias")),
        ("epsilon", c_float),
    ]


class _Weight(ctypes.Structure):
    """`NamedWeight` in cpp/api.cpp."""

    _fields_ = [
        ("name", c_char_p), ("data", c_void_p), ("scale", c_void_p), ("multipliers", c_void_p),
        ("rows", c_int64), ("columns", c_int64), ("stored", c_int32), ("blocks", c_int32),
    ]  # fmt: skip


class Collected(ctypes.Structure):
    """`Collected` in cpp/api.cpp."""

    _fields_ = [
        ("answers", c_int64),
        ("numbers", ctypes.POINTER(c_int32)),
        ("fractions", ctypes.POINTER(c_float)),
        ("scores", ctypes.POINTER(c_double)),
        ("count_numbers", c_int64),
        ("count_fractions", c_int64),
        ("count_scores", c_int64),
    ]


_WEIGHTS, _REASON = (ctypes.POINTER(_Weight), c_int64, c_int32), (c_char_p, c_int64)
_FUNCTIONS: dict[str, tuple[Any, tuple[Any, ...]]] = {  # what they return and take
    "instructions": (c_char_p, _REASON),
    "open": (c_void_p, (ctypes.POINTER(_Shape), *_WEIGHTS, c_int32, c_int32, *_REASON)),
    "adapt": (c_void_p, (c_void_p, *_WEIGHTS, *_WEIGHTS[:2], c_double, c_int32, *_REASON)),
    "ensemble": (c_void_p, (ctypes.POINTER(c_void_p), c_int32, c_int32, c_int32, *_REASON)),
    "close": (None, (c_void_p,)),
    "begin": (c_void_p, (c_void_p, c_int64)),
    "end": (None, (c_void_p,)),
    "submit": (c_int32, (c_void_p, c_int64, c_void_p, c_void_p)),
    "collect": (ctypes.POINTER(Collected), (c_void_p, c_int64, c_int32)),
    "free": (None, (ctypes.POINTER(Collected),)),
}


def functions() -> ctypes.CDLL:
    """Return the library with the types of its functions. Raises ConfigError if it is missing."""
    found = library()
    for name, (result, arguments) in _FUNCTIONS.items():
        function = getattr(found, f"dragoman_{name}")
        function.restype, function.argtypes = result, arguments
    return found


def instructions() -> str:
    """Return the name of the instruction set in use.

    Raises ConfigError if the library is missing, or DRAGOMAN_INSTRUCTIONS names an instruction set that the
    processor lacks.
    """
    message = ctypes.create_string_buffer(_MESSAGE)
    name: bytes | None = functions().dragoman_instructions(message, _MESSAGE)
    if name is None:
        raise ConfigError(
            message.value.decode(errors="replace"), hint="unset DRAGOMAN_INSTRUCTIONS, or choose another"
        )
    return name.decode()


def open_engine(
    config: TransformerConfig | SSRUConfig, weights: PlacedWeights, dtype: str, threads: int, where: str
) -> int:
    """Pack the weights and return the engine, for `dragoman_close`. `where` names the weights in errors."""
    instructions()  # raises ConfigError for a wrong setting
    shape, table = _shape(config, where), _table(weights, where)
    arguments = ctypes.byref(shape), table, len(table), TYPES.index(dtype), weights.mapped, threads
    hint = "config.json and the weights do not belong together"
    return _opened(functions().dragoman_open, *arguments, where=where, hint=hint)


def open_adapted(
    base: int,
    weights: PlacedWeights,
    adapter: PlacedWeights,
    scale: float,
    *,
    threads: int,
    where: str,
    where_adapter: str,
) -> int:
    """Return an engine for the model of the engine `base` with an adapter, for `dragoman_close`.

    `weights` belong to the base. `where` names them in errors, and `where_adapter` the adapter.
    """
    own, added = _table(weights, where), _table(adapter, where_adapter)
    arguments = base, own, len(own), weights.mapped, added, len(added), scale, threads
    hint = "this adapter belongs to another model"
    return _opened(functions().dragoman_adapt, *arguments, where=where_adapter, hint=hint)


def open_ensemble(engines: Sequence[int], average: Average, threads: int) -> int:
    """Return an engine for the models of several engines together, for `dragoman_close`.

    Their weights must stay in place.
    """
    arguments = (c_void_p * len(engines))(*engines), len(engines), AVERAGES.index(average), threads
    return _opened(functions().dragoman_ensemble, *arguments, where="ensemble", hint="use fewer models")


def _opened(function: Any, *arguments: object, where: str, hint: str) -> int:
    """Return the engine that a function of the library opens. Raises ModelError with the library's reason."""
    message = ctypes.create_string_buffer(_MESSAGE)
    handle: int | None = function(*arguments, message, _MESSAGE)
    if handle is None:
        raise ModelError(f"{where}: {message.value.decode(errors='replace')}", hint=hint)
    return handle


def _table(weights: PlacedWeights, where: str) -> ctypes.Array[_Weight]:
    """Raises ModelError if int8 matrices and what belongs to them do not fit."""
    placed = weights.weights
    names = dequantised({name: one.outline for name, one in placed.items()}, where)
    return (_Weight * len(names))(*(_weight(name, placed, where) for name in names))


def _shape(config: TransformerConfig | SSRUConfig, where: str) -> _Shape:
    """Raises ModelError for a size that 32 bits do not hold: ctypes would cut it."""
    sizes = (config.source_vocab, config.target_vocab, config.d_model, config.d_ff)
    if (most := max(*sizes, config.encoder_layers, config.decoder_layers)) >= 2**31:
        raise ModelError(f"{where}: a model of size {most:,}", hint="config.json is damaged: restore it")
    return _Shape(
        source_vocab=config.source_vocab,
        target_vocab=config.target_vocab,
        width=config.d_model,
        hidden=config.d_ff,
        heads=config.heads,
        kv_heads=config.kv_heads or config.heads,
        encoder_layers=config.encoder_layers,
        decoder_layers=config.decoder_layers,
        pad=config.pad_id,
        start=config.start_id,
        end=config.end_id,
        tie=_TIES.index(config.tie),
        positions=_POSITIONS.index(config.positions),
        activation=_ACTIVATIONS.index(config.activation),
        window=min(config.window or 0, 2**30),
        ssru=isinstance(config, SSRUConfig),
        pre_norm=config.norm == "pre",
        rms_norm=config.norm_kind == "rms",
        final_norm=config.final_norm,
        scale_embeddings=config.embedding_scale,
        norm_embeddings=config.embedding_norm,
        attention_bias=config.attention_bias,
        output_bias=config.output_bias,
        epsilon=config.norm_epsilon,
    )


def _weight(name: str, weights: Mapping[str, Placed], where: str) -> _Weight:
    """Raises ModelError for a type that holds no weights."""
    outline, address = weights[name]
    if outline.dtype not in _STORED or len(outline.shape) not in (1, 2):
        raise ModelError(
            f"{where}: {name} holds {outline.dtype} of shape {outline.shape}, not weights",
            hint="restore the file or train again",
        )
    rows, columns = (*outline.shape, 1)[:2]
    scale, multiplier = weights.get(name + SCALE), weights.get(name + INPUT_MULTIPLIER)
    return _Weight(
        name.encode(), address, scale and scale.address, multiplier and multiplier.address, rows, columns,
        _STORED.index(outline.dtype), multiplier.outline.count if multiplier else 0,
    )  # fmt: skip
