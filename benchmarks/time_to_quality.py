"""Time to quality: minutes of training until greedy translations of the validation text reach a BLEU.

    python benchmarks/time_to_quality.py --recipe FILE --bleu X -o FOLDER [NAME ...] [--minutes N]
        [--data FOLDER] [--set KEY=VALUE] [--threads N] [--busy] [--json]

Prints the minutes and updates of each trainer.

`dragoman train` trains the recipe. Seq2SeqTrainer of Hugging Face's transformers trains a MarianMT model of
the same shape (benchmarks/peers/huggingface_training.py). Both learn their own vocabulary, from the same text
and of the same size. They train one after the other, until the BLEU is reached or the time is over.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import torch
import typer
from measuring.turns import MARK, NOTE, OtherWork, disturbed
from peers.install import DRIVERS, python_of
from training.contenders import OURS
from training_speed import Busy, check_quiet

from dragoman.base import config, machine
from dragoman.base.errors import ConfigError, DataError, TrainingError
from dragoman.base.files import write_whole
from dragoman.base.tables import aligned, count
from dragoman.cli.options import Commands, Data, Json, Quiet
from dragoman.cli.outcome import run, tell
from dragoman.models.shapes import TransformerConfig
from dragoman.text.corpora.corpus import open_corpus
from dragoman.training.runs.recipe import Recipe, find_data, resolve
from dragoman.training.runs.text.texts import open_training
from dragoman.training.step.precision import multiplies_bf16

PEER = DRIVERS / "huggingface_training.py"
BF16 = ("--bf16",) if multiplies_bf16(torch.device("cpu")) else ()
TUNED = ("--rate", "5e-4", "--rows", "128", "--warmup", "1000", "--smoothing", "0.1", "--grouped", *BF16)
TRAINERS: dict[str, tuple[str, ...]] = {OURS: (), "hf": (), "hf-tuned": TUNED}
ABOUT = {
    OURS: "the recipe",
    "hf": "Seq2SeqTrainer with the defaults of TrainingArguments",
    "hf-tuned": "Seq2SeqTrainer: " + " ".join(TUNED),
}
_POLL = 1.0  # seconds between two looks at what a trainer has measured
_GRACE = 60.0  # seconds that a trainer has to end when it is asked to


@dataclass(frozen=True, kw_only=True)
class QualityTask:
    """What everybody trains on, and where it ends. Files are plain text, one sentence a line."""

    recipe: Recipe
    recipe_file: Path
    data: Path | None
    options: tuple[str, ...]  # of the recipe, for dragoman
    train: tuple[Path, Path]
    valid: tuple[Path, Path]
    work: Path
    bleu: float  # to reach
    minutes: float  # at most
    threads: int


@dataclass(frozen=True, kw_only=True)
class Point:
    """A validation: minutes of training before it, without earlier validations."""

    updates: int
    minutes: float
    bleu: float


@dataclass(frozen=True, kw_only=True)
class LearningCurve:
    """The validations of one trainer in order, and how busy others kept the machine meanwhile."""

    points: tuple[Point, ...]
    others: float | None = field(default=None)  # cores

    def reached(self, bleu: float) -> Point | None:
        """The first validation with this BLEU."""
        return next((point for point in self.points if point.bleu >= bleu), None)


def write_texts(
    recipe: Recipe, data: Path | None, folder: Path
) -> tuple[tuple[Path, Path], tuple[Path, Path]]:
    """Write the recipe's training and validation text to a folder, as train.en, train.de, valid.en, valid.de.

    Empty lines and line breaks within a sentence are gone. Raises ConfigError for a recipe without one of
    the texts, DataError for text that cannot be read.
    """
    if not recipe.data.valid:
        raise ConfigError(f"{recipe.title}: no validation text", hint="name it in data.valid")
    training, _ = open_training(recipe.data, data)
    source = recipe.data.source_language or training.source_language or "source"
    target = recipe.data.target_language or training.target_language or "target"
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for name, corpus in (
        ("train", training),
        ("valid", open_corpus(find_data(recipe.data, data, recipe.data.valid))),
    ):
        sides = folder / f"{name}.{source}", folder / f"{name}.{target}"
        pairs = [(" ".join(line.source.split()), " ".join(line.target.split())) for line in corpus]
        if not (whole := [pair for pair in pairs if all(pair)]):
            raise DataError(f"{corpus.name}: no pair has text on both sides", hint="check the files")
        for path, column in zip(sides, zip(*whole, strict=True), strict=True):
            write_whole(path, "".join(f"{line}\n" for line in column))
        written.append(sides)
    return written[0], written[1]


def choose(names: Sequence[str]) -> list[str]:
    """The trainers of these names; by default ours, and the others if they are installed.

    Raises ConfigError for a name that is unknown or not installed.
    """
    able = python_of("huggingface").exists()
    for name in names:
        if name not in TRAINERS:
            raise ConfigError(f"unknown contender {name}", hint=f"choose among: {', '.join(TRAINERS)}")
        if name != OURS and not able:
            raise ConfigError(
                f"{name} is not installed", hint="install it: python benchmarks/peers/install.py huggingface"
            )
    return list(names) or [name for name in TRAINERS if name == OURS or able]


def race(names: Iterable[str], task: QualityTask, *, say: Callable[[str], None]) -> dict[str, LearningCurve]:
    """Train one after the other. A trainer that has finished in `task.work` is not started again.

    Raises TrainingError if one fails, or measures nothing. Raises ConfigError if one has finished there with
    another recipe or other options.
    """
    curves = {}
    for name in names:
        kept = task.work / f"{name}.json"
        made_of = _made_of(name, task)
        if not kept.exists():
            say(f"{name}: {ABOUT[name]}")
            curve = _train(name, task, say)
            write_whole(kept, json.dumps({"of": made_of, **asdict(curve)}))
        table = json.loads(kept.read_text(encoding="utf-8"))
        if table.get("of") != made_of:
            raise ConfigError(
                f"{kept}: measured with another recipe or other options",
                hint="choose another folder with -o, or delete the file to measure again",
            )
        points = tuple(Point(**point) for point in table["points"])
        curves[name] = LearningCurve(points=points, others=table["others"])
    return curves


def _made_of(name: str, task: QualityTask) -> dict[str, Any]:
    """What a curve depends on, as JSON has it."""
    recipe = task.recipe
    made_of = {
        "recipe": config.to_table(recipe)
        if name == OURS
        else {"model": marian_shape(recipe), "data": config.to_table(recipe.data), "seed": recipe.seed},
        "options": TRAINERS[name],
        "bleu": task.bleu,
        "minutes": task.minutes,
        "threads": task.threads,
    }
    table: dict[str, Any] = json.loads(json.dumps(made_of))
    return table


def _train(name: str, task: QualityTask, say: Callable[[str], None]) -> LearningCurve:
    ours = name == OURS
    folder, log = task.work / name, task.work / f"{name}.log"
    command = our_command(folder, task) if ours else their_command(name, folder, task)
    read = _our_points if ours else _their_points(task)
    threads = "1" if ours and task.threads > 1 else str(task.threads)  # ours has a process for each
    points: list[Point] = []
    _translations(folder).unlink(missing_ok=True)  # of a trainer that was stopped; it begins again
    with OtherWork() as others, log.open("ab") as output:
        # In a session of its own Ctrl-C does not reach it twice.
        process = subprocess.Popen(
            command,
            env={**os.environ, "OMP_NUM_THREADS": threads},
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            start_new_session=True,
        )
        try:
            while True:
                ended = process.poll() is not None
                for point in read(folder)[len(points) :]:
                    points.append(point)
                    say(f"  {point.updates:,} updates  {point.minutes:.1f} minutes  BLEU {point.bleu:.2f}")
                if ended or any(point.bleu >= task.bleu for point in points):
                    break
                if points and points[-1].minutes > task.minutes:
                    break
                time.sleep(_POLL)
        finally:
            _end(process)
    if not points:
        raise TrainingError(f"{name}: ended without a validation", hint=f"see {log}")
    if ended and process.returncode and not any(point.bleu >= task.bleu for point in points):
        raise TrainingError(f"{name}: ended with exit code {process.returncode}", hint=f"see {log}")
    return LearningCurve(points=tuple(points), others=others.cores)


def _end(process: subprocess.Popen[bytes]) -> None:
    """Ask all processes of a trainer to end, and wait for it."""
    if process.poll() is not None:
        return
    os.killpg(process.pid, signal.SIGTERM)
    try:
        process.wait(_GRACE)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def our_command(folder: Path, task: QualityTask) -> list[str]:
    """The command that trains the recipe, in one process for each thread."""
    several = ["-m", "torch.distributed.run", "--nproc-per-node", str(task.threads)]
    data = ("--data", str(task.data)) if task.data is not None else ()
    return [
        *(sys.executable, *(several if task.threads > 1 else ()), "-m", "dragoman", "train", "--quiet"),
        *("--recipe", str(task.recipe_file), *data, "-o", str(folder), *task.options),
        "training.validation_search=greedy",  # as the others
    ]


def their_command(name: str, folder: Path, task: QualityTask) -> list[str]:
    """The command that trains a MarianMT model of the recipe's shape."""
    shape = task.work / "shape.json"
    write_whole(shape, json.dumps(marian_shape(task.recipe), indent=1))
    return [
        *(str(python_of("huggingface")), str(PEER), *map(str, task.train), str(folder)),
        *("--shape", str(shape), "--minutes", f"{task.minutes:g}", "--seed", str(task.recipe.seed)),
        *("--threads", str(task.threads), "--valid", str(task.valid[0]), *TRAINERS[name]),
    ]


