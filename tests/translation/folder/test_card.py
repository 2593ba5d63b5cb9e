"""The card of a folder that training did not write: what it holds, where it came from, what was verified."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.translation.folder.models import saved

from dragoman.base.tables import read_markdown
from dragoman.translation.folder.card import origin, render_card, with_section, write_card
from dragoman.translation.folder.summary import summary_of
from dragoman.version import __version__


def test_it_says_what_the_folder_holds(tmp_path: Path) -> None:
    summary = summary_of(saved(tmp_path / "model"))

    card = render_card(summary)

    rows = dict(row for row in read_markdown(card)["Model"] if any(row))
    assert card.startswith("# en to yo\n")
    assert rows["parameters"] == f"{summary.parameters:,}"
    assert rows["tokenizer"] == "words, one vocabulary of 10"
    assert rows["weights"] == f"`{summary.config.weights}`"
    assert card.endswith("|\n")
    assert all(line == line.rstrip() for line in card.splitlines())


@pytest.mark.parametrize("verified", ["transformers 5.1: 20 lines, equal translations", None])
def test_it_says_where_a_model_came_from_and_whether_it_was_verified(
    verified: str | None, tmp_path: Path
) -> None:
    folder = saved(tmp_path / "model")

    write_card(folder, origin("a|b\nc/opus", program="Hugging Face Marian", verified=verified))

    assert summary_of(folder).card["Origin"][1:] == [
        ["imported from", "a|b c/opus"],
        ["format", "Hugging Face Marian"],
        ["imported with", f"dragoman {__version__}"],
        ["verified", verified or "no: it was not compared with the other program"],
    ]


def test_a_section_is_added_or_replaced() -> None:
    card = "# A\n\ntext\n\n## Risk\n\nold\n\n### More\n\nkept\n\n## B\n\nb\n"
    new = with_section(card, "Risk", ["new", "lines"])

    assert new == "# A\n\ntext\n\n### More\n\nkept\n\n## B\n\nb\n\n## Risk\n\nnew\nlines\n"
    assert with_section(new, "Risk", ["new", "lines"]) == new
