"""Every row of the table of nasty inputs, through the real command line."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.cli.nasty.check import check, content_of, run_inside, run_outside
from tests.cli.nasty.row import Row, write_files
from tests.cli.nasty.table import ROWS
from tests.marks import one_of

_SAVED = Path(__file__).parents[1] / "saved/0.2/transformer"
_OUTSIDE = [row for row in ROWS if row.outside or row.locked]  # limits hold for a process


@pytest.fixture(scope="session")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of a small trained model with a shortlist and a model of risk."""
    return shutil.copytree(_SAVED, tmp_path_factory.mktemp("saved") / "model")


@pytest.mark.skipif(sys.platform != "linux", reason="pipes, devices and permissions of Linux")
@pytest.mark.parametrize("row", one_of(4, (row for row in ROWS if not row.locked)), ids=lambda row: row.name)
def test_a_row(
    row: Row, tmp_path: Path, saved: Path, capsysbinary: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    write_files(row.files, tmp_path, saved)
    before = content_of(tmp_path)

    check(row, run_inside(row, saved, capsysbinary, monkeypatch), tmp_path, before)


@pytest.mark.thorough
@pytest.mark.skipif(sys.platform != "linux", reason="pipes, devices and permissions of Linux")
@pytest.mark.parametrize("row", _OUTSIDE, ids=lambda row: row.name)
def test_a_row_as_a_process(row: Row, tmp_path: Path, saved: Path) -> None:
    write_files(row.files, tmp_path, saved)
    before = content_of(tmp_path)

    check(row, run_outside(row, tmp_path, saved), tmp_path, before)


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="pipes, devices and permissions of Linux")
@pytest.mark.parametrize(
    "row", [row for row in ROWS if not (row.outside or row.locked)], ids=lambda row: row.name
)
def test_every_other_row_as_a_process(row: Row, tmp_path: Path, saved: Path) -> None:
    write_files(row.files, tmp_path, saved)
    before = content_of(tmp_path)

    check(row, run_outside(row, tmp_path, saved), tmp_path, before)


def test_the_table_is_large_and_has_no_row_twice() -> None:
    assert len(ROWS) >= 300
    assert len({row.name for row in ROWS}) == len(ROWS)
    asked = {(row.command, *row.more, str(sorted(map(str, row.files.items()))), row.stdin) for row in ROWS}
    assert len(asked) == len(ROWS)
