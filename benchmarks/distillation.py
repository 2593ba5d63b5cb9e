"""Measure the effect of each piece of a recipe, and of teachers, over several seeds.

    python benchmarks/distillation.py RECIPE.toml [OPTION=VALUE ...] --data FOLDER --work WORK
        [--only recipe "no R-Drop" ...] [--student RECIPE.toml] [--student-options OPTION=VALUE ...]
        [--seeds 1 2 3] [--jobs 2] [--threads 1] [--updates 5200] [--test STEM ...] [--plan]

Every configuration changes only what its row in ROWS names. Each seed of it is one run of `dragoman train` or
`dragoman distil`. The teachers of a student are runs of the recipe itself: with one teacher, seed n learns
from seed n; with two, also from the next, and so on. --student gives the students their own recipe; the row
`alone` trains it without teachers. OPTION=VALUE applies to every run, --student-options only to the students.
A recipe for two processes needs training.accumulate=2 here, for the same updates, because each run is one
process.

Steps run in the order of their dependencies, up to --jobs at once with --threads each, the longest chain of
dependent steps first. A repeated command resumes: finished steps are skipped, and training continues. A
failed step stops only the steps that need it, and the exit code is then 1. --plan prints the commands and
runs nothing.

The scores are lower-cased BLEU of the recipe's own search. The validation text is always scored; test texts
only with --test, so that everything can be chosen before looking at them. `--test test test2017` takes
test.en, test.de, test2017.en and test2017.de from the folder of the recipe's validation text.

Prints each command as it starts, and finally a row for each configuration: mean and standard deviation over
the seeds of the validation loss in nats per token and of BLEU, the number of weights that a translation uses,
minutes of training, and minutes of training and all other steps that the model needs. Training time includes
all starts; the time of other steps, and of the teachers in a distillation, only the last. Losses are
comparable only between configurations with the same target vocabulary.
"""

from __future__ import annotations

import argparse
import contextlib
import ctypes
import json
import os
import re
import shlex
import signal
import statistics
import subprocess
import sys
import time
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, Literal

from dragoman.base import machine
from dragoman.base.errors import ConfigError, DragomanError
from dragoman.base.files import write_whole
from dragoman.base.tables import aligned, count
from dragoman.training.runs.comparison.seeds import spread_of
from dragoman.training.runs.recipe import Recipe, find_data, resolve
from dragoman.translation.folder.header import read_header


@dataclass(frozen=True, kw_only=True)
class Row:
    """A configuration: options that differ from the recipe's, and who teaches it how.

    alone: the student's recipe without teachers. distil: `dragoman distil` with teachers; the translations
    of the targets by so many `backward` models of the other direction join the text. diversify: so do those
    of the sources by the teachers, and there are no other lessons (Nguyen et al. 2020). together: the
    teachers themselves as an ensemble.
    """

    options: tuple[str, ...] = ()
    teachers: int = 0
    backward: int = 0
    how: Literal["train", "alone", "distil", "diversify", "together"] = "train"


def taught(teachers: int, *options: str, backward: int = 0) -> Row:
    options = tuple(f"teacher.{option}" for option in options)
    return Row(options=options, teachers=teachers, backward=backward, how="distil")


def several(*directions: tuple[str, str], both: bool = False) -> tuple[str, ...]:
    """Options to learn captions of Multi30k in several directions, the first of them in half of the pairs."""
    corpora = [
        f'{{name="{source}-{target}", train=["train.{source}.gz", "train.{target}.gz"], '
        + (
            f"weight={1 / (len(directions) - 1)}}}"
            if place
            else f'valid=["valid.{source}", "valid.{target}"], both={str(both).lower()}}}'
        )
        for place, (source, target) in enumerate(directions)
    ]
    return "data.train=[]", "data.valid=[]", "data.test=[]", f"data.corpora=[{', '.join(corpora)}]"


