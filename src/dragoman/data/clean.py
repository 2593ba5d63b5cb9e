"""Clean parallel text by rules, in chunks, and report every pair that is repaired or dropped."""

from __future__ import annotations

import gzip
import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from dragoman.base.html.charts import heading, page, paragraph, table
from dragoman.data.passes import CHUNK
from dragoman.data.rules import Languages, Rules, missing_libraries
from dragoman.text.blank import is_blank
from dragoman.text.clean import clean
from dragoman.text.corpora.compressed import decompressed
from dragoman.text.corpora.corpus import Corpus
from dragoman.text.corpora.lines import Line
from dragoman.text.corpora.writing import ends_before, row_of

_EXAMPLES = 5  # of each filter and repair on the page
_LONGEST = 300  # characters of one
_OTHER_FILE = "\n"  # as no document is called


class RuledLines(NamedTuple):
    """Lines of one file, the rules for it, and the lines whose score is too low, with the reasons."""

    rules: Rules
    name: str
    lines: list[Line]
    low: Mapping[int, tuple[str, float]] = {}
    document: str | None = None  # of the line before them


class Cleaned(NamedTuple):
    """The rows that are kept, the lines of the report, and how often each thing was done."""

    rows: str
    report: bytes
    counts: dict[str, int]


def ruled_chunks(
    corpus: Corpus, rules: Mapping[str, Rules], *, skip: int = 0, size: int = CHUNK
) -> Iterator[RuledLines]:
    """Yield the lines with the rules for their file, without the first `skip`."""
    before = None
    for shard in corpus.shards:
        lines, before = iter(shard), None if before is None else _OTHER_FILE
        for line in islice(lines, skip):
            skip, before = skip - 1, line.document
        while several := [*islice(lines, size)]:
            yield RuledLines(rules[shard.name], shard.name, several, document=before)
            before = several[-1].document


def rules_of(
    corpus: Corpus, table: Mapping[str, Any], languages: Languages
) -> tuple[dict[str, Rules], list[str]]:
    """The rules for each file of a corpus, by its name, and what is off for want of a library.

    Raises ConfigError if the table asks for that by name.
    """
    missing = missing_libraries(table)
    found = {shard.name: Rules.of(table, languages, *shard.files) for shard in corpus.shards}
    used = {one.name for rules in found.values() for one in rules.filters if one.is_on}
    used |= {one.name for rules in found.values() for one in rules.repairs}
    missing = [name for name in missing if name in used]
    return {name: rules.without(missing) for name, rules in found.items()}, missing


def cleaned(chunk: RuledLines, kind: str) -> Cleaned:
    """Clean a chunk. `kind` is the ending of the output."""
    rows, report, counts = list[str](), [], Counter[str]()
    before, ended = chunk.document, False
    for place, line in enumerate(chunk.lines):
        source, target, repairs, filters = chunk.rules.judge(line.source, line.target)
        if place in chunk.low and not filters and not is_blank(source + target):
            filters = [chunk.low[place]]
        # Also where the pair is dropped: of several documents without a pair, one empty row is enough.
        ended = ended or (ends_before(line, kind, before) and bool(rows or chunk.document is not None))
        before = line.document
        counts["pairs"] += 1
        entry: dict[str, Any] = {"file": chunk.name, "line": line.number}
        changed: list[str] = []
        if not filters:
            context = chunk.rules.repaired(line.context, changed)
            repairs = [*dict.fromkeys([*repairs, *changed])]
            entry |= {"context": [line.context, context]} if changed else {}
            row = row_of(line._replace(source=source, target=target, context=context), kind)
            rows.append(f"\n{row}" if ended else row)
            ended = False
        if not repairs and not filters:
            continue
        counts.update(f"repair {name}" for name in repairs if not filters)
        counts["dropped" if filters else "repaired"] += 1
        counts.update(f"{'also' if number else 'drop'} {name}" for number, (name, _) in enumerate(filters))
        entry["what"] = "dropped" if filters else "repaired"
        entry |= {"filters": {name: round(value, 4) for name, value in filters}} if filters else {}
        entry |= {"before": [line.source, line.target]}
        entry |= {"repairs": repairs, "after": [source, target]} if repairs else {}
        report.append(json.dumps(entry, ensure_ascii=False) + "\n")
    rows += ["\n"] if ended else []  # the next chunk does not know of it
    return Cleaned("".join(rows), "".join(report).encode(errors="backslashreplace"), dict(counts))


def report_bytes(path: Path, report: bytes) -> bytes:
    """A part of the report as it is in its file: one member of many if that is compressed."""
    return gzip.compress(report, 6, mtime=0) if path.suffix == ".gz" else report


def summary(counts: Mapping[str, int]) -> dict[str, Any]:
    """What was done: pairs, and how often each filter was the first, or another, and each repair."""
    pairs, dropped = counts.get("pairs", 0), counts.get("dropped", 0)

    def named(kind: str) -> dict[str, int]:
        found = {name[len(kind) :]: many for name, many in counts.items() if name.startswith(kind)}
        return dict(sorted(found.items(), key=lambda one: (-one[1], one[0])))

    whole: dict[str, Any] = {"pairs": pairs, "kept": pairs - dropped, "dropped": dropped}
    whole["repaired"] = counts.get("repaired", 0)  # of those that are kept
    return whole | {"filters": named("drop "), "also": named("also "), "repairs": named("repair ")}


def clean_page(title: str, done: Mapping[str, Any], report: Path) -> str:
    """A page with the counts, and the first examples of each filter and repair from the report."""
    examples: dict[str, list[Sequence[str]]] = {}
    with report.open("rb") as file:
        for row in map(json.loads, decompressed(file, str(report))):
            names = [next(iter(row["filters"]))] if "filters" in row else row["repairs"]
            for name in names:
                if len(several := examples.setdefault(name, [])) < _EXAMPLES:
                    before, after = row["before"], row["after"] if row["what"] == "repaired" else ("", "")
                    measure = f"{row['filters'][name]:g}" if "filters" in row else ""
                    place = f"{row['file']}:{row['line']}"
                    several.append([place, measure, *(_shown(text) for text in (*before, *after))])
    pairs = max(done["pairs"], 1)
    parts = [paragraph(f"{done['pairs']:,} pairs: {done['kept']:,} kept, {done['dropped']:,} dropped. ")]
    for kind in ("filters", "repairs"):
        rows = [
            [name, f"{many:,}", f"{100 * many / pairs:.3g} %", f"{done['also'].get(name, 0):,}"]
            for name, many in done[kind].items()
        ]
        head = [kind[:-1], "pairs", "share", "also"][: 4 if kind == "filters" else 3]
        parts += [heading(kind.capitalize()), table(head, [row[: len(head)] for row in rows])]
    for name in (*done["filters"], *done["repairs"]):
        columns = ["where", *(["measure"] if name in done["filters"] else []), "source", "target"]
        columns += [] if name in done["filters"] else ["source, repaired", "target, repaired"]
        rows = [
            [one for number, one in enumerate(row) if number != 1 or name in done["filters"]][: len(columns)]
            for row in examples.get(name, [])
        ]
        parts += [heading(name), table(columns, rows, "text")] if rows else []
    return page(title, *parts)


def _shown(text: str) -> str:
    """The text on one line, safe in HTML, and not too long."""
    return clean(text if len(text) <= _LONGEST else f"{text[:_LONGEST]} ...")
