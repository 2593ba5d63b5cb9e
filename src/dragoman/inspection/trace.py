"""The Trace: a record of a model's work on one sentence, with its displays."""

from __future__ import annotations

import html
from dataclasses import dataclass

from dragoman.inspection.record import Record
from dragoman.inspection.views.plain import text
from dragoman.inspection.views.report import report


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class Trace(Record):
    """The record of a model's work on one sentence, as returned by `dragoman.inspection.inspect`.

    `print` shows it as text, a notebook as the page of `to_html`.
    """

    def to_html(self, compare: Trace | None = None) -> str:
        """Return one page with all views. It needs no network."""
        return report([self] if compare is None else [self, compare])

    def __str__(self) -> str:
        return text(self)

    def __repr__(self) -> str:
        return f"Trace({self.source.text!r} -> {self.target.text!r}, {self.model.architecture})"

    def _repr_html_(self) -> str:
        """Return the page for a notebook, in a frame that may run its script and nothing else."""
        page = html.escape(self.to_html(), quote=True)
        return (
            f'<iframe sandbox="allow-scripts" srcdoc="{page}" title="{html.escape(self.source.text)}" '
            'width="100%" height="900" frameborder="0"></iframe>'
        )
