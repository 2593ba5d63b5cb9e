"""Translate test text and score it: one function for the command line, validation, demo and ladder."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import zip_longest
from typing import Unpack

from dragoman.base.tables import count
from dragoman.evaluation.metrics import METRICS, check_options, score_corpus
from dragoman.evaluation.results import MetricName, Scores
from dragoman.text.corpora.corpus import open_pairs
from dragoman.training.processes.distributed import World
from dragoman.translation.lines import GivenContext, line_items
from dragoman.translation.search.options import Decoding, DecodingOptions
from dragoman.translation.translation import Translation
from dragoman.translation.translator import Translator


@dataclass(frozen=True, kw_only=True, repr=False)
class Evaluation:
    """Translations of test text, their references and their scores. `print` shows the scores."""

    translations: tuple[Translation, ...]
    references: tuple[str, ...]
    target_language: str
    seconds: float  # of translating
    metrics: tuple[MetricName, ...] = METRICS
    lowercase: bool = False
    bootstrap: int = 1000

    def __repr__(self) -> str:
        """The scores only if they are computed: that takes a while."""
        scores = repr(self.scores) if "scores" in vars(self) else count(len(self.translations), "line")
        return f"<Evaluation {scores}, {self.sentences_per_second:.1f} sentences per second>"

    def __str__(self) -> str:
        return str(self.scores)

    @property
    def hypotheses(self) -> list[str]:
        """The best translation of each line, as text."""
        return [translation.text for translation in self.translations]

    @property
    def sentences_per_second(self) -> float:
        return len(self.translations) / max(self.seconds, 1e-9)

    @property
    def truncated(self) -> int:
        """Translations that were cut short."""
        return sum(translation.truncated for translation in self.translations)

    @cached_property
    def scores(self) -> Scores:
        """The scores of all lines, computed on first access."""
        return self.score()

    def score(self, lines: Sequence[int] | None = None, *, lowercase: bool | None = None) -> Scores:
        """Return the scores of some lines or all, cased or in lower case. Raises DataError for no lines."""
        chosen = range(len(self.translations)) if lines is None else lines
        return score_corpus(
            [self.translations[i].text for i in chosen],
            [self.references[i] for i in chosen],
            lowercase=self.lowercase if lowercase is None else lowercase,
            target_language=self.target_language,
            metrics=self.metrics,
            bootstrap=self.bootstrap,
        )


def evaluate(
    translator: Translator,
    pairs: Iterable[tuple[str, str]],
    decoding: Decoding | None = None,
    *,
    metrics: Sequence[MetricName] = METRICS,
    lowercase: bool = False,
    bootstrap: int = 1000,
    world: World | None = None,
    context: str | Iterable[GivenContext] | None = None,
    line_breaks: bool = False,
    **options: Unpack[DecodingOptions],
) -> Evaluation:
    """Translate the sources of `pairs` (source, reference) and score the translations.

    Options of decoding and `context` are as in `Translator.translate`, options of scoring as in
    `score_corpus`: `bootstrap` is the number of resamples behind the intervals, 0 for no intervals.
    `line_breaks` keeps those of sources, which otherwise become spaces. Each process of `world` translates a
    share of the lines, and all return the same. Raises ConfigError for invalid options, DataError for text
    that cannot be translated or scored.
    """
    check_options(metrics, bootstrap)
    decoding = Decoding.of(decoding, {"split": False, **options})
    pairs = list(pairs)
    lines = [(line.source, line.target) for line in open_pairs(pairs)]
    references = [target for _, target in lines]
    pairs = pairs if line_breaks else lines
    began = time.perf_counter()
    items = [item for item in line_items((source for source, _ in pairs), None, context) if item]
    own = items if world is None else items[world.rank :: world.size]
    contexts = None if context is None else [item.context for item in own]
    translations = translator.translate([item.line for item in own], decoding, context=contexts)
    if world is not None and world.size > 1:
        translations = _gathered(translations, world)
    return Evaluation(
        translations=tuple(translations),
        references=tuple(references),
        target_language=translator.pair(decoding)[1],
        seconds=time.perf_counter() - began,
        metrics=tuple(metrics),
        lowercase=lowercase,
        bootstrap=bootstrap,
    )


def _gathered(mine: Sequence[Translation], world: World) -> list[Translation]:
    """The translations of all lines, of which line n is with process n % (processes).

    They have their text, score and tokens, but no optional fields.
    """
    names = ("source", "text", "score", "tokens", "token_logp", "truncated")
    shares = world.gather([[getattr(one, name) for name in names] for one in mine])
    return [
        Translation(source, text, score, tuple(tokens), tuple(token_logp), truncated)
        for row in zip_longest(*shares)
        for source, text, score, tokens, token_logp, truncated in filter(None, row)
    ]
