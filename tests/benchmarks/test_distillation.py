"""The experiment of teachers and students: rows are recipes, steps run in order and go on, means fit."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from tests.benchmarks.test_scripts import SCRIPTS, load

from dragoman.base.errors import ConfigError
from dragoman.text import toy
from dragoman.training.runs.recipe import resolve

ROOT = Path(__file__).parents[2]
SCRIPT = ROOT / "benchmarks" / "distillation.py"
RECIPE = """
title = "Toy"
[data]
folder = "toy"
train = ["train.en", "train.de"]
valid = ["valid.en", "valid.de"]
[tokenizer]
vocab_size = 330
[model]
d_model = 16
d_ff = 16
heads = 2
encoder_layers = 1
decoder_layers = 1
[training]
batch_tokens = 200
warmup = 1
max_updates = 2
validate_every = 1
"""


@pytest.fixture
def script(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    return load(next(path for path in SCRIPTS if path.stem == "distillation"), monkeypatch)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A recipe, and text for it."""
    text = tmp_path / "data" / "toy"
    text.mkdir(parents=True)
    for seed, part in enumerate(("train", "valid", "test", "later"), 1):
        for language, lines in zip(
            ("en", "de"), zip(*toy.pairs(seed=seed, count=40), strict=True), strict=True
        ):
            (text / f"{part}.{language}").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    (tmp_path / "recipe.toml").write_text(RECIPE, encoding="utf-8")
    return tmp_path


def experiment(script: ModuleType, folder: Path, **changes: Any) -> Any:
    usual = {"recipe": folder / "recipe.toml", "data": folder / "data", "work": folder / "work"}
    return script.Experiment(**usual | changes)


def test_every_row_is_a_recipe_of_its_own(script: ModuleType) -> None:
    seen = []
    for row in script.ROWS.values():
        options = [*row.options, *(['teacher.models=["teacher"]'] if row.how == "distil" else [])]
        recipe = resolve(recipe=ROOT / "recipes" / "multi30k-en-de.toml", overrides=options)
        if row.how in ("train", "distil") and row.teachers in (0, 3) and not row.backward:
            seen.append(repr(recipe))
    assert len(seen) > 8
    assert len(set(seen)) == len(seen)


def test_every_row_has_files_of_its_own(script: ModuleType) -> None:
    names = [script.slug(row) for row in script.ROWS]

    assert len(set(names)) == len(names)
    assert "reverse" not in names  # the models of the other direction
    assert all(re.fullmatch(r"[\w.-]+", name) for name in names)


def test_steps_come_after_those_that_they_need(script: ModuleType, folder: Path) -> None:
    rows = ["recipe", "2 teachers together", "diversified by 3 models each way"]

    steps = script.plan(experiment(script, folder), rows)

    before: set[str] = set()
    for name, step in steps.items():
        assert name == step.name
        assert before.issuperset(step.needs)
        before.add(name)
    trained = [step for step in steps.values() if step.words[0] == "train"]
    assert len(trained) == 3 * 3  # the recipe, the other direction, the students
    outputs = [step.words[step.words.index("-o") + 1] for step in trained]
    assert outputs == [str(folder / "work" / step.name) for step in trained]


def test_teachers_follow_in_a_circle_and_students_start_elsewhere(script: ModuleType, folder: Path) -> None:
    some = experiment(script, folder, seeds=(1, 2, 3))

    assert [some.teachers(seed, 2) for seed in (1, 2, 3)] == [[1, 2], [2, 3], [3, 1]]
    steps = script.plan(some, ["diversified by 1 model each way"])
    for seed in (1, 2, 3):
        student = steps[f"runs/diversified-by-1-model-each-way-{seed}"]
        assert f"seed={100 + seed}" in student.words
        assert student.needs == (f"texts/forward-{seed}.de", f"texts/backward-{seed}.en")
    with pytest.raises(ConfigError, match="3 teachers, but 2 seeds"):
        script.plan(experiment(script, folder, seeds=(1, 2)), ["3 teachers together"])


