"""`dragoman translate`: n lines in, n lines out."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from functools import partial
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from dragoman.base.errors import ConfigError
from dragoman.base.files import check_writable
from dragoman.cli.bulk import (
    UNUSED,
    Address,
    BulkPlace,
    Column,
    PartLines,
    WorkerCount,
    check_place,
    run_bulk,
)
from dragoman.cli.documents import LINES, are_documents, plan_documents, protected, run_documents
from dragoman.cli.input import STDIN, Input, keep_apart
from dragoman.cli.lines import Show, json_line, n_best_rows, scored_line, text_line
from dragoman.cli.models import AverageOfModels, check_models, files_of_models, load_models, models_and_text
from dragoman.cli.options import (
    AdapterFolder,
    BatchTokens,
    BeamSize,
    Candidates,
    ChooseBy,
    Debug,
    LengthPenalty,
    MatchLeast,
    Memory,
    MinLength,
    Model,
    NoRepeatNgram,
    NumberType,
    QualityLevel,
    Quiet,
    ReverseModel,
    StopRule,
    TargetLanguage,
    TermsFile,
    TermsHow,
    UseShortlist,
)
from dragoman.cli.outcome import warn
from dragoman.cli.remembering import remembering
from dragoman.cli.reverse import check_reverse_folder, with_reverse
from dragoman.cli.terms import check_terms, with_terms
from dragoman.cli.writing import Writer, Written, check_exist, made_of, shown_rate, writing_to
from dragoman.text.compressed import SUFFIXES

if TYPE_CHECKING:
    from dragoman.decoding.mbr import Utility
    from dragoman.decoding.options import Quality, Sample, Stop
    from dragoman.translator import Translation

# Options that documents, or lines, have no use for, and their defaults.
LINE_OPTIONS = {
    "n_best": 1, "prefix": None, "prefix_file": None, "sample": False, "attention": None, "alignment": False,
    "scores": False, "jsonl": False, "sentences": False, "protect": False,
}  # fmt: skip
UNPROTECTED = {
    name: default for name, default in LINE_OPTIONS.items() if name not in ("sentences", "protect")
}
FILE_OPTIONS = ("adapter", "memory", "prefix_file", "reverse", "terms")  # what they name is read
DOCUMENT_OPTIONS = {"only_untranslated": False, "report": None}


def translate(
    model: Model,
    files: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="FILE",
            help="Text, one sentence a line, plain or compressed (.gz, .zst); - is standard input. Or "
            "documents: PO, XLIFF, Word and others, and folders of them. More model folders come first: all "
            "translate together, as an ensemble. [default: -]",
            show_default=False,
        ),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE",
            help="Write to this file, whole or not at all; or to this folder. Repeat a command that was "
            "stopped, and it goes on.",
        ),
    ] = None,
    format: Annotated[
        str | None,
        typer.Option(
            "--format",
            metavar="FORMAT",
            help="lines, text (paragraphs), markdown, html, po, xliff, tmx, srt, vtt, json, properties, "
            "android, docx or odt. [default: by name; lines for .txt]",
        ),
    ] = None,
    only_untranslated: Annotated[
        bool,
        typer.Option("--only-untranslated", help="Documents: keep the translations that the file has."),
    ] = False,
    report: Annotated[
        Path | None,
        typer.Option(
            "--report",
            metavar="FILE",
            help="Documents: write what has to be checked, one JSON object a line.",
        ),
    ] = None,
    memory: Memory = None,
    match_least: MatchLeast = 70.0,
    sentences: Annotated[
        bool, typer.Option("--sentences", help="Lines: translate each sentence of a line by itself.")
    ] = False,
    protect: Annotated[
        bool,
        typer.Option(
            "--protect",
            help="Lines: keep placeholders, tags and URLs, as in documents, and copy what is not language.",
        ),
    ] = False,
    on: BulkPlace = None,
    address: Address = None,
    workers: WorkerCount = None,
    part_lines: PartLines = None,
    column: Column = None,
    beam: BeamSize = None,
    length_penalty: LengthPenalty = None,
    stop: StopRule = None,
    shortlist: UseShortlist = False,
    to: TargetLanguage = None,
    terms: TermsFile = None,
    terms_mode: TermsHow = None,
    quality: QualityLevel = "normal",
    mbr: ChooseBy = None,
    candidates: Candidates = None,
    reverse: ReverseModel = None,
    n_best: Annotated[
        int,
        typer.Option(
            "--n-best",
            metavar="N",
            help="Print the N best of each line, as number<TAB>score<TAB>translation.",
        ),
    ] = 1,
    prefix: Annotated[
        str | None, typer.Option("--prefix", metavar="TEXT", help="Begin every translation with this text.")
    ] = None,
    prefix_file: Annotated[
        Path | None,
        typer.Option(
            "--prefix-file",
            metavar="FILE",
            help="Begin each translation with the same line of this file, which may be empty.",
        ),
    ] = None,
    sample: Annotated[bool, typer.Option("--sample", help="Draw at random instead of searching.")] = False,
    temperature: Annotated[
        float | None,
        typer.Option("--temperature", metavar="T", help="With --sample: below 1 favours likely tokens."),
    ] = None,
    top_k: Annotated[
        int | None,
        typer.Option("--top-k", metavar="K", help="With --sample: draw from the K likeliest tokens."),
    ] = None,
    top_p: Annotated[
        float | None,
        typer.Option(
            "--top-p", metavar="P", help="With --sample: draw from the likeliest tokens that sum to P."
        ),
    ] = None,
    seed: Annotated[
        int | None,
        typer.Option("--seed", metavar="N", help="With --sample: the seed of the draws. [default: 1]"),
    ] = None,
    min_length: MinLength = 0,
    no_repeat_ngram: NoRepeatNgram = 0,
    max_extra: Annotated[
        int,
        typer.Option(
            "--max-extra", metavar="N", help="A translation may be this many tokens longer than its source."
        ),
    ] = 50,
    attention: Annotated[
        str | None,
        typer.Option(
            "--attention",
            metavar="LAYER[.HEAD]",
            help="With --jsonl: the attention to the source, of a head or the mean of a layer, from 1.",
        ),
    ] = None,
    alignment: Annotated[
        bool,
        typer.Option(
            "--alignment",
            help="Put a tab and the alignment of the words after each translation, such as 0-0 1-2. With "
            "--attention: by that layer or head.",
        ),
    ] = False,
    risk: Annotated[
        bool,
        typer.Option(
            "--risk",
            help="With --jsonl: the probability that a correction is needed, and what to check. Documents "
            "and --protect: what to check.",
        ),
    ] = False,
    batch_tokens: BatchTokens = 4096,
    dtype: NumberType = None,
    adapter: AdapterFolder = None,
    average: AverageOfModels = None,
    scores: Annotated[
        bool, typer.Option("--scores", help="Put the score and a tab before each translation.")
    ] = False,
    jsonl: Annotated[
        bool,
        typer.Option(
            "--jsonl", help="Print one JSON object for each line: text, score, tokens, alternatives."
        ),
    ] = False,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Translate text line by line: n lines in, n lines out, in order. Or translate documents.

    An empty line stays empty. Line ends are kept. Each typed line is translated at once, and so is a line
    from another program that then waits. Equal lines are translated once.

    A document keeps its format: placeholders such as %s, tags and URLs stay what they are. What has to be
    checked is marked in the file where its format can, and listed with --report.

    \b
      dragoman translate runs/en-de test.en -o test.out.de
      dragoman translate runs/en-de de.po -o de.new.po --only-untranslated
      dragoman translate runs/en-de manual.docx -o manual.de.docx
      dragoman translate runs/en-de manual.docx -o manual.de.docx --memory app.tm
      dragoman translate runs/en-de de.po -o de.new.po --terms terms.csv
      dragoman translate runs/en-de-1 runs/en-de-2 runs/en-de-3 test.en -o test.out.de
      echo "A man rides a bike." | dragoman translate runs/en-de
      dragoman translate runs/en-de test.en --n-best 3 --jsonl
      dragoman translate runs/en-de corpus -o corpus.de --on ray
    """
    given = dict(locals())
    models, names = models_and_text(model, files)
    names = names or [STDIN]
    check_models(models, average, adapter)
    if on is None and format == LINES and any(Path(name).is_dir() for name in names):
        on = "here"
    check_place(on, given)
    if on is not None:
        _check_options(UNUSED, given, "for --on")
        if format not in (None, LINES):
            raise ConfigError(f"--format {format} with --on", hint="--on is for lines: leave out one of them")
    documents = on is None and are_documents(names, format)
    if documents:
        _check_options(LINE_OPTIONS, given, "for documents")
    elif on is None:
        _check_options(DOCUMENT_OPTIONS, given, "for lines: choose a document's --format")
    if protect:
        _check_options(UNPROTECTED, given, "for --protect")
    if output is not None and not documents and on is None:
        if output.suffix in SUFFIXES:
            raise ConfigError(
                f"{output}: lines are not compressed while they are written",
                hint=f"leave out {output.suffix}, or add --on here, which compresses",
            )
        keep_apart(
            output, [*names, prefix_file, terms, memory, *files_of_models([*models, reverse, adapter])]
        )
    if report is not None:
        keep_apart(report, [*names, terms, memory])
    check_terms(terms, terms_mode)
    check_reverse_folder(reverse)
    typed = names == [STDIN] and sys.stdin.isatty()
    from dragoman.decoding.options import Decoding
    from dragoman.text.arriving import arriving
    from dragoman.text.lines import read_lines

    decoding = Decoding(
        beam=beam,
        n_best=n_best,
        length_penalty=length_penalty,
        stop=cast("Stop | None", stop),
        to=to,
        sample=_sample(sample, temperature=temperature, top_k=top_k, top_p=top_p, seed=seed),
        minimum_length=min_length,
        no_repeat_ngram=no_repeat_ngram,
        max_extra_tokens=max_extra,
        batch_tokens=batch_tokens,
        attention=attention,
        alignment=alignment,
        shortlist=shortlist,
        sentences=sentences,
        risk=risk,
        quality=cast("Quality", quality),
        mbr=cast("Utility | None", mbr),
        candidates=candidates,
    )
    if on is not None:
        run_bulk(
            models,
            names,
            output,
            decoding,
            on=on,
            address=address,
            workers=workers,
            column=column,
            part_lines=part_lines,
            given=given,
            about=_about(given, models, ()),
            quiet=quiet,
        )
        return
    if documents:
        tasks = plan_documents(names, output, format)
        if report is not None:
            check_writable(report)
        about = _about(given, models, ()) if len(tasks) > 1 else {}
        with remembering(memory, match_least, to, offers=report is not None) as using:
            translator = using(load_models(models, average, dtype=dtype, adapter=adapter))
            translator = with_reverse(with_terms(translator, terms, terms_mode, to), reverse)
            run_documents(
                translator,
                tasks,
                decoding,
                only_untranslated=only_untranslated,
                report=report,
                quiet=quiet,
                into=output,
                about=about,
            )
        return
    if attention is not None and not (jsonl or alignment):
        raise ConfigError("--attention without --jsonl", hint="add --jsonl: attention has no place in text")
    if risk and not (jsonl or protect):
        raise ConfigError("--risk without --jsonl", hint="add --jsonl: the risk has no place in text")
    if prefix is not None and prefix_file is not None:
        raise ConfigError("--prefix together with --prefix-file", hint="leave out one of them")
    if [*names, str(prefix_file)].count(STDIN) > 1:
        raise ConfigError(
            "standard input is named twice", hint="it can be read only once; use a file for one of them"
        )
    check_exist(names)
    with (
        writing_to(output, None if protect else names, partial(_about, given, models, names)) as writer,
        remembering(memory, match_least, to, offers=jsonl) as using,
    ):
        translator = using(load_models(models, average, dtype=dtype, adapter=adapter))
        translator = with_reverse(with_terms(translator, terms, terms_mode, to), reverse)
        if typed and not quiet and sys.stderr.isatty():
            languages = f"{translator.source_language} to {translator.target_language}"
            print(f"{languages}: type a sentence and press Enter; Ctrl-D ends", file=sys.stderr)
        lines = Input(names, skipped=writer.written.lines)
        if lines.skipped and not quiet:
            print(f"{output}: going on after line {lines.skipped:,}", file=sys.stderr)
        if protect:
            translations = protected(translator, lines, decoding, window=1 if lines.live else 1024)
        else:
            translations = translator.stream(
                arriving(lines) if lines.live and not typed else lines,
                decoding,
                prefix=prefix
                if prefix_file is None
                else islice(read_lines(prefix_file), lines.skipped, None),
                window=1 if typed else 4096,
            )
        plain = scored_line if scores else text_line
        show = json_line if jsonl else n_best_rows(n_best) if n_best > 1 else plain
        shown = not quiet and not typed and (output is not None or not sys.stdout.isatty())
        _write(translations, lines, show, writer, progress=shown)
    if writer.written.truncated and not quiet:
        _warn_of_truncated(writer.written, max_extra)


