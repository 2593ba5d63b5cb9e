"""The options of distillation: the teachers, and what the student learns from them."""

from __future__ import annotations

import json
from dataclasses import dataclass, fields
from typing import Annotated, Literal

from dragoman.base.errors import ConfigError
from dragoman.base.options import Option, Options
from dragoman.translation.search.options import Average, DType

Outputs = Literal["best", "nearest", "all", "none"]


@dataclass(frozen=True, kw_only=True)
class TeacherConfig(Options, section="teacher"):
    """Distillation (Kim and Rush 2016): a new model learns from the teachers in `models`."""

    models: Annotated[
        tuple[str, ...],
        Option(
            "The teachers, one model or an ensemble of several: folders or archives, also below "
            "--data, or models of Marian or Hugging Face. `dragoman distil` takes them as arguments."
        ),
    ] = ()
    digests: Annotated[
        tuple[str, ...], Option("Digests of their weights. A run records them; if set, they are checked.")
    ] = ()
    average: Annotated[Average, Option("How several teachers average their distributions at each step.")] = (
        "log-probabilities"
    )
    outputs: Annotated[
        Outputs,
        Option(
            "Which of their translations of the training text to train on (section 3.2). best: the best of "
            "the beam; nearest: of n_best, the one with the highest BLEU against the reference (section "
            "3.3); all: each of n_best; none: no translations, for words alone."
        ),
    ] = "best"
    beam: Annotated[
        int, Option("Width of the teachers' beam; 1 is greedy search.", at_least=1, at_most=1000)
    ] = 5
    dtype: Annotated[
        DType,
        Option(
            "Number type of the teachers when they translate, like --dtype of `dragoman translate`. bfloat16 "
            "and int8 save time. Distributions for `words` are always computed in float32."
        ),
    ] = "auto"
    n_best: Annotated[
        int | None,
        Option("Translations of each line for nearest and all. Left out, as many as the beam.", at_least=1),
    ] = None
    outputs_weight: Annotated[
        float,
        Option(
            'How often an epoch has each pair of a source and its translation. outputs = "none" leaves them '
            "out.",
            above=0,
        ),
    ] = 1.0
    reference_weight: Annotated[
        float,
        Option(
            "How often an epoch has each pair of the training text itself; 0 leaves it out, and text that "
            "has only sources requires 0.",
            at_least=0,
        ),
    ] = 1.0
    words: Annotated[
        float,
        Option(
            "Share of the teachers' distribution over the vocabulary in the loss of each target token "
            "(section 3.1). 0 trains on the tokens alone. Above 0 the student has the vocabulary of the "
            "teachers.",
            at_least=0,
            at_most=1,
        ),
    ] = 0.0
    top_k: Annotated[
        int,
        Option(
            "Tokens of that distribution that are kept on disk for each target token; the rest of the "
            "probability is spread over the vocabulary.",
            at_least=1,
            at_most=1024,
        ),
    ] = 8
    temperature: Annotated[
        float,
        Option("Divides the teachers' logits for `words`; above 1 evens out the distribution.", above=0),
    ] = 1.0

    start: Annotated[
        bool,
        Option(
            "Start from the weights of the first teacher, where the student has one of the same name and "
            "shape. It then has the vocabulary of the teachers."
        ),
    ] = False

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.models:
            if any(getattr(self, one.name) != one.default for one in fields(self)):
                raise ConfigError(
                    "options of [teacher], but no teachers",
                    hint="name them: dragoman distil MODEL TEXT..., or set teacher.models",
                )
            return
        if self.digests and len(self.digests) != len(self.models):
            raise ConfigError(
                f"teacher.digests: {len(self.digests)} for {len(self.models)} teachers",
                hint="leave teacher.digests out; the run notes them",
            )
        if self.outputs == "none" and not self.needs_vocabulary:
            raise ConfigError(
                'teacher.outputs = "none" and teacher.words = 0 learn nothing from the teachers',
                hint="set teacher.words=0.5 or teacher.start=true, or another kind of outputs",
            )
        if self.outputs == "none" and not self.reference_weight:
            raise ConfigError(
                'teacher.outputs = "none" and teacher.reference_weight = 0 leave no text to train on',
                hint="change one of them",
            )
        self._check_used()
        if self.searched > self.beam:
            raise ConfigError(
                f"teacher.n_best = {self.n_best} cannot come from a beam of {self.beam}",
                hint=f"set teacher.beam={self.n_best}",
            )

    def _check_used(self) -> None:
        """Raise ConfigError for an option that would change nothing."""
        outputs, one = f'teacher.outputs = "{self.outputs}"', "there is one teacher"
        none = outputs if self.outputs == "none" else ""
        idle = {
            "average": one if len(self.models) == 1 else "",
            "beam": none,
            "dtype": none,
            "n_best": outputs if self.outputs in ("best", "none") else "",
            "outputs_weight": none,
            "top_k": "" if self.words else "teacher.words = 0",
            "temperature": "" if self.words else "teacher.words = 0",
        }
        for option in fields(self):
            value = getattr(self, option.name)
            if value != option.default and (reason := idle.get(option.name)):
                raise ConfigError(
                    f"teacher.{option.name} = {json.dumps(value)}, but {reason}: it would change nothing",
                    hint=f"leave teacher.{option.name} out",
                )

    @property
    def needs_vocabulary(self) -> str:
        """The option that needs the vocabulary of the teachers; empty without."""
        return f"teacher.words = {self.words:g}" if self.words else "teacher.start" if self.start else ""

    @property
    def searched(self) -> int:
        """The number of translations that the search returns for each line."""
        return 1 if self.outputs in ("best", "none") else self.n_best or self.beam

    def weights(self, corpora: dict[str, float]) -> dict[str, float]:
        """How often an epoch has each pair of each tokenised text, by its name.

        `corpora` are the names and weights of the texts; a single one is called "reference".
        """
        texts = {name: self.reference_weight * weight for name, weight in corpora.items()}
        made = {outputs_of(name): self.outputs_weight * weight for name, weight in corpora.items()}
        both = texts | ({} if self.outputs == "none" else made)
        return {name: weight for name, weight in both.items() if weight}


REFERENCE = "reference"  # the name of a single training text next to the teachers' translations


def outputs_of(name: str) -> str:
    """The name of the teachers' translations of the text of that name. No text of a recipe has a dot."""
    return f"{name}.outputs"