OPEN = "training.close_unseen=false"
WORDS = ("outputs=none", "words=0.5")
ROWS: dict[str, Row] = {
    "recipe": Row(),
    "no R-Drop": Row(options=("training.consistency=0",)),
    "dropout 0.05": Row(options=("model.dropout=0.05",)),
    "dropout 0.25": Row(options=("model.dropout=0.25",)),
    "Adam, same rate": Row(options=("training.optimizer=adam",)),
    "Adam, half the rate": Row(options=("training.optimizer=adam", "training.learning_rate=0.003")),
    "EMA 0.995": Row(options=("training.ema=0.995",)),
    "EMA 0.999": Row(options=("training.ema=0.999",)),
    "mean of the last five": Row(
        options=("training.average=5", "training.average_of=last", "training.choose_by=bleu")
    ),
    "validated with the beam": Row(options=("training.validation_search=generation",)),
    "vocabulary 6000": Row(options=("tokenizer.vocab_size=6000",)),
    "vocabulary 10000": Row(options=("tokenizer.vocab_size=10000",)),
    "case kept": Row(options=("tokenizer.lowercase=false",)),
    "lower case on both sides": Row(options=("tokenizer.lowercase=true",)),
    "both directions, lower case": Row(
        options=(*several(("en", "de"), both=True), "tokenizer.lowercase=true")
    ),
    "into German, French, Czech": Row(
        options=(*several(("en", "de"), ("en", "fr"), ("en", "cs")), "tokenizer.vocab_size=24000")
    ),
    "from English, French, Czech": Row(
        options=(*several(("en", "de"), ("fr", "de"), ("cs", "de")), "tokenizer.vocab_size=24000")
    ),
    "rotary positions": Row(options=("model.positions=rotary",)),
    "SwiGLU": Row(options=("model.activation=swiglu", "model.d_ff=172")),
    "dropout in attention and feed-forward": Row(
        options=("model.attention_dropout=0.1", "model.activation_dropout=0.1")
    ),
    "BPE-dropout 0.1": Row(options=("tokenizer.sampling=0.1", OPEN)),
    "all tokens open": Row(options=(OPEN,)),
    "alone": Row(how="alone"),
    "best, 1 teacher": taught(1, "outputs=best"),
    "best, 2 teachers": taught(2, "outputs=best"),
    "best, 2 teachers, back-translation by 1": taught(2, "outputs=best", backward=1),
    "best, 3 teachers": taught(3, "outputs=best"),
    "best alone, 3 teachers": taught(3, "outputs=best", "reference_weight=0"),
    "nearest, 3 teachers": taught(3, "outputs=nearest"),
    "all, 3 teachers": taught(3, "outputs=all", "outputs_weight=0.2"),
    "words, 1 teacher": taught(1, *WORDS),
    "words, 2 teachers": taught(2, *WORDS),
    "words, 3 teachers": taught(3, *WORDS),
    "best and words, 1 teacher": taught(1, "outputs=best", "words=0.5"),
    "best and words, 2 teachers": taught(2, "outputs=best", "words=0.5"),
    "best and words, 3 teachers": taught(3, "outputs=best", "words=0.5"),
    "best and words, 1 teacher, back-translation by 1": taught(1, "outputs=best", "words=0.5", backward=1),
    "best and words, 2 teachers, back-translation by 1": taught(2, "outputs=best", "words=0.5", backward=1),
    "best and words, 3 teachers, back-translation by 3": taught(3, "outputs=best", "words=0.5", backward=3),
    "diversified by 1 model each way": Row(teachers=1, backward=1, how="diversify"),
    "diversified by 3 models each way": Row(teachers=3, backward=3, how="diversify"),
    "2 teachers together": Row(teachers=2, how="together"),
    "3 teachers together": Row(teachers=3, how="together"),
}
AWAY = 100  # seeds of students: their first weights are not those of a teacher


@dataclass(frozen=True, kw_only=True)
class Step:
    """One command of dragoman. `name` is its path below the folder of the experiment."""

    name: str
    words: tuple[str, ...]
    needs: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Experiment:
    """What is asked for: the recipe, where text and results are, and what every run gets."""

    recipe: Path
    data: Path
    work: Path
    student: Path | None = None  # its recipe, if it is another
    seeds: tuple[int, ...] = (1, 2, 3)
    options: tuple[str, ...] = ()
    student_options: tuple[str, ...] = ()  # after `options`, for students alone
    tests: tuple[str, ...] = ()

    @property
    def resolved(self) -> Recipe:
        return resolve(recipe=self.recipe, overrides=self.options)

    def files(self, names: Sequence[str]) -> tuple[str, ...]:
        """The paths of a text of the recipe."""
        return tuple(map(str, find_data(self.resolved.data, self.data, names)))

    def texts(self) -> dict[str, tuple[str, ...]]:
        """The texts to score on, by their names. Raises ConfigError for text that is not two files."""
        valid = self.resolved.data.valid
        if len(valid) != 2 or len(self.resolved.data.train) != 2:
            raise ConfigError(f"{self.recipe}: data.train and data.valid must be two files each")
        endings = [name.removesuffix(".gz").rpartition(".")[2] for name in valid]
        stems = {stem: [f"{stem}.{ending}" for ending in endings] for stem in self.tests}
        return {"valid": self.files(valid)} | {stem: self.files(names) for stem, names in stems.items()}

    def teachers(self, seed: int, number: int) -> list[int]:
        """The seeds of a student's teachers: its own, and those that follow in a circle."""
        place = self.seeds.index(seed)
        if number > len(self.seeds):
            raise ConfigError(
                f"{number} teachers, but {count(len(self.seeds), 'seed')}", hint="name more --seeds"
            )
        return [self.seeds[(place + i) % len(self.seeds)] for i in range(number)]


