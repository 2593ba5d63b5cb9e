"""Flags of the commands that read parallel text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from dragoman.base.machine import usable_cores
from dragoman.base.tables import count
from dragoman.cli.input import check_outputs
from dragoman.cli.options import Flag, Quiet
from dragoman.cli.outcome import tell
from dragoman.cli.writing import check_pairs_languages

if TYPE_CHECKING:
    from dragoman.text.corpora.corpus import Corpus

TEXT = "Text and its translation: two files, .tsv, .jsonl, .tmx, PO or XLIFF, patterns, or -."
_SOURCE = "The source language. [default: from the names of the files]"


@dataclass(frozen=True, kw_only=True)
class ReadingFlags:
    """How the commands read text."""

    source_language: Annotated[str | None, Flag(_SOURCE, metavar="CODE")] = None
    target_language: Annotated[str | None, Flag("The target language.", metavar="CODE")] = None
    workers: Annotated[int | None, Flag("Processes. [default: one a core]", at_least=1)] = None
    quiet: Quiet = False

    @property
    def processes(self) -> int:
        """How many processes to use."""
        return self.workers or usable_cores()

    def open(
        self, text: Sequence[str], output: Path | None, report: Path | None = None, test: Sequence[str] = ()
    ) -> Corpus:
        """Open text. The output, which is of pairs, and the report must be neither it nor the test."""
        from dragoman.documents.context.catalogues import open_parallel
        from dragoman.text.corpora.writing import check_kind

        if output is not None:
            check_kind(output)
        corpus = open_parallel(text, languages=(self.source_language, self.target_language))
        check_outputs([output, report], [*corpus.files, *text, *test])
        if output is not None and corpus.source_language and corpus.target_language:
            check_pairs_languages(output, corpus.source_language, corpus.target_language)
        return corpus

    def tell(self, place: Path | Sequence[str], counts: Mapping[str, int]) -> None:
        """Say how many pairs there are of each kind."""
        parts = [f"{many:,} {what.replace('_', ' ')}" for what, many in counts.items() if what != "pairs"]
        shown = ", ".join([count(counts["pairs"], "pair"), *parts] if "pairs" in counts else parts)
        tell(f"{place if isinstance(place, Path) else ' '.join(place)}: {shown}", quiet=self.quiet)
