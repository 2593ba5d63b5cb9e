"""A disk without room for a checkpoint is noticed before training."""

from __future__ import annotations

import resource
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.training.small_runs import config, model, tokenizer

from dragoman.base.errors import TrainingError
from dragoman.training.checkpoints.progress import Progress
from dragoman.training.checkpoints.whole import check_space, checkpoint_bytes, save
from dragoman.training.step.optimizer import optimizers


@pytest.fixture
def small_disk() -> Iterator[None]:
    """No file may be larger than 100 kB, as if the disk had no more."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_FSIZE, before)


@pytest.mark.usefixtures("small_disk")
def test_what_does_not_fit_is_refused_with_its_size(tmp_path: Path) -> None:
    check_space(tmp_path, 99_000)
    with pytest.raises(TrainingError, match=r"no room for a checkpoint, 2\.0 MB") as caught:
        check_space(tmp_path, 2_000_000)

    assert "free some space" in caught.value.hint
    assert list(tmp_path.iterdir()) == []


def test_the_size_is_that_of_a_checkpoint(tmp_path: Path) -> None:
    net = model(tokenizer(), d_model=64, d_ff=128)
    both = optimizers(net, config())
    for parameter in net.parameters():
        parameter.grad = parameter.detach().clone()
    for one in both:
        one.step()
    save(tmp_path / "latest", net, both, Progress())
    written = sum(path.stat().st_size for path in (tmp_path / "latest").iterdir())

    assert checkpoint_bytes(net, config()) <= written <= 1.1 * checkpoint_bytes(net, config())


@pytest.mark.usefixtures("small_disk")
def test_the_first_checkpoint_promises_no_other(tmp_path: Path) -> None:
    net = model(tokenizer(), d_model=128, d_ff=256)
    with pytest.raises(TrainingError) as caught:
        save(tmp_path / "latest", net, [], Progress())

    assert "nothing was saved yet" in caught.value.hint
