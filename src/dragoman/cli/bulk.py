"""`dragoman translate --on`: folders of lines, JSON Lines and Parquet, here or on Ray."""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dragoman.base.errors import ConfigError, DataError
from dragoman.cli.input import STDIN
from dragoman.cli.outcome import complain, waiting, warn

if TYPE_CHECKING:
    from dragoman.decoding.options import Decoding
    from dragoman.runs.bulk.run import BulkOutcome, Pool

BulkPlace = Annotated[
    str | None,
    typer.Option(
        "--on",
        metavar="here|ray",
        help="Translate folders and patterns of text line by line, JSON Lines and Parquet, in parts: in this "
        "process, or by workers on Ray. [default: here for folders with --format lines]",
        show_default=False,
    ),
]
Address = Annotated[
    str | None,
    typer.Option(
        "--address",
        metavar="ADDRESS",
        help="With --on ray: the cluster that this machine is part of, auto or HOST:PORT. [default: Ray on "
        "this machine only]",
        show_default=False,
    ),
]
WorkerCount = Annotated[
    int | None,
    typer.Option(
        "--workers",
        metavar="N",
        help="With --on ray: processes that share the cores. [default: one for each 8 cores]",
        show_default=False,
    ),
]
PartLines = Annotated[
    int | None,
    typer.Option(
        "--part-lines",
        metavar="N",
        help="With --on: lines of a part, which is translated whole or not at all. [default: 5000]",
        show_default=False,
    ),
]
Column = Annotated[
    str | None,
    typer.Option(
        "--column",
        metavar="NAME",
        help="With --on: the column, or the key, that has the text. [default: text]",
        show_default=False,
    ),
]

PLACES = ("here", "ray")
# Options of translate that bulk translation has no use for, and their defaults.
UNUSED = {
    "only_untranslated": False, "report": None, "memory": None, "protect": False, "n_best": 1,
    "prefix_file": None, "sample": False, "attention": None, "alignment": False, "risk": False,
    "scores": False, "jsonl": False,
}  # fmt: skip


def check_place(on: str | None, given: Mapping[str, Any]) -> None:
    """Raise ConfigError for a place that does not exist, or options that only another has."""
    if on is not None and on not in PLACES:
        raise ConfigError(f"--on {on}", hint=f"use {' or '.join(PLACES)}")
    places = {"address": ("ray",), "workers": ("ray",), "column": PLACES, "part_lines": PLACES}
    for name, allowed in places.items():
        option = f"--{name.replace('_', '-')}"
        if given[name] is not None and on not in allowed:
            raise ConfigError(f"{option} without --on {allowed[0]}", hint=f"add --on {allowed[0]}")
        if isinstance(given[name], int) and given[name] < 1:
            raise ConfigError(f"{option} {given[name]}", hint="use 1 or more")


def run_bulk(
    models: Sequence[Path],
    names: Sequence[str],
    output: Path | None,
    decoding: Decoding,
    *,
    on: str,
    address: str | None,
    workers: int | None,
    column: str | None,
    part_lines: int | None,
    given: Mapping[str, Any],
    about: Mapping[str, str],
    quiet: bool,
) -> None:
    """Translate the files and say what came of it. Raises DataError if a file failed."""
    from dragoman.runs.bulk.plan import PART_LINES, bulk_tasks, work_place
    from dragoman.runs.bulk.run import translate_bulk
    from dragoman.runs.bulk.worker import BulkJob, digest_of_model

    if output is None:
        raise ConfigError(f"--on {on} without -o", hint="name a folder or a file for the translations")
    if STDIN in names:
        raise ConfigError(f"--on {on} does not read standard input", hint="name files or folders")
    pool = _pool(on, address, workers)
    tasks = bulk_tasks(names, output)
    job = BulkJob(
        models=tuple(str(model.absolute()) for model in models),
        decoding=decoding,
        average=given["average"] or "log-probabilities",
        dtype=given["dtype"],
        adapter=_absolute(given["adapter"]),
        terms=_absolute(given["terms"]),
        terms_mode=given["terms_mode"],
        reverse=_absolute(given["reverse"]),
        prefix=given["prefix"],
        digests=tuple(digest_of_model(str(model)) for model in models),
    )
    start = time.monotonic()
    with waiting("reading", shown=not quiet) as say:
        outcome = translate_bulk(
            job,
            tasks,
            work_place(tasks, output),
            pool,
            about=about,
            column=column or "text",
            part_lines=part_lines or PART_LINES,
            say=say,
        )
    if not quiet:
        _say(outcome, time.monotonic() - start, decoding)
    if outcome.failed:
        _fail(outcome, len(tasks))


def _pool(on: str, address: str | None, workers: int | None) -> Pool:
    if on == "here":
        from dragoman.runs.bulk.worker import in_this_process

        return in_this_process
    from dragoman.runs.bulk.ray import check_ray, on_ray

    check_ray()
    return partial(on_ray, workers=workers, address=address)


def _absolute(path: Path | None) -> str | None:
    return None if path is None else str(path.absolute())


def _say(outcome: BulkOutcome, seconds: float, decoding: Decoding) -> None:
    counts = outcome.counts
    what = "1 file" if counts.files == 1 else f"{counts.files:,} files"
    kept = f", {outcome.kept:,} parts kept from an earlier command" if outcome.kept else ""
    print(f"{counts.lines:,} lines in {what}, {seconds:,.0f} s{kept}", file=sys.stderr)
    if outcome.lost:
        were = "1 part was" if outcome.lost == 1 else f"{outcome.lost:,} parts were"
        warn(f"{were} begun again because a worker was lost")
    if counts.truncated:
        first = ", ".join(counts.first) + (", ..." if counts.truncated > len(counts.first) else "")
        are = "translation is" if counts.truncated == 1 else "translations are"
        warn(
            f"{counts.truncated:,} {are} cut short ({first}): the line is too long, or its translation "
            f"reached the limit of {decoding.max_extra_tokens} tokens more than the source (--max-extra)"
        )


def _fail(outcome: BulkOutcome, files: int) -> None:
    if files == 1:
        raise outcome.failed[0][1]
    for _, error in outcome.failed:
        complain(str(error), error.hint)
    raise DataError(
        f"{len(outcome.failed)} of {files} files could not be translated",
        hint="the others are written; correct these and repeat the command, which translates what is missing",
    )
