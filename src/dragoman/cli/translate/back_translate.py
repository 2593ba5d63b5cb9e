"""`dragoman back-translate`: synthetic parallel text from text of the target language."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from dragoman.base.errors import ConfigError, DataError
from dragoman.base.languages import related
from dragoman.base.tables import count
from dragoman.cli.input import STDIN, Input, keep_apart
from dragoman.cli.models import Loading, files_of_models, models_and_text
from dragoman.cli.options import Flag, Flags, Quiet, argument
from dragoman.cli.outcome import tell
from dragoman.cli.writing import (
    Writer,
    check_exist,
    check_pairs_languages,
    check_pairs_name,
    made_from,
    shown_rate,
    writing_to,
)
from dragoman.text.corpora.languages import of_side
from dragoman.text.corpora.shards import OF_PAIRS, files_of, kind_of
from dragoman.translation.search.options import Decoding, Sample

if TYPE_CHECKING:
    from dragoman.translation.synthetic import How, SyntheticPairs
    from dragoman.translation.translator import Translator

_OF_SAMPLES = ("temperature", "top_k", "top_p")
_OF_BEAMS = ("beam", "length_penalty")
_PAIRS = "pairs"  # among the counts of what is written


def back_translate(
    context: typer.Context,
    model: Annotated[
        Path,
        argument(
            "MODEL",
            "A model of the reverse direction, from the language of TEXT. More model folders may "
            "follow: all translate together, as an ensemble.",
        ),
    ],
    text: Annotated[
        list[str] | None,
        argument(
            "TEXT",
            "Text in the target language of the system to train, one sentence a line: files or "
            "patterns, plain or compressed (.gz, .zst); - is standard input. [default: -]",
        ),
    ] = None,
    *,
    output: Annotated[
        Path | None,
        Flag(
            "Write the pairs to this file, such as synthetic.en-de.tsv, whole or not at all. Repeat a "
            "command that was stopped, and it resumes.",
            flag="--output -o",
        ),
    ] = None,
    how: Annotated[
        Literal["beam", "greedy", "sample", "noise"],
        Flag(
            "How to make the sources. sample: draw from the model's distribution. noise: leave out, "
            "blank and move words of the beam search's translation."
        ),
    ] = "beam",
    per_line: Annotated[int, Flag("Sources for each line: N pairs with its text.", at_least=1)] = 1,
    draws: Annotated[
        Sample,
        Flags(section="With --how sample", **dict.fromkeys(_OF_SAMPLES, Flag(default=None))),
        Flags(seed=Flag("Seed of the draws and of the noise. [default: 1]", default=None)),
    ],
    decoding: Annotated[
        Decoding,
        Flags(
            *("beam", "length_penalty", "shortlist", "source", "to", "batch_tokens"),
            section="Search",
            max_source_tokens=Flag(
                "Leave out lines of more than N tokens.", flag="--max-length", default=256
            ),
            max_extra_tokens=Flag("Leave out sources of N tokens more than their line, or longer."),
        ),
    ],
    loading: Loading,
    quiet: Quiet = False,
) -> None:
    """Make synthetic parallel text from text in one language: translated sources, real targets.

    To train a system from English to German, translate German text with a model from German to English. The
    pairs are lines of SOURCE<TAB>TARGET. Unusable pairs are left out and counted.

    \b
      dragoman back-translate runs/de-en news.de -o synthetic.en-de.tsv
      dragoman back-translate runs/de-en 'news-*.de.zst' -o synthetic.en-de.tsv --how noise
      dragoman back-translate runs/de-en-1 runs/de-en-2 news.de -o synthetic.en-de.tsv --how beam
      dragoman back-translate runs/de-en news.de -o synthetic.en-de.tsv --how sample --per-line 3
    """
    models, texts = models_and_text(model, text)
    loading.check(models)
    names = [file for name in texts or [STDIN] for file in files_of(name)]
    decoding = _decoding(decoding, draws, context.params, how, per_line)
    _check_names(names, output)
    keep_apart(output, [*names, *files_of_models([*models, loading.adapter])])
    check_exist(names)
    apart = ("model", "text", "output", "quiet")
    about = partial(made_from, context.params, models, names, files=("adapter",), apart=apart)
    with writing_to(output, names, about) as writer:
        translator = loading.load(models)
        _check_languages(translator, decoding, names, output)
        lines = Input(names, skipped=writer.written.lines)
        if lines.skipped:
            tell(f"{output}: resuming after line {lines.skipped:,}", quiet=quiet)
        from dragoman.translation.synthetic import back_translated

        pairs = back_translated(
            translator,
            _ended(lines),
            decoding,
            how=how,
            per_line=per_line,
            seed=draws.seed,
            first=lines.skipped + 1,
        )
        _write(pairs, lines, writer, shown=not quiet and output is not None)
        report = _report(writer)
        if not writer.written.counts.get(_PAIRS):
            raise DataError(
                f"{', '.join(names)}: no usable pair\n{report}", hint="check the text and the model"
            )
    tell(report, quiet=quiet)


def _decoding(
    decoding: Decoding, draws: Sample, given: Mapping[str, Any], how: How, per_line: int
) -> Decoding:
    """The search or the draws. Raises ConfigError for options that do not fit."""
    if how == "greedy" and per_line > 1:
        raise ConfigError("--per-line with --how greedy, which finds one", hint="use beam, sample or noise")
    if how == "beam" and decoding.beam and per_line > decoding.beam:
        raise ConfigError(
            f"--per-line {per_line}: {per_line} translations from a beam of {decoding.beam}",
            hint=f"pass --beam {per_line}, or a smaller --per-line",
        )
    unused = {"sample": _OF_BEAMS, "noise": _OF_SAMPLES, "greedy": (*_OF_SAMPLES, *_OF_BEAMS, "seed")}.get(
        how, (*_OF_SAMPLES, "seed")
    )
    for name in unused:
        if given[name] is not None:
            raise ConfigError(
                f"--{name.replace('_', '-')} has no effect with --how {how}", hint="leave it out"
            )
    return replace(
        decoding,
        sample=draws if how == "sample" else None,
        beam=1 if how == "greedy" else decoding.beam,
        n_best=1 if how in ("greedy", "noise") else per_line,
    )


def _check_names(names: Sequence[str], output: Path | None) -> None:
    """Raise ConfigError for text of pairs, and for an output that would not be read as pairs."""
    for name in names:
        if kind_of(name) in OF_PAIRS:
            raise ConfigError(
                f"{name}: a file of pairs; text of one language is needed", hint="write one sentence a line"
            )
    if output is not None:
        check_pairs_name(output)


def _check_languages(
    translator: Translator, decoding: Decoding, names: Sequence[str], output: Path | None
) -> None:
    """Raise ConfigError if the names of the files contradict the languages of the model."""
    own, other = translator.pair(decoding)
    if own == other:
        raise ConfigError(
            f"the model translates from {own} to {other}",
            hint="choose one with --to" if own == "mul" else "name a model to another language",
        )
    for name in names:
        named = of_side(name) if "." in Path(name).name else None  # a file named "in" is not in Indonesian
        if named is not None and not related(named, own):
            raise ConfigError(
                f"{name}: text in {named} by its name, but the model translates from {own} to {other}",
                hint=f"give it text in {own}, or name a model that translates from {named}",
            )
    if output is not None:
        check_pairs_languages(output, other, own)


def _ended(lines: Input) -> Iterator[str]:
    """The lines; their ends are not needed."""
    for line in lines:
        lines.ends.clear()
        yield line


def _write(pairs: Iterator[SyntheticPairs], lines: Input, writer: Writer, *, shown: bool) -> None:
    """Write the pairs of each line as they come, and count them."""
    with shown_rate(lines.share, "back-translating", skipped=lines.skipped, shown=shown) as done:
        for number, one in enumerate(pairs, lines.skipped + 1):
            writer.add(number, one.rows(), counts={_PAIRS: len(one.sources)} | one.left_out)
            done(number)


def _report(writer: Writer) -> str:
    """As in `1,000 lines, 960 pairs written, 40 left out`, then a line for each reason."""
    counts = Counter(writer.written.counts)
    pairs = counts.pop(_PAIRS, 0)
    rows = [
        f"{count(writer.written.lines, 'line')}, {count(pairs, 'pair')} written, {counts.total():,} left out"
    ]
    return "\n".join([*rows, *(f"  {reason}: {many:,}" for reason, many in counts.most_common() if many)])
