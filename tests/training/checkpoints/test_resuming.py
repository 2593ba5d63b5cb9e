"""Stopping and going on: a resumed run is, bit for bit, one that was never stopped."""

from __future__ import annotations

import errno
import itertools
import json
import os
import signal
import time
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import torch
from tests.training.small_runs import (
    TIMES,
    Corpora,
    config,
    corpus,
    folder_of,
    history,
    metrics,
    model,
    moments,
    pairs,
    same,
    step_files,
    stop_after,
    tokenizer,
    trainer,
    weights,
)

from dragoman.base.errors import ConfigError, DataError, Interrupted, ModelError, TrainingError
from dragoman.text.corpora.corpus import open_pairs
from dragoman.text.corpora.filter import FilterConfig
from dragoman.text.tokenizers.tokenizer import TokenizerConfig
from dragoman.training.checkpoints import saving
from dragoman.training.checkpoints import whole as checkpoint
from dragoman.training.checkpoints.paths import Checkpoints
from dragoman.training.data.batches import plan
from dragoman.training.data.tokenised import TokenisedCorpus, tokenise
from dragoman.training.processes.distributed import World
from dragoman.training.trainer import Trainer
from dragoman.training.validation import Scored

HAS_BF16 = torch.cpu.get_capabilities().get("avx512_bf16") or torch.cpu.get_capabilities().get("amx_bf16")

needs_bf16 = pytest.mark.skipif(not HAS_BF16, reason="this processor has no bf16")


def updates_in_an_epoch(train: TokenisedCorpus, batch_tokens: int = 32) -> int:
    return len(plan(train.source.lengths, train.target.lengths, batch_tokens=batch_tokens, seed=7, epoch=0))


def run_with_stops(folder: Path, corpora: Corpora, stops: list[int], **options: Any) -> Trainer:
    """A run that is stopped after those updates, each time taken up by a new process, as it were."""
    for number, step in enumerate([*stops, None]):
        # What is taken up finds its weights in the folder, whatever was drawn.
        net = model(corpora[0].tokenizer, seed=1 + number)
        run = trainer(folder, corpora, options=config(**options), net=net)
        assert run.resume() == (number > 0)
        torch.manual_seed(number + 50)
        if step is None:
            run.train()
            return run
        stop_after(run, step, signal.SIGINT)
        with pytest.raises(Interrupted, match=f"stopped at update {step}") as caught:
            run.train()
        assert caught.value.hint
    raise AssertionError


@pytest.fixture(scope="module")
def whole(corpora: Corpora, tmp_path_factory: pytest.TempPathFactory) -> Trainer:
    """A run that was never stopped, to compare others with."""
    return run_with_stops(tmp_path_factory.mktemp("whole"), corpora, [])


def counts(run: Trainer) -> dict[str, Any]:
    return {k: v for k, v in vars(run.progress).items() if k not in (*TIMES, "history", "totals")}


def check_equal(one: Trainer, other: Trainer) -> None:
    assert same(weights(one), weights(other))
    assert same(moments(one), moments(other))
    assert history(one) == history(other)
    assert counts(one) == counts(other)
    assert metrics(folder_of(one)) == metrics(folder_of(other))
    assert step_files(folder_of(one)) == step_files(folder_of(other))
    for name in [*(f"step-{step:07d}" for step in step_files(folder_of(one))), "final"]:
        path = f"{name}.safetensors"
        assert (one.checkpoints.folder / path).read_bytes() == (other.checkpoints.folder / path).read_bytes()


@pytest.mark.parametrize(
    "stops",
    [[1], [4], [5], [7], [13], [20], [3, 4, 11]],
    ids=lambda stops: "stopped at " + ", ".join(map(str, stops)),
)
def test_resuming_equals_never_having_stopped(
    stops: list[int], whole: Trainer, corpora: Corpora, tmp_path: Path
) -> None:
    """Bit for bit, in the middle of an epoch, of a window of metrics, at a validation, with dropout."""
    resumed = run_with_stops(tmp_path / "resumed", corpora, stops)

    epoch = updates_in_an_epoch(corpora[0])
    assert 5 < epoch < 13  # the stops fall in the first epoch and in the second
    check_equal(resumed, whole)


