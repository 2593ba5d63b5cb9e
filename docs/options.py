"""Print the page of all options of a recipe.

python docs/options.py > docs/options.md
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dragoman.base.options import option_name, show
from dragoman.base.tables import markdown
from dragoman.training.runs.recipe import PRESETS, Recipe, resolve
from dragoman.training.runs.reference import Section, sections


def to_markdown() -> str:
    """Return the page of all options and presets."""
    listed = sections(Recipe())
    lines = [
        "# Options",
        "",
        "Every option of a recipe. Set one on the command line (`dragoman train ... model.heads=8`), in a "
        'recipe file under its section, or in Python (`train(..., model={"heads": 8})`, and for [data] '
        '`overrides=["data.context=0.7"]`). '
        "`dragoman config` prints them as a recipe file with comments; `dragoman config --preset tiny` and "
        "`dragoman config --recipe FILE` show the values in use.",
        "",
        "This page is generated: `python docs/options.py > docs/options.md`.",
        "",
        "## Presets",
        "",
        "A preset changes these defaults. Without `--preset` or `--recipe`, `dragoman train` chooses one by "
        "the size of the text.",
        "",
        *_presets(listed),
    ]
    for section in listed:
        if section.architecture:
            lines += ["", f'### model.architecture = "{section.architecture}"']
        else:
            lines += ["", f"## {section.name or 'Top level'}"]
        rows = [
            [f"`{option_name(section.name, e.name)}`", e.needed, _code(e.default), e.option.description]
            for e, _ in section.options
        ]
        lines += ["", section.about, "", *markdown(["option", "values", "default", "description"], rows)]
    return "\n".join(lines) + "\n"


def _presets(listed: Sequence[Section]) -> list[str]:
    """Return a table of the options that presets change: the default, then the value in each preset."""
    recipes = [sections(resolve(preset=name)) for name in PRESETS]
    rows: dict[str, list[Any]] = {}  # the default and the values; architectures share names of options
    for number, section in enumerate(listed):
        for place, (entry, default) in enumerate(section.options):
            values = [default, *(recipe[number].options[place][1] for recipe in recipes)]
            if entry.name != "preset" and any(value != default for value in values):
                before = rows.setdefault(option_name(section.name, entry.name), values)
                pairs = zip(before, values, strict=True)
                rows[option_name(section.name, entry.name)] = [
                    old if new == default else new for old, new in pairs
                ]
    table = [[f"`{name}`", *map(_code, values)] for name, values in rows.items()]
    return markdown(["option", "default", *(f"`{name}`" for name in PRESETS)], table)


def _code(value: Any) -> str:
    return "not set" if value is None else f"`{show(value)}`"


if __name__ == "__main__":
    print(to_markdown(), end="")
