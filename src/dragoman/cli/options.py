"""Options of the command line: each is declared once, by a field of a dataclass or a parameter of a command.

A parameter whose type is a dataclass stands for a flag for each of its fields. Type, bounds and text come
from the field (`base/options.py`). The command gets the dataclass, already checked:

    def align(
        model: Model,
        *,
        decoding: Annotated[Decoding, Flags("to", "attention")],
        gold: Annotated[Path | None, Flag("Print how well the alignments agree with these.")] = None,
    ) -> None: ...
"""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, is_dataclass, replace
from keyword import iskeyword
from pathlib import Path
from typing import Annotated, Any, Literal, get_args, get_origin

import typer
from typer.core import TyperCommand, TyperOption

from dragoman.base.errors import ConfigError
from dragoman.base.options import Entry, Option, entries, show
from dragoman.cli.outcome import warn

_SETTINGS: dict[str, Any] = {
    "add_completion": False,
    "rich_markup_mode": None,  # show typed text unchanged; importing rich also takes 0.1 s
    "context_settings": {"help_option_names": ["-h", "--help"], "max_content_width": 100},
}
_METAVARS = {int: "N", float: "X", str: "TEXT", Path: "FILE"}


@dataclass(frozen=True, kw_only=True)
class Flag(Option):
    """Metadata of a flag: an option that only commands have, or changes to the option of a field.

    `section` is the part of the help where it stands, `default` replaces the default of a field.
    """

    section: str | None = None
    default: Any = ...


def argument(metavar: str, text: str) -> Any:
    """Metadata of an argument. The text says its default, if it has one."""
    return typer.Argument(metavar=metavar, help=text, show_default=False)


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
        last: list[tuple[str, str]] = []
        for param in self.get_params(ctx):
            if (row := param.get_help_record(ctx)) is None:
                continue
            panel = getattr(param, "rich_help_panel", None)
            section = "Arguments" if param.param_type_name == "argument" else panel
            (last if section is None else sections.setdefault(section, [])).append(row)
        for title, rows in (*sections.items(), ("Options", last)):
            if rows:
                with formatter.section(title):
                    formatter.write_dl(rows)


