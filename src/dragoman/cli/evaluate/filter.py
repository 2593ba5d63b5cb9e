"""`dragoman filter`: the best pairs of parallel text.

The text is read three times: to count it, to score it, and to write the kept pairs. Scores go into a file
next to the output, line by line:

    # {"model": ...}                 the inputs they were made from
    0.4169<TAB>0.75<TAB>0.5          score, forward and reverse cross-entropy
    -<TAB>empty target               a pair without a score, and why

A command that was stopped resumes there, and one with another --keep or --least only writes.
"""

from __future__ import annotations

import json
import math
from array import array
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from itertools import islice, zip_longest
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated, Any, Literal, cast

import typer

from dragoman.base.errors import ConfigError, DataError
from dragoman.base.files import check_writable
from dragoman.base.jobs import check_same
from dragoman.base.tables import count
from dragoman.cli.input import keep_apart
from dragoman.cli.models import Loading, check_reverse_folder, files_of_models, models_and_text
from dragoman.cli.options import Flag, Flags, Quiet
from dragoman.cli.outcome import tell
from dragoman.cli.writing import (
    Writer,
    can_resume,
    check_pairs_languages,
    check_pairs_name,
    made_of,
    opened_output,
    shown_rate,
    writing_to,
)
from dragoman.translation.search.options import Decoding

if TYPE_CHECKING:
    from dragoman.evaluation.dual import PairScore, PairScorer
    from dragoman.text.corpora.corpus import Corpus
    from dragoman.translation.translator import Translator

_TOGETHER = 1024  # pairs that are scored at once
_NONE = "-"  # in place of a missing score


def filter_pairs(
    context: typer.Context,
    model: Annotated[
        Path,
        typer.Argument(
            metavar="MODEL",
            help="A model that translates in the direction of TEXT. More model folders may follow: they "
            "score together, as an ensemble.",
        ),
    ],
    text: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="TEXT",
            help="Text and its translation: two files, .tsv, .jsonl or .tmx files, patterns, or -.",
            show_default=False,
        ),
    ] = None,
    *,
    output: Annotated[
        Path | None,
        Flag(
            "Write the pairs that are kept to this file, such as best.en-de.tsv, in their order. "
            "Repeat a command that was stopped, and it resumes.",
            flag="--output -o",
        ),
    ] = None,
    by: Annotated[
        Literal["dual", "round-trip"],
        Flag(
            "dual: cross-entropies of both directions, which needs --reverse. round-trip: chrF of a "
            "translation of the source with the target."
        ),
    ] = "dual",
    reverse: Annotated[Path | None, Flag("For dual: a model that translates back.", metavar="MODEL")] = None,
    keep: Annotated[
        float | None,
        Flag("Keep this share of the pairs: 0.8 is the best 80 %.", metavar="SHARE", above=0, at_most=1),
    ] = None,
    least: Annotated[
        float | None,
        Flag("Keep pairs with at least this score, from 0 to 1.", metavar="SCORE", at_least=0, at_most=1),
    ] = None,
    scores: Annotated[
        Path | None, Flag("Keep the scores in this file. A later command with it only chooses anew.")
    ] = None,
    decoding: Annotated[
        Decoding,
        Flags(
            *("to", "batch_tokens"),
            max_source_tokens=Flag(
                "Leave out sentences of more than N tokens.", flag="--max-length", default=256
            ),
        ),
    ],
    checks: Annotated[
        bool,
        Flag(
            "Leave out pairs that dragoman risk flags without a model: another number or "
            "placeholder, copied words, a repetition, a far too long side."
        ),
    ] = False,
    loading: Annotated[Loading, Flags("dtype", "average")],
    quiet: Quiet = False,
) -> None:
    """Keep the best pairs of parallel text: the likeliest by models of both directions.

    The score of dual is exp(-(|f - r| + (f + r) / 2)) of the forward and the reverse cross-entropy a token
    (Junczys-Dowmunt 2018). Pairs with an empty, too long or far longer side are left out.

    \b
      dragoman filter runs/en-de web.en-de.tsv --reverse runs/de-en --keep 0.8 -o best.en-de.tsv
      dragoman filter runs/en-de synthetic.en-de.tsv --by round-trip --least 0.4 -o best.en-de.tsv
    """
    given = context.params | {"output": output, "reverse": reverse, "scores": scores}
    models, names = models_and_text(model, text)
    loading.check(models)
    _check_options(given)
    if output is not None:
        check_pairs_name(output)
    files = files_of_models([*models, reverse])
    from dragoman.text.corpora.corpus import open_corpus
    from dragoman.translation.resources import check_reverse
    from dragoman.translation.translator import Translator

    translator, back = loading.load(models), None
    languages = translator.source_language, decoding.to or translator.target_language
    if reverse is not None:
        back = Translator.load(reverse, dtype=loading.dtype)
        check_reverse((back.source_language, back.target_language), languages)
    corpus = open_corpus(names, languages=languages)
    for path in (output, scores):
        keep_apart(path, [*corpus.files, *names, *files])
    if output is not None:
        check_pairs_languages(output, *languages)
    with ExitStack() as stack:
        path = scores or _beside(cast(Path, output), stack)
        _filter(given, models, translator, back, corpus, path)


