"""`dragoman config`: the options of a recipe and their descriptions."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from dragoman.cli.options import Flag, Json, argument
from dragoman.cli.outcome import to_json


def config(
    words: Annotated[
        list[str] | None,
        argument(
            "SECTION|key=value",
            "Sections or options to print, such as model, data.filter or model.heads; by default all. "
            "Options to change, such as model.heads=8.",
        ),
    ] = None,
    preset: Annotated[
        str | None, Flag("Print the values of a preset: tiny, small, tiny11, base or big.", metavar="NAME")
    ] = None,
    recipe: Annotated[Path | None, Flag("Print the values of a recipe (TOML).")] = None,
    as_json: Json = False,
) -> None:
    """Print the options of a recipe: name, value, choices or bounds, and description.

    The output is a recipe file with comments. Save it, change it, and train with --recipe.

    \b
      dragoman config
      dragoman config model training --preset tiny
      dragoman config --recipe recipes/multi30k-en-de.toml training.max_updates=100 > short.toml
    """
    overrides = [word for word in words or [] if "=" in word]
    names = [word for word in words or [] if "=" not in word]
    from dragoman.training.runs import reference
    from dragoman.training.runs.recipe import resolve

    about = resolve(preset=preset, recipe=recipe, overrides=overrides, pairs=None)
    listed = reference.sections(about, all_architectures=recipe is None and not overrides)
    if names:
        listed = reference.select(listed, names)
    print(to_json(reference.to_json(listed)) + "\n" if as_json else reference.to_toml(listed), end="")
