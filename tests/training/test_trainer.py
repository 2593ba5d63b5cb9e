"""The training loop: what an update is, what is reported, what is averaged, and when a run ends."""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Callable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from tests.training.small_runs import (
    Corpora,
    Recorder,
    config,
    metrics,
    model,
    moments,
    same,
    step_files,
    stop_after,
    trainer,
    weights,
)
from torch import Tensor
from torch.nn import functional

from dragoman.base.errors import ConfigError, Interrupted, TrainingError
from dragoman.cli.display import plain
from dragoman.models.folder.weights import read_weights, weights_of
from dragoman.models.transformer import Transformer
from dragoman.training.checkpoints import selection
from dragoman.training.data.batches import Batch, collate, plan
from dragoman.training.data.tokenised import TokenisedCorpus
from dragoman.training.trainer import Trainer
from dragoman.training.validation import Examiner, Scored

HAS_BF16 = torch.cpu.get_capabilities().get("avx512_bf16") or torch.cpu.get_capabilities().get("amx_bf16")


def bleus(*scores: float) -> Callable[[Any], Scored]:
    """A stand-in for translating the validation text: these scores, one after the other."""
    rest: Iterator[float] = iter(scores)
    return lambda _: Scored(bleu=next(rest), chrf=1.0)


# One update


def all_pairs(train: TokenisedCorpus) -> tuple[list[list[int]], list[list[int]]]:
    return [[side[row].tolist() for row in range(len(train))] for side in (train.source, train.target)]  # type: ignore[return-value]


def reference_updates(net: Transformer, train: TokenisedCorpus, updates: int, smoothing: float) -> None:
    """Full-batch training in plain PyTorch: mean label-smoothed cross-entropy, Adam, eq. 3."""
    source, target = all_pairs(train)
    batch = collate(source, target, pad_id=0, start_id=1, end_id=2)
    adam = torch.optim.Adam(net.parameters(), betas=(0.9, 0.98), eps=1e-9)
    for step in range(1, updates + 1):
        logits_BTV = net(batch.source_BS, batch.source_len_B, batch.target_BT)
        loss = functional.cross_entropy(
            logits_BTV.flatten(0, 1), batch.predict_BT.flatten(), ignore_index=0, label_smoothing=smoothing
        )
        adam.param_groups[0]["lr"] = 16**-0.5 * min(step**-0.5, step * 4**-1.5)
        adam.zero_grad()
        loss.backward()
        adam.step()


@pytest.mark.parametrize(("batch_tokens", "accumulate"), [(100_000, 1), (100_000, 2), (64, 7), (9, 60)])
def test_updates_are_those_of_one_big_batch_in_plain_pytorch(
    batch_tokens: int, accumulate: int, corpora: Corpora, tmp_path: Path
) -> None:
    """Also accumulated over batches of different size: all of the corpus makes one update."""
    options = config(
        batch_tokens=batch_tokens,
        accumulate=accumulate,
        max_updates=3,
        schedule="paper",
        learning_rate=None,
        label_smoothing=0.1,
    )
    net, reference = (
        model(corpora[0].tokenizer, dropout=0.0).double(),
        model(corpora[0].tokenizer, dropout=0.0),
    )
    run = trainer(tmp_path, (corpora[0], None), options=options, net=net)

    run.train()
    reference_updates(reference.double(), corpora[0], 3, 0.1)

    assert run.progress.epoch == 3 or run.progress.cursor == 1  # an update was an epoch
    for name, weight in read_weights(run.checkpoints.step(3)).items():
        torch.testing.assert_close(weight, weights_of(reference)[name], rtol=1e-11, atol=1e-12)


def test_a_batch_of_another_size_weighs_by_its_tokens(corpora: Corpora, tmp_path: Path) -> None:
    """The mean over all tokens of an update, not the mean of the batches' means."""
    train = corpora[0]
    source, target = all_pairs(train)
    ids = {"pad_id": 0, "start_id": 1, "end_id": 2}
    batches = [collate(source[:1], target[:1], **ids), collate(source[1:], target[1:], **ids)]
    runs = [
        trainer(tmp_path / str(i), corpora, net=model(train.tokenizer, dropout=0.0).double())
        for i in range(2)
    ]

    runs[0]._update(batches)
    runs[1]._update([collate(source, target, **ids)])

    for name, weight in weights(runs[0]).items():
        torch.testing.assert_close(weight, weights(runs[1])[name], rtol=1e-12, atol=1e-12)


