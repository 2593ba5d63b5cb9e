"""The command line. Only this package and `display/` print.

Each command has a file here. Slow imports (torch, numpy, sacreBLEU) are inside the commands, so that `--help`
answers at once.
"""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from dragoman.cli.bench import bench
from dragoman.cli.config import config
from dragoman.cli.demo import demo
from dragoman.cli.doctor import doctor
from dragoman.cli.evaluate import evaluate
from dragoman.cli.exports import export_model
from dragoman.cli.imports import import_model
from dragoman.cli.inspect import inspect, positions
from dragoman.cli.ladder import ladder
from dragoman.cli.model import model
from dragoman.cli.outcome import run
from dragoman.cli.score import score
from dragoman.cli.train import TrainCommand, train
from dragoman.cli.translate import translate
from dragoman.version import __version__

app = typer.Typer(
    name="dragoman",
    add_completion=False,
    rich_markup_mode=None,  # show what a user typed unchanged; importing rich also takes 0.1 s
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)


def _version(value: bool) -> None:
    if value:
        print(f"dragoman {__version__}")
        raise typer.Exit


@app.callback(
    epilog="""From raw text to a scored translation:

    \b
      dragoman train train.en train.de --valid valid.en valid.de -o runs/en-de
      dragoman translate runs/en-de test.en -o test.out.de
      dragoman evaluate runs/en-de test.en test.de
      dragoman inspect runs/en-de "A sentence." -o report.html

    Exit codes: 0 success, 1 other failure, 2 usage or configuration, 3 bad data, 4 model missing or
    damaged, 5 below --min-bleu, 130 interrupted by Ctrl-C."""
)
def about(
    version: Annotated[
        bool, typer.Option("--version", is_eager=True, callback=_version, help="Print the version and exit.")
    ] = False,
) -> None:
    """Train the Transformer on your own parallel text, translate with it, and see how it works."""


app.command("demo", short_help="Train a small translator, watch it learn, and try it.")(demo)
app.command("train", cls=TrainCommand, short_help="Train a model on raw parallel text.")(train)
app.command("translate", short_help="Translate text: n lines in, n lines out.")(translate)
app.command("evaluate", short_help="Translate test text and score it.")(evaluate)
app.command("score", short_help="Score translations of any system.")(score)
app.command("inspect", short_help="See how a translation came about, in one offline page.")(inspect)
app.command("positions", short_help="See the sinusoidal positions, without a model.")(positions)
app.command("ladder", short_help="Train several recipes within one budget, and compare them.")(ladder)
app.command("import", short_help="Import a model of Hugging Face or Marian.")(import_model)
app.command("export", short_help="Export a model to another program.")(export_model)
app.add_typer(model, name="model", short_help="Look into model folders; check, average and compare them.")
app.add_typer(bench, name="bench", short_help="Measure speed and cost on this machine.")
app.command("config", short_help="Print the options of a recipe with their descriptions.")(config)
app.command("doctor", short_help="Check this machine and suggest changes.")(doctor)


def main() -> None:
    """Run the `dragoman` program and exit with the code of the command."""
    sys.exit(run(typer.main.get_command(app), sys.argv[1:] or ["--help"]))
