"""`dragoman distil`: a student that learns from the translations and the distributions of teachers."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from tarfile import is_tarfile
from typing import Annotated
from zipfile import is_zipfile

from dragoman.base.errors import ConfigError
from dragoman.cli.options import Flag, Flags, Quiet, Verbose, argument
from dragoman.cli.train.train import TrainCommand, TrainingRun, say_next, sort_words, training
from dragoman.translation.folder.checkpoint import run_of

__all__ = ["TrainCommand", "distil"]  # the command takes two files after --valid, as train does


def distil(
    words: Annotated[
        list[str] | None,
        argument(
            "TEACHER|TEXT|key=value",
            "One teacher, or several that teach together: a folder, or for the first also an archive or "
            "a model of Marian or Hugging Face. Then the text: two files, one .tsv, .jsonl or .tmx file, or "
            "- for TSV on standard input; or, with teacher.reference_weight=0, one file of sources. Then "
            "options of the recipe, such as teacher.words=0.5.",
        ),
    ] = None,
    output: Annotated[
        Path | None, Flag("The student's folder to write. [required]", flag="--output -o", metavar="FOLDER")
    ] = None,
    *,
    run: Annotated[
        TrainingRun,
        Flags(
            "valid",
            preset=Flag(
                "Size of the student: tiny, small, tiny11, base or big. [default: by the size of the text]"
            ),
            recipe=Flag(),
            data=Flag(),
            source_language=Flag("Source language. [default: the teachers' language]"),
            target_language=Flag("Target language. [default: the teachers' language]"),
        ),
    ],
    quiet: Quiet = False,
    verbose: Verbose = 0,
) -> None:
    """Train a student on its teachers' translations of a text.

    The teachers translate the sources; the student learns from their translations and from the text itself.
    With teacher.words it also learns their distribution over the vocabulary. Ctrl-C stops, and the same
    command resumes.

    \b
      dragoman distil runs/teacher train.en train.de --valid valid.en valid.de -o runs/student --preset tiny
      dragoman distil runs/one runs/two train.en train.de -o runs/student teacher.words=0.5
      dragoman distil runs/teacher sources.en -o runs/student teacher.reference_weight=0
    """
    names, overrides = sort_words(words or [])
    teachers, files = teachers_and_text(names)
    if output is None:
        raise ConfigError("no folder to write to", hint="name one with -o, such as -o runs/student")
    if not teachers and run.recipe is None:
        raise ConfigError(
            "no teacher", hint="dragoman distil MODEL train.en train.de -o runs/student, or --recipe FILE"
        )
    if not (files or run.names_text(overrides)):
        raise ConfigError(
            "no text to train on", hint="dragoman distil MODEL train.en train.de -o runs/student"
        )
    if teachers and is_text(teachers[0]):
        raise ConfigError(
            f"{teachers[0]}: expected a teacher model, got a text file",
            hint="name the teacher before the text: dragoman distil MODEL train.en train.de",
        )
    with training(output, verbosity=-1 if quiet else verbose) as (observer, stop):
        run.train(output, overrides, observer, stop, files=files, teachers=teachers)
    say_next(output, quiet)


def teachers_and_text(names: Sequence[str]) -> tuple[list[str], list[str]]:
    """The first name and the folders right after it, which are models, and the other names."""
    rest = list(names)
    teachers = [rest.pop(0)] if rest else []
    while rest and run_of(Path(rest[0])).is_dir():
        teachers.append(rest.pop(0))
    return teachers, rest


def is_text(name: str) -> bool:
    """Whether it is a file but not an archive: a model is a folder or an archive."""
    return Path(name).is_file() and not is_zipfile(name) and not is_tarfile(name)
