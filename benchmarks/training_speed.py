"""Training speed: dragoman and other toolkits train the same model on the same text, in turns.

    python benchmarks/training_speed.py [NAME ...] [--preset small] [--rounds N] [--steps N] [--warm N]
        [--batch-tokens N] [--threads N] [--device cuda] [--recipe FILE] [--data FOLDER] [--busy] [--json]

Prints the medians of the turns, their spread, the ratios to the fastest of the other toolkits, and the peak
memory. `peers/install.py` installs the other toolkits, and their drivers are beside it.

`training/workload.py` makes the batches, `training/contenders.py` lists who trains on them, and
`training/contest.py` lets them take turns and shows the result. `training/ours.py` and the drivers are the
processes that are measured; the clock inside is `peers/timing.py`.
"""

from __future__ import annotations

import json
import sys
from functools import partial
from typing import Annotated, Literal

import torch
import typer
from training import contest, workload
from training.contenders import Conditions, choose_contenders

from dragoman.base import machine
from dragoman.base.errors import ConfigError
from dragoman.cli.options import Commands, Data, Flag, Json, Quiet, Recipe, argument
from dragoman.cli.outcome import run, tell
from dragoman.training.runs.recipe import resolve
from dragoman.training.runs.text.texts import open_training

Busy = Annotated[bool, typer.Option("--busy", help="Measure even if the machine is busy.")]
_QUIET = 0.2  # cores that others may keep busy before a measurement


def training_speed(
    contenders: Annotated[
        list[str] | None,
        argument("NAME", "Contenders to measure. [default: dragoman and the installed toolkits]"),
    ] = None,
    preset: Annotated[
        str, Flag("Size of the model: tiny, small, tiny11, base or big.", metavar="NAME")
    ] = "small",
    rounds: Annotated[int, Flag("Turns of each contender.", at_least=1)] = 3,
    steps: Annotated[int, Flag("Timed training steps in a turn.", at_least=1)] = 12,
    warm: Annotated[int, Flag("Steps before the timed ones.", at_least=0)] = 3,
    batch_tokens: Annotated[int, Flag("Most target tokens in a batch, with padding.", at_least=100)] = 4096,
    threads: Annotated[
        int | None, Flag("Threads of each contender. [default: the number of cores]", at_least=1)
    ] = None,
    device: Annotated[
        Literal["cpu", "cuda"], Flag("cuda measures on a GPU, which only some contenders can use.")
    ] = "cpu",
    recipe: Recipe = None,
    data: Data = None,
    busy: Busy = False,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Train the same model on the same text with dragoman and with other toolkits, and compare.

    They take turns, each in a separate process. Prints medians, spread and peak memory. Without
    --recipe the text is the embedded corpus. benchmarks/peers/install.py installs the other toolkits.

    \b
      python benchmarks/training_speed.py
      python benchmarks/training_speed.py dragoman hf hf-tuned --preset base --rounds 5
      python benchmarks/training_speed.py --recipe recipes/multi30k-en-de.toml --data ~/corpora
      python benchmarks/training_speed.py --device cuda --preset big --batch-tokens 25000
    """
    say = partial(tell, quiet=quiet)
    chosen = choose_contenders(contenders or None, device)
    if device == "cuda" and not torch.cuda.is_available():
        raise ConfigError("PyTorch finds no GPU", hint="run dragoman doctor, which checks the GPU")
    resolve(preset=preset)  # an unknown preset fails here, before any work
    check_quiet(busy)
    if recipe is None:
        batches = workload.embedded(batch_tokens=batch_tokens, batches=warm + steps)
    else:
        named = resolve(recipe=recipe)
        corpus, _ = open_training(named.data, data)
        pairs = [(pair.source, pair.target) for pair in corpus]
        batches = workload.make(pairs, title=named.title, batch_tokens=batch_tokens, batches=warm + steps)
    conditions = Conditions(
        workload=batches,
        preset=preset,
        threads=threads or machine.cores(),
        steps=steps,
        warm=warm,
        device=device,
    )
    result = contest.hold(chosen, conditions, rounds=rounds, say=say)
    print(json.dumps(result.to_table(), indent=2) if as_json else contest.to_text(result))
    if all(one.failure for one in result.results):
        raise typer.Exit(1)


def check_quiet(busy: bool) -> None:
    """Raise ConfigError if other processes keep the machine busy, unless the user allows it."""
    others = machine.busy_cores(1.0)
    if not busy and others is not None and others > _QUIET:
        raise ConfigError(
            f"the machine is busy: other processes use {others:.1f} cores",
            hint="wait until it is idle, or pass --busy to measure anyway and mark the figures",
        )


app = Commands()
app.command()(training_speed)

if __name__ == "__main__":
    sys.exit(run(typer.main.get_command(app), sys.argv[1:], program="benchmarks/training_speed.py"))
