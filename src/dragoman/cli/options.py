"""Options of the command line: each is declared once.

A parameter of a command whose type is a dataclass stands for a flag for each of its fields. Type, bounds and
text of a flag come from the field (`base/options.py`). The command gets the dataclass, already checked:

    def align(model: Model, decoding: Annotated[Decoding, Flags("to", "attention")]) -> None: ...
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal, get_args, get_origin, get_type_hints

import typer
from typer.core import TyperCommand, TyperOption
from typer.models import OptionInfo

from dragoman.base.errors import ConfigError
from dragoman.base.options import Entry, entries, show

_SETTINGS: dict[str, Any] = {
    "add_completion": False,
    "rich_markup_mode": None,  # show what a user typed unchanged; importing rich also takes 0.1 s
    "context_settings": {"help_option_names": ["-h", "--help"], "max_content_width": 100},
}
_METAVARS = {int: "N", float: "X", str: "TEXT", Path: "PATH"}


@dataclass(frozen=True)
class Flag:
    """What a command says otherwise about a field than its dataclass."""

    name: str = ""
    default: Any = ...
    help: str = ""


class Flags:
    """The fields of a dataclass that are flags of a command, in one section of its help.

    "sample.seed" is a field of the section in the field `sample`, whose own flag switches it on.
    """

    def __init__(self, *names: str, section: str | None = None, **changed: Flag) -> None:
        self.fields = dict.fromkeys(names, Flag()) | changed
        self.section = section


class Commands(typer.Typer):
    """Commands that take dataclasses as flags, have --debug, and show their options in sections."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**_SETTINGS | options)

    def command(  # type: ignore[override]  # fewer options than typer's
        self, name: str | None = None, *, cls: type[TyperCommand] | None = None, **options: Any
    ) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
        """Register a function as a command, and return it unchanged."""

        def register(function: Callable[..., Any]) -> Callable[..., Any]:
            super(Commands, self).command(name, cls=cls or Command, **options)(with_flags(function))
            return function

        return register


class Command(TyperCommand):
    """A command with --debug, whose help has a section for each group of options."""

    def __init__(self, *arguments: Any, params: list[Any] | None = None, **options: Any) -> None:
        debug = TyperOption(
            param_decls=["--debug"],
            is_flag=True,
            default=False,
            expose_value=False,  # `outcome.run` reads it: it works even if the rest does not parse
            help="Show the traceback of an error.",
        )
        super().__init__(*arguments, params=[*(params or []), debug], **options)

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write the arguments, the sections in their order, and the options without a section."""
        sections: dict[str, list[tuple[str, str]]] = {"Arguments": []}
        last = []
        for param in self.get_params(ctx):
            if (row := param.get_help_record(ctx)) is None:
                continue
            section = "Arguments" if param.param_type_name == "argument" else param.rich_help_panel
            (last if section is None else sections.setdefault(section, [])).append(row)
        for title, rows in (*sections.items(), ("Options" if len(sections) < 2 else "Other options", last)):
            if rows:
                with formatter.section(title):
                    formatter.write_dl(rows)


def with_flags(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function as typer takes it: with a parameter for each flag in place of the dataclasses."""
    parameters: list[inspect.Parameter] = []
    groups: dict[str, _Group] = {}
    for parameter in inspect.signature(function, eval_str=True).parameters.values():
        group = _group_of(parameter.annotation)
        if group is not None:
            groups[parameter.name] = group
        parameters += [parameter] if group is None else group.parameters()
    if not groups:
        return function

    def call(**values: Any) -> Any:
        for name, group in groups.items():
            values[name] = group.build(values)
        return function(**values)

    keyword = [one.replace(kind=inspect.Parameter.KEYWORD_ONLY) for one in parameters]
    call.__signature__ = inspect.Signature(keyword)  # type: ignore[attr-defined]
    call.__annotations__ = {one.name: one.annotation for one in parameters}
    call.__doc__, call.__name__ = function.__doc__, function.__name__
    return call


