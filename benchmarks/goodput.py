"""Simulate the goodput of a run on machines that fail, and find the best checkpoint interval.

    python benchmarks/goodput.py --update S --checkpoint S --restart S --failure H [--machines N,N,...]
        [--every N] [--hours H] [--seed N] [--json]

Prints the goodput of a run on each number of machines, simulated and by a closed form.

A run makes updates and regularly writes a checkpoint. A failure loses the updates since the last checkpoint;
the run restarts, which takes a while and may fail too. Failures are memoryless: the time between them has an
exponential distribution, and machines fail independently.

Goodput is the share of the time spent on updates that no failure undoes.
"""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from random import Random
from typing import Annotated, Any

import typer

from dragoman.base.errors import ConfigError
from dragoman.base.tables import aligned
from dragoman.cli.options import Commands, Json
from dragoman.cli.outcome import run

FAILURES = 2000  # that a simulation meets on average, unless its hours are limited


@dataclass(frozen=True, kw_only=True)
class Machines:
    """What a run costs on its machines, in seconds."""

    update: float
    checkpoint: float  # training waits for it
    restart: float  # from the start of the program to the next update
    failure: float = math.inf  # mean time between failures of one machine
    count: int = 1  # the run fails with any of them

    def __post_init__(self) -> None:
        if not (self.update > 0 and self.failure > 0 and self.count >= 1):
            raise ConfigError("update, failure and count must be positive", hint="change them")
        if not (self.checkpoint >= 0 and self.restart >= 0):
            raise ConfigError("checkpoint and restart must not be negative", hint="change them")

    @property
    def between(self) -> float:
        """Mean seconds between two failures of any machine."""
        return self.failure / self.count


@dataclass(frozen=True, kw_only=True)
class Course:
    """What came of a simulated run."""

    seconds: float
    updates: int  # that a checkpoint holds
    failures: int
    goodput: float


def simulate(
    machines: Machines,
    *,
    every: int,
    hours: float = math.inf,
    updates: float = math.inf,
    seed: int = 1,
    failures: Iterator[float] | None = None,
) -> Course:
    """Run for some hours, or until so many updates, with a checkpoint after `every` updates.

    `failures` are seconds between a failure and the next; when they end, nothing fails any more. By default
    they are drawn from the seed. It costs as much as there are failures, not updates.
    """
    if every < 1 or (math.isinf(hours) and math.isinf(updates)):
        raise ConfigError("every must be at least 1, and hours or updates limited", hint="change them")
    draw = Random(seed)
    lives = failures or (iter(lambda: draw.expovariate(1 / machines.between), None))
    segment = every * machines.update + machines.checkpoint
    end, now, done, failed = hours * 3600, 0.0, 0, 0
    while True:
        life = math.inf if math.isinf(machines.between) and failures is None else next(lives, math.inf)
        wanted = math.ceil((updates - done) / every) if math.isfinite(updates) else math.inf
        within = min(life, end - now) - machines.restart
        segments = min(math.floor(max(within, 0.0) / segment), wanted) if math.isfinite(within) else wanted
        done += int(segments) * every
        if segments == wanted:
            now += machines.restart + int(segments) * segment
            break
        if life >= end - now:
            now = end
            break
        now, failed = now + life, failed + 1
    done = int(min(done, updates))
    goodput = done * machines.update / now if now else 0.0
    return Course(seconds=now, updates=done, failures=failed, goodput=goodput)


def expected_goodput(machines: Machines, every: float) -> float:
    """The goodput of a long run, in closed form.

    The complete model of Daly 2006, "A higher order estimate of the optimum checkpoint interval for restart
    dumps": with M between failures, restart R, checkpoint d and t seconds of updates between two, t seconds
    take M exp(R/M) (exp((t+d)/M) - 1) on average.
    """
    useful, between = every * machines.update, machines.between
    if math.isinf(between):
        return useful / (useful + machines.checkpoint)
    exponent = (useful + machines.checkpoint) / between
    if exponent + machines.restart / between > 700:
        return 0.0  # exp would overflow
    return useful / (between * math.exp(machines.restart / between) * math.expm1(exponent))


def young(machines: Machines) -> float:
    """Seconds of updates between two checkpoints, to first order: sqrt(2 d M).

    Young 1974, "A first order approximation to the optimum checkpoint interval".
    """
    return math.sqrt(2 * machines.checkpoint * machines.between)


