"""When a checkpoint that is written by a thread takes the place of the last one."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from threading import Event
from typing import Any

import pytest
import torch
import torch.distributed as dist
from tests.training.small_runs import ALONE, config, model, tokenizer

from dragoman.base.errors import Elsewhere, TrainingError
from dragoman.models.folder.weights import read_weights, weights_of
from dragoman.training.checkpoints.paths import Checkpoints
from dragoman.training.checkpoints.progress import Candidate, Progress
from dragoman.training.checkpoints.saving import FAILED, WRITING, Saver
from dragoman.training.checkpoints.shards import Snapshot
from dragoman.training.processes.sharded import Shards
from dragoman.training.step import update
from dragoman.training.step.update import Learner


@pytest.fixture(scope="module", autouse=True)
def group() -> Iterator[None]:
    dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    yield
    dist.destroy_process_group()


class Shared(Learner):
    """A learner of one process that treats its weights as shared ones."""

    def __init__(self) -> None:
        super().__init__(model(tokenizer()), config(average=1), ALONE)
        self._shards = Shards(self._objective, ALONE, "fp32")
        self.trained = self._shards.model
        self.optimizers = update.optimizers(self.trained, config())


@pytest.fixture
def saver(tmp_path: Path) -> Saver:
    return Saver(checkpoints=Checkpoints(tmp_path), learner=Shared())


@pytest.fixture
def gate(monkeypatch: pytest.MonkeyPatch) -> Iterator[Event]:
    """Nothing is written until it is set."""
    gate, write = Event(), Snapshot.write

    def wait(snapshot: Snapshot, folder: Path) -> None:
        gate.wait(60)
        write(snapshot, folder)

    monkeypatch.setattr(Snapshot, "write", wait)
    yield gate
    gate.set()


def progress(step: int) -> Progress:
    return Progress(step=step, history=[Candidate(step=step, score=float(step))])


def test_training_goes_on_while_a_checkpoint_is_written(saver: Saver, gate: Event) -> None:
    with saver.learner.whole():
        weights = weights_of(saver.learner.model)
    saver.save(progress(1), weights=weights)

    assert saver.state == WRITING
    saver.complete(WRITING)
    assert not saver.checkpoints.latest.exists()
    gate.set()
    saver.finish()
    assert saver.state == 0
    assert saver.checkpoints.progress().step == 1
    written = read_weights(saver.checkpoints.step(1))
    assert written.keys() == weights.keys()
    assert all(torch.equal(written[name], weights[name]) for name in weights)
    assert [path.name for path in saver.checkpoints.folder.glob("step-*")] == ["step-0000001.safetensors"]


def test_the_last_checkpoint_stays_until_all_processes_have_written(saver: Saver, gate: Event) -> None:
    gate.set()
    saver.save(progress(1))
    saver.finish()
    saver.save(progress(2))
    assert saver._writing is not None
    saver._writing.join()

    saver.complete(WRITING)  # another process has not finished
    assert saver.checkpoints.progress().step == 1
    saver.complete(0)
    assert saver.checkpoints.progress().step == 2
    assert {path.name for path in saver.checkpoints.folder.iterdir()} == {"latest"}


def test_a_process_that_cannot_write_says_so(saver: Saver, monkeypatch: pytest.MonkeyPatch) -> None:
    saver.save(progress(1))
    saver.finish()

    def full(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Snapshot, "write", full)
    saver.save(progress(2))
    with pytest.raises(TrainingError, match="the checkpoint cannot be written.*No space left") as caught:
        saver.finish()

    assert "free some space" in caught.value.hint
    assert saver.checkpoints.progress().step == 1


def test_the_others_stop_too(saver: Saver, gate: Event) -> None:
    saver.save(progress(1))
    gate.set()

    with pytest.raises(Elsewhere, match="a process of this run could not write"):
        saver.complete(FAILED)
    assert not saver.checkpoints.latest.exists()


def test_what_was_saved_is_restored(saver: Saver, tmp_path: Path) -> None:
    assert saver.restore() is None
    saver.save(progress(7))
    saver.finish()

    plain = Saver(
        checkpoints=saver.checkpoints,
        learner=Learner(model(tokenizer(), seed=9), config(), ALONE),
    )
    restored = plain.restore()
    assert restored is not None
    assert restored.step == 7
    with saver.learner.whole():
        for (name, ours), (_, theirs) in zip(
            saver.learner.model.named_parameters(), plain.learner.model.named_parameters(), strict=True
        ):
            assert torch.equal(ours, theirs), name
