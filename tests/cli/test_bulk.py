"""`dragoman bulk`: the same bytes as line by line, options, and what went wrong."""

from __future__ import annotations

import gzip
import json
from importlib import util
from pathlib import Path

import pytest

from dragoman.text import toy
from dragoman.translation.translator import Translator

SAVED = Path(__file__).parents[1] / "saved/0.1/transformer"
FAST = ("--beam", "1", "--part-lines", "7")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    lines = [f"{source}\n" for source, _ in toy.pairs(seed=3, count=20)]
    lines[4:6] = ["\n", "  \r\n"]
    (tmp_path / "in/sub").mkdir(parents=True)
    (tmp_path / "in/a.txt").write_text("".join(lines), newline="")
    (tmp_path / "in/sub/b.en").write_text("".join(lines[:9]).rstrip("\n"), newline="")
    return tmp_path


def plain(dragoman_, folder: Path, name: str, *words: str) -> bytes:
    assert dragoman_("translate", SAVED, folder / "in" / name, "-o", folder / "plain", *words).code == 0
    return (folder / "plain").read_bytes()


@pytest.mark.parametrize(
    "options",
    [(), ("--plain",), ("--prefix", "Ein"), ("--quality", "best", "--candidates", "2")],
    ids=" ".join,
)
def test_a_folder_is_translated_as_its_files_are(dragoman_, folder, options):
    options = (*options, *(() if "best" in options else ("--beam", "1")))
    words = ("bulk", SAVED, folder / "in", "-o", folder / "out", "--part-lines", "7")
    ended = dragoman_(*words, *options)

    assert (ended.code, ended.out) == (0, "")
    assert "29 lines in 2 files, " in ended.err
    for name in ("a.txt", "sub/b.en"):
        assert (folder / "out" / name).read_bytes() == plain(dragoman_, folder, name, *options)
    assert sorted(path.name for path in (folder / "out").iterdir()) == ["a.txt", "sub"]


def test_json_lines_keep_their_keys(dragoman_, folder):
    (folder / "x.jsonl.gz").write_bytes(
        gzip.compress(b'{"id": 1, "en": "Tom sleeps."}\n{"id": 2, "en": ""}\n')
    )
    ended = dragoman_(
        "bulk",
        SAVED,
        folder / "x.jsonl.gz",
        "-o",
        folder / "y.jsonl",
        "--column",
        "en",
        *FAST,
    )
    assert ended.code == 0, ended.err
    first, second = map(json.loads, (folder / "y.jsonl").read_text().splitlines())
    assert list(first) == ["id", "en", "translation"]
    assert first["translation"] == Translator.load(SAVED).translate(["Tom sleeps."], beam=1)[0].text
    assert second == {"id": 2, "en": "", "translation": ""}


def test_an_output_that_ends_in_a_slash_is_a_folder(dragoman_, folder):
    ended = dragoman_("bulk", SAVED, folder / "in/a.txt", "-o", f"{folder / 'new'}/", *FAST)
    assert ended.code == 0, ended.err
    assert (folder / "new/a.txt").exists()
    assert [path.name for path in (folder / "new").iterdir()] == ["a.txt"]


def test_a_bad_file_is_named_and_the_others_are_written(dragoman_, folder):
    (folder / "in/bad.txt").write_bytes(b"one\n\xff\n")
    words = ("bulk", SAVED, folder / "in", "-o", folder / "out", *FAST)
    ended = dragoman_(*words)
    assert ended.code == 3
    assert f"error: {folder / 'in/bad.txt'}:2: not valid UTF-8\n" in ended.err
    assert "error: 1 of 3 files could not be translated\n" in ended.err
    assert (folder / "out/a.txt").exists()
    assert not (folder / "out/bad.txt").exists()

    (folder / "in/bad.txt").write_bytes(b"one\ntwo\n")
    assert dragoman_(*words).code == 0
    assert (folder / "out/bad.txt").read_bytes() == plain(dragoman_, folder, "bad.txt", "--beam", "1")


def test_two_commands_do_not_write_one_folder(dragoman_, folder):
    fcntl = pytest.importorskip("fcntl")
    (folder / "out/.unfinished.parts").mkdir(parents=True)
    with (folder / "out/.unfinished.parts/.unfinished.jsonl").open("a") as file:
        fcntl.flock(file.fileno(), fcntl.LOCK_EX)
        ended = dragoman_("bulk", SAVED, folder / "in", "-o", folder / "out")
    assert ended.code == 2
    assert "another command is writing" in ended.err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--on", "mars"], "--on mars cannot be used\nhint: it must be one of: here, ray"),
        ([], "translating in bulk needs an output (-o)\nhint: name a folder or a file with -o"),
        (["-o", "out", "--address", "auto"], "--address without --on ray"),
        (["-o", "out", "--workers", "2"], "--workers without --on ray"),
        (["-o", "out", "--part-lines", "0"], "--part-lines"),
        (["-o", "out", "--jsonl"], "no such option: --jsonl"),
        (["-o", "out", "--sample"], "no such option: --sample"),
        (["-o", "out", "--beam", "0"], "--beam 0"),
    ],
)
def test_options_that_do_not_fit_are_refused(dragoman_, folder, words, message):
    ended = dragoman_("bulk", SAVED, folder / "in", *words)
    assert ended.code == 2
    assert message in ended.err
    assert not (folder / "out").exists()


def test_standard_input_is_refused(dragoman_, folder):
    ended = dragoman_("bulk", SAVED, "-o", folder / "out")
    assert ended.code == 2
    assert "does not read standard input" in ended.err


def test_without_ray_nothing_is_begun(dragoman_, folder, monkeypatch):
    monkeypatch.setattr(util, "find_spec", lambda name: None)
    ended = dragoman_("bulk", SAVED, folder / "in", "-o", folder / "out", "--on", "ray")
    assert ended.code == 2
    assert "error: Ray is not installed\nhint: pip install 'dragoman[ray]'" in ended.err
    assert not (folder / "out").exists()
