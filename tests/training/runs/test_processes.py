"""Several processes train one model by the command line, started as torchrun starts them."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from tests.training.runs.students import PAIRS, STUDENT, make_teacher

from dragoman.models.folder.weights import read_weights
from dragoman.text import toy
from dragoman.training.runs.run import train

SAVED = Path(__file__).parents[2] / "saved" / "0.1"
MODEL, TEXT = str(SAVED / "transformer"), str(SAVED / "text" / "test")
WORDS = [
    "--preset=tiny", "tokenizer.vocab_size=400",
    *(f"model.{o}" for o in ("d_model=16", "d_ff=32", "heads=2", "encoder_layers=1", "decoder_layers=1")),
    *(f"training.{o}" for o in ("batch_tokens=300", "max_updates=100000", "validate_every=50000")),
]  # fmt: skip


@pytest.fixture(scope="module")
def text(tmp_path_factory) -> list[str]:
    folder = tmp_path_factory.mktemp("text")
    pairs = toy.pairs(seed=5, count=60)
    paths = [folder / f"train.{side}" for side in ("en", "de")]
    for place, path in enumerate(paths):
        path.write_text("".join(f"{pair[place]}\n" for pair in pairs), encoding="utf-8")
    return [str(path) for path in paths]


def environment(**more: str) -> dict[str, str]:
    return (
        os.environ
        | {"OMP_NUM_THREADS": "1", "CUDA_VISIBLE_DEVICES": ""}
        | {"GLOO_SOCKET_IFNAME": "lo0" if sys.platform == "darwin" else "lo"}
        | more
    )


def free_port() -> str:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return str(free.getsockname()[1])


def start(*words: str, **more: str) -> list[subprocess.Popen[str]]:
    """A command of dragoman, twice."""
    shared = environment(MASTER_ADDR="127.0.0.1", MASTER_PORT=free_port(), WORLD_SIZE="2", **more)
    return [
        subprocess.Popen(
            [sys.executable, "-m", "dragoman", *words],
            env=shared | {"RANK": str(rank), "LOCAL_RANK": str(rank)},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for rank in range(2)
    ]


def wait_for(done: Callable[[], bool], processes: list[subprocess.Popen[str]]) -> None:
    """Wait until something has happened. The limit is a guard only."""
    deadline = time.monotonic() + 300
    while not done():
        assert time.monotonic() < deadline
        assert all(process.poll() is None for process in processes)
        time.sleep(0.05)


def rows(folder: Path, kind: str) -> int:
    """How many lines of a kind metrics.jsonl has."""
    path = folder / "metrics.jsonl"
    return path.read_text("utf-8").count(f'"kind": "{kind}"') if path.exists() else 0


def ended(processes: list[subprocess.Popen[str]]) -> tuple[list[int], list[str]]:
    """Exit codes, and what each said on standard error."""
    try:
        said = [process.communicate(timeout=300) for process in processes]
    finally:
        for process in processes:
            process.kill()
    assert [out for out, _ in said] == ["", ""]
    return [process.returncode for process in processes], [err for _, err in said]


@pytest.mark.thorough
def test_what_is_wrong_with_the_text_is_said_once(text, tmp_path):
    (tmp_path / "bad.de").write_bytes(b"Gut.\n\xff\n")

    codes, said = ended(start("train", text[0], str(tmp_path / "bad.de"), "-o", str(tmp_path / "x"), *WORDS))

    assert codes == [3, 1]
    assert said[0].count("error:") == 1
    assert "bad.de:2: not valid UTF-8" in said[0]
    assert said[1] == ""


@pytest.mark.thorough
def test_a_signal_to_all_saves(text, tmp_path):
    """As torchrun passes on Ctrl-C or SIGTERM: to each process, at its own time."""
    processes = start("train", *text, "-o", str(tmp_path / "x"), *WORDS)
    wait_for(lambda: rows(tmp_path / "x", "train") > 0, processes)  # then both are at work
    for process in reversed(processes):
        process.send_signal(signal.SIGTERM)

    codes, said = ended(processes)

    assert codes == [143, 143], said
    assert "everything is saved" in said[0]
    assert said[1] == ""
    assert Path(tmp_path / "x" / "checkpoints" / "latest" / "progress.json").exists()


@pytest.mark.thorough
def test_two_processes_train_several_seeds(text, tmp_path):
    """They join once, for all runs."""
    valid = ["--valid", *text]
    few = ["training.max_updates=2", "training.validate_every=2", "training.parallel=sharded"]
    few += ["training.ema=0.5", "training.calibrate=0"]
    command = ["train", *text, *valid, "-o", str(tmp_path / "x"), "--seeds", "2", *WORDS, *few]
    processes = start(*command)
    try:
        said = [process.communicate(timeout=300) for process in processes]
    finally:
        for process in processes:
            process.kill()

    assert [process.returncode for process in processes] == [0, 0], said
    assert "mean ± sd" in said[0][0]
    assert said[1] == ("", "")
    table = json.loads((tmp_path / "x" / "seeds.json").read_text("utf-8"))
    assert [run["updates"] for run in table["runs"]] == [2, 2]
    assert table["spread"]["validation_loss"]["sd"] > 0


@pytest.mark.thorough
@pytest.mark.parametrize("parallel", ["replicated", "sharded"])
def test_two_processes_tune(text, tmp_path, parallel):
    """The first one alone chooses the mean with the base, and scores it."""
    few = ["training.max_updates=2", "training.validate_every=1", "training.batch_tokens=300"]
    few += [f"training.parallel={parallel}", "training.calibrate=0"]
    words = ["--from", MODEL, "--valid", *text, "--replay", *text, "-o", str(tmp_path / "x"), *few]

    codes, said = ended(start("train", *text, *words))

    assert codes == [0, 0], said
    assert rows(tmp_path / "x", "interpolation") == 11


@pytest.mark.slow
def test_a_process_that_stops_answering_ends_the_run_and_is_named(text, tmp_path):
    """As a machine that hangs: no connection breaks."""
    processes = start("train", *text, "-o", str(tmp_path / "x"), *WORDS, DRAGOMAN_STALL_SECONDS="15")
    wait_for(lambda: rows(tmp_path / "x", "train") > 0, processes)
    processes[1].send_signal(signal.SIGSTOP)

    _, said = processes[0].communicate(timeout=300)
    processes[1].kill()
    processes[1].communicate()

    assert processes[0].returncode == 1
    assert f"error: process 0 of this run ends: process 1 on {socket.gethostname()} has not answered" in said
    assert "repeat the command to resume" in said


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "darwin", reason="it has no second address of the loopback")
def test_torchrun_goes_on_after_a_kill_on_another_machine_and_saves_when_told(text, tmp_path):
    """Two addresses of the loopback stand for two machines. The weights are shared by the processes."""
    words = [*text, "-o", "x", *WORDS[:-1], "training.validate_every=10", "training.parallel=sharded"]
    port = free_port()
    agents = []
    for machine in (1, 2):
        with (tmp_path / f"machine-{machine}").open("w") as said:
            agents.append(
                subprocess.Popen(
                    [
                        *(sys.executable, "-m", "torch.distributed.run", "--nnodes=2", "--nproc-per-node=1"),
                        *("--rdzv-backend=c10d", f"--rdzv-endpoint=127.0.0.1:{port}", "--rdzv-id=x"),
                        *(f"--local-addr=127.0.0.{machine}", "--max-restarts=3"),
                        *("-m", "dragoman", "train", *words),
                    ],
                    cwd=tmp_path,
                    env=environment(),
                    stdin=subprocess.DEVNULL,
                    stdout=said,
                    stderr=said,
                )
            )
    try:
        wait_for((tmp_path / "x" / "checkpoints" / "latest").exists, agents)
        before = rows(tmp_path / "x", "valid")
        worker = Path(f"/proc/{agents[1].pid}/task/{agents[1].pid}/children").read_text().split()
        os.kill(int(worker[0]), signal.SIGKILL)
        wait_for(lambda: rows(tmp_path / "x", "start") >= 2, agents)
        wait_for(lambda: rows(tmp_path / "x", "valid") > before, agents)
        for agent in agents:
            agent.terminate()
        for agent in agents:
            agent.wait(timeout=300)
    finally:
        for agent in agents:
            agent.kill()

    said = "".join((tmp_path / f"machine-{machine}").read_text() for machine in (1, 2))
    assert re.search(rf"process \d of this run ends: process \d on {socket.gethostname()} ended", said)
    assert "resumes" in said
    last = (tmp_path / "x" / "metrics.jsonl").read_text("utf-8").splitlines()[-1]
    assert "everything is saved in x" in last
    assert len(list((tmp_path / "x" / "checkpoints" / "latest").glob("shard-*.safetensors"))) == 2


@pytest.mark.thorough
def test_two_processes_evaluate_as_one_does(tmp_path):
    words = ["evaluate", MODEL, f"{TEXT}.en", f"{TEXT}.de", "--json"]
    alone = subprocess.run(
        [sys.executable, "-m", "dragoman", *words], capture_output=True, text=True, check=True, timeout=300
    )
    processes = start(*words, "-o", str(tmp_path / "out.de"))
    outputs = [process.communicate(timeout=300) for process in processes]

    assert [process.returncode for process in processes] == [0, 0], outputs
    one, two = json.loads(alone.stdout), json.loads(outputs[0][0])
    assert outputs[1] == ("", "")
    timed = {"seconds", "sentences_per_second"}
    assert {key: one[key] for key in one.keys() - timed} == {key: two[key] for key in two.keys() - timed}
    assert len((tmp_path / "out.de").read_text("utf-8").splitlines()) == one["sentences"]


@pytest.mark.slow
def test_two_processes_distil_as_one_does(tmp_path):
    """The first process makes the lessons; each reads those of its pairs."""
    teacher = make_teacher(tmp_path / "teacher")
    text = [str(tmp_path / f"train.{side}") for side in ("en", "de")]
    for side, path in enumerate(text):
        Path(path).write_text("".join(f"{pair[side]}\n" for pair in PAIRS), encoding="utf-8")
    options = [*STUDENT, "teacher.words=0.5", "training.precision=fp32"]

    codes, said = ended(
        start("distil", str(teacher), *text, "-o", str(tmp_path / "two"), "--preset=tiny", *options)
    )
    train(
        text, teachers=[teacher], output=tmp_path / "one", preset="tiny",
        overrides=[*options, "training.accumulate=2"],
    )  # fmt: skip

    assert codes == [0, 0], said
    assert said[1] == ""
    lessons = "checkpoints/lessons/train.reference.outputs/lessons"
    assert (tmp_path / "two" / lessons).stat().st_size == (tmp_path / "one" / lessons).stat().st_size
    one, two = (read_weights(tmp_path / name / "model.safetensors") for name in ("one", "two"))
    for name in one:
        torch.testing.assert_close(two[name], one[name], rtol=1e-3, atol=1e-4)
