"""Decoding options: plain data that imports no torch."""

from __future__ import annotations

import math
import re
import sys
from dataclasses import dataclass, fields, replace
from difflib import get_close_matches
from typing import Annotated, Any, Literal, TypedDict

from dragoman.base.errors import ConfigError
from dragoman.base.options import Option, Options
from dragoman.text.formality import Formality
from dragoman.translation.search.mbr import Utility
from dragoman.translation.search.rules import MinimumLength, NoRepeatedNgram, Rule

Normalization = Literal["gnmt", "power"]
Stop = Literal["full", "patient", "shrinking", "exact"]
Quality = Literal["fast", "normal", "best"]
Average = Literal["log-probabilities", "probabilities"]  # the quantity that an ensemble averages
DType = Literal["auto", "float32", "bfloat16", "int8"]  # number type of the engine

CANDIDATES = 16  # translations of a line to choose from, if no number is given
# More than needed, and few enough that a typing error does not take hours or all memory.
_WIDEST, _LONGEST, _STEEPEST = 1000, 100_000, 100

_BANNED = Option("Ids that are never generated, in addition to padding and start.", at_least=0)
_RENORMALIZE = Option(
    "Share the probability of padding, start and banned ids among the others. Otherwise it is lost."
)


@dataclass(frozen=True, kw_only=True)
class Beam(Options, section="generation"):
    """Beam search; a beam of 1 is greedy search. The defaults are the paper's, section 6.1."""

    size: Annotated[int, Option("Width of the beam; 1 is greedy search.", at_least=1, at_most=_WIDEST)] = 4
    length_penalty: Annotated[
        float,
        Option(
            "Exponent of the length penalty; above 0 favours longer translations.",
            at_least=-_STEEPEST,
            at_most=_STEEPEST,
        ),
    ] = 0.6
    normalization: Annotated[
        Normalization,
        Option(
            "Length penalty: gnmt is ((5 + length) / 6)^penalty (Wu et al. 2016), power is length^penalty."
        ),
    ] = "gnmt"
    n_best: Annotated[int, Option("Translations of each sentence, best first.", at_least=1)] = 1
    stop: Annotated[
        Stop,
        Option(
            "When a search ends. full: as many translations have finished as the beam is wide. patient: and "
            "no unfinished one scores better so far (Hugging Face's early_stopping=False). shrinking: each "
            "finished translation takes a place of the beam, and the search ends when all are taken "
            "(Marian). exact: no unfinished one can still be among the n_best (early_stopping='never'); a "
            "beam of 1 is greedy and stops at its first end."
        ),
    ] = "full"
    banned: Annotated[tuple[int, ...], _BANNED] = ()
    renormalize: Annotated[bool, _RENORMALIZE] = False

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.n_best > self.size:
            raise ConfigError(
                f"{self.n_best} translations from a beam of {self.size}",
                hint=f"make the beam at least {self.n_best}, or ask for fewer with n_best or candidates",
            )

    @property
    def rows(self) -> int:
        """Rows that a sentence takes in a batch."""
        return self.size

    def normalise(self, logp: float, length: int) -> float:
        """Divide a log-probability by the length penalty. `length` counts the end token.

        "gnmt" divides by ((5 + length) / 6)^alpha (Wu et al. 2016, eq. 14), "power" by length^alpha.
        """
        return logp / self.penalty(length)

    def penalty(self, length: int) -> float:
        """The divisor of `normalise`."""
        base = (5 + length) / 6 if self.normalization == "gnmt" else length
        try:
            return max(float(base**self.length_penalty), sys.float_info.min)
        except OverflowError:
            return math.inf


