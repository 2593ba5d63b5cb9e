"""The store: what is confirmed is kept, whatever happens; what is damaged is said."""

from __future__ import annotations

import multiprocessing
import os
import random
import resource
import signal
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from dragoman.base.errors import ConfigError, DataError
from dragoman.text.guidance import Match
from dragoman.translation.memory import fuzzy_search, store
from dragoman.translation.memory.store import TranslationMemory
from dragoman.translation.memory.store_file import Remembered, StoreFile, insert


def made(path: Path) -> TranslationMemory:
    return TranslationMemory.create(path, source_language="en", target_language="de")


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[TranslationMemory]:
    with made(tmp_path / "a.tm") as opened:
        yield opened


# What it finds


def test_an_equal_line_is_found_but_for_its_spaces(memory: TranslationMemory) -> None:
    memory.add(" Save the  file. ", " Datei speichern. ")
    match = Match("Save the  file.", "Datei speichern.", 100.0)
    assert memory.exact("Save the\u00a0file.") == match
    assert memory.match("Save the file.", least=100) == match
    for other in ("save the file.", "Save the file", "Save the file. 1", ""):
        assert memory.exact(other) is None


def test_the_newest_translation_wins_and_older_ones_are_kept(memory: TranslationMemory) -> None:
    assert memory.add("Row", "Reihe")
    assert memory.add("Row", "Zeile")
    assert memory.exact("Row") == Match("Row", "Zeile", 100.0)
    assert not memory.add("Row", "Reihe")  # confirmed again
    assert [one.pair.target for one in memory.search("Row")] == ["Reihe", "Zeile"]
    assert memory.about().pairs == 2
    assert memory.about().segments == 1


def test_a_confirmed_translation_wins_over_one_from_the_future(memory: TranslationMemory) -> None:
    future = datetime(2222, 2, 2, tzinfo=UTC)
    memory.extend([Remembered("Row", "Reihe", changed=future)])
    memory.add("Row", "Zeile")
    assert memory.exact("Row") == Match("Row", "Zeile", 100.0)


def test_similar_lines_are_found_best_first(memory: TranslationMemory) -> None:
    memory.add("Open the old file.", "Alte Datei öffnen.")
    memory.add("Open the file.", "Datei öffnen.")
    memory.add("Something else entirely", "Etwas anderes")
    found = memory.search("Open the files.")
    assert [one.pair.source for one in found] == ["Open the file."]
    assert found[0].score == pytest.approx(84.2, abs=0.05)
    assert [round(one.score) for one in memory.search("Open the files.", least=40)] == [84, 66]
    assert len(memory.search("Open the files.", least=40, most=1)) == 1
    match = memory.match("Open the files.")
    assert match is not None
    assert (match.target, match.score) == ("Datei öffnen.", found[0].score)
    assert memory.match("Nothing like it at all") is None


def test_a_pair_has_what_is_known_of_it(memory: TranslationMemory) -> None:
    before = datetime.now(UTC)
    memory.add("Row", "Zeile", author="Ada", origin="app.po", note="of a table")
    (one,) = memory.search("Row")
    assert (one.pair.author, one.pair.origin, one.pair.note) == ("Ada", "app.po", "of a table")
    assert one.pair.created is not None
    assert abs((one.pair.created - before).total_seconds()) < 60
    memory.add("Row", "Zeile", author="Bob")
    (one,) = memory.search("Row")
    assert (one.pair.author, one.pair.note) == ("Bob", "of a table")


def test_uses_are_counted(tmp_path: Path) -> None:
    with made(tmp_path / "a.tm") as memory:
        memory.add("Row", "Zeile")
        for _ in range(3):
            match = memory.exact("Row")
            assert match is not None
            memory.count_use(match)
    with TranslationMemory(tmp_path / "a.tm") as memory:
        assert memory.about().used == 3


@pytest.mark.parametrize("text", ["\ud800", "x" * 5000, "%s' OR 1=1; --", "\0", "𝔘" * 50, '*" NEAR('])
def test_any_text_may_be_searched(memory: TranslationMemory, text: str) -> None:
    memory.add("Row", "Zeile")
    assert memory.search(text) == []
    assert memory.exact(text) is None