def given(context: typer.Context) -> dict[str, Any]:
    """The options of a command line that are not the default, by the names of their parameters."""
    return {
        str(param.name): context.params[str(param.name)]
        for param in context.command.params
        if param.param_type_name == "option"
        and param.name in context.params
        and context.params[param.name] != param.default
        and context.params[param.name] is not None
    }


def check_applies(
    context: typer.Context, sections: Mapping[str, tuple[str, ...]], kind: str, *, hint: str
) -> None:
    """Raise ConfigError for an option in a section of the help that has no use for this `kind` of input.

    `sections` says for which kinds a section is; one that is not there is for all.
    """
    used = given(context)
    for param in context.command.params:
        kinds = sections.get(getattr(param, "rich_help_panel", None) or "", (kind,))
        if param.name in used and kind not in kinds:
            raise ConfigError(f"{param.opts[0]} is for {' or '.join(kinds)}, not for {kind}", hint=hint)


@dataclass(frozen=True)
class _One:
    """A flag: the field it sets, the section in which that is, and the parameter of the command."""

    entry: Entry
    within: str
    name: str
    parameter: inspect.Parameter


@dataclass(frozen=True)
class _Group:
    """The flags of a dataclass."""

    kind: Any
    flags: list[_One] = field(default_factory=list)

    def parameters(self) -> list[inspect.Parameter]:
        return [flag.parameter for flag in self.flags]

    def build(self, values: dict[str, Any]) -> Any:
        """Take the flags out of `values` and return the dataclass. Raises ConfigError for a bad value."""
        options: dict[str, Any] = {}
        inner: dict[str, dict[str, Any]] = {}
        for flag in self.flags:
            value = values.pop(flag.parameter.name)
            if value is None:
                continue
            if flag.within and flag.within not in options:
                raise ConfigError(f"{flag.name} without --{flag.within}", hint=f"add --{flag.within}")
            if not flag.within and flag.entry.plain in _sections(self.kind):
                if value:
                    options[flag.entry.name] = inner[flag.entry.name] = {}
                continue
            target = inner[flag.within] if flag.within else options
            try:
                target[flag.entry.name] = flag.entry.check(value, flag.name)
            except ConfigError as error:
                hint = error.hint.removesuffix(", or left out")
                raise ConfigError(f"{flag.name} {value}", hint=hint) from None
        for name, section in inner.items():
            options[name] = entries(self.kind)[name].plain(**section)
        return self.kind(**options)


def _sections(kind: Any) -> list[Any]:
    return [entry.plain for entry in entries(kind).values() if hasattr(entry.plain, "__dataclass_fields__")]


def _group_of(annotation: Any) -> _Group | None:
    """The flags that a parameter with this annotation stands for; None if it is an ordinary one."""
    kind, *metadata = get_args(annotation) if get_origin(annotation) is Annotated else (annotation,)
    if not hasattr(kind, "__dataclass_fields__"):
        return None
    chosen = [one for one in metadata if isinstance(one, Flags)] or [Flags(*entries(kind))]
    group = _Group(kind)
    for flags in chosen:
        for path, changed in flags.fields.items():
            within, _, name = path.rpartition(".")
            owner = entries(kind)[within].plain if within else kind
            group.flags.append(_one(owner, within, name, changed, flags.section))
    return group


def _one(owner: Any, within: str, name: str, changed: Flag, section: str | None) -> _One:
    entry = entries(owner)[name]
    hint = get_type_hints(owner, include_extras=True)[name]
    infos = [one for one in getattr(hint, "__metadata__", ()) if isinstance(one, OptionInfo)]
    default = entry.default if changed.default is ... else changed.default
    if infos:  # an option of the command line only; typer keeps the first name of an option in `default`
        return _One(entry, within, str(infos[0].default), _parameter(name, hint, default))
    flag = changed.name or entry.flag
    text = changed.help or entry.option.description
    if within:  # None, so that it is known whether it is given
        text = f"With --{within}: {text[:1].lower()}{text[1:]} [default: {show(default)}]"
        default = None
    kind, metavar = _type(entry)
    default = bool(default) if kind is bool else default
    info = typer.Option(flag, metavar=metavar, help=text, rich_help_panel=section)
    annotation = Annotated[kind if default is not None else kind | None, info]
    return _One(entry, within, flag, _parameter(flag.lstrip("-").replace("-", "_"), annotation, default))


