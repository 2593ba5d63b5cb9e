"""The Trace: a record of what a model did with one sentence, which shows itself."""

from __future__ import annotations

import html
from dataclasses import dataclass

from dragoman.inspection.plain import text
from dragoman.inspection.record import Record
from dragoman.inspection.report import report


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class Trace(Record):
    """What a model did with one sentence; `dragoman.inspection.inspect` makes one.

    It prints as text, and in a notebook is the page that `to_html` makes.
    """

    def to_html(self, compare: Trace | None = None) -> str:
        """One page with every view, which needs no network."""
        return report([self] if compare is None else [self, compare])

    def __str__(self) -> str:
        return text(self)

    def __repr__(self) -> str:
        return f"Trace({self.source.text!r} -> {self.target.text!r}, {self.model.architecture})"

    def _repr_html_(self) -> str:
        """In a notebook: the page in a frame that may run its script and nothing else."""
        page = html.escape(self.to_html(), quote=True)
        return (
            f'<iframe sandbox="allow-scripts" srcdoc="{page}" title="{html.escape(self.source.text)}" '
            'width="100%" height="900" frameborder="0"></iframe>'
        )
