"""`dragoman align`: link the words of given translations to the words of their sources."""

from __future__ import annotations

import json
import sys
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TextIO

from dragoman.base.errors import ConfigError, DataError
from dragoman.cli.input import keep_apart
from dragoman.cli.models import files_of_models
from dragoman.cli.options import Flag, Flags, Model, NumberType, OutputFile, Quiet, TextAndTranslation
from dragoman.cli.outcome import waiting
from dragoman.translation.search.options import Decoding

if TYPE_CHECKING:
    from dragoman.text.corpora.corpus import Corpus
    from dragoman.text.lexicon.pharaoh import Gold
    from dragoman.translation.search.alignment import Alignment, Links
    from dragoman.translation.translator import Translator

_ATTENTION = "Align by this attention: of a head or the mean of a layer, from 1. [default: the model's]"
_TOGETHER = 1024  # pairs that are held at once


def align(
    model: Model,
    text: TextAndTranslation,
    *,
    output: OutputFile = None,
    decoding: Annotated[Decoding, Flags("to", attention=Flag(_ATTENTION), batch_tokens=Flag(default=2048))],
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
    from dragoman.base.files import replacing
    from dragoman.evaluation.alignment import score_alignments
    from dragoman.text.corpora.corpus import open_corpus
    from dragoman.text.corpora.lines import open_text
    from dragoman.translation.translator import Translator

    translator = Translator.load(model, dtype=dtype)
    # The model's languages say which key of a JSONL file is the source.
    languages = translator.source_language, decoding.to or translator.target_language
    keep_apart(output, [*text, gold, *files_of_models([model])])
    corpus = open_corpus(text, languages=languages)
    golds = (
        None if gold is None else [_gold(line, f"{gold}:{n}") for n, line in enumerate(open_text(gold), 1)]
    )
    alignments = _alignments(translator, corpus, decoding)
    with ExitStack() as stack:
        out = None if gold is not None else sys.stdout
        if output is not None:
            part = stack.enter_context(replacing(output))
            out = stack.enter_context(part.open("w", encoding="utf-8", newline=""))
        say = stack.enter_context(waiting("aligning", shown=not quiet and out is not sys.stdout))
        links = _written(alignments, out, say)
        if golds is None:
            deque(links, maxlen=0)
            return
        scores = score_alignments(links, golds)
    if as_json:
        print(json.dumps(scores.to_table(), indent=2))
    else:
        print(scores.to_text())


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
    lines = iter(corpus)
    while together := list(islice(lines, _TOGETHER)):
        yield from translator.align(
            [line.source for line in together],
            [line.target for line in together],
            to=decoding.to,
            attention=decoding.attention,
            batch_tokens=decoding.batch_tokens,
        )
