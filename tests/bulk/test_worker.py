"""One worker: a part is written whole, once, and not for ever tried."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from dragoman.base.errors import ConfigError, DataError, DragomanError
from dragoman.base.jobs import digest
from dragoman.bulk.run import parts_of
from dragoman.bulk.source import TextPart
from dragoman.bulk.worker import MOST_TRIES, PartWorker, counted_tries
from dragoman.documents.files import Task
from tests.bulk.loud import JOB, Loud, use_loud


@pytest.fixture
def loud(monkeypatch: pytest.MonkeyPatch) -> Loud:
    return use_loud(monkeypatch)


@pytest.fixture
def part(tmp_path: Path) -> TextPart:
    (tmp_path / "in").write_text("one\ntwo!\n")
    return parts_of(Task(tmp_path / "in", tmp_path / "out", None), tmp_path / "w", salt="s", column="text")[0]


def test_a_part_says_what_it_has(part, loud):
    assert PartWorker(JOB).translate(part).what == ""
    head, *rows = Path(part.place).read_text().splitlines()
    assert json.loads(head) == {"lines": 2, "truncated": 1, "first": [2], "digest": digest("ONE\nTWO!\n")}
    assert rows == ["ONE", "TWO!"]
    assert [path.name for path in Path(part.place).parent.iterdir()] == [Path(part.place).name]


def test_a_part_that_is_there_is_not_translated_again(part, loud):
    worker = PartWorker(JOB)
    worker.translate(part)
    worker.translate(part)
    assert loud.lines == ["one", "two!"]


def test_a_part_of_the_version_before_counts(part, loud):
    Path(part.place).write_text('{"lines": 2, "truncated": 0, "first": []}\nEINS\nZWEI\n')
    assert PartWorker(JOB).translate(part).what == ""
    assert loud.lines == []


def test_a_damaged_part_is_translated_again(part, loud):
    PartWorker(JOB).translate(part)
    whole = Path(part.place).read_text()
    Path(part.place).write_text(whole.replace("TWO", "TWA"))
    PartWorker(JOB).translate(part)
    assert Path(part.place).read_text() == whole


def test_a_part_that_kills_its_worker_is_given_up(part, monkeypatch):
    loud = use_loud(monkeypatch)

    def killed(*words: object, **options: object) -> None:
        raise SystemExit  # like a kill, it leaves the count

    monkeypatch.setattr(loud, "stream", killed)
    for _ in range(MOST_TRIES):
        with pytest.raises(SystemExit):
            PartWorker(JOB).translate(part)
    result = PartWorker(JOB).translate(part)
    assert isinstance(result.to_error(), DataError)
    assert result.what == f"{part.name}:1: the worker died 3 times in the lines up to 2"


def test_a_worker_that_does_not_see_the_folders_says_so(part, loud, tmp_path):
    for missing in (Path(part.place).parent, tmp_path / "in"):
        missing.rename(tmp_path / "away")
        error = PartWorker(JOB).translate(part).to_error()
        (tmp_path / "away").rename(missing)
        assert type(error) is DragomanError
        assert str(error).startswith(f"{missing}")
        assert "every machine must see the folders" in error.hint


def test_tries_are_counted_until_one_ends(tmp_path):
    for expected in (1, 2):
        with pytest.raises(KeyboardInterrupt), counted_tries(tmp_path / "x") as tries:
            assert tries == expected
            raise KeyboardInterrupt
    with counted_tries(tmp_path / "x") as tries:
        assert tries == 3
    assert list(tmp_path.iterdir()) == []


def test_another_version_or_model_on_the_worker_is_refused(part, tmp_path):
    from dataclasses import replace

    (tmp_path / "m").write_text("weights")
    old = PartWorker(replace(JOB, version="0.0.1")).translate(part).to_error()
    other = PartWorker(replace(JOB, models=(str(tmp_path / "m"),), digests=("0",))).translate(part).to_error()
    assert isinstance(old, ConfigError)
    assert "the command 0.0.1" in str(old)
    assert "a worker sees another model" in str(other)