def test_students_may_learn_from_both_directions(script: ModuleType, folder: Path) -> None:
    steps = script.plan(experiment(script, folder), ["best and words, 1 teacher, back-translation by 1"])

    student = steps["runs/best-and-words-1-teacher-back-translation-by-1-2"]
    assert student.words[:2] == ("distil", str(folder / "work/runs/recipe-2"))
    assert student.needs == ("runs/recipe-2", "texts/backward-2.en")
    recipe = resolve(overrides=[word for word in student.words if word.startswith("data.corpora=")])
    assert [one.name for one in recipe.data.corpora] == ["reference", "backward-2"]
    target = str(folder / "data/toy/train.de")
    assert recipe.data.corpora[1].train == (str(folder / "work/texts/backward-2.en"), target)


def test_all_teachers_together_are_one_system(script: ModuleType, folder: Path) -> None:
    steps = script.plan(experiment(script, folder), ["3 teachers together"])

    (score,) = [step for step in steps.values() if step.words[0] == "evaluate"]
    assert score.needs == ("runs/recipe-1", "runs/recipe-2", "runs/recipe-3")


def test_students_may_have_a_recipe_of_their_own(script: ModuleType, folder: Path) -> None:
    small = folder / "small.toml"
    small.write_text(RECIPE.replace("d_ff = 16", "d_ff = 8"), encoding="utf-8")
    some = experiment(script, folder, seeds=(1,), student=small)

    assert script.chosen([], student=True) == list(script.ROWS)
    assert set(script.ROWS) - set(script.chosen([], student=False)) == {"alone"}
    with pytest.raises(ConfigError, match="--only alone") as refused:
        script.chosen(["alone"], student=False)
    assert refused.value.hint == "it needs --student"
    steps = script.plan(some, ["recipe", "alone", "diversified by 1 model each way"])
    recipes = {
        name: Path(step.words[step.words.index("--recipe") + 1]).name
        for name, step in steps.items()
        if step.words[0] == "train"
    }
    assert recipes == {
        "runs/recipe-1": "recipe.toml",
        "runs/alone-1": "small.toml",
        "runs/reverse-1": "recipe.toml",
        "runs/diversified-by-1-model-each-way-1": "small.toml",
    }


def test_students_may_have_options_of_their_own(script: ModuleType, folder: Path) -> None:
    some = experiment(script, folder, options=("training.max_updates=3",), student_options=("seed=7",))

    steps = script.plan(some, ["best, 1 teacher", "diversified by 1 model each way"])

    trained = {name: step.words for name, step in steps.items() if step.words[0] in ("train", "distil")}
    assert {name for name, words in trained.items() if "seed=7" in words} == {
        name for name in trained if name.startswith(("runs/best", "runs/diversified"))
    }
    assert all("training.max_updates=3" in words for words in trained.values())
    with pytest.raises(ConfigError, match="no_such"):
        script.plan(experiment(script, folder, student_options=("no_such=1",)), ["best, 1 teacher"])


def test_tests_are_looked_at_only_if_asked_for(script: ModuleType, folder: Path) -> None:
    def texts(**changes: Any) -> list[str]:
        steps = script.plan(experiment(script, folder, seeds=(1,), **changes), ["recipe"])
        words = [step.words for step in steps.values() if step.words[0] == "evaluate"]
        return [Path(file).name for line in words for file in line if file.endswith(".de")]

    assert texts() == ["valid.de"]
    assert texts(tests=("test", "later")) == ["valid.de", "test.de", "later.de"]


def test_the_other_direction_has_the_same_settings(script: ModuleType, folder: Path) -> None:
    some = experiment(script, folder)

    other = resolve(recipe=some.recipe, overrides=script.reversed_options(some))

    assert (other.data.train, other.data.valid) == (("train.de", "train.en"), ("valid.de", "valid.en"))
    assert (other.model, other.training, other.tokenizer) == (
        some.resolved.model,
        some.resolved.training,
        some.resolved.tokenizer,
    )


# Running steps: those of dragoman are replaced by a script of a line


