"""`dragoman bench` and `dragoman doctor`: measure speed on this machine, and check it."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Annotated, Literal

import typer

from dragoman.base.errors import ConfigError
from dragoman.cli.options import Commands, Data, Flag, Json, Quiet, Recipe, argument
from dragoman.cli.outcome import tell, to_json

bench = Commands(help="Measure speed on this machine.", no_args_is_help=True)

Peers = Annotated[
    Path | None,
    typer.Option(
        "--peers",
        metavar="FOLDER",
        envvar="DRAGOMAN_PEERS",
        help="The drivers of the other toolkits. [default: benchmarks/peers of the source checkout]",
    ),
]
Threads = Annotated[
    int | None,
    Flag("Threads of each contender. [default: the number of cores]", flag="--threads", at_least=1),
]
Busy = Annotated[bool, typer.Option("--busy", help="Measure even if the machine is busy.")]
_QUIET = 0.2  # cores that others may keep busy before a measurement

# Commands that became scripts of the source checkout, and where they are.
_MOVED = {
    "complexity": "benchmarks/complexity.py",
    "cost": "benchmarks/cost.py",
    "goodput": "benchmarks/goodput.py",
    "quality": "benchmarks/time_to_quality.py",
}


@bench.command("train", short_help="Measure the training speed of dragoman and other toolkits.")
def train(
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
    threads: Threads = None,
    device: Annotated[
        Literal["cpu", "cuda"], Flag("cuda measures on a GPU, which only some contenders can use.")
    ] = "cpu",
    recipe: Recipe = None,
    data: Data = None,
    peers: Peers = None,
    busy: Busy = False,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Train the same model on the same text with dragoman and with other toolkits, and compare.

    They take turns, each in a separate process. Prints medians, spread and peak memory. Without
    --recipe the text is the embedded corpus. `dragoman bench peers` installs the other toolkits.

    \b
      dragoman bench train
      dragoman bench train dragoman hf hf-tuned --preset base --rounds 5
      dragoman bench train --recipe recipes/multi30k-en-de.toml --data ~/corpora
      dragoman bench train --device cuda --preset big --batch-tokens 25000
    """
    from dragoman.base import machine
    from dragoman.bench import contest, workload
    from dragoman.bench.contenders import Conditions, choose_contenders
    from dragoman.bench.peers import MISSING, drivers
    from dragoman.training.runs.recipe import resolve
    from dragoman.training.runs.text.texts import open_training

    say = partial(tell, quiet=quiet)
    folder = peers or drivers()
    chosen = choose_contenders(contenders or None, device, peers=folder)
    if folder is None and not contenders:
        say(MISSING)
    if device == "cuda":
        import torch

        if not torch.cuda.is_available():
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
        peers=folder,
    )
    result = contest.hold(chosen, conditions, rounds=rounds, say=say)
    print(json.dumps(result.to_table(), indent=2) if as_json else contest.to_text(result))
    if all(one.failure for one in result.results):
        raise typer.Exit(1)


