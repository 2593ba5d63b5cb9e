"""Runs that are watched: a page that takes in the news knows what a page that asks anew gets."""

from __future__ import annotations

import json
import os
import shutil
import time
from pathlib import Path
from typing import Any

import pytest
from tests.serving.studio.lines import RECIPE, samples, start, train, valid

from dragoman.base.errors import DataError
from dragoman.serving.studio.watch import Watch, Watched, labels_of


class Page:
    """What a page does with the news (`serving/web/studio/store.js`)."""

    def __init__(self) -> None:
        self.seen: tuple[int, int] | None = None
        self.curves: dict[str, list[Any]] = {}
        self.events: list[Any] = []
        self.samples: list[Any] = []
        self.wholes = 0

    def take(self, run: Watched) -> None:
        news = run.news(self.seen)
        json.dumps(news, allow_nan=False)
        self.seen, self.summary = news["seen"], news["summary"]
        if "whole" in news:
            self.wholes += 1
            whole = news["whole"]
            self.curves = {name: list(points) for name, points in whole["curves"].items()}
            self.events, self.samples = list(whole["event"]), list(whole["samples"])
            self.recipe = whole["recipe"]
            return
        for name, points in news["points"].items():
            self.curves.setdefault(name, []).extend(points)
        self.events += news["event"]
        steps = {entry["step"] for entry in news["samples"]}
        self.samples = [one for one in self.samples if one["step"] not in steps] + news["samples"]


def check(page: Page, run: Watched) -> None:
    fresh = Page()
    fresh.take(run)
    assert (page.curves, page.events, page.samples) == (fresh.curves, fresh.events, fresh.samples)


def watched(path: Path) -> tuple[Watched, Page]:
    run, page = Watched(path, "run"), Page()
    run.look()
    page.take(run)
    return run, page


TEXT = start() + train(10) + valid(20) + samples(20, "Eine Katze.") + train(30) + "{broken\n" + train(40)


@pytest.mark.parametrize("size", [1, 50, 333, 5000])
def test_news_add_up_to_everything(size: int, tmp_path: Path) -> None:
    (tmp_path / "metrics.jsonl").touch()
    run, page = watched(tmp_path)
    data = TEXT.encode()
    for at in range(0, len(data), size):
        with (tmp_path / "metrics.jsonl").open("ab") as file:
            file.write(data[at : at + size])
        if run.look():
            page.take(run)

    check(page, run)
    assert page.wholes == 1
    assert [step for step, _, _ in page.curves["train/nll"]] == [10, 30, 40]
    assert page.summary["notes"] == ["1 line is broken and left out."]


def test_a_resumed_run_writes_its_file_anew(tmp_path: Path) -> None:
    path = tmp_path / "metrics.jsonl"
    path.write_text(TEXT)
    run, page = watched(tmp_path)
    path.write_text(start() + train(10) + start(10, time=1.8e9) + train(20, nll=1.0))
    os.utime(path, (time.time() + 2, time.time() + 2))

    assert run.look()
    page.take(run)
    check(page, run)
    assert [value for _, _, value in page.curves["train/nll"]] == [3.0, 1.0]
    assert [event["kind"] for event in page.events] == ["replaced", "start", "resume"]


def test_a_file_that_is_not_there_yet_comes_goes_and_comes_back(tmp_path: Path) -> None:
    run, page = watched(tmp_path)
    assert page.summary["state"] == "missing"
    assert page.summary["notes"] == ["No metrics.jsonl yet."]
    path = tmp_path / "metrics.jsonl"
    path.write_text(TEXT)
    assert run.look()
    page.take(run)
    assert page.summary["state"] == "running"

    path.unlink()
    assert run.look()
    page.take(run)
    assert page.summary["state"] == "missing"
    assert page.summary["notes"][0] == "The file is missing. These are its last lines."
    assert page.curves["train/nll"]
    assert not run.look()  # once is enough

    path.write_text(TEXT + train(50))
    assert run.look()
    page.take(run)
    check(page, run)
    assert [step for step, _, _ in page.curves["train/nll"]] == [10, 30, 40, 50]


