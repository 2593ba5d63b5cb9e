"""`dragoman bench` and `dragoman doctor`: measure speed on this machine, and check it."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from dragoman.base.errors import ConfigError
from dragoman.cli.options import Commands, Flag, Json, Quiet, argument
from dragoman.cli.outcome import tell, to_json

bench = Commands(help="Measure speed on this machine.", no_args_is_help=True)

# Commands that became scripts of the source checkout, and where they are.
_MOVED = {
    "complexity": "benchmarks/complexity.py",
    "cost": "benchmarks/cost.py",
    "goodput": "benchmarks/goodput.py",
    "peers": "benchmarks/peers/install.py",
    "quality": "benchmarks/time_to_quality.py",
    "train": "benchmarks/training_speed.py",
}


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
    threads: Annotated[
        int | None, Flag("Threads of each contender. [default: the number of cores]", at_least=1)
    ] = None,
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
