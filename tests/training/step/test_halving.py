"""Without memory for a batch, its parts give the same update."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import pytest
import torch
from tests.training.small_runs import (
    ALONE,
    Corpora,
    Recorder,
    config,
    corpus,
    model,
    moments,
    same,
    tokenizer,
    trainer,
    weights,
)
from tests.training.step.test_update import batch
from torch import Tensor

from dragoman.base.errors import TrainingError
from dragoman.models.transformer import Transformer
from dragoman.training.data.batches import Batch
from dragoman.training.options import TrainingConfig
from dragoman.training.step.halving import fitting, halves
from dragoman.training.step.update import Learner, Update

CPU = RuntimeError(
    "[enforce fail] DefaultCPUAllocator: can't allocate memory: you tried to allocate 9 bytes."
)
ERRORS = [CPU, MemoryError(), torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB.")]


@pytest.fixture
def corpora(tmp_path: Path) -> Corpora:
    return corpus(tmp_path / "train"), None


def fail_above(learner: Learner, rows: int, where: str, error: Exception = CPU) -> list[int]:
    """Have batches of more rows run out of memory. Return a list that gets the rows of every attempt."""
    seen: list[int] = []
    objective = learner.objective

    def limited(one: Batch) -> tuple[Tensor, Tensor]:
        seen.append(len(one))
        too_many = len(one) > rows
        if too_many and where == "forward":
            raise error
        loss, nll = objective(one)
        if too_many:  # when the output layer already has its gradient, and the embeddings have not
            states = next(iter(learner.model.encoder.parameters()))

            def fail(gradient: Tensor) -> None:
                handle.remove()
                raise error

            handle = states.register_hook(fail)
        return loss, nll

    learner.objective = limited  # type: ignore[method-assign]
    return seen


def learner_of(net: Transformer, **options: Any) -> Learner:
    return Learner(net, config(schedule="paper", learning_rate=None, **options), ALONE)


@pytest.mark.parametrize("where", ["forward", "backward"])
@pytest.mark.parametrize(
    "options", [{}, {"consistency": 2.0}, {"alignment_weight": 0.05}, {"optimizer": "muon"}]
)
@pytest.mark.parametrize("rows", [20, 7, 1])
def test_the_update_is_the_same(rows: int, options: dict[str, Any], where: str) -> None:
    """In float64 and without dropout, also if the failed attempt had computed some of the gradients."""
    net = model(tokenizer(), dropout=0.0, decoder_layers=2).double()
    whole, halved = (learner_of(one, **options) for one in (net, copy.deepcopy(net)))
    seen = fail_above(halved, rows, where)
    one, other = halves(batch(), pad_id=0)
    batches = [one, other, batch()]

    updates: list[Update] = [x.update(batches, 1, seed=1) for x in (whole, halved)]

    assert max(seen) > rows
    assert min(seen) <= rows
    assert updates[1].loss == pytest.approx(updates[0].loss, rel=1e-12)
    assert updates[1].gradient_norm == pytest.approx(updates[0].gradient_norm, rel=1e-10)
    assert (updates[0].note, updates[1].notes) == ("", 1)
    for (name, a), b in zip(whole.model.named_parameters(), halved.model.parameters(), strict=True):
        torch.testing.assert_close(a, b, rtol=1e-9, atol=1e-11, msg=name)


def test_halves_hold_every_pair_once() -> None:
    whole = batch()
    parts = list(fitting(whole, whole.slots / 5, pad_id=0))

    assert len(parts) >= 6
    assert sum(part.tokens for part in parts) == whole.tokens
    assert sum(map(len, parts)) == len(whole)
    assert all(part.slots <= whole.slots / 5 for part in parts)
    assert all(part.tokens == int((part.predict_BT != 0).sum()) for part in parts)
    shapes = [(part.source_BS.shape[1], part.predict_BT.shape[1]) for part in parts]
    assert all(int(part.source_len_B.max()) == s for part, (s, _) in zip(parts, shapes, strict=True))


@pytest.mark.parametrize("error", ERRORS, ids=["cpu", "python", "gpu"])
def test_one_warning_then_batches_are_halved_at_once(
    error: Exception, corpora: Corpora, tmp_path: Path
) -> None:
    run = trainer(tmp_path, corpora, options=config(batch_tokens=200, max_updates=6))
    seen = fail_above(run.learner, 10, "forward", error)
    run.train()

    assert isinstance(run.observer, Recorder)
    first, second = run.observer.messages
    assert first.startswith("update 1: out of memory with a batch of ")
    assert "training.batch_tokens=" in second
    assert sum(rows > 10 for rows in seen) <= 3  # not again in each update


def test_with_dropout_a_halved_update_is_a_function_of_the_seed(corpora: Corpora, tmp_path: Path) -> None:
    """And equals that of a run which halved from the start."""
    runs = [trainer(tmp_path / str(n), corpora, options=config(batch_tokens=200)) for n in range(3)]
    for run, where in zip(runs, ("forward", "backward", None), strict=True):
        if where is not None:
            fail_above(run.learner, 10, where)
    batches = next(runs[0]._epoch())
    for run in runs:
        runs[2].learner.largest.most = runs[0].learner.largest.most
        run.learner.update(batches, 1, seed=7)

    assert len(batches[0]) > 10
    assert same(weights(runs[0]), weights(runs[1]))
    assert same(weights(runs[0]), weights(runs[2]))
    assert same(moments(runs[0]), moments(runs[2]))


def test_a_single_pair_without_memory_ends_the_run(corpora: Corpora, tmp_path: Path) -> None:
    run = trainer(tmp_path, corpora)
    before = weights(run)
    fail_above(run.learner, 0, "forward")

    with pytest.raises(
        TrainingError, match=r"update 1: out of memory with a single pair of \d+ source"
    ) as one:
        run.train()

    assert "data.filter.max_length" in one.value.hint
    assert same(weights(run), before)


def test_other_errors_are_not_taken_for_lack_of_memory() -> None:
    learner = learner_of(model(tokenizer()))
    fail_above(learner, 0, "forward", RuntimeError("mat1 and mat2 shapes cannot be multiplied"))

    with pytest.raises(RuntimeError, match="mat1"):
        learner.update([batch()], 1, seed=1)


def test_an_update_without_lack_of_memory_has_no_note() -> None:
    learner = Learner(model(tokenizer()), TrainingConfig(), ALONE)

    assert learner.update([batch()], 1, seed=1).notes == 0
