"""General text that tuning replays besides the memory, so that the model does not forget it."""

from __future__ import annotations

import json
import random
from bisect import bisect_right
from collections.abc import Callable, Iterator
from itertools import accumulate

from dragoman.base.errors import DataError
from dragoman.text.corpora.corpus import Corpus
from dragoman.text.corpora.lines import Line
from dragoman.text.corpora.reservoir import draw_sample
from dragoman.text.tokenizers.tokenizer import Tokenizer
from dragoman.training.checkpoints.paths import Part
from dragoman.training.data.tokenised import TokenisedCorpus
from dragoman.training.runs.tuning.base import Base
from dragoman.training.runs.tuning.held_out import Pair

POOL = 50_000  # pairs that the epochs of a run draw from
OF_THE_BASE = 5_000  # sources that the base translates, which takes time


def draw_pairs(corpus: Corpus, count: int, *, seed: int) -> Corpus:
    """Return up to `count` pairs with two sides, each equally likely, in random order, kept in memory."""
    chance = random.Random(f"replay {seed}")
    pairs = ((line.source, line.target) for line in corpus if line.source.strip() and line.target.strip())
    drawn = draw_sample(pairs, count, chance)
    chance.shuffle(drawn)
    return kept_pairs(corpus.name, drawn)


def kept_pairs(name: str, pairs: list[Pair]) -> Corpus:
    """Return pairs in memory as a corpus; the list may be empty."""
    return Corpus(name, lambda: (Line(number, *pair) for number, pair in enumerate(pairs, 1)))


def own_text(base: Base, part: Part, count: int, *, seed: int) -> Corpus | None:
    """Return up to `count` pairs of the general text that the base was trained on or validated with.

    Each pair of all its training texts is equally likely. None if its folder no longer has the tokens, or
    they are damaged, or do not fit its vocabulary. They become text again.
    """
    own = base.general[part]
    folders = base.checkpoints.training_texts() if own == "train" else [base.checkpoints.corpus(own)]
    try:
        texts = [TokenisedCorpus(folder, base.tokenizer) for folder in folders]
        fits = all(_fits(tokens, base.tokenizer) for tokens in texts)
    except (OSError, ValueError, KeyError, TypeError, json.JSONDecodeError, DataError):
        return None
    if not texts or not fits:
        return None
    firsts = [*accumulate((len(tokens) for tokens in texts), initial=0)]
    source, target = base.tokenizer.vocabularies
    pairs: list[Pair] = []
    for row in random.Random(f"{part} {seed}").sample(range(firsts[-1]), min(count, firsts[-1])):
        number = bisect_right(firsts, row) - 1
        tokens, place = texts[number], row - firsts[number]
        pairs.append(
            (source.decode(tokens.source[place].tolist()), target.decode(tokens.target[place].tolist()))
        )
    name = str(folders[0]) if len(folders) == 1 else str(folders[0].with_name("train.*"))
    return kept_pairs(name, [pair for pair in pairs if pair[0].strip() and pair[1].strip()])


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
            from dragoman.translation.translator import Translator

            sources = [line.source for line in draw_pairs(memory, OF_THE_BASE, seed=seed)]
            say(f"translating {len(sources):,} sources with the base")
            translator = Translator.of(base.load(), engine=None)
            pairs.extend((one.source, one.text) for one in translator.translate(sources, beam=1))
        return (Line(number, *pair) for number, pair in enumerate(pairs, 1))

    return Corpus("translations by the base", read)
