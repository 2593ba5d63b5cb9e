"""A pair as a row of a file that training reads."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from dragoman.base.errors import ConfigError
from dragoman.text.corpora.lines import Line

KINDS = (".tsv", ".jsonl")


def check_kind(output: Path) -> None:
    """Raise ConfigError for a file whose name does not say how its rows look."""
    if output.suffix not in KINDS:
        raise ConfigError(
            f"{output}: pairs are written as .tsv or .jsonl", hint="name the file so, such as clean.en-de.tsv"
        )


def row_of(line: Line, kind: str, before: str | None = None) -> str:
    """The pair as a row; only .jsonl keeps its context and its document.

    In .tsv it is behind an empty row if it `ends_before`.
    """
    if kind == ".jsonl":
        table = {"source": line.source, "target": line.target}
        about = {"context": line.context, "document": line.document}
        table |= {key: text for key, text in about.items() if text}
        return json.dumps(table, ensure_ascii=False) + "\n"
    row = "\t".join(re.sub("[\t\r\n]", " ", text) for text in (line.source, line.target)) + "\n"
    return f"\n{row}" if ends_before(line, kind, before) else row


def ends_before(line: Line, kind: str, before: str | None) -> bool:
    """Whether an empty row ends the document `before`, that of the line before; None stands for no line."""
    return kind != ".jsonl" and before not in (None, line.document)


def pair_rows(lines: Iterable[Line], kind: str) -> Iterator[str]:
    """The pairs as rows, as `row_of`."""
    before = None
    for line in lines:
        yield row_of(line, kind, before)
        before = line.document