def test_gradients_are_clipped_to_the_norm_asked_for(corpora: Corpora, tmp_path: Path) -> None:
    seen: list[float] = []

    def look(optimizer: torch.optim.Optimizer, *_: Any) -> None:
        parameters = optimizer.param_groups[0]["params"]
        seen.append(float(torch.stack([p.grad.norm() for p in parameters]).norm()))

    for clip in (0.0, 0.01, 1e6):
        run = trainer(tmp_path / str(clip), corpora, options=config(clip=clip, max_updates=2, log_every=1))
        run.learner.optimizers[0].register_step_pre_hook(look)
        run.train()

    norms = [row["gradient_norm"] for row in metrics(tmp_path / "0.01") if row["kind"] == "train"]
    assert seen[0] == pytest.approx(seen[4]) == pytest.approx(norms[0], rel=1e-5)  # reported as it was
    assert seen[2:4] == pytest.approx([0.01, 0.01], rel=1e-3)
    assert min(norms) > 0.1


def test_the_learning_rate_is_the_schedule_s(corpora: Corpora, tmp_path: Path) -> None:
    run = trainer(tmp_path, corpora, options=config(max_updates=6, log_every=1))
    used: list[float] = []
    run.learner.optimizers[0].register_step_pre_hook(
        lambda optimizer, *_: used.append(optimizer.param_groups[0]["lr"])
    )

    run.train()

    wanted = [0.0025, 0.005, 0.0075, 0.01, 0.01 * (4 / 5) ** 0.5, 0.01 * (4 / 6) ** 0.5]
    assert used == pytest.approx(wanted)
    rows = [row for row in metrics(tmp_path) if row["kind"] == "train"]
    assert [row["learning_rate"] for row in rows] == pytest.approx(wanted)


def test_weight_decay_is_decoupled(corpora: Corpora, tmp_path: Path) -> None:
    """AdamW: with no gradient to speak of, weights shrink by the rate times the decay."""
    options = config(weight_decay=0.5, learning_rate=0.1, warmup=1, max_updates=1)
    run = trainer(tmp_path, corpora, options=options)
    before = weights(run)
    for parameter in run.model.parameters():
        parameter.register_hook(torch.zeros_like)

    run.train()

    after = read_weights(run.checkpoints.step(1))
    for name, weight in after.items():
        torch.testing.assert_close(weight, before[name] * (1 - 0.1 * 0.5))


def test_a_run_is_a_function_of_its_seed(corpora: Corpora, tmp_path: Path) -> None:
    runs = [trainer(tmp_path / str(number), corpora) for number in range(3)]
    runs[2].seed = 8
    for run in runs:
        torch.manual_seed(np.random.default_rng().integers(1000))  # what else was drawn does not matter
        run.train()

    assert same(weights(runs[0]), weights(runs[1]))
    assert metrics(tmp_path / "0") == metrics(tmp_path / "1")
    assert not same(weights(runs[0]), weights(runs[2]))


def test_every_update_draws_masks_of_its_own(corpora: Corpora, tmp_path: Path) -> None:
    drawn: list[int] = []
    for seed in (7, 8):
        run = trainer(tmp_path / str(seed), corpora)
        run.seed = seed
        run.learner.optimizers[0].register_step_pre_hook(lambda *_: drawn.append(torch.initial_seed()))
        run.train()

    assert len(set(drawn)) == 40


def test_it_learns(corpora: Corpora, tmp_path: Path) -> None:
    run = trainer(tmp_path, corpora, options=config(max_updates=60, validate_every=10))
    run.train()

    losses = [entry.loss for entry in run.progress.history]
    assert losses[-1] < losses[0] - 0.1
    rows = [row["nll"] for row in metrics(tmp_path) if row["kind"] == "train"]
    assert rows[-1] < rows[0] - 0.3


def test_every_pair_is_seen_once_an_epoch(corpora: Corpora, tmp_path: Path) -> None:
    train = corpora[0]
    run = trainer(tmp_path, corpora, options=config(max_updates=100, max_epochs=2, accumulate=2))
    seen: list[tuple[int, ...]] = []
    objective = run.learner.objective

    def look(batch: Any) -> Any:
        if run.model.training:
            rows = zip(batch.source_BS.tolist(), batch.source_len_B.tolist(), strict=True)
            seen.extend(tuple(row[: length - 1]) for row, length in rows)
        return objective(batch)

    run.learner.objective = look  # type: ignore[method-assign]
    run.train()

    every = sorted(tuple(row) for row in all_pairs(train)[0])
    assert sorted(seen[:40]) == sorted(seen[40:]) == every
    assert seen[:40] != seen[40:]
    assert run.progress.tokens == 2 * (int(train.target.lengths.sum()) + 40)


