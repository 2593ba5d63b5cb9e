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
    ways = Counter(formality_of(text, language) for text in targets)
    told = {"formal": ways["formal"], "informal": ways["informal"]}
    used: dict[tuple[str, ...], Counter[str]] = {}
    for source, target in zip(sources, targets, strict=True):
        for term in (one.term for each in terms for one in each.find(source)):
            own = used.setdefault(term.targets, Counter())
            own.update(text for text in term.targets if places_of(target, [text], language))
    repeated = [counts for counts in used.values() if counts.total() > 1]
    return {
        "formality": told | {"share": _share([told.values()])} if base(language) in LANGUAGES else None,
        "terms": {"occurrences": sum(counts.total() for counts in repeated)}
        | {"share": _share(counts.values() for counts in repeated)},
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


def _share(groups: Iterable[Iterable[int]]) -> float | None:
    """The share of the most common of each group in all."""
    lists = [[*group] for group in groups]
    total = sum(map(sum, lists))
    return sum(map(max, lists)) / total if total else None
