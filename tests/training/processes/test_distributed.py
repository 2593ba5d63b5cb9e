"""Two processes train the same model as one."""

from __future__ import annotations

import json
import math
import os
import shutil
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from tests.training.ranks import AVERAGED, LONG, MUON, run_of, stop_at
from tests.training.small_runs import (
    ALONE,
    Corpora,
    corpus,
    folder_of,
    metrics,
    moments,
    tokenizer,
    weights,
)

from dragoman.models.folder.weights import read_weights
from dragoman.training.data.tokenised import TokenisedCorpus
from dragoman.training.processes import distributed
from dragoman.training.step.optimizer import StackedMuon
from dragoman.training.trainer import Trainer

ROOT = Path(__file__).parents[3]


def launch(folder: Path, task: str, count: int) -> None:
    """Run `tests.training.ranks` in several processes."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    shared = os.environ | {
        "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": str(port),
        "WORLD_SIZE": str(count),
        "OMP_NUM_THREADS": "1",
        "CUDA_VISIBLE_DEVICES": "",
        "GLOO_SOCKET_IFNAME": "lo0" if sys.platform == "darwin" else "lo",
    }
    processes = [
        subprocess.Popen(
            [sys.executable, "-W", "error", "-m", "tests.training.ranks", str(folder), task],
            cwd=ROOT,
            env=shared | {"RANK": str(rank), "LOCAL_RANK": str(rank)},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        for rank in range(count)
    ]
    try:
        said = [process.communicate(timeout=600)[0] for process in processes]
    finally:
        for process in processes:
            process.kill()
    assert [process.returncode for process in processes] == [0] * count, "\n".join(said)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where two processes have trained."""
    folder = tmp_path_factory.mktemp("ranks")
    cut = tokenizer()
    corpus(folder / "train", 40, cut=cut)
    corpus(folder / "valid", 9, seed=5, cut=cut)
    launch(folder, "two", 2)
    return folder


@pytest.fixture(scope="module")
def corpora(folder: Path) -> Corpora:
    cut = tokenizer()
    return TokenisedCorpus(folder / "train", cut), TokenisedCorpus(folder / "valid", cut)


@pytest.fixture(scope="module")
def alone(corpora: Corpora, tmp_path_factory: pytest.TempPathFactory) -> Trainer:
    """The same run in one process: two batches an update, one after the other, with the same dropout."""
    run = run_of(tmp_path_factory.mktemp("alone"), corpora, ALONE, accumulate=2)
    run.train()
    return run


def reports(folder: Path) -> list[dict[str, Any]]:
    return [json.loads((folder / f"report-{rank}.json").read_text()) for rank in range(2)]


def check_equal(folder: Path, name: str, alone: Trainer, rtol: float = 1e-10, atol: float = 1e-12) -> None:
    """Whether processes trained the model that one trained: weights, moments and every measurement."""
    for kind, ours in (("weights", weights(alone)), ("moments", moments(alone))):
        theirs = read_weights(folder / f"{name}-{kind}-0")
        assert ours.keys() == theirs.keys()
        for key, value in ours.items():
            torch.testing.assert_close(theirs[key], value, rtol=rtol, atol=atol)
    theirs, ours = metrics(folder / name), metrics(folder_of(alone))
    assert [(row["kind"], row["step"]) for row in theirs] == [(row["kind"], row["step"]) for row in ours]
    for one, other in zip(theirs, ours, strict=True):
        for key in one.keys() - {"kind", "bleu", "chrf", "best"}:
            assert one[key] == pytest.approx(other[key], rel=max(rtol, 1e-9))


@pytest.mark.thorough
@pytest.mark.parametrize("name", ["replicated", "sharded"])
def test_two_processes_train_the_model_that_one_does(name: str, folder: Path, alone: Trainer) -> None:
    check_equal(folder, name, alone)


