"""What a run learns from its teachers: their translations as text, their distributions beside the tokens."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from dragoman.base.errors import ConfigError
from dragoman.runs.folder import RunFolder
from dragoman.runs.outputs import TeachersOutputs
from dragoman.runs.pace import Pace
from dragoman.runs.recipe import Recipe, recipe_of_run
from dragoman.runs.teacher import Teachers
from dragoman.runs.teaching import REFERENCE, TeacherConfig, outputs_of
from dragoman.runs.texts import Say, Texts
from dragoman.text.corpus import Corpus
from dragoman.text.tokenizer import Tokenizer
from dragoman.training.checkpoints import Checkpoints
from dragoman.training.distributed import World
from dragoman.training.lessons import Lessons, LessonsInProgress, entry_of
from dragoman.training.tokenised import TokenisedCorpus

if TYPE_CHECKING:
    from pathlib import Path

    import numpy as np

    from dragoman.models.seq2seq import AnySeq2Seq


def epoch_weights(recipe: Recipe) -> Mapping[str, float]:
    """How often an epoch has each pair of each training text, by its name; empty for a single text."""
    corpora = {one.name: one.weight for one in recipe.data.corpora}
    return recipe.teacher.weights(corpora or {REFERENCE: 1.0}) if recipe.teacher.models else corpora


def check_same_teachers(teachers: Teachers, folder: RunFolder) -> None:
    """Raise ConfigError if the run in the folder began with a teacher of other weights."""
    if not (folder.recipe.exists() and folder.checkpoints.resumable):
        return
    before = recipe_of_run(folder.recipe).teacher.digests
    for teacher, digest in zip(teachers.members, before, strict=False):
        if teacher.digest != digest:
            raise ConfigError(
                f"{folder.path}: {teacher.name} is not the teacher that this run began with; its weights "
                "have another digest",
                hint="restore that teacher, or choose another folder with -o",
            )


def with_outputs(texts: Texts, checkpoints: Checkpoints, say: Say) -> Texts:
    """Return the texts with the teachers' translations. Translates what is not translated yet.

    Raises DataError, before anything is translated, if a run that has begun had other text.
    """
    teachers, recipe = texts.teachers, texts.recipe
    if teachers is None:
        return texts
    corpora: dict[str, Corpus] = dict(texts.corpora) or {REFERENCE: texts.training}
    if recipe.teacher.outputs != "none":
        for name, text in [*corpora.items()]:
            made = TeachersOutputs(
                teachers=teachers,
                text=text,
                folder=checkpoints.outputs(name),
                longest=recipe.data.filter.max_length,
                referenced=texts.referenced,
                learnt=checkpoints.resumable,
                say=say,
            )
            corpora[outputs_of(name)] = made.corpus()
    corpora = {name: corpora[name] for name in epoch_weights(recipe)}
    training = texts.training if texts.referenced else corpora[outputs_of(REFERENCE)]
    return replace(texts, corpora=corpora, training=training)


def lessons_of(options: TeacherConfig, text: TokenisedCorpus, folder: Path) -> Lessons | None:
    """Open the teachers' distributions for a tokenised text, if the recipe asks for them."""
    if not options.words:
        return None
    entry, width = _shape(options, text.tokenizer)
    return Lessons(folder, text.target, entry, width=width, share=options.words)


def write_lessons(
    teachers: Teachers,
    folder: RunFolder,
    names: Sequence[str],
    *,
    world: World,
    say: Say,
) -> None:
    """Compute the teachers' distributions for each tokenised text that has none yet.

    Raises TrainingError if the disk has no room for them.
    """
    from dragoman.training.room import check_room, size_text  # they import torch
    from dragoman.training.teaching import teach

    tokenizer, options = Tokenizer.load(folder.path), teachers.options
    entry, width = _shape(options, tokenizer)
    models: list[AnySeq2Seq] = []
    for name in names:
        text = TokenisedCorpus(folder.checkpoints.corpus(f"train.{name}"), tokenizer)
        place = folder.checkpoints.lessons(f"train.{name}")
        made_with = [text.fingerprint, *(one.digest for one in teachers.members), options.average]
        digest = hashlib.blake2b(repr([*made_with, width, options.temperature]).encode(), digest_size=16)
        lessons = LessonsInProgress(place, text.target, entry, width=width, made_with=digest.hexdigest())
        if lessons.complete:
            continue
        what = "the teachers' distributions"
        if not lessons.done:
            place.mkdir(parents=True, exist_ok=True)
            say(
                f"{what} for {name}: {width} tokens at {lessons.positions:,} places, "
                f"{size_text(lessons.bytes)}"
            )
            check_room(place, lessons.bytes, what=what)
        models = models or teachers.models()
        teach(
            models,
            text,
            lessons,
            most=width,
            temperature=options.temperature,
            average=options.average,
            device=world.device,
            progress=Pace(f"{what} for {name}", lessons.positions, "tokens", say).done,
        )


def _shape(options: TeacherConfig, tokenizer: Tokenizer) -> tuple[np.dtype[Any], int]:
    """How an entry is stored, and how many a target token has."""
    return entry_of(tokenizer.target_size), min(options.top_k, tokenizer.target_size)
