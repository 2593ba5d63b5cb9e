"""The lines of several files, and the share of the bytes that have been translated."""

from __future__ import annotations

import gzip
import os
from pathlib import Path

import pytest

from dragoman.base.errors import DataError
from dragoman.cli.input import Input

MODEL = Path(__file__).parents[1] / "saved/0.1/transformer"


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


@pytest.mark.parametrize("how", ["same", "link", "hard link"])
@pytest.mark.parametrize(
    "words",
    [
        ("translate", MODEL, "{folder}/in.en", "--prefix-file", "{folder}/in.de", "-o", "{output}"),
        ("translate", MODEL, "{folder}/in.de", "-o", "{output}"),
        ("translate", MODEL, "{folder}/in.en", "--terms", "{folder}/in.de", "-o", "{output}"),
        ("evaluate", MODEL, "{folder}/in.en", "{folder}/in.de", "-o", "{output}"),
        ("evaluate", MODEL, "{folder}/in.de", "{folder}/in.x", "-o", "{output}"),
        (
            "evaluate",
            MODEL,
            "{folder}/in.en",
            "{folder}/in.x",
            "--against",
            "{folder}/in.de",
            "-o",
            "{output}",
        ),
        ("align", MODEL, "{folder}/in.en", "{folder}/in.de", "-o", "{output}"),
    ],
    ids=lambda words: " ".join(str(word).rpartition("/")[2] for word in words),
)
def test_no_command_writes_over_what_it_reads(
    dragoman_, tmp_path: Path, how: str, words: tuple[str, ...]
) -> None:
    for name in ("in.en", "in.de", "in.x"):
        (tmp_path / name).write_text(f"A dog {name}.\n", encoding="utf-8")
    output = tmp_path / ("in.de" if how == "same" else "out")
    if how == "link":
        output.symlink_to("in.de")
    elif how == "hard link":
        output.hardlink_to(tmp_path / "in.de")
    ended = dragoman_(*(str(word).format(folder=tmp_path, output=output) for word in words))

    assert ended.code == 2
    assert ended.err.startswith(f"error: {output}: input and output are the same file")
    assert (tmp_path / "in.de").read_text(encoding="utf-8") == "A dog in.de.\n"


def test_training_on_one_language_is_refused(dragoman_, tmp_path: Path) -> None:
    for name in ("a.en", "b.en", "valid.en", "valid.de", "a.de"):
        (tmp_path / name).write_text(f"A dog {name}.\n", encoding="utf-8")
    output, option = tmp_path / "model", "training.max_updates=1"
    same = dragoman_("train", tmp_path / "a.en", tmp_path / "b.en", "-o", output, option)
    assert same.code == 2
    assert "both sides are in en by their names" in same.err

    words = ("train", tmp_path / "a.en", tmp_path / "a.de", "-o", output, option, "--valid")
    swapped = dragoman_(*words, tmp_path / "valid.de", tmp_path / "valid.en")
    assert swapped.code == 3
    assert "hint: swap the two sides" in swapped.err
    assert not output.exists()


def test_a_test_text_in_the_other_direction_is_refused(dragoman_, tmp_path: Path) -> None:
    for name in ("test.en", "test.de"):
        (tmp_path / name).write_text("A dog.\n", encoding="utf-8")
    ended = dragoman_("evaluate", MODEL, tmp_path / "test.de", tmp_path / "test.en")

    assert ended.code == 3
    assert "hint: swap the two sides" in ended.err


def test_the_unfinished_part_of_an_output_is_no_input(dragoman_, tmp_path: Path) -> None:
    (tmp_path / "out.unfinished").write_text("A dog.\n")
    ended = dragoman_("translate", MODEL, tmp_path / "out.unfinished", "-o", tmp_path / "out")
    assert (ended.code, "out.unfinished: input and output are the same file" in ended.err) == (2, True)
    assert (tmp_path / "out.unfinished").read_text() == "A dog.\n"
    assert "an output named -" in dragoman_("translate", MODEL, tmp_path / "out.unfinished", "-o", "-").err
