"""`dragoman align` and `dragoman risk`: the words and the doubts of given translations."""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TextIO

from dragoman.base.errors import ConfigError, DataError
from dragoman.cli.input import keep_apart
from dragoman.cli.models import files_of_models, model_and_pairs, warn_if_uncalibrated
from dragoman.cli.options import Flag, Flags, Model, NumberType, OutputFile, Quiet, TextAndTranslation
from dragoman.cli.outcome import to_json, waiting
from dragoman.cli.writing import opened_output
from dragoman.translation.search.options import Decoding, ScoringOptions

if TYPE_CHECKING:
    from dragoman.text.corpora.corpus import Corpus
    from dragoman.text.lexicon.pharaoh import Gold
    from dragoman.translation.search.alignment import Alignment, Links
    from dragoman.translation.translator import Translator

_ATTENTION = "Align by this attention: of a head or the mean of a layer, from 1. [default: the model's]"
_TOGETHER, _JUDGED = 1024, 32  # pairs that are held at once


def align(
    model: Model,
    text: TextAndTranslation,
    *,
    output: OutputFile = None,
    decoding: Annotated[
        Decoding, Flags("source", "to", attention=Flag(_ATTENTION), batch_tokens=Flag(default=2048))
    ],
    gold: Annotated[
        Path | None,
        Flag(
            "Print how well the alignments agree with these, in the same format: 0-0 is a sure link, "
            "0p0 a possible one."
        ),
    ] = None,
    dtype: NumberType = None,
    as_json: Annotated[bool, Flag("With --gold: print one JSON document.", flag="--json")] = False,
    quiet: Quiet = False,
) -> None:
    """Align the words of text and its translation, by any translator, using a model's attention.

    Each line has the pairs of words that translate each other, source-target, counted from 0, as in
    0-0 1-2 2-1. Words are separated by spaces. A line without words stays empty.

    \b
      dragoman align runs/en-de test.en test.de -o test.align
      dragoman align runs/en-de test.en test.de --gold test.gold
    """
    if as_json and gold is None:
        raise ConfigError("--json without --gold", hint="leave it out: alignments are lines of text")
    from dragoman.evaluation.alignment import score_alignments
    from dragoman.text.corpora.lines import open_text

    keep_apart(output, [*text, gold, *files_of_models([model])])
    translator, corpus, decoding = model_and_pairs(model, text, decoding, dtype)
    golds = (
        None if gold is None else [_gold(line, f"{gold}:{n}") for n, line in enumerate(open_text(gold), 1)]
    )
    alignments = _alignments(translator, corpus, decoding)
    silent = gold is not None and output is None
    shown = not quiet and (silent or output is not None)
    with nullcontext() if silent else opened_output(output) as out, waiting("aligning", shown=shown) as say:
        links = _written(alignments, out, say)
        if golds is None:
            deque(links, maxlen=0)
            return
        scores = score_alignments(links, golds)
    print(to_json(scores.to_table()) if as_json else scores.to_text())


def _written(
    alignments: Iterator[Alignment], out: TextIO | None, say: Callable[[str], None]
) -> Iterator[Links]:
    """Write each alignment and yield its links."""
    for number, alignment in enumerate(alignments, 1):
        if out is not None:
            out.write(alignment.pharaoh() + "\n")
        if number % _TOGETHER == 0:
            say(f"aligning: {number:,} lines")
        yield alignment.words()


def _gold(line: str, where: str) -> Gold:
    from dragoman.text.lexicon.pharaoh import Gold

    try:
        return Gold.of(line)
    except DataError as error:
        raise DataError(f"{where}: {error}", hint=error.hint) from error


def _alignments(translator: Translator, corpus: Corpus, decoding: Decoding) -> Iterator[Alignment]:
    for pairs in _pairs(corpus, _TOGETHER):
        yield from translator.align(pairs, attention=decoding.attention, **_options(decoding))


def risk(
    model: Model,
    text: TextAndTranslation,
    *,
    output: OutputFile = None,
    decoding: Annotated[Decoding, Flags("source", "to", batch_tokens=Flag(default=2048))],
    dtype: NumberType = None,
    quiet: Quiet = False,
) -> None:
    """Flag doubtful translations, by any translator, using a model: one JSON object a line.

    The flags are the same as of translate --risk, with thresholds for translations by others. The
    probability is calibrated for the model's own translations only.

    \b
      dragoman risk runs/en-de test.en test.de -o test.risk.jsonl
    """
    keep_apart(output, [*text, *files_of_models([model])])
    translator, corpus, decoding = model_and_pairs(model, text, decoding, dtype)
    if not quiet:
        warn_if_uncalibrated(translator, decoding.to)
    with opened_output(output) as out, waiting("scoring", shown=not quiet and output is not None) as say:
        for number, row in enumerate(_rows(translator, corpus, decoding), 1):
            out.write(json.dumps({"line": number, **row}, ensure_ascii=False) + "\n")
            if number % _JUDGED == 0:
                say(f"scoring: {number:,} lines")


def _rows(translator: Translator, corpus: Corpus, decoding: Decoding) -> Iterator[dict[str, Any]]:
    for pairs in _pairs(corpus, _JUDGED):
        for (source, target), one in zip(pairs, translator.risk(pairs, **_options(decoding)), strict=True):
            yield {"source": source, "text": target, "risk": one.to_table()}


def _options(decoding: Decoding) -> ScoringOptions:
    return {"source": decoding.source, "to": decoding.to, "batch_tokens": decoding.batch_tokens}


def _pairs(corpus: Corpus, most: int) -> Iterator[list[tuple[str, str]]]:
    """So many pairs at a time."""
    pairs = ((line.source, line.target) for line in corpus)
    while together := list(islice(pairs, most)):
        yield together
