"""How a command ends: messages, exit codes, and Ctrl-C and the other signals."""

from __future__ import annotations

import json
import os
import re
import sys
import traceback
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, TextIO, cast

import typer

from dragoman.base.ctrl_c_at_start import raise_interrupts
from dragoman.base.errors import ConfigError, DragomanError, out_of_memory
from dragoman.base.machine import missing_pytorch
from dragoman.cli.signals import number_of, raising

if TYPE_CHECKING:
    from typer.core import TyperGroup


# click's UsageError. Old versions of typer import click, new ones contain it.
_UsageError = typer.BadParameter.__mro__[1]
_LONGEST = 600  # characters in a line of a message
_quiet = False  # whether the command prints only errors


def run(command: TyperGroup | Any, words: Sequence[str], *, program: str = "dragoman") -> int:
    """Run a command line and return its exit code. Only SystemExit passes through.

    `program` is its name in help and errors.
    """
    global _quiet
    debug, _quiet = "--debug" in words, any(re.match("--quiet$|-v*q", word) for word in words)
    _open_closed()
    _use_utf8()
    if not debug:
        warnings.simplefilter("ignore")
    try:
        raise_interrupts()
        with raising(), command.make_context(program, list(words)) as context:
            command.invoke(context)
            sys.stdout.flush()
    except typer.Exit as done:
        return done.exit_code
    except BrokenPipeError:
        # The reader of our output has closed the pipe, as `head` does.
        _silence(sys.stdout)
        return 0
    except KeyboardInterrupt as interrupt:
        complain("interrupted")
        return 128 + number_of(interrupt)
    except Exception as error:
        if debug:
            vars(error).pop("__notes__", None)  # the hint, which follows
            traceback.print_exc()
        # A library in C++ makes an ImportError of an interrupt while it is loaded.
        if isinstance(error, ImportError) and isinstance(error.__cause__, KeyboardInterrupt):
            complain("interrupted")
            return 128 + number_of(error.__cause__)
        if type(error).__name__ == "NoArgsIsHelpError":  # click's; a group without a command shows its help
            try:
                print(str(error), flush=True)
            except BrokenPipeError:
                _silence(sys.stdout)
            return 0
        return _explain(error, " ".join([program, *words[:1]]))
    return 0


def complain(what: str, hint: str = "") -> None:
    """Print an error and a hint on standard error."""
    _say("error", what, "1;31")
    if hint:
        _say("hint", hint, "36")


def warn(text: str) -> None:
    """Print a warning on standard error, unless the command is to be quiet."""
    if not _quiet:
        _say("warning", text, "33")


def tell(text: str, *, quiet: bool = False) -> None:
    """Print what was done on standard error, unless the command is to be quiet."""
    if not quiet:
        print(text, file=sys.stderr, flush=True)


def to_json(table: object) -> str:
    """Plain values as one JSON document."""
    return json.dumps(table, ensure_ascii=False, indent=2)


@contextmanager
def waiting(text: str, *, shown: bool = True) -> Iterator[Callable[[str], None]]:
    """Show a spinner on standard error during the block, if that is a terminal.

    Yields a function that changes the spinner's text.
    """
    if not shown or not sys.stderr.isatty():
        yield lambda text: None
        return
    from rich.console import Console
    from rich.text import Text

    # As Text, so that brackets in a file's name are not markup.
    with Console(stderr=True).status(Text(text)) as status:
        yield lambda text: status.update(Text(text))


def _explain(error: Exception, command: str) -> int:
    error = missing_pytorch(error, command) or error
    if isinstance(error, DragomanError):
        complain(str(error), error.hint)
        return error.exit_code
    if isinstance(error, _UsageError):
        complain(*_usage(error))
        return 2
    if out_of_memory(error):
        complain("out of memory", "lower training.batch_tokens (train) or --batch-tokens, or close programs")
        return 1
    if isinstance(error, OSError) and error.strerror:
        complain(f"{error.filename or 'the output'}: {error.strerror}", "is the disk full, or a path wrong?")
        return 1
    complain(
        f"unexpected {type(error).__name__}: {error}",
        "this is a bug in dragoman; repeat the command with --debug to see where, and report it",
    )
    return 1


def _usage(error: Any) -> tuple[str, str]:
    """The fault of the command line, and a hint."""
    path = error.ctx.command_path if error.ctx is not None else "dragoman"
    near = list(getattr(error, "possibilities", None) or [])
    what = str(error.message if near and error.message else error.format_message())
    what, _, other = what.partition(" Did you mean ")  # click's suggestion of a command is in the message
    likely = near[0] if near else other.strip(" '?").split("'")[0]
    hint = f"did you mean {likely}? See {path} --help" if likely else f"see {path} --help"
    if re.match(r"No such option: -*\w*\.\w", what) and path.endswith(("train", "ladder")):
        hint = f"an option of the recipe has no dashes, as in model.heads=8. See {path} --help"
    return what[:1].lower() + what[1:].rstrip("."), hint


def _say(word: str, text: str, colour: str) -> None:
    from dragoman.text.clean import clean

    stream = sys.stderr
    with suppress(OSError, ValueError):  # standard error is closed
        shows = sys.platform != "win32" or "WT_SESSION" in os.environ  # its older consoles print the codes
        plain = os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb"
        if stream.isatty() and shows and not plain:
            word = f"\033[{colour}m{word}:\033[0m"
        else:
            word = f"{word}:"
        cleaned = map(clean, text.split("\n"))  # without the middle of very long lines
        first, *others = (
            one if len(one) <= _LONGEST else f"{one[: _LONGEST - 100]} ... {one[-95:]}" for one in cleaned
        )
        lines = "\n".join([f"{word} {first}", *others])
        encoding = stream.encoding or "utf-8"
        print(lines.encode(encoding, "backslashreplace").decode(encoding), file=stream, flush=True)


def _open_closed() -> None:
    """Replace a closed standard stream (`2>&-`) by an empty one.

    Otherwise the next file opened would take its number, and libraries would write into that file.
    """
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: SIM115


def _use_utf8() -> None:
    """Write UTF-8 and keep line ends as they are. A terminal keeps its own encoding."""
    for stream in (sys.stdout, sys.stderr):
        if not hasattr(stream, "reconfigure"):
            continue  # a replacement, as in tests
        if stream.isatty():
            stream.reconfigure(errors="backslashreplace")
        else:
            cast(Any, stream).reconfigure(encoding="utf-8", errors="backslashreplace", newline="\n")


def _silence(stream: TextIO) -> None:
    """Discard buffered output, so that the interpreter's last flush does not fail."""
    with suppress(OSError, ValueError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)


def bench(name: str) -> None:
    """Say where a command of `dragoman bench` went."""
    words = f"bench {name}".strip()
    raise ConfigError(f"{words} is a script now", hint="in a checkout of the source, see benchmarks/")
