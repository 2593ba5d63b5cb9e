"""Options: fields of a configuration that carry their description and bounds, and are checked.

Write an option as `heads: Annotated[int, Option("Attention heads.", at_least=1)] = 8` in a frozen,
keyword-only dataclass derived from `Options`. `Entry.check` is the one place that checks types, choices
and bounds, whether a configuration is built in Python or read from a table (`base/config.py`).
"""

from __future__ import annotations

import dataclasses
import json
import math
import sys
import types
import typing
from collections.abc import Mapping
from dataclasses import KW_ONLY, MISSING, dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, get_args, get_origin, get_type_hints

from dragoman.base.errors import ConfigError


@dataclass(frozen=True)
class Option:
    """Metadata of an option, for `Annotated`: its meaning, and the bounds of its numbers.

    Bounds hold for a number and for each number in a list. Infinity is refused unless `infinite`. `flag` is
    its name on a command line, if that is not the name of the field, and `metavar` what its value is called.
    """

    description: str = ""
    _: KW_ONLY
    at_least: float | None = None
    above: float | None = None
    at_most: float | None = None
    below: float | None = None
    infinite: bool = False
    flag: str = ""
    metavar: str = ""

    @property
    def bounds(self) -> str:
        """The bounds in words, such as "at least 0 and below 1"; empty without bounds."""
        if self.at_least is not None and self.at_most is not None:
            return f"from {self.at_least:,} to {self.at_most:,}"
        limits = {name: getattr(self, name) for name in ("at_least", "above", "at_most", "below")}
        words = [f"{name.replace('_', ' ')} {bound:,}" for name, bound in limits.items() if bound is not None]
        return " and ".join(words)

    def allows(self, number: float) -> bool:
        """Whether the number is within the bounds. NaN never is."""
        return (
            number == number
            and (self.infinite or abs(number) != math.inf)
            and (self.at_least is None or number >= self.at_least)
            and (self.above is None or number > self.above)
            and (self.at_most is None or number <= self.at_most)
            and (self.below is None or number < self.below)
        )


_UNDESCRIBED = Option(infinite=True)


@dataclass(frozen=True)
class Entry:
    """One option of a configuration: name, type, default (MISSING if it has none) and metadata."""

    name: str
    kind: Any
    default: Any
    option: Option = _UNDESCRIBED

    @property
    def flag(self) -> str:
        """Its name on a command line, such as --length-penalty."""
        return self.option.flag or f"--{self.name.replace('_', '-')}"

    @property
    def plain(self) -> Any:
        """Its type without None: one of int, float, bool, str, Path, a Literal, a tuple, or a section."""
        members = [member for member in _members(self.kind) if member is not type(None)]
        return members[0] if len(members) == 1 else self.kind

    @property
    def needed(self) -> str:
        """The values it takes, in words, such as "a whole number, at least 1"."""
        return _needed(self.kind, self.option)

    def check(self, value: Any, name: str) -> Any:
        """Return `value` with the option's type: an int as a float, a list as a tuple, text as a path.

        `name` is what messages call the option. Raises ConfigError if the value does not fit.
        """
        try:
            return _convert(value, self.kind, self.option)
        except _Unfit:
            if variants(self.kind):
                raise ConfigError(
                    f"{name} is a section, not the value {show(value)}", hint=f"set its options: {name}.NAME"
                ) from None
            infinite = isinstance(value, float) and not math.isfinite(value)
            hint = f"it must be {self.needed}" + ", and finite" * infinite
            raise ConfigError(f"{name} = {show(value)} cannot be used", hint=hint) from None


class Options:
    """Base class of configurations. Creating an object checks every option and raises ConfigError.

    With `class TrainingConfig(Options, section="training")`, messages say `training.warmup`. A subclass
    with rules between several options calls `super().__post_init__()` first.
    """

    _section: typing.ClassVar[str] = ""

    def __init_subclass__(cls, *, section: str | None = None) -> None:
        super().__init_subclass__()
        if section is not None:
            cls._section = section

    def __post_init__(self) -> None:
        for name, entry in entries(type(self)).items():
            # Defaults fit. Checking them took a quarter of the time of a short translation.
            if (value := getattr(self, name)) is not entry.default:
                object.__setattr__(self, name, entry.check(value, option_name(self._section, name)))


_ENTRIES: dict[type, dict[str, Entry]] = {}  # a cache: evaluating annotations is slow


