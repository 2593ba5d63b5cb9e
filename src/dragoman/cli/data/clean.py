"""`dragoman data clean`: repair and drop pairs of text by rules, and report each."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated, Any

from dragoman.base.errors import ConfigError
from dragoman.base.tables import aligned, count
from dragoman.cli.data.reading import TEXT, ReadingFlags
from dragoman.cli.data.scores import Scoring, make_scores, with_scores
from dragoman.cli.input import check_outputs
from dragoman.cli.models import Loading, files_of_models, languages_for
from dragoman.cli.options import Flag, Flags, Json, OutputFile, argument
from dragoman.cli.outcome import tell, to_json, warn
from dragoman.cli.writing import check_pairs_languages, made_of, opened_output, shown_rate, writing_to
from dragoman.translation.search.options import Decoding

if TYPE_CHECKING:
    from dragoman.data.clean import RuledLines
    from dragoman.data.lexical import LexiconScorer
    from dragoman.evaluation.dual import PairScorer


def clean_text(
    text: Annotated[list[str] | None, argument("TEXT...", TEXT)] = None,
    *,
    output: OutputFile = None,
    rules: Annotated[
        Path | None, Flag("Change the default rules by this file (TOML).", metavar="FILE")
    ] = None,
    show_rules: Annotated[bool, Flag("Print the default rules, with a comment on each.")] = False,
    report: Annotated[
        Path | None,
        Flag(
            "Write a line (JSON) for each pair that is repaired or dropped to this file, .jsonl or "
            ".jsonl.gz. [default: by the name of the output, such as clean.en-de.tsv.report.jsonl.gz]",
            metavar="FILE",
        ),
    ] = None,
    page: Annotated[
        Path | None, Flag("Write a page (HTML) with counts and examples.", metavar="FILE")
    ] = None,
    as_json: Json = False,
    reading: ReadingFlags,
    scoring: Annotated[Scoring, Flags("score", "by", "reverse", "keep", "least", "scores", section="Scores")],
    decoding: Annotated[
        Decoding,
        Flags(
            "batch_tokens",
            section="Scores",
            max_source_tokens=Flag("Drop pairs of more than N tokens.", flag="--max-length", default=256),
        ),
    ],
    loading: Annotated[Loading, Flags("dtype", "average", section="Scores")],
) -> None:
    """Repair pairs of text, and drop bad ones, by rules. Clean text stays as it is.

    Each pair that is changed or dropped is a line of the report. A command that was stopped resumes. With
    --score, pairs that models find unlikely are dropped, too: the score of dual is
    exp(-(|f - r| + (f + r) / 2)) of the forward and the reverse cross-entropy a token (Junczys-Dowmunt 2018).
    With --by lexicon, a lexicon of the text itself finds pairs that do not belong together.

    \b
      dragoman data clean web.en-de.tsv -o clean.en-de.tsv --page report.html
      dragoman data clean web.en-de.tsv -o best.en-de.tsv --score runs/en-de --reverse runs/de-en --keep 0.8
      dragoman data clean web.en-de.tsv -o best.en-de.tsv --by lexicon --keep 0.9
      dragoman data clean --show-rules > rules.toml
    """
    from dragoman.data.rules import default_rules, read_rules

    if show_rules:
        print(default_rules())
        return
    if not text or output is None:
        raise ConfigError(
            "text and an output are needed", hint="dragoman data clean web.en-de.tsv -o clean.en-de.tsv"
        )
    from dragoman.data.clean import clean_page, cleaned, report_bytes, ruled_chunks, rules_of, summary
    from dragoman.data.passes import mapped
    from dragoman.data.rules import idle_sections
    from dragoman.documents.context.catalogues import open_parallel
    from dragoman.text.corpora.writing import check_kind
    from dragoman.text.detection import is_known

    quiet = reading.quiet
    scoring.check()
    models = scoring.score or []
    loading.check(models)
    if not models and (loading != Loading() or decoding != Decoding(max_source_tokens=256)):
        hint = "leave them out"
        raise ConfigError("--dtype, --average, --max-length and --batch-tokens are for --score", hint=hint)
    regular = output.is_file() or not output.exists()
    if regular:
        check_kind(output)
    table = {} if rules is None else read_rules(rules)
    if report is None and not regular:
        raise ConfigError(f"{output}: not a file: a report to which file?", hint="name one with --report")
    report = report or output.with_name(f"{output.name}.report.jsonl.gz")
    if not report.name.endswith((".jsonl", ".jsonl.gz")):
        raise ConfigError(
            f"{report}: the report is JSON Lines", hint="name it report.jsonl or report.jsonl.gz"
        )
    languages = reading.source_language, reading.target_language
    given = replace(decoding, source=languages[0], to=languages[1])
    by_models = scoring.model_scorer(loading, given) if models else None
    corpus = open_parallel(
        text, languages=languages_for(by_models.forward, given) if by_models else languages
    )
    languages = corpus.source_language, corpus.target_language
    scorer: PairScorer | LexiconScorer | None = by_models and by_models.between(*languages)
    inputs = [*text, *corpus.files, rules, *files_of_models([*models, scoring.reverse])]
    check_outputs([output, report, page, scoring.scores], inputs)
    if regular and all(languages):
        check_pairs_languages(output, *map(str, languages))
    if scoring.by == "lexicon":
        from dragoman.data.lexical import LexiconScorer

        scorer = LexiconScorer(((line.source, line.target) for line in corpus), languages)
    parts, missing = rules_of(corpus, table, languages)
    for name in idle_sections(table, languages, [file for one in corpus.shards for file in one.files]):
        warn(f"{rules}: [{name}] applies to none of this text")
    for name in missing:
        warn(f'without {name}, for want of its library: pip install "dragoman[data]"')
    if missing_code := [side for side, code in zip(("source", "target"), languages, strict=True) if not code]:
        tell(f"the {' and '.join(missing_code)} language is not known: no filter checks it", quiet=quiet)
    identified = any(one.is_on for each in parts.values() for one in each.filters if one.name == "language")
    for code in [code for code in languages if identified and code and not is_known(code)]:
        warn(f"no filter checks the language {code}: py3langid does not know it")
    before = os.times()

    def about(**more: object) -> dict[str, str]:
        return made_of(
            text=corpus.files,
            models=[*map(str, models)],
            files={"reverse": scoring.reverse},
            options={"languages": languages, "rules": table, "missing": missing, **more},
        )

    def choice() -> dict[str, str]:
        return about(report=str(report), keep=scoring.keep, least=scoring.least)

    with ExitStack() as stack:
        chunks: Callable[..., Iterator[RuledLines]] = partial(ruled_chunks, corpus, parts)
        scores = scoring.scores or output.with_name(f"{output.name}.unfinished.scores")
        if scorer is not None:
            if not regular and scoring.scores is None:
                scores = Path(stack.enter_context(TemporaryDirectory()), "scores")
            options: dict[str, object] = {"by": scoring.by}
            if models:
                options |= {"max_length": decoding.max_source_tokens, **vars(loading)}
                options["batch_tokens"] = decoding.batch_tokens
            make_scores(scores, scorer, corpus, chunks, about(**options), quiet=quiet)
        writer = stack.enter_context(writing_to(output, corpus.files or None, choice, [report]))
        if skipped := writer.written.lines:
            tell(f"{output}: resuming after pair {skipped:,}", quiet=quiet)
        judged = chunks(skip=skipped)
        if scorer is not None:
            judged = with_scores(
                judged, scores, share=scoring.keep or 1.0, least=scoring.least or 0.0, skip=skipped
            )
        number, work = skipped, partial(cleaned, kind=output.suffix if regular else ".tsv")
        done = stack.enter_context(shown_rate(lambda n: None, "cleaning", skipped=skipped, shown=not quiet))
        for chunk, one in mapped(work, judged, reading.processes):
            number += len(chunk.lines)
            writer.add(number, one.rows, counts=one.counts, more=[report_bytes(report, one.report)])
            done(number)
    if scorer is not None and scoring.scores is None:
        scores.unlink(missing_ok=True)
    found = summary(writer.written.counts)
    if not found["kept"]:
        warn(f"{output}: no pair is kept; {report} says why")
    if page is not None:
        with opened_output(page) as file:
            file.write(clean_page(f"{corpus.name}, cleaned", found, report))
    if as_json:
        print(to_json(found))
    used = sum(os.times()[:4]) - sum(before[:4])
    tell("\n".join(_lines(found, report)), quiet=quiet or as_json)
    tell(
        f"{(number - skipped) / max(used, 0.01):,.0f} pairs/s on one core, {used:.3g} core-seconds",
        quiet=quiet,
    )


def _lines(found: dict[str, Any], report: Path) -> list[str]:
    """What was done, as text."""
    lines = [
        f"{count(found['pairs'], 'pair')}, {found['kept']:,} kept ({found['repaired']:,} of them repaired), "
        f"{found['dropped']:,} dropped; each is in {report}"
    ]
    for kind, doing in (("filters", "dropped by"), ("repairs", "repaired:")):
        rows = [
            [f"  {doing} {name}", f"{many:,}", also]
            for name, many in found[kind].items()
            for also in [f"and {found['also'][name]:,} of others" if name in found["also"] else ""]
        ]
        lines += [line.rstrip() for line in aligned(rows, right=(1,))] if rows else []
    return lines