def test_a_long_text_is_found_if_it_is_equal(memory: TranslationMemory) -> None:
    long = "many words " * 1000
    memory.add(long, "viel")
    assert memory.search(long)[0].score == 100
    assert memory.search(long + "x") == []


# What it takes


@pytest.mark.parametrize("pair", [("", "x"), ("x", ""), ("  \n", "x")])
def test_a_pair_needs_two_sides(memory: TranslationMemory, pair: tuple[str, str]) -> None:
    with pytest.raises(DataError, match="without words"):
        memory.add(*pair)


@pytest.mark.parametrize("text", ["a\0b", "\udc80"])
def test_what_no_file_can_hold_is_refused(memory: TranslationMemory, text: str) -> None:
    for pair in ((text, "x"), ("x", text)):
        with pytest.raises(DataError, match="NUL"):
            memory.add(*pair)
    assert memory.about().pairs == 0


def test_pairs_that_are_there_are_not_added_again(memory: TranslationMemory) -> None:
    pairs = [Remembered("a", "x"), Remembered("a ", "x"), Remembered("a", "y"), Remembered("", "z")]
    added = memory.extend(pairs)
    assert (added.new, added.known, added.blank) == (2, 1, 1)
    assert memory.exact("a") == Match("a", "y", 100.0)
    added = memory.extend(pairs)
    assert (added.new, added.known, added.blank) == (0, 3, 1)


def test_an_error_of_the_source_keeps_the_portions_before_it(
    memory: TranslationMemory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store, "_TOGETHER", 10)

    def pairs() -> Iterator[Remembered]:
        for number in range(25):
            yield Remembered(f"line {number}", "x")
        raise DataError("line 26: damaged")

    with pytest.raises(DataError, match="line 26"):
        memory.extend(pairs())
    assert memory.about().pairs == 20
    assert memory.search("line 19")[0].score == 100


def test_languages_are_required_and_kept(tmp_path: Path) -> None:
    for languages in (("", "de"), ("en", " "), ("de", "de")):
        with pytest.raises(ConfigError, match="a memory from"):
            TranslationMemory.create(
                tmp_path / "a.tm", source_language=languages[0], target_language=languages[1]
            )
    made(tmp_path / "a.tm").close()
    with TranslationMemory(tmp_path / "a.tm") as memory:
        assert (memory.source_language, memory.target_language) == ("en", "de")
    with pytest.raises(ConfigError, match="is from en to de, not from en to fr"):
        TranslationMemory.create(tmp_path / "a.tm", source_language="en", target_language="fr")


# Several at once


def test_threads_write_and_search_at_once(memory: TranslationMemory) -> None:
    errors: list[BaseException] = []

    def work(name: int) -> None:
        try:
            for number in range(25):
                memory.add(f"thread {name} line {number}", f"{number}")
                assert memory.exact(f"thread {name} line {number}") is not None
                memory.search("thread line")
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=work, args=(name,)) for name in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    assert memory.about().pairs == 150
    assert memory.search("thread 3 line 7")[0].pair.target == "7"


def open_files(path: Path) -> int:
    return sum(os.path.realpath(f"/proc/self/fd/{one}") == str(path) for one in os.listdir("/proc/self/fd"))


@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="needs /proc")
def test_a_thread_that_ends_leaves_no_open_file(memory: TranslationMemory) -> None:
    memory.add("a", "x")
    before = open_files(memory.path)
    for _ in range(20):
        thread = threading.Thread(target=memory.exact, args=("a",))
        thread.start()
        thread.join()
    # SQLite keeps a file open as long as another connection holds a lock on it, to use it again.
    assert open_files(memory.path) <= before + 1
    pairs = memory.pairs()
    thread = threading.Thread(target=next, args=(pairs,))
    thread.start()
    thread.join()
    assert list(pairs) == []  # what a thread began can be ended elsewhere
    memory.close()
    assert open_files(memory.path) == 0


def write_some(path: str, name: int) -> None:
    with TranslationMemory(path) as memory:
        for number in range(20):
            memory.add(f"process {name} line {number}", f"{number}")


