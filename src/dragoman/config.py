"""Strict TOML and `section.key=value` overrides into frozen dataclasses.

Every configuration is a frozen, keyword-only dataclass that checks itself in `__post_init__`.
An unknown key is an error that names the nearest known one.
"""

from __future__ import annotations

import dataclasses
import difflib
import json
import tomllib
import types
import typing
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, TypeVar, get_args, get_origin, get_type_hints

from dragoman.errors import ConfigError

T = TypeVar("T")


def read_toml(path: Path) -> dict[str, Any]:
    """The tables of a TOML file. Raises ConfigError naming file and line."""
    try:
        return tomllib.loads(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise ConfigError(
            f"{path}: {error.strerror or error}", hint="check the path of the recipe"
        ) from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path}: not valid TOML: {error}") from error


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
        table = result
        for key in keys[:-1]:
            table = table.setdefault(key, {})
            if not isinstance(table, dict):
                raise ConfigError(f"{assignment!r}: {key!r} is a value, not a section")
        table[keys[-1]] = _parse(text.strip())
    return result


def build(cls: type[T], table: Mapping[str, Any], where: str = "") -> T:
    """A `cls` from a table, nested dataclasses from nested tables; every key and type checked.

    `where` prefixes names in messages ("model"). Raises ConfigError.
    """
    hints = get_type_hints(cls)
    fields = {field.name: field for field in dataclasses.fields(cls) if field.init}  # type: ignore[arg-type]
    values: dict[str, Any] = {}
    for key, value in table.items():
        name = f"{where}.{key}" if where else key
        if key not in fields:
            raise ConfigError(f"unknown option {name!r}", hint=_suggest(key, fields, where))
        hint = hints[key]
        if dataclasses.is_dataclass(hint):
            if not isinstance(value, Mapping):
                raise ConfigError(f"{name} is a section, not the value {value!r}")
            values[key] = build(hint, value, name)  # type: ignore[arg-type]
        else:
            values[key] = _coerce(value, hint, name)
    try:
        return cls(**values)
    except ConfigError:
        raise
    except TypeError as error:
        raise ConfigError(f"{where or cls.__name__}: {error}") from error


def to_table(config: Any) -> dict[str, Any]:
    """The dataclass as plain tables, as `build` takes them; options that are None are left out."""
    return {
        key: to_table(value) if dataclasses.is_dataclass(value) else value
        for key, value in ((f.name, getattr(config, f.name)) for f in dataclasses.fields(config))
        if value is not None
    }


def to_toml(config: Any) -> str:
    """The dataclass as TOML text that `read_toml` and `build` turn into an equal one."""
    lines: list[str] = []
    _emit(to_table(config), "", lines)
    return "\n".join(lines).strip() + "\n"


def difference(old: Mapping[str, Any], new: Mapping[str, Any], where: str = "") -> list[str]:
    """One line for each option that differs: `model.heads: 4 -> 8`."""
    lines: list[str] = []
    for key in sorted(old.keys() | new.keys()):
        name = f"{where}.{key}" if where else key
        before, after = old.get(key), new.get(key)
        if isinstance(before, Mapping) and isinstance(after, Mapping):
            lines += difference(before, after, name)
        elif before != after:
            lines.append(f"{name}: {_show(before)} -> {_show(after)}")
    return lines


def _copy(tables: Mapping[str, Any]) -> dict[str, Any]:
    return {key: _copy(value) if isinstance(value, Mapping) else value for key, value in tables.items()}


def _parse(text: str) -> Any:
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return text


def _coerce(value: Any, hint: Any, name: str) -> Any:
    origin = get_origin(hint)
    if origin is typing.Literal:
        if value in get_args(hint):
            return value
        choices = ", ".join(str(choice) for choice in get_args(hint))
        raise ConfigError(f"{name} = {_show(value)}", hint=f"choose one of: {choices}")
    if origin in (typing.Union, types.UnionType):
        options = [option for option in get_args(hint) if option is not type(None)]
        if value is None:
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
        return tuple(_coerce(item, get_args(hint)[0], name) for item in value)
    if hint is float and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    if hint is Path and isinstance(value, str):
        return Path(value)
    if isinstance(value, hint) and not (hint is int and isinstance(value, bool)):
        return value
    kinds = {int: "a whole number", float: "a number", bool: "true or false", str: "text"}
    raise ConfigError(f"{name} = {_show(value)}", hint=f"{kinds.get(hint, hint)} is needed")


def _suggest(key: str, known: Iterable[str], where: str) -> str:
    near = difflib.get_close_matches(key, list(known), n=1, cutoff=0.5)
    prefix = f"{where}." if where else ""
    if near:
        return f"did you mean {prefix}{near[0]}?"
    return "known options: " + ", ".join(f"{prefix}{name}" for name in sorted(known))


def _emit(table: Mapping[str, Any], where: str, lines: list[str]) -> None:
    for key, value in table.items():
        if not isinstance(value, Mapping):
            lines.append(f"{key} = {_show(value)}")
    for key, value in table.items():
        if isinstance(value, Mapping):
            name = f"{where}.{key}" if where else key
            lines += ["", f"[{name}]"]
            _emit(value, name, lines)


def _show(value: Any) -> str:
    """A value as TOML writes it."""
    if value is None:
        return "(not set)"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(_show(item) for item in value) + "]"
    if isinstance(value, (int, float)):
        return repr(value)
    return json.dumps(str(value), ensure_ascii=False)
