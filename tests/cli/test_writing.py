"""`translate -o FILE` goes on after a stop, and a folder of documents skips what is finished."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import asdict
from pathlib import Path

import pytest

from dragoman.base.errors import ConfigError, DataError
from dragoman.cli.writing import Unfinished, Written, can_resume, made_of
from dragoman.text import toy
from dragoman.translation.memory.store import TranslationMemory

SAVED = Path(__file__).parents[1] / "saved/0.1/transformer"
LINES = [source for source, _ in toy.pairs(seed=3, count=40)]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "in").write_text("".join(f"{line}\n" for line in LINES), encoding="utf-8")
    return tmp_path


@pytest.mark.parametrize(
    "options",
    [
        (),
        ("--n-best", "3"),
        ("--jsonl", "--beam", "2"),
        ("--scores", "--sample", "--seed", "3"),
        ("--max-extra", "0", "--min-length", "9"),
    ],
    ids=" ".join,
)
def test_a_stopped_translation_goes_on(dragoman_, folder, stopping, options):
    words = ("translate", SAVED, folder / "in", *options, "-o")
    whole = dragoman_(*words, folder / "whole")

    for lines in (7, 0, 15):
        stopping(lines)
        assert dragoman_(*words, folder / "out").code == 130
        assert not (folder / "out").exists()
    stopping(None)
    ended = dragoman_(*words, folder / "out")

    assert ended.code == 0
    assert (
        f"{folder / 'out'}: resuming after line 22\n{whole.err}" == ended.err
    )  # warnings name the same lines
    assert (folder / "out").read_bytes() == (folder / "whole").read_bytes()
    assert sorted(path.name for path in folder.iterdir()) == ["in", "out", "whole"]


def test_prefixes_go_on_with_their_lines(dragoman_, folder, stopping):
    (folder / "prefixes").write_text("".join(f"{number} \n" for number in range(40)))
    words = ("translate", SAVED, folder / "in", "--prefix-file", folder / "prefixes", "-o")
    dragoman_(*words, folder / "whole")
    stopping(11)
    dragoman_(*words, folder / "out")
    stopping(None)

    assert dragoman_(*words, folder / "out").code == 0

    assert (folder / "out").read_bytes() == (folder / "whole").read_bytes()


def test_several_files_go_on(dragoman_, folder, stopping):
    (folder / "more").write_text("The dog sleeps.")  # without a line end, and then at the end of all
    words = ("translate", SAVED, folder / "more", folder / "in", folder / "more", "-o")
    dragoman_(*words, folder / "whole")
    stopping(1)
    dragoman_(*words, folder / "out")
    stopping(None)

    assert dragoman_(*words, folder / "out").code == 0

    assert (folder / "out").read_bytes() == (folder / "whole").read_bytes()


def test_a_memory_that_counts_what_is_used_is_the_same(dragoman_, folder, stopping):
    with TranslationMemory.create(folder / "m.tm", source_language="en", target_language="de") as memory:
        memory.add(LINES[0], "Eins.")
    words = ("translate", SAVED, folder / "in", "--memory", folder / "m.tm", "-o", folder / "out")
    stopping(5)
    assert dragoman_(*words).code == 130
    stopping(None)

    assert dragoman_(*words).code == 0

    assert (folder / "out").read_text().startswith("Eins.\n")


def test_another_command_is_refused(dragoman_, folder, stopping):
    stopping(5)
    dragoman_("translate", SAVED, folder / "in", "-o", folder / "out")
    stopping(None)
    (folder / "other").write_text("The dog sleeps.\n")
    left = {path.name: path.read_bytes() for path in folder.iterdir()}

    for words, named in (
        ([SAVED, folder / "in", "--beam", "2"], "--beam"),
        ([SAVED, folder / "other"], "text"),
        ([SAVED.with_name("recurrent"), folder / "in"], "model"),
    ):
        ended = dragoman_("translate", *words, "-o", folder / "out")
        assert ended.code == 2
        assert f"out.unfinished: was begun with another {named}\n" in ended.err
        assert "or delete the file" in ended.err
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == left

    (folder / "out.unfinished").unlink()
    assert dragoman_("translate", SAVED, folder / "other", "-o", folder / "out").code == 0
    assert sorted(path.name for path in folder.iterdir()) == ["in", "other", "out"]


@pytest.mark.thorough
def test_a_killed_process_goes_on(folder):
    lines = "".join(f"{number} {LINES[number % 40]}\n" for number in range(6_000))
    (folder / "in").write_text(lines, encoding="utf-8")
    command = [sys.executable, "-m", "dragoman", "translate", SAVED, folder / "in", "--max-extra", "3", "-q",
               "--beam", "1", "-o"]  # fmt: skip
    process = subprocess.Popen([*command, folder / "out"])
    deadline = time.monotonic() + 60
    while not (folder / "out.unfinished.json").exists() and time.monotonic() < deadline:
        time.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    assert process.wait(timeout=60) == -signal.SIGKILL
    done = json.loads((folder / "out.unfinished.json").read_text())["written"]["lines"]
    assert 0 < done < 6_000

    resumed = subprocess.run(
        [word for word in command if word != "-q"] + [folder / "out"], capture_output=True, text=True
    )
    subprocess.run([*command, folder / "whole"], check=True)

    assert resumed.returncode == 0
    assert f"resuming after line {done:,}" in resumed.stderr
    assert (folder / "out").read_bytes() == (folder / "whole").read_bytes()


# ---- the files beside the output ---------------------------------------------------------------------


def test_only_what_is_noted_counts(folder, monkeypatch):
    monkeypatch.setattr(Unfinished, "SECONDS", -1.0)
    with pytest.raises(KeyboardInterrupt), Unfinished(folder / "out", {"model": "x"}) as one:
        one.add(1, "line 1\n")
        monkeypatch.setattr(Unfinished, "due", False)
        one.add(2, "line 2\n", counts={"truncated": 1})
        raise KeyboardInterrupt
    with (folder / "out.unfinished").open("a") as file:
        file.write("half a li")  # after the last note

    with Unfinished(folder / "out", {"model": "x"}) as one:
        assert (one.written.lines, one.written.counts) == (2, {"truncated": 1})
        assert one.written.first == {"truncated": [2]}
        one.add(3, "line 3\n")

    assert (folder / "out").read_text() == "line 1\nline 2\nline 3\n"


def test_a_line_that_is_written_but_not_counted_does_not_come_twice(folder, monkeypatch):
    monkeypatch.setattr(Unfinished, "SECONDS", -1.0)
    with pytest.raises(KeyboardInterrupt), Unfinished(folder / "out", {}) as one:
        one.add(1, "line 1\n", counts={"pairs": 1})
        whole = one.append

        def interrupted(name: str, content: bytes) -> None:
            whole(name, content)
            raise KeyboardInterrupt

        monkeypatch.setattr(one, "append", interrupted)
        one.add(2, "line 2\n", counts={"pairs": 1})

    with Unfinished(folder / "out", {}) as one:
        assert (one.written.lines, one.written.counts) == (1, {"pairs": 1})
        one.add(2, "line 2\n")

    assert (folder / "out").read_text() == "line 1\nline 2\n"


@pytest.mark.parametrize("place", [0, 5, -1])
def test_a_changed_byte_of_what_is_written_is_not_in_the_output(dragoman_, folder, stopping, caplog, place):
    words = ("translate", SAVED, folder / "in", "-o")
    whole = dragoman_(*words, folder / "whole")
    stopping(12)
    assert dragoman_(*words, folder / "out").code == 130
    data = bytearray((folder / "out.unfinished").read_bytes())
    data[place] ^= 1
    (folder / "out.unfinished").write_bytes(data)
    stopping(None)

    ended = dragoman_(*words, folder / "out")

    assert (folder / "out").read_bytes() == (folder / "whole").read_bytes()
    assert "out.unfinished: changed since it was written; it is made anew" in caplog.text
    assert (ended.code, "resuming" in ended.err, whole.code) == (0, False, 0)


@pytest.mark.parametrize(
    "note", ["", "{}", "[]", '{"about": {}, "bytes": 1e9, "written": {"lines": 4}}', "\0" * 9]
)
def test_a_note_that_cannot_be_used_begins_anew(folder, note):
    (folder / "out.unfinished").write_text("what\n")
    (folder / "out.unfinished.json").write_text(note)

    with Unfinished(folder / "out", {}) as one:
        assert one.written.lines == 0
        one.add(1, "anew\n")

    assert (folder / "out").read_text() == "anew\n"


@pytest.mark.parametrize("call", range(8))
def test_a_stop_while_the_output_is_put_in_its_place_loses_nothing(folder, monkeypatch, call):
    """A stop at each call that changes what is on the disk."""
    output, about, left = folder / "o.de", {"text": "1"}, [call]
    output.write_text("before\n")

    def counted(wrapped):
        def function(*words):
            left[0] -= 1
            if left[0] == -1:
                raise KeyboardInterrupt
            return wrapped(*words)

        return function

    with contextlib.suppress(KeyboardInterrupt), Unfinished(output, about) as unfinished:
        for number in (1, 2):
            unfinished.add(number, f"{number}\n")
        unfinished.save(written=asdict(unfinished.written))
        for name in ("fsync", "replace", "unlink"):
            monkeypatch.setattr(os, name, counted(getattr(os, name)))
    monkeypatch.undo()

    if output.read_text() == "before\n":
        with Unfinished(output, about) as unfinished:
            assert unfinished.written.lines == 2
    assert output.read_text() == "1\n2\n"


def test_a_note_without_its_text_does_not_count_the_text_of_others(folder):
    output = folder / "o.de"
    note = {"about": {"text": "1"}, "bytes": 5, "written": asdict(Written(lines=5))}
    (folder / "o.de.unfinished.json").write_text(json.dumps(note))
    with pytest.raises(KeyboardInterrupt), Unfinished(output, {"text": "2"}):
        assert not (folder / "o.de.unfinished.json").exists()
        raise KeyboardInterrupt


def test_two_commands_do_not_write_one_file(folder):
    pytest.importorskip("fcntl")
    with Unfinished(folder / "out", {}) as one:
        one.add(1, "one\n")
        with pytest.raises(ConfigError, match="another command is writing"):
            Unfinished(folder / "out", {}).__enter__()

    assert (folder / "out").read_text() == "one\n"


@pytest.mark.parametrize("error", [DataError("in:2: not valid UTF-8"), ConfigError("no shortlist")])
def test_bad_input_leaves_nothing(folder, error):
    with pytest.raises(type(error)), Unfinished(folder / "out", {}) as one:
        one.add(1, "one\n")
        raise error

    assert [path.name for path in folder.iterdir()] == ["in"]


@pytest.mark.parametrize(
    ("error", "left"), [(DataError("in:2: not valid UTF-8"), []), (ConfigError("needs PyTorch"), ["one"])]
)
def test_bad_options_leave_what_an_earlier_command_wrote(folder, error, left):
    with pytest.raises(KeyboardInterrupt), Unfinished(folder / "out", {}) as one:
        one.add(1, "one\n")
        raise KeyboardInterrupt

    with pytest.raises(type(error)), Unfinished(folder / "out", {}):
        raise error

    assert [path.read_text().strip() for path in folder.glob("*.unfinished")] == left


def test_what_can_go_on(folder):
    assert can_resume(folder / "out", [str(folder / "in")])
    assert not can_resume(Path(os.devnull), [str(folder / "in")])
    assert not can_resume(folder / "out", ["-"])
    assert not can_resume(folder / ("x" * 250), [str(folder / "in")])


def test_what_a_translation_is_made_of(folder):
    def made(**changes: object) -> dict[str, str]:
        usual = {
            "text": [str(folder / "in")],
            "models": [str(SAVED)],
            "files": {"terms": None},
            "options": {"beam": 3},
        }
        return made_of(**{**usual, **changes})

    assert made() == made()
    assert made(models=["name/on-a-hub"])["model"] == "name/on-a-hub"
    assert made(models=[str(SAVED), "name/on-a-hub"])["model 2"] == "name/on-a-hub"
    assert made(files={"terms": folder / "in"})["--terms"] == made()["text"]
    before = made()["text"]
    (folder / "in").write_text("changed\n")
    assert made()["text"] != before