@needs_bf16
def test_resuming_in_bf16(corpora: Corpora, tmp_path: Path) -> None:
    options = {"precision": "bf16", "accumulate": 2}
    whole = run_with_stops(tmp_path / "whole", corpora, [], **options)

    resumed = run_with_stops(tmp_path / "resumed", corpora, [2, 11], **options)

    assert whole.learner.precision == "bf16"
    check_equal(resumed, whole)


@pytest.mark.parametrize("average_of", ["last", "soup"])
def test_resuming_with_a_moving_average(average_of: str, corpora: Corpora, tmp_path: Path) -> None:
    options = {"ema": 0.8, "average_of": average_of, "optimizer": "muon"}
    whole = run_with_stops(tmp_path / "whole", corpora, [], **options)
    other = run_with_stops(tmp_path / "other", corpora, [], **{**options, "ema": 0.0})

    resumed = run_with_stops(tmp_path / "resumed", corpora, [2, 5, 13], **options)

    check_equal(resumed, whole)
    assert resumed.learner.ema is not None
    assert whole.learner.ema is not None
    assert same(dict(resumed.learner.ema.weights), dict(whole.learner.ema.weights))
    latest = [run.checkpoints.latest / "model.safetensors" for run in (whole, other)]
    assert latest[0].read_bytes() == latest[1].read_bytes()  # it does not change what is learnt
    assert not same(weights(whole), weights(other))


def test_resuming_with_rounded_weights(corpora: Corpora, tmp_path: Path) -> None:
    options = {"quantise": "int8", "accumulate": 2, "ema": 0.8}
    whole = run_with_stops(tmp_path / "whole", corpora, [], **options)

    resumed = run_with_stops(tmp_path / "resumed", corpora, [2, 5, 13], **options)

    check_equal(resumed, whole)


@pytest.mark.parametrize("precision", ["fp32", pytest.param("bf16", marks=needs_bf16)])
def test_resuming_with_a_head_that_learns_to_align(precision: str, corpora: Corpora, tmp_path: Path) -> None:
    options = {"alignment_weight": 0.5, "accumulate": 2, "precision": precision, "max_updates": 8}
    whole = run_with_stops(tmp_path / "whole", corpora, [], **options)
    other = run_with_stops(tmp_path / "other", corpora, [], **{**options, "alignment_weight": 0.0})

    resumed = run_with_stops(tmp_path / "resumed", corpora, [2, 5], **options)

    check_equal(resumed, whole)
    assert not same(weights(whole), weights(other))


