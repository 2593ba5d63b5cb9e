"""The data of a trace: everything that the views of one translation need, as one object to save and load.

Arrays are float32. Their axes: L layers, H heads, Q queries, K keys, S source tokens and T target tokens,
both with the end.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, fields, is_dataclass
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Literal, Self, Union, get_args, get_origin, get_type_hints

import numpy as np

from dragoman.base.errors import DataError
from dragoman.base.files import write_whole
from dragoman.inspection import arrays
from dragoman.inspection.arrays import Array

FORMAT, VERSION = "dragoman-trace", 1

Kind = Literal["encoder", "decoder", "cross"]
Fate = Literal["kept", "pruned", "finished", "banned"]


@dataclass(frozen=True, kw_only=True)
class Token:
    """A token: its piece in the vocabulary, and its place in the text."""

    id: int
    piece: str  # ▁ is a space, <0xE4> a byte
    text: str  # the piece for special tokens, "" for all bytes of a character but the last
    start: int  # characters of the text
    end: int
    word: int | None  # index into `words`; None for special tokens


@dataclass(frozen=True, kw_only=True)
class Word:
    """A word: one token or several without a gap."""

    text: str
    start: int
    end: int


@dataclass(frozen=True, kw_only=True)
class Text:
    """One side, as the model sees it; the last token is the end."""

    text: str
    language: str
    tokens: tuple[Token, ...]
    words: tuple[Word, ...]


@dataclass(frozen=True, kw_only=True)
class Found:
    """A translation from the search."""

    text: str
    score: float  # normalised for length
    logp: float
    truncated: bool


@dataclass(frozen=True, kw_only=True, eq=False)  # arrays cannot be compared with ==
class Attention:
    """The weights of one kind of attention, from one teacher-forced pass."""

    kind: Kind
    queries: Literal["source", "inputs"]
    keys: Literal["source", "inputs"]
    causal: bool
    weights: Array  # LHQK; exactly 0 where a key is hidden


@dataclass(frozen=True, kw_only=True)
class Alternative:
    """A token that the model could have chosen."""

    token: int
    piece: str
    text: str
    probability: float


@dataclass(frozen=True, kw_only=True)
class Step:
    """One token of the translation, and the alternatives to it."""

    token: int
    piece: str
    text: str
    probability: float
    logp: float
    entropy: float  # nats
    alternatives: tuple[Alternative, ...]  # the most probable, best first


@dataclass(frozen=True, kw_only=True)
class Node:
    """A candidate of the beam search. `total` is the sum of `logp` from the root to it."""

    parent: int | None
    step: int
    token: int
    piece: str
    text: str
    logp: float
    total: float
    score: float  # `total`, normalised as if the translation ended here
    fate: Fate
    best: bool  # on the path to the translation


@dataclass(frozen=True, kw_only=True)
class Tree:
    """The candidates of a beam search `size` wide: for each row its best tokens, the end and banned ones."""

    size: int
    nodes: tuple[Node, ...]


@dataclass(frozen=True, kw_only=True, eq=False)
class Table:
    """The numbers that a model adds or multiplies for each position or distance."""

    name: str
    rows: Literal["position", "distance"] = "position"
    first: int = 0  # the position or distance of the first row
    columns: Literal["dimension", "head"] = "dimension"
    layout: Literal["interleaved", "halves"] | None = None  # the order of sines and cosines; None without
    values: Array


@dataclass(frozen=True, kw_only=True, eq=False)
class Positions:
    """How the model encodes the order of its input."""

    kind: str
    note: str
    tables: tuple[Table, ...]


@dataclass(frozen=True, kw_only=True, eq=False)
class Stack:
    """The self-attention logits of the first layers of a stack, and the terms that add up to them."""

    kind: Literal["encoder", "decoder"]
    causal: bool
    exact: tuple[bool, ...]  # one a layer
    notes: tuple[str, ...]
    values: Array  # L6HQK, in the order of `Terms.names`; 0 where a key is hidden, as in `logits`
    logits: Array  # LHQK


@dataclass(frozen=True, kw_only=True, eq=False)
class Terms:
    """Attention logits in terms of content and position."""

    names: tuple[str, ...]
    stacks: tuple[Stack, ...]


@dataclass(frozen=True, kw_only=True)
class TokenChange:
    """A token of a translation, and its log-probabilities in the untouched model and in the changed one."""

    text: str
    piece: str
    word: int | None  # index into `words` of its side; None for special tokens
    before: float  # nats
    after: float


@dataclass(frozen=True, kw_only=True)
class WordChange:
    """Words `before` of the untouched translation, replaced by words `after` of the changed one.

    Both are ranges: the first, and the one after the last. One of them may be empty.
    """

    before: tuple[int, int]
    after: tuple[int, int]


@dataclass(frozen=True, kw_only=True)
class Model:
    """The model that was inspected."""

    title: str
    architecture: str
    parameters: int
    source_language: str
    target_language: str
    config: dict[str, Any]


@dataclass(frozen=True, kw_only=True, eq=False)
class Record:
    """The record of a model's work on one sentence."""

    dragoman: str  # the version that made it
    model: Model
    search: dict[str, Any]
    source: Text
    target: Text
    inputs: tuple[Token, ...]  # row i of an array reads inputs[i] and predicts target.tokens[i]
    translations: tuple[Found, ...]  # best first; the rest of the record describes the first
    attention: tuple[Attention, ...]
    steps: tuple[Step, ...]
    alignment: Array | None  # target words by source words
    alignment_note: str
    beam: Tree | None
    positions: Positions
    terms: Terms | None

    def to_table(self, *, compact: bool = False) -> dict[str, Any]:
        """Return plain values for JSON. `compact` stores the numbers in arrays with 16 bits."""
        return {"format": FORMAT, "version": VERSION, **to_table(self, compact=compact)}

    def to_json(self) -> str:
        """Return a JSON document with exact numbers."""
        return json.dumps(self.to_table(), ensure_ascii=False, allow_nan=False) + "\n"

    def save(self, path: str | Path) -> None:
        """Write `to_json()` to a file."""
        write_whole(Path(path), self.to_json())

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Return the record that `save` wrote. Raise DataError if the file is missing or not a trace."""
        try:
            table = json.loads(Path(path).read_text(encoding="utf-8"), parse_constant=_no_number)
            if not isinstance(table, dict) or table.pop("format", None) != FORMAT:
                raise DataError(
                    f"{path}: not a trace", hint="dragoman inspect MODEL TEXT --format json makes one"
                )
            version = table.pop("version", None)
            if type(version) is not int or version != VERSION:
                raise DataError(
                    f"{path}: trace version {version!r}, this dragoman reads {VERSION}",
                    hint="inspect the sentence again with this version",
                )
            record: Self = _value(cls, table)
            if not len(record.inputs) == len(record.steps) == len(record.target.tokens) > 0:
                raise ValueError("the numbers of steps and tokens differ")
            return record
        except OSError as error:
            raise DataError(f"{path}: {error.strerror}", hint="check the path") from error
        except (ValueError, KeyError, TypeError, OverflowError, RecursionError) as error:
            raise DataError(f"{path}: not a trace ({error})", hint="is the file complete?") from error

    def attention_of(self, kind: Kind) -> Attention | None:
        """Return the attention of one kind, or None if the model has none."""
        return next((one for one in self.attention if one.kind == kind), None)


def _no_number(name: str) -> float:
    raise ValueError(f"{name} is not allowed in a trace")


def to_table(value: Any, *, compact: bool = False) -> Any:
    """Return dataclasses, tuples and arrays as plain values for JSON."""
    if isinstance(value, np.ndarray):
        return arrays.encode(value, compact=compact)
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: to_table(getattr(value, field.name), compact=compact) for field in fields(value)}
    if isinstance(value, tuple | list):
        return [to_table(item, compact=compact) for item in value]
    return value


def _value(kind: Any, table: Any) -> Any:
    """Return the value of type `kind` that `to_table` converted. Raise TypeError, KeyError or ValueError."""
    if is_dataclass(kind) and isinstance(kind, type):
        hints = get_type_hints(kind)
        if set(table) != set(hints):
            raise KeyError(f"{kind.__name__} has {sorted(hints)}, the file {sorted(table)}")
        return kind(**{name: _value(hint, table[name]) for name, hint in hints.items()})
    origin, args = get_origin(kind), get_args(kind)
    if origin in (UnionType, Union):
        return None if table is None else _value(next(one for one in args if one is not NoneType), table)
    if origin is tuple:
        return tuple(_value(args[0], item) for item in table)
    if origin is np.ndarray:
        return arrays.decode(table)
    if origin is Literal:
        if table not in args:
            raise ValueError(f"{table!r} is not one of {args}")
        return table
    if origin is dict:
        return dict(table)
    if kind is float and type(table) is int:
        return float(table)
    if not isinstance(table, kind):
        raise TypeError(f"{table!r} where {kind.__name__} is needed")
    return table
