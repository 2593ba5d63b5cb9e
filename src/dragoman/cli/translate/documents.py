"""`dragoman translate` for files with structure."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from dragoman.base.errors import ConfigError, DataError, DragomanError
from dragoman.cli.input import STDIN
from dragoman.cli.outcome import complain, waiting, warn

if TYPE_CHECKING:
    from dragoman.documents.files import Outcome, Task
    from dragoman.documents.segment import Replacing
    from dragoman.translation.search.options import Decoding
    from dragoman.translation.translation import Translation
    from dragoman.translation.translator import Translator

LINES = "lines"
_LEFT_OUT = "left out, not of a format to translate"
_ALONE = "if you translate it by itself, its name and content decide"
_SHOWN, _NAMED = 5, 20  # at most so many segments to check, and files left out, are listed


def are_documents(names: Sequence[str], format: str | None) -> bool:
    """Whether the files are translated as documents: by `--format`, else by their names and contents.

    Text files are translated line by line without --format. Raises ConfigError for a mixture, and DataError
    as `document_format` does.
    """
    if format is not None:
        return format != LINES
    known = [name != STDIN and _is_document(name) for name in names]
    if any(known) and not all(known):
        raise ConfigError(
            f"{names[known.index(False)]} is text and {names[known.index(True)]} a document",
            hint="translate them apart, or choose one --format",
        )
    return all(known)


def _is_document(name: str) -> bool:
    from dragoman.documents.formats import FORMATS, document_format
    from dragoman.text.corpora.compressed import without_suffix

    path, start = Path(name), b""
    # Path.is_dir raises for a name that is too long or in a folder without permission.
    if os.path.isdir(path):
        return True
    if os.path.isfile(path):  # a pipe is read once
        path, start = Path(without_suffix(name)), _start(name)
    try:
        is_document = document_format(path, start) is not FORMATS["text"]
    except DataError as error:
        raise DataError(f"{name}: {error}", hint=error.hint) from error
    if is_document and path.name.lower() != Path(name).name.lower():
        raise DataError(f"{name}: a compressed document", hint="decompress it first")
    return is_document


def _start(name: str) -> bytes:
    """The first bytes of a file, decompressed; of a damaged one none, because its reader says why."""
    from dragoman.documents.content import START
    from dragoman.text.corpora.compressed import decompressed
    from dragoman.text.corpora.lines import open_bytes

    with suppress(Exception), open_bytes(name) as stream:
        return decompressed(stream, name).read(START)
    return b""


def plan_documents(
    names: Sequence[str], output: str | None, format: str | None, columns: Sequence[str] | None
) -> list[Task]:
    """Check the files and their places before the model is loaded."""
    from dragoman.documents.files import check_columns, tasks_of
    from dragoman.documents.formats import format_named, format_of_name
    from dragoman.documents.refused import REFUSED

    if STDIN in names:
        raise ConfigError("a document cannot be read from standard input", hint="give a file")
    tasks = tasks_of([Path(name) for name in names], output, None if format is None else format_named(format))
    formats = [task.format or format_of_name(task.source) for task in tasks]
    check_columns(formats, columns or ())
    first = formats[0]
    for task, known in zip(tasks, formats, strict=True):
        suffix = task.output.suffix.lower() if task.output else ""
        other = format_of_name(Path("a" + suffix))
        if known and (suffix in REFUSED or other not in (None, known)):
            warn(f"{task.output}: it will be {known.title} in spite of its name, as {task.source} is")
    if tasks[0].output is None and first and first.is_zipped and sys.stdout.isatty():
        raise ConfigError(f"{first.title} cannot be shown in a terminal", hint="give a file with -o")
    return tasks


def run_documents(
    translator: Translator,
    tasks: Sequence[Task],
    decoding: Decoding,
    *,
    replacing: Replacing,
    columns: Sequence[str],
    report: Path | None,
    quiet: bool,
    names: Sequence[str],
    into: Path | None,
    about: Mapping[str, str],
) -> None:
    """Translate the files and report the result. Raises DataError if a file failed.

    `names` are those that the command line has. If several go `into` a folder, a repeated command skips the
    finished ones, if `about`, which describes the models and options, is the same.
    """
    from dragoman.base.jobs import Journal
    from dragoman.documents.files import Doubt, left_out_of, translate_files

    with ExitStack() as stack:
        say = stack.enter_context(waiting("translating", shown=not quiet))
        journal = stack.enter_context(Journal(into, about)) if into is not None and len(tasks) > 1 else None
        outcome = translate_files(
            translator,
            tasks,
            decoding,
            replacing=replacing,
            columns=columns,
            write=sys.stdout.buffer.write,
            say=say,
            journal=journal,
        )
    outcome.left_out = left_out_of(map(Path, names), tasks, into)
    if report is not None:
        from dragoman.base.files import write_whole
        from dragoman.cli.translate.report import report_of
        from dragoman.documents.refused import REFUSED

        left_out = [
            Doubt(str(path), "", "", "", (_left_out(tasks), REFUSED.get(path.suffix.lower(), _ALONE)))
            for path in outcome.left_out
        ]
        failed = [
            Doubt(str(path), "", "", "", (f"not translated: {error}", *filter(None, [error.hint])))
            for path, error in outcome.failed
        ]
        entries = [*outcome.doubts, *outcome.offers, *failed, *left_out]
        write_whole(report, report_of(entries, _summary(outcome, len(tasks)), report))
    if not quiet:
        _say(outcome, tasks, report)
    if outcome.failed:
        fail(outcome.failed, len(tasks), "the others are written")


def protected(
    translator: Translator, lines: Iterable[str], decoding: Decoding, *, window: int
) -> Iterator[Translation]:
    """Translate lines as the segments of a document are. At the end say how many have to be checked."""
    from dragoman.documents.segment import text_of
    from dragoman.documents.translate import translate_lines
    from dragoman.translation.translation import Translation

    doubtful: list[int] = []
    for number, result in enumerate(translate_lines(translator, lines, decoding, window=window), 1):
        doubtful += [number] if result.doubts else []
        text = text_of(result.content).replace("\n", " ")
        yield Translation(source="", text=text, score=0.0, tokens=(), token_logp=(), truncated=False)
    if doubtful:
        has = "line has" if len(doubtful) == 1 else "lines have"
        first = ", ".join(f"{number:,}" for number in doubtful[:5]) + (", ..." if len(doubtful) > 5 else "")
        warn(f"{len(doubtful):,} {has} to be checked ({first})")


def _summary(outcome: Outcome, files: int) -> str:
    counts = outcome.counts
    of = f" of {files:,} files" if files > 1 else ""
    parts = {
        "filled": counts.filled if counts.filled < counts.segments else 0,
        "replaced": counts.replaced,
        "kept": counts.kept,
        "left out": counts.left_out,
        "marked": counts.marked,
        "from the memory": counts.remembered,
    }
    details = ", ".join(f"{count:,} {what}" for what, count in parts.items() if count)
    return f"{counts.translated:,} of {counts.segments:,} segments{of} translated" + (
        details and f": {details}"
    )


def _left_out(tasks: Sequence[Task]) -> str:
    """Why files of a folder are left out."""
    format = tasks[0].format
    return _LEFT_OUT if format is None else f"left out, not {format.title}"


def _say(outcome: Outcome, tasks: Sequence[Task], report: Path | None) -> None:
    if len(outcome.failed) < len(tasks):
        print(_summary(outcome, len(tasks)), file=sys.stderr)
    if left := outcome.left_out:
        shown = ", ".join(map(str, left[:_NAMED])) + (", ..." if len(left) > _NAMED else "")
        print(f"{len(left):,} file{'s' * (len(left) > 1)} {_left_out(tasks)}: {shown}", file=sys.stderr)
        if report is None:
            print("  --report FILE says of each what to do with it", file=sys.stderr)
    if not outcome.doubts:
        return
    where = "" if report is None else f": see {report}"
    has = "segment has" if len(outcome.doubts) == 1 else "segments have"
    warn(f"{len(outcome.doubts):,} {has} to be checked{where}")
    for one in outcome.doubts[: 0 if report else _SHOWN]:
        print(f"  {one.file}, {one.where}: {'; '.join(one.reasons)}", file=sys.stderr)
    if report is None and len(outcome.doubts) > _SHOWN:
        print("  --report FILE writes all of them", file=sys.stderr)


def fail(failed: Sequence[tuple[object, DragomanError]], files: int, hint: str) -> None:
    """Say which of the files failed. Raises the error of the only file, or DataError."""
    if files == 1:
        raise failed[0][1]
    for _, error in failed:
        complain(str(error), error.hint)
    raise DataError(f"{len(failed)} of {files} files could not be translated", hint=hint)
