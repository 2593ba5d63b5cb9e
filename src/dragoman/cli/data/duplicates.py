"""`dragoman data dedupe`, `leak` and `split`: pairs that are alike, within a text or in two."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Annotated, Literal

from dragoman.base.errors import ConfigError
from dragoman.base.files import check_new, new_folder
from dragoman.cli.data.reading import TEXT, ReadingFlags
from dragoman.cli.options import Flag, Json, argument
from dragoman.cli.outcome import to_json
from dragoman.cli.writing import opened_output, shown_rate

Text = Annotated[list[str], argument("TEXT...", TEXT)]
_ALIKE = "Texts are alike that share this part of their runs of four characters (Jaccard index)."
Similarity = Annotated[float, Flag(_ALIKE, above=0, at_most=1)]
_REPORT = "Write a line (JSON) for each pair left out: its place, that of the pair it is like, and how."
Report = Annotated[Path | None, Flag(_REPORT)]


def dedupe(
    text: Text,
    *,
    output: Annotated[Path, Flag("Write the others to this .tsv or .jsonl.", flag="-o --output")],
    by: Annotated[
        Literal["exact", "normalised", "near"],
        Flag("exact: equal. normalised: equal but for case and punctuation. near: alike."),
    ] = "normalised",
    side: Annotated[Literal["both", "source", "target", "either"], Flag("Which sides to compare.")] = "both",
    similarity: Similarity = 0.8,
    report: Report = None,
    as_json: Json = False,
    reading: ReadingFlags,
) -> None:
    """Leave out pairs that are equal or alike, but for one of each group, which keeps its place.

    That is the first in which dragoman risk sees no fault without a model, or else the first. Empty pairs,
    which end documents, stay.

    \b
      dragoman data dedupe web.en-de.tsv -o unique.en-de.tsv
      dragoman data dedupe "web-*.en" "web-*.de" -o unique.en-de.tsv --by near --report left-out.jsonl
    """
    from dragoman.data.dedupe import Duplicates
    from dragoman.data.likeness import Likeness
    from dragoman.text.corpora.writing import pair_rows

    if by != "near" and similarity != 0.8:
        raise ConfigError("--similarity without --by near", hint="add --by near")
    corpus = reading.open(text, output, report)
    with ExitStack() as stack, shown_rate(lambda number: None, "reading", shown=not reading.quiet) as done:
        likeness, workers = Likeness(by, side, similarity), reading.processes
        found = Duplicates(corpus, likeness, output.parent, done, workers=workers, stack=stack)
        if report is not None:
            file = stack.enter_context(opened_output(report))
            file.writelines(map(_row, found.left_out()))
        file = stack.enter_context(opened_output(output))
        file.writelines(pair_rows(found.kept(), output.suffix))
    if as_json:
        print(to_json(found.counts))
    reading.tell(output, found.counts)


def leak(
    text: Text,
    *,
    test: Annotated[list[str], Flag("The test or validation text.", metavar="SOURCE TARGET")],
    output: Annotated[
        Path | None, Flag("Write the other pairs to this .tsv or .jsonl.", flag="-o --output")
    ] = None,
    similarity: Similarity = 0.8,
    report: Report = None,
    as_json: Json = False,
    reading: ReadingFlags,
) -> None:
    """Find pairs of training text that are like test text in the source, in the target, or as a pair in both.

    Prints a line (JSON) for each, as in a --report. With either of --report and --json, it prints none.

    \b
      dragoman data leak train.en train.de --test test.en test.de
      dragoman data leak train.en-de.tsv --test test.en-de.tsv -o clean.en-de.tsv --report leaks.jsonl
    """
    from dragoman.data.likeness import HeldOut
    from dragoman.documents.context.catalogues import open_parallel
    from dragoman.text.corpora.writing import row_of

    corpus = reading.open(text, output, report, test)
    tests = open_parallel(test, languages=(corpus.source_language, corpus.target_language))
    held_out = HeldOut([(shard.name, line) for shard in tests.shards for line in shard], similarity)
    found: dict[str, set[int]] = {"pair": set(), "source": set(), "target": set()}
    counts, before = Counter(kept=0, left_out=0), None
    with ExitStack() as stack, shown_rate(lambda number: None, "reading", shown=not reading.quiet) as done:
        clean = None if output is None else stack.enter_context(opened_output(output))
        listed = None if as_json and report is None else stack.enter_context(opened_output(report))
        for line, found_likes in held_out.look_for(corpus, reading.processes):
            likes = dict(found_likes)
            counts["left_out" if likes else "kept"] += 1
            for place, about in likes.items():
                found[about["like"]].add(place)
            if listed is not None:
                listed.writelines(map(_row, likes.values()))
            if output is not None and clean is not None and not likes:
                clean.write(row_of(line, output.suffix, before))
                before = line.document
            done(counts.total())
    tested = {"pairs": sum(1 for _ in tests)} | {like: len(places) for like, places in found.items()}
    if as_json:
        print(to_json({"pairs": counts.total(), **counts, "test": tested}))
    also = {"as a pair": tested["pair"], "by source": tested["source"], "by target": tested["target"]}
    reading.tell(test, {"pairs": tested["pairs"]} | {f"in the text {how}": also[how] for how in also})
    if output is not None:
        reading.tell(output, counts)


def split_text(
    text: Text,
    *,
    output: Annotated[Path, Flag("Write into this new folder.", flag="-o --output", metavar="FOLDER")],
    valid: Annotated[int, Flag("Pairs of validation text.", at_least=0)] = 1000,
    test: Annotated[int, Flag("Pairs of test text.", at_least=0)] = 1000,
    seed: Annotated[int, Flag("Another seed holds out other pairs.", at_least=0)] = 1,
    similarity: Similarity = 0.8,
    kind: Annotated[Literal["tsv", "jsonl"], Flag("jsonl keeps contexts.", flag="--format")] = "tsv",
    reading: ReadingFlags,
) -> None:
    """Divide text into training, validation and test text that share no documents and no alike pairs.

    Documents stay whole if lines name them or empty lines end them. Training pairs that are like held out
    ones on either side, and test pairs like validation ones, are left out; left_out.jsonl says which.

    \b
      dragoman data split all.en all.de -o parts
      dragoman train parts/train.en-de.tsv --valid parts/valid.en-de.tsv -o runs/en-de
    """
    from dragoman.data.split import divided
    from dragoman.text.corpora.writing import row_of

    check_new(output)
    corpus = reading.open(text, None)
    source, target = corpus.source_language, corpus.target_language
    if not source or not target:
        hint = "pass --source-language and --target-language"
        raise ConfigError(f"{corpus.name}: which languages are these?", hint=hint)
    sizes, workers = {"valid": valid, "test": test}, reading.processes
    counts, ends = Counter(train=0, **dict.fromkeys(sizes, 0), left_out=0), dict[str, str]()
    with new_folder(output) as folder, ExitStack() as stack:
        done = stack.enter_context(shown_rate(lambda number: None, "dividing", shown=not reading.quiet))
        names = {part: f"{part}.{source}-{target}.{kind}" for part in counts} | {"left_out": "left_out.jsonl"}
        files = {part: stack.enter_context(opened_output(folder / name)) for part, name in names.items()}
        for part, line, like in divided(corpus, sizes, seed=seed, least=similarity, workers=workers):
            row = row_of(line, f".{kind}", ends.get(part)) if like is None else _row({"part": part, **like})
            counts[place := part if like is None else "left_out"] += 1
            files[place].write(row)
            ends |= {part: line.document} if like is None else {}
            done(counts.total())
    reading.tell(output, counts)


def _row(table: Mapping[str, object]) -> str:
    return json.dumps(table, ensure_ascii=False) + "\n"
