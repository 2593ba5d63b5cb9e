"""Ray: how cores are divided, what is refused, and what a kill of a worker or of the command costs."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from importlib import util
from pathlib import Path

import pytest

from dragoman.base.errors import ConfigError
from dragoman.base.jobs import write_part
from dragoman.bulk.ray import check_ray, divide_cores, on_ray
from dragoman.text import toy
from tests.bulk.loud import JOB

SAVED = Path(__file__).parents[1] / "saved/0.1/transformer"
SECONDS = 240  # a guard against hanging


@pytest.mark.parametrize(
    ("nodes", "workers", "expected"),
    [
        ([2], None, (1, 2)),
        ([2], 2, (2, 1)),
        ([3], 2, (2, 1)),
        ([64], None, (8, 8)),
        ([64], 1, (1, 8)),
        ([16, 4], None, (5, 4)),
        ([16, 4], 3, (3, 5)),
        ([3, 3], 2, (2, 3)),
        ([5, 1], 2, (2, 2)),
    ],
)
def test_workers_and_their_threads_fit_on_the_machines(nodes, workers, expected):
    count, threads = divide_cores(nodes, workers)
    assert (count, threads) == expected
    assert count <= sum(cores // threads for cores in nodes)


def test_more_workers_than_cores_are_refused():
    with pytest.raises(ConfigError, match="--workers 9: the Ray cluster has 8 cores"):
        divide_cores([4, 4], 9)
    with pytest.raises(ConfigError, match="has no cores"):
        divide_cores([], None)


def test_without_ray_it_says_what_to_install(monkeypatch):
    monkeypatch.setattr(util, "find_spec", lambda name: None)
    with pytest.raises(ConfigError, match="Ray is not installed") as caught:
        check_ray()
    assert "pip install 'dragoman[ray]'" in caught.value.hint


def test_an_address_where_nobody_answers_is_refused_at_once(monkeypatch):
    pytest.importorskip("ray")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{free.getsockname()[1]}"
        monkeypatch.setenv("RAY_ADDRESS", address)
        for asked in (address, "auto"):
            with pytest.raises(ConfigError, match="no Ray cluster answers") as caught:
                next(on_ray(JOB, [], address=asked))
            assert "ray start --head" in caught.value.hint
    for address in ("nonsense", "host:", "host:port", "ray://127.0.0.1:1"):
        with pytest.raises(ConfigError, match=f"--address {address}"):
            next(on_ray(JOB, [], address=address))


# Ray itself, in processes of its own


def put_text(folder: Path, lines: int) -> None:
    text = [f"{number} {source}\n" for number, (source, _) in enumerate(toy.pairs(seed=3, count=lines))]
    text[3] = "\n"
    (folder / "in").mkdir()
    (folder / "in/a.txt").write_text("".join(text[: lines // 2]))
    (folder / "in/b.txt").write_text("".join(text[lines // 2 :]).rstrip("\n"))


def command(folder: Path, *words: str) -> list[str]:
    fast = ("--beam", "1", "--max-extra", "3", "--part-lines", "100")
    return [sys.executable, "-m", "dragoman", "bulk", str(SAVED), *words, *fast]


def start(folder: Path) -> subprocess.Popen[str]:
    words = command(folder, str(folder / "in"), "-o", str(folder / "out"), "--on", "ray", "--workers", "2")
    return subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def until(what: Callable[[], object], process: subprocess.Popen[str]) -> None:
    deadline = time.monotonic() + SECONDS
    while not what():
        assert process.poll() is None, process.communicate()[1]
        assert time.monotonic() < deadline
        time.sleep(0.01)


def written_parts(folder: Path) -> list[Path]:
    return [path for path in folder.glob("out/.unfinished.parts/*/0*") if path.suffix != ".tries"]


def workers_of(process: subprocess.Popen[str]) -> list[int]:
    """The processes of Ray's that translate, and descend from ours."""
    return [pid for pid, title in descendants(process.pid) if "RayWorker" in title]


def descendants(ancestor: int) -> list[tuple[int, str]]:
    parents: dict[int, tuple[int, str]] = {}
    for place in Path("/proc").iterdir():
        if place.name.isdecimal():
            try:
                parent = int(os.fsdecode((place / "stat").read_bytes()).rpartition(")")[2].split()[1])
                title = os.fsdecode((place / "cmdline").read_bytes())  # of another program, maybe not UTF-8
                parents[int(place.name)] = parent, title
            except OSError:
                continue  # it has ended
    found, below = [], [ancestor]
    while below:
        one = below.pop()
        children = [pid for pid, (parent, _) in parents.items() if parent == one]
        found += [(pid, parents[pid][1]) for pid in children]
        below += children
    return found


