"""Translation speed: dragoman and other programs translate the same lines with the same model, in turns.

    python benchmarks/translation_speed.py [NAME ...] [--model MODEL] [--preset small] [--text FILE]
        [--lines N] [--beam N] [--only WHAT] [--rounds N] [--threads N] [--busy] [--json]

Prints a table for each measurement and each width of the beam: the medians of the turns, their spread, the
ratios to CTranslate2, and the peak memory.

In `decoding/`:

material.py    the sentences, and the model in the format of each program
contenders.py  the programs, the settings each may choose among, and the common conditions
contest.py     rounds of turns; every turn is a separate process
report.py      the outcome as text
measured.py    the work of one process, and its clock; it needs the standard library only
programs.py    the programs inside these processes
script.py      the shortest scripts for one sentence, to measure the start of a program
start.py       a process that runs a command, and measures its time and memory
"""

from __future__ import annotations

import json
import sys
from functools import partial
from pathlib import Path
from typing import Annotated

import typer
from decoding import contest, report
from decoding.contenders import choose_kinds, choose_translators, prepared

from dragoman.base import machine
from dragoman.cli.options import Commands, Flag, Json, Quiet, argument
from dragoman.cli.outcome import run, tell


def translation_speed(
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
    weights translates every line to 16 tokens. The other programs first find their best batches by
    short runs. `start` is one sentence from the command line, `file` is `dragoman translate` of the lines.

    \b
      python benchmarks/translation_speed.py
      python benchmarks/translation_speed.py --preset base --text test.en --rounds 3
      python benchmarks/translation_speed.py --model runs/en-de --text test.en
      python benchmarks/translation_speed.py dragoman-int8 ctranslate2-int8 --lines 100000 --only throughput
    """
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


app = Commands()
app.command()(translation_speed)

if __name__ == "__main__":
    sys.exit(run(typer.main.get_command(app), sys.argv[1:], program="benchmarks/translation_speed.py"))