def plan(experiment: Experiment, rows: Iterable[str]) -> dict[str, Step]:
    """The steps of some rows by name, each after those that it needs. Raises ConfigError for an option."""
    steps: dict[str, Step] = {}
    texts = experiment.texts()
    for row in rows:
        for seed in seeds_of(experiment, row):
            models = models_of(experiment, row, seed, steps)
            for text, files in texts.items():
                paths = [str(experiment.work / model) for model in models]
                words = ("evaluate", *paths, *files, "--lowercase", "--json", "--bootstrap", "0")
                add(steps, score_name(row, seed, text), words, models)
    return steps


def seeds_of(experiment: Experiment, row: str) -> tuple[int, ...]:
    """The seeds of a row: one, if every seed would be the same models together."""
    about = ROWS[row]
    same = about.how == "together" and about.teachers == len(experiment.seeds)
    return experiment.seeds[:1] if same else experiment.seeds


def models_of(experiment: Experiment, row: str, seed: int, steps: dict[str, Step]) -> list[str]:
    """Add the steps that make the models of a row and a seed, and return the names of these models."""
    about = ROWS[row]
    teachers = experiment.teachers(seed, about.teachers)
    if about.how == "train":
        return [trained(experiment, row, seed, about.options, steps)]
    learnt = [trained(experiment, "recipe", teacher, (), steps) for teacher in teachers]
    if about.how == "together":
        return learnt
    name = f"runs/{slug(row)}-{seed}"
    options = [*experiment.options, *experiment.student_options, *about.options]
    teacher = ['teacher.models=["teacher"]'] if about.how == "distil" else []
    resolve(recipe=experiment.student or experiment.recipe, overrides=[*options, *teacher])
    if about.how == "alone":
        return [add(steps, name, ("train", *common(experiment, name, seed + AWAY, student=True)), ())]
    text, needs = more_text(experiment, about, seed, learnt, steps)
    words = common(experiment, name, seed + AWAY, student=True)
    if about.how == "distil":
        models = [str(experiment.work / model) for model in learnt]
        return [add(steps, name, ("distil", *models, *words, *about.options, *text), [*learnt, *needs])]
    return [add(steps, name, ("train", *words, *text), needs)]


def more_text(
    experiment: Experiment, about: Row, seed: int, learnt: Sequence[str], steps: dict[str, Step]
) -> tuple[list[str], list[str]]:
    """Add the translations that join the text of a row. Return the options for all text, and the steps."""
    train = experiment.files(experiment.resolved.data.train)
    corpora, needs = [("reference", train)], []
    if about.how == "diversify":
        for teacher, model in zip(experiment.teachers(seed, about.teachers), learnt, strict=True):
            forward = translated(experiment, model, train[0], f"forward-{teacher}", train[1], steps)
            corpora.append((f"forward-{teacher}", (train[0], str(experiment.work / forward))))
            needs.append(forward)
    for other in experiment.teachers(seed, about.backward):
        back = trained(experiment, "reverse", other, reversed_options(experiment), steps)
        backward = translated(experiment, back, train[1], f"backward-{other}", train[0], steps)
        corpora.append((f"backward-{other}", (str(experiment.work / backward), train[1])))
        needs.append(backward)
    if not needs:
        return [], []
    tables = ", ".join(f"{{name={json.dumps(key)}, train={json.dumps(files)}}}" for key, files in corpora)
    languages = [
        f"data.{side}_language={code}" for side, code in zip(("source", "target"), codes(train), strict=True)
    ]
    return ["data.train=[]", f"data.corpora=[{tables}]", *languages], needs