@pytest.mark.thorough
@pytest.mark.parametrize("method", ["spawn", "fork"])
def test_processes_write_at_once(memory: TranslationMemory, method: str) -> None:
    context = multiprocessing.get_context(method)
    children = [context.Process(target=write_some, args=(str(memory.path), name)) for name in range(3)]
    for child in children:
        child.start()
    memory.add("parent", "x")
    for child in children:
        child.join()
    assert [child.exitcode for child in children] == [0, 0, 0]
    assert memory.about().pairs == 61


def test_a_forked_child_uses_the_same_object(memory: TranslationMemory) -> None:
    memory.add("a", "x")
    child = os.fork()
    if child == 0:
        code = 1
        try:
            memory.add("b", "y")
            code = 0 if memory.exact("a") else 2
        finally:
            os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert memory.exact("b") is not None


def test_a_fork_does_not_take_the_connections_of_threads(memory: TranslationMemory) -> None:
    memory.add("a", "x")
    asked, go = threading.Event(), threading.Event()
    found: list[object] = []

    def work() -> None:
        found.append(memory.exact("a"))
        asked.set()
        go.wait()
        found.append(memory.exact("b"))

    thread = threading.Thread(target=work)
    thread.start()
    asked.wait()
    child = os.fork()
    if child == 0:
        code = 1
        try:
            memory.add("b", "y")
            memory.close()
            code = 0
        finally:
            os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    go.set()
    thread.join()
    assert None not in found
    assert memory.about().pairs == 2


def test_makers_at_once_make_one_memory(tmp_path: Path) -> None:
    opened: list[TranslationMemory] = []
    threads = [threading.Thread(target=lambda: opened.append(made(tmp_path / "a.tm"))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(opened) == 8
    for number, memory in enumerate(opened):
        memory.add(f"{number}", "x")
    assert opened[0].about().pairs == 8
    for memory in opened:
        memory.close()


KILLED = """
import sys
from dragoman.translation.memory.store import TranslationMemory
from dragoman.translation.memory.store_file import Remembered, StoreFile, insert
memory = TranslationMemory.create(sys.argv[1], source_language="en", target_language="de")
number = 0
while True:
    memory.add(f"line number {number}", f"Zeile {number}")
    print(number, flush=True)
    number += 1
    if number % 50 == 0:
        memory.extend(Remembered(f"portion {number} line {i}", "x") for i in range(200))
"""


@pytest.mark.thorough
@pytest.mark.parametrize("milliseconds", [50, 200, 500])
def test_nothing_confirmed_is_lost_by_a_kill(tmp_path: Path, milliseconds: int) -> None:
    path = tmp_path / "a.tm"
    process = subprocess.Popen([sys.executable, "-c", KILLED, str(path)], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    confirmed = [process.stdout.readline()]
    time.sleep(milliseconds / 1000)
    process.send_signal(signal.SIGKILL)
    confirmed += process.stdout.read().split("\n")[:-1]
    process.wait()
    process.stdout.close()
    with TranslationMemory(path) as memory:
        for number in range(len(confirmed)):
            assert memory.exact(f"line number {number}") == Match(
                f"line number {number}", f"Zeile {number}", 100.0
            )
            assert memory.search(f"line number {number} x")
        portions = sum(pair.source.startswith("portion") for pair in memory.pairs())
        assert portions % 200 == 0  # whole portions or nothing
        assert memory.about().pairs in (len(confirmed) + portions, len(confirmed) + 1 + portions)


# Disks and files


def test_what_is_added_is_on_the_disk_before_it_is_confirmed(memory: TranslationMemory) -> None:
    """No test can cut the power, so this asks SQLite what it waits for: 2 is FULL."""
    with memory._file.reading() as connection:
        assert connection.execute("PRAGMA synchronous").fetchone() == (2,)
        assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)


def test_a_full_disk_is_said_and_loses_nothing(tmp_path: Path) -> None:
    with made(tmp_path / "a.tm") as memory:
        memory.add("kept", "behalten")
        soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, hard))
        try:
            with pytest.raises(DataError, match=r"a\.tm: ") as caught:
                memory.extend(Remembered(f"line {number} " * 9, "x" * 90) for number in range(9000))
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        assert "room on the disk" in caught.value.hint
        assert memory.exact("kept") is not None
        assert memory.about().pairs == 1
        assert memory.add("again", "wieder")
    with TranslationMemory(tmp_path / "a.tm") as memory:
        assert memory.about().pairs == 2


