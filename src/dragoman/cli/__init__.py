"""The command line. Only this package and `display/` print.

Each command has a file here, which is imported when the command is called. Slow imports (torch, numpy,
sacreBLEU) are inside the commands, so that `--help` answers at once.
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Sequence
from importlib import import_module
from itertools import takewhile
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import typer
from typer.core import TyperGroup

from dragoman.base.ctrl_c_at_start import end_at_once
from dragoman.cli import outcome
from dragoman.cli.options import Commands
from dragoman.version import __version__


class _Command(NamedTuple):
    """Where a command is: a function, or `Commands` with commands of its own."""

    module: str
    name: str
    help: str
    kind: str | None = None  # the class of the command, if it is not the usual one


COMMANDS = {
    "demo": _Command("train.train", "demo", "Train a small translator, watch it learn, and try it."),
    "train": _Command("train.train", "train", "Train a model on raw parallel text.", "TrainCommand"),
    "distil": _Command("train.distil", "distil", "Train a student to imitate its teachers.", "TrainCommand"),
    "translate": _Command("translate.translate", "translate", "Translate lines of text, or documents."),
    "bulk": _Command("translate.bulk", "bulk", "Translate folders and large files in parts, here or on Ray."),
    "back-translate": _Command(
        "translate.back_translate", "back_translate", "Make synthetic parallel text from monolingual text."
    ),
    "align": _Command("evaluate.given", "align", "Align the words of text and its translation."),
    "risk": _Command("evaluate.given", "risk", "Flag doubtful translations."),
    "data": _Command(
        "data.data", "data", "See parallel text, clean it and divide it; find pairs in documents."
    ),
    "serve": _Command("serve", "serve", "Serve models to clients of LibreTranslate and DeepL.", "Configured"),
    "evaluate": _Command("evaluate.evaluate", "evaluate", "Translate test text and score it."),
    "score": _Command("evaluate.score", "score", "Score translations of any system."),
    "inspect": _Command("inspect", "inspect", "See how a translation came about, in one offline page."),
    "positions": _Command("inspect", "positions", "See the sinusoidal positions, without a model."),
    "course": _Command("course", "course", "Learn how the Transformer works, on a page with a live model."),
    "studio": _Command("serve", "studio", "Watch training runs on a page."),
    "ladder": _Command(
        "train.ladder", "ladder", "Train several recipes within one budget, and compare them."
    ),
    "pipeline": _Command("pipeline", "pipeline", "Run commands that need each other's results, and resume."),
    "import": _Command("model.interop", "import_model", "Import a model of Hugging Face, Marian or Firefox."),
    "export": _Command("model.interop", "export_model", "Export a model to another program, or to a page."),
    "config": _Command("train.config", "config", "Print the options of a recipe with their descriptions."),
    "doctor": _Command("doctor", "doctor", "Check this machine and suggest changes."),
    "memory": _Command("model.memory", "memory", "Keep translations, find them again, and exchange them."),
    "bench": _Command("outcome", "bench", ""),  # without help: only old command lines have it
    "model": _Command("model.model", "model", "Look into model folders; check, average and compare them."),
}


def main() -> None:
    """Run the `dragoman` program and exit with the code of the command."""
    code = run(sys.argv[1:] or ["--help"])
    end_at_once()
    gc.freeze()  # else the interpreter looks for garbage several times while it ends
    sys.exit(code)


def run(words: Sequence[str]) -> int:
    """Run a command line, without the name of the program, and return its exit code."""
    return outcome.run(typer.main.get_command(app), words)


class _Program(TyperGroup):
    """The commands, each built when it is called: to build all takes ten times as long."""

    def list_commands(self, ctx: Any) -> list[str]:
        return [name for name, command in COMMANDS.items() if command.help]

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        if cmd_name in COMMANDS and self.commands.get(cmd_name) is None:
            self.commands[cmd_name] = _built(cmd_name)
        return self.commands.get(cmd_name)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        if args[0] not in COMMANDS:
            self.commands = dict.fromkeys(COMMANDS)  # type: ignore[assignment]  # names to suggest
        return super().resolve_command(ctx, _moved(args))

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, COMMANDS[name].help) for name in self.list_commands(ctx)])


def _built(name: str) -> Any:
    command = COMMANDS[name]
    module = import_module(f"dragoman.cli.{command.module}")
    target = getattr(module, command.name)
    if not isinstance(target, typer.Typer):
        alone = Commands()
        kind = None if command.kind is None else getattr(module, command.kind)
        alone.command(name, cls=kind, short_help=command.help)(target)
        target = alone
    built = typer.main.get_command(target)
    built.name = name
    return built


def _moved(args: list[str]) -> list[str]:
    """Rewrite an old command line of `filter` or `bench`. For one version."""
    words = args[1:]
    if args[0] == "bench":
        return ["bench", "--", *(words or [""])[:1]]
    if args[0] != "filter" or not words or words[0].startswith("-"):
        return args
    outcome.warn("dragoman filter is now the command dragoman data clean TEXT -o FILE --score MODEL")
    models = [words[0], *takewhile(lambda word: Path(word, "config.json").is_file(), words[1:])]
    rest = [word for word in words[len(models) :] if word != "--checks"]
    return ["data", "clean", *rest, *(word for model in models for word in ("--score", model))]


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


app = Commands(name="dragoman", cls=_Program)
app.callback(epilog=_EPILOG)(about)
