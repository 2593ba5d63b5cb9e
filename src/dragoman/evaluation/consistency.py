"""How consistently a document is translated: its terms, and how it addresses its reader."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from dragoman.base.languages import base
from dragoman.text.formality import LANGUAGES, formality_of
from dragoman.translation.terms.terms import TermList, places_of


def consistency(
    sources: Sequence[str], targets: Sequence[str], language: str, terms: Iterable[TermList] = ()
) -> dict[str, Any]:
    """Return how alike the translations of a document are, as a table for JSON.

    "formality": how many lines address the reader formally and informally, and the share of the more common
    way. "terms": of the occurrences of terms that are in the document more than once, the share that has the
    most common of the listed translations of its term. Shares are None for nothing to count.
    """
    said = Counter(formality_of(text, language) for text in targets)
    told: dict[str, Any] = {"formal": said["formal"], "informal": said["informal"]}
    used: dict[tuple[str, ...], Counter[str]] = {}
    there: Counter[tuple[str, ...]] = Counter()
    for source, target in zip(sources, targets, strict=True):
        own = Counter(one.term.targets for each in terms for one in each.find(source))
        for forms, times in own.items():
            found = {text: min(times, len(places_of(target, [text], language))) for text in forms}
            used.setdefault(forms, Counter()).update(found)
        there += own
    repeated = {forms: times for forms, times in there.items() if times > 1}
    alike, occurrences = sum(max(used[forms].values()) for forms in repeated), sum(repeated.values())
    ways = told["formal"] + told["informal"]
    told |= {"share": max(told.values()) / ways if ways else None}
    return {
        "formality": told if base(language) in LANGUAGES else None,
        "terms": {"occurrences": occurrences, "share": alike / occurrences if occurrences else None},
    }


def to_text(table: dict[str, Any]) -> str:
    """The lines for a reader."""
    lines = []
    if way := table["formality"]:
        lines.append(f"formality: {way['formal']:,} lines formal, {way['informal']:,} informal")
        lines[-1] += f"; {way['share']:.1%} alike" if way["share"] is not None else ""
    if (share := table["terms"]["share"]) is not None:
        lines.append(
            f"terms: {share:.1%} of {table['terms']['occurrences']:,} repeated ones translated alike"
        )
    return "\n".join(lines)
