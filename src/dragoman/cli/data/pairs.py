"""`dragoman data pairs`: sentence pairs from documents and their translations."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from io import TextIOBase
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Annotated, cast

from dragoman.base.errors import ConfigError, DataError
from dragoman.base.files import write_whole
from dragoman.base.languages import related
from dragoman.base.tables import count, listing
from dragoman.cli.input import check_outputs
from dragoman.cli.models import files_of_models
from dragoman.cli.options import Flag, Json, Quiet, argument
from dragoman.cli.outcome import tell, to_json, waiting, warn
from dragoman.cli.writing import check_pairs_languages, opened_output

if TYPE_CHECKING:
    from dragoman.data.bilingual import AlignedDocuments

Translate = Callable[[Sequence[str]], list[str]]

_KINDS = (".tmx", ".tsv", ".jsonl", ".tm")


def pairs_from_documents(
    source: Annotated[str, argument("SOURCE", "A document, a folder of documents, or a pattern.")],
    target: Annotated[str, argument("TARGET", "Its translation, or theirs.")],
    *,
    output: Annotated[
        Path | None,
        Flag(
            "Write the pairs to this file: .tmx, .tsv, .jsonl, or .tm for a translation memory. "
            "[default: tab-separated to standard output]",
            flag="--output -o",
        ),
    ] = None,
    page: Annotated[Path | None, Flag("Write a page to check and correct the pairs.", metavar="FILE")] = None,
    least: Annotated[
        float, Flag("Keep pairs with at least this confidence.", metavar="X", at_least=0, at_most=1)
    ] = 0.5,
    lexicon: Annotated[
        list[str] | None,
        Flag(
            "Learn words from this parallel text, too: .tsv, .jsonl or .tmx; twice for two plain files.",
            metavar="TEXT",
        ),
    ] = None,
    model: Annotated[
        Path | None, Flag("Compare with translations of the source by this model.", metavar="MODEL")
    ] = None,
    reverse: Annotated[
        Path | None, Flag("Compare with translations of the target by this model.", metavar="MODEL")
    ] = None,
    format: Annotated[
        str | None,
        Flag("Format of the documents; with lines, each line is a paragraph. [default: by name or content]"),
    ] = None,
    source_language: Annotated[
        str | None, Flag("Language of the source. [default: by the name]", metavar="CODE")
    ] = None,
    target_language: Annotated[
        str | None, Flag("Language of the target. [default: by the name]", metavar="CODE")
    ] = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Find the sentence pairs of documents and their translations.

    Sentences may be merged, split or left out, and sections may stand elsewhere. Files of folders and
    patterns belong together if their names differ only in the language: manual.en.html and manual.de.html,
    en/x.md and de/x.md.

    \b
      dragoman data pairs manual.en.html manual.de.html -o manual.tmx --page review.html
      dragoman data pairs docs/en docs/de -o docs.en-de.tsv --least 0.8
    """
    from dragoman.data import bilingual
    from dragoman.data.align import align_sentences
    from dragoman.documents.formats import format_named

    if output is not None and output.suffix not in _KINDS:
        raise ConfigError(f"{output}: not {listing(_KINDS)}", hint="choose one of these suffixes")
    known_format = format if format in (None, bilingual.LINES) else format_named(format)
    languages = bilingual.languages_of_names((source, target), (source_language, target_language))
    codes = languages.source, languages.target
    couples, alone = bilingual.couples_of((source, target), languages)
    inputs = [*(path for couple in couples for path in couple), *alone, *(lexicon or ())]
    check_outputs([output, page], [*inputs, *files_of_models([model, reverse])])
    if output is not None:
        check_pairs_languages(output, *codes)
    if alone:
        warn(f"{count(len(alone), 'document')} without a partner: {listing([*map(str, alone)], most=5)}")
    if lexicon and (model or reverse):
        raise ConfigError("--lexicon has no effect with a model", hint="leave out --lexicon, or the model")
    known = _known(lexicon or (), codes)
    models = _model(model, *codes), _model(reverse, *codes[::-1])
    done: list[AlignedDocuments] = []
    with waiting("aligning", shown=not quiet) as say:
        for paths in couples:
            say(f"aligning {paths[0]} and {paths[1]}")
            try:
                ours, theirs = (
                    bilingual.read_prose(path, code, languages, known_format)
                    for path, code in zip(paths, codes, strict=True)
                )
            except DataError as error:
                if len(couples) == 1:
                    raise
                warn(f"left out: {error}")
                continue
            translated, back = (
                one and one(side.sentences) for one, side in zip(models, (ours, theirs), strict=True)
            )
            beads = align_sentences(ours, theirs, known=known, translated=translated, back=back)
            done.append(bilingual.AlignedDocuments(" ".join(map(str, paths)), ours, theirs, beads))
    if not done:
        raise DataError(f"{source} and {target}: no document can be read", hint="see the warnings")
    if output is not None or not as_json:
        _write(done, least, output, codes)
    if page is not None:
        write_whole(page, bilingual.review_page(done, least))
    kept = [sum(1 for _ in one.pairs(least)) for one in done]
    if as_json:
        rows = zip(done, kept, strict=True)
        tables = [{"documents": one.name, "kept": many, **one.counts()} for one, many in rows]
        print(to_json({"kept": sum(kept), "least": least, "documents": tables}))
    for one, many in zip(done, kept, strict=True):
        beads_of = one.counts()
        shown = ", ".join(f"{name} {times:,}" for name, times in beads_of["beads"].items())
        shown += f", {beads_of['moved']:,} stand elsewhere" if beads_of["moved"] else ""
        tell(f"{one.name}: {shown}; {many:,} of {beads_of['pairs']:,} pairs kept", quiet=quiet)


