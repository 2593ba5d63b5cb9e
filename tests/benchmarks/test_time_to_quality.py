"""Time to quality: what counts as training, when it ends, and what is kept."""

from __future__ import annotations

import gzip
import json
import os
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import time_to_quality as quality
from time_to_quality import (
    LearningCurve,
    Point,
    QualityTask,
    choose,
    marian_shape,
    race,
    to_text,
    write_texts,
)

from dragoman.base.errors import ConfigError, DataError, TrainingError
from dragoman.text import toy
from dragoman.training.runs.recipe import resolve
from dragoman.training.runs.run import train

SCRIPT = quality

RECIPES = Path(__file__).parents[2] / "recipes"
LINES = ["A dog runs over the old bridge.", "Two men carry a heavy box home."]
REFERENCES = ["Ein Hund rennt über die alte Brücke.", "Zwei Männer tragen eine schwere Kiste heim."]


@pytest.fixture
def task(tmp_path: Path) -> QualityTask:
    for name, lines in (("valid.en", LINES), ("valid.de", REFERENCES)):
        (tmp_path / name).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    both = tmp_path / "valid.en", tmp_path / "valid.de"
    return QualityTask(
        recipe=resolve(preset="tiny"), recipe_file=tmp_path / "recipe.toml", data=None, options=(),
        train=both, valid=both, work=tmp_path, bleu=30.0, minutes=60.0, threads=2,
    )  # fmt: skip


def valid(step: int, bleu: float | None, *, seconds: float, elapsed: float) -> str:
    row = {"kind": "valid", "step": step, "bleu": bleu, "seconds": seconds, "elapsed": elapsed}
    return json.dumps(row) + "\n"


@pytest.mark.thorough
def test_validations_are_not_training(tmp_path: Path) -> None:
    (tmp_path / "metrics.jsonl").write_text(
        json.dumps({"kind": "start", "step": 0}) + "\n"
        + valid(100, 10.0, seconds=30, elapsed=60)
        + valid(200, None, seconds=30, elapsed=150)
        + valid(300, 20.0, seconds=60, elapsed=300)
        + '{"kind": "valid", "step": 400, "bl',  # it is being written
        encoding="utf-8",
    )  # fmt: skip
    with (tmp_path / "metrics.jsonl").open("ab") as file:
        file.write("ü".encode()[:1])

    points = quality._our_points(tmp_path)

    assert points == [
        Point(updates=100, minutes=1.0, bleu=10.0),
        Point(updates=300, minutes=4.0, bleu=20.0),
    ]


@pytest.mark.thorough
def test_the_time_of_a_run_of_ours(tmp_path: Path) -> None:
    """Validations take most of it. That of a point comes after the point."""
    pairs = toy.pairs(seed=3, count=120)
    train(
        pairs, valid=pairs[:40], output=tmp_path / "m", source_language="en", target_language="de",
        preset="tiny", overrides=[
            "tokenizer.vocab_size=400", "model.d_model=16", "model.d_ff=32", "model.heads=2",
            "training.batch_tokens=400", "training.max_updates=4", "training.validate_every=2",
        ],
    )  # fmt: skip
    rows = [json.loads(line) for line in (tmp_path / "m" / "metrics.jsonl").read_text("utf-8").splitlines()]
    first, second = (row for row in rows if row["kind"] == "valid")

    points = quality._our_points(tmp_path / "m")

    minutes = first["elapsed"] / 60, (second["elapsed"] - first["seconds"]) / 60
    assert [point.minutes for point in points] == pytest.approx(minutes)
    assert 0 < points[0].minutes < points[1].minutes


@pytest.mark.thorough
def test_their_translations_are_scored_by_us(task: QualityTask, monkeypatch: pytest.MonkeyPatch) -> None:
    read, folder = quality._their_points(task), task.work / "hf"
    path = folder.with_suffix(".translations")
    rows = [{"step": 10, "seconds": 60.0, "translations": ["", ""]}]
    rows.append({"step": 20, "seconds": 90.0, "translations": REFERENCES})

    path.write_text(json.dumps(rows[0]) + "\n", encoding="utf-8")
    first = list(read(folder))
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    both = list(read(folder))
    monkeypatch.setattr(quality, "_rows", None)  # a file that has not grown is not read again
    assert read(folder) == both

    assert first == [Point(updates=10, minutes=1.0, bleu=0.0)]
    assert both[0] == first[0]
    assert (both[1].updates, both[1].minutes, round(both[1].bleu, 6)) == (20, 1.5, 100.0)


