"""Training with rounded weights: `training.quantise`."""

from __future__ import annotations

import copy
import signal
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from tests.training.small_runs import ALONE, Corpora, config, corpus, model, same, tokenizer, trainer, weights
from tests.training.step.test_update import batch

from dragoman.base.errors import Interrupted
from dragoman.models.folder.int8 import rounded_to_int8
from dragoman.models.folder.weights import put_weights, read_weights, weights_of
from dragoman.models.transformer import Transformer
from dragoman.training.step.update import Learner


@pytest.fixture(scope="module")
def corpora(tmp_path_factory: pytest.TempPathFactory) -> Corpora:
    folder, cut = tmp_path_factory.mktemp("text"), tokenizer()
    return corpus(folder / "train", cut=cut), corpus(folder / "valid", 8, seed=1, cut=cut)


def rounded_copy(net: Transformer) -> Transformer:
    """A model whose own weights are the rounded ones."""
    other = copy.deepcopy(net)
    with rounded_to_int8(net):
        put_weights(other, weights_of(net), "rounded")
    return other


@pytest.mark.parametrize("precision", ["fp32", "bf16"])
def test_the_gradient_is_that_of_the_rounded_weights(precision: Any) -> None:
    """Straight through; added up over two batches. The update starts from the weights before rounding."""
    net = model(tokenizer(), dropout=0.3)
    other, own = rounded_copy(net), copy.deepcopy(net)
    gradients: list[list[torch.Tensor]] = []
    for one, quantise in ((net, "int8"), (other, None)):
        learner = Learner(one, config(quantise=quantise, precision=precision), ALONE)
        learner.optimizers[0].register_step_pre_hook(
            lambda *_, one=one: gradients.append([p.grad.clone() for p in one.parameters()])
        )
        learner.update([batch(), batch()], 1, seed=3)

    assert all(map(torch.equal, *gradients))
    rate = config().rate(1, 16)
    for after, before, gradient in zip(net.parameters(), own.parameters(), gradients[0], strict=True):
        clear = gradient.abs() > 1e-4  # Adam's first step is the sign of the gradient
        step = (-rate * gradient.sign())[clear]
        torch.testing.assert_close((after - before)[clear], step, rtol=1e-3, atol=1e-6)


def test_validation_scores_the_rounded_weights(corpora: Corpora, tmp_path: Path) -> None:
    net = model(tokenizer())
    plain = trainer(tmp_path / "plain", corpora, net=rounded_copy(net))
    run = trainer(tmp_path / "run", corpora, net=net, options=config(quantise="int8"))
    own = weights(run)
    assert corpora[1] is not None

    assert run.examiner.validation_loss() == plain.examiner.validation_loss()
    assert run.examiner.loss_of(corpora[1]) == plain.examiner.loss_of(corpora[1])
    assert same(weights(run), own)


def test_tuning_recovers_what_rounding_costs(corpora: Corpora, tmp_path: Path) -> None:
    """A weight that nothing reads is so large that it leaves a few steps to all others of its matrix.

    The loss is that of the training text, which so small a model learns in a second.
    """
    cut = tokenizer()
    trained, long = model(cut, dropout=0.0, tie="none"), config(max_updates=150, batch_tokens=200)
    trainer(tmp_path / "first", corpora, net=trained, options=long).train()
    with torch.no_grad():
        for embedding in (trained.source_embedding, trained.target_embedding):
            embedding.weight[cut.pad_id, 0] = 60
    losses = []
    for quantise in (None, "int8"):
        options = replace(long, quantise=quantise, max_updates=60, average=1)
        run = trainer(tmp_path / str(quantise), corpora, net=copy.deepcopy(trained), options=options)
        run.train()
        exported = trainer(tmp_path / f"{quantise}-8", corpora, net=rounded_copy(run.model))
        losses.append(exported.examiner.loss_of(corpora[0]))

    assert losses[1] < 0.8 * losses[0]


def test_a_stop_within_an_update_saves_the_weights_before_rounding(corpora: Corpora, tmp_path: Path) -> None:
    options = config(quantise="int8", accumulate=2)
    run = trainer(tmp_path, corpora, options=options)
    own, calls = weights(run), iter([0] * 3 + [signal.SIGINT] * 9)
    run.stop = lambda: next(calls)

    with pytest.raises(Interrupted, match="update 0"):
        run.train()

    assert same(read_weights(run.checkpoints.latest / "model.safetensors"), own)