def marian_shape(recipe: Recipe) -> dict[str, Any]:
    """The options of MarianConfig for the recipe's shape. Raises ConfigError if MarianMT is another kind.

    MarianMT has one vocabulary: it gets the ids of both, if the recipe has two.
    """
    model, tokenizer = recipe.model, recipe.tokenizer
    if not isinstance(model, TransformerConfig):
        raise ConfigError(f"MarianMT is a Transformer, not {model.architecture}")
    own = 0 if tokenizer.shared else tokenizer.source_vocab_size or tokenizer.vocab_size
    return {
        "vocab_size": tokenizer.vocab_size + own,
        "d_model": model.d_model,
        "encoder_layers": model.encoder_layers,
        "decoder_layers": model.decoder_layers,
        "encoder_attention_heads": model.heads,
        "decoder_attention_heads": model.heads,
        "encoder_ffn_dim": model.d_ff,
        "decoder_ffn_dim": model.d_ff,
        "dropout": model.dropout,
        "activation_function": model.activation,
    }


def _our_points(folder: Path) -> list[Point]:
    """The validations in metrics.jsonl so far."""
    points, validating = [], 0.0
    for row in _rows(folder / "metrics.jsonl"):
        if row["kind"] != "valid":
            continue
        if row["bleu"] is not None:
            minutes = (row["elapsed"] - validating) / 60  # `elapsed` ends before this validation
            points.append(Point(updates=row["step"], minutes=minutes, bleu=row["bleu"]))
        validating += row["seconds"]
    return points


