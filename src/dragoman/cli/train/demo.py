"""`dragoman demo`: train a small translator and try it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from dragoman.cli.options import Flag, Quiet, Verbose
from dragoman.cli.train.train import training


def demo(
    output: Annotated[
        Path, Flag("The folder for the model and its text.", flag="--output -o", metavar="FOLDER")
    ] = Path("runs/demo"),
    quiet: Quiet = False,
    verbose: Verbose = 0,
) -> None:
    """Train a small English-German translator and try it, in about two minutes.

    The text comes from a small grammar that is part of dragoman. Repeating the command resumes the
    training; once it is complete, the command shows only the results.

    \b
      dragoman demo
    """
    with training(output, verbosity=-1 if quiet else verbose) as (observer, stop):
        from dragoman.training.runs.demo import PAIRS, demonstrate

        observer.on_message(
            f"A Transformer learns German from {PAIRS:,} sentences that a small grammar makes."
        )
        observer.on_message("Ctrl-C saves and stops; the same command resumes.")
        demonstration = demonstrate(output, observer=observer, stop=stop)
    lines = ["On sentences it has not seen:", "", *_indented(demonstration.scores.to_text())]
    lines += [f"  {demonstration.sentences_per_second:,.0f} sentences/s", "", "And these:", ""]
    for source, text in demonstration.translations:
        lines += [f"  {source}", f"  -> {text}", ""]
    lines += ["How the first came about, to open in a browser:", "", f"  {demonstration.report}", ""]
    lines += ["Try next:", ""]
    for command, purpose in demonstration.commands:
        lines += [f"  # {purpose}", f"  {command}"]
    print("\n".join(lines))


def _indented(text: str) -> list[str]:
    return [f"  {line}".rstrip() for line in text.splitlines()]
