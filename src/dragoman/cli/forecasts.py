"""`dragoman bench goodput` and `dragoman bench cost`: figures of a run before it begins."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from dragoman.base.errors import ConfigError
from dragoman.cli.options import Json, Recipe


def goodput(
    update: Annotated[float, typer.Option("--update", metavar="S", help="Seconds of an update.")],
    checkpoint: Annotated[
        float, typer.Option("--checkpoint", metavar="S", help="Seconds that training waits for a checkpoint.")
    ],
    restart: Annotated[
        float, typer.Option("--restart", metavar="S", help="Seconds from a failure to the next update.")
    ],
    failure: Annotated[
        float, typer.Option("--failure", metavar="H", help="Hours between two failures of one machine, mean.")
    ],
    machines: Annotated[
        str, typer.Option("--machines", metavar="N,N,...", help="Machines; the run fails with any of them.")
    ] = "1,8,64",
    every: Annotated[
        int | None,
        typer.Option(
            "--every", metavar="N", min=1, help="Updates between two checkpoints. [default: the best]"
        ),
    ] = None,
    hours: Annotated[
        float | None,
        typer.Option("--hours", metavar="H", help="Hours to simulate. [default: as long as 2,000 failures]"),
    ] = None,
    seed: Annotated[int, typer.Option("--seed", metavar="N", help="Seed of the failures.")] = 1,
    as_json: Json = False,
) -> None:
    """Simulate training on machines that fail, and find the best time between two checkpoints.

    A failure loses the updates since the last checkpoint, and the restart takes its time. Goodput is the
    share of the time that goes into updates that are kept. Beside it: the closed form, and the best
    intervals of Young 1974 and Daly 2006.

    \b
      dragoman bench goodput --update 0.5 --checkpoint 20 --restart 180 --failure 2000
      dragoman bench goodput --update 0.5 --checkpoint 20 --restart 180 --failure 2000 --every 1000
    """
    from dragoman.bench.goodput import Machines, forecast, to_table, to_text

    counts = _counts("--machines", machines)
    one = Machines(update=update, checkpoint=checkpoint, restart=restart, failure=3600 * failure)
    forecasts = forecast(one, counts, every=every, hours=hours, seed=seed)
    print(json.dumps(to_table(one, forecasts), indent=2) if as_json else to_text(one, forecasts))


def cost(
    recipe: Recipe = None,
    preset: Annotated[
        str | None, typer.Option("--preset", metavar="NAME", help="A preset in place of a recipe.")
    ] = None,
    options: Annotated[
        list[str] | None, typer.Argument(metavar="key=value", help="Options that override the recipe's.")
    ] = None,
    gpus: Annotated[str, typer.Option("--gpus", metavar="N,N,...", help="Numbers of GPUs.")] = "1,8,64",
    processes: Annotated[
        int,
        typer.Option("--processes", metavar="N", min=1, help="Processes that the recipe is written for."),
    ] = 8,
    update_tokens: Annotated[
        int | None,
        typer.Option(
            "--update-tokens",
            metavar="N",
            min=1,
            help="Target tokens of an update; the tokens of the run stay the same. [default: the recipe's]",
        ),
    ] = None,
    length: Annotated[
        int, typer.Option("--length", metavar="N", min=1, help="Tokens of a sentence, mean.")
    ] = 28,
    peak: Annotated[
        float, typer.Option("--peak", metavar="T", help="TFLOP/s of a GPU; 989 is an H100 in bf16.")
    ] = 989,
    utilisation: Annotated[
        float, typer.Option("--utilisation", metavar="X", help="Share of the peak that training reaches.")
    ] = 0.3,
    price: Annotated[
        float, typer.Option("--price", metavar="P", help="Price of a GPU for an hour, in any currency.")
    ] = 2.5,
    inside: Annotated[
        float, typer.Option("--inside", metavar="B", help="GB/s that GPUs of a machine exchange.")
    ] = 300,
    bandwidth: Annotated[
        float, typer.Option("--bandwidth", metavar="B", help="GB/s that GPUs of several machines exchange.")
    ] = 50,
    disk: Annotated[
        float, typer.Option("--disk", metavar="B", help="GB/s that a checkpoint is written with.")
    ] = 1,
    restart: Annotated[
        float, typer.Option("--restart", metavar="S", help="Seconds from a failure to the next update.")
    ] = 180,
    failure: Annotated[
        float, typer.Option("--failure", metavar="H", help="Hours between two failures of one machine, mean.")
    ] = 1000,
    machine: Annotated[int, typer.Option("--machine", metavar="N", min=1, help="GPUs of a machine.")] = 8,
    as_json: Json = False,
) -> None:
    """Forecast what training by a recipe takes on some GPUs: hours and money.

    The operations of a token are counted. Everything about the machines is assumed; give the figures of
    yours in place of the defaults. A failure loses the updates since the last checkpoint, as `bench goodput`
    simulates it.

    \b
      dragoman bench cost --recipe recipes/wmt14-en-de-base.toml
      dragoman bench cost --preset big training.recompute=true --gpus 8 --price 2 --utilisation 0.4
    """
    from dragoman.bench.cost import Cluster, cost_of, costs_to_table, costs_to_text, work_of_recipe
    from dragoman.runs.recipe import resolve

    counts = _counts("--gpus", gpus)
    named = resolve(recipe=recipe, preset=preset, overrides=options or ())
    work = work_of_recipe(named, processes=processes, length=length, update_tokens=update_tokens)
    cluster = Cluster(
        peak=peak * 1e12,
        utilisation=utilisation,
        price=price,
        inside=inside * 1e9,
        bandwidth=bandwidth * 1e9,
        disk=disk * 1e9,
        restart=restart,
        failure=failure * 3600,
        gpus=machine,
    )
    costs = [cost_of(work, cluster, count) for count in counts]
    print(
        json.dumps(costs_to_table(work, cluster, costs), indent=2)
        if as_json
        else costs_to_text(work, cluster, costs)
    )


def _counts(option: str, text: str) -> list[int]:
    """The numbers of `N,N,...`. Raises ConfigError for others than positive ones."""
    try:
        counts = [int(count) for count in text.split(",")]
    except ValueError:
        counts = []
    if not counts or min(counts) < 1:
        raise ConfigError(f"{option} {text}", hint="give numbers from 1 on, as in 1,8,64")
    return counts
