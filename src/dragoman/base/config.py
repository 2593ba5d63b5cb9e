"""Configurations as tables and TOML: strict reading, `section.key=value`, writing, differences.

A configuration is a frozen, keyword-only dataclass of options (`base/options.py`). An unknown key is an
error that suggests the nearest known one.
"""

from __future__ import annotations

import copy
import dataclasses
import difflib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import MISSING
from pathlib import Path
from typing import Any, TypeVar, get_args, get_origin

from dragoman.base.errors import ConfigError
from dragoman.base.files import is_utf8
from dragoman.base.options import entries, option_name, show, variants

T = TypeVar("T")


def read_toml(path: Path) -> dict[str, Any]:
    """The tables of a TOML file. Raises ConfigError naming file and line."""
    import tomllib

    try:
        # utf-8-sig: some editors begin a file with a byte order mark, which TOML does not allow.
        return tomllib.loads(Path(path).read_text(encoding="utf-8-sig"))
    except OSError as error:
        raise ConfigError(f"{path}: {error.strerror or error}", hint="check the path") from error
    # ValueError also for bytes that are not UTF-8, and numbers too long to read; RecursionError for many
    # brackets in one another.
    except (ValueError, RecursionError) as error:
        raise ConfigError(
            f"{path}: not valid TOML: {error}", hint="see https://toml.io; save the file as UTF-8"
        ) from error


def override(tables: Mapping[str, Any], assignments: Iterable[str]) -> dict[str, Any]:
    """A copy of `tables` with each `a.b=value` applied. A value is TOML (`8`, `0.1`, `true`) or a word.

    Raises ConfigError for text that is not an assignment, and for a value in place of a section.
    """
    result = copy.deepcopy(dict(tables))
    for assignment in assignments:
        name, equals, text = assignment.partition("=")
        keys = [key.strip() for key in name.split(".")]
        if not equals or not all(keys):
            raise ConfigError(
                f"{assignment!r} is not an option", hint="write it as section.key=value, e.g. model.heads=8"
            )
        if not is_utf8(assignment):
            raise ConfigError(
                f"{assignment!r} is not UTF-8, as recipes are",
                hint="use other characters, or rename the file",
            )
        value = _parse(text.strip())
        table = result
        for key in keys[:-1]:
            table = table.setdefault(key, {})
            if not isinstance(table, dict):
                raise ConfigError(f"{assignment!r}: {key!r} is a value, not a section")
        # Assigning a whole section would silently drop its other options.
        if isinstance(value, dict) or isinstance(table.get(keys[-1]), dict):
            raise ConfigError(
                f"{assignment!r}: {name.strip()!r} is a section", hint="set each of its options, as a.b=c"
            )
        table[keys[-1]] = value
    return result


def from_table(cls: type[T], table: Mapping[str, Any], section: str = "") -> T:
    """A `cls` from a table, with nested dataclasses from nested tables.

    `section` is the name of the table in messages ("model"). Raises ConfigError for an unknown or
    missing option and for a value that does not fit.
    """
    known = entries(cls)
    values: dict[str, Any] = {}
    for key, value in table.items():
        name = option_name(section, key)
        if key not in known:
            raise ConfigError(f"unknown option {name!r}", hint=_suggest(key, cls, section))
        values[key] = known[key].check(_sections(value, known[key].kind, name), name)
    for key, entry in known.items():
        if key not in values and entry.default is MISSING:
            raise ConfigError(
                f"{option_name(section, key)} is missing", hint="it has no default: give it a value"
            )
    return cls(**values)


def to_table(config: Any) -> dict[str, Any]:
    """The dataclass as tables, lists and plain values: what TOML and JSON hold and `from_table` reads.

    TOML has no null, so an option that is None is left out and gets its default when read. Raises
    ConfigError if that default is another value, because the table would mean another configuration.
    """
    table: dict[str, Any] = {}
    for name, entry in entries(type(config)).items():
        value = getattr(config, name)
        if value is not None:
            table[name] = plain(value)
        elif entry.default is not None:
            raise ConfigError(f"{name} = None cannot be written: leaving it out gives it another value")
    return table


