"""`dragoman bulk`: folders of lines, JSON Lines and Parquet in parts, here or on Ray."""

from __future__ import annotations

import sys
import time
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from dragoman.base.errors import ConfigError
from dragoman.base.tables import count
from dragoman.cli.input import STDIN
from dragoman.cli.models import Guides, Loading, models_and_text
from dragoman.cli.options import Flag, Flags, Model, Quiet, argument
from dragoman.cli.outcome import waiting, warn
from dragoman.cli.translate.documents import fail
from dragoman.cli.translate.translate import FILE_OPTIONS, SEARCH, Plain, warn_of_truncated
from dragoman.cli.writing import made_from
from dragoman.translation.search.options import Decoding

if TYPE_CHECKING:
    from dragoman.bulk.run import BulkOutcome, Pool

_PARTS = "Parts and workers"


def bulk(
    context: typer.Context,
    model: Model,
    files: Annotated[
        list[str] | None,
        argument(
            "FILE",
            "Folders, files and patterns of text, one sentence a line, plain or compressed (.gz, .zst), "
            "JSON Lines and Parquet. More model folders come first: all translate together.",
        ),
    ] = None,
    *,
    output: Annotated[
        Path | None,
        Flag(
            "Write to this folder, or to this file. Repeat a command that was stopped, and it "
            "resumes. [required]",
            flag="--output -o",
            metavar="FOLDER",
            section=_PARTS,
        ),
    ] = None,
    on: Annotated[
        Literal["here", "ray"],
        Flag("Translate in this process, or by workers on Ray.", metavar="here|ray", section=_PARTS),
    ] = "here",
    address: Annotated[
        str | None,
        Flag(
            "With --on ray: the cluster that this machine is part of, auto or HOST:PORT. [default: Ray "
            "on this machine only]",
            metavar="ADDRESS",
            section=_PARTS,
        ),
    ] = None,
    workers: Annotated[
        int | None,
        Flag(
            "With --on ray: processes that share the cores. [default: one for each 8 cores]",
            at_least=1,
            section=_PARTS,
        ),
    ] = None,
    part_lines: Annotated[
        int, Flag("Lines of a part, which is translated whole or not at all.", at_least=1, section=_PARTS)
    ] = 5000,
    column: Annotated[
        str | None,
        Flag("The column or key that has the text. [default: text]", metavar="NAME", section=_PARTS),
    ] = None,
    prefix: Annotated[str | None, Flag("Begin every translation with this text.")] = None,
    decoding: Annotated[Decoding, SEARCH],
    plain: Plain = False,
    guides: Annotated[Guides, Flags("terms", "terms_mode", "reverse")],
    loading: Loading,
    quiet: Quiet = False,
) -> None:
    """Translate folders and large files line by line, in parts, in this process or by workers on Ray.

    A part is translated whole or not at all, so a command that was stopped resumes after the last finished
    part. The translations are the same as of dragoman translate.

    \b
      dragoman bulk runs/en-de corpus -o corpus.de
      dragoman bulk runs/en-de 'corpus/*.gz' -o two.de.gz
      dragoman bulk runs/en-de animals.jsonl -o animals.de.jsonl --column en
      dragoman bulk runs/en-de corpus -o corpus.de --on ray --workers 2
    """
    models, names = models_and_text(model, files)
    loading.check(models)
    for option, value in {"--address": address, "--workers": workers}.items():
        if value is not None and on != "ray":
            raise ConfigError(f"{option} without --on ray", hint="add --on ray")
    if output is None:
        raise ConfigError("translating in bulk needs an output (-o)", hint="name a folder or a file with -o")
    if STDIN in names or not names:
        raise ConfigError("dragoman bulk does not read standard input", hint="name files or folders")
    guides.check()
    from dragoman.bulk.run import bulk_tasks, translate_bulk, work_place
    from dragoman.bulk.worker import BulkJob, digest_of_model

    pool = _pool(on, address, workers)
    tasks = bulk_tasks(names, context.params["output"])  # a Path has lost the slash at the end
    job = BulkJob(
        models=tuple(str(model.absolute()) for model in models),
        decoding=replace(decoding, split=not plain),
        average=loading.average or "log-probabilities",
        dtype=loading.dtype,
        adapter=_absolute(loading.adapter),
        terms=_absolute(guides.terms),
        terms_mode=guides.terms_mode,
        reverse=_absolute(guides.reverse),
        prefix=prefix,
        digests=tuple(digest_of_model(str(model)) for model in models),
    )
    apart = ("model", "files", "output", "on", "address", "workers", "quiet")
    about = made_from(context.params, models, (), files=FILE_OPTIONS, apart=apart)
    start = time.monotonic()
    with waiting("reading", shown=not quiet) as say:
        outcome = translate_bulk(
            job, tasks, work_place(tasks, output), pool,
            about=about, column=column or "text", part_lines=part_lines, say=say,
        )  # fmt: skip
    if not quiet:
        _say(outcome, time.monotonic() - start, decoding)
    if outcome.failed:
        again = "; correct these and repeat the command, which translates the rest"
        fail(outcome.failed, len(tasks), f"the others are written{again}")


def _pool(on: str, address: str | None, workers: int | None) -> Pool:
    if on == "here":
        from dragoman.bulk.worker import in_this_process

        return in_this_process
    from dragoman.bulk.ray import check_ray, on_ray

    check_ray()
    return partial(on_ray, workers=workers, address=address)


def _absolute(path: Path | None) -> str | None:
    return None if path is None else str(path.absolute())


def _say(outcome: BulkOutcome, seconds: float, decoding: Decoding) -> None:
    counts = outcome.counts
    kept = f", {outcome.kept:,} parts kept from an earlier command" if outcome.kept else ""
    print(f"{counts.lines:,} lines in {count(counts.files, 'file')}, {seconds:,.0f} s{kept}", file=sys.stderr)
    if outcome.lost:
        were = "1 part was" if outcome.lost == 1 else f"{outcome.lost:,} parts were"
        warn(f"{were} begun again because a worker was lost")
    if counts.truncated:
        warn_of_truncated(counts.truncated, "", counts.first, decoding)
