"""Forecast the operations, hours and price of a recipe on GPUs.

    python benchmarks/cost.py [--recipe FILE] [--preset NAME] [--gpus N,N,...] [--processes N]
        [--update-tokens N] [--price P] [--utilisation X] [--json]

Prints the counts and the assumptions, then the hours and the price on each number of GPUs.

The operations of a token are counted (`models/operations.py`). Everything about the machines is assumed: see
`Cluster`. Processes compute their share of an update, then sum the gradients, without overlap. The
utilisation of a GPU is assumed not to fall with its batch, so in reality small batches on many GPUs take
longer.

Sharded training exchanges the same number of bytes: weights in bf16 twice, and gradients once.
"""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Annotated, Any

import typer
from goodput import Machines, best_interval, counts, expected_goodput, simulate

from dragoman.base.errors import ConfigError
from dragoman.base.tables import aligned
from dragoman.cli.options import Commands, Json
from dragoman.cli.options import Recipe as RecipeFile
from dragoman.cli.outcome import run
from dragoman.models.operations import attention_products, forward, product, training_step, window_keys
from dragoman.models.shapes import FARTHEST_RELATIVE, SSRUConfig, TransformerOptions
from dragoman.training.runs.recipe import Recipe, resolve

_BYTES = 4  # of a weight, a gradient or a moment, in float32


@dataclass(frozen=True, kw_only=True)
class Cluster:
    """Machines with several GPUs each."""

    peak: float  # operations a second of a GPU, by its data sheet
    utilisation: float  # share of the peak that training reaches
    price: float  # of a GPU for an hour
    inside: float  # bytes a second that a GPU exchanges with others in its machine
    bandwidth: float  # the same with other machines
    disk: float  # bytes a second that a checkpoint is written with
    restart: float  # seconds from a failure to the next update
    failure: float  # mean seconds between two failures of a machine
    gpus: int = 8  # in a machine

    def __post_init__(self) -> None:
        for name, value in asdict(self).items():
            if not value > 0:
                raise ConfigError(f"{name} must be positive", hint="change it")
        if self.utilisation > 1:
            raise ConfigError(f"a utilisation of {self.utilisation:.0%}", hint="give a share, as in 0.3")


@dataclass(frozen=True, kw_only=True)
class Work:
    """What a run computes, the same on any machines."""

    token: float  # operations for a target token, forward and backward
    weights: float
    tokens: int  # target tokens of an update
    updates: int

    @property
    def operations(self) -> float:
        """Of the whole run."""
        return self.token * self.tokens * self.updates

    @property
    def gradients(self) -> float:
        """Bytes of the gradients."""
        return _BYTES * self.weights

    @property
    def checkpoint(self) -> float:
        """Bytes of a checkpoint: weights and two moments."""
        return 3 * _BYTES * self.weights


@dataclass(frozen=True, kw_only=True)
class Expense:
    """What the run takes on a number of GPUs."""

    gpus: int
    tokens: float  # target tokens of each GPU in an update
    computing: float  # seconds of an update
    summing: float  # seconds of an update, to sum the gradients
    failures: float  # in the whole run
    every: int  # updates between two checkpoints
    goodput: float
    hours: float
    price: float

    @property
    def update(self) -> float:
        """Seconds of an update."""
        return self.computing + self.summing


def work_of_recipe(recipe: Recipe, *, processes: int, length: int, update_tokens: int | None = None) -> Work:
    """What the recipe computes in so many processes, with sentences of `length` tokens on both sides.

    Batches count as full. With other `update_tokens`, there are fewer or more updates, of the same tokens
    in all. Raises ConfigError for anything but a Transformer.
    """
    model, training = recipe.model, recipe.training
    if not isinstance(model, TransformerOptions):
        raise ConfigError(
            f'the operations of model.architecture = "{model.architecture}" are not counted',
            hint="choose a Transformer",
        )
    text = recipe.tokenizer
    source = text.source_vocab_size or text.vocab_size
    shape = replace(model, source_vocab=source, target_vocab=text.vocab_size)
    token = training_step(shape, [length], [length])
    if training.recompute:
        token += recomputed(shape, [length], [length])
    tokens, updates = training.batch_tokens * training.accumulate * processes, training.max_updates
    if update_tokens is not None:
        tokens, updates = update_tokens, math.ceil(tokens * updates / update_tokens)
    return Work(token=token / length, weights=matrix_weights(shape), tokens=tokens, updates=updates)


def recomputed(shape: TransformerOptions, source_len_B: Sequence[int], target_len_B: Sequence[int]) -> float:
    """Return the operations that `training.recompute` adds: the layers once more, not the output layer."""
    output = product(sum(target_len_B), shape.d_model, shape.target_vocab)
    return forward(shape, source_len_B, target_len_B) - output


