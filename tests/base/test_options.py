"""Options: what their annotations say is what is checked, and how it is put into words."""

from __future__ import annotations

import math
from dataclasses import MISSING, dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any, Literal, get_args

import pytest

from dragoman.base.config import from_table
from dragoman.base.errors import ConfigError
from dragoman.base.options import Option, Options, entries
from dragoman.models.shapes import Architecture
from dragoman.pipeline.graph import PipelineStep
from dragoman.text.corpora.filter import FilterConfig
from dragoman.text.tokenizers.tokenizer import TokenizerConfig
from dragoman.training.distillation.options import TeacherConfig
from dragoman.training.options import TrainingConfig
from dragoman.training.runs.recipe import CorpusConfig, DataConfig, Recipe
from dragoman.training.runs.tuning.options import TuningConfig
from dragoman.translation.search.options import Beam, Decoding, Sample


@dataclass(frozen=True, kw_only=True)
class Sampling(Options, section="sampling"):
    temperature: Annotated[float, Option("Divides the logits.", above=0)] = 1.0


@dataclass(frozen=True, kw_only=True)
class Search(Options, section="search"):
    size: Annotated[int, Option("Width of the beam.", at_least=1, at_most=1000)] = 4
    n_best: int = 1
    penalty: Annotated[float, Option("Favours longer translations.", at_least=0, below=2)] = 0.6
    ratio: Annotated[float, Option("Greatest ratio.", at_least=1, infinite=True)] = 9.0
    weights: Annotated[tuple[float, ...], Option("One for each model.", above=0)] = ()
    limit: Annotated[int | None, Option("Tokens.", at_least=1)] = None
    kind: Annotated[Literal["beam", False], Option("How to search.")] = "beam"
    verbose: bool = False
    file: Path | None = None
    sampling: Sampling = Sampling()
    steps: int = field(default=0, init=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.n_best > self.size:
            raise ConfigError(f"search.n_best = {self.n_best}", hint="n_best <= size is needed")


REFUSED: list[tuple[dict[str, Any], str, str]] = [
    ({"size": 0}, "size = 0", "a whole number, from 1 to 1,000"),
    ({"size": 1001}, "size = 1001", "a whole number, from 1 to 1,000"),
    ({"size": True}, "size = true", "a whole number, from 1 to 1,000"),
    ({"size": 2.0}, "size = 2.0", "a whole number, from 1 to 1,000"),
    ({"size": None}, "size = (not set)", "a whole number, from 1 to 1,000"),
    ({"n_best": "2"}, 'n_best = "2"', "a whole number"),
    ({"penalty": -0.1}, "penalty = -0.1", "a number, at least 0 and below 2"),
    ({"penalty": 2}, "penalty = 2", "a number, at least 0 and below 2"),
    ({"penalty": math.nan}, "penalty = nan", "a number, at least 0 and below 2, and finite"),
    ({"ratio": math.nan}, "ratio = nan", "a number, at least 1, and finite"),
    ({"ratio": -math.inf}, "ratio = -inf", "a number, at least 1, and finite"),
    ({"weights": [1.0, 0.0]}, "weights = [1.0, 0.0]", "a list [...] of numbers, each above 0"),
    ({"weights": [math.inf]}, "weights = [inf]", "a list [...] of numbers, each above 0"),
    ({"weights": 1.0}, "weights = 1.0", "a list [...] of numbers, each above 0"),
    ({"limit": 0}, "limit = 0", "a whole number, at least 1, or left out"),
    ({"kind": "greedy"}, 'kind = "greedy"', "one of: beam, false"),
    ({"kind": 0}, "kind = 0", "one of: beam, false"),
    ({"verbose": 1}, "verbose = 1", "true or false"),
    ({"file": 1}, "file = 1", "a path in quotes, or left out"),
]


@pytest.mark.parametrize(("options", "message", "needed"), REFUSED, ids=lambda value: str(value))
def test_a_value_is_refused_alike_in_python_and_from_a_table(
    options: dict[str, Any], message: str, needed: str
) -> None:
    with pytest.raises(ConfigError) as built:
        Search(**options)
    with pytest.raises(ConfigError) as read:
        from_table(Search, options, "generation")

    hint = f"it must be {needed}"
    assert (str(built.value), built.value.hint) == (f"search.{message} cannot be used", hint)
    assert (str(read.value), read.value.hint) == (f"generation.{message} cannot be used", hint)


@pytest.mark.parametrize(
    "options",
    [
        {"size": 1},
        {"size": 1000},
        {"penalty": 0.0},
        {"penalty": 1.999},
        {"ratio": math.inf},
        {"weights": (0.1, 1e308)},
        {"limit": None},
        {"kind": False},
    ],
    ids=str,
)
def test_values_within_bounds_are_kept(options: dict[str, Any]) -> None:
    config = Search(**options)

    assert [getattr(config, name) for name in options] == list(options.values())


def test_a_configuration_made_in_python_equals_the_one_from_a_table() -> None:
    table: dict[str, Any] = {"weights": [1, 2.5], "penalty": 1, "file": "a/b"}

    config = Search(**table)

    assert config == from_table(Search, table)
    assert (config.weights, config.penalty, config.file) == ((1.0, 2.5), 1.0, Path("a/b"))
    assert type(config.penalty) is float
    assert hash(config) == hash(from_table(Search, table))


def test_a_changed_copy_is_checked_too() -> None:
    with pytest.raises(ConfigError, match=r"search\.size = 0"):
        replace(Search(), size=0)
    with pytest.raises(ConfigError, match=r"search\.n_best = 5"):
        replace(Search(), n_best=5)


def test_a_section_takes_its_own_dataclass_only() -> None:
    assert Search(sampling=Sampling(temperature=2)).sampling.temperature == 2
    with pytest.raises(ConfigError, match=r"search\.sampling is a section, not the value 8"):
        Search(sampling=8)  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match=r"search\.sampling\.temperature = 0"):
        from_table(Search, {"sampling": {"temperature": 0}}, "search")