def _parameter(name: str, annotation: Any, default: Any) -> inspect.Parameter:
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)


def _type(entry: Entry) -> tuple[Any, str | None]:
    """The type that typer reads a field with, and what the help calls its value."""
    if get_origin(entry.plain) is Literal:
        return str, "|".join(get_args(entry.plain))
    if entry.plain is bool or hasattr(entry.plain, "__dataclass_fields__"):
        return bool, None
    return entry.plain, entry.option.metavar or _METAVARS.get(entry.plain)


def check_choice(option: str, value: str | None, choices: tuple[str, ...]) -> None:
    """Raise ConfigError unless `value` is one of the choices, or None."""
    if value is not None and value not in choices:
        raise ConfigError(f"{option} {value}", hint=f"use {', '.join(choices)}")


# ---- options that several commands share -------------------------------------------------------------

Model = Annotated[
    Path,
    typer.Argument(metavar="MODEL", help="A model folder, written by training or by dragoman import."),
]
TextAndTranslation = Annotated[
    list[str],
    typer.Argument(
        metavar="TEXT",
        help="Text and its translation: two files, one .tsv, .jsonl or .tmx, or -.",
        show_default=False,
    ),
]
OutputFile = Annotated[
    Path | None,
    typer.Option("--output", "-o", metavar="FILE", help="Write to this file, whole or not at all."),
]
NewFolder = Annotated[
    Path, typer.Option("--output", "-o", metavar="FOLDER", help="Write the model here: a new folder.")
]
NumberType = Annotated[
    str | None,
    typer.Option(
        "--dtype",
        metavar="auto|float32|bfloat16|int8",
        help="Type of the numbers. auto: int8 if the model is quantised, else float32. int8 needs the native "
        "engine.",
        show_default=False,
        rich_help_panel="Models",
    ),
]
Lowercase = Annotated[bool, typer.Option("--lowercase", help="Also score in lower case.")]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON document.")]
Bootstrap = Annotated[
    int | None,
    typer.Option(
        "--bootstrap",
        metavar="N",
        help="Resamples for intervals and tests; 0 for no intervals. [default: 1000; --test ar: 10000]",
    ),
]
TestName = Annotated[
    str,
    typer.Option(
        "--test",
        metavar="bs|ar",
        help="With --against: paired bootstrap resampling, or approximate randomisation.",
    ),
]
Recipe = Annotated[Path | None, typer.Option("--recipe", metavar="FILE", help="A recipe (TOML).")]
Seeds = Annotated[
    int | None,
    typer.Option(
        "--seeds",
        metavar="N",
        help="Train N times, with the recipe's seed and the next ones, each in its own folder seed-..., and "
        "report the mean and standard deviation of the scores.",
    ),
]
Data = Annotated[
    Path | None,
    typer.Option("--data", metavar="FOLDER", help="Where the recipe's text is. [default: $DRAGOMAN_DATA]"),
]
NoVerify = Annotated[
    bool, typer.Option("--no-verify", help="Do not compare the model with the other program.")
]
VerifyOn = Annotated[
    str | None,
    typer.Option(
        "--verify-on",
        metavar="FILE",
        help="Compare on the lines of this text. [default: a few sentences of dragoman's own]",
    ),
]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print only errors.")]
Verbose = Annotated[
    int, typer.Option("--verbose", "-v", count=True, help="Print more details.", show_default=False)
]
Debug = Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")]