def test_resuming_after_a_kill_before_old_weights_were_deleted(
    whole: Trainer, corpora: Corpora, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between the last checkpoint and the deletion of weights that no average needs any more."""

    def killed(checkpoints: Checkpoints, kept: object) -> None:
        if checkpoints.progress().step == whole.progress.step:
            raise KeyboardInterrupt
        prune(checkpoints, kept)  # type: ignore[arg-type]

    prune = Checkpoints.prune
    monkeypatch.setattr(Checkpoints, "prune", killed)
    with pytest.raises(KeyboardInterrupt):
        run_with_stops(tmp_path / "run", corpora, [])
    left = step_files(tmp_path / "run")
    monkeypatch.undo()

    resumed = trainer(tmp_path / "run", corpora, options=config(), net=model(corpora[0].tokenizer))
    assert resumed.resume()
    resumed.train()

    assert len(left) == len(step_files(folder_of(whole))) + 1
    check_equal(resumed, whole)


def test_resuming_at_the_end_of_an_epoch(whole: Trainer, corpora: Corpora, tmp_path: Path) -> None:
    epoch = updates_in_an_epoch(corpora[0])
    resumed = run_with_stops(tmp_path / "resumed", corpora, [epoch, epoch + 1])

    check_equal(resumed, whole)


def test_resuming_with_subword_sampling(tmp_path: Path) -> None:
    cut = tokenizer(TokenizerConfig(vocab_size=50, byte_fallback=False, sampling=0.4))
    train, valid = corpus(tmp_path / "train", 40, cut=cut), corpus(tmp_path / "valid", 9, seed=5, cut=cut)
    whole = run_with_stops(tmp_path / "whole", (train, valid), [], batch_tokens=64, log_every=1)

    resumed = run_with_stops(tmp_path / "resumed", (train, valid), [3, 12], batch_tokens=64, log_every=1)

    assert whole.progress.epoch > 0
    check_equal(resumed, whole)


@pytest.mark.parametrize("sampling", [0.0, 0.4])
def test_resuming_with_placeholders(sampling: float, tmp_path: Path) -> None:
    cut = tokenizer(TokenizerConfig(vocab_size=50, byte_fallback=False, sampling=sampling, placeholders=3))
    copying = [
        (f"{source} {{{n % 7}}}", f"{{{n % 7}}} {target}") for n, (source, target) in enumerate(pairs())
    ]
    tokenise(open_pairs(copying), cut, FilterConfig(), tmp_path / "train")
    train = TokenisedCorpus(tmp_path / "train", cut, placeholders=0.5)
    valid = corpus(tmp_path / "valid", 9, seed=5, cut=cut)
    whole = run_with_stops(tmp_path / "whole", (train, valid), [], batch_tokens=64, log_every=1)

    resumed = run_with_stops(tmp_path / "resumed", (train, valid), [3, 12], batch_tokens=64, log_every=1)

    assert whole.progress.epoch > 0
    check_equal(resumed, whole)


class Crash(Exception):
    """The power went."""


@pytest.mark.parametrize("step", [2, 6, 12, 18])
@pytest.mark.parametrize("moment", ["on_report", "on_validation", "write_weights", "save"])
def test_a_run_that_crashed_goes_on_from_its_last_checkpoint(
    step: int, moment: str, whole: Trainer, corpora: Corpora, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Anywhere: after metrics were written, between the two files of a validation."""
    crashed = trainer(tmp_path / "resumed", corpora)
    crashed.resume()

    owner = {"on_report": crashed.observer, "on_validation": crashed.observer, "write_weights": saving}
    real = getattr(owner.get(moment, checkpoint), moment)

    def fail_or_do(*args: Any) -> None:
        if crashed.progress.step >= step:
            raise Crash
        real(*args)

    monkeypatch.setattr(owner.get(moment, checkpoint), moment, fail_or_do)
    with pytest.raises(Crash):
        crashed.train()
    monkeypatch.undo()
    with (tmp_path / "resumed" / "metrics.jsonl").open("a") as file:
        file.write('{"kind": "train", "st')  # cut short
    resumed = trainer(tmp_path / "resumed", corpora)
    resumed.resume()
    resumed.train()

    check_equal(resumed, whole)


def test_a_finished_run_is_found_finished(corpora: Corpora, whole: Trainer, tmp_path: Path) -> None:
    first = run_with_stops(tmp_path, corpora, [])

    again = trainer(tmp_path, corpora, net=model(corpora[0].tokenizer, seed=77))

    assert again.resume()
    assert again.progress.finished
    assert again.done()
    assert again.progress == first.progress
    again.train()  # finishing again changes nothing
    check_equal(again, whole)


def test_a_finished_run_can_be_made_longer(corpora: Corpora, whole: Trainer, tmp_path: Path) -> None:
    """As if it had been that long from the start: what it averaged is not what it goes on from."""
    for max_updates in (10, 20):
        run = trainer(tmp_path, corpora, options=config(max_updates=max_updates))
        run.resume()
        run.train()

    check_equal(run, whole)


def test_a_run_being_made_longer_is_not_finished(corpora: Corpora, tmp_path: Path) -> None:
    run = trainer(tmp_path, corpora, options=config(max_updates=5))
    run.resume()
    run.train()
    longer = trainer(tmp_path, corpora, options=config(max_updates=20))
    longer.resume()
    stop_after(longer, 8)
    with pytest.raises(Interrupted):
        longer.train()

    again = trainer(tmp_path, corpora)
    again.resume()
    assert not again.progress.finished


def test_other_text_is_refused(corpora: Corpora, tmp_path: Path) -> None:
    run = trainer(tmp_path / "run", corpora)
    run.resume()
    stop_after(run, 2)
    with pytest.raises(Interrupted):
        run.train()
    other = corpus(tmp_path / "other", 40, seed=1, cut=corpora[0].tokenizer)

    with pytest.raises(DataError, match="began with other training text") as caught:
        trainer(tmp_path / "run", (other, corpora[1])).resume()

    assert caught.value.hint


def test_processes_that_cannot_share_an_update_equally_are_refused(corpora: Corpora, tmp_path: Path) -> None:
    run = trainer(tmp_path, corpora, options=config(accumulate=4))
    run.resume()
    stop_after(run, 2)
    with pytest.raises(Interrupted):
        run.train()

    three = trainer(tmp_path, corpora, options=config(accumulate=4), world=World(0, 3, torch.device("cpu")))
    with pytest.raises(ConfigError, match="an update of this run has 4 batches, which 3 processes") as caught:
        three.resume()
    assert "may be 1, 2, 4" in caught.value.hint
    two = trainer(tmp_path, corpora, options=config(accumulate=4), world=World(1, 2, torch.device("cpu")))
    assert two.resume()


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_sets_the_exit_code(number: int, code: int, corpora: Corpora, tmp_path: Path) -> None:
    run = trainer(tmp_path, corpora)
    run.resume()
    stop_after(run, 1, number)

    with pytest.raises(Interrupted) as caught:
        run.train()

    assert caught.value.exit_code == code


def test_a_stop_within_an_update_goes_back_to_the_one_before(corpora: Corpora, tmp_path: Path) -> None:
    """An update of thousands of batches may take minutes. It is made anew, bit for bit."""
    options = config(accumulate=3, max_updates=8, batch_tokens=16)
    whole, stopped = (trainer(tmp_path / name, corpora, options=options) for name in ("whole", "stopped"))
    whole.resume()
    whole.train()
    stopped.resume()
    asked = 0

    def stop() -> int:
        nonlocal asked
        asked += stopped.progress.step == 4  # after update 4, before each batch that is read, or computed
        return signal.SIGTERM if asked >= 6 else 0

    stopped.stop = stop
    with pytest.raises(Interrupted, match="stopped at update 4"):
        stopped.train()
    again = trainer(tmp_path / "stopped", corpora, options=options, net=model(corpora[0].tokenizer, seed=9))
    again.resume()
    again.train()

    check_equal(again, whole)


def test_a_validation_before_a_stop_takes_its_time(corpora: Corpora, tmp_path: Path) -> None:
    """Its checkpoint is written before the next update, so the time has to be in it."""

    def slow(model: object) -> Scored:
        time.sleep(0.2)
        return Scored(bleu=1.0, chrf=1.0)

    options = config(stop_on="loss")
    for step in (5, 10, 15, None):
        run = trainer(tmp_path, corpora, options=options, translate=slow)
        run.resume()
        if step is None:
            run.train()
        else:
            stop_after(run, step)
            with pytest.raises(Interrupted):
                run.train()
    lines = map(json.loads, (tmp_path / "metrics.jsonl").read_text().splitlines())
    elapsed = [line["elapsed"] for line in lines if line["kind"] == "valid" and "elapsed" in line]

    assert len(elapsed) == 4
    assert all(later - earlier >= 0.2 for earlier, later in pairwise(elapsed))
    (finished,) = run.observer.ends  # type: ignore[attr-defined]
    assert finished.seconds >= 5 * 0.2  # with that of the average


def test_weights_that_are_gone_still_count_for_patience(corpora: Corpora, tmp_path: Path) -> None:
    options = config(stop_on="bleu", max_updates=200, average=3, patience=4)

    def worse() -> Callable[[object], Scored]:
        scores = itertools.count(100, -1)
        return lambda model: Scored(bleu=float(next(scores)), chrf=1.0)

    run = trainer(tmp_path, corpora, options=options, translate=worse())
    run.resume()
    run.train()
    assert run.progress.step == 25
    run.checkpoints.step(20).unlink()

    again = trainer(tmp_path, corpora, options=options, translate=worse())
    again.resume()
    again.train()
    assert again.progress.step == 25
    assert [candidate.step for candidate in again.progress.candidates] == [5, 15, 25]


def test_weights_that_cannot_be_opened_are_not_deleted(
    corpora: Corpora, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = trainer(tmp_path, corpora)
    run.resume()
    run.train()
    before = step_files(tmp_path)
    path = run.checkpoints.step(before[-1])
    opened = Path.open

    def busy(self: Path, *arguments: Any, **options: Any) -> Any:
        if self == path:
            raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))
        return opened(self, *arguments, **options)

    monkeypatch.setattr(Path, "open", busy)
    again = trainer(tmp_path, corpora)
    again.resume()
    with pytest.raises(ModelError, match="Too many open files"):
        again.train()

    assert step_files(tmp_path) == before


