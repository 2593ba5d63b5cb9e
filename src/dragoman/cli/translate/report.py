"""The report of documents: the segments to check, as JSON lines, a table for a spreadsheet, or a page."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from html import escape
from itertools import groupby
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dragoman.documents.files import Doubt

_COLUMNS = "file where source translation reasons match_score match_source match_target".split()
_FORMULA = "=+-@\t\r"  # how a cell begins that a spreadsheet would compute
_PAGE = """<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>Translations to check</title>
<style>
:root {{ color-scheme: light dark; font: 1rem/1.5 system-ui, sans-serif }}
body {{ max-width: 75rem; margin: 2rem auto; padding: 0 1rem }}
h2 {{ font-size: 1.1rem; overflow-wrap: anywhere }}
table {{ width: 100%; border-collapse: collapse }}
th, td {{ padding: .4rem .6rem; border: 1px solid #8886; text-align: start; vertical-align: top }}
td {{ white-space: pre-wrap; overflow-wrap: anywhere }}
td:first-child {{ white-space: nowrap }}
</style>
<h1>Translations to check</h1>
<p>{summary}</p>
{tables}
</html>
"""
_TABLE = """<h2>{file}</h2>
<table>
<thead><tr><th>Place<th>Source<th>Translation<th>Reasons<th>In the memory</tr></thead>
<tbody>{rows}</tbody>
</table>"""


def report_of(entries: Sequence[Doubt], summary: str, path: Path) -> bytes:
    """Return the report as the suffix of its file says: .csv, .html, or else one JSON object a line."""
    match path.suffix.lower():
        case ".csv":
            text = "\ufeff" + _csv(entries)  # without this mark, Excel takes UTF-8 for another encoding
        case ".html" | ".htm":
            text = _page(entries, summary)
        case _:
            text = "".join(json.dumps(_object(one), ensure_ascii=False) + "\n" for one in entries)
    return text.encode("utf-8", "backslashreplace")  # a name need not be UTF-8; JSON has \udcff


def _object(one: Doubt) -> dict[str, Any]:
    table = asdict(one)
    del table["match"]
    return table if one.match is None else {**table, "match": one.match.to_table()}


def _csv(entries: Iterable[Doubt]) -> str:
    text = io.StringIO(newline="")
    rows = csv.writer(text)
    rows.writerow(_COLUMNS)
    for one in entries:
        match = (f"{one.match.score:.1f}", one.match.source, one.match.target) if one.match else ("", "", "")
        cells = (one.file, one.where, one.source, one.translation, "; ".join(one.reasons), *match)
        rows.writerow(f"'{cell}" if cell.startswith(tuple(_FORMULA)) else cell for cell in cells)
    return text.getvalue()


def _page(entries: Iterable[Doubt], summary: str) -> str:
    tables = []
    for file, of_file in groupby(sorted(entries, key=attrgetter("file")), key=attrgetter("file")):
        tables.append(_TABLE.format(file=escape(file), rows="\n".join(map(_row, of_file))))
    return _PAGE.format(summary=escape(summary), tables="\n".join(tables))


def _row(one: Doubt) -> str:
    match = f"{one.match.score:.0f}%: {one.match.source}\n{one.match.target}" if one.match else ""
    cells = (one.where, one.source, one.translation, "\n".join(one.reasons), match)
    return "<tr>" + "".join(f'<td dir="auto">{escape(cell)}</td>' for cell in cells) + "</tr>"