def with_flags(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function as typer takes it: with a parameter for each flag in place of dataclasses and metadata."""
    parameters: list[inspect.Parameter] = []
    groups: dict[str, _Group] = {}
    for parameter in inspect.signature(function, eval_str=True).parameters.values():
        group = _group_of(parameter)
        if group is not None:
            groups[parameter.name] = group
        parameters += [parameter] if group is None else [flag.parameter() for flag in group.flags]

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
    """The options of a command line that differ from the default, by the names of their parameters."""
    defaults = {one.name: one.default for one in context.command.params}
    return {name: value for name, value in context.params.items() if value not in (None, (), defaults[name])}


class Configured(Command):
    """A command whose options may also be set by variables: DRAGOMAN_SERVE_PORT is --port of `serve`."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        param: Any  # also one of `click`, whose options say more than its parameters
        for param in self.params:
            param.show_envvar = True  # in errors
            param.envvar = f"DRAGOMAN_{self.name}_{_public(param)}".upper().replace("-", "_")
            if os.environ.get(param.envvar, "").startswith(("tcp://", "udp://")):
                param.envvar = None  # of Kubernetes, for a service of this name

    def invoke(self, ctx: Any) -> Any:
        """Warn of variables that seem to be misspelt. Others of this prefix may be of Kubernetes."""
        prefix = f"DRAGOMAN_{self.name}_".upper()
        known = [str(one.envvar).removeprefix(prefix) for one in self.params]
        for name in (one.removeprefix(prefix) for one in os.environ if one.startswith(prefix)):
            if name not in known and (near := _similar(name, known)):
                warn(f"{prefix}{name} sets no option; did you mean {prefix}{near}?")
        return super().invoke(ctx)

    def format_options(self, ctx: Any, formatter: Any) -> None:
        param: Any  # also one of `click`, whose options say more than its parameters
        for param in self.params:
            param.show_envvar = False  # one sentence of the help says all names
        super().format_options(ctx, formatter)


_TOML: dict[str, tuple[str, tuple[type, ...]]] = {  # what an option of this type is in a file
    "int": ("a whole number", (int,)),
    "float": ("a number", (int, float)),
    "boolean": ("true or false", (bool,)),
}


def from_file(context: typer.Context, path: Path | None) -> Path | None:
    """The callback of an option that names a TOML file of options. Flags and variables have priority.

    Raises ConfigError for a file that cannot be read, or an option that the command does not have.
    """
    if path is None:
        return None
    from dragoman.base.config import read_toml

    known = {_public(param): param for param in context.command.params if param.expose_value}
    table: dict[str, Any] = {}
    for name, value in read_toml(path).items():
        param = known.get(name.replace("_", "-"))
        if param is None or param.name == "config":
            near = _similar(name, known)
            raise ConfigError(
                f"{path}: unknown option {name}", hint=f"did you mean {near}?" if near else "see --help"
            )
        several = param.nargs == -1 or getattr(param, "multiple", False)
        needed, types = _TOML.get(param.type.name, ("text in quotes", (str,)))
        if isinstance(value, list) != several or any(
            type(one) not in types for one in (value if several else [value])
        ):
            hint = f"write a list [...], each {needed}" if several else f"write {needed}"
            raise ConfigError(f"{path}: {name} = {show(value)} cannot be used", hint=hint)
        if str(param.name) in table:
            raise ConfigError(f"{path}: {name} is given twice", hint="delete one of both")
        table[str(param.name)] = value
    context.default_map = table
    return path


def _similar(name: str, known: Iterable[str]) -> str:
    from difflib import get_close_matches  # slow to import

    return next(iter(get_close_matches(name, known, 1)), "")


def _public(param: Any) -> str:
    """The name of an option without dashes, and of an argument."""
    return str(max(param.opts, key=len)).lstrip("-")


def check_applies(
    context: typer.Context, sections: Mapping[str, tuple[str, ...]], kind: str, *, hint: str
) -> None:
    """Raise ConfigError for an option whose section of the help does not apply to this `kind` of input.

    `sections` names the kinds that a section applies to; an unlisted section applies to all.
    """
    used = given(context)
    for param in context.command.params:
        kinds = sections.get(getattr(param, "rich_help_panel", None) or "", (kind,))
        if param.name in used and kind not in kinds:
            raise ConfigError(f"{param.opts[0]} is for {' or '.join(kinds)}, not for {kind}", hint=hint)


@dataclass(frozen=True)
class _One:
    """A flag: the option that it sets, and the section of a dataclass in which that is."""

    entry: Entry
    section: str | None
    within: str = ""

    @property
    def words(self) -> list[str]:
        """Its names, such as --output and -o."""
        return self.entry.flag.split()

    @property
    def name(self) -> str:
        """The name of the parameter."""
        name = self.words[0].lstrip("-").replace("-", "_")
        return f"{name}_" if iskeyword(name) else name

    def parameter(self) -> inspect.Parameter:
        option, kind, default = self.entry.option, self.entry.plain, self.entry.default
        text, metavar = option.description, option.metavar
        if self.within:  # None, so that it is known whether it is given
            text = f"With --{self.within}: {text[:1].lower()}{text[1:]} [default: {show(default)}]"
            default = None
        if get_origin(kind) is Literal:
            kind, metavar = str, metavar or "|".join(get_args(kind))
        elif kind is bool or is_dataclass(kind):
            kind, default = bool, bool(default)
        info = typer.Option(
            *self.words,
            metavar=None if kind is bool else metavar or _METAVARS.get(kind),
            help=text,
            rich_help_panel=self.section,
        )
        annotation: Any = Annotated[kind if default is not None else kind | None, info]
        return inspect.Parameter(
            self.name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation
        )

    def check(self, value: Any) -> Any:
        """The value with the type of the option. Raises ConfigError, which names the flag."""
        if value == self.entry.default or get_origin(self.entry.plain) is list:
            return value
        try:
            return self.entry.check(value, self.words[0])
        except ConfigError as error:
            hint = error.hint.removesuffix(", or left out")
            raise ConfigError(f"{self.words[0]} {value} cannot be used", hint=hint) from None


@dataclass(frozen=True)
class _Group:
    """The flags of a parameter: of the dataclass `kind`, or one alone."""

    kind: Any
    flags: list[_One] = field(default_factory=list)

    def build(self, values: dict[str, Any]) -> Any:
        """Take the flags out of `values` and return the dataclass, or the value of the only flag."""
        options: dict[str, Any] = {}
        for flag in self.flags:
            value = values.pop(flag.name)
            if self.kind is None:
                return None if value is None else flag.check(value)
            if value is None:
                continue
            if flag.within and flag.within not in options:
                raise ConfigError(f"{flag.words[0]} without --{flag.within}", hint=f"add --{flag.within}")
            if flag.within:
                options[flag.within][flag.entry.name] = flag.check(value)
            elif not is_dataclass(flag.entry.plain):
                options[flag.entry.name] = flag.check(value)
            elif value:
                options[flag.entry.name] = {}
        for name, value in options.items():
            if isinstance(value, dict):
                options[name] = entries(self.kind)[name].plain(**value)
        return self.kind(**options)


def _group_of(parameter: inspect.Parameter) -> _Group | None:
    """The flags that a parameter stands for; None if it is an ordinary one of typer's."""
    annotation = parameter.annotation
    kind, *metadata = get_args(annotation) if get_origin(annotation) is Annotated else (annotation,)
    for one in metadata:
        if isinstance(one, Flag):
            return _Group(None, [_One(Entry(parameter.name, kind, parameter.default, one), one.section)])
    if not (isinstance(kind, type) and is_dataclass(kind)):
        return None
    group = _Group(kind)
    for flags in [one for one in metadata if isinstance(one, Flags)] or [Flags(*entries(kind))]:
        for path, changed in flags.fields.items():
            within, _, name = path.rpartition(".")
            entry = entries(entries(kind)[within].plain if within else kind)[name]
            option = replace(
                entry.option,
                description=changed.description or entry.option.description,
                flag=changed.flag or entry.option.flag,
                metavar=changed.metavar or entry.option.metavar,
            )
            default = entry.default if changed.default is ... else changed.default
            section = flags.section or getattr(entry.option, "section", None)
            group.flags.append(_One(replace(entry, option=option, default=default), section, within))
    return group


# ---- options that several commands share -------------------------------------------------------------

Model = Annotated[
    Path,
    argument(
        "MODEL",
        "A model folder, written by training or by dragoman import; RUN@500 is a checkpoint of a run.",
    ),
]
WholeModel = Annotated[Path, argument("MODEL", "A model folder, written by training or by dragoman import.")]
TextAndTranslation = Annotated[
    list[str], argument("TEXT", "Text and its translation: two files, one .tsv, .jsonl or .tmx, or -.")
]
OutputFile = Annotated[Path | None, Flag("Write to this file, whole or not at all.", flag="--output -o")]
NewFolder = Annotated[Path, Flag("Write the model here: a new folder.", flag="--output -o", metavar="FOLDER")]
NumberType = Annotated[
    Literal["auto", "float32", "bfloat16", "int8"] | None,
    Flag(
        "Type of the numbers. auto: int8 if the model is quantised, else float32. int8 needs the native "
        "engine.",
        section="Models",
    ),
]
Lowercase = Annotated[bool, Flag("Also score in lower case.")]
Json = Annotated[bool, Flag("Print one JSON document.", flag="--json")]
Bootstrap = Annotated[
    int | None,
    Flag("Resamples for intervals and tests; 0 for no intervals. [default: 1000; --test ar: 10000]"),
]
ChrfWords = Annotated[bool, Flag("Also score by chrF++: chrF with words and pairs of words.")]
Page = Annotated[
    Path | None,
    Flag(
        "Also write an HTML page about the errors: scores by length, rare words, documents and faults, and "
        "every line. Adds chrF++."
    ),
]
Comet = Annotated[
    str | None,
    Flag(
        "Also score by COMET: the file or folder of its model, or a name in Hugging Face's cache.",
        metavar="MODEL",
    ),
]
CometPython = Annotated[
    str | None, Flag("The Python that COMET is installed for. [default: this one]", metavar="PYTHON")
]
TestName = Annotated[
    Literal["bs", "ar"], Flag("With --against: paired bootstrap resampling, or approximate randomisation.")
]
Recipe = Annotated[Path | None, Flag("A recipe (TOML).")]
Seeds = Annotated[
    int | None,
    Flag(
        "Train N times, with the recipe's seed and the next ones, each in its own folder seed-..., and "
        "report the mean and standard deviation of the scores."
    ),
]
Data = Annotated[
    Path | None,
    Flag("Folder of the text that a recipe or pipeline names. [default: $DRAGOMAN_DATA]", metavar="FOLDER"),
]
NoVerify = Annotated[bool, Flag("Do not compare the model with the other program.")]
VerifyOn = Annotated[
    str | None,
    Flag("Compare on the lines of this text. [default: a few sentences of dragoman's own]", metavar="FILE"),
]
Quiet = Annotated[bool, Flag("Print only errors.", flag="--quiet -q")]
Verbose = Annotated[
    int, typer.Option("--verbose", "-v", count=True, help="Print more details.", show_default=False)
]
