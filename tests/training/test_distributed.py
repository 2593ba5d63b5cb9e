"""Two processes train the same model as one."""

from __future__ import annotations

import json
import math
import os
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from tests.training.ranks import OPTIONS
from tests.training.runs import (
    ALONE,
    config,
    corpus,
    folder_of,
    metrics,
    model,
    moments,
    tokenizer,
    trainer,
    weights,
)

from dragoman.folder.weights import read_weights
from dragoman.training import distributed
from dragoman.training.tokenised import TokenisedCorpus
from dragoman.training.trainer import Trainer

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where two processes have trained."""
    folder = tmp_path_factory.mktemp("ranks")
    cut = tokenizer()
    corpus(folder / "train", 40, cut=cut)
    corpus(folder / "valid", 9, seed=5, cut=cut)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    shared = os.environ | {
        "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": str(port),
        "WORLD_SIZE": "2",
        "OMP_NUM_THREADS": "1",
        "CUDA_VISIBLE_DEVICES": "",
        "GLOO_SOCKET_IFNAME": "lo0" if sys.platform == "darwin" else "lo",
    }
    processes = [
        subprocess.Popen(
            [sys.executable, "-W", "error", "-m", "tests.training.ranks", str(folder)],
            cwd=ROOT,
            env=shared | {"RANK": str(rank), "LOCAL_RANK": str(rank)},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        for rank in range(2)
    ]
    try:
        said = [process.communicate(timeout=180)[0] for process in processes]
    finally:
        for process in processes:
            process.kill()
    assert [process.returncode for process in processes] == [0, 0], "\n".join(said)
    return folder


@pytest.fixture(scope="module")
def alone(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Trainer:
    """The same run in one process: two batches an update, one after the other, with the same dropout."""
    cut = tokenizer()
    corpora = (
        TokenisedCorpus(folder / "train", cut),
        TokenisedCorpus(folder / "valid", cut),
    )
    run = trainer(
        tmp_path_factory.mktemp("alone"),
        corpora,
        options=config(**OPTIONS, accumulate=2),
        net=model(cut).double(),
    )
    run.train()
    return run


def reports(folder: Path) -> list[dict[str, Any]]:
    return [json.loads((folder / f"report-{rank}.json").read_text()) for rank in range(2)]


def test_two_processes_train_the_model_that_one_does(folder: Path, alone: Trainer) -> None:
    for name in ("weights", "moments"):
        ours = weights(alone) if name == "weights" else moments(alone)
        theirs = read_weights(folder / f"{name}-0")
        assert ours.keys() == theirs.keys()
        for key, value in ours.items():
            torch.testing.assert_close(theirs[key], value, rtol=1e-10, atol=1e-12)


def test_both_processes_hold_the_same_model(folder: Path) -> None:
    moments = [read_weights(folder / f"moments-{rank}") for rank in range(2)]
    assert all(torch.equal(moments[0][name], moments[1][name]) for name in moments[0])
    final = read_weights(folder / "run" / "checkpoints" / "final.safetensors")
    for rank in range(2):
        own = read_weights(folder / f"weights-{rank}")
        assert all(torch.equal(final[name], own[name]) for name in final)


def test_metrics_are_written_once_and_count_all_processes(folder: Path, alone: Trainer) -> None:
    theirs, ours = metrics(folder / "run"), metrics(folder_of(alone))

    assert [(row["kind"], row["step"]) for row in theirs] == [(row["kind"], row["step"]) for row in ours]
    for one, other in zip(theirs, ours, strict=True):
        for key in one.keys() - {"kind", "bleu", "chrf", "best"}:
            assert one[key] == pytest.approx(other[key], rel=1e-9)


def test_a_signal_that_one_has_noticed_stops_both(folder: Path) -> None:
    for report in reports(folder):
        assert report["stopped"] == 3
        assert report["exit_code"] == 130


def test_what_the_processes_tell_each_other(folder: Path) -> None:
    for rank, report in enumerate(reports(folder)):
        assert (report["rank"], report["leads"]) == (rank, rank == 0)
        assert report["sum"] == [2, 10]
        assert report["greatest"] == 3
        assert report["shared"] | {"nan": 0} == {"from": 0, "text": "é\udc80", "nan": 0}
        assert math.isnan(report["shared"]["nan"])
        assert report["gathered"] == ["", "x"]
        assert (report["led"], report["own"]) == (0, rank)
        assert report["gradients"] == [[1, 2], [1, 1, 1]]


def test_each_process_draws_masks_of_its_own(folder: Path) -> None:
    first, second = reports(folder)

    assert first["mask"] != second["mask"]


# One process alone


def test_one_process_has_nobody_to_ask() -> None:
    values = torch.tensor([3, 4])
    parameter = torch.nn.Parameter(torch.zeros(2))

    assert ALONE.leads
    assert ALONE.sum(values) is values
    assert ALONE.greatest(values) is values
    assert ALONE.share("word") == "word"
    ALONE.sum_gradients([parameter])
    assert ALONE.leader_first(lambda: "word") == "word"
    assert parameter.grad is None


def test_without_torchrun_a_process_is_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("WORLD_SIZE", "RANK", "LOCAL_RANK"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)

    world = distributed.join()

    assert (world.rank, world.size, world.device) == (0, 1, torch.device("cpu"))
    distributed.leave()
