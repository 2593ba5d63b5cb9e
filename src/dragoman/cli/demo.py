"""`dragoman demo`: the first two minutes."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from dragoman.cli.options import Debug, Quiet, Verbose
from dragoman.cli.train import training


def demo(
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="FOLDER", help="Where the model and its text go.")
    ] = Path("runs/demo"),
    quiet: Quiet = False,
    verbose: Verbose = 0,
    debug: Debug = False,
) -> None:
    """Train a small English-German translator, watch it learn, and try it: about two minutes.

    The text is made by dragoman itself: sentences of a small grammar. Repeating the command goes on
    where it stood, and once it is trained shows only what it can do.

    \b
      dragoman demo
    """
    with training(output, verbosity=-1 if quiet else verbose) as (observer, stop):
        from dragoman.runs.demo import PAIRS, demonstrate

        observer.on_message(
            f"A Transformer learns German from {PAIRS:,} sentences that a small grammar makes."
        )
        observer.on_message("Ctrl-C saves and ends; the same command goes on.")
        shown = demonstrate(output, observer=observer, stop=stop)
    lines = ["On sentences it has not seen:", "", *_indented(shown.scores.to_text())]
    lines += [f"  {shown.sentences_per_second:,.0f} sentences/s", "", "And these:", ""]
    for source, text in shown.translations:
        lines += [f"  {source}", f"  -> {text}", ""]
    lines += ["How the first came about, to open in a browser:", "", f"  {shown.report}", ""]
    lines += ["Try next:", ""]
    for command, what in shown.commands:
        lines += [f"  # {what}", f"  {command}"]
    print("\n".join(lines))


def _indented(text: str) -> list[str]:
    return [f"  {line}".rstrip() for line in text.splitlines()]