# What is reported


def test_metrics_are_what_they_are_called(corpora: Corpora, tmp_path: Path) -> None:
    """Of three updates, against sums over their batches."""
    seen: list[tuple[float, float, Any]] = []
    options = config(max_updates=3, log_every=3, accumulate=2, learning_rate=0.02)
    run = trainer(tmp_path, corpora, options=options)
    objective = run.learner.objective

    def look(batch: Any) -> Any:
        loss, nll = objective(batch)
        if run.model.training:
            seen.append((float(loss.detach()), float(nll), batch))
        return loss, nll

    run.learner.objective = look  # type: ignore[method-assign]
    run.train()

    (row,) = [row for row in metrics(tmp_path) if row["kind"] == "train"]
    tokens = sum(batch.tokens for _, _, batch in seen)
    slots = sum(batch.source_BS.numel() + batch.predict_BT.numel() for _, _, batch in seen)
    real = tokens + sum(int(batch.source_len_B.sum()) for _, _, batch in seen)
    assert (row["step"], row["epoch"], row["tokens"]) == (3, 0, tokens)
    assert row["loss"] == pytest.approx(sum(loss for loss, _, _ in seen) / tokens)
    assert row["nll"] == pytest.approx(sum(nll for _, nll, _ in seen) / tokens)
    assert row["perplexity"] == pytest.approx(math.exp(row["nll"]))
    assert row["padding"] == pytest.approx(1 - real / slots)


def test_validation_is_the_mean_over_tokens_without_smoothing_or_dropout(
    corpora: Corpora, tmp_path: Path
) -> None:
    run = trainer(tmp_path, corpora, options=config(max_updates=5, label_smoothing=0.3))
    run.train()

    assert corpora[1] is not None
    source, target = all_pairs(corpora[1])
    batch = collate(source, target, pad_id=0, start_id=1, end_id=2)
    net = model(corpora[0].tokenizer).eval()
    net.load_state_dict(read_weights(run.checkpoints.step(5)), strict=False)
    with torch.no_grad():
        logits_BTV = net(batch.source_BS, batch.source_len_B, batch.target_BT)
    wanted = functional.cross_entropy(logits_BTV.flatten(0, 1), batch.predict_BT.flatten(), ignore_index=0)
    (entry,) = run.progress.history
    assert entry.loss == pytest.approx(float(wanted), rel=1e-5)
    assert entry.perplexity == pytest.approx(math.exp(float(wanted)), rel=1e-5)
    assert entry.score == -entry.loss


def test_the_observer_hears_everything_that_is_written(corpora: Corpora, tmp_path: Path) -> None:
    recorder = Recorder()
    run = trainer(tmp_path, corpora, observer=recorder, translate=bleus(1, 3, 2, 4, 5))

    run.train()

    rows = [json.loads(line) for line in (tmp_path / "metrics.jsonl").read_text().splitlines()]
    assert [{"kind": "train", **asdict(report)} for report in recorder.reports] == [
        row for row in rows if row["kind"] == "train"
    ]
    assert [v.step for v in recorder.validations] == [5, 10, 15, 20]
    assert [v.bleu for v in recorder.validations] == [1, 3, 2, 4]
    losses = [v.loss for v in recorder.validations]
    best = [loss < min(losses[:n], default=math.inf) for n, loss in enumerate(losses)]
    assert [v.best for v in recorder.validations] == best
    (end,) = recorder.ends
    assert (end.step, end.tokens) == (20, run.progress.tokens)
    assert end.best_step == 5 * (losses.index(min(losses)) + 1)


def test_without_validation_text_there_is_no_validation_loss(corpora: Corpora, tmp_path: Path) -> None:
    recorder = Recorder()
    run = trainer(tmp_path, (corpora[0], None), observer=recorder)

    finished = run.train()

    assert [v.loss for v in recorder.validations] == [None] * 4
    assert [v.perplexity for v in recorder.validations] == [None] * 4
    assert not any(v.best for v in recorder.validations)
    assert recorder.ends[0].best_step is None
    assert "best" not in plain.finished(recorder.ends[0])[0]
    assert finished.loss is None
    assert step_files(tmp_path) == [15, 20]  # the last are the best


# Updates that fail