def test_a_process_whose_command_line_is_not_utf_8_is_found():
    command = [sys.executable, "-c", "import time; print(flush=True); time.sleep(60)", b"caf\xe9"]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        process.stdout.readline()  # it has its title
        titles = dict(descendants(os.getpid()))
        process.kill()

    assert "caf\udce9" in titles[process.pid]


def kill_working(process: subprocess.Popen[str], folder: Path) -> bool:
    """Kill the workers, if one of them is in the middle of a part. A stopped process changes nothing."""
    workers = workers_of(process)
    for pid in workers:
        os.kill(pid, signal.SIGSTOP)
    begun = any(not path.with_suffix("").exists() for path in folder.glob("out/.unfinished.parts/*/*.tries"))
    for pid in workers:
        os.kill(pid, signal.SIGKILL if begun else signal.SIGCONT)
    return begun


def alive(pids: Sequence[int]) -> list[int]:
    """Those that still run after a while: a process that was told to end needs a moment to do so."""
    deadline = time.monotonic() + 10
    while (left := [pid for pid in pids if Path(f"/proc/{pid}").exists()]) and time.monotonic() < deadline:
        time.sleep(0.05)
    return left


def check_translations(folder: Path) -> None:
    """Each file is what `dragoman translate` writes, byte for byte."""
    for name in ("a.txt", "b.txt"):
        words = command(folder, str(folder / "in" / name), "-o", str(folder / name), "-q")[:-2]
        subprocess.run(words, check=True, timeout=SECONDS)
        assert (folder / "out" / name).read_bytes() == (folder / name).read_bytes()
    assert sorted(path.name for path in (folder / "out").iterdir()) == ["a.txt", "b.txt"]


needs_ray = pytest.mark.skipif(
    util.find_spec("ray") is None or not Path("/proc/self/stat").exists(), reason="no Ray, or no /proc"
)


@pytest.mark.slow
@needs_ray
def test_a_worker_that_is_killed_loses_no_text(tmp_path):
    put_text(tmp_path, 1600)
    with start(tmp_path) as process:
        until(lambda: written_parts(tmp_path) and kill_working(process, tmp_path), process)
        others = [pid for pid, _ in descendants(process.pid)]
        out, err = process.communicate(timeout=SECONDS)

    assert (process.returncode, out) == (0, ""), err
    assert "1,600 lines in 2 files" in err
    assert "begun again because a worker was lost" in err
    assert alive(others) == []
    check_translations(tmp_path)


@needs_ray
@pytest.mark.slow
def test_a_command_that_is_killed_resumes(tmp_path):
    put_text(tmp_path, 1600)
    with start(tmp_path) as process:
        until(lambda: len(written_parts(tmp_path)) > 2, process)
        process.kill()
    kept = written_parts(tmp_path)
    head, *sentinel = kept[0].read_text().splitlines()
    write_part(kept[0], json.loads(head), "\n".join(["kept", *sentinel[1:], ""]))

    words = command(tmp_path, str(tmp_path / "in"), "-o", str(tmp_path / "out"), "--on", "here")
    resumed = subprocess.run(words, capture_output=True, text=True, timeout=SECONDS, check=False)

    assert resumed.returncode == 0, resumed.stderr
    assert " parts kept from an earlier command" in resumed.stderr
    out = tmp_path / "out"
    text = (out / "a.txt").read_text() + "\n" + (out / "b.txt").read_text()
    assert text.count("kept\n") == 1  # that part was not translated again
    for name in ("a.txt", "b.txt"):
        path = out / name
        path.write_text(path.read_text().replace("kept\n", sentinel[0] + "\n"))
    check_translations(tmp_path)


@needs_ray
@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_ray_too(tmp_path, number):
    put_text(tmp_path, 1600)
    with start(tmp_path) as process:
        until(lambda: written_parts(tmp_path), process)
        others = [pid for pid, _ in descendants(process.pid)]
        process.send_signal(number)
        _, err = process.communicate(timeout=SECONDS)

    assert process.returncode == 128 + number
    assert err == "error: interrupted\n"
    assert alive(others) == []
    assert written_parts(tmp_path)


@needs_ray
@pytest.mark.slow
def test_ray_listens_only_on_this_machine(tmp_path):
    """A Ray that others reach would run their programs."""
    put_text(tmp_path, 1600)
    with start(tmp_path) as process:
        until(lambda: written_parts(tmp_path), process)
        mine = {
            link.readlink().name
            for pid, _ in [*descendants(process.pid), (process.pid, "")]
            for link in Path(f"/proc/{pid}/fd").iterdir()
        }
        process.kill()
    table = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    table += [line.split() for line in Path("/proc/net/tcp6").read_text().splitlines()[1:]]
    listening = [row[1].partition(":")[0] for row in table if row[3] == "0A" and f"socket:[{row[9]}]" in mine]

    assert listening
    assert {address[-8:] for address in listening} == {"0100007F"}
