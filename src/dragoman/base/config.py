"""Strict TOML and `section.key=value` overrides into frozen dataclasses.

Every configuration is a frozen, keyword-only dataclass that checks itself in `__post_init__`.
An unknown key is an error that names the nearest known one.
"""

from __future__ import annotations

import dataclasses
import difflib
import json
import sys
import tomllib
import types
import typing
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import MISSING
from pathlib import Path
from typing import Any, Literal, TypeVar, cast, get_args, get_origin, get_type_hints

from dragoman.base.errors import ConfigError

T = TypeVar("T")


def read_toml(path: Path) -> dict[str, Any]:
    """The tables of a TOML file. Raises ConfigError naming file and line."""
    try:
        # utf-8-sig: some editors begin a file with a byte order mark, which TOML knows nothing of.
        return tomllib.loads(Path(path).read_text(encoding="utf-8-sig"))
    except OSError as error:
        raise ConfigError(
            f"{path}: {error.strerror or error}", hint="check the path of the recipe"
        ) from error
    except ValueError as error:  # also bytes that are not UTF-8, and numbers too long to read
        raise ConfigError(
            f"{path}: not valid TOML: {error}", hint="see https://toml.io; save the file as UTF-8"
        ) from error


def override(tables: Mapping[str, Any], assignments: Iterable[str]) -> dict[str, Any]:
    """`tables` with each `a.b=value` applied. A value is TOML (`8`, `0.1`, `true`) or a bare word."""
    result = _copy(tables)
    for assignment in assignments:
        name, equals, text = assignment.partition("=")
        keys = [key.strip() for key in name.split(".")]
        if not equals or not all(keys):
            raise ConfigError(
                f"{assignment!r} is not an option", hint="write it as section.key=value, e.g. model.heads=8"
            )
        value = _parse(text.strip())
        table = result
        for key in keys[:-1]:
            table = table.setdefault(key, {})
            if not isinstance(table, dict):
                raise ConfigError(f"{assignment!r}: {key!r} is a value, not a section")
        # A whole section in one assignment would silently drop what else the section says.
        if isinstance(value, dict) or isinstance(table.get(keys[-1]), dict):
            raise ConfigError(
                f"{assignment!r}: {name.strip()!r} is a section", hint="set its options one by one, as a.b=c"
            )
        table[keys[-1]] = value
    return result


def build(cls: type[T], table: Mapping[str, Any], where: str = "") -> T:
    """A `cls` from a table, nested dataclasses from nested tables; every key and type checked.

    `where` prefixes names in messages ("model"). Raises ConfigError.
    """
    hints = get_type_hints(cls)
    fields = {field.name: field for field in _fields(cls)}
    values: dict[str, Any] = {}
    for key, value in table.items():
        name = _join(where, key)
        if key not in fields:
            raise ConfigError(f"unknown option {name!r}", hint=_suggest(key, cls, where))
        values[key] = _coerce(value, hints[key], name)
    for key, field in fields.items():
        if key not in values and field.default is MISSING and field.default_factory is MISSING:
            raise ConfigError(f"{_join(where, key)} is missing", hint="it has no default: give it a value")
    return cls(**values)


def to_table(config: Any) -> dict[str, Any]:
    """The dataclass as plain tables, lists and values, as TOML and JSON hold them and `build` takes them.

    TOML has no null, so an option that is None is left out; `build` then gives it its default. Raises
    ConfigError where that default is something else and the table would mean another configuration.
    """
    table: dict[str, Any] = {}
    for field in _fields(type(config)):
        value = getattr(config, field.name)
        if value is not None:
            table[field.name] = _plain(value)
        elif field.default is not None:
            raise ConfigError(f"{field.name} = None cannot be written: left out, it has another value")
    return table


def to_toml(config: Any) -> str:
    """The dataclass as TOML text that `read_toml` and `build` turn into an equal one."""
    lines: list[str] = []
    _emit(to_table(config), "", lines)
    return "\n".join(lines).strip() + "\n"


def difference(old: Mapping[str, Any], new: Mapping[str, Any], where: str = "") -> list[str]:
    """One line for each option that differs: `model.heads: 4 -> 8`."""
    lines: list[str] = []
    for key in sorted(old.keys() | new.keys()):
        name = _join(where, key)
        before, after = old.get(key), new.get(key)
        if isinstance(before, Mapping | None) and isinstance(after, Mapping | None):
            lines += difference(before or {}, after or {}, name)
        elif before != after:
            lines.append(f"{name}: {_show(before)} -> {_show(after)}")
    return lines


def _copy(tables: Mapping[str, Any]) -> dict[str, Any]:
    return {key: _copy(value) if isinstance(value, Mapping) else value for key, value in tables.items()}


def _join(where: str, key: str) -> str:
    return f"{where}.{key}" if where else key


def _fields(cls: type) -> list[dataclasses.Field[Any]]:
    """The fields a configuration can be given."""
    return [field for field in dataclasses.fields(cls) if field.init]


def _plain(value: Any) -> Any:
    if dataclasses.is_dataclass(value):
        return to_table(value)
    if isinstance(value, tuple):
        return [_plain(item) for item in value]
    return str(value) if isinstance(value, Path) else value


