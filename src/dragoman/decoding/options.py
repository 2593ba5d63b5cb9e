"""Decoding options: plain data that imports no torch."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields, replace
from typing import Literal, TypedDict

from dragoman.base.errors import ConfigError
from dragoman.decoding.rules import MinimumLength, NoRepeatedNgram, Rule

Normalization = Literal["gnmt", "power"]


@dataclass(frozen=True, kw_only=True)
class Beam:
    """Beam search; a beam of 1 is greedy search. The defaults are the paper's, section 6.1."""

    size: int = 4
    length_penalty: float = 0.6
    normalization: Normalization = "gnmt"
    n_best: int = 1

    def __post_init__(self) -> None:
        if self.size < 1:
            raise ConfigError(f"beam size {self.size}", hint="it is at least 1, which is greedy search")
        if not math.isfinite(self.length_penalty):
            raise ConfigError(f"length penalty {self.length_penalty}", hint="a number such as 0.6 is needed")
        if self.normalization not in ("gnmt", "power"):
            raise ConfigError(f"normalization {self.normalization!r}", hint='"gnmt" or "power" is needed')
        if not 1 <= self.n_best <= self.size:
            raise ConfigError(
                f"{self.n_best} best of a beam of {self.size}", hint="1 <= n_best <= beam size is needed"
            )

    @property
    def rows(self) -> int:
        """Rows that a sentence takes in a batch."""
        return self.size

    def normalise(self, logp: float, length: int) -> float:
        """Divide a log-probability by the length penalty. `length` counts the end token.

        "gnmt" divides by ((5 + length) / 6)^alpha (Wu et al. 2016, eq. 14), "power" by length^alpha.
        """
        base = (5 + length) / 6 if self.normalization == "gnmt" else length
        return float(logp / base**self.length_penalty)


@dataclass(frozen=True, kw_only=True)
class Sample:
    """Ancestral sampling: `n_best` independent draws. The score of a draw is its log-probability."""

    temperature: float = 1.0
    top_k: int = 0  # 0: no limit
    top_p: float = 1.0
    seed: int = 1
    n_best: int = 1

    def __post_init__(self) -> None:
        if not 0 < self.temperature < math.inf:
            raise ConfigError(
                f"sampling temperature {self.temperature}",
                hint="it is above 0; for greedy search use a beam of 1",
            )
        if self.top_k < 0:
            raise ConfigError(f"top_k {self.top_k}", hint="a number of tokens, or 0 for no limit")
        if not 0 < self.top_p <= 1:
            raise ConfigError(f"top_p {self.top_p}", hint="0 < top_p <= 1 is needed")
        if self.seed < 0:
            raise ConfigError(f"sampling seed {self.seed}", hint="it is at least 0")
        if self.n_best < 1:
            raise ConfigError(f"{self.n_best} samples", hint="it is at least 1")

    @property
    def rows(self) -> int:
        """Rows that a sentence takes in a batch."""
        return self.n_best

    def normalise(self, logp: float, length: int) -> float:
        """Return `logp` unchanged: draws are not ranked by length."""
        return logp


@dataclass(frozen=True, kw_only=True)
class Decoding:
    """How to translate: one object for `Translator`, the command line and the server.

    `beam`, `length_penalty` and `normalization` default to what the model folder says. Raises
    ConfigError for a value out of range and for options that contradict each other.
    """

    beam: int | None = None  # width of the beam; 1 is greedy search
    n_best: int = 1  # translations of each line; those after the first are its alternatives
    length_penalty: float | None = None
    normalization: Normalization | None = None
    sample: Sample | None = None  # draw instead of searching for the best
    minimum_length: int = 0  # tokens
    no_repeat_ngram: int = 0  # n: no n tokens twice in a translation; 0 for no such rule
    max_extra_tokens: int = 50  # a translation is at most this much longer than its source (section 6.1)
    max_source_tokens: int = 4096  # a longer source is cut here
    batch_tokens: int = 4096  # bounds memory: source tokens in a batch, padding and the beam counted

    def __post_init__(self) -> None:
        least = {"minimum_length": 0, "no_repeat_ngram": 0, "max_extra_tokens": 0}
        for name, bound in (least | {"max_source_tokens": 1, "batch_tokens": 1}).items():
            if getattr(self, name) < bound:
                raise ConfigError(f"{name} = {getattr(self, name)}", hint=f"it is at least {bound}")
        self.how(Beam(size=max(Beam().size, self.n_best)))  # refuses what no model could search with

    @classmethod
    def of(cls, decoding: Decoding | None, options: DecodingOptions) -> Decoding:
        """`decoding` with `options` in place of its own, as in `translate(lines, decoding, beam=5)`."""
        unknown = options.keys() - {field.name for field in fields(cls)}
        if unknown:
            raise TypeError(f"unknown decoding options: {', '.join(sorted(unknown))}")
        return replace(decoding or cls(), **options)

    def how(self, default: Beam) -> Beam | Sample:
        """The search to run. `default` is the model folder's."""
        if self.sample is None:
            return self.beam_search(default)
        if (self.beam, self.length_penalty, self.normalization) != (None, None, None):
            raise ConfigError(
                "sampling, and options of a beam search",
                hint="leave out beam, length_penalty and normalization, or sample",
            )
        return replace(self.sample, n_best=self.n_best) if self.n_best != 1 else self.sample

    def beam_search(self, default: Beam) -> Beam:
        """The beam search to run if nothing is sampled. `default` is the model folder's."""
        return Beam(
            size=max(default.size, self.n_best) if self.beam is None else self.beam,
            length_penalty=default.length_penalty if self.length_penalty is None else self.length_penalty,
            normalization=default.normalization if self.normalization is None else self.normalization,
            n_best=self.n_best,
        )

    @property
    def rules(self) -> tuple[Rule, ...]:
        """The rules that hold for every sentence."""
        rules: list[Rule] = []
        if self.minimum_length:
            rules.append(MinimumLength(self.minimum_length))
        if self.no_repeat_ngram:
            rules.append(NoRepeatedNgram(self.no_repeat_ngram))
        return tuple(rules)


class DecodingOptions(TypedDict, total=False):
    """The fields of `Decoding` as keyword arguments."""

    beam: int | None
    n_best: int
    length_penalty: float | None
    normalization: Normalization | None
    sample: Sample | None
    minimum_length: int
    no_repeat_ngram: int
    max_extra_tokens: int
    max_source_tokens: int
    batch_tokens: int
