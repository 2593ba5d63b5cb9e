"""One run at a time writes a training folder, also when it is killed."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from dragoman.text import toy
from dragoman.training.checkpoints.paths import Checkpoints

WORDS = [
    "--preset=tiny", "tokenizer.vocab_size=400",
    *(f"model.{o}" for o in ("d_model=16", "d_ff=32", "heads=2", "encoder_layers=1", "decoder_layers=1")),
    *(f"training.{o}" for o in ("batch_tokens=300", "validate_every=20", "log_every=5", "average=2")),
]  # fmt: skip
ENVIRONMENT = os.environ | {"OMP_NUM_THREADS": "1", "CUDA_VISIBLE_DEVICES": ""}


@pytest.fixture(scope="module")
def text(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    folder = tmp_path_factory.mktemp("text")
    pairs = toy.pairs(seed=5, count=60)
    paths = [folder / f"train.{side}" for side in ("en", "de")]
    for place, path in enumerate(paths):
        path.write_text("".join(f"{pair[place]}\n" for pair in pairs), encoding="utf-8")
    return [str(path) for path in paths]


@contextmanager
def started(*words: str) -> Iterator[subprocess.Popen[str]]:
    with subprocess.Popen(
        [sys.executable, "-m", "dragoman", "train", *words, *WORDS],
        env=ENVIRONMENT, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    ) as process:  # fmt: skip
        try:
            yield process
        finally:
            process.kill()


def wait_for(path: Path, process: subprocess.Popen[str]) -> None:
    deadline = time.monotonic() + 120
    while not path.exists() and process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.05)
    assert path.exists(), process.communicate(timeout=60)


def run(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "dragoman", "train", *words, *WORDS],
        env=ENVIRONMENT, capture_output=True, text=True, timeout=240, check=False,
    )  # fmt: skip


@pytest.mark.thorough
def test_a_second_run_is_refused_and_the_first_continues(text: list[str], tmp_path: Path) -> None:
    folder = tmp_path / "x"
    command = [*text, "-o", str(folder), "training.max_updates=100000"]
    with started(*command) as first:
        wait_for(folder / "checkpoints/latest/progress.json", first)

        second = run(*command)

        assert second.returncode == 2, second.stderr
        assert (
            f"error: {folder}: another command is writing this folder: process {first.pid} on"
            in second.stderr
        )
        assert socket.gethostname() in second.stderr
        assert "-o" in second.stderr
        assert first.poll() is None
        first.send_signal(signal.SIGTERM)
        _, err = first.communicate(timeout=120)
    assert first.returncode == 143, err
    checkpoints = Checkpoints(folder / "checkpoints")
    progress = checkpoints.progress()
    assert all(checkpoints.step(candidate.step).exists() for candidate in progress.history[-2:])
    ended = run(*text, "-o", str(folder), f"training.max_updates={progress.step + 5}")
    assert ended.returncode == 0, ended.stderr
    assert (folder / "model.safetensors").exists()
    assert not (folder / "checkpoints/lock.owner").exists()


@pytest.mark.thorough
def test_a_killed_run_leaves_no_lock(text: list[str], tmp_path: Path) -> None:
    folder = tmp_path / "x"
    checkpoints = Checkpoints(folder / "checkpoints")
    with started(*text, "-o", str(folder), "training.max_updates=100000") as first:
        wait_for(checkpoints.latest, first)
        first.send_signal(signal.SIGKILL)
        first.wait(timeout=60)
    assert (folder / "checkpoints/lock.owner").exists()
    step = checkpoints.progress().step

    ended = run(*text, "-o", str(folder), f"training.max_updates={step + 5}")

    assert ended.returncode == 0, ended.stderr
    assert f"resumes    from update {step}" in ended.stderr
    assert (folder / "model.safetensors").exists()
