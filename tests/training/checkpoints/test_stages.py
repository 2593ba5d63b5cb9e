"""A curriculum: which text each update reads, and resuming at every point of it, bit for bit."""

from __future__ import annotations

import signal
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import torch
from tests.training.checkpoints.test_resuming import check_equal
from tests.training.small_runs import config, corpus, model, stop_after, tokenizer, trainer

from dragoman.base.errors import DataError, Interrupted
from dragoman.training.data.batches import Batch, plan
from dragoman.training.data.mixture import Mixture, Stages, Weighted
from dragoman.training.data.tokenised import TokenisedCorpus
from dragoman.training.trainer import Trainer

Texts = tuple[TokenisedCorpus, TokenisedCorpus]
ENDS = (3, 9)  # of the stages, in updates; an epoch of the first text has more than 6


@pytest.fixture(scope="module")
def texts(tmp_path_factory: pytest.TempPathFactory) -> Texts:
    cut = tokenizer()
    folder = tmp_path_factory.mktemp("texts")
    return corpus(folder / "one", 40, cut=cut), corpus(folder / "other", 12, seed=1, cut=cut)


def run(
    folder: Path, texts: Texts, stops: Sequence[int] = (), stages: Stages | None = None
) -> tuple[Trainer, list[Any]]:
    """A run that is stopped after those updates; for each update its epoch, place, text and tokens."""
    one, other = texts
    both = Mixture([Weighted(one, 20), Weighted(other, 12)])
    names: dict[Any, str] = {one: "one", other: "other", both: "both"}
    if stages is None:
        stages = [(ENDS[0], one), (ENDS[1] - ENDS[0], other)]
    seen: list[Any] = []
    for number, step in enumerate([*stops, None]):
        net = model(one.tokenizer, seed=1 + number)
        made = trainer(folder, (one, None), options=config(max_updates=14), net=net)
        made.corpus, made.stages = both, stages
        update = made._update

        def noted(batches: list[Batch], made: Trainer = made, update: Any = update) -> None:
            tokens = [row for batch in batches for row in batch.source_BS.tolist()]
            seen.append((made.progress.epoch, made.progress.cursor, names[made._stage()[0]], tokens))
            update(batches)

        made._update = noted  # type: ignore[method-assign]
        made.resume()
        torch.manual_seed(number + 50)
        if step is None:
            break
        stop_after(made, step, signal.SIGINT)
        with pytest.raises(Interrupted):
            made.train()
    made.train()
    return made, seen


@pytest.fixture(scope="module")
def whole(texts: Texts, tmp_path_factory: pytest.TempPathFactory) -> tuple[Trainer, list[Any]]:
    return run(tmp_path_factory.mktemp("whole"), texts)


def test_each_update_reads_the_text_of_its_stage(whole: tuple[Trainer, list[Any]], texts: Texts) -> None:
    _, seen = whole

    assert [name for _, _, name, _ in seen] == ["one"] * 3 + ["other"] * 6 + ["both"] * 5
    assert [place for _, place, _, _ in seen[:4]] == [0, 1, 2, 0]  # a stage begins an epoch
    assert [epoch for epoch, *_ in seen[:4]] == [0, 0, 0, 1]
    assert seen[ENDS[1]][:2] == (seen[ENDS[1] - 1][0] + 1, 0)
    assert seen[ENDS[1] - 1][0] > 1  # the second text has several epochs in its stage
    for text, part in zip(texts, (seen[: ENDS[0]], seen[slice(*ENDS)]), strict=True):
        lines = {tuple(text.source[row].tolist()) for row in range(len(text))}
        end = text.tokenizer.end_id
        assert {tuple(row[: row.index(end)]) for *_, rows in part for row in rows} <= lines


@pytest.mark.parametrize("stop", [None, 3, 4])
def test_an_epoch_that_a_stage_ends_is_no_pass(texts: Texts, tmp_path: Path, stop: int | None) -> None:
    one, other = texts
    for _ in range(1 if stop is None else 2):
        options = config(max_updates=1000, max_epochs=2)
        made = trainer(tmp_path, (other, None), options=options, net=model(one.tokenizer, seed=1))
        made.stages = [(ENDS[0], one)]
        made.resume()
        if stop is not None and made.progress.step == 0:
            stop_after(made, stop, signal.SIGINT)
            with pytest.raises(Interrupted):
                made.train()
    made.train()
    passes = [
        len(plan(other.source.lengths, other.target.lengths, batch_tokens=32, seed=7, epoch=epoch))
        for epoch in (1, 2)
    ]
    assert made.progress.step == ENDS[0] + sum(passes)


@pytest.mark.parametrize("stops", [[*ENDS], [4], [8, 11]])
def test_resuming_equals_never_having_stopped(
    stops: list[int], whole: tuple[Trainer, list[Any]], texts: Texts, tmp_path: Path
) -> None:
    """In a stage, at the end of one, and after them."""
    resumed, seen = run(tmp_path, texts, stops)

    assert seen == whole[1]
    check_equal(resumed, whole[0])


def test_other_stages_are_other_text(whole: tuple[Trainer, list[Any]], texts: Texts, tmp_path: Path) -> None:
    """Also where only their length differs. A run without stages has the fingerprint of its text."""
    one, other = texts
    made = trainer(tmp_path, (one, None))
    assert made._fingerprint == one.fingerprint
    stages: Stages
    for stages in ([], [(ENDS[0] + 1, one), (ENDS[1] - ENDS[0], other)]):
        with pytest.raises(DataError, match="began with other training text"):
            run(whole[0].checkpoints.folder.parent, texts, (), stages)
