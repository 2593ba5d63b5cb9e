"""Numbers that are not finite and memory that runs out, through the command line."""

from __future__ import annotations

import json
import os
import re
import socket
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from tests.training.runs.test_run import SMALL, small

from dragoman.base.errors import ModelError
from dragoman.models.folder.weights import read_weights, write_weights
from dragoman.text import toy
from dragoman.training.runs.run import train

# Spoils the loss from an update on, in one of the processes.
CODE = """
import os
from dragoman.cli import main
from dragoman.training.step.update import Learner

update, objective, together = Learner.update, Learner.objective, Learner._together
now = 0

def count(self, batches, step, **options):
    global now
    now = step
    return update(self, batches, step, **options)

def spoil(self, batch):
    return spoilt(self, batch, *objective(self, batch))

def spoil_together(self, shards, batch):
    return spoilt(self, batch, *together(self, shards, batch))

def spoilt(self, batch, loss, nll):
    what, first = os.environ["SPOIL"].split()
    elsewhere = os.environ.get("RANK", "0") != os.environ["SPOILT"]
    if elsewhere or now < int(first) or not self.trained.training or not batch.rows.size:
        return loss, nll
    if what == "memory" and len(batch) > 3:
        raise RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried to allocate 8 bytes")
    return loss * float("nan") if what == "loss" else loss, nll

Learner.update, Learner.objective, Learner._together = count, spoil, spoil_together
main()
"""
WORDS = ["--preset=tiny", *SMALL, "training.max_updates=30", "training.validate_every=4"]


@pytest.fixture(scope="module")
def text(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    folder = tmp_path_factory.mktemp("text")
    paths = [folder / f"train.{side}" for side in ("en", "de")]
    for path, lines in zip(paths, zip(*toy.pairs(seed=5, count=60), strict=True), strict=True):
        path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return [str(path) for path in paths]


def run(*words: str, spoil: str, processes: int = 1, spoilt: int = 0) -> list[tuple[int, str]]:
    """`dragoman train`; the exit code and the standard error of each process."""
    shared = os.environ | {"SPOIL": spoil, "SPOILT": str(spoilt), "OMP_NUM_THREADS": "1", "COLUMNS": "400"}
    if processes > 1:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        interface = "lo0" if sys.platform == "darwin" else "lo"
        shared |= {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port), "WORLD_SIZE": str(processes)}
        shared |= {"CUDA_VISIBLE_DEVICES": "", "GLOO_SOCKET_IFNAME": interface}
    started = [
        subprocess.Popen(
            [sys.executable, "-c", CODE, "train", *words],
            env=shared | ({"RANK": str(rank), "LOCAL_RANK": str(rank)} if processes > 1 else {}),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )
        for rank in range(processes)
    ]
    try:
        errors = [one.communicate(timeout=240)[1] for one in started]
    finally:
        for one in started:
            one.kill()
    return [(one.returncode, error) for one, error in zip(started, errors, strict=True)]


@pytest.mark.thorough
def test_ten_bad_updates_stop_the_run_and_leave_the_checkpoint(text: list[str], tmp_path: Path) -> None:
    """Then the same command goes on from there, with another clipping."""
    folder = tmp_path / "run"
    ((code, error),) = run(*text, "-o", str(folder), *WORDS, spoil="loss 7")

    assert code == 1
    message = error[error.index("error: ") :]
    where = r"batch 1 of 1, lines \d+, \d+, \d+ and \d+ more of train.en and train.de"
    assert re.match(rf"error: update 16: the loss is not finite \({where}\)", message)
    assert "10 updates in a row were skipped" in message
    assert "The last checkpoint is whole (update 12)" in message
    assert "training.clip=1.0" in message
    assert "Traceback" not in error
    assert error.count("skipped: the loss is not finite") == 9
    weights = read_weights(folder / "checkpoints" / "latest" / "model.safetensors")
    assert all(bool(weight.isfinite().all()) for weight in weights.values())
    assert "NaN" not in (folder / "metrics.jsonl").read_text()

    ((code, error),) = run(*text, "-o", str(folder), *WORDS, "training.clip=1.0", spoil="loss 99")
    assert (code, (folder / "model.safetensors").exists()) == (0, True), error


@pytest.mark.parametrize("parallel", ["replicated", pytest.param("sharded", marks=pytest.mark.slow)])
def test_a_loss_that_another_process_finds_stops_all(parallel: str, text: list[str], tmp_path: Path) -> None:
    words = (*text, "-o", str(tmp_path / "run"), *WORDS, f"training.parallel={parallel}")
    (first, second) = run(*words, spoil="loss 5", processes=2, spoilt=1)

    assert (first[0], second[0]) == (1, 1)
    assert "error: update 14: the loss is not finite (batch 2 of 2, lines " in first[1]
    assert first[1].count("update 5 skipped: the loss is not finite (batch 2 of 2, lines ") == 1
    assert "error" not in second[1]


@pytest.mark.thorough
def test_memory_that_runs_out_is_one_warning(text: list[str], tmp_path: Path) -> None:
    """In two processes, of which only the second lacks memory."""
    words = (*text, "-o", str(tmp_path / "run"), *WORDS)
    (first, second) = run(*words, spoil="memory 3", processes=2, spoilt=1)

    assert (first[0], second[0]) == (0, 0), first[1]
    assert first[1].count("out of memory") == 1
    assert re.search(r"update 3: out of memory with a batch of \d+ pairs, padded to \d+ source and", first[1])
    assert "training.batch_tokens=" in first[1]


@pytest.mark.slow
def test_processes_that_share_the_weights_cannot_halve_alone(text: list[str], tmp_path: Path) -> None:
    words = (*text, "-o", str(tmp_path / "run"), *WORDS, "training.parallel=sharded")
    both = run(*words, spoil="memory 3", processes=2, spoilt=1)

    assert 0 not in [code for code, _ in both]
    said = both[0][1] + both[1][1]
    assert "update 3: out of memory with a batch of" in said
    assert "training.batch_tokens=" in said
    assert "Traceback" not in said


@pytest.mark.thorough
def test_a_base_with_numbers_that_are_not_finite_is_refused(tmp_path: Path) -> None:
    small(output=tmp_path / "base")
    path = tmp_path / "base" / "model.safetensors"
    config = json.loads((tmp_path / "base" / "config.json").read_text())
    del config["weights"]  # a digest, which older folders do not have
    (tmp_path / "base" / "config.json").write_text(json.dumps(config))
    (tmp_path / "base" / "digests.json").unlink()
    weights = read_weights(path)
    weights["decoder.0.feed_forward.outer.weight"][3, 3] = torch.nan
    write_weights(path, weights)

    with pytest.raises(ModelError, match=r"NaN or infinite in decoder.0.feed_forward.outer.weight"):
        train(toy.pairs(seed=8, count=60), base=tmp_path / "base", output=tmp_path / "mine", preset=None)
