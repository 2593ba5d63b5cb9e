"""The observer for TensorBoard: what TensorBoard's own reader finds in its files."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from tests.training.small_runs import Recorder

from dragoman.base.errors import ConfigError
from dragoman.text import toy
from dragoman.training.runs.run import train
from dragoman.training.tensorboard import TensorBoard


@pytest.mark.thorough
def test_the_figures_of_a_run_that_was_stopped_and_resumed(tmp_path: Path) -> None:
    reading = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator")
    notes = Recorder()

    def run(updates: int) -> None:
        train(
            toy.pairs(seed=3, count=60),
            valid=toy.pairs(seed=4, count=6),
            output=tmp_path / "run",
            observer=TensorBoard(tmp_path / "figures", then=notes),
            preset="tiny",
            source_language="en",
            target_language="de",
            tokenizer={"vocab_size": 400},
            model={"d_model": 16, "d_ff": 16, "heads": 2, "encoder_layers": 1, "decoder_layers": 1},
            training={"max_updates": updates, "validate_every": 2, "log_every": 1, "warmup": 2},
        )

    run(2)
    run(4)

    found = reading.EventAccumulator(str(tmp_path / "figures")).Reload()
    for tag, events, name in (
        ("train/nll", notes.reports, "nll"),
        ("train/learning_rate", notes.reports, "learning_rate"),
        ("valid/loss", notes.validations, "loss"),
        ("valid/chrf", notes.validations, "chrf"),
    ):
        shown = [(one.step, one.value) for one in found.Scalars(tag)]
        assert shown == [(event.step, pytest.approx(getattr(event, name), rel=1e-6)) for event in events]
    assert [one.step for one in found.Scalars("final/bleu")] == [2, 4]
    assert len(notes.ends) == 2
    assert notes.messages


def test_without_the_package_it_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch.utils.tensorboard", None)
    with pytest.raises(ConfigError, match="tensorboard is not installed") as caught:
        TensorBoard(tmp_path)
    assert "dragoman[tensorboard]" in caught.value.hint