def _filter(
    given: dict[str, Any],
    models: Sequence[Path],
    translator: Translator,
    back: Translator | None,
    corpus: Corpus,
    path: Path,
) -> None:
    """Score the pairs into the file at `path`, and write those to keep."""
    output, quiet = given["output"], given["quiet"]
    about = _about(given, models, corpus) if corpus.files and can_resume(path, corpus.files) else {}
    if not _scored(path, about):
        from dragoman.evaluation.dual import PairScorer
        from dragoman.text.corpora.filter import FilterConfig

        scorer = PairScorer(
            forward=translator,
            reverse=back,
            keep=FilterConfig(max_length=given["max_length"]),
            checks=given["checks"],
            to=given["to"],
            batch_tokens=given["batch_tokens"],
        )
        with writing_to(path, corpus.files if about else None, lambda: about) as writer:
            if writer.written.lines:
                tell(f"{path}: resuming after pair {writer.written.lines:,}", quiet=quiet)
            _score(corpus, scorer, writer, json.dumps(about), shown=not quiet)
    else:
        tell(f"{path}: has the scores", quiet=quiet)
    if output is not None:
        keep = given["keep"]
        report = _keep(corpus, path, output, 1.0 if keep is None else keep, given["least"])
        if given["scores"] is None:
            path.unlink()
        tell(report, quiet=quiet)


def _check_options(given: dict[str, Any]) -> None:
    """Raise ConfigError for options that are out of range or contradict each other."""
    by, keep, least = given["by"], given["keep"], given["least"]
    if by == "dual" and given["reverse"] is None:
        raise ConfigError(
            "--by dual without --reverse", hint="name a model of the other direction, or use --by round-trip"
        )
    if by != "dual" and given["reverse"] is not None:
        raise ConfigError(f"--reverse has no effect with --by {by}", hint="leave it out, or use --by dual")
    check_reverse_folder(given["reverse"])
    if given["output"] is None and (given["scores"] is None or keep is not None or least is not None):
        raise ConfigError("no output for the pairs", hint="name a file with -o, such as best.en-de.tsv")
    if given["output"] is not None and keep is None and least is None:
        raise ConfigError("which pairs to keep?", hint="use --keep 0.8 for the best 80 %, or --least SCORE")
    if given["output"] is not None and given["output"] == given["scores"]:
        raise ConfigError("-o and --scores are the same file", hint="choose another file for the scores")


def _about(given: dict[str, Any], models: Sequence[Path], corpus: Corpus) -> dict[str, str]:
    """The inputs of the scores, which decide whether to resume."""
    options = {name: given[name] for name in ("by", "to", "max_length", "batch_tokens", "dtype", "average")}
    if given["checks"]:  # scores made before this option existed stay usable
        options["checks"] = True
    return made_of(
        text=corpus.files, models=[*map(str, models)], files={"reverse": given["reverse"]}, options=options
    )