def trained(
    experiment: Experiment, row: str, seed: int, options: Sequence[str], steps: dict[str, Step]
) -> str:
    """Add the training of a row and a seed without teachers, and return its name."""
    resolve(recipe=experiment.recipe, overrides=[*experiment.options, *options])
    name = f"runs/{slug(row)}-{seed}"
    return add(steps, name, ("train", *common(experiment, name, seed), *options), ())


def translated(
    experiment: Experiment, model: str, text: str, name: str, like: str, steps: dict[str, Step]
) -> str:
    """Add the translation of a text into the language of the file `like`, and return its name."""
    name = f"texts/{name}.{codes([like])[0]}"
    words = ("translate", str(experiment.work / model), text, "-o", str(experiment.work / name), "--quiet")
    return add(steps, name, words, [model])


def common(experiment: Experiment, name: str, seed: int, *, student: bool = False) -> tuple[str, ...]:
    """The words that every training has."""
    output = str(experiment.work / name)
    recipe = experiment.student if student and experiment.student else experiment.recipe
    data = ("--recipe", str(recipe), "--data", str(experiment.data))
    more = experiment.student_options if student else ()
    return (*data, "-o", output, f"seed={seed}", *experiment.options, *more)


def reversed_options(experiment: Experiment) -> list[str]:
    """The options that swap the languages."""
    data = experiment.resolved.data
    swapped = [f"data.{part}={json.dumps(getattr(data, part)[::-1])}" for part in ("train", "valid")]
    named = {"source_language": data.target_language, "target_language": data.source_language}
    return [*swapped, "data.test=[]", *(f"data.{key}={code}" for key, code in named.items() if code)]


def codes(files: Sequence[str]) -> list[str]:
    """The language codes at the ends of the names of files."""
    return [Path(file).name.removesuffix(".gz").rpartition(".")[2] for file in files]


def add(steps: dict[str, Step], name: str, words: Sequence[str], needs: Sequence[str]) -> str:
    steps.setdefault(name, Step(name=name, words=tuple(words), needs=tuple(needs)))
    return name


def score_name(row: str, seed: int, text: str) -> str:
    return f"scores/{slug(row)}-{seed}-{text}"


def slug(row: str) -> str:
    return re.sub(r"[^0-9A-Za-z.]+", "-", row)


def run(steps: Mapping[str, Step], work: Path, *, jobs: int, threads: int) -> list[str]:
    """Run the steps that are not finished, and return the names of those that failed.

    Raises ConfigError if one was finished by another command.
    """
    finished = {name for name, step in steps.items() if record_of(work, step) is not None}
    recipes = {name: recipe_of(step) for name, step in steps.items()}
    behind = chains(steps)
    waiting = sorted(
        (step for name, step in steps.items() if name not in finished), key=lambda step: -behind[step.name]
    )
    running: dict[int, tuple[Step, subprocess.Popen[bytes], float]] = {}
    failed: list[str] = []
    try:
        while True:
            for step in [step for step in waiting if finished.issuperset(step.needs)]:
                if len(running) < jobs:
                    waiting.remove(step)
                    number = f"{len(finished) + len(failed) + len(running) + 1} of {len(steps)}"
                    print(f"[{number}] {shlex.join(('dragoman', *step.words))}", flush=True)
                    process = start(step, work, threads)
                    running[process.pid] = step, process, time.monotonic()
            if not running:
                return failed
            pid, status = os.wait()
            step, process, began = running.pop(pid)
            process.returncode = os.waitstatus_to_exitcode(status)
            if process.returncode:
                failed.append(step.name)
                print(f"exit code {process.returncode}: see {path_of(work, step.name, '.log')}", flush=True)
                continue
            record = {
                "command": step.words,
                "recipe": recipes[step.name],
                "minutes": (time.monotonic() - began) / 60,
            }
            write_whole(path_of(work, step.name, ".done"), json.dumps(record) + "\n")
            finished.add(step.name)
    finally:
        for _, process, _ in running.values():
            process.terminate()  # not SIGINT, which what a shell starts with & ignores
        for _, process, _ in running.values():
            process.wait()


def chains(steps: Mapping[str, Step]) -> dict[str, int]:
    """How many steps must follow each one, in the longest chain. `steps` come after those that they need."""
    behind = dict.fromkeys(steps, 0)
    for name, step in reversed(steps.items()):
        for needed in step.needs:
            behind[needed] = max(behind[needed], behind[name] + 1)
    return behind


