"""`dragoman risk`: flag doubtful translations."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from itertools import islice
from typing import TYPE_CHECKING, Annotated, Any

from dragoman.cli.input import keep_apart
from dragoman.cli.models import files_of_models
from dragoman.cli.options import Flag, Flags, Model, NumberType, OutputFile, Quiet, TextAndTranslation
from dragoman.cli.outcome import waiting, warn
from dragoman.translation.search.options import Decoding

if TYPE_CHECKING:
    from dragoman.text.corpora.corpus import Corpus
    from dragoman.translation.translator import Translator

_TOGETHER = 256  # pairs that are held at once


def risk(
    model: Model,
    text: TextAndTranslation,
    *,
    output: OutputFile = None,
    decoding: Annotated[Decoding, Flags("to", batch_tokens=Flag(default=2048))],
    dtype: NumberType = None,
    quiet: Quiet = False,
) -> None:
    """Flag doubtful translations, by any translator, using a model: one JSON object a line.

    The flags are the same as of translate --risk, with thresholds for translations by others. The
    probability is calibrated for the model's own translations only.

    \b
      dragoman risk runs/en-de test.en test.de -o test.risk.jsonl
    """
    from dragoman.base.files import replacing
    from dragoman.base.languages import closest
    from dragoman.text.corpora.corpus import open_corpus
    from dragoman.translation.translator import Translator

    translator = Translator.load(model, dtype=dtype)
    # The model's languages say which key of a JSONL file is the source.
    languages = translator.source_language, decoding.to or translator.target_language
    keep_apart(output, [*text, *files_of_models([model])])
    corpus = open_corpus(text, languages=languages)
    if closest(languages[1], translator.risk_models) is None and not quiet:
        into = f" for {decoding.to}" if decoding.to else ""
        warn(
            f"{model}: its risk is not calibrated{into}: no probabilities, and only flags that need no model"
        )
    with ExitStack() as stack:
        out = sys.stdout
        if output is not None:
            part = stack.enter_context(replacing(output))
            out = stack.enter_context(part.open("w", encoding="utf-8", newline=""))
        say = stack.enter_context(waiting("scoring", shown=not quiet and output is not None))
        for number, row in enumerate(_rows(translator, corpus, decoding), 1):
            out.write(json.dumps({"line": number, **row}, ensure_ascii=False) + "\n")
            if number % _TOGETHER == 0:
                say(f"scoring: {number:,} lines")


def _rows(translator: Translator, corpus: Corpus, decoding: Decoding) -> Iterator[dict[str, Any]]:
    lines = iter(corpus)
    while together := list(islice(lines, _TOGETHER)):
        sources, targets = [line.source for line in together], [line.target for line in together]
        found = translator.risk(sources, targets, to=decoding.to, batch_tokens=decoding.batch_tokens)
        for source, target, one in zip(sources, targets, found, strict=True):
            yield {"source": source, "text": target, "risk": one.to_table()}