@pytest.mark.thorough
@pytest.mark.parametrize("parallel", ["replicated", "sharded"])
def test_two_processes_average_the_weights_that_one_does(
    parallel: str, folder: Path, corpora: Corpora, tmp_path: Path
) -> None:
    """Each of those that share the weights averages its rows. All choose the same soup."""
    run = run_of(tmp_path, corpora, ALONE, accumulate=2, **AVERAGED)
    run.train()

    check_equal(folder, f"averaged-{parallel}", run)
    rows = [row for row in metrics(folder / f"averaged-{parallel}") if row["kind"] == "soup"]
    assert [row["of"] for row in rows] == [row["of"] for row in metrics(tmp_path) if row["kind"] == "soup"]
    assert len(rows) == 3


@pytest.mark.thorough
@pytest.mark.parametrize("name", ["muon", "muon-replicated"])
def test_two_processes_train_with_muon(name: str, folder: Path, corpora: Corpora, tmp_path: Path) -> None:
    """Muon may round to bfloat16, so that a difference in the last digit grows."""
    run = run_of(tmp_path, corpora, ALONE, accumulate=2, **MUON)
    run.train()

    assert isinstance(run.learner.optimizers[0], StackedMuon)
    check_equal(folder, name, run, rtol=1e-3, atol=1e-4)


@pytest.mark.thorough
@pytest.mark.parametrize("name", ["replicated", "sharded", "muon"])
def test_both_processes_hold_the_same_model(name: str, folder: Path) -> None:
    moments = [read_weights(folder / f"{name}-moments-{rank}") for rank in range(2)]
    assert all(torch.equal(moments[0][key], moments[1][key]) for key in moments[0])
    final = read_weights(folder / name / "checkpoints" / "final.safetensors")
    for rank in range(2):
        own = read_weights(folder / f"{name}-weights-{rank}")
        assert all(torch.equal(final[key], own[key]) for key in final)


@pytest.mark.thorough
def test_each_process_holds_about_half_of_shared_weights(folder: Path, alone: Trainer) -> None:
    parameters = sum(weight.numel() for weight in weights(alone).values())
    rows = [report["rows"] for report in reports(folder)]

    assert sum(rows) == parameters
    assert max(rows) < 0.55 * parameters


@pytest.mark.thorough
def test_a_run_is_resumed_in_other_numbers_of_processes(
    folder: Path, corpora: Corpora, tmp_path: Path
) -> None:
    """With the same order of the text and the same dropout, and each from the files of the others."""
    whole = run_of(tmp_path / "whole", corpora, ALONE, **(LONG | {"accumulate": 4}))
    whole.train()
    shutil.copytree(folder / "second", tmp_path / "second")

    # Two processes, then one, then four that share the weights.
    run = run_of(folder / "first", corpora, ALONE, **LONG)
    assert run.resume()
    assert run.progress.step == 3
    stop_at(run, 5)
    launch(folder, "four", 4)
    check_equal(folder, "first", whole)
    # Two that share the weights, then four.
    check_equal(folder, "second", whole)
    # Two that share the weights, then one.
    run = run_of(tmp_path / "second", corpora, ALONE, **LONG)
    assert run.resume()
    run.train()
    for key, value in weights(whole).items():
        torch.testing.assert_close(weights(run)[key], value, rtol=1e-10, atol=1e-12)


@pytest.mark.thorough
def test_processes_that_share_weights_write_a_file_each(folder: Path) -> None:
    files = reports(folder)[0]

    assert files["first"] == [
        *(f"{part}.safetensors" for part in ("ema", "model", "optimizer")),
        "progress.json",
    ]
    assert files["second"] == [
        "progress.json",
        *(f"shard-0000{rank}-of-00002.{end}" for rank in range(2) for end in ("json", "safetensors")),
    ]


@pytest.mark.thorough
def test_a_signal_that_one_has_noticed_stops_both(folder: Path) -> None:
    for report in reports(folder):
        assert report["stopped"] == 3
        assert report["exit_code"] == 130


@pytest.mark.thorough
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


@pytest.mark.thorough
def test_each_process_draws_masks_of_its_own(folder: Path) -> None:
    first, second = reports(folder)

    assert first["mask"] != second["mask"]


# One process alone


def test_one_process_has_nobody_to_ask() -> None:
    values = torch.tensor([3, 4])
    parameter = torch.nn.Parameter(torch.zeros(2))

    assert ALONE.leads
    assert ALONE.sum(values) is values
    assert ALONE.greatest(3, 4) == [3, 4]
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
    distributed.leave(world)