def start(step: Step, work: Path, threads: int) -> subprocess.Popen[bytes]:
    """Start a command; what it prints goes to NAME.out, its progress to the end of NAME.log."""
    out, log = path_of(work, step.name, ".out"), path_of(work, step.name, ".log")
    out.parent.mkdir(parents=True, exist_ok=True)
    variables = {**os.environ, "OMP_NUM_THREADS": str(threads)}
    with out.open("wb") as output, log.open("ab") as errors:
        return subprocess.Popen(
            [sys.executable, "-m", "dragoman", *step.words],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=errors,
            env=variables,
            start_new_session=True,  # Ctrl-C reaches the script alone; a second one would stop without saving
            preexec_fn=die_with_parent if sys.platform == "linux" else None,
        )


def die_with_parent() -> None:
    """Let a kill of this script stop its steps, too: else they would lock their folders when it goes on."""
    ctypes.CDLL(None).prctl(1, signal.SIGTERM)  # PR_SET_PDEATHSIG


def record_of(work: Path, step: Step) -> dict[str, Any] | None:
    """What a finished step left; None for others. Raises ConfigError if its command or recipe was another."""
    path = path_of(work, step.name, ".done")
    if not path.exists():
        return None
    record: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    if record["recipe"] != recipe_of(step):
        raise ConfigError(
            f"{path}: finished with another recipe than its file has now", hint="choose another --work"
        )
    if tuple(record["command"]) != step.words:
        raise ConfigError(
            f"{path}: finished by another command: {shlex.join(record['command'])}",
            hint="repeat the same options, or choose another --work",
        )
    return record


def recipe_of(step: Step) -> str | None:
    """The recipe of a step, as it is now."""
    words = list(step.words)
    if "--recipe" not in words:
        return None
    return Path(words[words.index("--recipe") + 1]).read_text(encoding="utf-8")


def path_of(work: Path, name: str, ending: str) -> Path:
    """A file beside the result of a step."""
    return work / f"{name}{ending}"


@dataclass(frozen=True, kw_only=True)
class Result:
    """One seed of a configuration."""

    loss: float | None  # of the validation text, nats a token; None for several models together
    bleu: dict[str, float]  # by text
    parameters: int
    minutes: float  # of its training
    whole: float  # of all the steps that it needs


def results(
    experiment: Experiment, rows: Iterable[str], steps: Mapping[str, Step]
) -> dict[str, list[Result]]:
    """The results of the rows, of the seeds that have all their scores."""
    texts = list(experiment.texts())
    found: dict[str, list[Result]] = {}
    for row in rows:
        for seed in seeds_of(experiment, row):
            scored = [steps[score_name(row, seed, text)] for text in texts]
            if any(record_of(experiment.work, step) is None for step in scored):
                continue
            models = scored[0].needs
            needed = needed_by(models, steps)
            found.setdefault(row, []).append(
                Result(
                    loss=finish_of(experiment.work / models[0])["loss"] if len(models) == 1 else None,
                    bleu={
                        text: bleu_of(experiment.work, step) for text, step in zip(texts, scored, strict=True)
                    },
                    parameters=sum(parameters(experiment.work / model) for model in models),
                    minutes=sum(training_minutes(experiment.work / model) for model in models),
                    whole=sum(minutes_of(experiment.work, steps[name]) for name in needed),
                )
            )
    return found


def needed_by(names: Collection[str], steps: Mapping[str, Step]) -> set[str]:
    """These steps and all that they need, directly or not."""
    return set(names).union(*(needed_by(steps[name].needs, steps) for name in names))


def finish_of(folder: Path) -> dict[str, Any]:
    """The last line of a run's measurements: what was kept, its loss, and the time."""
    rows = map(json.loads, (folder / "metrics.jsonl").read_text(encoding="utf-8").splitlines())
    return [row for row in rows if row["kind"] == "finish"][-1]


def training_minutes(folder: Path) -> float:
    """Minutes of training, validation and earlier starts included."""
    return float(finish_of(folder)["seconds"]) / 60


def minutes_of(work: Path, step: Step) -> float:
    """Minutes of a finished step."""
    record = record_of(work, step)
    minutes = float(record["minutes"]) if record else 0.0
    return (
        max(minutes, training_minutes(work / step.name)) if step.words[0] in ("train", "distil") else minutes
    )