def _parse(text: str) -> Any:
    """One TOML value and nothing else, or the text itself.

    Alone, a comment or a second line would be dropped without a word; as the item of a list each is a
    mistake that shows. Read both ways alike, it is one value.
    """
    try:
        alone, listed = tomllib.loads(f"value = {text}"), tomllib.loads(f"value = [{text},]")
    except ValueError:
        return text
    return alone["value"] if listed == {"value": [alone["value"]]} else text


def _coerce(value: Any, hint: Any, name: str) -> Any:
    """`value`, from a table, as the type `hint` asks for. Raises ConfigError where it is not one."""
    origin = get_origin(hint)
    if dataclasses.is_dataclass(hint):
        if not isinstance(value, Mapping):
            raise ConfigError(f"{name} is a section, not the value {_show(value)}")
        return build(cast("type[Any]", hint), value, name)
    if origin is Literal:
        for choice in get_args(hint):
            if type(value) is type(choice) and value == choice:  # True == 1 and 1.0 == 1, yet are not 1
                return choice
        choices = ", ".join(_show(c) if isinstance(c, bool) else str(c) for c in get_args(hint))
        raise ConfigError(f"{name} = {_show(value)}", hint=f"choose one of: {choices}")
    if origin in (typing.Union, types.UnionType):
        options = [option for option in get_args(hint) if option is not type(None)]
        if isinstance(value, Mapping) and all(map(dataclasses.is_dataclass, options)) and options[1:]:
            return _coerce(value, _variant(value, options, name), name)
        if value is None and len(options) < len(get_args(hint)):
            return None
        for option in options[:-1]:
            try:
                return _coerce(value, option, name)
            except ConfigError:
                continue
        return _coerce(value, options[-1], name)
    if origin is tuple:
        if not isinstance(value, (list, tuple)):
            raise ConfigError(f"{name} = {_show(value)}", hint="a list in brackets is needed")
        kinds = get_args(hint)
        if kinds[-1] is Ellipsis:
            kinds = (kinds[0],) * len(value)
        if len(value) != len(kinds):
            raise ConfigError(f"{name} = {_show(value)}", hint=f"a list of {len(kinds)} is needed")
        return tuple(_coerce(item, kind, name) for item, kind in zip(value, kinds, strict=True))
    if hint is Path and isinstance(value, str | Path):
        return Path(value)
    if type(value) is hint and value == value:  # nan, which differs from itself, is no setting
        return value
    if hint is float and type(value) is int and abs(value) <= sys.float_info.max:
        return float(value)
    names = {int: "a whole number", float: "a number", bool: "true or false", str: "text in quotes"}
    raise ConfigError(f"{name} = {_show(value)}", hint=f"{names.get(hint, hint)} is needed")


def _variant(table: Mapping[str, Any], kinds: list[Any], name: str) -> type:
    """Which of several dataclasses a table is for: their first option tells, and the first is the default."""
    tag = _fields(kinds[0])[0].name
    by_tag = {get_args(get_type_hints(kind)[tag])[0]: kind for kind in kinds}
    chosen = table.get(tag, next(iter(by_tag)))
    if not isinstance(chosen, str) or chosen not in by_tag:
        raise ConfigError(f"{_join(name, tag)} = {_show(chosen)}", hint=f"choose one of: {', '.join(by_tag)}")
    return cast(type, by_tag[chosen])


def _suggest(key: str, cls: type, where: str) -> str:
    known = [field.name for field in _fields(cls)]
    if near := difflib.get_close_matches(key, known, n=1, cutoff=0.5):
        return f"did you mean {_join(where, near[0])}?"
    if inner := list(dict.fromkeys(n for n in _option_names(cls, where) if n.rpartition(".")[2] == key)):
        return f"did you mean {' or '.join(inner)}?"
    return "known options: " + ", ".join(_join(where, name) for name in sorted(known))


def _option_names(cls: type, where: str) -> Iterator[str]:
    """Every option below a configuration, by its full name."""
    hints = get_type_hints(cls)
    for field in _fields(cls):
        name = _join(where, field.name)
        yield name
        for kind in (hints[field.name], *get_args(hints[field.name])):
            if dataclasses.is_dataclass(kind):
                yield from _option_names(cast("type[Any]", kind), name)


def _emit(table: Mapping[str, Any], where: str, lines: list[str]) -> None:
    for key, value in table.items():
        if not isinstance(value, Mapping):
            lines.append(f"{key} = {_show(value)}")
    for key, value in table.items():
        if isinstance(value, Mapping):
            name = _join(where, key)
            lines += ["", f"[{name}]"]
            _emit(value, name, lines)


def _show(value: Any) -> str:
    """A value as TOML writes it."""
    if value is None:
        return "(not set)"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{key} = {_show(item)}" for key, item in value.items()) + "}"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(_show(item) for item in value) + "]"
    if isinstance(value, (int, float)):
        return repr(value)
    # A JSON string is a TOML string, but for the one control character that JSON lets through.
    return json.dumps(str(value), ensure_ascii=False).replace("\x7f", "\\u007f")
