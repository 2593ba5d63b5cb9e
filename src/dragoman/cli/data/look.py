"""`dragoman data look`: what is in text, as a table, as JSON or as a page."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from dragoman.base.errors import ConfigError, DataError
from dragoman.base.tables import aligned, count
from dragoman.cli.data.reading import TEXT, ReadingFlags
from dragoman.cli.input import STDIN, check_outputs
from dragoman.cli.options import Flag, Json, OutputFile, argument
from dragoman.cli.outcome import tell, to_json, warn
from dragoman.cli.writing import opened_output, shown_rate

if TYPE_CHECKING:
    from dragoman.data.look import Table
    from dragoman.text.corpora.corpus import Corpus


def look(
    text: Annotated[list[str], argument("TEXT...", f"{TEXT} One file of lines is looked at alone.")],
    *,
    output: OutputFile = None,
    as_json: Json = False,
    against: Annotated[
        list[str] | None,
        Flag("Show this text beside it. Repeat it for the second of two files.", metavar="OTHER"),
    ] = None,
    rules: Annotated[Path | None, Flag("Begin with the limits of these rules (TOML).")] = None,
    terms: Annotated[Path | None, Flag("Count how often these terms (CSV or TBX) are translated so.")] = None,
    reading: ReadingFlags,
) -> None:
    """See what is in text before training: lengths, languages, characters, copies, damage, and what filters
    would drop. With -o, as a page whose sliders choose the limits of filters.

    \b
      dragoman data look train.en train.de
      dragoman data look web.en-de.tsv -o look.html --against news.en-de.tsv
    """
    from dragoman.data.clean import rules_of
    from dragoman.data.look import Questions, look_at, look_page
    from dragoman.data.rules import read_rules

    limits = {} if rules is None else read_rules(rules)
    codes = reading.source_language, reading.target_language
    corpora = [_opened(names, codes) for names in (text, against or ()) if names]
    read = [*text, *(against or ()), *(file for corpus, _ in corpora for file in corpus.files)]
    check_outputs([output], [*read, rules, terms])
    if len({sides for _, sides in corpora}) > 1:
        raise ConfigError("pairs beside one file of lines", hint="name --against twice, or a file of pairs")
    looks: list[Table] = []
    for corpus, sides in corpora:
        languages = corpus.source_language, corpus.target_language
        if terms is not None and not (all(languages) and len(sides) > 1):
            hint = "pass --source-language and --target-language" if len(sides) > 1 else "name both texts"
            raise ConfigError(f"{corpus.name}: terms of which languages?", hint=hint)
        parts, missing = rules_of(corpus, limits, languages)
        ask = Questions(languages, sides, terms, next(iter(parts.values())))
        if any(one != ask.rules for one in parts.values()):
            warn(f"{corpus.name}: its files have different rules; those of the first are shown")
        with shown_rate(lambda number: None, "looking at the text", shown=not reading.quiet) as done:
            looks.append(look_at(corpus, ask, reading.processes, done))
        if not looks[-1]["pairs"]:
            raise DataError(f"{corpus.name}: only blank lines", hint="check that it is the right file")
    for name in missing:
        warn(f'without {name}, for want of its library: pip install "dragoman[data]"')
    if as_json:
        print(to_json(looks[0] | ({"against": looks[1]} if against else {})))
    if output is not None:
        with opened_output(output) as file:
            file.write(look_page(looks))
        tell(f"{output}: {count(sum(one['pairs'] for one in looks), 'pair')} looked at", quiet=reading.quiet)
    elif not as_json:
        print("\n\n".join("\n".join(_lines(one)) for one in looks))


def _opened(names: Sequence[str], languages: tuple[str | None, str | None]) -> tuple[Corpus, tuple[str, ...]]:
    """The text and its sides."""
    from dragoman.documents.context.catalogues import are_catalogues, open_parallel
    from dragoman.text.corpora.corpus import open_sources
    from dragoman.text.corpora.shards import OF_PAIRS, kind_of

    if len(names) > 1 or names[0] == STDIN or kind_of(names[0]) in OF_PAIRS or are_catalogues(names):
        return open_parallel(names, languages=languages), ("source", "target")
    return open_sources(names[0], languages=languages), ("source",)


def _lines(table: Table) -> Iterator[str]:
    """A short report."""
    yield f"{table['text']}: {count(table['pairs'], 'pair' if len(table['sides']) > 1 else 'line')}"
    sums = [
        [name, "" if "/" in name else f"{one['sum']:,.0f}", f"{one['mean']:,.3g}", f"{one['max']:,.4g}"]
        for name, one in table["lengths"].items()
    ]
    yield from aligned([["", "all", "average", "largest"], *sums], right=(1, 2, 3))
    for side, own in zip(table["sides"], table["sample"]["languages"] or (), strict=False):
        shown = ", ".join(f"{code or 'too short'} {many:,}" for code, many in own)
        yield f"languages, {side}: {shown} (of {table['sample']['pairs']:,} lines)"
    near = table["near"]
    rows = [[name, _above(one, 0), ""] for name, one in table["kinds"].items() if one["edges"][-1]]
    size = f"of {table['sample']['pairs']:,} pairs"
    rows += [
        [f"{name}, {size}", _above(one, 0), ""] for name, one in table["faults"].items() if one["edges"][-1]
    ]
    rows += [[f"nearly equal, of {near['sample']:,} pairs", _part(near["pairs"], near["sample"]), ""]]
    rows += [
        [name, _above(one, one["limit"]), f"above {one['limit']:g}"]
        for name, one in table["filters"].items()
        if one["limit"] is not None
    ]
    yield from ["", *aligned([["pairs with", "", ""], *rows], right=(1,))]


def _above(one: Table, limit: float) -> str:
    pairs = zip(one["edges"], one["counts"], strict=True)
    return _part(sum(many for edge, many in pairs if edge is None or edge > limit), sum(one["counts"]))


def _part(part: int, whole: int) -> str:
    return f"{part:,} ({100 * part / max(whole, 1):.3g} %)"
