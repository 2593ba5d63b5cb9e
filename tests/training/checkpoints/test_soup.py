"""The greedy soup, beside the means of all subsets."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
import torch
from tests.training.small_runs import Corpora, config, metrics, model, step_files, trainer
from torch import Tensor

from dragoman.base.errors import ConfigError
from dragoman.models.folder.weights import put_weights, read_weights
from dragoman.training.checkpoints.selection import greedy_soup

Losses = dict[frozenset[int], float]


def expected(order: list[int], losses: Losses) -> list[int]:
    """The algorithm on a table of the losses of all means."""
    chosen = order[:1]
    for step in order[1:]:
        if losses[frozenset([*chosen, step])] < losses[frozenset(chosen)]:
            chosen = [*chosen, step]
    return chosen


@pytest.mark.parametrize("seed", range(8))
def test_it_is_that_of_a_table_of_all_subsets(seed: int) -> None:
    generator = torch.Generator().manual_seed(seed)
    files = {step: {"w": torch.randn(3, generator=generator)} for step in range(5)}
    best = torch.randn(3, generator=generator) * 0.3

    def loss(weights: Mapping[str, Tensor]) -> float:
        return float((weights["w"] - best).square().sum())

    losses = {
        frozenset(steps): loss({"w": torch.stack([files[s]["w"] for s in steps]).double().mean(0).float()})
        for count in range(1, 6)
        for steps in itertools.combinations(files, count)
    }
    order = sorted(files, key=lambda step: losses[frozenset([step])])
    asked = []

    def measured(steps: list[int], mean: Callable[[], Mapping[str, Tensor]]) -> float:
        asked.append(loss(mean()))
        assert asked[-1] == pytest.approx(losses[frozenset(steps)], rel=1e-5)
        return asked[-1]

    chosen = greedy_soup(order, read=lambda step: files[step], loss_of=measured)

    assert chosen == expected(order, losses)
    assert losses[frozenset(chosen)] <= min(losses[frozenset([step])] for step in order)
    assert len(asked) == 5


def test_the_seeds_of_the_test_above_differ_in_what_they_keep() -> None:
    """Otherwise it would not tell this algorithm from one that takes all, or one."""
    sizes = set()
    for seed in range(8):
        generator = torch.Generator().manual_seed(seed)
        files = [torch.randn(3, generator=generator) for _ in range(5)]
        best = torch.randn(3, generator=generator) * 0.3
        losses = {
            frozenset(s): float((torch.stack([files[i] for i in s]).mean(0) - best).square().sum())
            for n in range(1, 6)
            for s in itertools.combinations(range(5), n)
        }
        order = sorted(range(5), key=lambda step: losses[frozenset([step])])
        sizes.add(len(expected(order, losses)))
    assert len(sizes) >= 3


def test_a_process_that_does_not_lead_reads_nothing() -> None:
    """It gets the same losses, and takes the same decisions."""
    losses = iter([3.0, 2.0, 2.5, 1.0])

    def read(_: int) -> Mapping[str, Tensor]:
        raise AssertionError

    assert greedy_soup([7, 5, 9, 1], read=read, loss_of=lambda *_: next(losses)) == [7, 5, 1]


def test_without_a_loss_that_is_a_number_it_is_the_first() -> None:
    assert greedy_soup([7, 5], read=lambda _: {}, loss_of=lambda *_: math.nan) == [7]


@pytest.mark.parametrize("ema", [0.0, 0.8])
def test_a_run_keeps_the_soup_of_its_checkpoints(ema: float, corpora: Corpora, tmp_path: Path) -> None:
    options = config(average_of="soup", average=4, max_updates=25, learning_rate=0.05, ema=ema)
    run = trainer(tmp_path, corpora, options=options)

    finished = run.train()

    files = {step: read_weights(run.checkpoints.step(step)) for step in step_files(tmp_path)}
    by_loss = sorted(run.progress.history, key=lambda candidate: candidate.loss or 0)[:4]
    assert sorted(candidate.step for candidate in by_loss) == sorted(files)
    net = run.model
    losses: Losses = {}
    for count in range(1, 5):
        for steps in itertools.combinations(files, count):
            mean = {
                name: torch.stack([files[s][name].double() for s in steps]).mean(0)
                for name in files[steps[0]]
            }
            put_weights(net, {name: weight.float() for name, weight in mean.items()}, "a mean")
            loss = run.examiner.validation_loss()
            assert loss is not None
            losses[frozenset(steps)] = loss
    chosen = expected([candidate.step for candidate in by_loss], losses)
    assert finished.loss == pytest.approx(losses[frozenset(chosen)], rel=1e-6)
    final = read_weights(run.checkpoints.final)
    for name, weight in final.items():
        mean_of = torch.stack([files[step][name].double() for step in chosen]).mean(0)
        torch.testing.assert_close(weight, mean_of.float(), rtol=1e-6, atol=1e-7)
    rows = [row for row in metrics(tmp_path) if row["kind"] == "soup"]
    assert [row["of"][-1] for row in rows] == [candidate.step for candidate in by_loss]


def test_a_soup_needs_validation_text(corpora: Corpora, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match='average_of = "soup" needs validation text') as caught:
        trainer(
            tmp_path, (corpora[0], None), options=config(average_of="soup"), net=model(corpora[0].tokenizer)
        )
    assert "--valid" in caught.value.hint
