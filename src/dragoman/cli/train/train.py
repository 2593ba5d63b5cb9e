"""`dragoman train` and `dragoman demo`: from raw text to a model folder."""

from __future__ import annotations

import logging
import os
import shlex
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dragoman.base.errors import ConfigError, Elsewhere, Interrupted
from dragoman.base.machine import require_pytorch
from dragoman.cli.options import Command, Data, Flag, Quiet, Recipe, Seeds, Verbose, argument
from dragoman.cli.outcome import tell
from dragoman.cli.signals import Stopper, number_of
from dragoman.text.corpora.compressed import without_suffix

if TYPE_CHECKING:
    from dragoman.training.events import Observer, Stop


_PAIRS_IN_ONE_FILE = (
    *(".tsv", ".jsonl", ".ndjson", ".tmx", ".po", ".pot", ".ts", ".xcstrings"),
    *(".xlf", ".xliff", ".sdlxliff", ".mqxliff", ".mxliff", ".txlf"),
)
_OF_FILES = ("--valid", "--test", "--replay", "--general")


class TrainCommand(Command):
    """The command `train`, where `--valid` takes two files: `--valid valid.en valid.de`."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        return super().parse_args(ctx, spread_files(args))


def spread_files(words: Sequence[str]) -> list[str]:
    """Rewrite `--valid A B` as `--valid A --valid B`, unless A holds both sides or is the second file.

    The same holds for the other options that take parallel text, and for `--valid=A B`.
    """
    spread: list[str] = []
    rest = list(words)
    files = dict.fromkeys(_OF_FILES, 0)  # so far
    while rest:
        option, equals, first = rest[0].partition("=")
        if equals and option in files:
            rest[:1] = [option, first]
        spread.append(word := rest.pop(0))
        if word == "--":
            break
        if word in files and rest:
            spread.append(first := rest.pop(0))
            files[word] += 1
            whole = first == "-" or without_suffix(first).endswith(_PAIRS_IN_ONE_FILE)
            second = not whole and sort_words(rest[:1])[0]
            if files[word] == 1 and second and not rest[0].startswith("-"):
                spread += [word, rest.pop(0)]
                files[word] += 1
    return spread + rest


@dataclass(frozen=True, kw_only=True)
class TrainingRun:
    """What a run learns from, and how: the options that `train` and `distil` share."""

    valid: Annotated[
        list[str] | None,
        Flag(
            "Validation text, for scores, early stopping and the choice of the best weights.",
            metavar="SOURCE TARGET",
        ),
    ] = None
    preset: Annotated[
        str | None,
        Flag("tiny, small, tiny11, base or big. [default: by the size of the text]", metavar="NAME"),
    ] = None
    recipe: Recipe = None
    data: Data = None
    source_language: Annotated[
        str | None, Flag("Source language. [default: from the file names, such as .en]", metavar="CODE")
    ] = None
    target_language: Annotated[
        str | None, Flag("Target language. [default: from the file names, such as .de]", metavar="CODE")
    ] = None
    tensorboard: Annotated[
        bool, Flag("Also write the figures for TensorBoard, into the folder tensorboard of the run.")
    ] = False

    def names_text(self, overrides: Sequence[str], *, tunes: bool = False) -> bool:
        """Whether options name the text. A new model needs a preset, as the pairs are not counted yet."""
        named = any(word.startswith(("data.train=", "data.corpora=")) for word in overrides)
        return self.recipe is not None or ((tunes or self.preset is not None) and named)

    def train(
        self,
        output: Path,
        overrides: Sequence[str],
        observer: Observer,
        stop: Stop,
        *,
        files: Sequence[str],
        base: str | None = None,
        teachers: Sequence[str] = (),
        replay: Sequence[str] | None = None,
        general: Sequence[str] | None = None,
    ) -> None:
        """Train a model in a folder."""
        from dragoman.training.runs import run
        from dragoman.training.tensorboard import TensorBoard

        if self.tensorboard and speaks():
            observer = TensorBoard(output / "tensorboard", then=observer)
        run.train(
            files or None,
            base=base,
            teachers=teachers,
            valid=self.valid or None,
            replay=replay or None,
            general=general or None,
            output=output,
            preset=self.preset,
            recipe=self.recipe,
            overrides=overrides,
            source_language=self.source_language,
            target_language=self.target_language,
            data_root=self.data,
            observer=observer,
            stop=stop,
        )


def train(
    words: Annotated[
        list[str] | None,
        argument(
            "TEXT|key=value",
            "Two text files, where line n of one is the translation of line n of the other; or one "
            ".tsv, .jsonl or .tmx file; or - for TSV on standard input. Files may be compressed (.gz, "
            ".zst). For text in many files, quote patterns: 'train-*.en' 'train-*.de'. Then options of the "
            "recipe, such as model.heads=8.",
        ),
    ] = None,
    output: Annotated[
        Path | None, Flag("The model folder to write. [required]", flag="--output -o", metavar="FOLDER")
    ] = None,
    *,
    base: Annotated[
        str | None,
        Flag(
            "Tune this model on the text: a folder, an archive, or a model of Marian or Hugging Face. "
            "[default: train a new model]",
            flag="--from",
            metavar="MODEL",
        ),
    ] = None,
    replay: Annotated[
        list[str] | None,
        Flag(
            "With --from: general text to add, so that the model does not forget it. "
            "[default: the text that MODEL was trained on, if its folder still has it]",
            metavar="SOURCE TARGET",
        ),
    ] = None,
    general: Annotated[
        list[str] | None,
        Flag(
            "With --from: general text to measure with. [default: the "
            "validation text of MODEL, if its folder still has it, else a part of --replay]",
            metavar="SOURCE TARGET",
        ),
    ] = None,
    run: TrainingRun,
    seeds: Seeds = None,
    quiet: Quiet = False,
    verbose: Verbose = 0,
) -> None:
    """Train a translation model on raw parallel text, or tune one on a translation memory.

    Progress goes to standard error. Ctrl-C saves and stops. The same command then resumes. On a CPU it ends
    with the same weights as an uninterrupted run; docs/reliability.md has three exceptions.

    \b
      dragoman train train.en train.de --valid valid.en valid.de -o runs/en-de
      dragoman train pairs.en-de.tsv -o runs/en-de --preset small training.max_minutes=60
      dragoman train --recipe recipes/multi30k-en-de.toml --data ~/corpora -o runs/multi30k
      dragoman train --from runs/en-de memory.tmx -o runs/mine
      dragoman train train.en train.de --valid valid.en valid.de --seeds 3 -o runs/three
    """
    files, overrides = sort_words(words or [])
    if output is None:
        raise ConfigError("no folder to write to", hint="name one with -o, such as -o runs/en-de")
    if not (files or run.names_text(overrides, tunes=base is not None)):
        raise ConfigError(
            "no text to train on", hint="dragoman train train.en train.de -o runs/en-de, or --recipe FILE"
        )

    train_in = partial(run.train, files=files, base=base, replay=replay, general=general)
    watch = partial(training, verbosity=-1 if quiet else verbose)
    if seeds is not None:
        if "-" in (*files, *(run.valid or ()), *(replay or ()), *(general or ())):
            raise ConfigError(
                "--seeds reads the text again for every seed, and standard input can be read only once",
                hint="write the text into files",
            )
        from dragoman.training.runs.comparison.seeds import SUMMARY, plan_seeds, report_seeds, train_seeds

        runs = plan_seeds(
            seeds,
            output,
            recipe=run.recipe,
            overrides=overrides,
            data_root=run.data,
            validated=bool(run.valid) or base is not None,  # tuning holds a part of the text out
            own_text=not files,
        )
        from dragoman.training.runs.card import command_line  # it loads PyTorch

        say = partial(tell, quiet=quiet or not speaks())
        train_seeds(runs, lambda one, *more: train_in(one.folder, one.overrides, *more), watch=watch, say=say)
        if speaks():
            print(report_seeds(runs, output, data_root=run.data, command=command_line()).to_text())
            say(f"see {output / SUMMARY}")
        return
    with watch(output) as (observer, stop):
        train_in(output, overrides, observer, stop)
    say_next(output, quiet)


def say_next(output: Path, quiet: bool) -> None:
    """Say what to do with the model, or that it does not translate."""
    from dragoman.training.runs.folder import RunFolder

    name = shlex.quote(str(output))
    text = f"translate with: dragoman translate {name} FILE"
    if (RunFolder(output).metrics.result() or {}).get("doubts"):
        text = f"{name} is not a model to translate with: see the warnings above, and docs/how-to/train.md"
    tell(text, quiet=quiet or not speaks())


def speaks() -> bool:
    """Whether this process shows the progress. Under torchrun only the first process does."""
    return os.environ.get("RANK", "0") == "0"


def sort_words(words: Sequence[str]) -> tuple[list[str], list[str]]:
    """Sort words into files and overrides. An override has an `=` and is not an existing file."""

    def exists(word: str) -> bool:
        try:
            return Path(word).exists()
        except OSError:  # for example a title that is too long for a file name
            return False

    overrides = [word for word in words if "=" in word and not exists(word)]
    return [word for word in words if word not in overrides], overrides


@contextmanager
def training(output: Path, *, verbosity: int) -> Iterator[tuple[Observer, Stopper]]:
    """Set up the display, memory settings, warnings and signals of a run.

    Yields its observer, and a function that returns the signal that asks to stop, or 0. Raises Interrupted
    if a signal ends the run before it saves.
    """
    require_pytorch("training")
    from dragoman.cli.display import Silent, observer_for
    from dragoman.training.step.malloc import keep_few_products, keep_freed_memory

    keep_freed_memory()
    keep_few_products()
    with (
        observer_for(verbosity=verbosity) if speaks() else Silent() as display,
        _warnings_to(display.on_message, verbosity),
        Stopper(display.on_message) as stopper,
    ):
        try:
            yield stopper.watching(display), stopper
            if stopper.signal:  # it came after the last update
                raise Interrupted("stopped after training", signal=stopper.signal, hint=_resuming(output))
        except KeyboardInterrupt as interrupt:
            number = number_of(interrupt)
            if not speaks():
                raise typer.Exit(128 + number) from interrupt
            message = "stopped at once, without saving" if stopper.patient else "stopped"
            raise Interrupted(message, signal=number, hint=_resuming(output)) from interrupt
        except (Elsewhere, Interrupted) as error:
            if speaks():
                raise
            raise typer.Exit(error.exit_code) from error  # the first process reports why


def _resuming(output: Path) -> str:
    from dragoman.training.runs.folder import RunFolder

    checkpoints = RunFolder(output).checkpoints
    if checkpoints.resumable:
        return "repeat the command to resume from the last checkpoint"
    if checkpoints.outputs("").is_dir() or checkpoints.lessons("").is_dir():
        return "repeat the command to resume with the teachers' translations; nothing was trained yet"
    return "repeat the command to start again; nothing was trained yet"


@contextmanager
def _warnings_to(say: Callable[[str], None], verbosity: int) -> Iterator[None]:
    """Show log messages on the display, because writing them to standard error would break the panel."""
    log, handler = logging.getLogger("dragoman"), _SayHandler(say)
    handler.setLevel(logging.INFO if verbosity > 0 else logging.WARNING)
    before = log.level
    log.setLevel(handler.level)
    log.addHandler(handler)
    try:
        yield
    finally:
        log.removeHandler(handler)
        log.setLevel(before)


class _SayHandler(logging.Handler):
    def __init__(self, say: Callable[[str], None]) -> None:
        super().__init__()
        self.say = say

    def emit(self, record: logging.LogRecord) -> None:
        self.say(record.getMessage())


def demo(
    output: Annotated[
        Path, Flag("The folder for the model and its text.", flag="--output -o", metavar="FOLDER")
    ] = Path("runs/demo"),
    quiet: Quiet = False,
    verbose: Verbose = 0,
) -> None:
    """Train a small English-German translator and try it, in about two minutes.

    The text comes from a small grammar that is part of dragoman. Repeating the command resumes the
    training; once it is complete, the command shows only the results.

    \b
      dragoman demo
    """
    with training(output, verbosity=-1 if quiet else verbose) as (observer, stop):
        from dragoman.training.runs.demo import PAIRS, demonstrate

        observer.on_message(
            f"A Transformer learns German from {PAIRS:,} sentences that a small grammar makes."
        )
        observer.on_message("Ctrl-C saves and stops; the same command resumes.")
        demonstration = demonstrate(output, observer=observer, stop=stop)
    scores = [f"  {line}".rstrip() for line in demonstration.scores.to_text().splitlines()]
    lines = ["On sentences it has not seen:", "", *scores]
    lines += [f"  {demonstration.sentences_per_second:,.0f} sentences/s", "", "And these:", ""]
    for source, text in demonstration.translations:
        lines += [f"  {source}", f"  -> {text}", ""]
    lines += ["How the first came about, to open in a browser:", "", f"  {demonstration.report}", ""]
    lines += ["Try next:", ""]
    for command, purpose in demonstration.commands:
        lines += [f"  # {purpose}", f"  {command}"]
    print("\n".join(lines))