TRAINER = """
import json, pathlib, sys, time
folder = pathlib.Path(sys.argv[1])
folder.mkdir()
(folder / "pid").write_text(str(__import__("os").getpid()))
with open(folder / "metrics.jsonl", "w") as file:
    for step, bleu in enumerate(json.loads(sys.argv[2]), 1):
        row = {"kind": "valid", "step": step, "bleu": bleu, "seconds": 0, "elapsed": 60 * step}
        print(json.dumps(row), file=file, flush=True)
time.sleep(float(sys.argv[3]))
raise SystemExit(int(sys.argv[4]))
"""


def trains(monkeypatch: pytest.MonkeyPatch, bleu: list[float], *, sleeps: float = 0, code: int = 0) -> None:
    """Put a trainer in the place of ours that validates so."""
    monkeypatch.setattr(quality, "_POLL", 0.05)
    monkeypatch.setattr(
        quality,
        "our_command",
        lambda folder, _: [
            sys.executable,
            "-c",
            TRAINER,
            str(folder),
            json.dumps(bleu),
            str(sleeps),
            str(code),
        ],
    )


def test_it_ends_when_the_bleu_is_reached(task: QualityTask, monkeypatch: pytest.MonkeyPatch) -> None:
    trains(monkeypatch, [10.0, 31.0, 12.0], sleeps=600)
    said: list[str] = []
    began = time.monotonic()

    curves = race(["dragoman"], task, say=said.append)

    assert time.monotonic() - began < 300
    assert curves["dragoman"].reached(30.0) == Point(updates=2, minutes=2.0, bleu=31.0)
    assert any("BLEU 31.00" in line for line in said)
    with pytest.raises(ProcessLookupError):
        os.kill(int((task.work / "dragoman" / "pid").read_text()), 0)


def test_it_ends_when_the_time_is_over(task: QualityTask, monkeypatch: pytest.MonkeyPatch) -> None:
    trains(monkeypatch, [1.0, 2.0, 3.0], sleeps=600)

    curves = race(["dragoman"], replace(task, minutes=2.5), say=lambda _: None)

    assert curves["dragoman"].reached(30.0) is None


def test_what_has_finished_is_kept(task: QualityTask, monkeypatch: pytest.MonkeyPatch) -> None:
    trains(monkeypatch, [1.0, 2.0])
    first = race(["dragoman"], task, say=lambda _: None)
    trains(monkeypatch, [], code=1)

    assert race(["dragoman"], task, say=lambda _: None) == first


