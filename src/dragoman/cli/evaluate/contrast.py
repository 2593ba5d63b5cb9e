"""`dragoman evaluate --contrast`: whether right translations are likelier than wrong ones."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from dragoman.base.errors import ConfigError
from dragoman.base.tables import aligned
from dragoman.cli.outcome import to_json, waiting

if TYPE_CHECKING:
    from dragoman.evaluation.contrast import Preference
    from dragoman.translation.search.options import Decoding
    from dragoman.translation.translator import Translator


def evaluate_contrast(
    translator: Translator,
    path: Path,
    documents: Path | None,
    decoding: Decoding,
    *,
    as_json: bool,
    quiet: bool,
) -> None:
    """Print how often right translations are preferred, by kind, without context and with it."""
    from dragoman.evaluation.contrast import by_kind, preferred, read_examples

    examples = read_examples(path, documents)
    if "mul" in translator.pair(decoding):
        raise ConfigError("the languages are open: the model has several", hint="name both, --from and --to")
    reads = "context" in translator.reads and any(one.context for one in examples)
    found: dict[str, list[Preference]] = {}
    with waiting(f"scoring {len(examples):,} examples", shown=not quiet):
        for name in ("alone", *(["in context"] if reads else [])):
            right = preferred(translator, examples, decoding, in_context=name == "in context")
            found[name] = by_kind(examples, right)
    if as_json:
        tables = {
            name: [
                {"kind": one.kind, "examples": one.examples, "share": one.share, "interval": one.interval}
                for one in rows
            ]
            for name, rows in found.items()
        }
        print(to_json({"text": str(path), **tables}))
        return
    rows = [["", "examples", *found]]
    for each in zip(*found.values(), strict=True):
        rows.append([each[0].kind, f"{each[0].examples:,}", *map(_share, each)])
    print(
        "\n".join(["right translations preferred, with 95% intervals", "", *aligned(rows, right=(1, 2, 3))])
    )


def _share(one: Preference) -> str:
    low, high = one.interval
    return f"{one.share:.1%} ({low:.1%} to {high:.1%})"