def _their_points(task: QualityTask) -> Callable[[Path], list[Point]]:
    """A reader of what the driver writes: its translations of the validation text, scored once each."""
    from dragoman.evaluation.metrics import score_corpus

    references = task.valid[1].read_text(encoding="utf-8").split("\n")[:-1]
    points: list[Point] = []
    size = 0  # of the file: reading it every second would slow the trainer down

    def read(folder: Path) -> list[Point]:
        nonlocal size
        path = _translations(folder)
        if not path.exists() or path.stat().st_size == size:
            return points
        size = path.stat().st_size
        for row in list(_rows(path))[len(points) :]:
            scores = score_corpus(row["translations"], references, metrics=("bleu",), bootstrap=0)
            points.append(
                Point(updates=row["step"], minutes=row["seconds"] / 60, bleu=scores.by_metric["bleu"].value)
            )
        return points

    return read


def _translations(folder: Path) -> Path:
    """The file that the driver writes while it trains."""
    return folder.with_suffix(".translations")


def _rows(path: Path) -> Iterator[dict[str, Any]]:
    """The whole lines of a file that is being written."""
    if path.exists():
        for line in path.read_bytes().split(b"\n")[:-1]:  # the rest may end within a character
            yield json.loads(line)


def to_table(curves: Mapping[str, LearningCurve], task: QualityTask) -> dict[str, Any]:
    """The result as JSON."""
    return {
        "bleu": task.bleu,
        "minutes": task.minutes,
        "threads": task.threads,
        "processor": machine.processor(),
        "contenders": {
            name: {
                "reached": None if (point := curve.reached(task.bleu)) is None else asdict(point),
                **asdict(curve),
            }
            for name, curve in curves.items()
        },
    }


