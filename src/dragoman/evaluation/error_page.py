"""The error page: systems side by side on test text, in one HTML file that needs no network.

It shows the scores, where each system goes wrong (by length, rare words, documents, groups and faults), and
every line. For each line it has the statistics from which sacreBLEU computes its scores, so that the scores
of any choice of lines are sacreBLEU's.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from dragoman.base.html.document import bundled, deflated, inert, scripted_page
from dragoman.evaluation.metrics import line_statistics
from dragoman.text.blank import is_blank
from dragoman.text.checks.faults import faults
from dragoman.text.corpora.lines import Line
from dragoman.translation.terms.terms import TermList, unused_terms

_NAME = re.compile(r"\b[^\W\d_]{3,}\b")


def error_page(
    lines: Sequence[Line],
    systems: Mapping[str, Sequence[str]],
    results: Mapping[str, Any],
    *,
    references: Sequence[Sequence[str]],
    languages: tuple[str | None, str | None] = (None, None),
    groups: Sequence[str] = (),
    contexts: Sequence[str] = (),
    out_of_context: Collection[str] = (),
    terms: Sequence[TermList] = (),
    commands: Mapping[str, str] | None = None,
    comet: Mapping[str, Sequence[float]] | None = None,
) -> str:
    """Return the page. `lines` are the sources with the first reference, `results` the scores as a table.

    `groups` names the group of each line, such as the kind of noise in it; `contexts` is what the models
    read before each, but for the systems `out_of_context`. `commands` are those that inspect a sentence, by
    system; `comet` has COMET's scores of the lines.
    """
    source, target = (one or "" for one in languages)
    data = {
        "languages": [source, target],
        "results": results,
        "sources": [line.source for line in lines],
        "references": references,
        "documents": _documents(lines),
        "groups": groups,
        "contexts": contexts,
        "systems": [
            {
                "name": name,
                "command": (commands or {}).get(name),
                "inContext": name not in out_of_context,
                "texts": texts,
                "comet": (comet or {}).get(name),
                "faults": [
                    _faults(line, text, source, target, terms)
                    for line, text in zip(lines, texts, strict=True)
                ],
            }
            for name, texts in systems.items()
        ],
    }
    statistics = {
        f"statistics-{number}": deflated(line_statistics(texts, references, target or None).tobytes())
        for number, texts in enumerate(systems.values())
    }
    title, script = "Errors of " + " | ".join(systems), bundled("evaluation/web/app.js")
    return scripted_page(
        title, script, {"data": inert(data), **statistics}, styles=["evaluation/web/style.css"]
    )


def _documents(lines: Iterable[Line]) -> list[str]:
    """The document of each line: its name, or a number where blank lines or files separate them.

    Empty for one.
    """
    names, number, ended, last = list[str](), 1, False, 0
    for line in lines:
        blank = is_blank(line.source + line.target)
        ended |= line.number < last  # the lines of each file are numbered
        number += ended and not blank and bool(names)
        ended, last = blank, line.number
        names.append(line.document or f"{number}")
    return names if len({*names}) > 1 else []


def _faults(line: Line, text: str, source: str, target: str, terms: Iterable[TermList]) -> list[list[str]]:
    """The faults of a translation, as kind and detail. A name is a word that the reference copies."""
    found = [[one.kind, one.detail] for one in faults(line.source, text, source, target)]
    wanted = [one.term.targets for each in terms for one in each.find(line.source)]
    found += [["term", f"{one} missing"] for one in unused_terms(text, wanted, target)]
    names = {*_NAME.findall(line.source)} & {*_NAME.findall(line.target)}
    lost = sorted(one for one in names if one[0].isupper() and one not in text)
    return [*found, *(["name", f"{one} missing"] for one in lost)]