def poison(run: Trainer, updates: set[int], value: float = math.nan) -> None:
    """Has the gradient of those updates be no number."""

    def spoil(gradient: Tensor) -> Tensor:
        return gradient * value if run.progress.step + 1 in updates else gradient

    next(iter(run.model.parameters())).register_hook(spoil)


@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_a_gradient_that_is_not_finite_leaves_the_update_out(
    value: float, corpora: Corpora, tmp_path: Path
) -> None:
    run = trainer(tmp_path, corpora, options=config(max_updates=2, clip=1.0))
    poison(run, {2}, value)
    stop_after(run, 1)
    with pytest.raises(Interrupted):
        run.train()
    before, before_moments = weights(run), moments(run)

    run.stop = lambda: 0
    run.train()

    after = read_weights(run.checkpoints.step(2))
    assert same(before, after)
    assert same(moments(run), before_moments)
    assert isinstance(run.observer, Recorder)
    (message,) = run.observer.messages
    assert message.startswith("update 2 skipped: the gradient is not finite (batch 1 of 1, lines ")
    assert run.progress.step == 2  # it counts, so the schedule and the batches go on


def poison_objective(run: Trainer, row: int) -> None:
    """The loss of each batch that has this row of the corpus is NaN, but its gradient is 0."""
    objective = run.learner.objective

    def spoil(batch: Batch) -> tuple[Tensor, Tensor]:
        loss, nll = objective(batch)
        return (loss * 0 + math.nan * (loss.detach() * 0 + 1) if row in batch.rows else loss), nll

    run.learner.objective = spoil  # type: ignore[method-assign]


def test_a_loss_that_is_not_finite_names_batch_and_lines_and_changes_nothing(
    corpora: Corpora, tmp_path: Path
) -> None:
    run = trainer(tmp_path, corpora, options=config(accumulate=3, max_updates=40, max_epochs=1, log_every=1))
    poison_objective(run, 17)
    seen: list[tuple[list[Batch], dict[str, Tensor]]] = []
    update = run.learner.update

    def watch(batches: list[Batch], *args: Any, **options: Any) -> Any:
        seen.append((batches, weights(run)))
        return update(batches, *args, **options)

    run.learner.update = watch  # type: ignore[method-assign]
    run.train()

    ((step, number, batch),) = [
        (step, number, batch)
        for step, (batches, _) in enumerate(seen, 1)
        for number, batch in enumerate(batches, 1)
        if 17 in batch.rows
    ]
    lines = sorted(batch.rows + 1)
    assert len(lines) > 3
    assert isinstance(run.observer, Recorder)
    assert run.observer.messages == [
        f"update {step} skipped: the loss is not finite (batch {number} of 3, lines "
        f"{lines[0]}, {lines[1]}, {lines[2]} and {len(lines) - 3} more of pairs)"
    ]
    after = seen[step][1] if step < len(seen) else weights(run)
    assert same(seen[step - 1][1], after) or step == len(seen)
    rows = [row for row in metrics(tmp_path) if row["kind"] == "train"]
    assert step not in [row["step"] for row in rows]
    assert len(rows) == len(seen) - 1


def test_a_gradient_names_the_batch_that_it_comes_from(corpora: Corpora, tmp_path: Path) -> None:
    """Each batch alone has a finite loss, and the gradient of the second is infinite."""
    run = trainer(tmp_path, corpora, options=config(accumulate=4, max_updates=1))
    objective = run.learner.objective
    batches = next(run._epoch())

    def spoil(batch: Batch) -> tuple[Tensor, Tensor]:
        loss, nll = objective(batch)
        if batch.rows.tolist() == batches[1].rows.tolist():
            loss.register_hook(lambda gradient: gradient * math.inf)
        return loss, nll

    run.learner.objective = spoil  # type: ignore[method-assign]

    assert run.learner.update(batches, 1, seed=7).blamed == (1,)