def entries(cls: type) -> dict[str, Entry]:
    """The options of a configuration by name, in order."""
    if cls not in _ENTRIES:
        hints = get_type_hints(cls, include_extras=True)
        fields = [field for field in dataclasses.fields(cls) if field.init]
        _ENTRIES[cls] = {field.name: _entry(field, hints[field.name]) for field in fields}
    return _ENTRIES[cls]


def _entry(field: dataclasses.Field[Any], hint: Any) -> Entry:
    kind, *metadata = get_args(hint) if get_origin(hint) is Annotated else (hint,)
    default = field.default if field.default_factory is MISSING else field.default_factory()
    return Entry(field.name, kind, default, *(item for item in metadata if isinstance(item, Option)))


def variants(kind: Any) -> tuple[type, ...]:
    """The dataclasses a section may be: the members of a union, or the one class. Otherwise empty."""
    return tuple(m for m in _members(kind) if isinstance(m, type) and dataclasses.is_dataclass(m))


def option_name(section: str, key: str) -> str:
    """`section.key`, or the key alone if the section has no name."""
    return f"{section}.{key}" if section else key


def show(value: Any) -> str:
    """A value as TOML writes it; None as "(not set)"."""
    if value is None:
        return "(not set)"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, Mapping):
        items = (f"{key if key.isascii() else show(key)} = {show(item)}" for key, item in value.items())
        return "{" + ", ".join(items) + "}"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(show(item) for item in value) + "]"
    if isinstance(value, (int, float)):
        return repr(value)
    # A JSON string is a TOML string, except for one control character that only JSON allows unescaped.
    return json.dumps(str(value), ensure_ascii=False).replace("\x7f", "\\u007f")


class _Unfit(Exception):
    """A value that an option does not take."""


def _members(kind: Any) -> tuple[Any, ...]:
    return get_args(kind) if get_origin(kind) in (typing.Union, types.UnionType) else (kind,)


def _convert(value: Any, kind: Any, option: Option) -> Any:
    """`value` as a `kind`. Raises _Unfit."""
    members, origin = _members(kind), get_origin(kind)
    if len(members) > 1:
        for member in members:
            try:
                return _convert(value, member, option)
            except _Unfit:
                continue
    elif origin is Literal:
        for choice in get_args(kind):
            # True == 1 and 1.0 == 1, but they are not the int 1.
            if type(value) is type(choice) and value == choice:
                return choice
    elif origin is tuple:
        if isinstance(value, list | tuple):
            kinds = get_args(kind)
            kinds = kinds[:1] * len(value) if kinds[-1] is Ellipsis else kinds
            if len(value) == len(kinds):
                return tuple(_convert(item, of, option) for item, of in zip(value, kinds, strict=True))
    elif origin is dict:
        if isinstance(value, Mapping):
            return {str(key): _convert(item, get_args(kind)[1], option) for key, item in value.items()}
    elif kind is Path:
        if isinstance(value, str | Path):
            return Path(value)
    elif kind in (int, float):
        if kind is float and type(value) is int and abs(value) <= sys.float_info.max:
            value = float(value)
        if type(value) is kind and option.allows(value):
            return value
    elif isinstance(value, kind):
        return value
    raise _Unfit


_ONE = {
    int: "a whole number",
    float: "a number",
    bool: "true or false",
    str: "text in quotes",
    Path: "a path in quotes",
}
_SEVERAL = {int: "whole numbers", float: "numbers", str: "texts in quotes", Path: "paths in quotes"}


def _needed(kind: Any, option: Option) -> str:
    members, origin, bounds = _members(kind), get_origin(kind), option.bounds
    if type(None) in members:
        rest = [member for member in members if member is not type(None)]
        return f"{' or '.join(_needed(member, option) for member in rest)}, or left out"
    if len(members) > 1:
        return " or ".join(_needed(member, option) for member in members)
    if origin is Literal:
        return "one of: " + ", ".join(show(c) if isinstance(c, bool) else str(c) for c in get_args(kind))
    if origin is dict:
        return f"a table {{name = {_ONE[get_args(kind)[1]]}, ...}}" + (f", each {bounds}" if bounds else "")
    if origin is tuple:
        first, *rest = get_args(kind)
        if get_origin(first) is Literal:
            return "a list [...] of texts in quotes: " + ", ".join(get_args(first))
        number = "" if rest == [Ellipsis] else f"{1 + len(rest)} "
        text = f"a list [...] of {number}{_SEVERAL.get(first, 'sections')}"
        return f"{text}, each {bounds}" if bounds else text
    text = _ONE.get(kind, str(kind))
    return f"{text}, {bounds}" if bounds and kind in (int, float) else text