def to_toml(config: Any) -> str:
    """The dataclass as TOML text that `read_toml` and `from_table` turn into an equal one."""
    lines: list[str] = []
    _emit(to_table(config), "", lines)
    return "\n".join(lines).strip() + "\n"


def difference(old: Mapping[str, Any], new: Mapping[str, Any], section: str = "") -> list[str]:
    """One line for each option that differs: `model.heads: 4 -> 8`."""
    lines: list[str] = []
    for key in sorted(old.keys() | new.keys()):
        name = option_name(section, key)
        before, after = old.get(key), new.get(key)
        if isinstance(before, Mapping | None) and isinstance(after, Mapping | None):
            lines += difference(before or {}, after or {}, name)
        elif before != after:
            lines.append(f"{name}: {show(before)} -> {show(after)}")
    return lines


def plain(value: Any) -> Any:
    """A value as TOML and JSON hold it: a dataclass as a table, a tuple as a list, a path as text."""
    if dataclasses.is_dataclass(value):
        return to_table(value)
    if isinstance(value, tuple):
        return [plain(item) for item in value]
    return str(value) if isinstance(value, Path) else value


def _sections(value: Any, kind: Any, name: str) -> Any:
    """Return `value` with tables converted to dataclasses where `kind` has them."""
    if get_origin(kind) is tuple and isinstance(value, list | tuple):
        return [_sections(item, get_args(kind)[0], name) for item in value]
    kinds = variants(kind)
    if kinds and isinstance(value, Mapping):
        return from_table(_variant(value, kinds, name), value, name)
    return value


def _variant(table: Mapping[str, Any], kinds: tuple[type, ...], name: str) -> type:
    """Return the dataclass for a table. The first option names it; the first dataclass is the default."""
    if len(kinds) == 1:
        return kinds[0]
    tag = next(iter(entries(kinds[0])))
    by_tag = {get_args(entries(kind)[tag].kind)[0]: kind for kind in kinds}
    choice = table.get(tag, next(iter(by_tag)))
    if not isinstance(choice, str) or choice not in by_tag:
        hint = f"it must be one of: {', '.join(by_tag)}"
        raise ConfigError(f"{option_name(name, tag)} = {show(choice)} cannot be used", hint=hint)
    return by_tag[choice]


def _suggest(key: str, cls: type, section: str) -> str:
    known = list(entries(cls))
    if near := difflib.get_close_matches(key, known, n=1, cutoff=0.5):
        return f"did you mean {option_name(section, near[0])}?"
    if inner := [name for name in option_names(cls, section) if name.rpartition(".")[2] == key]:
        return f"did you mean {' or '.join(inner)}?"
    return "known options: " + ", ".join(option_name(section, name) for name in sorted(known))


def option_names(cls: type, section: str = "") -> list[str]:
    """The full names of all options and sections of a configuration, each once."""

    def names(cls: type, section: str) -> Iterator[str]:
        for name, entry in entries(cls).items():
            yield option_name(section, name)
            for kind in variants(entry.kind):
                yield from names(kind, option_name(section, name))

    return list(dict.fromkeys(names(cls, section)))


def _emit(table: Mapping[str, Any], section: str, lines: list[str]) -> None:
    for key, value in table.items():
        if not isinstance(value, Mapping):
            lines.append(f"{key} = {show(value)}")
    for key, value in table.items():
        if isinstance(value, Mapping):
            name = option_name(section, key)
            lines += ["", f"[{name}]"]
            _emit(value, name, lines)


def _parse(text: str) -> Any:
    """One TOML value, or the text itself if it is anything else.

    The text is parsed alone and as an item of a list. The results differ if it has a comment or a second
    line, which would otherwise be dropped silently.
    """
    import tomllib

    try:
        alone, listed = tomllib.loads(f"value = {text}"), tomllib.loads(f"value = [{text},]")
    except (ValueError, RecursionError):
        return text
    return alone["value"] if listed == {"value": [alone["value"]]} else text