@pytest.mark.parametrize("fault", ["gone", "damaged"])
def test_weights_that_are_gone_are_noticed_when_a_run_is_resumed(
    corpora: Corpora, tmp_path: Path, caplog: pytest.LogCaptureFixture, fault: str
) -> None:
    run = trainer(tmp_path, corpora)
    run.resume()
    stop_after(run, 12)
    with pytest.raises(Interrupted):
        run.train()
    assert step_files(tmp_path) == [5, 10]
    path = run.checkpoints.step(10)
    if fault == "gone":
        path.unlink()
    else:
        path.write_bytes(path.read_bytes()[:-1] + b"\0")

    again = trainer(tmp_path, corpora)
    again.resume()
    again.train()
    assert "the weights of update 10 are gone" in caplog.text
    assert 10 not in [candidate.step for candidate in again.progress.candidates]
    assert again.checkpoints.final.exists()


@pytest.mark.parametrize("gone", [20, 25])
def test_the_average_does_without_weights_that_are_gone(
    corpora: Corpora, tmp_path: Path, caplog: pytest.LogCaptureFixture, gone: int
) -> None:
    """Older ones, which were deleted when they were no longer needed, do not take their place."""
    options = config(max_updates=25, average=2)
    run = trainer(tmp_path, corpora, options=options)
    run.resume()
    run.train()
    assert {20, 25} <= set(step_files(tmp_path)) < {5, 10, 15, 20, 25}
    run.checkpoints.step(gone).unlink()
    run.checkpoints.final.unlink()

    again = trainer(tmp_path, corpora, options=options)
    again.resume()
    again.train()
    assert f"the weights of update {gone} are gone" in caplog.text
    assert again.checkpoints.final.exists()


def test_a_finished_run_without_weights_says_so(corpora: Corpora, tmp_path: Path) -> None:
    run = trainer(tmp_path, corpora, options=config(max_updates=5))
    run.resume()
    run.train()
    for step in step_files(tmp_path):
        run.checkpoints.step(step).unlink()

    again = trainer(tmp_path, corpora, options=config(max_updates=5))
    again.resume()
    with pytest.raises(TrainingError, match="no weights are left") as caught:
        again.train()
    assert "max_updates" in caught.value.hint
