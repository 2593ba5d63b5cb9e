"""The text of a tuning run: the memory, held-out pairs, general text, and the recipe they lead to."""

from __future__ import annotations

import json
import random
from bisect import bisect_right
from dataclasses import dataclass, replace
from itertools import accumulate
from pathlib import Path

from dragoman.base.config import from_table
from dragoman.base.errors import ConfigError, DataError
from dragoman.base.languages import closest
from dragoman.base.tables import count
from dragoman.text.blank import is_blank
from dragoman.text.corpora.compressed import without_suffix
from dragoman.text.corpora.corpus import Corpus
from dragoman.text.corpora.languages import Languages, of_pair, of_side
from dragoman.text.corpora.reservoir import draw_sample
from dragoman.text.tokenizers.tokenizer import Tokenizer
from dragoman.training.checkpoints.paths import Part
from dragoman.training.data.tokenised import TokenisedCorpus
from dragoman.training.runs.recipe import Recipe, merge_tables
from dragoman.training.runs.text.texts import Data, RunRequest, Say, Texts, open_data, two_sided
from dragoman.training.runs.tuning.base import Base
from dragoman.training.runs.tuning.held_out import (
    MOST,
    Pair,
    count_and_draw,
    count_and_hold_out,
    kept_pairs,
    pairs_to_hold_out,
    without,
)
from dragoman.training.runs.tuning.options import ReplayFrom, TuningConfig
from dragoman.training.runs.tuning.recipe import check_own, replay_share, tuned_recipe
from dragoman.training.runs.tuning.several import open_tuned_directions


def open_tuned_texts(request: RunRequest, base: Base, say: Say) -> Texts:
    """Resolve the recipe for the base and the memory, and open all text.

    Raises ConfigError for options that do not fit the base, DataError for text that cannot be read or is not
    in the languages of the base.
    """
    data, valid, own = request.data, request.valid, request.own
    check_own(own, request.preset)
    asked = {name: value for name, value in own.items() if name in ("seed", "data", "tuning")}
    wanted = from_table(Recipe, merge_tables({"tuning": {"base": base.digest}}, asked))
    if base.config.directions or base.tokenizer.languages:  # several
        return open_tuned_directions(request, base, wanted, say)
    files, tuning, seed = wanted.data, wanted.tuning, wanted.seed
    if data is None:
        if not files.train:
            raise ConfigError("no memory to tune on", hint="name a .tmx or .tsv file, or two text files")
        data = request.find(files, files.train)
        if valid is None and files.valid:
            valid = request.find(files, files.valid)
    _check_languages(base, request.languages)
    if files.corpora:
        raise ConfigError(
            "data.corpora: a model of one pair is tuned on one text",
            hint="name its files in data.train; for more languages, see dragoman model extend",
        )
    _check_languages(base, (files.source_language, files.target_language))
    memory = _open(data, base)
    validation = None if valid is None else _open(valid, base)

    counted = count_and_hold_out(memory, tuning.held_out if validation is None else 0, seed=seed)
    held = counted.sample
    if not counted.pairs:
        raise DataError(
            f"{memory.name}: no pair has text on both sides", hint="check the file and its languages"
        )
    if tuning.replay is None:
        tuning = replace(tuning, replay=replay_share(counted.pairs))
    if validation is None:
        memory, lost = without(memory, held, alike=tuning.alike)
        if lost == counted.pairs:
            raise DataError(
                f"{memory.name}: no pair is left to train on, because all are like a held-out one",
                hint="pass --valid, or set tuning.held_out=0 or tuning.alike=1",
            )
        if held:
            more = f"{lost - len(held):,} more leave training because they are like one"
            say(f"held out: {count(len(held), 'pair')}; {more}")
        else:
            missing = "no score in domain and no early stopping"
            say(f"nothing is held out of {count(counted.pairs, 'pair')}: {missing}")
            say("for both, pass --valid or set tuning.held_out=20")
    pairs = held or (() if validation is None else two_sided(validation))
    if validation is None and held:
        validation = kept_pairs("held-out pairs", [*held])
    finder = _GeneralText(request, base, tuning, seed=seed, held=held, say=say)
    chosen, replayed = finder.to_train_on()
    general, replayed = finder.to_measure_with(replayed)
    share = (tuning.replay or 0.0) if replayed is not None else 0.0
    resolved = tuned_recipe(base, own, pairs=counted.pairs, letters=counted.letters, replayed=share)
    source, target = base.config.source_language, base.config.target_language
    resolved = replace(resolved, data=replace(resolved.data, source_language=source, target_language=target))
    say(f"{memory.name}: {count(counted.pairs, 'pair')} to tune {base.name} on, {_plan(resolved)}")
    return Texts(
        recipe=replace(resolved, tuning=replace(resolved.tuning, replay=tuning.replay, replay_from=chosen)),
        training=memory,
        validation={} if validation is None else {(source, target): validation},
        validation_pairs={(source, target): pairs} if pairs else {},
        replay=replayed,
        general=general,
    )


