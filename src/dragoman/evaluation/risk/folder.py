"""Calibrate the risk of a model folder: risk.json, and sections of the model card."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from dragoman.base.files import write_whole
from dragoman.base.tables import markdown
from dragoman.evaluation.risk.calibrate import MOST_PAIRS, Progress, calibrate, held_out_pairs
from dragoman.evaluation.risk.labels import EDITS
from dragoman.evaluation.risk.report import RiskReport, detection_rows
from dragoman.folder.card import render_card, with_section
from dragoman.folder.config import CARD, read_config
from dragoman.folder.risk import write_risk
from dragoman.folder.summary import read_card, summary_of
from dragoman.translator import Translator


def calibrate_folder(
    folder: Path,
    pairs: Iterable[tuple[str, str]],
    *,
    most: int = MOST_PAIRS,
    progress: Progress = lambda text: None,
) -> RiskReport:
    """Learn the risk of the model in `folder` from held-out pairs, and write risk.json and the card.

    Raises DataError for fewer than 200 pairs with different sources, ModelError for a damaged folder.
    """
    pairs = held_out_pairs(pairs, most)  # before the model is loaded
    config = read_config(folder)
    model, report = calibrate(Translator.load(folder), pairs, most=most, progress=progress)
    card = read_card(folder)
    if card is None:
        card = render_card(summary_of(folder))
    write_risk(folder, model, config, report.to_table())
    write_whole(folder / CARD, card_with_risk(card, report))
    return report


def card_with_risk(card: str, report: RiskReport) -> str:
    """Return a model card with what is known about the risk of translations."""
    card = with_section(
        card,
        "Risk",
        [
            f"A translation needs a correction if its TER against the reference is above {EDITS:.0f}. The "
            "figures are of held-out text that the probabilities were not fitted on.",
            "",
            *markdown(["", ""], report.facts()),
        ],
    )
    bins = [[f"{one.predicted:.2f}", f"{one.observed:.2f}", f"{one.count:,}"] for one in report.bins]
    card = with_section(card, "Reliability", markdown(["predicted", "observed", "translations"], bins))
    rows = [
        [f"{row[0]}, {where}", *row[1:]]
        for where, found in (("own translations", report.searched), ("references", report.given))
        for row in detection_rows(found)
    ]
    return with_section(card, "Planted errors", markdown(["", "errors", "found", "false alarms"], rows))
