"""`dragoman evaluate`: a model's translations of test text, and their scores."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dragoman.base.errors import ConfigError, QualityError
from dragoman.cli import score as scoring
from dragoman.cli.options import (
    BatchTokens,
    BeamSize,
    Bootstrap,
    Data,
    Debug,
    Json,
    LengthPenalty,
    Lowercase,
    Model,
    Quiet,
    Recipe,
    TargetLanguage,
    TestName,
)
from dragoman.cli.outcome import waiting, warn

if TYPE_CHECKING:
    from dragoman.decoding.options import Decoding
    from dragoman.evaluation.evaluate import Evaluation
    from dragoman.translator import Translator


def evaluate(
    model: Model,
    text: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="TEXT",
            help="Test text and its reference translation: two files, one .tsv or .jsonl, or -.",
            show_default=False,
        ),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="FILE", help="Also write the translations to this file."),
    ] = None,
    lowercase: Lowercase = False,
    beam: BeamSize = None,
    length_penalty: LengthPenalty = None,
    to: TargetLanguage = None,
    batch_tokens: BatchTokens = 4096,
    against: Annotated[
        Path | None,
        typer.Option(
            "--against",
            metavar="MODEL|FILE",
            help="Compare with another model or a file of its translations, and test significance.",
        ),
    ] = None,
    test: TestName = "bs",
    bootstrap: Bootstrap = None,
    min_bleu: Annotated[
        float | None, typer.Option("--min-bleu", metavar="X", help="Exit with 5 if BLEU is below X.")
    ] = None,
    recipe: Recipe = None,
    data: Data = None,
    as_json: Json = False,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Translate test text and score it: sacreBLEU's BLEU, chrF and TER, with signatures.

    \b
      dragoman evaluate runs/en-de test.en test.de
      dragoman evaluate runs/new test.en test.de --against runs/old --min-bleu 30
      dragoman evaluate runs/multi30k --recipe recipes/multi30k-en-de.toml --data ~/corpora
    """
    from dragoman.decoding.options import Decoding
    from dragoman.folder.config import read_config
    from dragoman.text.corpus import open_corpus
    from dragoman.text.lines import read_lines
    from dragoman.training.malloc import keep_freed_memory
    from dragoman.translator import Translator

    decoding = Decoding(beam=beam, length_penalty=length_penalty, to=to, batch_tokens=batch_tokens)
    names = _names(text or [], recipe, data)
    other = list(read_lines(against)) if against is not None and not against.is_dir() else None
    if against is not None and against.resolve() == model.resolve():
        raise ConfigError(f"{against}: compared with itself", hint="name another model, or its translations")
    about = read_config(model)
    # The model's languages say which key of a JSONL file is the source.
    corpus = open_corpus(names, languages=(about.source_language, about.target_language))
    keep_freed_memory()
    translator = Translator.load(model)
    pairs = [(line.source, line.target) for line in corpus]
    rival = Translator.load(against) if against is not None and other is None else None
    evaluation = _evaluate(translator, pairs, decoding, "translating", quiet)
    if output is not None:
        from dragoman.base.files import write_whole

        write_whole(output, "".join(f"{line}\n" for line in evaluation.hypotheses))
    systems = {str(model): evaluation.hypotheses}
    if against is not None:
        if rival is not None:
            other = _evaluate(rival, pairs, decoding, f"translating with {against}", quiet).hypotheses
        systems = {str(against): other or []} | systems
    results = scoring.results_of(
        systems,
        str(model),
        [list(evaluation.references)],
        [names[-1]],
        test=test,
        cases=[False, True] if lowercase else [False],
        bootstrap=bootstrap,
        language=translator.target_language,
    )
    if evaluation.truncated and not quiet:
        warn(f"{evaluation.truncated:,} of {len(pairs):,} translations are cut short")
    size = decoding.beam_search(translator.generation).size
    if as_json:
        table = {
            "model": str(model),
            "text": names,
            "sentences": len(pairs),
            "seconds": evaluation.seconds,
            "sentences_per_second": evaluation.sentences_per_second,
            "beam": size,
            "cut_short": evaluation.truncated,
            **scoring.to_table(results),
        }
        print(json.dumps(table, ensure_ascii=False, indent=2))
    else:
        search = "greedy" if size == 1 else f"beam {size}"
        print(f"{model}: {' '.join(names)}, {search}, {evaluation.sentences_per_second:,.1f} sentences/s\n")
        print(scoring.to_text(results))
    bleu = scoring.bleu_of(results, str(model))
    if min_bleu is not None and bleu < min_bleu:
        raise QualityError(
            f"{model}: BLEU {bleu:.2f} is below {min_bleu:g}", hint="--min-bleu sets this limit"
        )


def _names(text: list[str], recipe: Path | None, data: Path | None) -> list[str]:
    """Return the files of the test text: those named, or those of the recipe."""
    if text:
        return text
    if recipe is None:
        raise ConfigError("no text to evaluate on", hint="name a source and a target file, or --recipe FILE")
    from dragoman.runs.recipe import find_data, resolve

    about = resolve(recipe=recipe).data
    if not about.test:
        raise ConfigError(f"{recipe}: names no test text", hint="name a source and a target file")
    return [str(path) for path in find_data(about, data, about.test)]


def _evaluate(
    translator: Translator, pairs: Sequence[tuple[str, str]], decoding: Decoding, what: str, quiet: bool
) -> Evaluation:
    from dragoman.evaluation.evaluate import evaluate

    with waiting(f"{what}: {len(pairs):,} sentences", shown=not quiet):
        return evaluate(translator, pairs, decoding)
