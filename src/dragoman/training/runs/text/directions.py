"""The directions of a run whose texts are in several languages, and a vocabulary that is fair to them."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import chain, cycle, islice, zip_longest
from typing import TYPE_CHECKING, Any

from dragoman.base.errors import ConfigError
from dragoman.base.languages import canonical, closest, same
from dragoman.text.blank import is_blank
from dragoman.text.corpora.corpus import Corpus, chained
from dragoman.text.corpora.languages import Direction, first_known, is_language
from dragoman.text.corpora.reservoir import draw_sample
from dragoman.text.detection import clearly_other
from dragoman.training.runs.recipe import CorpusConfig, Recipe

if TYPE_CHECKING:
    from dragoman.training.runs.tuning.base import Base

SEVERAL = "mul"  # ISO 639-2: instead of one language
_EVENNESS = 5.0  # temperature of the languages in a vocabulary (NLLB team 2022, section 5.1.1)
_LINES = 1_000_000  # of a vocabulary, at most
_CHUNK, _CHUNKS = 20, 5  # lines of a text in which its language is looked for


def directions_of(one: CorpusConfig) -> list[Direction]:
    """The directions that a text is learnt in; its languages are known."""
    source, target = one.source_language or "", one.target_language or ""
    return [(source, target), (target, source)] if one.both else [(source, target)]


def directions_of_run(corpora: Iterable[CorpusConfig]) -> tuple[Direction, ...]:
    """All directions of a run of several, each once; nothing for a run of one."""
    found = tuple(dict.fromkeys(chain.from_iterable(map(directions_of, corpora))))
    return found if len(found) > 1 else ()


def with_languages(recipe: Recipe, corpora: Mapping[str, Corpus], *, several: bool = False) -> Recipe:
    """The recipe of a run of several directions with the languages of each text and those that need marks.

    A recipe of one direction is returned as it is, unless its model has `several`. Raises ConfigError for a
    text without a language, in other languages than it says, and for two names of one language.
    """
    texts = [corpora[one.name] for one in recipe.data.corpora]
    sides = [
        first_known((one.source_language, one.target_language), (text.source_language, text.target_language))
        for one, text in zip(recipe.data.corpora, texts, strict=True)
    ]
    # A text whose name does not say its language is in that of all others.
    known = [{*side} - {None} for side in zip(*sides, strict=True)]
    only = [side.pop() if len(side) == 1 else None for side in known]
    named = [
        replace(one, source_language=source or only[0], target_language=target or only[1])
        for one, (source, target) in zip(recipe.data.corpora, sides, strict=True)
    ]
    if not (several or directions_of_run(named)):
        return recipe
    for one in named:
        source, target = one.source_language or "", one.target_language or ""
        if not (is_language(source) and is_language(target)):
            raise ConfigError(
                f"data.corpora: {one.name}: the names do not say which languages these are",
                hint="set its source_language and target_language, or name its files train.en train.de",
            )
        if same(source, target):
            raise ConfigError(
                f"data.corpora: {one.name}: both sides are in {one.source_language}",
                hint="set its source_language and target_language",
            )
    directions = dict.fromkeys(direction for one in named for direction in directions_of(one))
    languages = list(dict.fromkeys(chain.from_iterable(directions)))
    for place, code in enumerate(languages):
        for other in languages[:place]:
            tags = {canonical(code), canonical(other)}  # zh-Hans and zh-Hant are two, and a model may have zh
            if same(code, other) and (
                len(tags) == 1 or (not several and any("-" not in tag for tag in tags))
            ):
                hint = "write it alike in all texts, or say each script or region, as in zh-Hans"
                raise ConfigError(f"data.corpora: {other} and {code} name one language", hint=hint)
    for one in named:
        _check_text(one, corpora[one.name], languages)
    targets = dict.fromkeys(target for _, target in directions)
    sources = dict.fromkeys(source for source, _ in directions)
    marked = [*(targets if len(targets) > 1 else ()), *(sources if recipe.tokenizer.source_mark else ())]
    tokenizer = recipe.tokenizer
    missing = [one for one in marked if tokenizer.languages and one not in tokenizer.languages]
    if missing and not several:
        raise ConfigError(
            f"tokenizer.languages has no {missing[0]}, which data.corpora has",
            hint="leave tokenizer.languages out",
        )
    if marked and not (several or tokenizer.languages):
        tokenizer = replace(tokenizer, languages=tuple(dict.fromkeys(marked)))
    data = replace(
        recipe.data,
        corpora=tuple(named),
        source_language=next(iter(sources)) if len(sources) == 1 else SEVERAL,
        target_language=next(iter(targets)) if len(targets) == 1 else SEVERAL,
    )
    return replace(recipe, data=data, tokenizer=tokenizer)


def written_as(recipe: Recipe, model: Base) -> Recipe:
    """The recipe with its languages as the model writes them. Raises ConfigError for one without a mark."""
    trained, tokenizer = model.config.directions, model.tokenizer
    known = {one for pair in trained for one in pair} | set(tokenizer.languages)
    targets = {target for _, target in trained}

    def written(code: str | None) -> str | None:
        return code and (closest(code, known) or code)

    corpora = tuple(
        replace(
            one, source_language=written(one.source_language), target_language=written(one.target_language)
        )
        for one in recipe.data.corpora
    )
    for source, target in chain.from_iterable(map(directions_of, corpora)):
        needed = [] if len(targets) == 1 and target in targets else [target]
        needed += [source] if tokenizer.config.source_mark else []
        if missing := [one for one in needed if one not in tokenizer.languages]:
            raise ConfigError(
                f"{model.name}: its vocabulary has no mark for {missing[0]}",
                hint=f"add the language first: dragoman model extend {model.name} --language {missing[0]}",
            )
    return replace(recipe, data=replace(recipe.data, corpora=corpora))


def validation_of(corpora: Iterable[CorpusConfig], opened: Mapping[str, Corpus]) -> dict[Direction, Corpus]:
    """The validation text of each direction. `opened` has that of each text that has some, by its name."""
    texts: dict[Direction, list[Corpus]] = {}
    for one in corpora:
        if one.name in opened:
            for number, direction in enumerate(directions_of(one)):
                text = opened[one.name]
                texts.setdefault(direction, []).append(swapped(text) if number else text)
    return {direction: chained(several) for direction, several in texts.items()}


def swapped(corpus: Corpus) -> Corpus:
    """The pairs of a corpus the other way round."""
    return Corpus(
        f"{corpus.name}, swapped",
        lambda: (line._replace(source=line.target, target=line.source) for line in corpus),
        (corpus.target_language, corpus.source_language),
        files=corpus.files,
    )


def shares(recipe: Recipe, sizes: Mapping[str, float]) -> dict[str, float]:
    """What to multiply the pairs of each text by, so that directions get the shares of `data.temperature`.

    `sizes` are the pairs of each text in an epoch without it. A direction of n pairs gets n^(1/T), scaled to
    the number of all pairs (Arivazhagan et al. 2019, section 4.2).
    """
    several = {name: directions_of(one) for name, one in recipe.data.corpora_by_name.items()}
    if recipe.data.temperature == 1 or not directions_of_run(recipe.data.corpora):
        return dict.fromkeys(sizes, 1.0)
    total: dict[Direction, float] = {}
    for name, size in sizes.items():
        for direction in several[name]:
            total[direction] = total.get(direction, 0.0) + size
    wanted = _tempered(total, recipe.data.temperature)
    # A text that is learnt in both directions has one number of pairs: the mean of what they ask for.
    return {
        name: sum(wanted[one] / total[one] for one in several[name]) / len(several[name]) for name in sizes
    }


def fair_pairs(
    corpora: Iterable[CorpusConfig], opened: Mapping[str, Corpus], *, shared: bool, seed: int
) -> Iterator[tuple[str, str]]:
    """Yield text to learn a vocabulary from, in which small languages have more than their share.

    With one vocabulary for both sides all text is on the left, else sources are on the left and targets on
    the right. They are not translations of each other.
    """
    sides: tuple[dict[str, list[Iterable[str]]], ...] = ({}, {})
    for one in corpora:
        text = opened[one.name]
        ways = ((line.source for line in text), (line.target for line in text))
        for number, language in enumerate((one.source_language or "", one.target_language or "")):
            side = sides[0] if shared else sides[number]
            side.setdefault(language, []).append(ways[number])
    left, right = (list(_fair(side, seed)) for side in sides)
    return zip_longest(left, right, fillvalue="")


def _fair(texts: Mapping[str, list[Iterable[str]]], seed: int) -> Iterator[str]:
    most = _LINES // max(len(texts), 1)
    drawn: dict[str, list[str]] = {}
    for language, some in texts.items():
        lines = (line.strip() for line in chain.from_iterable(some) if not is_blank(line))
        drawn[language] = draw_sample(lines, most, random.Random(f"{seed} {language}"))
    counts = {language: len(lines) for language, lines in drawn.items() if lines}
    for language, wanted in _tempered(counts, _EVENNESS).items():
        yield from islice(cycle(drawn[language]), round(wanted))


def _tempered(sizes: Mapping[Any, float], temperature: float) -> dict[Any, float]:
    """The sizes to the power 1 / temperature, scaled to the same sum."""
    powers = {name: size ** (1 / temperature) for name, size in sizes.items()}
    scale = sum(sizes.values()) / (sum(powers.values()) or 1)
    return {name: power * scale for name, power in powers.items()}


def _check_text(one: CorpusConfig, corpus: Corpus, languages: list[str]) -> None:
    """Raise ConfigError if the first lines of a text are clearly in another language of the run."""
    lines = list(islice(corpus, _CHUNK * _CHUNKS))
    for side, stated in (("source", one.source_language or ""), ("target", one.target_language or "")):
        texts = [getattr(line, side) for line in lines]
        chunks = [" ".join(texts[first : first + _CHUNK]) for first in range(0, len(texts), _CHUNK)]
        found = {clearly_other(chunk, stated) for chunk in chunks}
        other = found.pop() if len(found) == 1 else None
        if other is not None and any(same(other, code) for code in languages):
            raise ConfigError(
                f"data.corpora: {one.name}: its {side} language is {stated}, but the text is in {other}",
                hint="are its files swapped? or set its source_language and target_language",
            )