def test_a_full_database_is_said(memory: TranslationMemory) -> None:
    memory.add("kept", "behalten")
    with memory._file.reading() as connection:
        pages = connection.execute("PRAGMA page_count").fetchone()[0]
        connection.execute(f"PRAGMA max_page_count = {pages + 2}")
    with pytest.raises(DataError, match="the disk is full"):
        memory.extend(Remembered(f"line {number} " * 9, "x" * 90) for number in range(200))
    assert [pair.source for pair in memory.pairs()] == ["kept"]
    assert memory.search("line 1") == []


def test_a_missing_memory_is_said(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no such translation memory") as caught:
        TranslationMemory(tmp_path / "a.tm")
    assert "dragoman memory import" in caught.value.hint
    assert not (tmp_path / "a.tm").exists()
    with pytest.raises(DataError, match="not a file"):
        TranslationMemory(tmp_path)


def foreign(path: Path) -> None:
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE pairs (source, target)")
    connection.commit()
    connection.close()


@pytest.mark.parametrize("kind", ["text", "empty", "foreign"])
def test_a_file_that_is_no_memory_is_said(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "a.tm"
    match kind:
        case "text":
            path.write_text("A dog.\tEin Hund.\n" * 100)
        case "empty":
            path.touch()
        case "foreign":
            foreign(path)
    with pytest.raises(DataError, match="not a translation memory"):
        TranslationMemory(path)
    if kind != "empty":
        before = path.read_bytes()
        with pytest.raises(DataError, match="not a translation memory"):
            made(path)
        assert path.read_bytes() == before


def test_a_newer_memory_is_refused(tmp_path: Path) -> None:
    made(tmp_path / "a.tm").close()
    connection = sqlite3.connect(tmp_path / "a.tm")
    connection.execute("PRAGMA user_version = 2")
    connection.close()
    for opening in (TranslationMemory, made):
        with pytest.raises(DataError, match="format_version 2") as caught:
            opening(tmp_path / "a.tm")
        assert caught.value.hint == "upgrade dragoman"


def test_damage_is_said(tmp_path: Path) -> None:
    path = tmp_path / "a.tm"
    with made(path) as memory:
        memory.extend(Remembered(f"line number {number}", f"Zeile {number}") for number in range(2000))
    whole = path.read_bytes()
    for name, data in [
        ("cut", whole[: len(whole) // 2]),
        ("zeros", whole[:4096] + bytes(len(whole) - 4096)),
        ("noise", whole[:4096] + bytes(byte ^ 0x5A for byte in whole[4096:])),
    ]:
        damaged = tmp_path / f"{name}.tm"
        damaged.write_bytes(data)
        with pytest.raises(DataError, match=rf"{name}\.tm: ") as caught, TranslationMemory(damaged) as memory:
            memory.about()
        assert caught.value.hint


def test_a_damaged_page_never_gives_a_traceback(tmp_path: Path) -> None:
    path = tmp_path / "a.tm"
    with made(path) as memory:
        memory.extend(Remembered(f"line number {number}", f"Zeile {number}") for number in range(500))
    whole = path.read_bytes()
    random_ = random.Random(1)
    hints = []
    for number in range(60):
        damaged = tmp_path / f"{number}.tm"
        data = bytearray(whole)
        for _ in range(random_.choice([1, 20])):
            place, size = random_.randrange(len(data)), random_.choice([1, 4, 64])
            data[place : place + size] = random_.randbytes(size)
        damaged.write_bytes(data)
        try:
            with TranslationMemory(damaged) as memory:
                memory.exact("line number 77")
                memory.search("line number 7 and more", least=30)
                list(memory.pairs())
                memory.about()
                memory.add("line number 77", "neu")
        except DataError as error:
            hints.append(error.hint)
    assert len(hints) > 10
    assert all(hints)


def as_nobody(work: Callable[[], None]) -> int:
    """Run in a child without the rights of root. Return its exit code."""
    child = os.fork()
    if child == 0:
        code = 1
        try:
            if os.getuid() == 0:
                os.setgroups([])
                os.setgid(65534)
                os.setuid(65534)
            work()
            code = 0
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def open_to_all(folder: Path) -> None:
    """Let other users reach a folder under the one for temporary files."""
    for parent in (folder, *folder.parents):
        if parent == Path(tempfile.gettempdir()):
            break
        parent.chmod(0o755)


def test_a_write_protected_memory_can_be_searched(tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    path = folder / "a.tm"
    with made(path) as memory:
        memory.add("Row", "Zeile")
    home = Path.cwd()

    def search() -> None:
        os.chdir(folder)
        with TranslationMemory("a.tm") as memory:
            match = memory.exact("Row")
            assert match is not None
            assert memory.search("Row")[0].score == 100
            memory.count_use(match)
            assert memory.about().pairs == 1
            with pytest.raises(DataError, match="write-protected"):
                memory.add("Row", "Reihe")

    open_to_all(tmp_path)
    for mode, of_folder in ((0o444, 0o555), (0o444, 0o755), (0o644, 0o555)):
        path.chmod(mode)
        folder.chmod(of_folder)
        assert as_nobody(search) == 0
    assert sorted(one.name for one in folder.iterdir()) == ["a.tm"]
    os.chdir(home)
    folder.chmod(0o755)


def test_a_memory_that_others_write_can_be_searched_without_the_right_to_write(tmp_path: Path) -> None:
    path = tmp_path / "a.tm"
    with made(path) as memory:
        memory.extend(Remembered(f"Row {number}", "Zeile") for number in range(2000))
    open_to_all(tmp_path)
    path.chmod(0o644)
    writer = TranslationMemory(path)
    assert writer.exact("Row") is None  # from now on there is a log, which is empty
    opened, written = os.pipe(), os.pipe()

    def search() -> None:
        with TranslationMemory(path) as memory:
            os.write(opened[1], b".")
            os.read(written[0], 1)
            assert memory.search("Row 1999")[0].score == 100
            assert memory.exact("New row 1999") is not None

    def write() -> None:
        os.read(opened[0], 1)
        writer.extend(Remembered(f"New row {number}", "Neue Zeile") for number in range(2000))
        with sqlite3.connect(path) as other:
            other.execute("PRAGMA wal_checkpoint")
        os.write(written[1], b".")

    thread = threading.Thread(target=write)
    thread.start()
    assert as_nobody(search) == 0
    thread.join()
    writer.close()


def test_a_log_that_cannot_be_read_is_not_left_out(tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    writer = made(tmp_path / "a.tm")
    writer.add("Row", "Zeile")  # still in the log
    for suffix in ("", "-wal"):
        (folder / f"a.tm{suffix}").write_bytes((tmp_path / f"a.tm{suffix}").read_bytes())
    writer.close()
    open_to_all(tmp_path)
    folder.chmod(0o555)

    def search() -> None:
        with pytest.raises(DataError, match="cannot be opened"):
            TranslationMemory(folder / "a.tm")

    assert as_nobody(search) == 0
    folder.chmod(0o755)
    with TranslationMemory(folder / "a.tm") as memory:
        assert memory.exact("Row") is not None


@pytest.mark.parametrize("blank", ["\u200b", "\u2060 \ufeff"])
def test_a_translation_that_is_invisible_is_blank(tmp_path: Path, blank: str) -> None:
    path = tmp_path / "a.tm"
    with made(path) as memory:
        with pytest.raises(DataError, match=r"(?m)without words$"):
            memory.add("A dog runs.", blank)
        added = memory.extend([Remembered("A dog runs.", blank), Remembered(blank, "Ein Hund rennt.")])
        assert (added.new, added.blank) == (0, 2)
    file = StoreFile(path)
    with file.writing() as connection:  # as earlier versions did
        number = insert(connection, Remembered("A dog runs.", blank), 2, 2)
        fuzzy_search.add(connection, [(number, "A dog runs.")])
    file.close()
    with TranslationMemory(path) as memory:
        assert memory.exact("A dog runs.") is None
        assert memory.match("A dog runs.") is None
        assert memory.match("A dog runs!") is None
        memory.add("A dog runs.", "Ein Hund rennt.")
        found = memory.match("A dog runs.")
        assert found is not None
        assert found.target == "Ein Hund rennt."
