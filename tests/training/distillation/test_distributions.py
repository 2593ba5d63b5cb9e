"""Lessons on disk: written in parts, opened as they were."""

from __future__ import annotations

import errno
import json
import os
from pathlib import Path

import numpy as np
import pytest

from dragoman.base.errors import DataError, DragomanError
from dragoman.training.data.ragged import Ragged, writing
from dragoman.training.distillation.distributions import Lessons, LessonsInProgress, entry_of

LENGTHS = [3, 0, 5, 1, 1, 7, 2]
WIDTH = 2
ENTRY = entry_of(100)


@pytest.fixture
def target(tmp_path: Path) -> Ragged:
    with writing(tmp_path / "target", "uint16") as add:
        for length in LENGTHS:
            add([5] * length)
    return Ragged(tmp_path / "target", "uint16")


def started(folder: Path, target: Ragged, made_with: str = "x") -> LessonsInProgress:
    return LessonsInProgress(folder, target, ENTRY, width=WIDTH, made_with=made_with)


def put(lessons: LessonsInProgress, row: int) -> None:
    """Lessons that say which row and which target they are of."""
    places = np.arange((LENGTHS[row] + 1) * WIDTH).reshape(-1, WIDTH)
    lessons.put(row, 10 * row + places, places / 64)


def write(lessons: LessonsInProgress, most: int = 100) -> list[range]:
    """Write the parts, at most so many."""
    parts = []
    for part in lessons.parts():
        if len(parts) == most:
            break
        parts.append(part)
        for row in part:
            put(lessons, row)
    return parts


def check(folder: Path, target: Ragged) -> None:
    opened = Lessons(folder, target, ENTRY, width=WIDTH, share=0.5)
    assert opened.share == 0.5
    for row, length in enumerate(LENGTHS):
        places = np.arange((length + 1) * WIDTH).reshape(-1, WIDTH)
        np.testing.assert_array_equal(opened[row]["id"], 10 * row + places)
        np.testing.assert_allclose(opened[row]["p"], places / 64)


def test_each_token_and_each_end_has_its_lessons(
    tmp_path: Path, target: Ragged, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(LessonsInProgress, "TOKENS", 8)
    lessons = started(tmp_path / "x", target)
    assert (lessons.positions, lessons.bytes) == (26, 26 * WIDTH * 4)
    assert (lessons.done, lessons.complete) == (0, False)

    parts = write(lessons)

    assert parts == [range(2), range(2, 4), range(4, 5), range(5, 6), range(6, 7)]
    assert lessons.complete
    assert started(tmp_path / "x", target).complete
    check(tmp_path / "x", target)


def test_a_killed_one_goes_on_at_the_next_part(
    tmp_path: Path, target: Ragged, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(LessonsInProgress, "TOKENS", 8)
    write(started(tmp_path / "x", target), most=2)

    again = started(tmp_path / "x", target)

    assert (again.done, again.complete) == (4, False)
    assert write(again) == [range(4, 5), range(5, 6), range(6, 7)]
    check(tmp_path / "x", target)


@pytest.mark.parametrize("what", ["other", "size", "damage", "record", "negative"])
def test_what_is_not_whole_begins_anew(tmp_path: Path, target: Ragged, what: str) -> None:
    folder = tmp_path / "x"
    write(started(folder, target))
    data, record = folder / "lessons", folder / "lessons.json"
    match what:
        case "size":
            data.write_bytes(data.read_bytes() + b"1")
        case "damage":
            data.write_bytes(b"1" + data.read_bytes()[1:])
        case "record":
            record.write_text("{")
        case "negative":
            record.write_text(json.dumps(json.loads(record.read_text()) | {"rows": -1}))

    again = started(folder, target, "y" if what == "other" else "x")

    assert (again.done, again.complete) == (0, False)
    assert write(again) == [range(7)]
    check(folder, target)


def test_missing_lessons_are_an_error(tmp_path: Path, target: Ragged) -> None:
    with pytest.raises(DataError, match="distributions are missing or damaged"):
        Lessons(tmp_path, target, ENTRY, width=WIDTH, share=0.5)
    write(started(tmp_path / "x", target))
    with pytest.raises(DataError, match="distributions are missing or damaged"):
        Lessons(tmp_path / "x", target, ENTRY, width=3, share=0.5)


def test_large_vocabularies_need_wider_numbers() -> None:
    assert (entry_of(65_536).itemsize, entry_of(65_537).itemsize) == (4, 6)


def test_what_a_kill_left_unnamed_is_deleted(tmp_path: Path, target: Ragged) -> None:
    (tmp_path / "x").mkdir()
    left = tmp_path / "x/.lessons.json.2ec74d03.part"  # as `write_whole` names it
    left.write_text("{")

    write(started(tmp_path / "x", target))

    assert not left.exists()


def test_the_room_on_the_disk_is_taken_at_once(
    tmp_path: Path, target: Ragged, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Otherwise a disk that fills up meanwhile kills the process, without a message."""

    def full(file: int, start: int, size: int) -> None:
        assert (start, size) == (0, 26 * WIDTH * 4)
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "posix_fallocate", full, raising=False)

    with pytest.raises(DragomanError, match="No space left on device"):
        write(started(tmp_path / "x", target))
    assert not started(tmp_path / "x", target).complete
