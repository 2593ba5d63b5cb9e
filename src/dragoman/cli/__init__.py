"""The command line. Only this package and `display/` print.

Each command has a file here. Slow imports (torch, numpy, sacreBLEU) are inside the commands, so that `--help`
answers at once.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from dataclasses import dataclass
from importlib import import_module
from typing import Annotated, Any

import typer

from dragoman.base.interrupts import end_at_once
from dragoman.cli.outcome import run
from dragoman.version import __version__


@dataclass(frozen=True)
class _Command:
    """Where a command is: a function, or a Typer with commands of its own."""

    module: str
    name: str
    help: str
    kind: str | None = None  # the class of the command, if it is not typer's


_COMMANDS = {
    "demo": _Command("demo", "demo", "Train a small translator, watch it learn, and try it."),
    "train": _Command("train", "train", "Train a model on raw parallel text.", "TrainCommand"),
    "distil": _Command("distil", "distil", "Train a student on what its teachers say.", "TrainCommand"),
    "translate": _Command("translate", "translate", "Translate text: n lines in, n lines out."),
    "back-translate": _Command(
        "back_translate", "back_translate", "Make synthetic parallel text of text in one language."
    ),
    "filter": _Command("filter", "filter_pairs", "Keep the best pairs of parallel text."),
    "align": _Command("align", "align", "Align the words of text and its translation."),
    "risk": _Command("risk", "risk", "Flag doubtful translations."),
    "serve": _Command("serve", "serve", "Serve models to clients of LibreTranslate and DeepL."),
    "evaluate": _Command("evaluate", "evaluate", "Translate test text and score it."),
    "score": _Command("score", "score", "Score translations of any system."),
    "inspect": _Command("inspect", "inspect", "See how a translation came about, in one offline page."),
    "positions": _Command("inspect", "positions", "See the sinusoidal positions, without a model."),
    "studio": _Command("studio", "studio", "Watch training runs on a page."),
    "ladder": _Command("ladder", "ladder", "Train several recipes within one budget, and compare them."),
    "import": _Command("imports", "import_model", "Import a model of Hugging Face or Marian."),
    "export": _Command("exports", "export_model", "Export a model to another program."),
    "memory": _Command("memory", "memory", "Keep translations, find them again, and exchange them."),
    "model": _Command("model", "model", "Look into model folders; check, average and compare them."),
    "bench": _Command("bench", "bench", "Measure speed on this machine."),
    "config": _Command("config", "config", "Print the options of a recipe with their descriptions."),
    "doctor": _Command("doctor", "doctor", "Check this machine and suggest changes."),
}


def main() -> None:
    """Run the `dragoman` program and exit with the code of the command."""
    words = sys.argv[1:] or ["--help"]
    # To build one command takes a tenth of the time of all.
    names = [words[0]] if words[0] in _COMMANDS else _COMMANDS
    code = run(typer.main.get_command(_program(names)), words)
    end_at_once()
    sys.exit(code)


def _program(names: Iterable[str]) -> typer.Typer:
    """Return the command line with the commands of these names."""
    program = typer.Typer(
        name="dragoman",
        add_completion=False,
        rich_markup_mode=None,  # show what a user typed unchanged; importing rich also takes 0.1 s
        context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    )
    program.callback(epilog=_EPILOG)(about)
    for name in names:
        command = _COMMANDS[name]
        module = import_module(f"dragoman.cli.{command.module}")
        target = getattr(module, command.name)
        if isinstance(target, typer.Typer):
            program.add_typer(target, name=name, short_help=command.help)
        else:
            kind = None if command.kind is None else getattr(module, command.kind)
            program.command(name, cls=kind, short_help=command.help)(target)
    return program


def __getattr__(name: str) -> Any:
    """`app` is the whole command line (PEP 562)."""
    if name == "app":
        return _program(_COMMANDS)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def _version(value: bool) -> None:
    if value:
        print(f"dragoman {__version__}")
        raise typer.Exit


def about(
    version: Annotated[
        bool, typer.Option("--version", is_eager=True, callback=_version, help="Print the version and exit.")
    ] = False,
) -> None:
    """Train the Transformer on your own parallel text, translate with it, and see how it works."""


_EPILOG = """From raw text to a scored translation:

\b
  dragoman train train.en train.de --valid valid.en valid.de -o runs/en-de
  dragoman translate runs/en-de test.en -o test.out.de
  dragoman evaluate runs/en-de test.en test.de
  dragoman inspect runs/en-de "A sentence." -o report.html

Exit codes: 0 success, 1 other failure, 2 usage or configuration, 3 bad data, 4 model missing or
damaged, 5 below --min-bleu, 130 stopped by Ctrl-C, 143 by SIGTERM, 129 by SIGHUP."""
