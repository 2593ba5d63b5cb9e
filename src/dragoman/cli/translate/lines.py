"""How `dragoman translate` writes the translation of a line: text, scores, n-best rows or JSON."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from dragoman.cli.models import rounded

if TYPE_CHECKING:
    from dragoman.translation.translation import Translation

Show = Callable[[int, "Translation", str], str]  # line number, translation, line end -> text


def text_line(number: int, translation: Translation, end: str) -> str:
    """The text, and the alignment if there is one."""
    return (translation.text if translation.alignment is None else _cells(translation)) + end


def scored_line(number: int, translation: Translation, end: str) -> str:
    """The score before the text."""
    return f"{translation.score:.4f}\t{_cells(translation)}{end}"


def n_best_rows(n_best: int) -> Show:
    """A row for each of the best translations: line number, score, text."""

    def rows(number: int, translation: Translation, end: str) -> str:
        best = [translation, *translation.alternatives]
        known = translation.match is not None and translation.match.exact
        best += [translation] * (n_best - len(best)) if known or not translation.tokens else []
        return "".join(f"{number}\t{one.score:.4f}\t{_cells(one)}\n" for one in best)

    return rows


def json_line(number: int, translation: Translation, end: str) -> str:
    """A JSON object with everything known about a translation."""
    table = {"line": number, "source": translation.source, **_figures(translation)}
    if translation.match is not None:
        table["match"] = rounded(translation.match)
    if translation.alternatives:
        table["alternatives"] = [_figures(other) for other in translation.alternatives]
    return json.dumps(table, ensure_ascii=False) + "\n"


def _figures(translation: Translation) -> dict[str, Any]:
    figures: dict[str, Any] = {
        "text": translation.text,
        "score": translation.score,
        "tokens": list(translation.tokens),
        "token_logp": list(translation.token_logp),
        "truncated": translation.truncated,
    }
    if translation.attention:
        figures["attention"] = [[round(weight, 6) for weight in row] for row in translation.attention]
    if translation.unused_terms:
        figures["unused_terms"] = list(translation.unused_terms)
    if translation.alignment is not None:
        figures["alignment"] = translation.alignment.words()
    if translation.risk is not None:
        figures["risk"] = translation.risk.to_table()
    return figures


def _cells(translation: Translation) -> str:
    """The text, then the alignment if there is one. A tab in the text becomes a space."""
    text = translation.text.replace("\t", " ")
    return text if translation.alignment is None else f"{text}\t{translation.alignment.pharaoh()}"