@dataclass(frozen=True, kw_only=True)
class Sample(Options):
    """Ancestral sampling: `n_best` independent draws. The score of a draw is its log-probability."""

    temperature: Annotated[float, Option("Below 1 favours likely tokens.", above=0)] = 1.0
    top_k: Annotated[int, Option("Draw from the k likeliest tokens; 0 for all.", at_least=0)] = 0
    top_p: Annotated[float, Option("Draw from the likeliest tokens that sum to p.", above=0, at_most=1)] = 1.0
    seed: Annotated[int, Option("Seed of the draws.", at_least=0)] = 1
    n_best: Annotated[int, Option("Draws for each sentence.", at_least=1)] = 1
    banned: Annotated[tuple[int, ...], _BANNED] = ()
    renormalize: Annotated[bool, _RENORMALIZE] = False

    @property
    def rows(self) -> int:
        """Rows that a sentence takes in a batch."""
        return self.n_best

    def normalise(self, logp: float, length: int) -> float:
        """Return `logp` unchanged: draws are not ranked by length."""
        return logp


@dataclass(frozen=True)
class AttentionOf:
    """Which cross-attention to return: a layer of the decoder and one of its heads, each counted from 1.

    Without a head it is the mean of the layer's heads. Raises ConfigError for a number below 1.
    """

    layer: int
    head: int | None = None

    def __post_init__(self) -> None:
        if self.layer < 1 or (self.head is not None and self.head < 1):
            raise ConfigError(f"attention {self} cannot be used", hint="layers and heads are counted from 1")

    def __str__(self) -> str:
        return f"{self.layer}" if self.head is None else f"{self.layer}.{self.head}"

    @classmethod
    def of(cls, text: str) -> AttentionOf:
        """Return the choice in `text`, as "4" or "4.2". Raises ConfigError for any other text."""
        if not re.fullmatch(r"[0-9]{1,9}(\.[0-9]{1,9})?", text):
            raise ConfigError(
                f"attention {text!r} cannot be used",
                hint="write LAYER or LAYER.HEAD, such as 4 or 4.2, counted from 1",
            )
        return cls(*map(int, text.split(".")))

    def check(self, layers: int, heads: int) -> None:
        """Raise ConfigError unless a decoder of `layers` layers with `heads` heads each has it."""
        if self.layer > layers or (self.head or 1) > heads:
            raise ConfigError(
                f"attention {self}: the decoder has layers 1 to {layers} with heads 1 to {heads}",
                hint="write LAYER or LAYER.HEAD",
            )


def last_but_one(layers: int) -> int:
    """The last layer but one, counted from 1, or the only one."""
    return max(1, layers - 1)


