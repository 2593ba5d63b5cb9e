"""A file is written whole or not at all, whatever goes wrong on the way."""

import errno
import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from dragoman.base.errors import ConfigError, DragomanError
from dragoman.base.files import new_folder, replacing, write_whole

posix = pytest.mark.skipif(os.name != "posix", reason="modes, links and devices are POSIX")


def names(folder: Path) -> list[str]:
    return sorted(os.listdir(folder))


def test_text_is_written_as_utf8_with_its_line_ends_kept(tmp_path: Path) -> None:
    write_whole(tmp_path / "a.txt", "Straße\r\n你好\n")

    assert (tmp_path / "a.txt").read_bytes() == "Straße\r\n你好\n".encode()
    assert names(tmp_path) == ["a.txt"]


def test_missing_folders_are_made(tmp_path: Path) -> None:
    write_whole(str(tmp_path / "runs" / "x" / "a.bin"), b"\0")

    assert (tmp_path / "runs" / "x" / "a.bin").read_bytes() == b"\0"


def test_the_old_content_is_seen_until_the_block_is_left(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("old")

    with replacing(path) as part:
        part.write_text("new")
        assert path.read_text() == "old"
        assert part.parent == path.parent  # a rename across file systems would not be atomic

    assert path.read_text() == "new"
    assert names(tmp_path) == ["a.txt"]


@pytest.mark.parametrize("failure", [ValueError("mine"), KeyboardInterrupt(), DragomanError("mine")])
def test_a_failing_block_leaves_the_old_file_and_no_part(tmp_path: Path, failure: BaseException) -> None:
    path = tmp_path / "a.txt"
    path.write_text("old")

    with pytest.raises(type(failure)) as caught, replacing(path) as part:
        part.write_text("half")
        raise failure

    assert caught.value is failure
    assert path.read_text() == "old"
    assert names(tmp_path) == ["a.txt"]


def test_a_failing_block_makes_no_file(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="mine"), replacing(tmp_path / "a.txt"):
        raise ValueError("mine")

    assert names(tmp_path) == []


def test_text_that_is_not_unicode_never_touches_the_disk(tmp_path: Path) -> None:
    with pytest.raises(UnicodeEncodeError):
        write_whole(tmp_path / "a.txt", "\ud800")

    assert names(tmp_path) == []


def test_a_full_disk_is_explained(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("old")

    with (
        pytest.raises(DragomanError, match=r"a\.txt: cannot be written \(No space") as caught,
        replacing(path),
    ):
        raise OSError(errno.ENOSPC, "No space left on device")

    assert "disk full" in caught.value.hint
    assert path.read_text() == "old"
    assert names(tmp_path) == ["a.txt"]


def test_a_part_that_has_gone_is_explained(tmp_path: Path) -> None:
    with (
        pytest.raises(DragomanError, match=r"a\.txt: cannot be written"),
        replacing(tmp_path / "a.txt") as part,
    ):
        part.unlink()


def test_trouble_with_another_file_is_not_blamed_on_this_one(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="other"), replacing(tmp_path / "a.txt"):
        (tmp_path / "other").read_text()
    with pytest.raises(BrokenPipeError), replacing(tmp_path / "a.txt"):
        raise BrokenPipeError(errno.EPIPE, "Broken pipe")

    assert names(tmp_path) == []


def test_a_folder_in_the_way_is_refused_before_the_work(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()

    with pytest.raises(DragomanError, match="it is a folder"), replacing(tmp_path / "a"):
        pytest.fail("the block must not run")

    assert names(tmp_path) == ["a"]


def test_a_file_in_place_of_the_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("old")

    with pytest.raises(DragomanError, match="cannot be written") as caught:
        write_whole(tmp_path / "a" / "b", "new")

    assert "another path" in caught.value.hint
    assert (tmp_path / "a").read_text() == "old"


def test_a_write_protected_file_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.txt"
    path.write_text("old")
    path.chmod(0o444)
    monkeypatch.setattr(os, "access", lambda *_: False)  # nothing is write-protected from root

    with pytest.raises(DragomanError, match="write-protected"):
        write_whole(path, "new")

    assert path.read_text() == "old"


@posix
def test_the_mode_is_the_old_files_or_the_users(tmp_path: Path) -> None:
    """The user's umask counts, and is not touched: it belongs to the whole process, other threads too."""
    kept = tmp_path / "kept"
    kept.write_text("old")
    kept.chmod(0o604)
    code = (
        "import os, sys; from pathlib import Path; from dragoman.base.files import write_whole; "
        "os.umask(0o027); os.umask = None; [write_whole(Path(name), 'new') for name in sys.argv[1:]]"
    )

    subprocess.run([sys.executable, "-c", code, kept, tmp_path / "fresh"], check=True)

    assert kept.stat().st_mode & 0o777 == 0o604
    assert (tmp_path / "fresh").stat().st_mode & 0o777 == 0o640


@posix
def test_a_link_stays_a_link_and_its_file_gets_the_content(tmp_path: Path) -> None:
    (tmp_path / "far").mkdir()
    (tmp_path / "far" / "a.txt").write_text("old")
    (tmp_path / "link").symlink_to(tmp_path / "far" / "a.txt")

    write_whole(tmp_path / "link", "new")

    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "far" / "a.txt").read_text() == "new"
    assert names(tmp_path / "far") == ["a.txt"]


@posix
def test_a_pipe_is_written_to_and_not_replaced(tmp_path: Path) -> None:
    """`-o /dev/null` by root would otherwise replace the device for everyone."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    got: list[str] = []
    reader = threading.Thread(target=lambda: got.append(pipe.read_text()), daemon=True)
    reader.start()

    write_whole(pipe, "through")

    reader.join(timeout=10)
    assert got == ["through"]
    assert pipe.is_fifo()
    assert names(tmp_path) == ["pipe"]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="the device that is always full is Linux's")
def test_a_device_that_is_full_is_explained() -> None:
    with pytest.raises(DragomanError, match="/dev/full: cannot be written"):
        write_whole(Path("/dev/full"), "x" * 100_000)


def test_the_longest_name_a_folder_holds_can_be_written(tmp_path: Path) -> None:
    path = tmp_path / ("ß" * 120 + ".tsv")

    write_whole(path, "new")

    assert path.read_text() == "new"


def test_two_writers_at_once_leave_one_whole_file(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"

    with replacing(path) as first, replacing(path) as second:
        assert first != second
        first.write_text("first")
        second.write_text("second")

    assert path.read_text() == "first"
    assert names(tmp_path) == ["a.txt"]


@posix
def test_content_then_name_reach_the_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The file before the rename, or a power cut leaves an empty one; the folder after, or it is undone."""
    events: list[str] = []
    fsync, replace = os.fsync, os.replace

    def watched_fsync(handle: int) -> None:
        events.append("folder" if os.path.isdir(f"/dev/fd/{handle}") else "file")
        fsync(handle)

    def watched_replace(*paths: Path) -> None:
        events.append("rename")
        replace(*paths)

    monkeypatch.setattr(os, "fsync", watched_fsync)
    monkeypatch.setattr(os, "replace", watched_replace)

    write_whole(tmp_path / "a.txt", "new")

    assert events == ["file", "rename", "folder"]


# New folders


def test_a_new_folder_appears_when_the_block_is_left(tmp_path: Path) -> None:
    with new_folder(tmp_path / "runs" / "new") as part:
        (part / "a.txt").write_text("a")
        assert not (tmp_path / "runs" / "new").exists()

    assert (tmp_path / "runs" / "new" / "a.txt").read_text() == "a"
    assert names(tmp_path / "runs") == ["new"]


@pytest.mark.parametrize("failure", [ValueError("mine"), KeyboardInterrupt()])
def test_a_failing_block_leaves_no_folder(tmp_path: Path, failure: BaseException) -> None:
    with pytest.raises(type(failure)), new_folder(tmp_path / "runs" / "new") as part:
        (part / "a.txt").write_text("a")
        raise failure

    assert names(tmp_path) == []


@pytest.mark.parametrize("kind", ["file", "folder", "empty folder", "dead link"])
def test_what_exists_is_not_replaced_by_a_new_folder(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "x"
    match kind:
        case "file":
            path.write_text("mine")
        case "dead link":
            path.symlink_to(tmp_path / "nowhere")
        case _:
            path.mkdir()
    if kind == "folder":
        (path / "a.txt").write_text("mine")

    with pytest.raises(ConfigError, match="exists already"), new_folder(path):
        raise AssertionError("the block must not run")

    assert names(tmp_path) == ["x"]


def test_a_folder_that_appears_meanwhile_is_kept(tmp_path: Path) -> None:
    with pytest.raises(DragomanError, match="cannot be written"), new_folder(tmp_path / "x") as part:
        (part / "a.txt").write_text("ours")
        (tmp_path / "x").mkdir()
        (tmp_path / "x" / "a.txt").write_text("theirs")

    assert names(tmp_path) == ["x"]
    assert (tmp_path / "x" / "a.txt").read_text() == "theirs"


def test_a_new_folder_inside_a_file_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")

    with pytest.raises(DragomanError, match="cannot be written"), new_folder(tmp_path / "file" / "new"):
        raise AssertionError("the block must not run")
