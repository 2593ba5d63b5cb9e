"""Calibrate the risk of a model folder: risk.json, and sections of the model card."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from dragoman.base.errors import ConfigError, ModelError
from dragoman.base.files import write_whole
from dragoman.base.tables import markdown
from dragoman.evaluation.risk.calibrate import EDITS, MOST_PAIRS, Progress, calibrate, held_out_pairs
from dragoman.evaluation.risk.report import RiskReport, detection_rows
from dragoman.translation.folder.card import render_card, with_section
from dragoman.translation.folder.config import CARD, read_config
from dragoman.translation.folder.risk import RISK, read_risk, write_risk
from dragoman.translation.folder.summary import read_card, summary_of
from dragoman.translation.translator import Translator


def calibrate_folder(
    folder: Path,
    pairs: Iterable[tuple[str, str]],
    *,
    to: str | None = None,
    most: int = MOST_PAIRS,
    progress: Progress = lambda text: None,
) -> RiskReport:
    """Learn the risk of the model in `folder` from held-out pairs, and write risk.json and the card.

    `to` is the target language of the pairs, for a model that has several. Results for other languages
    stay. A risk.json that cannot be used is deleted first: with it the model would not be loaded.

    Raises DataError for fewer than 200 pairs with different sources, ConfigError for a language that the
    model does not have, or a missing one if it has several, ModelError for a damaged folder.
    """
    pairs = held_out_pairs(pairs, most)  # before the model is loaded
    config = read_config(folder)
    try:
        read_risk(folder, config)
    except ModelError:
        (folder / RISK).unlink()
    translator = Translator.load(folder)
    several = translator.tokenizer.languages
    if len(several) > 1 and to is None:
        raise ConfigError(
            "no target language", hint=f"choose one with --to: the model has {', '.join(several)}"
        )
    model, report = calibrate(translator, pairs, to=to, most=most, progress=progress)
    card = read_card(folder)
    if card is None:
        card = render_card(summary_of(folder))
    write_risk(folder, model, config, report.to_table(), to)
    write_whole(folder / CARD, card_with_risk(card, report, to))
    return report


def card_with_risk(card: str, report: RiskReport, to: str | None = None) -> str:
    """Return a model card with a section about the risk of translations, into `to` if it has several."""
    into = f" into {to}" if to else ""
    card = with_section(
        card,
        f"Risk{into}",
        [
            f"A translation needs a correction if its TER against the reference is above {EDITS:.0f}. The "
            "figures are of held-out text that the probabilities were not fitted on.",
            "",
            *markdown(["", ""], report.facts()),
        ],
    )
    bins = [[f"{one.predicted:.2f}", f"{one.observed:.2f}", f"{one.count:,}"] for one in report.bins]
    card = with_section(card, f"Reliability{into}", markdown(["predicted", "observed", "translations"], bins))
    rows = [
        [f"{row[0]}, {where}", *row[1:]]
        for where, found in (("own translations", report.searched), ("references", report.given))
        for row in detection_rows(found)
    ]
    head = ["", "errors", "found", "false alarms"]
    return with_section(card, f"Planted errors{into}", markdown(head, rows))
