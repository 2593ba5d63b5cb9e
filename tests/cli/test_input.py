"""The lines of several files, and the share of the bytes that have been translated."""

from __future__ import annotations

import gzip
import os
from pathlib import Path

import pytest

from dragoman.base.errors import DataError
from dragoman.cli.input import Input
from dragoman.cli.rate import Rate


def test_lines_and_their_ends(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"one\r\ntwo")
    (tmp_path / "b").write_bytes(b"\nthree")

    lines = Input([str(tmp_path / "a"), str(tmp_path / "b")])

    assert list(lines) == ["one", "two", "", "three"]
    assert list(lines.ends) == ["\r\n", "\n", "\n", ""]
    assert not lines.live


@pytest.mark.parametrize("packed", [False, True])
def test_the_share_is_of_the_bytes_of_all_files(packed: bool, tmp_path: Path) -> None:
    text = "".join(f"{number * 7919 % 100_003}\n" for number in range(20_000)).encode()
    for name in "ab":
        (tmp_path / name).write_bytes(gzip.compress(text) if packed else text)

    lines = Input([str(tmp_path / "a"), str(tmp_path / "b")])
    shares = []
    for number, _ in enumerate(lines, 1):
        if number % 4000 == 0:
            shares.append(lines.share(number))

    exact = [number / 40_000 for number in range(4000, 40_001, 4000)]
    assert shares == pytest.approx(exact, abs=0.1 if packed else 0.01)  # gzip is read in large blocks


def test_a_share_waits_for_the_line_not_for_the_reader(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("x\n" * 1000)
    lines = Input([str(tmp_path / "a")])

    assert len(list(lines)) == 1000
    assert lines.share(1) == 0
    assert lines.share(500) == pytest.approx(0.5, abs=0.05)


def test_a_pipe_is_live_and_has_no_share(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "a").write_text("x\n")

    assert Input([str(tmp_path / "pipe")]).live
    assert Input([str(tmp_path / "a"), str(tmp_path / "pipe")]).share(1) is None


def test_an_empty_file_has_no_share(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("")

    assert Input([str(tmp_path / "a")]).share(0) is None


def test_a_missing_file_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="nowhere: no such file"):
        list(Input([str(tmp_path / "nowhere")]))


def test_rate_and_time_left() -> None:
    now = 100.0
    rate = Rate(lambda: now)

    assert not rate.due()
    now += 60
    assert rate.due()
    assert not rate.due()
    assert rate.text(1200, 0.25) == "1,200 lines, 20.0 lines/s, 25%, 3:00 left"
    assert rate.text(1200, None) == "1,200 lines, 20.0 lines/s"
