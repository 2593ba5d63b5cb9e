"""Flags that are made from dataclasses: names, types, bounds, defaults and sections."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import pytest
import typer

from dragoman import cli
from dragoman.base.options import Option, Options, entries
from dragoman.cli.options import Commands, Flag, Flags, check_applies
from dragoman.cli.outcome import run
from dragoman.translation.search.options import Decoding


@dataclass(frozen=True, kw_only=True)
class Draw(Options):
    heat: Annotated[float, Option("Heat of a draw.", above=0)] = 1.0


@dataclass(frozen=True, kw_only=True)
class Search(Options):
    width: Annotated[int | None, Option("Width. By default the model's.", at_least=1)] = None
    most_tokens: Annotated[int, Option("Longest.", at_least=1, flag="--most", metavar="LENGTH")] = 50
    rule: Annotated[Literal["full", "exact"], Option("When it ends.")] = "full"
    fast: Annotated[bool, Option("In haste.")] = False
    draw: Annotated[Draw | None, Option("Draw.")] = None


@pytest.fixture
def search(capsys: pytest.CaptureFixture[str]) -> Any:
    """Runs a command with these words. Returns the options it got, or what it printed."""
    got: list[Search] = []
    commands = Commands()

    @commands.command()
    def find(
        context: typer.Context,
        text: Annotated[str, typer.Argument(metavar="TEXT")] = "",
        *,
        options: Annotated[
            Search,
            Flags("width", "rule", "fast", section="Search"),
            Flags("draw", "draw.heat", section="Draws", most_tokens=Flag(default=7)),
        ],
    ) -> None:
        """Find."""
        check_applies(context, {"Draws": ("lines",)}, text or "lines", hint="leave it out")
        got.append(options)

    def called(*words: str) -> Any:
        code = run(typer.main.get_command(commands), words)
        ended = capsys.readouterr()
        return got.pop() if got else ended.out if code == 0 else ended.err

    return called


@pytest.mark.parametrize(
    ("words", "options"),
    [
        ("", {}),
        ("--width 3 --most 4", {"width": 3, "most_tokens": 4}),
        ("--rule exact --fast", {"rule": "exact", "fast": True}),
        ("--draw", {"draw": Draw()}),
        ("--draw --heat 2", {"draw": Draw(heat=2.0)}),
        ("documents --width 1", {"width": 1}),
    ],
)
def test_a_command_gets_the_dataclass(search: Any, words: str, options: dict[str, Any]) -> None:
    assert search(*words.split()) == Search(**{"most_tokens": 7} | options)


@pytest.mark.parametrize(
    ("words", "error"),
    [
        ("--width 0", "--width 0 cannot be used\nhint: it must be a whole number, at least 1\n"),
        ("--rule never", "--rule never cannot be used\nhint: it must be one of: full, exact\n"),
        ("--heat 2", "--heat without --draw\nhint: add --draw\n"),
        ("--draw --heat 0", "--heat 0.0 cannot be used\nhint: it must be a number, above 0\n"),
        ("--draw --heat nan", "--heat nan cannot be used\nhint: it must be a number, above 0, and finite\n"),
        ("--width x", "invalid value for '--width': 'x' is not a valid int"),
        ("documents --most 3", "--most is for lines, not for documents\nhint: leave it out\n"),
    ],
)
def test_a_bad_value_is_refused_by_the_name_of_the_flag(search: Any, words: str, error: str) -> None:
    assert search(*words.split()).startswith(f"error: {error}")


def test_the_help_has_sections_and_the_texts_of_the_fields(search: Any) -> None:
    text = search("--help")
    assert re.findall(r"^(\w[\w ]*):$", text, re.MULTILINE) == [
        "Arguments",
        "Search",
        "Draws",
        "Options",
    ]
    shown = " ".join(text.split())
    for row in (
        "--width N Width. By default the model's.",
        "--rule full|exact When it ends. [default: full]",
        "--most LENGTH Longest. [default: 7]",
        "--heat X With --draw: heat of a draw. [default: 1.0]",
        "--debug Show the traceback of an error.",
    ):
        assert row in shown


def flags_of(name: str) -> dict[str, Any]:
    """The options of a command by their names."""
    command: Any = typer.main.get_command(cli.app)
    for word in name.split():
        command = command.get_command(None, word)
    return {param.opts[0]: param for param in command.params}


@pytest.mark.parametrize(
    "name", ["translate", "bulk", "evaluate", "back-translate", "data clean", "align", "risk", "inspect"]
)
def test_every_command_that_searches_has_the_texts_of_decoding(name: str) -> None:
    """An option of decoding is declared in `Decoding` only; a command may say of some what they do there."""
    known = {entry.flag: entry.option.description for entry in entries(Decoding).values()}
    others = {"--batch-tokens", "--to", "--beam"} & flags_of(name).keys()
    texts = {flag: param.help for flag, param in flags_of(name).items()}
    assert others
    assert {flag: texts[flag] for flag in others} == {flag: known[flag] for flag in others}


def test_a_command_is_imported_when_it_is_called() -> None:
    program: Any = typer.main.get_command(cli.app)
    assert program.commands == {}
    assert program.get_command(None, "doctor").name == "doctor"
    assert list(program.commands) == ["doctor"]
    assert program.get_command(None, "docto") is None


def test_a_program_that_refused_a_command_runs_others(capsys: pytest.CaptureFixture[str]) -> None:
    program = typer.main.get_command(cli.app)
    assert run(program, ["docto"]) == 2
    assert "did you mean doctor?" in capsys.readouterr().err
    assert run(program, ["doctor", "--help"]) == 0


@pytest.mark.parametrize("name", cli.COMMANDS)
def test_every_command_shows_tracebacks_if_asked(name: str) -> None:
    command: Any = typer.main.get_command(cli.app).get_command(None, name)
    names = command.list_commands(None) if hasattr(command, "list_commands") else []

    for one in [command.get_command(None, each) for each in names] or [command]:
        assert "--debug" in {flag for parameter in one.params for flag in parameter.opts}