def _about(given: dict[str, Any], models: Sequence[Path], text: Sequence[str]) -> dict[str, str]:
    """What a translation is made from: the text, the models, and the options that change it."""
    files = {name: given[name] for name in FILE_OPTIONS}
    apart = {"model", "files", "output", "report", "quiet", "debug", *files}
    apart |= {"on", "address", "workers"}  # where it runs changes nothing
    options = {name: value for name, value in given.items() if name not in apart}
    return made_of(text=text, models=[*map(str, models)], files=files, options=options)


def _sample(sample: bool, **choices: float | None) -> Sample | None:
    """The sampling asked for. Raises ConfigError for its options without --sample."""
    from dragoman.decoding.options import Sample

    options: dict[str, Any] = {name: value for name, value in choices.items() if value is not None}
    if options and not sample:
        raise ConfigError(f"--{next(iter(options)).replace('_', '-')} without --sample", hint="add --sample")
    return Sample(**options) if sample else None


def _check_options(unused: dict[str, Any], given: dict[str, Any], what: str) -> None:
    """Raise ConfigError for an option of the command line that has no use."""
    for name, default in unused.items():
        if given[name] != default:
            raise ConfigError(f"--{name.replace('_', '-')} is not {what}", hint="leave it out")


def _write(
    translations: Iterable[Translation],
    lines: Input,
    show: Show,
    writer: Writer,
    *,
    progress: bool,
) -> None:
    """Write each translation as it comes."""
    with shown_rate(lines.share, "translating", skipped=lines.skipped, shown=progress) as done:
        for number, translation in enumerate(translations, lines.skipped + 1):
            writer.add(
                number, show(number, translation, lines.ends.popleft()), truncated=translation.truncated
            )
            done(number)


# ---- standard error --------------------------------------------------------------------------------


def _warn_of_truncated(written: Written, max_extra: int) -> None:
    count, first = written.truncated, written.first
    shown = ", ".join(f"{number:,}" for number in first) + (", ..." if count > len(first) else "")
    what = "1 translation is" if count == 1 else f"{count:,} translations are"
    warn(
        f"{what} cut short (line {shown}): the line is too long, or its translation reached the limit of "
        f"{max_extra} tokens more than the source (--max-extra)"
    )