@dataclass
class _GeneralText:
    """Finds the general text to train on and to measure with."""

    request: RunRequest
    base: Base
    tuning: TuningConfig
    seed: int
    held: tuple[Pair, ...]  # of the memory: nothing like them is trained on
    say: Say

    def to_train_on(self) -> tuple[ReplayFrom, Corpus | None]:
        """Return where the text comes from, and the text."""
        base, kind, named = self.base, self.tuning.replay_from, self.request.replay
        if named is not None and kind not in ("auto", "files"):
            raise ConfigError(
                f'--replay, but tuning.replay_from = "{kind}"', hint="leave out one or the other"
            )
        if not self.tuning.replay or kind == "none":
            if named is not None:
                raise ConfigError("--replay, but tuning.replay = 0", hint="leave out one or the other")
            return "none", None
        if named is not None:
            text = draw_pairs(_open(named, base), POOL, seed=self.seed)
            return "files", self._apart(_not_empty(text), self.held)
        if kind == "files":
            raise ConfigError('tuning.replay_from = "files" without files', hint="name them with --replay")
        own = own_text(base, "train", POOL, seed=self.seed)
        if own is not None:
            self.say(f"general text to train on: the base's own, in {own.name}")
            return "base", self._apart(own, self.held)
        if kind == "base":
            raise ConfigError(
                f'tuning.replay_from = "base", but {base.name} no longer has the text of its training',
                hint="name general text with --replay",
            )
        return "none", None

    def to_measure_with(self, replayed: Corpus | None) -> tuple[Corpus | None, Corpus | None]:
        """Return that text, and the text to train on: without pairs like those, if they are from it."""
        if self.request.general is not None:
            return _not_empty(_open(self.request.general, self.base)), replayed
        general = own_text(self.base, "valid", MOST, seed=self.seed)
        if general is None and self.request.replay is not None and replayed is not None:
            counted = count_and_draw(replayed, most=MOST, seed=self.seed)
            sample = counted.sample[: pairs_to_hold_out(counted.pairs)]
            general = kept_pairs("held-out general pairs", [*sample]) if sample else None
            replayed = self._apart(replayed, sample)
        if general is None:
            self.say("no general text to measure with: what the model forgets will be unknown; see --general")
        return general, replayed

    def _apart(self, text: Corpus, held: tuple[Pair, ...]) -> Corpus:
        apart, lost = without(text, held, alike=self.tuning.alike)
        if lost:
            self.say(f"{text.name}: {count(lost, 'pair')} left out, like a held-out one")
        return _not_empty(apart)


def _not_empty(text: Corpus) -> Corpus:
    if all(is_blank(line.source) or is_blank(line.target) for line in text):
        raise DataError(
            f"{text.name}: no pair to use as general text",
            hint="name text other than the memory, with two sides",
        )
    return text


