"""General text for tuning: what the model trains on besides the memory, so that it does not forget it."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator

from dragoman.runs.base import Base
from dragoman.runs.held_out import Pair
from dragoman.text.corpus import Corpus
from dragoman.text.lines import Line
from dragoman.text.tokenizer import Tokenizer
from dragoman.training.checkpoints import Part
from dragoman.training.tokenised import TokenisedCorpus

POOL = 50_000  # pairs that the epochs of a run draw from
OF_THE_BASE = 5_000  # sources that the base translates, which takes time


def draw_pairs(corpus: Corpus, count: int, *, seed: int) -> Corpus:
    """Return up to `count` pairs with two sides, each equally likely, in random order, kept in memory.

    Reservoir sampling: Vitter 1985, algorithm R.
    """
    chance = random.Random(f"replay {seed}")
    drawn: list[Pair] = []
    pairs = ((line.source, line.target) for line in corpus if line.source.strip() and line.target.strip())
    for number, pair in enumerate(pairs):
        if number < count:
            drawn.append(pair)
        elif (place := chance.randrange(number + 1)) < count:
            drawn[place] = pair
    chance.shuffle(drawn)
    return kept_pairs(corpus.name, drawn)


def kept_pairs(name: str, pairs: list[Pair]) -> Corpus:
    """Return pairs in memory as a corpus; the list may be empty."""
    return Corpus(name, lambda: (Line(number, *pair) for number, pair in enumerate(pairs, 1)))


def own_text(base: Base, part: Part, count: int, *, seed: int) -> Corpus | None:
    """Return up to `count` pairs of the general text that the base was trained on or validated with.

    None if its folder no longer has the tokens, or they do not fit its vocabulary. They become text again.
    """
    folder = base.checkpoints.corpus(base.general[part])
    try:
        tokens = TokenisedCorpus(folder, base.tokenizer)
        fits = _fits(tokens, base.tokenizer)
    except (OSError, ValueError, KeyError, TypeError, json.JSONDecodeError):
        return None
    if not fits:
        return None
    rows = random.Random(f"{part} {seed}").sample(range(len(tokens)), min(count, len(tokens)))
    sources, targets = (
        [vocabulary.decode(side[row].tolist()) for row in rows]
        for vocabulary, side in zip(base.tokenizer.vocabularies, (tokens.source, tokens.target), strict=True)
    )
    pairs = [*zip(sources, targets, strict=True)]
    return kept_pairs(str(folder), [pair for pair in pairs if pair[0].strip() and pair[1].strip()])


def _fits(tokens: TokenisedCorpus, tokenizer: Tokenizer) -> bool:
    sides = (tokens.source, tokenizer.source_size), (tokens.target, tokenizer.target_size)
    return len(tokens.source) == len(tokens.target) and all(
        len(rows.values) == rows.offsets[-1] and rows.values.max(initial=0) < size for rows, size in sides
    )


def translated(base: Base, memory: Corpus, *, seed: int, say: Callable[[str], None]) -> Corpus:
    """Return sources of the memory with greedy translations by the base: sequence-level distillation.

    Kim and Rush 2016, section 3.2; as a guard against forgetting, Li and Hoiem 2016. The work is done when
    the corpus is first read.
    """
    pairs: list[Pair] = []

    def read() -> Iterator[Line]:
        if not pairs:
            from dragoman.translator import Translator

            sources = [line.source for line in draw_pairs(memory, OF_THE_BASE, seed=seed)]
            say(f"translating {len(sources):,} sources with the base")
            translator = Translator.of(base.load(), engine=None)
            pairs.extend((one.source, one.text) for one in translator.translate(sources, beam=1))
        return (Line(number, *pair) for number, pair in enumerate(pairs, 1))

    return Corpus("translations by the base", read)
