"""The request for a run, and its text: one object each, and how files become a corpus."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, TypedDict, cast

from dragoman.base.errors import ConfigError
from dragoman.text.blank import is_blank
from dragoman.text.corpora.corpus import Corpus, chained, open_pairs
from dragoman.text.corpora.languages import Direction, Languages, first_known
from dragoman.training.runs.recipe import CorpusConfig, DataConfig, Recipe, find_data, set_options
from dragoman.training.runs.text.teachers import Teachers
from dragoman.training.runs.tuning.base import Base

Pairs = tuple[tuple[str, str], ...]
Data = Sequence[str | Path] | Sequence[tuple[str, str]]
Say = Callable[[str], None]


@dataclass(frozen=True, kw_only=True)
class RunRequest:
    """The text, the model to tune, if any, and the options that a user names.

    `options` are tables of options, such as {"training": {"max_updates": 2}}. They change the ones of
    `recipe`, and `overrides` change both.
    """

    data: Data | None = None
    valid: Data | None = None
    base: Base | None = None  # the model to tune
    replay: Data | None = None  # general text to train on, in tuning
    general: Data | None = None  # general text to measure with, in tuning
    preset: str | None = None
    recipe: Path | Recipe | None = None
    options: Mapping[str, Any] = field(default_factory=dict)
    overrides: Sequence[str] = ()
    languages: Languages = (None, None)
    data_root: Path | None = None  # of the files that the recipe names

    @cached_property
    def own(self) -> dict[str, Any]:
        """The options that the user has set. Raises ConfigError.

        Also if one names text besides `data` or `valid`, which would go unused.
        """
        named = set_options(None, self.overrides, self.options).get("data")
        if isinstance(named, Mapping):  # or else it is reported when the recipe is made
            for option, where in (("train", "as the first two words"), ("valid", "with --valid")):
                given = self.data is not None or (option == "valid" and self.valid is not None)
                if named.get(option) and given:
                    raise ConfigError(
                        f"data.{option} together with text on the command line",
                        hint=f"name this text {where}, or all text in data.train and data.valid",
                    )
        return set_options(self.recipe, self.overrides, self.options)

    def find(self, data: DataConfig, names: Sequence[str]) -> list[Path]:
        """Return the paths of files that the recipe names. Raises ConfigError."""
        return find_data(data, self.data_root, names)


@dataclass(frozen=True, kw_only=True)
class Texts:
    """A recipe with its languages, and its text."""

    recipe: Recipe
    training: Corpus
    validation: Mapping[Direction, Corpus]  # by direction; nothing without
    # Pairs with two sides, to translate and score. They are read first, so that an error in the validation
    # text shows before the work on the training text.
    validation_pairs: Mapping[Direction, Pairs]
    replay: Corpus | None = None  # in tuning, general text to train on
    general: Corpus | None = None  # in tuning, general text to measure with
    corpora: Mapping[str, Corpus] = field(
        default_factory=dict
    )  # the parts of `training`, if they have weights
    teachers: Teachers | None = None
    referenced: bool = True  # whether `training` has targets, not only sources for teachers


def open_training(
    data: DataConfig, data_root: Path | None, languages: Languages = (None, None)
) -> tuple[Corpus, dict[str, Corpus]]:
    """Open the training text that a recipe names; if it is several texts with weights, also each by name.

    Raises ConfigError if it names none.
    """
    if data.corpora:
        corpora = open_named(data, data_root, languages, lambda one: one.train)
        return chained([*corpora.values()]), corpora
    if not data.train:
        raise ConfigError("no training text", hint="name two files, or a recipe that names them")
    return open_data(find_data(data, data_root, data.train), languages), {}


def open_named(
    data: DataConfig,
    data_root: Path | None,
    languages: Languages,
    files: Callable[[CorpusConfig], Sequence[str]],
) -> dict[str, Corpus]:
    """Open these files of each of several texts that has some, by its name. Raises ConfigError."""
    return {
        one.name: open_data(
            find_data(data, data_root, names),
            first_known((one.source_language, one.target_language), languages),
        )
        for one in data.corpora
        if (names := files(one))
    }


def open_data(data: Data, languages: Languages) -> Corpus:
    """Open files, catalogues such as PO, or pairs of strings. Raises the errors of their functions."""
    from dragoman.documents.context.catalogues import open_parallel  # it has many parsers

    if all(isinstance(item, str | Path) for item in data):
        return open_parallel(cast(Sequence[str | Path], data), languages=languages)
    return open_pairs(cast(Sequence[tuple[str, str]], data))


def two_sided(corpus: Corpus) -> tuple[tuple[str, str], ...]:
    """Return the pairs of a corpus that have two sides."""
    return tuple(
        (line.source, line.target) for line in corpus if not (is_blank(line.source) or is_blank(line.target))
    )


class Validating(TypedDict):
    """The validation text of `Texts`."""

    validation: Mapping[Direction, Corpus]
    validation_pairs: Mapping[Direction, Pairs]


def validating(texts: Mapping[Direction, Corpus]) -> Validating:
    """Read the pairs of the validation text."""
    return {
        "validation": texts,
        "validation_pairs": {direction: two_sided(text) for direction, text in texts.items()},
    }