def _open(data: Data, base: Base) -> Corpus:
    """Open text of the base's languages. Raises DataError if its name says that it is other text."""
    source, target = base.config.source_language, base.config.target_language
    named = _named(data)
    if named[0] is not None and named[1] is not None:
        swapped = closest(source, [named[1]]) and closest(target, [named[0]])
        if not closest(source, [named[0]]) or not closest(target, [named[1]]):
            raise DataError(
                f"{' and '.join(map(str, data))}: from {named[0]} to {named[1]}, but the base translates "
                f"from {source} to {target}",
                hint="swap the two sides, or tune a model of the other direction"
                if swapped
                else "choose a memory or a base of the same languages",
            )
    return open_data(data, (source, target))


def _named(data: Data) -> Languages:
    """The languages in the names of files. A TMX file says itself which segment is in which language."""
    names = [str(item) for item in data if isinstance(item, str | Path)]
    match names:
        case [one] if not without_suffix(one).endswith(".tmx"):
            return of_pair(one)
        case [left, right]:
            return of_side(left), of_side(right)
    return None, None


def _check_languages(base: Base, languages: Languages) -> None:
    own = base.config.source_language, base.config.target_language
    for side, wanted, has in zip(("source", "target"), languages, own, strict=True):
        if wanted is not None and not closest(wanted, [has]):
            raise ConfigError(
                f"{side} language {wanted}, but the base translates from {own[0]} to {own[1]}",
                hint="leave the option out; the languages come from the base",
            )


def _plan(recipe: Recipe) -> str:
    limits = [f"{recipe.training.max_updates:,} updates"]
    if recipe.training.max_minutes is not None:
        limits.append(f"{recipe.training.max_minutes:g} minutes")
    return f"for at most {' or '.join(limits)}"


POOL = 50_000  # pairs that the epochs of a run draw from


def draw_pairs(corpus: Corpus, count: int, *, seed: int) -> Corpus:
    """Return up to `count` pairs with two sides, each equally likely, in random order, kept in memory."""
    chance = random.Random(f"replay {seed}")
    pairs = (
        (line.source, line.target) for line in corpus if not (is_blank(line.source) or is_blank(line.target))
    )
    drawn = draw_sample(pairs, count, chance)
    chance.shuffle(drawn)
    return kept_pairs(corpus.name, drawn)


def own_text(base: Base, part: Part, count: int, *, seed: int) -> Corpus | None:
    """Return up to `count` pairs of the general text that the base was trained on or validated with.

    Each pair of all its training texts is equally likely. None if its folder no longer has the tokens, or
    they are damaged, or do not fit its vocabulary. They become text again.
    """
    own = base.general[part]
    folders = base.checkpoints.training_texts() if own == "train" else [base.checkpoints.corpus(own)]
    try:
        texts = [TokenisedCorpus(folder, base.tokenizer) for folder in folders]
        fits = all(_fits(tokens, base.tokenizer) for tokens in texts)
    except (OSError, ValueError, KeyError, TypeError, json.JSONDecodeError, DataError):
        return None
    if not texts or not fits:
        return None
    firsts = [*accumulate((len(tokens) for tokens in texts), initial=0)]
    source, target = base.tokenizer.vocabularies
    pairs: list[Pair] = []
    for row in random.Random(f"{part} {seed}").sample(range(firsts[-1]), min(count, firsts[-1])):
        number = bisect_right(firsts, row) - 1
        tokens, place = texts[number], row - firsts[number]
        pairs.append(
            (source.decode(tokens.source[place].tolist()), target.decode(tokens.target[place].tolist()))
        )
    name = str(folders[0]) if len(folders) == 1 else str(folders[0].with_name("train.*"))
    return kept_pairs(name, [pair for pair in pairs if not any(map(is_blank, pair))])


def _fits(tokens: TokenisedCorpus, tokenizer: Tokenizer) -> bool:
    sides = (tokens.source, tokenizer.source_size), (tokens.target, tokenizer.target_size)
    return len(tokens.source) == len(tokens.target) and all(
        len(rows.values) == rows.offsets[-1] and rows.values.max(initial=0) < size for rows, size in sides
    )