def matrix_weights(shape: TransformerOptions) -> float:
    """Return the number of weights in matrices, embeddings included. Biases and norms are under 1% more.

    A token takes a multiplication and an addition for each weight of the layers, beside the products of
    attention.
    """
    readers = shape.encoder_layers + shape.decoder_layers * (not isinstance(shape, SSRUConfig))
    keys = 1 if shape.window is None else window_keys(shape.window)
    keys += 2 * FARTHEST_RELATIVE + 1 if shape.positions == "relative" else 0
    beside = readers * attention_products(1, keys, shape.d_model)
    beside += shape.decoder_layers * attention_products(1, 1, shape.d_model)
    separate = {"all": 0, "decoder": shape.source_vocab, "none": shape.source_vocab + shape.target_vocab}
    return (forward(shape, [1], [1]) - beside) / 2 + separate[shape.tie] * shape.d_model


def cost_of(work: Work, cluster: Cluster, gpus: int, *, seed: int = 1) -> Expense:
    """What the work takes on so many GPUs, with a checkpoint as often as is best."""
    computing = work.token * work.tokens / (gpus * cluster.peak * cluster.utilisation)
    bandwidth = cluster.inside if gpus <= cluster.gpus else cluster.bandwidth
    # A ring sends each GPU's share 2 (n - 1) times: Patarasuk and Yuan 2009.
    summing = 2 * (gpus - 1) / gpus * work.gradients / bandwidth
    machines = Machines(
        update=computing + summing,
        checkpoint=work.checkpoint / cluster.disk,
        restart=cluster.restart,
        failure=cluster.failure,
        count=math.ceil(gpus / cluster.gpus),
    )
    plain = work.updates * machines.update
    long = 2000 * machines.between / 3600
    every = min(best_interval(machines, hours=long, seed=seed), work.updates)
    goodput = simulate(machines, every=every, hours=long, seed=seed).goodput
    goodput = goodput or expected_goodput(machines, every)
    hours = plain / goodput / 3600
    return Expense(
        gpus=gpus,
        tokens=work.tokens / gpus,
        computing=computing,
        summing=summing,
        failures=hours * 3600 / machines.between,
        every=every,
        goodput=goodput,
        hours=hours,
        price=hours * gpus * cluster.price,
    )


def costs_to_table(work: Work, cluster: Cluster, costs: Sequence[Expense]) -> dict[str, Any]:
    """Return the figures as plain values, for JSON."""
    return {
        **asdict(work),
        "operations": work.operations,
        "assumed": asdict(cluster),
        "costs": [{**asdict(one), "update": one.update} for one in costs],
    }


def costs_to_text(work: Work, cluster: Cluster, costs: Sequence[Expense]) -> str:
    """Return the figures as a table, below what is counted and what is assumed."""
    lines = [
        f"counted: {work.token / 1e9:.3f} GFLOP a target token, {work.weights / 1e6:.1f} million weights",
        f"run: {work.updates:,} updates of {work.tokens:,} target tokens, {work.operations:.2e} FLOP",
        f"assumed: {cluster.peak / 1e12:g} TFLOP/s, of which {cluster.utilisation:.0%} are reached; "
        f"{cluster.price:g} a GPU and hour;",
        f"  {cluster.inside / 1e9:g} GB/s between GPUs of a machine, "
        f"{cluster.bandwidth / 1e9:g} GB/s to others;",
        f"  {cluster.gpus} GPUs a machine, which fails every {cluster.failure / 3600:g} hours; restart "
        f"{cluster.restart:g} s; checkpoint of {work.checkpoint / 1e9:.2f} GB at {cluster.disk / 1e9:g} GB/s",
        "",
    ]
    rows = [["GPUs", "tokens each", "ms an update", "of it summing", "failures", "goodput", "hours", "price"]]
    for one in costs:
        rows.append(
            [
                f"{one.gpus:,}",
                f"{one.tokens:,.0f}",
                f"{one.update * 1e3:,.0f}",
                f"{one.summing / one.update:.0%}",
                f"{one.failures:.2g}",
                f"{one.goodput:.1%}",
                f"{one.hours:,.1f}",
                f"{one.price:,.0f}",
            ]
        )
    return "\n".join([*lines, *aligned(rows, right=range(8))])


def cost(
    recipe: RecipeFile = None,
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
    yours in place of the defaults. A failure loses the updates since the last checkpoint, as
    `benchmarks/goodput.py` simulates it.

    \b
      python benchmarks/cost.py --recipe recipes/wmt14-en-de-base.toml
      python benchmarks/cost.py --preset big training.recompute=true --gpus 8 --price 2 --utilisation 0.4
    """
    numbers = counts("--gpus", gpus)
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
    costs = [cost_of(work, cluster, count) for count in numbers]
    print(
        json.dumps(costs_to_table(work, cluster, costs), indent=2)
        if as_json
        else costs_to_text(work, cluster, costs)
    )


app = Commands()
app.command()(cost)

if __name__ == "__main__":
    sys.exit(run(typer.main.get_command(app), sys.argv[1:], program="benchmarks/cost.py"))