@pytest.fixture
def started(script: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the steps as they start. A step runs `words[0]` as Python."""
    names: list[str] = []

    def start(step: Any, work: Path, threads: int) -> subprocess.Popen[bytes]:
        names.append(step.name)
        (work / step.name).parent.mkdir(parents=True, exist_ok=True)
        return subprocess.Popen([sys.executable, "-c", step.words[0]])

    monkeypatch.setattr(script, "start", start)
    return names


def steps_of(script: ModuleType, **words: tuple[str, tuple[str, ...]]) -> dict[str, Any]:
    return {name: script.Step(name=name, words=(line,), needs=needs) for name, (line, needs) in words.items()}


@pytest.mark.thorough
def test_a_step_waits_for_those_that_it_needs(script: ModuleType, tmp_path: Path, started: list[str]) -> None:
    """`a` ends only when `b` runs, so both run at once; `d` fails without what both write."""
    wait = (
        "import pathlib, time; p = pathlib.Path({0!r}); end = time.monotonic() + 60\n"
        "while not p.exists() and time.monotonic() < end: time.sleep(0.01)\np.stat()"
    )
    sign, end = tmp_path / "sign", tmp_path / "end"
    steps = steps_of(
        script,
        a=(f"{wait.format(str(sign))}\npathlib.Path({str(end)!r}).touch()", ()),
        b=(f"open({str(sign)!r}, 'w')", ()),
        d=(f"open({str(end)!r}); open({str(sign)!r})", ("a", "b")),
    )

    assert script.run(steps, tmp_path, jobs=2, threads=1) == []
    assert started == ["a", "b", "d"]


@pytest.mark.thorough
def test_steps_with_the_longest_chain_behind_them_start_first(
    script: ModuleType, tmp_path: Path, started: list[str]
) -> None:
    steps = steps_of(script, a=("", ()), b=("", ("a",)), c=("", ()), d=("", ("c",)), e=("", ("b", "d", "c")))
    steps |= steps_of(script, f=("", ()))

    assert script.run(steps, tmp_path, jobs=1, threads=1) == []
    assert started == ["a", "c", "b", "d", "e", "f"]


@pytest.mark.thorough
def test_finished_steps_are_not_repeated(script: ModuleType, tmp_path: Path, started: list[str]) -> None:
    good = tmp_path / "good"
    steps = steps_of(script, a=("", ()), b=(f"open({str(good)!r})", ("a",)), c=("", ("b",)), d=("", ()))

    assert script.run(steps, tmp_path, jobs=1, threads=1) == ["b"]
    assert started == ["a", "b", "d"]  # c needs b, d does not
    good.touch()
    started.clear()
    assert script.run(steps, tmp_path, jobs=1, threads=1) == []
    assert started == ["b", "c"]
    started.clear()
    assert script.run(steps, tmp_path, jobs=1, threads=1) == []
    assert started == []


@pytest.mark.thorough
def test_a_step_that_another_recipe_finished_is_refused(
    script: ModuleType, tmp_path: Path, started: list[str]
) -> None:
    recipe = tmp_path / "recipe.toml"
    recipe.write_text("seed = 1\n")
    steps = {"a": script.Step(name="a", words=("train", "--recipe", str(recipe)))}
    (tmp_path / "a.done").write_text(
        json.dumps({"command": steps["a"].words, "recipe": "seed = 1\n", "minutes": 1.0})
    )

    assert script.run(steps, tmp_path, jobs=1, threads=1) == []
    recipe.write_text("seed = 2\n")
    with pytest.raises(ConfigError, match="finished with another recipe"):
        script.run(steps, tmp_path, jobs=1, threads=1)
    assert started == []


@pytest.mark.thorough
def test_a_step_that_another_command_finished_is_refused(
    script: ModuleType, tmp_path: Path, started: list[str]
) -> None:
    script.run(steps_of(script, a=("1", ())), tmp_path, jobs=1, threads=1)

    with pytest.raises(ConfigError, match="finished by another command"):
        script.run(steps_of(script, a=("2", ()), b=("", ())), tmp_path, jobs=1, threads=1)
    assert started == ["a"]


# The table


def test_means_and_deviations(script: ModuleType) -> None:
    """By hand: of 40, 41 and 43 the mean is 41.33, and the squares are 16 / 9 + 1 / 9 + 25 / 9 = 14 / 3."""
    runs = [
        script.Result(
            loss=loss, bleu={"valid": bleu}, parameters=3_000_000, minutes=minutes, whole=3 * minutes
        )
        for loss, bleu, minutes in ((1.5, 40.0, 10.0), (1.6, 41.0, 20.0), (1.7, 43.0, 30.0))
    ]
    together = script.Result(loss=None, bleu={"valid": 42.0}, parameters=9_000_000, minutes=60.0, whole=60.0)

    _, first, second = script.to_text({"some": runs, "others": [together]}, ["valid"]).splitlines()

    cells = re.split(r"  +", first)
    assert cells == ["some", "3", "1.600 ± 0.100", "41.33 ± 1.53", "3,000,000", "20.0", "60.0"]
    assert round((14 / 3 / 2) ** 0.5, 2) == 1.53
    assert re.split(r"  +", second) == ["others", "1", "-", "42.00", "9,000,000", "60.0", "60.0"]


def test_the_cost_has_every_step_once(script: ModuleType) -> None:
    steps = {
        "a": script.Step(name="a", words=()),
        "b": script.Step(name="b", words=(), needs=("a",)),
        "c": script.Step(name="c", words=(), needs=("a", "b")),
        "d": script.Step(name="d", words=(), needs=("a",)),
    }

    assert script.needed_by(["c"], steps) == {"a", "b", "c"}


@pytest.mark.thorough
def test_ctrl_c_does_not_reach_the_steps_twice(script: ModuleType, tmp_path: Path) -> None:
    """The terminal sends it to a whole group of processes; the script passes it on."""
    process = script.start(script.Step(name="x", words=("--help",)), tmp_path, 1)
    group = os.getpgid(process.pid)
    process.wait()

    assert group == process.pid


@pytest.mark.thorough
@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
def test_steps_end_with_the_script_even_if_they_ignore_ctrl_c(
    script: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As the commands of a shell in the background do."""
    sign = tmp_path / "sign"
    line = "import pathlib, signal, time; signal.signal(signal.SIGINT, signal.SIG_IGN)\n"
    line += f"pathlib.Path({str(sign)!r}).touch(); time.sleep(300)"
    started: list[subprocess.Popen[bytes]] = []

    def start(step: Any, work: Path, threads: int) -> subprocess.Popen[bytes]:
        started.append(subprocess.Popen([sys.executable, "-c", line]))
        return started[0]

    def wait() -> tuple[int, int]:
        until(sign.exists)
        raise KeyboardInterrupt

    monkeypatch.setattr(script, "start", start)
    monkeypatch.setattr(os, "wait", wait)
    with pytest.raises(KeyboardInterrupt):
        script.run(steps_of(script, a=(line, ())), tmp_path, jobs=1, threads=1)

    assert started[0].returncode == -signal.SIGTERM


@pytest.mark.parametrize(
    "words", [["--jobs", "0"], ["--threads", "0"], ["--threads", "x"], ["--seeds", "1", "2", "1"]]
)
def test_numbers_that_mean_nothing_are_refused(
    script: ModuleType, words: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["distillation.py", "r.toml", "--data", ".", "--work", "w", *words])

    with pytest.raises(SystemExit) as ended:
        script.arguments()

    assert ended.value.code == 2
    assert f"argument {words[0]}: " in capsys.readouterr().err


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="children end with their parent only on Linux")
def test_a_killed_experiment_goes_on(folder: Path) -> None:
    """Killed in the first training; its child ends too, and the same command ends with the table."""
    work = folder / "work"
    words = ["--data", str(folder / "data"), "--work", str(work), "--only", "recipe", "2 teachers together"]
    command = [sys.executable, str(SCRIPT), str(folder / "recipe.toml"), *words, "--seeds", "1", "2"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        until(lambda: (work / "runs" / "recipe-1").exists())
        process.send_signal(signal.SIGKILL)
    until(lambda: not any(str(work) in line for line in command_lines()))
    assert not (work / "scores").exists()

    done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)

    assert done.returncode == 0, done.stderr
    rows = [re.split(r"  +", line) for line in done.stdout.splitlines()[-2:]]
    assert [row[:2] for row in rows] == [["recipe", "2"], ["2 teachers together", "1"]]
    losses = []
    for seed in (1, 2):
        lines = (work / "runs" / f"recipe-{seed}" / "metrics.jsonl").read_text(encoding="utf-8").splitlines()
        losses.append(json.loads(lines[-1])["loss"])
    deviation = abs(losses[0] - losses[1]) / 2**0.5
    assert rows[0][2] == f"{sum(losses) / 2:.3f} ± {deviation:.3f}"
    assert int(rows[1][-3].replace(",", "")) == 2 * int(rows[0][-3].replace(",", ""))


def until(condition: Any, seconds: float = 300.0) -> None:
    """Wait for something to happen; the limit only keeps a broken test from waiting forever."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.05)


def command_lines() -> list[str]:
    """The command lines of all processes."""
    lines = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            lines.append(os.fsdecode(path.read_bytes()).replace("\0", " "))
        except OSError:  # it ended meanwhile
            continue
    return lines