def to_text(curves: Mapping[str, LearningCurve], task: QualityTask) -> str:
    """A row for each trainer: when it reached the BLEU, or how long it trained and its best BLEU."""
    first = next(iter(curves.values())).reached(task.bleu)
    rows = [["contender", "minutes", "updates", "BLEU", f"x {next(iter(curves))}"]]
    for name, curve in curves.items():
        mark = f" {MARK}" if disturbed(curve.others) else ""
        point = curve.reached(task.bleu)
        shown, sign = (point, "") if point else (curve.points[-1], "> ")
        bleu = point.bleu if point else max(one.bleu for one in curve.points)
        ratio = f"{sign}{shown.minutes / first.minutes:.1f}" if first else "-"
        rows.append(
            [name + mark, f"{sign}{shown.minutes:.1f}", f"{sign}{shown.updates:,}", f"{bleu:.2f}", ratio]
        )
    lines = [
        f"minutes of training to {task.bleu:g} BLEU on {task.valid[1].name} with greedy search, without the"
        f" validations; {count(task.threads, 'thread')}, {machine.processor()}",
        *aligned(rows, right=range(1, 5)),
        "",
        *aligned([[name, ABOUT[name]] for name in curves]),
    ]
    if any(disturbed(curve.others) for curve in curves.values()):
        lines.append(NOTE)
    return "\n".join(lines)


def measure(
    recipe: Annotated[Path, typer.Option("--recipe", metavar="FILE", help="A recipe (TOML).")],
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="FOLDER", help="Models, logs and curves are kept here.")
    ],
    bleu: Annotated[
        float, typer.Option("--bleu", metavar="X", help="BLEU of the validation text, greedy and cased.")
    ],
    contenders: Annotated[
        list[str] | None,
        typer.Argument(metavar="NAME", help="dragoman, hf, hf-tuned. [default: those that are installed]"),
    ] = None,
    minutes: Annotated[
        float, typer.Option("--minutes", metavar="N", help="Minutes of training for each, at most.")
    ] = 240.0,
    data: Data = None,
    options: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="An option of the recipe, for dragoman only."),
    ] = None,
    threads: Annotated[
        int | None,
        typer.Option("--threads", min=1, metavar="N", help="Threads of each. [default: the number of cores]"),
    ] = None,
    busy: Busy = False,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Train until greedy translations of the validation text reach a BLEU, and compare the minutes.

    dragoman trains the recipe. hf is Seq2SeqTrainer of Hugging Face's transformers with its defaults,
    hf-tuned with settings for training from nothing. They train models of one shape, one after the other.
    Minutes do not include validations. A repeated command skips the contenders that have finished.

    \b
      python benchmarks/peers/install.py huggingface
      python benchmarks/time_to_quality.py --recipe r.toml --data ~/corpora --bleu 40 -o quality
    """
    if not 0 < bleu <= 100:
        raise ConfigError(f"--bleu {bleu:g}", hint="it must be above 0 and at most 100")
    if not minutes > 0:
        raise ConfigError(f"--minutes {minutes:g}", hint="it must be above 0")
    say = partial(tell, quiet=quiet)
    chosen = choose(contenders or [])
    check_quiet(busy)
    resolved = resolve(recipe=recipe, overrides=options or [])
    train, valid = write_texts(resolved, data, output / "text")
    task = QualityTask(
        recipe=resolved,
        recipe_file=recipe,
        data=data,
        options=tuple(options or ()),
        train=train,
        valid=valid,
        work=output,
        bleu=bleu,
        minutes=minutes,
        threads=threads or machine.usable_cores(),
    )
    curves = race(chosen, task, say=say)
    print(json.dumps(to_table(curves, task), indent=2) if as_json else to_text(curves, task))


app = Commands()
app.command()(measure)

if __name__ == "__main__":
    sys.exit(run(typer.main.get_command(app), sys.argv[1:], program="benchmarks/time_to_quality.py"))
