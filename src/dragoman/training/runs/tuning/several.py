"""The texts of a run that tunes a model of several languages.

Each text has its direction. Old pairs are named beside the new ones, so that the model keeps them.
"""

from __future__ import annotations

from dataclasses import replace

from dragoman.base.errors import ConfigError
from dragoman.base.tables import count
from dragoman.text.corpora.corpus import chained
from dragoman.text.corpora.languages import first_known
from dragoman.training.runs.recipe import CorpusConfig, Recipe
from dragoman.training.runs.text.directions import directions_of, validation_of, with_languages, written_as
from dragoman.training.runs.text.texts import RunRequest, Say, Texts, open_data, open_named, validating
from dragoman.training.runs.tuning.base import Base
from dragoman.training.runs.tuning.held_out import count_and_draw, count_and_hold_out, kept_pairs, without
from dragoman.training.runs.tuning.recipe import tuned_recipe

_MEMORY = "memory"  # the name of text on the command line


def open_tuned_directions(request: RunRequest, base: Base, wanted: Recipe, say: Say) -> Texts:
    """Resolve the recipe for the base and the texts, and open them. `wanted` has the options of the user.

    Raises ConfigError for options and languages that do not fit the base, DataError for text that cannot be
    read.
    """
    own, data, tuning, seed = request.own, wanted.data, wanted.tuning, wanted.seed
    replays = tuning.replay or tuning.replay_from not in ("auto", "none")
    if replays or request.replay is not None or request.general is not None:
        raise ConfigError(
            f"--replay, --general or tuning.replay with {base.name}, a model of several languages",
            hint="name old pairs beside the new ones in [[data.corpora]], with a weight and valid files",
        )
    if request.data is not None or data.train:
        files = request.data if request.data is not None else request.find(data, data.train)
        named = request.valid
        if named is None and data.valid:
            named = request.find(data, data.valid)
        stated = [None if one == "mul" else one for one in (data.source_language, data.target_language)]
        languages = first_known(request.languages, (stated[0], stated[1]))
        corpora = {_MEMORY: (memory := open_data(files, languages))}
        source, target = first_known(languages, (memory.source_language, memory.target_language))
        if source is None or target is None:
            raise ConfigError(
                f"{memory.name}: the names do not say which languages these are",
                hint="pass --source-language and --target-language",
            )
        given = CorpusConfig(name=_MEMORY, train=("given",), source_language=source, target_language=target)
        data = replace(data, train=(), valid=(), corpora=(given,))
        validated = {} if named is None else {_MEMORY: open_data(named, languages)}
    elif data.corpora:
        corpora = open_named(data, request.data_root, (None, None), lambda one: one.train)
        validated = open_named(data, request.data_root, (None, None), lambda one: one.valid)
    else:
        raise ConfigError(
            "no text to tune on", hint="name a .tmx or .tsv file, two text files, or data.corpora"
        )
    held = {
        name: count_and_hold_out(text, tuning.held_out, seed=seed).sample
        for name, text in corpora.items()
        if name not in validated
    }
    ways = {name: (text.source_language, text.target_language) for name, text in corpora.items()}
    for name, text in corpora.items():
        # Another text of these languages may have the same pairs.
        apart = [pair for other in held if ways[other] == ways[name] for pair in held[other]]
        apart += [(b, a) for other in held if ways[other] == ways[name][::-1] for a, b in held[other]]
        corpora[name], lost = without(text, apart, alike=tuning.alike)
        drawn = held.get(name, ())
        if name in held or lost:
            more = f"{lost - len(drawn):,} more leave training because they are like one"
            say(f"{text.name}: {count(len(drawn), 'pair')} held out; {more}")
        if drawn:
            validated[name] = kept_pairs(f"held out of {text.name}", [*drawn])
    validated = {name: text for name, text in validated.items() if any(True for _ in text)}
    counted = [count_and_draw(corpora[one.name], most=0, seed=seed) for one in data.corpora]
    # An epoch has each pair as often as its weight says, and in both directions if its text is learnt so.
    times = [one.weight * len(directions_of(one)) for one in data.corpora]
    own = {**own, "tuning": {**own.get("tuning", {}), "replay": 0.0, "replay_from": "none"}}
    pairs, letters = (
        round(sum(each * size for each, size in zip(times, sizes, strict=True)))
        for sizes in zip(*((one.pairs, one.letters) for one in counted), strict=True)
    )
    recipe = tuned_recipe(base, own, pairs=pairs, letters=letters)
    recipe = replace(recipe, data=replace(recipe.data, train=(), valid=(), corpora=data.corpora))
    recipe = with_languages(recipe, corpora, several=True)
    recipe = written_as(recipe, base)
    directions = dict.fromkeys(each for one in recipe.data.corpora for each in directions_of(one))
    known = set(base.config.directions)
    if recipe.tuning.interpolate == "auto" and known and not directions.keys() <= known:
        # The mean with a base that does not know a language would forget it.
        recipe = replace(recipe, tuning=replace(recipe.tuning, interpolate=1.0))
    names = ", ".join(map("-".join, directions))
    say(f"{count(pairs, 'pair')} in an epoch to tune {base.name} on, in {names}")
    return Texts(
        recipe=recipe,
        training=chained([*corpora.values()]),
        **validating(validation_of(recipe.data.corpora, validated)),
        corpora=corpora,
    )