@dataclass(frozen=True, kw_only=True)
class Decoding(Options):
    """How to translate: every decoding option.

    `beam`, `length_penalty`, `normalization` and `stop` default to the values in the model folder. Raises
    ConfigError for a value out of range and for options that contradict each other.
    """

    beam: Annotated[
        int | None,
        Option("Width of the beam; 1 is greedy search. By default the model's.", at_least=1, at_most=_WIDEST),
    ] = None
    n_best: Annotated[
        int,
        Option(
            "Translations of each line, best first. Those after the first are its alternatives.",
            at_least=1,
            at_most=_WIDEST,
        ),
    ] = 1
    length_penalty: Annotated[
        float | None,
        Option(
            "Above 0 favours longer translations; 0.6 in the paper. By default the model's.",
            at_least=-_STEEPEST,
            at_most=_STEEPEST,
        ),
    ] = None
    normalization: Annotated[
        Normalization | None, Option("Formula of the length penalty. By default the model's.")
    ] = None
    stop: Annotated[
        Stop | None,
        Option("When a beam search ends. exact: no unfinished translation can win. By default the model's."),
    ] = None
    sample: Annotated[Sample | None, Option("Draw at random instead of searching.")] = None
    source: Annotated[
        str | None,
        Option(
            "Language of the lines, if the model has several. Left out, it is detected where the model needs "
            "it.",
            metavar="LANGUAGE",
            flag="--from",
        ),
    ] = None
    to: Annotated[str | None, Option("Target language, if the model has several.", metavar="LANGUAGE")] = None
    formality: Annotated[
        Formality | None,
        Option("How to address the reader: Sie or du, vous or tu. For models trained with data.formality."),
    ] = None
    minimum_length: Annotated[
        int,
        Option("Shortest translation allowed, in tokens.", at_least=0, at_most=_LONGEST, flag="--min-length"),
    ] = 0
    no_repeat_ngram: Annotated[
        int, Option("Forbid n-grams that the translation already has; 0 allows all.", at_least=0)
    ] = 0
    max_extra_tokens: Annotated[
        int,
        Option(
            "A translation may be this many tokens longer than its source (section 6.1).",
            at_least=0,
            at_most=_LONGEST,
            flag="--max-extra",
        ),
    ] = 50
    max_source_tokens: Annotated[
        int, Option("A longer source is cut here, in tokens.", at_least=1, at_most=_LONGEST)
    ] = 4096
    batch_tokens: Annotated[
        int,
        Option("Source tokens in a batch, padding and beam included. Fewer need less memory.", at_least=1),
    ] = 4096
    attention: Annotated[
        str | None,
        Option(
            "Return the attention to the source: LAYER, the mean of its heads, or LAYER.HEAD, from 1.",
            metavar="LAYER[.HEAD]",
        ),
    ] = None
    alignment: Annotated[
        bool,
        Option(
            "Return which words translate which, such as 0-0 1-2: by `attention` if it is given, or by the "
            "model's default."
        ),
    ] = False
    split: Annotated[
        bool,
        Option(
            "Translate each sentence of a line by itself, and keep the space between them; False gives the "
            "model whole lines. With `attention`, lines stay whole."
        ),
    ] = True
    protect: Annotated[
        bool | None,
        Option(
            "Keep placeholders, URLs and e-mail addresses, and copy text that is not language. By default as "
            "`split`."
        ),
    ] = None
    risk: Annotated[
        bool, Option("Return the probability that a correction is needed, and flags that say what to check.")
    ] = False
    shortlist: Annotated[
        bool,
        Option("Use only the target tokens that the model's shortlist allows; see dragoman model shortlist."),
    ] = False
    quality: Annotated[
        Quality,
        Option(
            "fast: greedy search, always with the model's shortlist, if it has one. normal: its search. "
            "best: minimum Bayes risk by chrF, several times as slow. More specific options take precedence."
        ),
    ] = "normal"
    candidates: Annotated[
        int | None,
        Option(
            "Translations of each line to choose from, with mbr or a reverse model. By default "
            f"{CANDIDATES}, or the beam if it is less.",
            at_least=1,
            at_most=_WIDEST,
        ),
    ] = None
    mbr: Annotated[
        Utility | None,
        Option(
            "Choose the candidate that the others agree with most, by chrF or BLEU (minimum Bayes risk). The "
            "candidates are the n best of a beam search, by their probabilities, or draws."
        ),
    ] = None
    reverse_weight: Annotated[
        float,
        Option("Weight of the reverse model's score; the model's own has the rest.", at_least=0, at_most=1),
    ] = 0.5

    def __post_init__(self) -> None:
        super().__post_init__()
        _ = self.attention_of  # raises ConfigError for anything else than a layer and a head
        self.how(Beam(size=max(Beam().size, self.searched)))  # raises ConfigError for contradictions
        if self.risk and self.attention is not None:
            raise ConfigError(
                "risk cannot be used with attention",
                hint="leave out attention: the risk needs one of its own",
            )

    def resolved(self, *, shortlist: bool) -> Decoding:
        """The options that `quality` implies. `shortlist`: whether the model has one."""
        if self.quality == "fast":
            beam = self.beam if self.beam is not None or self.sample is not None else self.searched
            return replace(self, quality="normal", beam=beam, shortlist=self.shortlist or shortlist)
        if self.quality == "best":
            return replace(self, quality="normal", mbr=self.mbr or "chrf")
        return self

    @property
    def protects(self) -> bool:
        """Whether placeholders are kept."""
        return self.attention is None and (self.split if self.protect is None else self.protect)

    @property
    def searched(self) -> int:
        """The number of translations that the search gives for each line."""
        return max(self.n_best, self.candidates or (self.choices if self.mbr else 1))

    @property
    def choices(self) -> int:
        """The number of candidates if none is given: at most the requested beam."""
        return min(CANDIDATES, self.beam or CANDIDATES)

    @classmethod
    def of(cls, decoding: Decoding | None, options: DecodingOptions) -> Decoding:
        """Return `decoding` with the `options` replaced, as for `translate(lines, decoding, beam=5)`.

        `temperature`, `top_k`, `top_p` and `seed` are fields of `sample`. Raises TypeError for another name.
        """
        given: dict[str, Any] = dict(options)
        known = [field.name for field in fields(cls)] + list(_DRAWS)
        for name in given.keys() - set(known):
            near = get_close_matches(name, known, n=1)
            what = f"did you mean {near[0]}?" if near else f"there are {', '.join(known)}"
            raise TypeError(f"unknown decoding options: {name}; {what}")
        decoding = decoding or cls()
        if draws := {name: given.pop(name) for name in _DRAWS if name in given}:
            given["sample"] = replace(given.get("sample") or decoding.sample or Sample(), **draws)
        return replace(decoding, **given)

    def how(self, default: Beam) -> Beam | Sample:
        """Return the search to run. `default` is the model folder's."""
        if self.sample is None:
            return self.beam_search(default)
        if (self.beam, self.length_penalty, self.normalization, self.stop) != (None,) * 4:
            raise ConfigError(
                "sampling cannot have options of a beam search",
                hint="leave out beam, length_penalty, normalization and stop, or sample",
            )
        if self.sample.n_best not in (1, self.searched) and self.searched != 1:
            raise ConfigError(
                f"sample.n_best = {self.sample.n_best}, but {self.searched} draws by the other options",
                hint="leave sample.n_best out; n_best and candidates say how many draws there are",
            )
        of_model = replace(self.sample, banned=default.banned, renormalize=default.renormalize)
        return replace(of_model, n_best=self.searched) if self.searched != 1 else of_model

    def beam_search(self, default: Beam) -> Beam:
        """Return the beam search to run without sampling. `default` is the model folder's."""
        return replace(
            default,
            size=max(default.size, self.searched) if self.beam is None else self.beam,
            length_penalty=default.length_penalty if self.length_penalty is None else self.length_penalty,
            normalization=default.normalization if self.normalization is None else self.normalization,
            n_best=self.searched,
            stop=default.stop if self.stop is None else self.stop,
        )

    @property
    def attention_of(self) -> AttentionOf | None:
        """The attention to return."""
        return None if self.attention is None else AttentionOf.of(self.attention)

    def rules(self, marks: int) -> tuple[Rule, ...]:
        """The rules that hold for every sentence, whose translation begins with so many marks."""
        rules: list[Rule] = []
        if self.minimum_length:
            rules.append(MinimumLength(self.minimum_length + marks))
        if self.no_repeat_ngram:
            rules.append(NoRepeatedNgram(self.no_repeat_ngram))
        return tuple(rules)


_DRAWS = ("temperature", "top_k", "top_p", "seed")


class DecodingOptions(TypedDict, total=False):
    """The fields of `Decoding` as keyword arguments, and those of its `sample`."""

    beam: int | None
    n_best: int
    length_penalty: float | None
    normalization: Normalization | None
    stop: Stop | None
    sample: Sample | None
    source: str | None
    to: str | None
    formality: Formality | None
    minimum_length: int
    no_repeat_ngram: int
    max_extra_tokens: int
    max_source_tokens: int
    batch_tokens: int
    attention: str | None
    alignment: bool
    split: bool
    protect: bool | None
    risk: bool
    shortlist: bool
    quality: Quality
    candidates: int | None
    mbr: Utility | None
    reverse_weight: float
    temperature: float
    top_k: int
    top_p: float
    seed: int


class ScoringOptions(TypedDict, total=False):
    """Those that all methods for given translations take."""

    source: str | None
    to: str | None
    batch_tokens: int