@pytest.mark.parametrize(
    "changed",
    [
        {"bleu": 40.0},
        {"minutes": 90.0},
        {"threads": 1},
        {"recipe": resolve(preset="tiny", overrides=["seed=2"])},
    ],
)
def test_what_was_measured_otherwise_is_refused(
    changed: dict[str, Any], task: QualityTask, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It was trained until it reached the BLEU, so it does not say when it reaches a higher one."""
    trains(monkeypatch, [10.0, 31.0])
    race(["dragoman"], task, say=lambda _: None)

    with pytest.raises(ConfigError, match=r"dragoman\.json: measured with another recipe or other options"):
        race(["dragoman"], replace(task, **changed), say=lambda _: None)


def test_translations_of_a_trainer_that_was_stopped_do_not_count(
    task: QualityTask, monkeypatch: pytest.MonkeyPatch
) -> None:
    stale = {"step": 10, "seconds": 60.0, "translations": REFERENCES}
    (task.work / "hf.translations").write_text(json.dumps(stale) + "\n", encoding="utf-8")
    monkeypatch.setattr(quality, "their_command", lambda *_: [sys.executable, "-c", ""])

    with pytest.raises(TrainingError, match="hf: ended without a validation"):
        race(["hf"], task, say=lambda _: None)


def test_a_trainer_that_fails_late_has_not_finished(
    task: QualityTask, monkeypatch: pytest.MonkeyPatch
) -> None:
    trains(monkeypatch, [1.0, 2.0], code=1)

    with pytest.raises(TrainingError, match="dragoman: ended with exit code 1"):
        race(["dragoman"], task, say=lambda _: None)
    assert not (task.work / "dragoman.json").exists()


def test_a_trainer_that_fails_is_named(task: QualityTask, monkeypatch: pytest.MonkeyPatch) -> None:
    trains(monkeypatch, [], code=1)

    with pytest.raises(TrainingError, match="dragoman: ended without a validation") as caught:
        race(["dragoman"], task, say=lambda _: None)
    assert "dragoman.log" in str(caught.value.hint)


@pytest.mark.thorough
def test_all_get_the_same_text_seed_and_threads(task: QualityTask) -> None:
    ours, theirs = (
        quality.our_command(task.work / "a", task),
        quality.their_command("hf", task.work / "b", task),
    )

    assert ours[ours.index("--nproc-per-node") + 1] == "2"
    assert ours[-1] == "training.validation_search=greedy"
    assert theirs[theirs.index("--threads") + 1] == "2"
    assert theirs[2:4] == [str(path) for path in task.train]
    assert theirs[theirs.index("--valid") + 1] == str(task.valid[0])
    assert theirs[theirs.index("--seed") + 1] == str(task.recipe.seed)


def test_their_vocabulary_has_the_ids_of_both_of_ours() -> None:
    options = [
        "tokenizer.shared=false",
        "tokenizer.vocab_size=8000",
        "tokenizer.source_vocab_size=5000",
        "model.tie=decoder",
    ]
    assert marian_shape(resolve(preset="tiny", overrides=options))["vocab_size"] == 13_000
    assert marian_shape(resolve(preset="tiny", overrides=["tokenizer.vocab_size=9000"]))["vocab_size"] == 9000


def test_text_is_written_without_empty_lines(tmp_path: Path) -> None:
    (tmp_path / "train.en.gz").write_bytes(gzip.compress(b"A dog.\n\nA  cat\xe2\x80\xa8here.\n"))
    (tmp_path / "train.de").write_text("Ein Hund.\nEine Kuh.\nEine Katze hier.\n", encoding="utf-8")
    recipe = resolve(
        preset="tiny",
        overrides=['data.train=["train.en.gz", "train.de"]', 'data.valid=["train.en.gz", "train.de"]'],
    )

    train, valid_ = write_texts(recipe, tmp_path, tmp_path / "text")

    assert [path.name for path in (*train, *valid_)] == ["train.en", "train.de", "valid.en", "valid.de"]
    assert train[0].read_text(encoding="utf-8") == "A dog.\nA cat here.\n"
    assert valid_[1].read_text(encoding="utf-8") == "Ein Hund.\nEine Katze hier.\n"


def test_text_without_a_pair(tmp_path: Path) -> None:
    for name in ("train.en", "train.de"):
        (tmp_path / name).write_text("\n\n", encoding="utf-8")
    both = '["train.en", "train.de"]'
    recipe = resolve(preset="tiny", overrides=[f"data.train={both}", f"data.valid={both}"])

    with pytest.raises(DataError, match=r"train.en.*: no pair has text on both sides"):
        write_texts(recipe, tmp_path, tmp_path / "text")


@pytest.mark.parametrize(
    ("names", "message"), [(["sockeye"], "unknown contender sockeye"), (["hf"], "hf is not installed")]
)
def test_contenders_that_cannot_be_measured(
    names: list[str], message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(quality, "python_of", lambda _: Path("nowhere"))
    with pytest.raises(ConfigError, match=message):
        choose(names)
    assert choose([]) == ["dragoman"]


def test_the_table_says_who_reached_it_and_when(task: QualityTask) -> None:
    def curve(*bleu: float) -> LearningCurve:
        return LearningCurve(
            points=tuple(
                Point(updates=100 * number, minutes=10.0 * number, bleu=one)
                for number, one in enumerate(bleu, 1)
            ),
            others=0.0,
        )

    lines = to_text({"dragoman": curve(20.0, 30.5), "hf": curve(9.0, 8.0, 7.0)}, task).splitlines()

    assert lines[2].split() == ["dragoman", "20.0", "200", "30.50", "1.0"]
    assert lines[3].split() == ["hf", ">", "30.0", ">", "300", "9.00", ">", "1.5"]


@pytest.mark.parametrize(
    "goal", ["--bleu nan", "--bleu 0", "--bleu 40 --minutes nan", "--bleu 40 --minutes -1"]
)
def test_a_goal_that_no_run_reaches(goal, script_, tmp_path):
    words = ["--recipe", tmp_path / "r.toml", "-o", tmp_path / "x", *goal.split()]

    ended = script_(*words)

    assert ended.code == 2
    assert f"error: {' '.join(goal.split()[-2:])}" in ended.err
    assert not (tmp_path / "x").exists()