def test_no_line_of_the_metrics_has_a_number_that_json_lacks(
    corpora: Corpora, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also if the validation loss is not finite; then that checkpoint is never the best."""
    run = trainer(tmp_path, corpora, options=config(max_updates=15))
    poison(run, {2, 3, 4, 9})
    loss = Examiner._loss
    monkeypatch.setattr(
        Examiner, "_loss", lambda self, *some: math.nan if run.progress.step == 10 else loss(self, *some)
    )
    run.train()

    def refuse(word: str) -> None:
        raise AssertionError(word)

    lines = (tmp_path / "metrics.jsonl").read_text().splitlines()
    rows = [json.loads(line, parse_constant=refuse) for line in lines]
    (row,) = [row for row in rows if row["kind"] == "valid" and row["step"] == 10]
    assert (row["loss"], row["score"], row["best"]) == (None, None, False)
    assert [one.score for one in run.metrics.validations()][1] == -math.inf
    assert isinstance(run.observer, Recorder)
    assert "update 10: the validation loss is not finite" in run.observer.messages
    assert all(math.isfinite(report.loss) for report in run.observer.reports)


def test_ten_in_a_row_end_the_run(corpora: Corpora, tmp_path: Path) -> None:
    run = trainer(tmp_path, corpora)
    assert not run.resume()
    poison(run, set(range(4, 100)))

    with pytest.raises(
        TrainingError, match=r"update 13: .* The last checkpoint is whole \(update 10\)"
    ) as caught:
        run.train()

    assert "training.clip=1.0" in caught.value.hint
    before = weights(run)
    again = trainer(tmp_path, corpora, options=config(clip=1.0, max_updates=12))
    assert again.resume()
    assert same(weights(again), before)
    assert again.progress.step == 10


def test_weights_that_are_not_finite_are_not_saved(corpora: Corpora, tmp_path: Path) -> None:
    run = trainer(tmp_path, corpora)
    assert not run.resume()
    run.learner.optimizers[0].register_step_post_hook(
        lambda *_: run.model.logits.weight.data[0].fill_(math.inf) if run.progress.step == 7 else None
    )

    with pytest.raises(TrainingError, match=r"not finite. The last checkpoint is whole \(update 5\)"):
        run.train()

    again = trainer(tmp_path, corpora)
    assert again.resume()
    assert again.progress.step == 5


def test_nine_in_a_row_do_not(corpora: Corpora, tmp_path: Path) -> None:
    run = trainer(tmp_path, corpora)
    poison(run, {*range(2, 11), *range(12, 20)})

    run.train()

    assert run.progress.step == 20
    assert run.progress.skipped == 0


def test_the_count_goes_on_over_a_stop(corpora: Corpora, tmp_path: Path) -> None:
    run = trainer(tmp_path, corpora)
    run.resume()
    poison(run, set(range(1, 100)))
    stop_after(run, 6)
    with pytest.raises(Interrupted):
        run.train()

    again = trainer(tmp_path, corpora)
    again.resume()
    poison(again, set(range(1, 100)))
    with pytest.raises(TrainingError, match="update 10"):
        again.train()


# When a run ends


def test_max_epochs(corpora: Corpora, tmp_path: Path) -> None:
    run = trainer(tmp_path, corpora, options=config(max_epochs=2, max_updates=1000))

    run.train()

    groups = [
        len(plan(corpora[0].source.lengths, corpora[0].target.lengths, batch_tokens=32, seed=7, epoch=epoch))
        for epoch in range(2)
    ]
    assert run.progress.step == sum(groups)
    assert run.progress.history[-1].step == sum(groups)


def test_the_time_left_counts_epochs_once_one_is_complete(corpora: Corpora, tmp_path: Path) -> None:
    options = config(max_epochs=4, max_updates=100_000, validate_every=1000, log_every=1)
    run = trainer(tmp_path, corpora, options=options)

    run.train()

    reports = run.observer.reports  # type: ignore[attr-defined]
    assert [one.epoch for one in reports][-1] == 3
    for one in reports:
        if one.epoch:
            left = one.seconds * (len(reports) - one.step) / one.step
            assert one.eta_seconds == pytest.approx(left, rel=0.2, abs=one.seconds * 3 / one.step)


def test_max_minutes(corpora: Corpora, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With a clock that goes on by a second each time it is looked at."""
    seconds = itertools.count()
    monkeypatch.setattr("dragoman.training.trainer.time.monotonic", lambda: float(next(seconds)))
    run = trainer(tmp_path, corpora, options=config(max_minutes=0.5, max_updates=1000, validate_every=1000))

    run.train()

    assert run.progress.step == pytest.approx(30 / 2, abs=2)  # an update looks twice
    assert 30 <= run.progress.seconds < 35


def test_time_spent_before_a_stop_counts(corpora: Corpora, tmp_path: Path) -> None:
    run = trainer(tmp_path, corpora)
    run.resume()
    stop_after(run, 3)
    with pytest.raises(Interrupted):
        run.train()
    again = trainer(tmp_path, corpora, options=config(max_minutes=run.progress.seconds / 61))
    again.resume()

    assert again.progress.seconds == run.progress.seconds > 0
    assert again.done()


@pytest.mark.parametrize(
    ("patience", "scores", "end"),
    [
        (2, [1, 5, 4, 3, 9], 20),
        (2, [1, 5, 4, 6, 5, 4, 9], 30),
        (1, [3, 2, 9], 10),
        (1, [3, 3, 9], 10),  # as good is not better
        (0, [3, 2, 1, 1, 1, 1, 1, 1], 40),
    ],
)
def test_patience(patience: int, scores: list[float], end: int, corpora: Corpora, tmp_path: Path) -> None:
    options = config(patience=patience, stop_on="bleu", max_updates=40)
    run = trainer(tmp_path, corpora, options=options, translate=bleus(*scores, *[0] * 9))

    run.train()

    assert run.progress.step == end


def test_patience_by_loss(corpora: Corpora, tmp_path: Path) -> None:
    """A rate so high that the validation loss soon gets worse."""
    options = config(patience=3, max_updates=400, learning_rate=0.3, warmup=1, validate_every=3)
    run = trainer(tmp_path, corpora, options=options)

    run.train()

    losses = [entry.loss for entry in run.progress.history]
    assert run.progress.step < 400
    assert losses.index(min(losses)) == len(losses) - 1 - 3


def test_bleu_needs_something_to_translate(corpora: Corpora, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="stop_on") as caught:
        trainer(tmp_path, corpora, options=config(stop_on="bleu"))

    assert caught.value.hint


def test_a_validation_that_gives_no_number_is_never_the_best(corpora: Corpora, tmp_path: Path) -> None:
    options = config(stop_on="bleu", average=1, patience=3)
    run = trainer(tmp_path, corpora, options=options, translate=bleus(math.nan, 2, 3, 1, 0))

    run.train()

    assert selection.best_candidate(run.progress.history).step == 15
    assert run.progress.step == 20


# Averages


@pytest.mark.parametrize(
    ("average_of", "average", "chosen", "kept"),
    [
        ("last", 1, [20], [15, 20]),
        ("last", 3, [10, 15, 20], [10, 15, 20]),
        ("last", 9, [5, 10, 15, 20], [5, 10, 15, 20]),
        ("best", 1, [15], [15]),
        ("best", 2, [5, 15], [5, 15]),
        ("best", 3, [5, 15, 20], [5, 15, 20]),
    ],
)
def test_the_average_takes_the_last_or_the_best(
    average_of: str, average: int, chosen: list[int], kept: list[int], corpora: Corpora, tmp_path: Path
) -> None:
    options = config(stop_on="bleu", average_of=average_of, average=average)
    # Validations at 5, 10, 15 and 20, then that of the average.
    run = trainer(tmp_path, corpora, options=options, translate=bleus(30, 10, 40, 20, 99))

    finished = run.train()
    final = read_weights(run.checkpoints.final)

    assert step_files(tmp_path) == kept
    files = [read_weights(run.checkpoints.step(step)) for step in chosen]
    for name, weight in final.items():
        mean = torch.stack([file[name].double() for file in files]).mean(0)
        torch.testing.assert_close(weight, mean.float(), rtol=1e-7, atol=0)
    assert finished.bleu == 99
    wanted = f"average of {len(chosen)}" if len(chosen) > 1 else f"update {chosen[0]}"
    assert wanted in finished.outcome


def test_the_best_is_kept_where_it_validates_better_than_the_average(
    corpora: Corpora, tmp_path: Path
) -> None:
    options = config(stop_on="bleu", average=2)
    run = trainer(tmp_path, corpora, options=options, translate=bleus(30, 40, 10, 20, 39))

    finished = run.train()
    final = read_weights(run.checkpoints.final)

    assert same(final, read_weights(run.checkpoints.step(10)))
    assert finished.bleu == 40
    assert "update 10" in finished.outcome
    rows = [row for row in metrics(tmp_path) if row["kind"] == "average"]
    assert [row["bleu"] for row in rows] == [39]


def test_files_of_another_run_of_updates_are_cleared_away(corpora: Corpora, tmp_path: Path) -> None:
    run = trainer(tmp_path, corpora, options=config(max_updates=10))
    (tmp_path / "checkpoints").mkdir()
    (tmp_path / "checkpoints" / "step-0000007.safetensors").write_bytes(b"left over")

    run.train()

    assert step_files(tmp_path) == [5, 10]
