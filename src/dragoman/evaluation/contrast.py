"""Contrastive scoring: whether a model finds the right translation likelier than wrong ones.

Three formats are read: our own, ContraPro's (Müller et al. 2018, "A Large-Scale Test Set for the Evaluation
of Context-Aware Pronoun Translation in Neural Machine Translation") and MuST-SHE's (Bentivogli et al. 2020,
"Gender in Danger?").

    {"source": "It is old.", "right": "Sie ist alt.", "wrong": ["Er ist alt."], "context": "I see a lamp.",
     "kind": "f"}

Each line of our own is such an object; `context`, `context_target` and `kind` may be left out.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dragoman.base.errors import DataError
from dragoman.text.corpora.context import SENTENCES
from dragoman.text.corpora.lines import one_line, read_lines
from dragoman.text.guidance import Context

if TYPE_CHECKING:
    from dragoman.translation.search.options import Decoding
    from dragoman.translation.translator import Translator

_DOCUMENTS = "use the documents of these examples"
_HINT = 'write {"source": "...", "right": "...", "wrong": ["..."]}, one object a line'


@dataclass(frozen=True)
class ContrastiveExample:
    """A source with its right and its wrong translations."""

    source: str
    right: str
    wrong: tuple[str, ...]
    context: Context | None = None
    kind: str = ""


@dataclass(frozen=True)
class Preference:
    """How many of the examples of a kind have their right translation preferred."""

    kind: str
    examples: int
    right: int

    @property
    def share(self) -> float:
        """From 0 to 1."""
        return self.right / self.examples

    @property
    def interval(self) -> tuple[float, float]:
        """The 95 % interval of the share (Wilson 1927)."""
        n, p, z = self.examples, self.share, 1.959964
        middle, width = p + z * z / (2 * n), z * math.sqrt(p * (1 - p) / n + z * z / (4 * n * n))
        return max(0.0, (middle - width) / (1 + z * z / n)), min(1.0, (middle + width) / (1 + z * z / n))


def read_examples(path: Path, documents: Path | None = None) -> list[ContrastiveExample]:
    """Return the examples of a file: .tsv is MuST-SHE's, .json ContraPro's, else each line is an object.

    `documents` is the folder with the texts that ContraPro's examples come from, in which their context is.
    Raises DataError naming file and place.
    """
    if path.suffix == ".tsv":
        examples = [*_must_she(path)]
    elif path.suffix == ".json":
        examples = [*_contrapro(path, documents)]
    else:
        examples = [_own(line, f"{path}:{n}") for n, line in enumerate(read_lines(path), 1) if line.strip()]
    if not examples:
        raise DataError(f"{path}: no examples", hint=_HINT)
    return examples


def preferred(
    translator: Translator, examples: Sequence[ContrastiveExample], decoding: Decoding, *, in_context: bool
) -> list[bool]:
    """Whether the model finds the right translation of each example likelier than every wrong one.

    The probability is that of the whole translation, without a length penalty. `in_context` reads contexts.
    """
    rows = [(one, text) for one in examples for text in (one.right, *one.wrong)]
    scored = translator.score(
        [one.source for one, _ in rows],
        [text for _, text in rows],
        source=decoding.source,
        to=decoding.to,
        formality=decoding.formality,
        context=[one.context for one, _ in rows] if in_context else None,
        batch_tokens=decoding.batch_tokens,
    )
    logp = iter([math.fsum(one.token_logp) for one in scored])
    return [next(logp) > max(next(logp) for _ in one.wrong) for one in examples]


def by_kind(examples: Sequence[ContrastiveExample], right: Sequence[bool]) -> list[Preference]:
    """Count by kind, all examples last."""
    kinds = dict.fromkeys(one.kind for one in examples)
    found = {
        kind: [good for one, good in zip(examples, right, strict=True) if one.kind == kind] for kind in kinds
    }
    rows = [Preference(kind, len(own), sum(own)) for kind, own in sorted(found.items())]
    return [*(rows if len(rows) > 1 else []), Preference("all", len(examples), sum(right))]


def _own(line: str, where: str) -> ContrastiveExample:
    try:
        table = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise DataError(f"{where}: not valid JSON ({error})", hint=_HINT) from error
    return _example(table, where, "source", "right", table.get("wrong") if isinstance(table, dict) else None)


def _example(
    table: Any, where: str, source: str, right: str, wrong: object, context: Context | None = None
) -> ContrastiveExample:
    if not isinstance(table, dict) or not isinstance(wrong, list) or not wrong:
        raise DataError(f"{where}: not a source with a right and wrong translations", hint=_HINT)

    def text(value: object, name: str) -> str:
        if not isinstance(value, str):
            raise DataError(f"{where}: {name} is not text", hint=_HINT)
        return one_line(value, where)

    if table.get(right) in wrong:
        raise DataError(f"{where}: a wrong translation is the right one", hint=_HINT)
    before = (
        text(table.get("context", ""), "context"),
        text(table.get("context_target", ""), "context_target"),
    )
    return ContrastiveExample(
        text(table.get(source), source),
        text(table.get(right), right),
        tuple(text(one, "wrong") for one in wrong),
        context or (Context(*before) if before[0] else None),
        text(table.get("kind", ""), "kind"),
    )


def _contrapro(path: Path, documents: Path | None) -> Iterator[ContrastiveExample]:
    try:
        table = json.loads("\n".join(read_lines(path)))
    except (ValueError, RecursionError) as error:
        raise DataError(f"{path}: not valid JSON ({error})", hint="download it again") from error
    if not isinstance(table, list):
        raise DataError(f"{path}: not a list of examples", hint="use ContraPro's contrapro.json")
    places: dict[str, list[Path]] = {}
    if documents is not None and not documents.is_dir():
        raise DataError(f"{documents}: no such folder", hint="--documents names ContraPro's")
    for file in documents.rglob("*") if documents else ():
        places.setdefault(file.stem, []).append(file)
    lines_of = lru_cache(2)(lambda path: [*read_lines(path)])  # examples of one document follow each other
    for number, one in enumerate(table, 1):
        where = f"{path}, example {number}"
        if not isinstance(one, dict) or not isinstance(one.get("errors"), list):
            raise DataError(f"{where}: no errors", hint="use ContraPro's contrapro.json")
        wrong = [each.get("contrastive") for each in one["errors"] if isinstance(each, dict)]
        context = _before(one, places, lines_of, where) if documents else None
        kind = {"kind": f"{one.get('src pronoun')}:{one.get('ref pronoun')}".lower()}
        yield _example(one | kind, where, "src segment", "ref segment", wrong, context)


def _before(
    one: dict[str, Any], places: dict[str, list[Path]], lines_of: Callable[[Path], list[str]], where: str
) -> Context | None:
    """The lines before an example in its document, whose name is that of the target side: "1.de"."""
    name, line = str(one.get("document id")), one.get("segment id")
    sides = sorted(places.get(Path(name).stem, ()), key=lambda path: path.name == name)
    if len(sides) != 2 or sides[1].name != name or type(line) is not int:
        raise DataError(f"{where}: no document {name!r} with two sides", hint="see ContraPro")
    source, target = map(lines_of, sides)
    if len(source) != len(target):
        lengths = f"{sides[0]} has {len(source):,} lines, {sides[1]} {len(target):,}"
        raise DataError(f"{where}: {lengths}", hint=_DOCUMENTS)
    if not 1 <= line <= len(source) or source[line - 1].split() != str(one.get("src segment")).split():
        raise DataError(f"{where}: not line {line} of {sides[0]}", hint=_DOCUMENTS)
    before = [" ".join(side[: line - 1][-SENTENCES:]).strip() for side in (source, target)]
    return Context(*before) if before[0] else None


def _must_she(path: Path) -> Iterator[ContrastiveExample]:
    rows = ((number, line.split("\t")) for number, line in enumerate(read_lines(path), 1) if line.strip())
    _, names = next(rows, (0, []))
    for number, cells in rows:
        where, row = f"{path}:{number}", dict(zip(names, cells, strict=False))
        if missing := [name for name in ("SRC", "REF", "WRONG-REF") if name not in row]:
            raise DataError(f"{where}: no {missing[0]}", hint="use a .tsv file of MuST-SHE, with its header")
        kind = f"{row.get('CATEGORY', '')} {row.get('GENDER', '')}".strip()
        yield _example(row | {"kind": kind}, where, "SRC", "REF", [row["WRONG-REF"]])
