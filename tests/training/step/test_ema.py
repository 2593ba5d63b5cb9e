"""The moving average of the weights: its definition, and where a run uses it."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any, cast

import pytest
import torch
from tests.training.small_runs import ALONE, Corpora, config, model, same, tokenizer, trainer
from tests.training.test_trainer import poison
from torch import Tensor, nn

from dragoman.base.errors import ModelError
from dragoman.models.folder.weights import read_weights, weights_of
from dragoman.models.lora import add_lora
from dragoman.training.checkpoints import whole as checkpoint
from dragoman.training.checkpoints.progress import Progress
from dragoman.training.data.tokenised import TokenisedCorpus
from dragoman.training.step.ema import MovingAverage, decay_of
from dragoman.training.step.optimizer import optimizers
from dragoman.training.step.update import Learner
from dragoman.training.trainer import Trainer
from dragoman.training.validation import Examiner

Weights = dict[str, Tensor]


def copied(weights: Any) -> Weights:
    return {name: weight.detach().clone() for name, weight in weights.items()}


def watched(run: Trainer) -> list[tuple[bool, Weights]]:
    """Whether each update was made, and the trained weights after it."""
    seen = []
    update = run.learner.update

    def watch(*args: Any, **options: Any) -> Any:
        made = update(*args, **options)
        seen.append((made.made, copied(weights_of(run.model))))
        return made

    run.learner.update = watch  # type: ignore[method-assign]
    return seen


def averages_of(run: Trainer) -> Weights:
    assert run.learner.ema is not None
    return copied(run.learner.ema.weights)


def reference(first: Weights, seen: list[tuple[bool, Weights]], decay: float) -> Weights:
    """The definition in float64, one weight at a time."""
    averages = {name: weight.double() for name, weight in first.items()}
    for step, (made, weights) in enumerate(seen, 1):
        d = min(decay, (1 + step) / (10 + step))
        if made:
            for name in averages:
                averages[name] = d * averages[name] + (1 - d) * weights[name].double()
    return averages


def test_at_first_the_decay_is_less() -> None:
    assert [decay_of(step, 0.9) for step in (1, 2, 80, 81, 500)] == [2 / 11, 3 / 12, 81 / 90, 0.9, 0.9]
    assert decay_of(10**9, 0.999) == 0.999


@pytest.mark.parametrize("optimizer", ["adam", "muon"])
def test_it_is_the_average_of_the_definition(optimizer: str, corpora: Corpora, tmp_path: Path) -> None:
    """Also where an update is skipped: that changes nothing."""
    options = config(ema=0.7, optimizer=optimizer, max_updates=12, validate_every=4)
    run = trainer(tmp_path, corpora, options=options)
    first, seen = copied(weights_of(run.model)), watched(run)
    poison(run, {6}, math.nan)

    run.train()

    assert [made for made, _ in seen] == [step != 6 for step in range(1, 13)]
    wanted = reference(first, seen, 0.7)
    for name, average in averages_of(run).items():
        assert average.dtype == torch.float32
        torch.testing.assert_close(average.double(), wanted[name], rtol=1e-5, atol=1e-6)


def test_it_is_validated_saved_and_kept(corpora: Corpora, tmp_path: Path) -> None:
    """The trained weights are those to resume from."""
    run = trainer(tmp_path, corpora, options=config(ema=0.7, average=1, max_updates=10))
    first, seen = copied(weights_of(run.model)), watched(run)

    run.train()

    for candidate in run.progress.history:
        wanted = reference(first, seen[: candidate.step], 0.7)
        saved = read_weights(run.checkpoints.step(candidate.step)) if candidate.step == 10 else None
        if saved is not None:
            for name, weight in saved.items():
                torch.testing.assert_close(weight.double(), wanted[name], rtol=1e-5, atol=1e-6)
        other = model(corpora[0].tokenizer)
        with torch.no_grad():
            for name, parameter in other.named_parameters():
                parameter.copy_(wanted[name])
        assert corpora[1] is not None
        examiner = Examiner(
            learner=Learner(other, config(), ALONE),
            valid={("aa", "bb"): cast(TokenisedCorpus, corpora[1])},
            translate=None,
        )
        assert candidate.loss == pytest.approx(examiner.loss_of(corpora[1]), rel=1e-5)
    assert same(read_weights(run.checkpoints.final), read_weights(run.checkpoints.step(10)))
    assert same(read_weights(run.checkpoints.final), averages_of(run))
    latest = run.checkpoints.latest
    assert same(read_weights(latest / "model.safetensors"), seen[-1][1])
    assert same(read_weights(latest / "ema.safetensors"), averages_of(run))
    assert not same(seen[-1][1], averages_of(run))


def test_without_it_there_is_no_file(corpora: Corpora, tmp_path: Path) -> None:
    run = trainer(tmp_path, corpora, options=config(max_updates=5))
    run.train()

    assert run.learner.ema is None
    assert "ema.safetensors" not in {path.name for path in run.checkpoints.latest.iterdir()}


def test_the_model_has_the_averages_for_a_while() -> None:
    net = model(tokenizer())
    ema = MovingAverage(net, 0.9)
    first = copied(weights_of(net))
    with torch.no_grad():
        for parameter in net.parameters():
            parameter.add_(1.0)
    trained = copied(weights_of(net))

    with pytest.raises(ZeroDivisionError), ema.in_place():
        assert same(copied(weights_of(net)), first)
        assert net.logits.weight is net.target_embedding.weight
        raise ZeroDivisionError  # as an error of a validation

    assert same(copied(weights_of(net)), trained)
    assert same(copied(ema.weights), first)


def test_frozen_weights_are_not_averaged() -> None:
    net = model(tokenizer())
    add_lora(net, rank=2, alpha=4.0)
    names = {name for name, parameter in net.named_parameters() if parameter.requires_grad}

    assert set(MovingAverage(net, 0.9).weights) == names
    assert 0 < len(names) < len(list(net.parameters()))


def shifted(net: nn.Module, by: float) -> MovingAverage:
    """An average that is not that of the weights."""
    ema = MovingAverage(net, 0.9)
    for average in ema.weights.values():
        average.add_(by)
    return ema


def test_a_checkpoint_brings_it_back(tmp_path: Path) -> None:
    net, other = model(tokenizer()), model(tokenizer(), seed=2)
    ema = shifted(net, 0.5)
    checkpoint.save(tmp_path / "latest", net, optimizers(net, config()), Progress(), ema)
    restored = MovingAverage(other, 0.9)

    checkpoint.restore(tmp_path / "latest", other, optimizers(other, config()), restored)

    assert same(copied(restored.weights), copied(ema.weights))
    assert same(copied(weights_of(other)), copied(weights_of(net)))


@pytest.mark.parametrize("fault", ["missing", "flipped", "nan", "of another model"])
def test_a_damaged_one_is_refused(fault: str, tmp_path: Path) -> None:
    net = model(tokenizer())
    ema = shifted(net if fault != "of another model" else model(tokenizer(), d_ff=32), 0.5)
    if fault == "nan":
        next(iter(ema.weights.values())).view(-1)[3] = math.nan
    checkpoint.save(tmp_path / "latest", net, optimizers(net, config()), Progress(), ema)
    path = tmp_path / "latest" / "ema.safetensors"
    if fault == "missing":
        path.unlink()
    if fault == "flipped":
        data = bytearray(path.read_bytes())
        data[-1] ^= 0x40
        path.write_bytes(data)
    other = model(tokenizer(), seed=2)
    before = copied(weights_of(other))

    with pytest.raises(ModelError, match=r"ema\.safetensors") as caught:
        checkpoint.restore(tmp_path / "latest", other, optimizers(other, config()), MovingAverage(other, 0.9))

    assert caught.value.hint
    assert same(copied(weights_of(other)), before)
