"""The report: one HTML file with the traces and the files of `page/`. It needs no network."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

from dragoman.base.html.document import bundled, inert, scripted_page
from dragoman.inspection.positions import laboratory
from dragoman.inspection.record import Positions, Record, to_table


def report(
    traces: Sequence[Record],
    positions: Positions | None = None,
    *,
    base: float = 10000.0,
    difference: dict[str, Any] | None = None,
) -> str:
    """Return a page about one trace or two side by side; without a trace, about `positions` with `base`.

    `difference` comes from a `Contrast`, whose two traces these are.
    """
    title = " | ".join(dict.fromkeys(trace.source.text for trace in traces)) or "Positions"
    lab: dict[str, Any] | None = None
    if not traces:
        positions = positions or laboratory(base=base)
        length, width = positions.tables[0].values.shape
        lab = {**to_table(positions, compact=True), "width": width, "length": length, "base": base}
    data = data_of(traces, difference) | {"positions": lab}
    return scripted_page(title, _script(), {"data": inert(data)})


def data_of(traces: Sequence[Record], difference: dict[str, Any] | None = None) -> dict[str, Any]:
    """Return the data of the views, as plain values for JSON."""
    tables = [trace.to_table(compact=True) for trace in traces]
    return {"traces": tables, "difference": difference, "positions": None}


@cache
def _script() -> str:
    return bundled("inspection/views/page/app.js")
