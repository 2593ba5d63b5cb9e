"""`dragoman translate`: n lines in, n lines out; or documents."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dragoman.base.errors import ConfigError
from dragoman.cli.input import STDIN, Input, check_outputs, keep_apart
from dragoman.cli.models import Guides, Loading, files_of_models, models_and_text, warn_if_uncalibrated
from dragoman.cli.options import Flag, Flags, Model, Quiet, argument, check_applies
from dragoman.cli.outcome import tell, warn
from dragoman.cli.translate.documents import are_documents, plan_documents, protected, run_documents
from dragoman.cli.writing import check_exist, made_from, shown_rate, writing_to
from dragoman.documents.segment import Replacing
from dragoman.text.corpora.compressed import SUFFIXES
from dragoman.translation.search.options import Decoding

if TYPE_CHECKING:
    from dragoman.translation.translation import Translation

# Kinds of input, and the sections of the help whose options are not for all of them.
PLAIN, PROTECTED, DOCUMENTS = "lines of text", "lines with --protect", "documents"
_PRINTED, _DRAWN = "Lines of text: what is printed", "Lines of text: draws in place of a search"
APPLIES = {
    "Lines of text": (PLAIN, PROTECTED),
    _PRINTED: (PLAIN,),
    _DRAWN: (PLAIN,),
    "Documents": (DOCUMENTS,),
}
_INSTEAD = {
    PLAIN: "leave it out, or name a document or choose its --format",
    PROTECTED: "leave out one of them",
    DOCUMENTS: "leave it out, or translate line by line with --format lines",
}
SEARCH = Flags(
    *("beam", "length_penalty", "stop", "shortlist", "source", "to", "formality", "quality", "mbr"),
    *("candidates", "minimum_length", "no_repeat_ngram", "max_extra_tokens", "batch_tokens"),
    section="Search",
)
_RISK = (
    "With --jsonl: the probability that a correction is needed, and what to check. Documents and --protect: "
    "what to check."
)
Plain = Annotated[
    bool,
    Flag(
        "Give the model each line as it is: do not split it into sentences, and keep no placeholders.",
        section="Lines of text",
    ),
]
FILE_OPTIONS = ("adapter", "context_file", "memory", "prefix_file", "reverse", "terms")  # they name files


def translate(
    context: typer.Context,
    model: Model,
    files: Annotated[
        list[str] | None,
        argument(
            "FILE",
            "Lines of text, plain or compressed (.gz, .zst); - is standard input. Or "
            "documents: PO, XLIFF, Word and others, and folders of them. More model folders come first: all "
            "translate together, as an ensemble. [default: -]",
        ),
    ] = None,
    *,
    output: Annotated[
        Path | None,
        Flag(
            "Write to this file, whole or not at all; or to this folder. Repeat a command that was "
            "stopped, and it resumes.",
            flag="--output -o",
            section="Input and output",
        ),
    ] = None,
    format: Annotated[
        str | None,
        Flag(
            "lines, text (paragraphs), markdown, rst, html, po, xliff, tmx, qt, srt, vtt, json, properties, "
            "yaml, android, resx, strings, stringsdict, xcstrings, csv, docx, pptx, xlsx, odt, odp, ods, "
            "epub. [default: by name or content; lines for plain text]",
            metavar="FORMAT",
            section="Input and output",
        ),
    ] = None,
    decoding: Annotated[
        Decoding,
        Flags(risk=Flag(_RISK), section="Input and output"),
        SEARCH,
        Flags("n_best", "alignment", "attention", section=_PRINTED),
        Flags(
            *("sample", "sample.temperature", "sample.top_k", "sample.top_p", "sample.seed"), section=_DRAWN
        ),
    ],
    plain: Plain = False,
    protect: Annotated[
        bool,
        Flag("Treat lines as segments of a document: say which have to be checked.", section="Lines of text"),
    ] = False,
    prefix: Annotated[str | None, Flag("Begin every translation with this text.", section=_PRINTED)] = None,
    prefix_file: Annotated[
        Path | None, Flag("One prefix per line of the text; lines may be blank.", section=_PRINTED)
    ] = None,
    in_context: Annotated[
        bool,
        Flag(
            "Read with each line up to three lines before it, not beyond a blank one. For models "
            "trained with data.context; they read the context in documents anyway.",
            section=_PRINTED,
        ),
    ] = False,
    context_file: Annotated[
        Path | None, Flag("One context per line of the text; lines may be blank.", section=_PRINTED)
    ] = None,
    scores: Annotated[
        bool, Flag("Put the score and a tab before each translation.", section=_PRINTED)
    ] = False,
    jsonl: Annotated[
        bool,
        Flag("Print one JSON object for each line: text, score, tokens, alternatives.", section=_PRINTED),
    ] = False,
    replacing: Annotated[Replacing, Flags("retranslate", "approved", "final", "locked", section="Documents")],
    column: Annotated[
        list[str] | None,
        Flag(
            "Of CSV and TSV: a column to translate, by its name or number. Give it again for another one. "
            "[default: as the first row says]",
            metavar="NAME",
            section="Documents",
        ),
    ] = None,
    report: Annotated[
        Path | None,
        Flag(
            "Write the segments to check: .csv, .html (a page to read), or else one JSON object a line.",
            section="Documents",
        ),
    ] = None,
    guides: Guides,
    loading: Loading,
    quiet: Quiet = False,
) -> None:
    """Translate text line by line: n lines in, n lines out, in order. Or translate documents.

    Empty lines and line ends are kept. Each typed line is translated at once, and so is a line from another
    program that waits for the answer. Equal lines are translated once. --n-best prints rows of
    number<TAB>score<TAB>translation, --alignment a tab and the pairs of words after each translation.

    A document keeps its format: placeholders such as %s, tags and URLs stay unchanged. Translations that
    it has are kept, and what is missing, fuzzy or new is filled in. Doubtful translations are marked in the
    file if its format allows, and listed with --report.

    \b
      dragoman translate runs/en-de test.en -o test.out.de
      dragoman translate runs/en-de de.po -o de.new.po --report check.html
      dragoman translate runs/en-de manual.docx -o manual.de.docx
      dragoman translate runs/en-de manual.docx -o manual.de.docx --memory app.tm
      dragoman translate runs/en-de de.po -o de.new.po --terms terms.csv
      dragoman translate runs/en-de-1 runs/en-de-2 runs/en-de-3 test.en -o test.out.de
      echo "A man rides a bike." | dragoman translate runs/en-de
      dragoman translate runs/en-de test.en --n-best 3 --jsonl

    For folders of text and files of many millions of lines, see dragoman bulk.
    """
    decoding = replace(decoding, split=not plain)
    models, names = models_and_text(model, files)
    names = names or [STDIN]
    loading.check(models)
    documents = are_documents(names, format)
    kind = DOCUMENTS if documents else PROTECTED if protect else PLAIN
    check_applies(context, APPLIES, kind, hint=_INSTEAD[kind])
    guides.check()
    apart = ("model", "files", "output", "report", "quiet")
    options = {**context.params, "column": column or None}
    read = [guides.terms, guides.memory, *files_of_models([*models, guides.reverse, loading.adapter])]
    about = partial(made_from, options, models, files=FILE_OPTIONS, apart=apart)
    if documents:
        # A Path has lost the slash at the end.
        tasks = plan_documents(names, context.params["output"], format, column)
        for task in tasks:
            keep_apart(task.output, read)
        if report is not None:
            check_outputs([report], [*names, *(task.source for task in tasks), *read])
            if os.path.realpath(report) in {os.path.realpath(task.output or "") for task in tasks}:
                raise ConfigError(f"{report}: also the name of a translation", hint="name another report")
        made = about(()) if len(tasks) > 1 else {}
        with guides.open(decoding, offers=report is not None) as guided:
            translator = guided(loading.load(models))
            if decoding.risk and not quiet:
                warn_if_uncalibrated(translator, decoding.to)
            run_documents(
                translator,
                tasks,
                decoding,
                replacing=replacing,
                columns=column or (),
                report=report,
                quiet=quiet,
                names=names,
                into=output,
                about=made,
            )
        return
    _check_lines(names, output, prefix, prefix_file, context_file)
    if in_context and context_file is not None:
        raise ConfigError("--in-context together with --context-file", hint="leave out one of them")
    keep_apart(output, [*names, prefix_file, context_file, *read])
    if decoding.attention is not None and not (jsonl or decoding.alignment):
        raise ConfigError("--attention without --jsonl", hint="add --jsonl: attention has no place in text")
    if decoding.risk and not (jsonl or protect):
        raise ConfigError("--risk without --jsonl", hint="add --jsonl: the risk has no place in text")
    from dragoman.text.corpora.arriving import arriving
    from dragoman.text.corpora.lines import read_lines

    typed = names == [STDIN] and sys.stdin.isatty()
    lines_of = [*names, *(str(one) for one in (prefix_file, context_file) if one is not None)]
    with (
        writing_to(output, None if protect else lines_of, partial(about, names)) as writer,
        guides.open(decoding, offers=jsonl) as guided,
    ):
        translator = guided(loading.load(models))
        if decoding.risk and not quiet:
            warn_if_uncalibrated(translator, decoding.to)
        if typed and not quiet and sys.stderr.isatty():
            languages = " to ".join(translator.pair(decoding))
            print(f"{languages}: type a sentence and press Enter; Ctrl-D ends", file=sys.stderr)
        lines = Input(names, skipped=writer.written.lines, in_context=in_context)
        if lines.skipped:
            tell(f"{output}: resuming after line {lines.skipped:,}", quiet=quiet)
        if protect:
            translations = protected(translator, lines, decoding, window=1 if lines.live else 1024)
        else:

            def beside(path: Path | None) -> Iterator[str] | None:
                return None if path is None else islice(read_lines(path), lines.skipped, None)

            translations = translator.stream(
                arriving(lines) if lines.live and not typed else lines,
                decoding,
                prefix=prefix if prefix_file is None else beside(prefix_file),
                context=lines.contexts() if in_context else beside(context_file),
                window=1 if typed else 4096,
            )
        one_line = scored_line if scores else text_line
        show = json_line if jsonl else n_best_rows(decoding.n_best) if decoding.n_best > 1 else one_line
        shown = not quiet and not typed and (output is not None or not sys.stdout.isatty())
        with shown_rate(lines.share, "translating", skipped=lines.skipped, shown=shown) as done:
            for number, one in enumerate(translations, lines.skipped + 1):
                row = show(number, one, lines.ends.popleft())
                doubtful = bool(one.doubts)
                counts = {"truncated": one.truncated, "lacking": one.lacking, "doubtful": doubtful}
                writer.add(number, row, counts=counts)
                done(number)
    if quiet:
        return
    numbers = {what: [f"{one:,}" for one in first] for what, first in writer.written.first.items()}
    if many := writer.written.counts.get("truncated"):
        warn_of_truncated(many, "line ", numbers["truncated"], decoding)
    if many := writer.written.counts.get("lacking"):
        what = "1 translation lacks" if many == 1 else f"{many:,} translations lack"
        warn(f"{what} most of the source (line {_first(many, numbers['lacking'])})")
    if many := writer.written.counts.get("doubtful"):
        what = "1 line with placeholders is" if many == 1 else f"{many:,} lines with placeholders are"
        where = _first(many, numbers["doubtful"])
        warn(f"{what} translated only in parts, or not at all (line {where})")


def _check_lines(
    names: Sequence[str],
    output: Path | None,
    prefix: str | None,
    prefix_file: Path | None,
    context_file: Path | None,
) -> None:
    """Raise an error for files that lines cannot be read from or written to."""
    if output is not None and output.suffix in SUFFIXES:
        raise ConfigError(
            f"{output}: lines are not compressed while they are written",
            hint=f"leave out {output.suffix}, or use dragoman bulk, which compresses",
        )
    if prefix is not None and prefix_file is not None:
        raise ConfigError("--prefix together with --prefix-file", hint="leave out one of them")
    check_exist(names, prefix_file, context_file)


# ---- standard error --------------------------------------------------------------------------------


def warn_of_truncated(count: int, where: str, first: Sequence[object], decoding: Decoding) -> None:
    """Say how many translations were cut short, and `where` the first of them are."""
    shown = _first(count, first)
    what = "1 translation is" if count == 1 else f"{count:,} translations are"
    warn(
        f"{what} cut short ({where}{shown}): the line is too long, or its translation reached the limit of "
        f"{decoding.max_extra_tokens} tokens more than the source (--max-extra)"
    )


def _first(count: int, first: Sequence[object]) -> str:
    return ", ".join(map(str, first)) + (", ..." if count > len(first) else "")


Show = Callable[[int, "Translation", str], str]  # line number, translation, line end -> text


def text_line(number: int, translation: Translation, end: str) -> str:
    """The text, and the alignment if there is one."""
    return (translation.text if translation.alignment is None else _cells(translation)) + end


def scored_line(number: int, translation: Translation, end: str) -> str:
    """The score before the text."""
    return f"{translation.score:.4f}\t{_cells(translation)}{end}"


def n_best_rows(n_best: int) -> Show:
    """A row for each of the best translations: line number, score, text."""

    def rows(number: int, translation: Translation, end: str) -> str:
        best = [translation, *translation.alternatives]
        best += [translation] * (n_best - len(best))  # of the memory, or with placeholders
        return "".join(f"{number}\t{one.score:.4f}\t{_cells(one)}\n" for one in best)

    return rows


def json_line(number: int, translation: Translation, end: str) -> str:
    """A JSON object with everything known about a translation."""
    table = {"line": number, "source": translation.source, **_figures(translation)}
    if translation.match is not None:
        table["match"] = translation.match.to_table()
    if translation.alternatives:
        table["alternatives"] = [_figures(other) for other in translation.alternatives]
    return json.dumps(table, ensure_ascii=False) + "\n"


def _figures(translation: Translation) -> dict[str, Any]:
    figures: dict[str, Any] = {
        "text": translation.text,
        "score": translation.score if translation.is_scored else None,
        "tokens": list(translation.tokens),
        "token_logp": list(translation.token_logp),
        "truncated": translation.truncated,
    }
    if translation.attention:
        figures["attention"] = [[round(weight, 6) for weight in row] for row in translation.attention]
    if translation.unused_terms:
        figures["unused_terms"] = list(translation.unused_terms)
    if translation.alignment is not None:
        figures["alignment"] = translation.alignment.words()
    if translation.risk is not None:
        figures["risk"] = translation.risk.to_table()
    return figures


def _cells(translation: Translation) -> str:
    """The text, then the alignment if there is one. A tab in the text becomes a space."""
    text = translation.text.replace("\t", " ")
    return text if translation.alignment is None else f"{text}\t{translation.alignment.pharaoh()}"