def test_a_folder_that_is_removed_as_a_whole(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    folder.mkdir()
    (folder / "metrics.jsonl").write_text(TEXT)
    (folder / "training.toml").write_text(RECIPE.format(width=64))
    run, page = watched(folder)
    shutil.rmtree(folder)

    assert run.look()
    page.take(run)
    assert page.summary["state"] == "missing"
    assert run.news(None)["whole"]["recipe"]["model.d_model"] == "64"  # remembered


def test_a_long_file_is_read_at_once_and_thinned(tmp_path: Path) -> None:
    path = tmp_path / "metrics.jsonl"
    path.write_text("".join(train(step, nll=100.0 if step == 5001 else 2.0) for step in range(12_000)))
    run, page = watched(tmp_path)

    points = page.curves["train/nll"]
    assert len(points) <= 600
    assert max(value for _, _, value in points) == 100.0
    near = run.points(600, "step", 4990, 5010)["train/nll"]
    assert [step for step, _, _ in near] == [*range(4989, 5012)]
    near = run.points(600, "seconds", 9980, 9984)["train/nll"]
    assert [step for step, _, _ in near] == [4989, 4990, 4991, 4992, 4993]


def test_the_recipe_gives_the_limit_that_old_lines_do_not_have(tmp_path: Path) -> None:
    (tmp_path / "metrics.jsonl").write_text(train(10))
    run, page = watched(tmp_path)
    assert page.summary["max_updates"] is None
    assert page.recipe == {}
    (tmp_path / "training.toml").write_text(RECIPE.format(width=64))

    assert run.look()
    page.take(run)
    assert page.summary["max_updates"] == 1000
    assert page.recipe == {
        "seed": "1", "model.d_model": "64", "model.heads": "4", "training.max_updates": "1000"
    }  # fmt: skip


@pytest.mark.parametrize("text", ["seed = ", "\xff", "[training]\nmax_updates = 'x'", "training = 3", "[[[["])
def test_a_damaged_recipe_is_no_error(text: str, tmp_path: Path) -> None:
    (tmp_path / "metrics.jsonl").write_text(train(10))
    (tmp_path / "training.toml").write_text(text, encoding="latin-1")
    _, page = watched(tmp_path)

    assert page.summary["max_updates"] is None


def test_a_metrics_file_alone_has_no_recipe(tmp_path: Path) -> None:
    (tmp_path / "training.toml").write_text(RECIPE.format(width=64))
    (tmp_path / "copy.jsonl").write_text(train(10))
    run, page = watched(tmp_path / "copy.jsonl")

    assert page.recipe == {}
    assert run.folder is None
    (tmp_path / "metrics.jsonl").write_text(train(10))
    assert watched(tmp_path / "metrics.jsonl")[1].recipe["model.d_model"] == "64"


def test_a_run_without_news_is_quiet(tmp_path: Path) -> None:
    path = tmp_path / "metrics.jsonl"
    path.write_text(train(10) + '{"kind": "tr')
    os.utime(path, (time.time() - 900, time.time() - 900))
    _, page = watched(tmp_path)

    assert page.summary["state"] == "quiet"
    assert page.summary["notes"] == ["The last line is half-written."]
    assert page.summary["age"] == pytest.approx(900, abs=60)


def test_what_cannot_be_read_is_said(tmp_path: Path) -> None:
    (tmp_path / "metrics.jsonl").mkdir()
    _, page = watched(tmp_path)

    assert page.summary["state"] == "unreadable"
    assert "directory" in page.summary["notes"][0]


def test_labels_tell_runs_apart() -> None:
    assert labels_of([Path("/a/x"), Path("/a/y/metrics.jsonl")]) == ["x", "y"]
    assert labels_of([Path("/a/x"), Path("/b/x")]) == ["a/x", "b/x"]
    assert labels_of([Path("/a/x"), Path("/a/x")]) == ["x", "x (2)"]


def test_a_path_where_nothing_is(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="nowhere: not found"):
        Watch([tmp_path / "nowhere"])