def test_a_subclass_keeps_the_section_unless_it_names_another() -> None:
    @dataclass(frozen=True, kw_only=True)
    class Wide(Sampling):
        pass

    @dataclass(frozen=True, kw_only=True)
    class Other(Sampling, section="other"):
        pass

    with pytest.raises(ConfigError, match=r"^sampling\.temperature"):
        Wide(temperature=0)
    with pytest.raises(ConfigError, match=r"^other\.temperature"):
        Other(temperature=0)


def test_entries_say_what_is_known_of_each_option() -> None:
    @dataclass(frozen=True, kw_only=True)
    class Bare(Options):
        size: int
        names: list[str] = field(default_factory=list)

    known = entries(Search)

    assert "steps" not in known
    assert known["size"].option.description == "Width of the beam."
    assert (known["size"].default, known["limit"].default) == (4, None)
    assert (known["n_best"].option.description, known["n_best"].needed) == ("", "a whole number")
    assert entries(Bare)["size"].default is MISSING
    assert entries(Bare)["names"].default == []


@pytest.mark.parametrize(
    ("option", "words"),
    [
        (Option(), ""),
        (Option(at_least=1), "at least 1"),
        (Option(above=0), "above 0"),
        (Option(at_most=0.5), "at most 0.5"),
        (Option(at_least=0.98, at_most=1), "from 0.98 to 1"),
        (Option(above=0, at_most=1), "above 0 and at most 1"),
        (Option(at_least=0, below=1), "at least 0 and below 1"),
        (Option(at_most=2**63 - 1), "at most 9,223,372,036,854,775,807"),
    ],
)
def test_bounds_in_words(option: Option, words: str) -> None:
    assert option.bounds == words


def test_a_whole_number_may_be_larger_than_any_float() -> None:
    assert Option(above=0).allows(10**400)


@pytest.mark.parametrize(
    "kind",
    [
        *(Recipe, DataConfig, CorpusConfig, FilterConfig, TokenizerConfig, TrainingConfig, TuningConfig),
        *(TeacherConfig, *get_args(Architecture), Beam, Sample, Decoding, PipelineStep),
    ],
)
def test_every_default_fits_as_it_is(kind: type) -> None:
    """So that it need not be checked when an object is made."""
    for name, entry in entries(kind).items():
        if entry.default is not MISSING:
            found = entry.check(entry.default, name)
            assert (type(found), found) == (type(entry.default), entry.default)
