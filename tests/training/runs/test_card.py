from __future__ import annotations

import platform
from dataclasses import replace

import pytest
import torch

from dragoman.training.events import Finished, Started
from dragoman.training.runs import card
from dragoman.training.runs.recipe import resolve
from dragoman.version import __version__

STARTED = Started(
    output="runs/x", parameters=2_612_345, source_vocab=8000, target_vocab=8000, train_pairs=29_000,
    valid_pairs=0, precision="bf16", threads=2, processes=1, resumed_from=0, max_updates=2000,
    max_seconds=None, batch_tokens=4096,
)  # fmt: skip
FINISHED = Finished(
    step=1200, tokens=3_456_789, seconds=90.0, best_step=1100, outcome="the average of 5 checkpoints",
    loss=1.23456, bleu=41.5, signature="nrefs:1|case:mixed",
)  # fmt: skip


class Text:
    """What the card says of a text."""

    fingerprint, report = "ab12", "29,014 pairs read\n  duplicate: 14 (line 3)"

    def __len__(self):
        return 29_000


def rendered(**changes) -> str:
    overrides = ["data.source_language=en", "data.target_language=pt-BR", *changes.pop("overrides", [])]
    arguments = {
        "command": ["dragoman", "train", "my text.en", "t.de"],
        "texts": {"training": Text()},
        "started": STARTED,
        "finished": FINISHED,
    }
    return card.render(resolve(preset="tiny", overrides=overrides), **arguments | changes)


@pytest.mark.parametrize(
    "fact",
    [
        "from en to pt-BR", f"dragoman {__version__}", f"{torch.__version__}, {platform.python_version()}",
        "2,612,345", "| architecture | transformer |", "bpe",
        "d_ff 256, heads 4, encoder_layers 4, decoder_layers 4",
        "29,000", "`ab12`", "29,014 pairs read", "duplicate: 14 (line 3)", "1,200, 3,456,789", "1.5 minutes",
        "bf16, 2 threads", "the average of 5 checkpoints", "1.2346", "41.50", r"nrefs:1\|case:mixed",
        "dragoman train 'my text.en' t.de",
    ],
)  # fmt: skip
def test_it_says_what_the_model_is_and_how_it_came_about(fact):
    assert fact in rendered()


def test_its_sections():
    assert [line for line in rendered().splitlines() if line.startswith("## ")] == [
        "## Model", "## Text", "## Training",
    ]  # fmt: skip


def test_threads_and_processes_are_counted():
    assert "bf16, 1 thread |" in rendered(started=replace(STARTED, threads=1))
    assert "bf16, 2 threads in each of 4 processes |" in rendered(started=replace(STARTED, processes=4))


def test_a_title_of_the_recipe_is_its_title():
    assert rendered().startswith("# en to pt-BR\n")
    assert rendered(overrides=["title=Menus"]).startswith("# Menus\n")


def test_what_was_not_measured_is_not_there():
    text = rendered(finished=replace(FINISHED, loss=None, bleu=None, signature=""), command=[])

    assert "BLEU" not in text
    assert "loss" not in text
    assert "(from Python)" in text


def test_every_table_has_as_many_cells_in_every_row():
    """Also where a command or a signature has a bar in it, which would begin another cell."""
    text = rendered(command=["dragoman", "train", "a|b.en", "a|b.de"])
    rows = [line.replace(r"\|", "") for line in text.splitlines() if line.startswith("|")]

    counts = [row.count("|") for row in rows]
    assert set(counts) == {3, 5}
    assert all(row.endswith("|") for row in rows)


def test_it_ends_with_one_line_end_and_has_no_space_at_a_line_end():
    text = rendered()

    assert text.endswith(".\n")
    assert all(line == line.rstrip() for line in text.splitlines())