def daly(machines: Machines) -> float:
    """The same to higher order. Daly 2006, eq. 37."""
    between, saving = machines.between, machines.checkpoint
    if saving >= 2 * between:
        return between
    ratio = math.sqrt(saving / (2 * between))
    return young(machines) * (1 + ratio / 3 + ratio**2 / 9) - saving


def best_interval(machines: Machines, *, hours: float, seed: int = 1) -> int:
    """The updates between two checkpoints with which the simulation has the highest goodput.

    Every candidate meets the same failures. The candidates lie 10% apart, around Young's.
    """
    if math.isinf(machines.between):
        raise ConfigError("without failures no checkpoint is needed", hint="give the time between failures")
    middle = young(machines) / machines.update
    candidates = {max(round(middle * 1.1**power), 1) for power in range(-20, 21)}
    return max(
        sorted(candidates), key=lambda every: simulate(machines, every=every, hours=hours, seed=seed).goodput
    )


@dataclass(frozen=True, kw_only=True)
class Forecast:
    """What to expect of a run on some machines."""

    machines: int
    failures: float  # a day
    every: int  # updates between two checkpoints
    minutes: float  # of updates between two checkpoints
    goodput: float  # simulated
    expected: float  # by the closed form
    young: float  # minutes
    daly: float  # minutes


def forecast(
    machines: Machines, counts: Sequence[int], *, every: int | None, hours: float | None, seed: int
) -> list[Forecast]:
    """Simulate the run on each number of machines. `every` is by default the best interval of each."""
    forecasts = []
    for count in counts:
        some = replace(machines, count=count)
        long = FAILURES * some.between / 3600 if hours is None else hours
        updates = best_interval(some, hours=long, seed=seed) if every is None else every
        forecasts.append(
            Forecast(
                machines=count,
                failures=86400 / some.between,
                every=updates,
                minutes=updates * some.update / 60,
                goodput=simulate(some, every=updates, hours=long, seed=seed).goodput,
                expected=expected_goodput(some, updates),
                young=young(some) / 60,
                daly=daly(some) / 60,
            )
        )
    return forecasts


def to_table(machines: Machines, forecasts: Sequence[Forecast]) -> dict[str, Any]:
    """Return the figures as plain values, for JSON."""
    figures = {name: value for name, value in asdict(machines).items() if name != "count"}
    return {**figures, "forecasts": [asdict(one) for one in forecasts]}


def to_text(machines: Machines, forecasts: Sequence[Forecast]) -> str:
    """Return the figures as a table."""
    rows = [["machines", "failures a day", "updates", "minutes", "goodput", "expected", "Young", "Daly"]]
    for one in forecasts:
        rows.append(
            [
                f"{one.machines:,}",
                f"{one.failures:.2g}",
                f"{one.every:,}",
                f"{one.minutes:.1f}",
                *(f"{100 * share:.1f}%" for share in (one.goodput, one.expected)),
                *(f"{minutes:.1f}" for minutes in (one.young, one.daly)),
            ]
        )
    about = (
        f"update {machines.update:g} s, checkpoint {machines.checkpoint:g} s, restart {machines.restart:g} s,"
        f" a machine fails every {machines.failure / 3600:g} hours"
    )
    legend = (
        "updates, minutes: between two checkpoints; goodput: simulated; expected: closed form (Daly 2006);\n"
        "Young, Daly: their best minutes between two checkpoints"
    )
    return "\n".join([about, "", *aligned(rows, right=range(len(rows[0]))), "", legend])


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
      python benchmarks/goodput.py --update 0.5 --checkpoint 20 --restart 180 --failure 2000
      python benchmarks/goodput.py --update 0.5 --checkpoint 20 --restart 180 --failure 2000 --every 1000
    """
    numbers = counts("--machines", machines)
    one = Machines(update=update, checkpoint=checkpoint, restart=restart, failure=3600 * failure)
    forecasts = forecast(one, numbers, every=every, hours=hours, seed=seed)
    print(json.dumps(to_table(one, forecasts), indent=2) if as_json else to_text(one, forecasts))


def counts(option: str, text: str) -> list[int]:
    """The numbers of `N,N,...`. Raises ConfigError for others than positive ones."""
    try:
        counts = [int(count) for count in text.split(",")]
    except ValueError:
        counts = []
    if not counts or min(counts) < 1:
        raise ConfigError(f"{option} {text}", hint="give numbers from 1 on, as in 1,8,64")
    return counts


app = Commands()
app.command()(goodput)

if __name__ == "__main__":
    sys.exit(run(typer.main.get_command(app), sys.argv[1:], program="benchmarks/goodput.py"))
