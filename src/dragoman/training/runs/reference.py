"""The reference of a recipe's options: as TOML with comments, and as JSON."""

from __future__ import annotations

import difflib
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, get_args

from dragoman.base.config import option_names, plain
from dragoman.base.errors import ConfigError
from dragoman.base.options import Entry, entries, option_name, show, variants
from dragoman.models.shapes import Architecture, ModelConfig
from dragoman.training.runs.recipe import Recipe

_WIDTH = 80  # columns of the comments


@dataclass(frozen=True, kw_only=True)
class Section:
    """A group of options, each with its value in a recipe."""

    name: str  # "model"; empty for the options above all sections
    about: str
    options: tuple[tuple[Entry, Any], ...]
    architecture: str = ""  # the one architecture that has these options; empty if all do
    in_use: bool = True  # whether the recipe's model has that architecture


def sections(recipe: Recipe, *, all_architectures: bool = True) -> list[Section]:
    """Return the sections of a recipe in order, by default with those of architectures it does not use."""
    return [section for section in _sections(recipe, "") if section.in_use or all_architectures]


def select(listed: Sequence[Section], names: Sequence[str]) -> list[Section]:
    """Return the sections and options of these names. Raises ConfigError for a name that does not exist."""
    known = option_names(Recipe)
    for name in names:
        if name not in known:
            raise ConfigError(f"no section or option {name!r}", hint=_suggest(name, known))

    def chosen(full: str) -> bool:
        return any(f"{full}.".startswith(f"{name}.") for name in names)

    parts = [
        replace(
            section, options=tuple(o for o in section.options if chosen(option_name(section.name, o[0].name)))
        )
        for section in listed
    ]
    return [section for section in parts if section.options]


def to_toml(listed: Sequence[Section]) -> str:
    """Return a recipe file that describes each option in a comment. Unused options are commented out."""
    lines: list[str] = []
    table = ""
    for section in listed:
        condition = f'Only with architecture = "{section.architecture}". ' if section.architecture else ""
        lines += ["", *_comment(condition + section.about)]
        if section.name != table:
            table = section.name
            lines.append(f"[{table}]")
        for entry, value in section.options:
            text = entry.option.description
            if entry.kind not in (bool, str):  # the value itself shows these
                text = f"{text} {entry.needed[:1].upper()}{entry.needed[1:]}.".lstrip()
            if value != entry.default:
                text += f" Default: {show(entry.default)}."
            assignment = f"{entry.name} = {_shown(plain(value))}"
            used = section.in_use and value is not None
            lines += ["", *_comment(text), assignment if used else f"# {assignment}"]
    return "\n".join(lines).strip() + "\n"


def _shown(value: Any) -> str:
    """A value as TOML writes it, with a line for each section of a list."""
    if not isinstance(value, list) or not value or not isinstance(value[0], dict):
        return show(value)
    return "\n".join(["[", *(f"    {show(section)}," for section in value), "]"])


def to_json(listed: Sequence[Section]) -> list[dict[str, Any]]:
    """Return one object for each option; `architecture` is null if all architectures have it."""
    return [
        {
            "name": option_name(section.name, entry.name),
            "architecture": section.architecture or None,
            "values": entry.needed,
            "default": plain(entry.default),
            "value": plain(value),
            "description": entry.option.description,
        }
        for section in listed
        for entry, value in section.options
    ]


def _sections(config: Any, name: str) -> Iterator[Section]:
    """Yield the section of a configuration, then those nested in it."""
    known = entries(type(config)).values()
    own = tuple((entry, getattr(config, entry.name)) for entry in known if not variants(entry.kind))
    yield Section(name=name, about=_about(type(config)), options=own)
    for entry in known:
        if entry.kind == Architecture:
            yield from _model(getattr(config, entry.name), option_name(name, entry.name))
        elif variants(entry.kind):
            yield from _sections(getattr(config, entry.name), option_name(name, entry.name))


def _model(model: Architecture, name: str) -> Iterator[Section]:
    """Yield the options of all architectures, then those of each one."""
    kinds = get_args(Architecture)
    shared = entries(ModelConfig)
    tag = replace(
        entries(type(model))["architecture"],
        kind=Literal[tuple(kind.architecture for kind in kinds)],
        default=kinds[0].architecture,
    )
    rest = ((entry, getattr(model, key)) for key, entry in shared.items() if key != tag.name)
    yield Section(name=name, about=_about(ModelConfig), options=((tag, model.architecture), *rest))
    for kind in kinds:
        in_use = isinstance(model, kind)
        values = model if in_use else kind()
        own = ((entry, getattr(values, key)) for key, entry in entries(kind).items() if key not in shared)
        yield Section(
            name=name, about=_about(kind), options=tuple(own), architecture=kind.architecture, in_use=in_use
        )


def _about(cls: type) -> str:
    """Return the docstring of a configuration, which describes its section."""
    return " ".join((cls.__doc__ or "").split())


def _suggest(name: str, known: Sequence[str]) -> str:
    """Return a hint for a mistyped name, with its section (modle.heads) or without (haeds)."""
    last = {option: option.rpartition(".")[2] for option in known}
    close = difflib.get_close_matches(name, [*known, *last.values()], n=1)
    if near := [option for option in known if close and close[0] in (option, last[option])]:
        return f"did you mean {' or '.join(near)}?"
    tables = dict.fromkeys(section.name for section in sections(Recipe()) if section.name)
    return f"sections: {', '.join(tables)}"


def _comment(text: str) -> list[str]:
    lines = textwrap.wrap(text, _WIDTH - 2, break_long_words=False, break_on_hyphens=False)
    return [f"# {line}" for line in lines]
