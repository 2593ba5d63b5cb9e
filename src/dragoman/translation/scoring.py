"""Scores of given translations, from any engine."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TypeVar, cast

from dragoman.base.errors import DataError
from dragoman.text.guidance import Reading, reading
from dragoman.translation.lines import LineItem, checked_lines
from dragoman.translation.search.engine import Engine, Tokens, without_start
from dragoman.translation.search.options import Beam
from dragoman.translation.translation import Translation, TranslationMaker, beside_line, to_line

T = TypeVar("T")
# Source times target tokens of a pair whose attention is held: about 95 bytes and two microseconds each.
MOST_ATTENTION = 16_000_000


def sides(
    sources: Iterable[str] | Iterable[tuple[str, str]], targets: Iterable[str] | None
) -> tuple[list[str], list[str]]:
    """Return sources and targets, given as two lists or, without `targets`, as pairs.

    Raises TypeError for anything else, DataError if the numbers of sources and targets differ.
    """
    if targets is None:
        pairs = list(sources)
        if any(isinstance(pair, str) or len(pair) != 2 for pair in pairs):
            raise TypeError("pairs (source, translation) are needed, or a list of sources and one of targets")
        sources, targets = [source for source, _ in pairs], [target for _, target in pairs]
    sources, targets = checked_lines(cast("Iterable[str]", sources)), checked_lines(targets)
    if len(sources) != len(targets):
        raise DataError(
            f"{len(sources)} sources and {len(targets)} translations to score",
            hint="give one translation for each source",
        )
    return sources, targets


def scored_pairs(
    engine: Engine, maker: TranslationMaker, how: Beam, items: Sequence[LineItem], targets: Sequence[str]
) -> list[Translation]:
    """Return a Translation for each source and target, as the model scores it.

    Spaces around a line are not read, as in training. Raises DataError for a pair that is too long for its
    attention to be held.
    """
    tokenizer, decoding = maker.tokenizer, maker.decoding
    sources = [item.line for item in items]
    read = [maker.addressed(one.strip()) for one in sources]
    encoded = tokenizer.encode_source([one.text for one in read])
    inputs = [
        reading(tokenizer, one.text, tokens, guidance)
        if (guidance := beside_line(None, item.context, decoding.formality))
        else Reading(tokens, range(len(tokens)))
        for item, one, tokens in zip(items, read, encoded, strict=True)
    ]
    answered = tokenizer.encode_target([target.strip() for target in targets])
    answered = [[*one.start, *own] for one, own in zip(read, answered, strict=True)]
    if maker.attention is not None:
        _check_size(sources, [one.tokens for one in inputs], answered)
    pairs = zip([one.tokens for one in inputs], answered, strict=True)
    answers = engine.score(pairs, how, attention=maker.attention, batch_tokens=decoding.batch_tokens)
    own = map(to_line, _in_order(answers), inputs)
    scored = zip(sources, read, encoded, own, targets, strict=True)
    return [
        maker.translation(source, line, tokens, without_start(hypothesis, len(start), how), given=target)
        for source, (line, start), tokens, hypothesis, target in scored
    ]


def _check_size(sources: Sequence[str], encoded: Sequence[Tokens], answered: Sequence[Tokens]) -> None:
    for source, one, other in zip(sources, encoded, answered, strict=True):
        if len(one) * len(other) > MOST_ATTENTION:
            start = source.strip()[:40]
            raise DataError(
                f"{start!r}...: {len(one):,} and {len(other):,} tokens are too many to align",
                hint="cut this pair into sentences",
            )


def _in_order(answers: Iterable[tuple[int, T]]) -> Iterator[T]:
    """Yield the answers in order of their numbers, each as soon as possible."""
    early: dict[int, T] = {}
    due = 0
    for number, answer in answers:
        early[number] = answer
        while due in early:
            yield early.pop(due)
            due += 1
