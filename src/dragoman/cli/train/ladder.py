"""`dragoman ladder`: train several systems on the same text within the same budget, and compare them."""

from __future__ import annotations

import json
import os
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Annotated

from dragoman.base.errors import ConfigError
from dragoman.cli.options import Data, Flag, Json, Quiet, Seeds, Verbose, argument
from dragoman.cli.outcome import tell
from dragoman.cli.train.train import sort_words, training


def ladder(
    words: Annotated[
        list[str] | None,
        argument(
            "RECIPE|key=value",
            "Recipes (TOML) that name training, validation and test text; then overrides for all.",
        ),
    ] = None,
    output: Annotated[
        Path | None,
        Flag("The folder for the model folders. [required]", flag="--output -o", metavar="FOLDER"),
    ] = None,
    minutes: Annotated[float | None, Flag("Minutes of training for each run.", metavar="N")] = None,
    updates: Annotated[int | None, Flag("Updates of each run.")] = None,
    vary: Annotated[
        str | None,
        Flag("Train each value of an option, such as model.positions=rotary,none.", metavar="KEY=A,B,..."),
    ] = None,
    seeds: Seeds = None,
    data: Data = None,
    as_json: Json = False,
    quiet: Quiet = False,
    verbose: Verbose = 0,
) -> None:
    """Train several recipes within the same budget, evaluate them, and write one table and one page.

    ladder.html in the folder shows BLEU against time. Repeat the command to resume. Every run is
    a model folder that can translate.

    \b
      dragoman ladder recipes/ladder/*.toml --data ~/corpora --minutes 12 -o runs/ladder
      dragoman ladder recipes/ladder/5-transformer.toml --vary model.positions=sinusoidal,rotary,none \\
          --data ~/corpora --updates 2000 -o runs/positions
      dragoman ladder recipes/ladder/*.toml --data ~/corpora --minutes 12 --seeds 3 -o runs/seeds
    """
    files, overrides = sort_words(words or [])
    if not files:
        raise ConfigError("no recipes to train", hint="name some, such as recipes/ladder/*.toml")
    if output is None:
        raise ConfigError("no folder to write to", hint="name one with -o, such as -o runs/ladder")
    if int(os.environ.get("WORLD_SIZE", "1")) > 1:
        raise ConfigError(
            "the ladder cannot run under torchrun",
            hint="start it without torchrun; each run uses all cores as threads",
        )
    from dragoman.training.runs.comparison.ladder import budget, climb, plan_rungs, to_text

    options = *overrides, *budget(minutes, updates)
    rungs = plan_rungs([Path(file) for file in files], options, vary, data, seeds)
    watch = partial(training, verbosity=-1 if quiet else verbose)
    say = partial(tell, quiet=quiet)
    results = climb(rungs, output, data_root=data, watch=watch, say=say)
    print(json.dumps([asdict(rung) for rung in results], indent=2) if as_json else to_text(results))
    tell(f"see {output / 'ladder.html'}", quiet=quiet)
