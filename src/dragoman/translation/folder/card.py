"""A model card for a folder that training did not write: README.md of an imported or averaged model.

Training writes its own card, with text and scores (`training/runs/card.py`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from dragoman.base.files import write_whole
from dragoman.base.tables import markdown
from dragoman.translation.folder.adapter import AdapterConfig
from dragoman.translation.folder.config import CARD, WEIGHTS, FolderConfig
from dragoman.translation.folder.digest import digest_of
from dragoman.translation.folder.summary import Summary, describe_shape, read_card, summary_of, vocabulary_of
from dragoman.version import __version__

Rows = Sequence[Sequence[str]]  # name and value


def write_card(folder: Path, sections: Mapping[str, Rows]) -> None:
    """Write README.md of a model folder. `sections` says where the model came from.

    Raises ModelError if the folder is incomplete or damaged.
    """
    write_whole(folder / CARD, render_card(summary_of(folder), sections))


def continue_card(folder: Path, config: FolderConfig, output: Path, sections: Mapping[str, Rows]) -> None:
    """Copy the card of the model in `folder` to one that was made of it, with further sections.

    `config` belongs to `folder`. Writes a new card if `folder` has no card to copy.
    """
    card = read_card(folder)
    if card is None:
        write_card(output, sections)
        return
    if config.weights is not None:  # a card of a folder that was imported or averaged has the digest
        card = card.replace(f"`{config.weights}`", f"`{digest_of(output / WEIGHTS)}`")
    write_whole(output / CARD, "\n".join([card.rstrip(), "", *_sections(sections)]))


def with_section(card: str, heading: str, lines: Sequence[str]) -> str:
    """Return the card with a section of these lines at its end, in place of an earlier one of that name."""
    kept, inside = [], False
    for line in card.splitlines():
        if line.startswith("#"):
            inside = line == f"## {heading}"
        if not inside:
            kept.append(line)
    return "\n".join(["\n".join(kept).rstrip(), "", f"## {heading}", "", *lines, ""])


def origin(source: str, *, program: str, verified: str | None) -> dict[str, Rows]:
    """The section of an imported model, for `write_card`.

    `source` is the folder, archive or name that it came from, `program` the format. `verified` says with
    which program and what it was compared, such as "transformers 5.1: 20 lines, equal translations"; None if
    it was not.
    """
    rows = [
        ["imported from", source],
        ["format", program],
        ["imported with", f"dragoman {__version__}"],
        ["verified", verified or "no: it was not compared with the other program"],
    ]
    return {"Origin": rows}


def render_card(summary: Summary, sections: Mapping[str, Rows] | None = None) -> str:
    """Return the card as Markdown: the content of the folder, and the `sections`."""
    config = summary.config
    languages = f"{config.source_language} to {config.target_language}"
    model = [
        ["parameters", f"{summary.parameters:,}"],
        ["architecture", config.model.architecture],
        ["shape", ", ".join(describe_shape(config.model))],
        ["tokenizer", vocabulary_of(summary.tokenizer)],
        ["weights", f"`{config.weights}`" if config.weights else "without a digest"],
    ]
    about = f"Translates from {languages}."
    return _card(languages, about, "THIS_FOLDER FILE", {"Model": model, **(sections or {})})


def render_adapter_card(
    config: AdapterConfig, parameters: int, directions: Sequence[tuple[str, str]] = ()
) -> str:
    """Return the card of an adapter as Markdown. `directions` are those of the model with new languages."""
    shape = config.shape
    adapter = [
        ["for", f"{config.base_name}, `{config.base}`"],
        ["parameters", f"{parameters:,}"],
        ["rank, alpha", f"{shape.rank}, {shape.alpha:g}"],
        ["on", ", ".join(shape.on)],
        ["weights", f"`{config.weights}`"],
    ]
    adapter += [["languages with it", ", ".join(map("-".join, directions))]] if directions else []
    languages = f"{config.source_language} to {config.target_language}"
    about = f"Adapts {' '.join(config.base_name.split())}, which translates from {languages}."
    return _card(
        " ".join(config.name.split()), about, "MODEL --adapter THIS_FOLDER FILE", {"Adapter": adapter}
    )


def _card(title: str, about: str, arguments: str, sections: Mapping[str, Rows]) -> str:
    lines = [f"# {title}", "", about, "", f"    dragoman translate {arguments}", ""]
    return "\n".join(lines + _sections(sections))


def _sections(sections: Mapping[str, Rows]) -> list[str]:
    """The lines of tables with headings."""
    lines = []
    for heading, rows in sections.items():
        cells = [[" ".join(cell.split()) for cell in row] for row in rows]  # a line end would end the table
        lines += [f"## {heading}", "", *markdown(["", ""], cells), ""]
    return lines
