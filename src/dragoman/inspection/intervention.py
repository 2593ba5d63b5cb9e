"""Changes to a run: heads, tokens, positions, the length penalty. Plain data, without torch.

`intervening.py` applies it to a model and a search.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, Self, get_args

from dragoman.base.errors import ConfigError
from dragoman.inspection.record import Kind

LONGEST = 512  # tokens of each side, because the attention of all layers is kept
_MOST = 2000  # changes of one kind
_STEEPEST = 100  # length penalty
_HEAD = "write KIND.LAYER.HEAD, such as encoder.2.3; kinds are encoder, decoder and cross"
_PLACE = "write STEP=TEXT, such as 3=Hund; steps are tokens, counted from 1"


@dataclass(frozen=True)
class Head:
    """A head of attention. Layers and heads are counted from 1. Raises ConfigError for a number below 1."""

    kind: Kind
    layer: int
    head: int

    def __post_init__(self) -> None:
        whole = type(self.layer) is int and type(self.head) is int
        if self.kind not in get_args(Kind) or not whole or min(self.layer, self.head) < 1:
            raise ConfigError(f"head {self} cannot be used", hint=_HEAD)

    @classmethod
    def of(cls, text: str) -> Self:
        """Return the head in `text`, as "encoder.2.3". Raises ConfigError for any other text."""
        found = re.fullmatch(r"(encoder|decoder|cross)\.([0-9]{1,9})\.([0-9]{1,9})", text)
        if found is None:
            raise ConfigError(f"head {text[:80]!r} cannot be used", hint=_HEAD)
        return cls(found[1], int(found[2]), int(found[3]))  # type: ignore[arg-type]

    def __str__(self) -> str:
        return f"{self.kind}.{self.layer}.{self.head}"


@dataclass(frozen=True)
class TokenAt:
    """A token of the translation, and the step at which it is forced or forbidden.

    `token` is an id of the target vocabulary, or text. Steps are counted from 1; None is every step. Raises
    ConfigError for a step out of range and an empty text.
    """

    token: int | str
    step: int | None = None

    def __post_init__(self) -> None:
        if self.step is not None and (type(self.step) is not int or not 1 <= self.step <= LONGEST):
            raise ConfigError(f"step {self.step!r} cannot be used", hint=f"{_PLACE}, up to {LONGEST}")
        empty = isinstance(self.token, str) and not self.token.strip()
        if type(self.token) not in (int, str) or empty:
            raise ConfigError(
                f"token {self.token!r} cannot be used", hint="give the number of a token, or its text"
            )

    @classmethod
    def of(cls, text: str) -> Self:
        """Return the change in `text`: "3=Hund" is at a step, "Hund" everywhere."""
        step, equals, token = text.partition("=")
        if equals and re.fullmatch(r"[0-9]{1,9}", step):
            return cls(token, int(step))
        return cls(text)

    def __str__(self) -> str:
        token = f"#{self.token}" if isinstance(self.token, int) else self.token
        return token if self.step is None else f"{self.step}={token}"


@dataclass(frozen=True, kw_only=True)
class Intervention:
    """Changes to a run. Without arguments, nothing changes.

    `without` are heads to switch off: their part of the output of the attention is 0. `force` are tokens that
    the search must take at their steps. A text of several tokens takes as many steps; the translation does
    not end before. `ban` are tokens that it must not take; a text of several is banned as their sequence.
    `shift` is added to the position of every source token. With `no_positions` source tokens have no
    position. `length_penalty` replaces the search's own.

    Raises ConfigError for values out of range.
    """

    without: tuple[Head, ...] = ()
    force: tuple[TokenAt, ...] = ()
    ban: tuple[TokenAt, ...] = ()
    shift: int = 0
    no_positions: bool = False
    length_penalty: float | None = None

    def __post_init__(self) -> None:
        if any(len(changes) > _MOST for changes in (self.without, self.force, self.ban)):
            raise ConfigError("too many changes", hint=f"use at most {_MOST:,} of each kind")
        if any(one.step is None for one in self.force):
            raise ConfigError("a token is forced without a step", hint=_PLACE)
        if type(self.shift) is not int or not 0 <= self.shift <= LONGEST:
            raise ConfigError(
                f"shift = {self.shift!r} cannot be used", hint=f"a whole number from 0 to {LONGEST}"
            )
        if type(self.no_positions) is not bool:
            raise ConfigError(f"no_positions = {self.no_positions!r} cannot be used", hint="true or false")
        if self.shift and self.no_positions:
            raise ConfigError("positions are shifted and left out", hint="choose one of them")
        penalty = 0 if self.length_penalty is None else self.length_penalty
        if type(penalty) not in (int, float) or not -_STEEPEST <= penalty <= _STEEPEST:
            raise ConfigError(
                f"length_penalty = {self.length_penalty!r} cannot be used", hint="a number, such as 0.6"
            )

    @classmethod
    def of(
        cls,
        *,
        without: Sequence[str] = (),
        force: Sequence[str] = (),
        ban: Sequence[str] = (),
        shift: int = 0,
        no_positions: bool = False,
        length_penalty: float | None = None,
    ) -> Self:
        """Return the intervention that is written as on the command line: "encoder.2.3", "3=Hund", "Hund"."""
        return cls(
            without=tuple(map(Head.of, without)),
            force=tuple(map(TokenAt.of, force)),
            ban=tuple(map(TokenAt.of, ban)),
            shift=shift,
            no_positions=no_positions,
            length_penalty=length_penalty,
        )

    @property
    def of_search(self) -> bool:
        """Whether it changes the search, and not only the model."""
        return bool(self.force or self.ban) or self.length_penalty is not None

    @property
    def of_model(self) -> bool:
        """Whether it changes the computation of the model."""
        return bool(self.without or self.shift or self.no_positions)

    def to_table(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        return {
            "without": [str(head) for head in self.without],
            "force": [{"step": one.step, "token": one.token} for one in self.force],
            "ban": [{"step": one.step, "token": one.token} for one in self.ban],
            "shift": self.shift,
            "no_positions": self.no_positions,
            "length_penalty": self.length_penalty,
        }

    @classmethod
    def from_table(cls, table: object) -> Self:
        """Return the intervention that `to_table` wrote; omitted keys change nothing.

        Raises ConfigError for anything else.
        """
        names = [field.name for field in fields(cls)]
        if not isinstance(table, Mapping) or not set(table) <= set(names):
            raise ConfigError("not an intervention", hint=f"an object with any of: {', '.join(names)}")
        values = dict(table)
        if "without" in values:
            values["without"] = tuple(Head.of(head) for head in _listed(values, "without", str))
        for name in values.keys() & {"force", "ban"}:
            tokens = _listed(values, name, Mapping)
            for one in tokens:
                if not {"token"} <= set(one) <= {"token", "step"}:
                    fault = f"{name}: {sorted(map(str, one))}"
                    raise ConfigError(fault, hint="an object with token and step")
            values[name] = tuple(TokenAt(one["token"], one.get("step")) for one in tokens)
        return cls(**values)

    def __str__(self) -> str:
        changes = [f"without {head}" for head in self.without]
        changes += [f"force {one}" for one in self.force] + [f"ban {one}" for one in self.ban]
        changes += [f"source positions shifted by {self.shift}"] * bool(self.shift)
        changes += ["no source positions"] * self.no_positions
        if self.length_penalty is not None:
            changes.append(f"length penalty {self.length_penalty:g}")
        return ", ".join(changes) or "nothing changed"


def _listed(values: Mapping[str, Any], name: str, kind: type) -> Sequence[Any]:
    items = values[name]
    if not isinstance(items, list | tuple) or not all(isinstance(item, kind) for item in items):
        what = "text such as encoder.2.3" if kind is str else 'objects such as {"step": 3, "token": "Hund"}'
        raise ConfigError(f"{name} is not a list of {what}", hint="see docs/how-to/inspect.md")
    return items
