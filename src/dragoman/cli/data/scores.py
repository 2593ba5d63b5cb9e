"""Scores of pairs by a model or a lexicon, for `dragoman data clean`: made once, and kept in a file.

    # {"model": ...}                 the inputs they were made from
    0.4169<TAB>0.75<TAB>0.5          score, and what it is made of in both directions
    -<TAB>empty target               a pair without a score, and why

A command that was stopped resumes there, and one with another --keep or --least only writes.
"""

from __future__ import annotations

import json
import math
from array import array
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from dragoman.base.errors import ConfigError, DataError
from dragoman.base.jobs import check_same
from dragoman.cli.models import Loading, check_reverse_folder
from dragoman.cli.options import Flag
from dragoman.cli.outcome import tell
from dragoman.cli.writing import can_resume, shown_rate, writing_to
from dragoman.text.blank import is_blank
from dragoman.translation.search.options import Decoding

if TYPE_CHECKING:
    from dragoman.data.clean import RuledLines
    from dragoman.data.lexical import LexiconScorer
    from dragoman.evaluation.dual import PairScore, PairScorer
    from dragoman.text.corpora.corpus import Corpus

_TOGETHER = 1024  # pairs that are scored at once
_NONE = "-"  # in place of a missing score


@dataclass(frozen=True, kw_only=True)
class Scoring:
    """The score of a pair by models, and which scores to keep."""

    score: Annotated[
        list[Path] | None,
        Flag("Score pairs by a model of their direction; repeat it for an ensemble.", metavar="MODEL"),
    ] = None
    by: Annotated[
        Literal["dual", "round-trip", "lexicon"],
        Flag(
            "dual: cross-entropies of both directions, which needs --reverse. round-trip: chrF of a "
            "translation of the source with the target. lexicon: how well the words explain each other, "
            "without a model."
        ),
    ] = "dual"
    reverse: Annotated[Path | None, Flag("For dual: a model that translates back.", metavar="MODEL")] = None
    keep: Annotated[
        float | None,
        Flag("Keep this share of the scored pairs, the best.", metavar="SHARE", above=0, at_most=1),
    ] = None
    least: Annotated[
        float | None,
        Flag("Keep pairs with at least this score, from 0 to 1.", metavar="SCORE", at_least=0, at_most=1),
    ] = None
    scores: Annotated[
        Path | None,
        Flag("Keep the scores in this file. A later command with it only chooses anew.", metavar="FILE"),
    ] = None

    def check(self) -> None:
        """Raise ConfigError for options that contradict each other."""
        if self.by == "lexicon" and (self.score or self.reverse):
            raise ConfigError("--by lexicon uses no model", hint="leave out --score and --reverse")
        if not self.score and self.by != "lexicon":
            for flag in ("by", "reverse", "keep", "least", "scores"):
                if getattr(self, flag) not in (None, "dual"):
                    raise ConfigError(f"--{flag} without --score", hint="name a model with --score")
            return
        if self.by == "dual" and self.reverse is None:
            raise ConfigError(
                "--by dual without --reverse",
                hint="name a model of the other direction, or use --by round-trip",
            )
        if self.by != "dual" and self.reverse is not None:
            raise ConfigError(
                f"--reverse has no effect with --by {self.by}", hint="leave it out, or use --by dual"
            )
        if self.keep is None and self.least is None:
            raise ConfigError(
                "which pairs to keep?", hint="use --keep 0.8 for the best 80%, or --least SCORE"
            )
        check_reverse_folder(self.reverse)

    def model_scorer(self, loading: Loading, decoding: Decoding) -> PairScorer:
        """Load the models. Raises the errors of loading, and ConfigError if their languages do not fit."""
        from dragoman.evaluation.dual import PairScorer
        from dragoman.text.corpora.filter import FilterConfig
        from dragoman.translation.resources import check_reverse
        from dragoman.translation.translator import Translator

        forward, back = loading.load(self.score or ()), None
        if self.reverse is not None:
            back = Translator.load(self.reverse, dtype=loading.dtype)
            check_reverse((back.source_language, back.target_language), forward.pair(decoding))
        keep = FilterConfig(max_length=decoding.max_source_tokens)
        return PairScorer(forward=forward, reverse=back, keep=keep, batch_tokens=decoding.batch_tokens)


def make_scores(
    path: Path,
    scorer: PairScorer | LexiconScorer,
    corpus: Corpus,
    chunks: Callable[..., Iterator[RuledLines]],
    about: dict[str, str],
    *,
    quiet: bool,
) -> None:
    """Write the scores of a corpus, which `chunks` divides, into a file, unless it has them."""
    about = about if corpus.files and can_resume(path, corpus.files) else {}
    if _scored(path, about):
        tell(f"{path}: has the scores", quiet=quiet)
        return
    total, scored = sum(1 for _ in corpus), 0
    with writing_to(path, corpus.files if about else None, lambda: about) as writer:
        number = skipped = writer.written.lines
        if skipped:
            tell(f"{path}: resuming after pair {skipped:,}", quiet=quiet)
        with shown_rate(lambda n: n / total, "scoring", skipped=skipped, shown=not quiet) as done:
            # A chunk at a time, so that a command that resumes makes the same batches.
            for chunk in chunks(skip=skipped, size=_TOGETHER):
                judged = [chunk.rules.judge(line.source, line.target) for line in chunk.lines]
                # Empty pairs, which end documents, have no score.
                faults = [
                    one.filters[0][0] if one.filters else "empty" if is_blank(one.source + one.target) else ""
                    for one in judged
                ]
                found = iter(
                    scorer.scores([one[:2] for one, fault in zip(judged, faults, strict=True) if not fault])
                )
                rows = [f"{_NONE}\t{fault}\n" if fault else _row(next(found)) for fault in faults]
                scored = sum(not row.startswith(_NONE) for row in rows)
                head = "" if number else f"# {json.dumps(about)}\n"
                number += len(rows)
                writer.add(number, head + "".join(rows), counts={"scored": scored})
                done(number)
        if not writer.written.counts.get("scored"):
            raise DataError(
                f"{corpus.name}: no usable pair",
                hint="every pair is dropped by a rule, or has a side too long",
            )


def with_scores(
    chunks: Iterable[RuledLines], path: Path, *, share: float, least: float, skip: int
) -> Iterator[RuledLines]:
    """Yield the chunks, and in each the lines whose score is too low. Raises DataError for a damaged file."""
    from dragoman.evaluation.dual import best_of

    chosen = best_of(array("d", (score for score, _ in _rows(path))), share=share, least=least)
    rows = islice(zip(_rows(path), chosen, strict=True), skip, None)
    wrong = DataError(f"{path}: has another number of scores than the text has pairs", hint="delete the file")
    for chunk in chunks:
        own = [*islice(rows, len(chunk.lines))]
        if len(own) < len(chunk.lines):
            raise wrong
        low = {
            place: (f"score: {reason}", 1.0) if reason else ("score", 1 - score)
            for place, ((score, reason), good) in enumerate(own)
            if not good
        }
        yield chunk._replace(low=low)
    if next(rows, None) is not None:
        raise wrong


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


def _row(one: PairScore) -> str:
    if one.reason is not None:
        return f"{_NONE}\t{one.reason}\n"
    return "\t".join(f"{number:.6g}" for number in (one.score, *one.entropies)) + "\n"


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
