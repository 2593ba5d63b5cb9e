"""Resolve the recipe of a run and open its text. Each can determine parts of the other."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import cast

from dragoman.base.errors import ConfigError
from dragoman.runs.recipe import DataConfig, Recipe, find_data, resolve, set_options
from dragoman.runs.teachers import Teachers, open_teachers
from dragoman.runs.tuning import TuningConfig
from dragoman.text.corpus import Corpus, chained, open_corpus, open_pairs, open_sources
from dragoman.text.languages import Languages, first_known
from dragoman.text.lines import STDIN
from dragoman.text.shards import OF_PAIRS, kind_of

Data = Sequence[str | Path] | Sequence[tuple[str, str]]
Say = Callable[[str], None]


@dataclass(frozen=True, kw_only=True)
class Texts:
    """A recipe with its languages, and its text."""

    recipe: Recipe
    training: Corpus
    validation: Corpus | None
    # Pairs with two sides, to translate and score. They are read first, so that an error in the validation
    # text shows before the work on the training text.
    validation_pairs: tuple[tuple[str, str], ...] | None
    replay: Corpus | None = None  # in tuning, general text to train on
    general: Corpus | None = None  # in tuning, general text to measure with
    corpora: Mapping[str, Corpus] = field(
        default_factory=dict
    )  # the parts of `training`, if they have weights
    teachers: Teachers | None = None
    referenced: bool = True  # whether `training` has targets, not only sources for teachers


def open_texts(
    data: Data | None,
    valid: Data | None,
    *,
    preset: str | None,
    recipe: Path | None,
    overrides: Iterable[str],
    languages: Languages,
    data_root: Path | None,
    say: Say,
) -> Texts:
    """Resolve the recipe and open the text: `data` and `valid`, or the files that the recipe names.

    The size of `data` picks a preset if neither `preset` nor `recipe` is given. Raises ConfigError for an
    invalid recipe or one for tuning, DataError for text that cannot be read.
    """
    check_named_once(data, valid, overrides)
    corpora: dict[str, Corpus] = {}
    referenced = data is None or not _has_one_side(data)
    if data is not None and recipe is None and preset is None:
        training = _open_training(data, languages)
        pairs = sum(1 for _ in training)
        resolved = resolve(overrides=overrides, pairs=pairs)
        if not referenced:
            _check_one_side(data, resolved)
        say(f"{pairs:,} pairs: preset {resolved.preset}")
    else:
        resolved = resolve(preset=preset, recipe=recipe, overrides=overrides)
        if data is None and valid is None and resolved.data.valid:
            valid = find_data(resolved.data, data_root, resolved.data.valid)
        wanted = first_known(languages, _languages(resolved))
        if data is None:
            training, corpora = open_training(resolved.data, data_root, wanted)
        else:
            training = _open_training(data, wanted)
            if not referenced:
                _check_one_side(data, resolved)
            if valid is None and resolved.data.valid:
                say("no validation text: the recipe's belongs to its own training text; see --valid")
    if data is not None and resolved.data.corpora:
        raise ConfigError(
            "training text on the command line, and more in data.corpora",
            hint="name all of it in data.corpora",
        )
    if resolved.tuning != TuningConfig():
        raise ConfigError(
            "tuning options, but no model to tune", hint="name one with --from, or leave them out"
        )
    teachers = None
    if resolved.teacher.models:
        teachers = open_teachers(resolved.teacher, resolved.data, data_root)
        resolved = teachers.taught(resolved, set_options(recipe, overrides))
    languages = first_known(languages, _languages(resolved))
    source, target = first_known(languages, _spoken(corpora or {"": training}))
    if teachers is not None:
        teachers.check_languages((source, target), training.name)
        source, target = source or teachers.languages[0], target or teachers.languages[1]
    if not source or not target:
        raise ConfigError(
            f"{training.name}: the names do not say which languages these are",
            hint="pass --source-language and --target-language, or name the files train.en train.de",
        )
    if source == target and languages != (source, target):
        raise ConfigError(
            f"{training.name}: both sides are in {source} by their names",
            hint="name the source, then its translation; or pass --source-language and --target-language",
        )
    validation = None if valid is None else open_data(valid, (source, target))
    return Texts(
        recipe=replace(resolved, data=replace(resolved.data, source_language=source, target_language=target)),
        training=training,
        validation=validation,
        validation_pairs=None if validation is None else two_sided(validation),
        corpora=corpora,
        teachers=teachers,
        referenced=referenced,
    )


def check_named_once(data: Data | None, valid: Data | None, overrides: Iterable[str]) -> None:
    """Raise ConfigError if options name text beside `data` or `valid`, which would go unused."""
    named = set_options(None, overrides).get("data")
    if not isinstance(named, Mapping):
        return  # which `resolve` reports
    for option, where in (("train", "as the first two words"), ("valid", "with --valid")):
        if named.get(option) and (data is not None or (option == "valid" and valid is not None)):
            raise ConfigError(
                f"data.{option} beside text on the command line",
                hint=f"name this text {where}, or all text in data.train and data.valid",
            )


def _has_one_side(data: Data) -> bool:
    """Whether it is one plain file, which has only sources."""
    names = [str(item) for item in data if isinstance(item, str | Path)]
    if len(data) != 1 or len(names) != 1 or names[0] == STDIN:
        return False
    return kind_of(names[0]) not in OF_PAIRS and Path(names[0]).is_file()


def _open_training(data: Data, languages: Languages) -> Corpus:
    if _has_one_side(data):
        return open_sources(cast("Sequence[str | Path]", data)[0], languages=languages)
    return open_data(data, languages)


def _check_one_side(data: Data, recipe: Recipe) -> None:
    """Raise ConfigError unless teachers translate text that has only sources."""
    if not recipe.teacher.models:
        open_data(data, (None, None))  # says that one file is not enough
    for name, value in (
        ("reference_weight", recipe.teacher.reference_weight),
        ("words", recipe.teacher.words),
    ):
        if value:
            raise ConfigError(
                f"{data[0]}: has only sources, but teacher.{name} = {value:g} needs their translations",
                hint=f"set teacher.{name}=0 to learn from the teachers' translations alone, or name the "
                "file of the translations, too",
            )
    if recipe.teacher.outputs == "nearest":
        raise ConfigError(
            f'{data[0]}: has only sources, but teacher.outputs = "nearest" compares with their translations',
            hint='set teacher.outputs="best", or name the file of the translations, too',
        )


def open_training(
    data: DataConfig, data_root: Path | None, languages: Languages = (None, None)
) -> tuple[Corpus, dict[str, Corpus]]:
    """Open the training text that a recipe names; if it is several texts with weights, also each by name.

    Raises ConfigError if it names none, or if its texts are in different languages.
    """
    if data.corpora:
        corpora = {
            one.name: open_data(find_data(data, data_root, one.train), languages) for one in data.corpora
        }
        _spoken(corpora)
        return chained([*corpora.values()]), corpora
    if not data.train:
        raise ConfigError("no training text", hint="name two files, or a recipe that names them")
    return open_data(find_data(data, data_root, data.train), languages), {}


def _spoken(corpora: Mapping[str, Corpus]) -> Languages:
    """Return the languages of texts as far as one of them says. Raises ConfigError if two differ."""
    sides = {
        "source": {name: corpus.source_language for name, corpus in corpora.items()},
        "target": {name: corpus.target_language for name, corpus in corpora.items()},
    }
    for side, languages in sides.items():
        known = [(name, language) for name, language in languages.items() if language]
        for name, language in known:
            first, expected = known[0]
            if language != expected:
                raise ConfigError(
                    f"data.corpora: the {side} language of {name} is {language}, "
                    f"but that of {first} is {expected}",
                    hint="swap its files, or set data.source_language and data.target_language",
                )
    source, target = (next(filter(None, languages.values()), None) for languages in sides.values())
    return source, target


def open_data(data: Data, languages: Languages) -> Corpus:
    """Open files or pairs of strings. Raises what `open_corpus` and `open_pairs` raise."""
    if all(isinstance(item, str | Path) for item in data):
        return open_corpus(cast(Sequence[str | Path], data), languages=languages)
    return open_pairs(cast(Sequence[tuple[str, str]], data))


def _languages(recipe: Recipe) -> Languages:
    return recipe.data.source_language, recipe.data.target_language


def two_sided(corpus: Corpus) -> tuple[tuple[str, str], ...]:
    """Return the pairs of a corpus that have two sides."""
    return tuple((line.source, line.target) for line in corpus if line.source.strip() and line.target.strip())
