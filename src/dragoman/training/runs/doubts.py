"""Reasons why a run cannot give a model that translates, said before it and after it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import islice

from dragoman.base.tables import count
from dragoman.text.corpora.lines import Line
from dragoman.training.data.mixture import Mixture, TrainingText
from dragoman.training.data.tokenised import TokenisedCorpus
from dragoman.training.runs.recipe import Recipe

FEW_PAIRS = 1000
FEW_TOKENS = 10  # of text for each entry of the vocabulary
_USELESS = 2.0  # BLEU
_LOOKED_AT = 1000  # pairs
_MARK = re.compile(r"\w@@(?: |$)|(?:^| )\u2581\w")


def doubts_before(recipe: Recipe, text: TrainingText, *, vocabulary: int, processes: int) -> list[str]:
    """The reasons that show before the run. `vocabulary` is the number of entries on both sides.

    A model that is tuned, or starts from its teacher, can translate already, so its text may be small; how
    long it warms up counts.
    """
    parts = [part.corpus for part in text.parts] if isinstance(text, Mixture) else [text]
    corpora = [part for part in parts if isinstance(part, TokenisedCorpus)]
    pairs = sum(map(len, corpora))
    sides = sum(len(one.source.values) for one in corpora), sum(len(one.target.values) for one in corpora)
    lines = []
    if not recipe.tuning.base and not recipe.teacher.start:
        if pairs < FEW_PAIRS:
            lines.append(
                f"{count(pairs, 'training pair')}: too few to learn to translate from nothing; add text, or "
                "tune a model that translates already: --from MODEL"
            )
        if sum(sides) < FEW_TOKENS * vocabulary and not recipe.teacher.words:
            size = max(500, sum(sides) // 5000 * 100)
            lines.append(
                f"the vocabulary has {vocabulary:,} entries for {sum(sides):,} tokens of text, so most are "
                f"whole words that occur once or twice; add text, or set tokenizer.vocab_size={size}"
            )
    training = recipe.training
    updates = training.max_updates
    if training.max_epochs is not None:
        batch = training.batch_tokens * training.accumulate * processes
        stages = sum(stage.updates for stage in recipe.data.stages)
        updates = min(updates, stages + training.max_epochs * -(-max(sides) // batch))
    if training.warmup >= updates:
        lines.append(_warmup(training.warmup, updates))
    return lines


def marks_of_subwords(text: Iterable[Line]) -> str:
    """Say that text is cut into subwords already, if a tenth of its first pairs is; nothing otherwise."""
    first = [*islice(text, _LOOKED_AT)]
    marked = sum(any(_MARK.search(side) for side in (line.source, line.target)) for line in first)
    if marked < max(2, len(first) / 10):
        return ""
    return (
        f"{marked:,} of the first {count(len(first), 'pair')} have marks of subwords (@@ or \u2581): the "
        "model would learn them as text; take the text from before it was cut"
    )


def doubts_after(before: Sequence[str], recipe: Recipe, *, updates: int, bleu: float | None) -> list[str]:
    """The reasons to doubt the model: none if it translates the validation text, whatever was said before.

    `bleu` is on validation text; without one, all that was said before counts.
    """
    lines = [*before]
    if recipe.training.warmup >= updates and not any(line.startswith("training.warmup") for line in lines):
        lines.append(_warmup(recipe.training.warmup, updates))
    if bleu is not None and bleu >= _USELESS:
        return []
    useless = [] if bleu is None else [f"BLEU {bleu:.1f} on the validation text: these are no translations"]
    return [*useless, *lines]


def _warmup(warmup: int, updates: int) -> str:
    return (
        f"training.warmup = {warmup:,}, but the run has about {count(updates, 'update')}: the learning rate "
        f"has its peak at the end or never; train longer, or set training.warmup={max(1, updates // 10)}"
    )