def _known(names: Sequence[str], languages: tuple[str, str]) -> list[tuple[str, str]]:
    if not names:
        return []
    from dragoman.data.words import LEXICON_LINES
    from dragoman.text.corpora.corpus import open_corpus
    from dragoman.text.corpora.reservoir import draw_sample

    lines = ((line.source, line.target) for line in open_corpus(names, languages=languages))
    return draw_sample(lines, LEXICON_LINES, Random(1))


def _model(folder: Path | None, source: str, target: str) -> Translate | None:
    """What translates sentences by greedy search. Raises ConfigError for a model of other languages."""
    if folder is None:
        return None
    from dragoman.translation.search.options import Decoding
    from dragoman.translation.translator import Translator

    translator = Translator.load(folder)
    decoding = Decoding(beam=1, source=source, to=target) if translator.several else Decoding(beam=1)
    own = translator.pair(decoding)
    if not all(map(related, own, (source, target))):
        raise ConfigError(
            f"{folder}: translates from {own[0]} to {own[1]}, not from {source} to {target}",
            hint="choose another model; --model translates the source, --reverse the target",
        )
    return lambda lines: [one.text for one in translator.stream(lines, decoding)]


def _write(
    done: Sequence[AlignedDocuments], least: float, output: Path | None, languages: tuple[str, str]
) -> None:
    from dragoman.text.corpora.formats import tmx
    from dragoman.text.corpora.lines import Line
    from dragoman.text.corpora.writing import pair_rows
    from dragoman.translation.memory.store import TranslationMemory
    from dragoman.translation.memory.store_file import Remembered

    found = ((one.name, *pair) for one in done for pair in one.pairs(least))
    source, target = languages
    kind = ".tsv" if output is None else output.suffix
    if output is not None and kind == ".tm":
        with TranslationMemory.create(output, source_language=source, target_language=target) as memory:
            memory.extend(Remembered(a, b, origin=tmx.holdable(name)) for name, a, b in found)
        return
    with opened_output(output) as file:
        if kind == ".tmx":
            units = (
                (tmx.holdable(a), tmx.holdable(b), {"origin": tmx.holdable(name)}) for name, a, b in found
            )
            tmx.write_units(cast(TextIOBase, file), units, source=source, target=target)
        else:
            file.writelines(pair_rows((Line(0, a, b, document=name) for name, a, b in found), kind))