def _beside(output: Path, stack: ExitStack) -> Path:
    """Where the scores are if no file is named: next to the output, or in a temporary folder for a pipe."""
    if output.exists() and not output.is_file():
        check_writable(output)
        return Path(stack.enter_context(TemporaryDirectory()), "scores")
    return output.with_name(f"{output.name}.scores")


def _scored(path: Path, about: dict[str, str]) -> bool:
    """Whether a file has the scores already. Raises ConfigError for other scores or another kind of file."""
    if not path.is_file():
        return False
    with path.open("rb") as file:
        first = file.readline(1 << 16)
    try:
        before = dict(json.loads(first.decode().removeprefix("# ")))
    except (ValueError, TypeError):
        raise ConfigError(
            f"{path}: exists, but does not hold scores", hint="choose another file, or delete it"
        ) from None
    check_same(path, before, about)
    return bool(about)


def _score(corpus: Corpus, scorer: PairScorer, writer: Writer, head: str, *, shown: bool) -> None:
    """Score all pairs, a chunk at a time, so that a command that resumes makes the same batches."""
    total, skipped = sum(1 for _ in corpus), writer.written.lines
    pairs = islice(((line.source, line.target) for line in corpus), skipped, None)
    number = skipped
    with shown_rate(lambda n: n / total, "scoring", skipped=skipped, shown=shown) as done:
        while chunk := [*islice(pairs, _TOGETHER)]:
            found = list(scorer.scores(chunk))
            rows = [] if number else [f"# {head}\n"]
            rows += map(_row, found)
            number += len(chunk)
            scored = sum(one.reason is None for one in found)
            writer.add(number, "".join(rows), truncated=False, counts={"scored": scored})
            done(number)
    if not writer.written.counts.get("scored"):
        raise DataError(
            f"{corpus.name}: no usable pair", hint="every pair has a side that is empty or too long"
        )


def _row(one: PairScore) -> str:
    if one.reason is not None:
        return f"{_NONE}\t{one.reason}\n"
    return "\t".join(f"{number:.6g}" for number in (one.score, *one.entropies)) + "\n"


def _keep(corpus: Corpus, path: Path, output: Path, share: float, least: float | None) -> str:
    """Write the pairs that are kept, and return a report."""
    from dragoman.evaluation.dual import best_of

    scores, reasons = array("d"), Counter[str]()
    for score, reason in _rows(path):
        scores.append(score)
        reasons.update([reason] if math.isnan(score) else [])
    least = least or 0.0
    chosen = best_of(scores, share=share, least=least)
    if not any(chosen):
        raise DataError(f"{corpus.name}: no pair has a score of {least:g}", hint="lower --least")
    with opened_output(output) as file:
        for line, kept in zip_longest(corpus, chosen):
            if line is None or kept is None:
                raise DataError(
                    f"{path}: has another number of scores than {corpus.name} has pairs",
                    hint="delete the file",
                )
            if kept:
                file.write(f"{_cell(line.source)}\t{_cell(line.target)}\n")
    lowest = min(score for score, kept in zip(scores, chosen, strict=True) if kept)
    many = sum(chosen)
    rows = [
        f"{count(len(scores), 'pair')}, {many:,} kept, {len(scores) - many:,} left out",
        f"  score too low (kept from {lowest:.4g}): {len(scores) - many - reasons.total():,}",
    ]
    return "\n".join([*rows, *(f"  {reason}: {times:,}" for reason, times in reasons.most_common())])


def _rows(path: Path) -> Iterator[tuple[float, str]]:
    """Yield the score of each pair, NaN with a reason if it has none."""
    with path.open(encoding="utf-8") as file:
        next(file, None)
        for number, line in enumerate(file, 2):
            first, _, rest = line.rstrip("\n").partition("\t")
            try:
                yield (math.nan, rest) if first == _NONE else (float(first), "")
            except ValueError:
                raise DataError(f"{path}:{number}: not a score", hint="delete the file") from None


def _cell(text: str) -> str:
    """The text as a column of a .tsv file."""
    return text.replace("\t", " ").strip()
