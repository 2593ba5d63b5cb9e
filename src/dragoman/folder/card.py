"""A model card for a folder that training did not write: README.md of an imported or averaged model.

Training writes its own card, with text and scores (`runs/card.py`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from dragoman.base.files import write_whole
from dragoman.base.tables import markdown
from dragoman.folder.config import CARD
from dragoman.folder.summary import Summary, describe_shape, summary_of, vocabulary_of
from dragoman.version import __version__

Rows = Sequence[Sequence[str]]  # name and value


def write_card(folder: Path, sections: Mapping[str, Rows]) -> None:
    """Write README.md of a model folder. `sections` says where the model came from.

    Raises ModelError if the folder is incomplete or damaged.
    """
    write_whole(folder / CARD, render_card(summary_of(folder), sections))


def origin(
    source: str, *, program: str, verified: str | None, more: Mapping[str, str] | None = None
) -> dict[str, Rows]:
    """The section of an imported model, for `write_card`.

    `source` is the folder, archive or name that it came from, `program` the format. `verified` says with
    which program and what it was compared, such as "transformers 5.1: 20 lines, equal translations"; None if
    it was not. `more` has further rows, such as the licence.
    """
    rows = [
        ["imported from", source],
        ["format", program],
        ["imported with", f"dragoman {__version__}"],
        ["verified", verified or "no: it was not compared with the other program"],
        *([name, value] for name, value in (more or {}).items()),
    ]
    return {"Origin": rows}


def render_card(summary: Summary, sections: Mapping[str, Rows] | None = None) -> str:
    """Return the card as Markdown: what the folder holds, and the `sections`."""
    config = summary.config
    languages = f"{config.source_language} to {config.target_language}"
    model = [
        ["parameters", f"{summary.parameters:,}"],
        ["architecture", config.model.architecture],
        ["shape", ", ".join(describe_shape(config.model))],
        ["tokenizer", vocabulary_of(summary.tokenizer)],
        ["weights", f"`{config.weights}`" if config.weights else "without a digest"],
    ]
    lines = [
        f"# {languages}",
        "",
        f"Translates from {languages}.",
        "",
        "    dragoman translate THIS_FOLDER FILE",
        "",
    ]
    for heading, rows in {"Model": model, **(sections or {})}.items():
        cells = [[" ".join(cell.split()) for cell in row] for row in rows]  # a line end would end the table
        lines += [f"## {heading}", "", *markdown(["", ""], cells), ""]
    return "\n".join(lines)