@bench.command("translate", short_help="Measure the translation speed of dragoman and other programs.")
def bench_translate(
    contenders: Annotated[list[str] | None, argument("NAME", "Contenders to measure. [default: all]")] = None,
    model: Annotated[
        str | None, Flag("Translate with this model, at its own lengths.", flag="--model -m", metavar="MODEL")
    ] = None,
    preset: Annotated[
        str | None,
        Flag(
            "Translate with a model of this size and random weights: tiny, small, tiny11, base or big. "
            "[default: small]",
            metavar="NAME",
        ),
    ] = None,
    text: Annotated[Path | None, Flag("Lines to translate. [default: the embedded English corpus]")] = None,
    lines: Annotated[
        int, Flag("Number of lines. More than the text has are made by changing words.", at_least=1)
    ] = 1000,
    beam: Annotated[
        list[int] | None,
        typer.Option("--beam", min=1, metavar="N", help="Width of the beam; repeatable. [default: 1 and 4]"),
    ] = None,
    only: Annotated[
        list[str] | None,
        Flag("throughput, latency, start or file; repeatable. [default: all]", metavar="WHAT"),
    ] = None,
    rounds: Annotated[int, Flag("Turns of each contender.", at_least=1)] = 5,
    threads: Threads = None,
    busy: Annotated[bool, Flag("Do not wait for the machine to be idle.")] = False,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Translate the same lines with the same model in dragoman and in other programs, and compare.

    They take turns, each in a separate process, and get the model by `dragoman export`. A model with random
    weights translates every line to 16 tokens. CTranslate2 and Hugging Face first find their best batches by
    short runs. `start` is one sentence from the command line, `file` is `dragoman translate` of the lines.

    \b
      dragoman bench translate
      dragoman bench translate --preset base --text test.en --rounds 3
      dragoman bench translate --model runs/en-de --text test.en
      dragoman bench translate dragoman-int8 ctranslate2-int8 --lines 100000 --only throughput
    """
    from dragoman.base import machine
    from dragoman.bench.decoding import contest, report
    from dragoman.bench.decoding.contenders import choose_kinds, choose_translators, prepared

    chosen, kinds = choose_translators(contenders), choose_kinds(only)
    say = partial(tell, quiet=quiet)
    number = threads or machine.usable_cores()
    with prepared(chosen, model=model, preset=preset, text=text, lines=lines, threads=number) as conditions:
        result = contest.compete(
            chosen,
            conditions,
            kinds=kinds,
            beams=sorted(set(beam or (1, 4))),
            rounds=rounds,
            patience=0 if busy else 60,
            say=say,
        )
    print(json.dumps(result.to_table(), indent=2) if as_json else report.to_text(result))
    if any(one.disagrees for one in result.results) or not any(one.turns for one in result.results):
        raise typer.Exit(1)


@bench.command("peers", short_help="Install other toolkits to measure.")
def peers(
    names: Annotated[list[str] | None, argument("NAME", "Toolkits to install. [default: list them]")] = None,
    peers: Peers = None,
) -> None:
    """Install other toolkits to measure against, in pinned versions, each in its own environment.

    The environments are created in the cache. Without NAME, list the toolkits and their packages. The drivers
    come with the source checkout.

    \b
      dragoman bench peers
      dragoman bench peers huggingface
    """
    from dragoman.base.tables import aligned
    from dragoman.bench.peers import WHERE, drivers, install, python_of, requirements

    folder = peers or drivers()
    if folder is None:
        raise ConfigError("the drivers of other toolkits come with the source checkout", hint=WHERE)
    if not names:
        rows = [
            [
                name,
                "installed" if python_of(name).exists() else "not installed",
                ", ".join(path.read_text(encoding="utf-8").split()),
            ]
            for name, path in requirements(folder).items()
        ]
        print("\n".join(aligned(rows or [[f"no toolkits in {folder}"]])))
    for name in names or []:
        print(f"{name}: installing", file=sys.stderr)
        install(name, folder)


def _moved(name: str, script: str) -> Callable[[], None]:
    """A command that says where `bench NAME` moved to."""

    def command() -> None:
        raise ConfigError(
            f"bench {name} moved to {script}", hint=f"in a checkout of the source: python {script} --help"
        )

    return command


for _name, _script in _MOVED.items():
    bench.command(
        _name,
        hidden=True,
        add_help_option=False,
        context_settings={"ignore_unknown_options": True, "allow_extra_args": True},
    )(_moved(_name, _script))


def check_quiet(busy: bool) -> None:
    """Raise ConfigError if other processes keep the machine busy, unless the user allows it."""
    from dragoman.base import machine

    others = machine.busy_cores(1.0)
    if not busy and others is not None and others > _QUIET:
        raise ConfigError(
            f"the machine is busy: other processes use {others:.1f} cores",
            hint="wait until it is idle, or pass --busy to measure anyway and mark the figures",
        )


def doctor(as_json: Json = False) -> None:
    """Check this machine: Python, native engine, torch, cores, bf16, memory and GPU. Suggest changes.

    Exits with 1 if a problem stops dragoman from working.

    \b
      dragoman doctor
      dragoman doctor --json
    """
    from dragoman.bench.doctor import examine, to_table, to_text

    findings = examine()
    print(to_json(to_table(findings)) if as_json else to_text(findings))
    if any(finding.status == "problem" for finding in findings):
        raise typer.Exit(1)
