"""Options that several commands share, with one name and one help text each."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

Model = Annotated[
    Path,
    typer.Argument(metavar="MODEL", help="A model folder, written by training or by dragoman import."),
]
TextAndTranslation = Annotated[
    list[str],
    typer.Argument(
        metavar="TEXT",
        help="Text and its translation: two files, one .tsv, .jsonl or .tmx, or -.",
        show_default=False,
    ),
]
OutputFile = Annotated[
    Path | None,
    typer.Option("--output", "-o", metavar="FILE", help="Write to this file, whole or not at all."),
]
BeamSize = Annotated[
    int | None,
    typer.Option("--beam", metavar="N", help="Width of the beam; 1 is greedy search. [default: the model's]"),
]
LengthPenalty = Annotated[
    float | None,
    typer.Option(
        "--length-penalty",
        metavar="A",
        help="Above 0 favours longer translations; 0.6 in the paper. [default: the model's]",
    ),
]
StopRule = Annotated[
    str | None,
    typer.Option(
        "--stop",
        metavar="full|patient|shrinking|exact",
        help="When a search ends. exact: no unfinished translation can still win. [default: the model's]",
    ),
]
UseShortlist = Annotated[
    bool,
    typer.Option(
        "--shortlist",
        help="Use only the target tokens that the model's shortlist allows; see dragoman model shortlist.",
    ),
]
QualityLevel = Annotated[
    str,
    typer.Option(
        "--quality",
        metavar="fast|normal|best",
        help="fast is greedy search, normal the model's search; best takes several times as long and chooses "
        "among several translations.",
    ),
]
ChooseBy = Annotated[
    str | None,
    typer.Option(
        "--mbr",
        metavar="chrf|bleu",
        help="Of several translations, choose the one that the others agree with most.",
    ),
]
Candidates = Annotated[
    int | None,
    typer.Option(
        "--candidates",
        metavar="N",
        help="With --mbr or --reverse: translations to choose from. [default: 16, or --beam if it is less]",
    ),
]
ReverseModel = Annotated[
    Path | None,
    typer.Option(
        "--reverse",
        metavar="MODEL",
        help="Choose, among several translations, the one that this model, which translates back, also finds "
        "likely.",
    ),
]
TargetLanguage = Annotated[
    str | None,
    typer.Option("--to", metavar="LANGUAGE", help="Target language, if the model has several."),
]
MinLength = Annotated[
    int, typer.Option("--min-length", metavar="N", help="Shortest translation allowed, in tokens.")
]
NoRepeatNgram = Annotated[
    int,
    typer.Option(
        "--no-repeat-ngram",
        metavar="N",
        help="Forbid N-grams that the translation already has; 0 allows all.",
    ),
]
NumberType = Annotated[
    str | None,
    typer.Option(
        "--dtype",
        metavar="auto|float32|bfloat16|int8",
        help="Type of the numbers. auto: int8 if the model is quantised, else float32. int8 needs the native "
        "engine.",
        show_default=False,
    ),
]
AdapterFolder = Annotated[
    Path | None,
    typer.Option("--adapter", metavar="FOLDER", help="Use this adapter, which was trained on the model."),
]
TermsFile = Annotated[
    Path | None,
    typer.Option(
        "--terms",
        metavar="FILE",
        help="Use the translations of this list of terms: CSV (source,target) or TBX.",
    ),
]
TermsHow = Annotated[
    str | None,
    typer.Option(
        "--terms-mode",
        metavar="soft|hard",
        help="soft: the model reads the terms and may inflect them. hard: the translation must have them "
        "exactly as listed. [default: soft if the model was trained with data.terms, else hard]",
    ),
]
BatchTokens = Annotated[
    int,
    typer.Option("--batch-tokens", metavar="N", help="Tokens translated at once. Fewer need less memory."),
]
Memory = Annotated[
    Path | None,
    typer.Option(
        "--memory",
        metavar="FILE",
        help="Translate lines that are in this translation memory as it has them. A memory made by dragoman "
        "memory, or a small .tmx or .tsv file.",
    ),
]
MatchLeast = Annotated[
    float,
    typer.Option(
        "--match-least",
        metavar="N",
        help="With --memory: also use lines that are at least N percent alike. They are shown in --jsonl and "
        "--report; a model trained with data.matches reads them.",
    ),
]
Lowercase = Annotated[bool, typer.Option("--lowercase", help="Also score in lower case.")]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON document.")]
Bootstrap = Annotated[
    int | None,
    typer.Option(
        "--bootstrap",
        metavar="N",
        help="Resamples for intervals and tests; 0 for no intervals. [default: 1000; --test ar: 10000]",
    ),
]
TestName = Annotated[
    str,
    typer.Option(
        "--test",
        metavar="bs|ar",
        help="With --against: paired bootstrap resampling, or approximate randomisation.",
    ),
]
Recipe = Annotated[Path | None, typer.Option("--recipe", metavar="FILE", help="A recipe (TOML).")]
Seeds = Annotated[
    int | None,
    typer.Option(
        "--seeds",
        metavar="N",
        help="Train N times, with the recipe's seed and the next ones, each in its own folder seed-..., and "
        "report the mean and standard deviation of the scores.",
    ),
]
Data = Annotated[
    Path | None,
    typer.Option("--data", metavar="FOLDER", help="Where the recipe's text is. [default: $DRAGOMAN_DATA]"),
]
NoVerify = Annotated[
    bool, typer.Option("--no-verify", help="Do not compare the model with the other program.")
]
VerifyOn = Annotated[
    str | None,
    typer.Option(
        "--verify-on",
        metavar="FILE",
        help="Compare on the lines of this text. [default: a few sentences of dragoman's own]",
    ),
]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print only errors.")]
Verbose = Annotated[
    int, typer.Option("--verbose", "-v", count=True, help="Print more details.", show_default=False)
]
# `outcome.run` reads it too, because it must work even if the rest of the command line does not parse.
Debug = Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")]