def bleu_of(work: Path, step: Step) -> float:
    table = json.loads(path_of(work, step.name, ".out").read_text(encoding="utf-8"))
    return float(table["lowercased"]["bleu"]["value"])


def parameters(folder: Path) -> int:
    return sum(one.count for one in read_header(folder / "model.safetensors").values())


def to_text(found: Mapping[str, Sequence[Result]], texts: Sequence[str]) -> str:
    """The table: a row for each configuration."""
    rows = [["configuration", "seeds", "loss", *texts, "parameters", "minutes", "with teachers"]]
    for row, runs in found.items():
        losses = [run.loss for run in runs if run.loss is not None]
        rows.append(
            [
                row,
                str(len(runs)),
                spread_of(losses).text(3) if losses else "-",
                *(spread_of([run.bleu[text] for run in runs]).text(2) for text in texts),
                f"{max(run.parameters for run in runs):,}",
                f"{statistics.mean(run.minutes for run in runs):.1f}",
                f"{statistics.mean(run.whole for run in runs):.1f}",
            ]
        )
    return "\n".join(aligned(rows, right=range(1, len(rows[0]))))


def chosen(names: Sequence[str], *, student: bool) -> list[str]:
    """The rows that match one of the names or patterns, all without any. Raises ConfigError.

    Without a `student` of another recipe, one that learns alone is another seed of the recipe, and left out.
    """
    rows = [row for row in ROWS if student or ROWS[row].how != "alone"]
    for name in names:
        if not any(fnmatchcase(row, name) for row in rows):
            hint = "it needs --student" if name in ROWS else f"choose among: {'; '.join(rows)}"
            raise ConfigError(f"--only {name}: no such row", hint=hint)
    return [row for row in rows if not names or any(fnmatchcase(row, name) for name in names)]


@contextlib.contextmanager
def ended_by_signals() -> Iterator[None]:
    """Let SIGTERM end the script as Ctrl-C does."""
    before = signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def main() -> None:
    options = arguments()
    updates = [] if options.updates is None else [f"training.max_updates={options.updates}"]
    experiment = Experiment(
        recipe=options.recipe,
        data=options.data.resolve(),  # because data.corpora has paths of both folders
        work=options.work.resolve(),
        student=options.student,
        seeds=tuple(options.seeds),
        options=(*updates, *options.words),
        student_options=tuple(options.student_options),
        tests=tuple(options.test),
    )
    try:
        rows = chosen(options.only, student=options.student is not None)
        steps = plan(experiment, rows)
        if options.plan:
            print("\n".join(shlex.join(("dragoman", *step.words)) for step in steps.values()))
            return
        with ended_by_signals():
            failed = run(steps, experiment.work, jobs=options.jobs, threads=options.threads)
        found = results(experiment, rows, steps)
    except DragomanError as error:
        raise SystemExit(f"error: {error}" + (f"\n{error.hint}" if error.hint else "")) from error
    print(f"\n{experiment.recipe}; {machine.processor()}, {count(options.threads, 'thread')} a run\n")
    print(to_text(found, list(experiment.texts())))
    if failed:
        raise SystemExit(f"failed: {', '.join(failed)}")


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("recipe", type=Path)
    parser.add_argument("words", nargs="*", metavar="OPTION=VALUE")
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--only", nargs="+", default=[], metavar="ROW", help="; ".join(ROWS))
    parser.add_argument("--student", type=Path, metavar="RECIPE.toml")
    parser.add_argument("--student-options", nargs="+", default=[], metavar="OPTION=VALUE")
    parser.add_argument("--seeds", nargs="+", type=int, default=[1, 2, 3])
    parser.add_argument("--jobs", type=at_least_one, default=machine.cores())
    parser.add_argument("--threads", type=at_least_one, default=1)
    parser.add_argument("--updates", type=int)
    parser.add_argument("--test", nargs="+", default=[], metavar="STEM")
    parser.add_argument("--plan", action="store_true")
    options = parser.parse_intermixed_args()
    if len(set(options.seeds)) < len(options.seeds):
        parser.error("argument --seeds: a seed is named twice")
    return options


def at_least_one(text: str) -> int:
    """The number. Raises ValueError below 1."""
    if int(text) < 1:
        raise ValueError(text)
    return int(text)


if __name__ == "__main__":
    main()
