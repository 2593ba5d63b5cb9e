"""The teachers of a run: where they are, whether they fit each other and the run, and how they are loaded."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dragoman.base.config import to_table
from dragoman.base.errors import ConfigError
from dragoman.base.languages import closest
from dragoman.base.tables import listing
from dragoman.text.corpora.languages import Languages, first_known
from dragoman.text.tokenizers.tokenizer import Tokenizer
from dragoman.training.distillation.options import TeacherConfig
from dragoman.training.runs.folder import RunFolder
from dragoman.training.runs.recipe import DATA_VARIABLE, DataConfig, Recipe, recipe_of_run
from dragoman.training.runs.tuning.base import Base, open_model
from dragoman.translation.ensemble import same_tokens
from dragoman.translation.lines import Directions

if TYPE_CHECKING:
    from dragoman.models.seq2seq import AnySeq2Seq
    from dragoman.translation.translator import Translator


@dataclass(frozen=True, kw_only=True)
class Teachers:
    """The models that teach together. They have the same languages and the same tokenizer."""

    options: TeacherConfig
    members: tuple[Base, ...]  # each named by its place

    @property
    def languages(self) -> tuple[str, str]:
        """Source and target."""
        first = self.members[0].config
        return first.source_language, first.target_language

    @property
    def tokenizer(self) -> Tokenizer:
        """The tokenizer of all of them. It splits text in one way: sampling is for their own training."""
        return self.members[0].tokenizer.unsampled

    @property
    def known(self) -> Directions:
        """Their languages, and the marks that they read."""
        return Directions(self.tokenizer, self.languages, self.members[0].config.directions)

    @property
    def digests(self) -> tuple[str, ...]:
        """The digest of the weights of each."""
        return tuple(one.digest for one in self.members)

    @property
    def made_with(self) -> list[str]:
        """Everything that their translations depend on, except the text and the options."""
        return [f"{one.digest} {one.config.generation}" for one in self.members]

    def translator(self) -> Translator:
        """Load the models as one that translates with all of them."""
        from dragoman.translation.translator import Translator

        members = [Translator.load(one.name, dtype=self.options.dtype, download=True) for one in self.members]
        return Translator.ensemble(members, average=self.options.average)

    def models(self) -> list[AnySeq2Seq]:
        """Load the models for PyTorch, in float32."""
        from dragoman.translation.translator import Translator

        return [Translator.load(one.name, download=True).bundle.model for one in self.members]

    def languages_for(self, languages: Languages, text: str) -> Languages:
        """The languages of the text, also those that it does not say but only one of their pairs has.

        Raises ConfigError for a text in other languages than theirs.
        """
        known = self.known
        pairs = known.trained or [*product(known.sources, known.targets or self.languages[1:])]
        fitting = [
            pair
            for pair in pairs
            if all(one is None or closest(one, [has]) for one, has in zip(languages, pair, strict=True))
        ]
        if not fitting:
            translates = listing([*map(" to ".join, pairs)], separator=" and ")
            raise ConfigError(
                f"{text}: from {languages[0] or '?'} to {languages[1] or '?'}, but {self.members[0].name} "
                f"translates from {translates}",
                hint="choose teachers of the languages of the text",
            )
        return first_known(languages, fitting[0]) if len(fitting) == 1 else languages

    def check_same(self, folder: RunFolder) -> None:
        """Raise ConfigError if the run in the folder began with a teacher of other weights."""
        if not (folder.recipe.exists() and folder.checkpoints.resumable):
            return
        before = recipe_of_run(folder.recipe).teacher.digests
        for teacher, digest in zip(self.members, before, strict=False):
            if teacher.digest != digest:
                raise ConfigError(
                    f"{folder.path}: {teacher.name} is not the teacher that this run began with; its weights "
                    "have another digest",
                    hint="restore that teacher, or choose another folder with -o",
                )

    def taught(self, recipe: Recipe, own: Mapping[str, Any]) -> Recipe:
        """Return the recipe with their digests and, if the student needs it, their vocabulary.

        `own` are the options of the user. Raises ConfigError if the vocabulary contradicts them, or the width
        of a student that starts from the weights of a teacher.
        """
        options = replace(recipe.teacher, digests=self.digests)
        recipe = replace(recipe, teacher=options)
        if not options.needs_vocabulary:
            return recipe
        teacher = self.members[0]
        if options.start and (width := teacher.config.model.d_model) != recipe.model.d_model:
            raise ConfigError(
                f"teacher.start with model.d_model = {recipe.model.d_model}, but {teacher.name} has {width}",
                hint=f"set model.d_model={width}, or leave teacher.start out",
            )
        has, wanted = to_table(self.tokenizer.config), own.get("tokenizer")
        for name, value in (wanted if isinstance(wanted, Mapping) else {}).items():
            none = name == "placeholders" and value == self.tokenizer.config.reserved  # as "auto" has found
            if value != has.get(name) and not none:
                raise ConfigError(
                    f"tokenizer.{name} = {value!r}, but the teachers have {has.get(name)!r}, and "
                    f"{options.needs_vocabulary} needs their vocabulary",
                    hint=f"leave tokenizer.{name} out, or the options teacher.words and teacher.start",
                )
        return replace(recipe, tokenizer=self.tokenizer.config)


def open_teachers(options: TeacherConfig, data: DataConfig, data_root: Path | None) -> Teachers:
    """Find the teachers and check that they fit each other.

    A name is a path, also below the folder of the data, or anything else that `Translator.load` takes. Raises
    ModelError for a model that cannot be read, ConfigError for models that do not fit each other or
    `options.digests`.
    """
    members: list[Base] = []
    for number, name in enumerate(options.models):
        with open_model(_place(name, data, data_root)) as teacher:
            if options.digests and teacher.digest != options.digests[number]:
                raise ConfigError(
                    f"{name}: not the teacher of this recipe, whose weights have the digest "
                    f"{options.digests[number]}, but these have {teacher.digest}",
                    hint="restore that model, or remove teacher.digests from the recipe",
                )
            _check(teacher, members[0] if members else teacher)
            members.append(teacher)
    return Teachers(options=options, members=tuple(members))


def _place(name: str, data: DataConfig, data_root: Path | None) -> str:
    variable = os.environ.get(DATA_VARIABLE)
    top = data_root or (Path(variable) if variable else None)
    places = [Path(name), *([top / data.folder / name, top / name] if top is not None else [])]
    return next((str(place) for place in places if place.exists()), name)


def _check(teacher: Base, first: Base) -> None:
    """Raise ConfigError for a teacher that does not fit the first."""
    own, others = ((one.config.source_language, one.config.target_language) for one in (teacher, first))
    if own != others:
        raise ConfigError(
            f"{teacher.name} translates from {own[0]} to {own[1]}, but {first.name} from {others[0]} to "
            f"{others[1]}",
            hint="teachers of one run need the same languages",
        )
    if not same_tokens(teacher.tokenizer, first.tokenizer):
        raise ConfigError(
            f"{teacher.name} has another vocabulary than {first.name}",
            hint="teachers of one run need the same tokenizer: train them with other seeds on the same text",
        )
