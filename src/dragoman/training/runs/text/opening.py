"""Open the text of a run and resolve its recipe. Each can determine parts of the other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import cast

from dragoman.base.errors import ConfigError
from dragoman.text.corpora.corpus import Corpus, chained, open_sources
from dragoman.text.corpora.languages import Languages, first_known
from dragoman.text.corpora.lines import STDIN
from dragoman.text.corpora.shards import OF_PAIRS, kind_of
from dragoman.training.runs.recipe import Recipe, preset_for, resolve_options
from dragoman.training.runs.text.directions import (
    SEVERAL,
    directions_of_run,
    validation_of,
    with_languages,
    written_as,
)
from dragoman.training.runs.text.teachers import Teachers, open_teachers
from dragoman.training.runs.text.texts import (
    Data,
    RunRequest,
    Say,
    Texts,
    open_data,
    open_named,
    open_training,
    validating,
)
from dragoman.training.runs.tuning.options import TuningConfig
from dragoman.training.runs.tuning.texts import open_tuned_texts


def open_texts(request: RunRequest, say: Say) -> Texts:
    """Resolve the recipe and open the text of the request, or the files that the recipe names.

    The size of the text picks a preset if the request has neither preset nor recipe. Raises ConfigError for
    an invalid recipe, or one that does not fit the model to tune; DataError for text that cannot be read or
    is not in the languages of that model.
    """
    if request.base is not None:
        return open_tuned_texts(request, request.base, say)
    data, valid, preset, wanted = request.data, request.valid, request.preset, request.languages
    own = request.own
    corpora: dict[str, Corpus] = {}
    note = ""
    referenced = data is None or not _has_one_side(data)
    if data is not None and request.recipe is None and preset is None:
        training = _open_training(data, wanted)
        pairs = sum(1 for _ in training)
        recipe = resolve_options(own, own.get("preset") or preset_for(pairs))
        note = f"{pairs:,} pairs: preset {recipe.preset}"
    else:
        recipe = resolve_options(own, preset)
        if data is None and valid is None and recipe.data.valid:
            valid = request.find(recipe.data, recipe.data.valid)
        named = first_known(wanted, _languages(recipe))
        if data is None:
            training, corpora = open_training(recipe.data, request.data_root, named)
        else:
            training = _open_training(data, named)
            if valid is None and recipe.data.valid:
                note = "no validation text: the recipe's belongs to its own training text; see --valid"
    if data is not None and not referenced:
        _check_one_side(data, recipe)
    if note:
        say(note)
    if data is not None and recipe.data.corpora:
        raise ConfigError(
            "training text on the command line, and more in data.corpora",
            hint="name all of it in data.corpora",
        )
    if recipe.tuning != TuningConfig():
        raise ConfigError(
            "tuning options, but no model to tune", hint="name one with --from, or leave them out"
        )
    teachers = None
    if recipe.teacher.models:
        teachers = open_teachers(recipe.teacher, recipe.data, request.data_root)
        recipe = teachers.taught(recipe, own)
    if corpora:
        recipe = with_languages(recipe, corpora)
        if directions_of_run(recipe.data.corpora):
            if teachers is not None and recipe.teacher.needs_vocabulary:
                recipe = written_as(recipe, teachers.members[0])
            return _of_several(request, recipe, training, corpora, teachers)
    wanted = first_known(wanted, _languages(recipe))
    source, target = wanted
    for text in corpora.values() or [training]:
        source, target = first_known((source, target), (text.source_language, text.target_language))
    if teachers is not None:
        source, target = teachers.languages_for((source, target), training.name)
    if not source or not target:
        raise ConfigError(
            f"{training.name}: the names do not say which languages these are",
            hint="pass --source-language and --target-language, or name the files train.en train.de",
        )
    if source == target and wanted != (source, target):
        raise ConfigError(
            f"{training.name}: both sides are in {source} by their names",
            hint="name the source, then its translation; or pass --source-language and --target-language",
        )
    if valid is None and recipe.data.corpora:
        validated = open_named(recipe.data, request.data_root, (source, target), lambda one: one.valid)
        validation = chained([*validated.values()]) if validated else None
    else:
        validation = None if valid is None else open_data(valid, (source, target))
    return Texts(
        recipe=replace(recipe, data=replace(recipe.data, source_language=source, target_language=target)),
        training=training,
        **validating({} if validation is None else {(source, target): validation}),
        corpora=corpora,
        teachers=teachers,
        referenced=referenced,
    )


def _has_one_side(data: Data) -> bool:
    """Whether it is one plain file, which has only sources."""
    from dragoman.documents.context.catalogues import are_catalogues  # it has many parsers

    names = [str(item) for item in data if isinstance(item, str | Path)]
    if len(data) != 1 or len(names) != 1 or names[0] == STDIN:
        return False
    plain = kind_of(names[0]) not in OF_PAIRS and not are_catalogues(names)
    return plain and Path(names[0]).is_file()


def _open_training(data: Data, languages: Languages) -> Corpus:
    if _has_one_side(data):
        return open_sources(cast("Sequence[str | Path]", data)[0], languages=languages)
    return open_data(data, languages)


def _check_one_side(data: Data, recipe: Recipe) -> None:
    """Raise ConfigError unless teachers translate text that has only sources."""
    if not recipe.teacher.models:
        open_data(data, (None, None))  # raises the error that one file is not enough
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


def _languages(recipe: Recipe) -> Languages:
    """The languages that the recipe states, if they are not several."""
    source, target = recipe.data.source_language, recipe.data.target_language
    return None if source == SEVERAL else source, None if target == SEVERAL else target


def _of_several(
    request: RunRequest,
    recipe: Recipe,
    training: Corpus,
    corpora: dict[str, Corpus],
    teachers: Teachers | None,
) -> Texts:
    """The texts of a run of several directions."""
    if request.valid is not None or recipe.data.valid:
        raise ConfigError(
            "validation text of one direction, for a model of several",
            hint="name it with its text: valid = [...] in each [[data.corpora]]",
        )
    if teachers is not None:
        for one in recipe.data.corpora:
            if one.both and recipe.teacher.outputs != "none":
                raise ConfigError(
                    f"data.corpora: {one.name}: both = true, but teachers translate in one direction",
                    hint="name the text twice, the second time with its files the other way round",
                )
            teachers.languages_for((one.source_language, one.target_language), one.name)
    validated = open_named(recipe.data, request.data_root, (None, None), lambda one: one.valid)
    return Texts(
        recipe=recipe,
        training=training,
        **validating(validation_of(recipe.data.corpora, validated)),
        corpora=corpora,
        teachers=teachers,
    )
